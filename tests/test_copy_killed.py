"""A copy between savers whose process is killed in the middle is run again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from conftest import Backend
from langgraph.checkpoint.memory import InMemorySaver
from test_adopt_command import filled, gone_on
from test_port import OFFICIAL, another, official_sync

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.port import copy
from tests.outside import forked


def killed(ours: str, theirs: str, outwards: bool, after: int) -> None:
    """Copies, and is gone when so many checkpoints are done."""

    def tell(done: int, total: int) -> None:
        if done >= after:
            os.kill(os.getpid(), signal.SIGKILL)

    with WyrdSaver.from_conn_string(ours) as one, official_sync(theirs) as other:
        copy(*((one, other) if outwards else (other, one)), progress=tell)


@pytest.mark.parametrize("kind", OFFICIAL)
@pytest.mark.parametrize("outwards", [True, False], ids=["to theirs", "to ours"])
def test_killed_and_run_again(
    kind: str, outwards: bool, sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """From memory into ours, on to the official saver and back: killed twice on the way each time,
    and every thread has its question, and its answer."""
    memory = InMemorySaver()
    filled(memory, 12)
    ours = sqlite.open()
    with another(kind, request, tmp_path) as url, official_sync(url) as theirs:
        source = ours if outwards else theirs
        total = copy(memory, source).checkpoints
        ours.close()
        for after in (total // 3, 2 * total // 3):
            child = forked.Process(target=killed, args=(sqlite.url, url, outwards, after))
            child.start()
            child.join()
            assert child.exitcode == -signal.SIGKILL
        ours = sqlite.open()
        source, target = (ours, theirs) if outwards else (theirs, ours)
        told: list[tuple[int, int]] = []
        report = copy(source, target, progress=lambda *each: told.append(each))
        assert report.checkpoints + report.there == total
        assert report.there >= total // 2
        assert told[-1] == (total, total)
        for thread in ("t0", "t6", "t11"):
            assert gone_on(target, thread) == gone_on(memory, thread)
