"""Messages that another langchain-core wrote: they load as the serde would load their fields."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field, create_model

from tests.conftest import Backend
from tests.odd_values import as_serde_gives, assert_same, at, checkpoint
from tests.other_version import go_on
from tests.outside import ROOT, environment

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")


def put_on(saver: Any, config: Any, values: list[Any]) -> Any:
    made = checkpoint(saver, {"messages": values})
    return saver.put(config, made, {"step": 1}, made["channel_versions"])


# ---- really another version


@pytest.mark.parametrize(
    ("backend", "version"), [("sqlite", "older"), ("postgres", "newer")], indirect=["backend"]
)
def test_two_versions_take_turns(backend: Backend, version: str, tmp_path: Path) -> None:
    """Processes with different fields in their classes load what the serde would give them."""
    file = tmp_path / "as the serde has it"
    command = [sys.executable, "-m", "tests.other_version", version, backend.url, str(file)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment(), **pipes) as other:
        for theirs in (False, True, False, True, True, False, False):
            if theirs:
                other.stdin.write("\n")
                other.stdin.flush()
                assert other.stdout.readline() == "done\n"
            else:
                go_on(backend.url, file)


def test_a_new_field_with_another_default_each_time(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a class made up on loading is stored with the next put, in a kept list as well."""

    def item(**fields: Any) -> type[BaseModel]:
        made = create_model("Item", __module__="shop", **fields)
        monkeypatch.setitem(sys.modules, "shop", SimpleNamespace(Item=made))
        return made

    old = item(n=(int, ...))
    put_on(durable.open(), at("t"), [*(old(n=n) for n in range(50)), "text"])
    item(n=(int, ...), id=(str, Field(default_factory=lambda: uuid.uuid4().hex)))
    saver = durable.open()
    found = saver.get_tuple(at("t"))
    loaded = found.checkpoint["channel_values"]["messages"]
    put_on(saver, found.config, loaded)
    want = as_serde_gives(saver.serde, loaded)
    for reader in (saver, durable.open()):
        again = reader.get_tuple(at("t")).checkpoint["channel_values"]["messages"]
        assert_same(again, want)
