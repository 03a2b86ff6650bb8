"""A primary that is killed: runs go on with the standby; a sample of `tests.campaigns.failover`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.storage import postgres
from tests.campaigns import failover
from tests.handmade import append, config
from tests.wire import Wire

pytestmark = pytest.mark.timeout(300, method="thread")


def test_a_standby_that_is_promoted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run fails, and every acknowledged write is there. How long calls take is for the campaign
    to say, on a machine that has nothing else to do."""
    monkeypatch.setattr(postgres, "_TAKEOVER", 100.0)
    seen = failover.campaign(random.Random(1), threads=6, seconds=1.5, limit=200)
    assert seen["runs finished"]


def test_several_hosts_of_which_none_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that wait for the same takeover fail together, later ones at once; the saver goes on
    when a host takes writes."""
    monkeypatch.setattr(postgres, "_TAKEOVER", 1.0)
    with failover.pair() as (primary, standby, url), WyrdSaver.from_conn_string(url) as saver:
        append(saver, "t", "a")
        primary.kill()
        for _ in range(3):
            with pytest.raises(errors.ConnectionLost, match="No other has taken over"):
                append(saver, "t", "b")
        standby.run("pg_ctl", "promote", "-w", "-D", standby.data)
        append(saver, "t", "c")


def test_a_commit_whose_server_is_another_now(
    postgres_wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server may have given the transaction's number to others: the call raises and says
    to look, where it would be acknowledged without proof, or done twice."""
    monkeypatch.setattr(postgres, "_XID", "SELECT pg_current_xact_id_if_assigned()::text, 'then'")
    with WyrdSaver.from_conn_string(postgres_wire.url) as saver:
        append(saver, "t", "a")
        postgres_wire.armed = True
        with pytest.raises(errors.ConnectionLost, match="look before you do it again"):
            saver.delete_thread("t")
        assert saver.get_tuple(config("t")) is None


@pytest.fixture
def postgres_wire(postgres: Any) -> Any:
    made = Wire(postgres.url)
    yield made
    made.close()
