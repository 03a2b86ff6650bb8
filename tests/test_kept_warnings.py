"""What was not rebuilt is reported wherever it lies: in a page, in a user's values, in metadata."""

from __future__ import annotations

import random
from typing import Any

import pytest

from langgraph_wyrd import Channels, Kept, Migration
from langgraph_wyrd.errors import MigrationFailed
from tests.conftest import Backend
from tests.damage import at
from tests.handmade import put
from tests.user_classes import NAME, app


def raising(fields: dict[str, Any]) -> dict[str, Any]:
    raise KeyError("what")


def places(text: str) -> set[str]:
    """The threads and channels that were warned of."""
    lines = [line for line in text.splitlines() if "was not rebuilt" in line]
    return {line.partition("thread ")[2].partition(": a value")[0] for line in lines}


async def test_in_an_older_checkpoint_of_a_list(
    durable: Backend, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Values of a page are loaded in one go; each checkpoint reports its own, not the first all."""
    large = random.Random(7).randbytes(20_000)  # a small one is loaded with its checkpoint
    with app() as made:
        saver = durable.open()
        older = put(saver, "t", {"held": made.module.Step("dig", notes={"of": large})})
        put(saver, "t", {"held": 1}, parent=older)
        put(saver, "u", {"held": 2})
        id = older["configurable"]["checkpoint_id"]
        with made.away():
            listed = await call(durable.open(), "list", None)
            assert len(listed) == 3
            assert places(caplog.text) == {f"'t', checkpoint {id}, channel 'held'"}
        broken = [Migration(f"{NAME}:Step", 1, raising)]
        strict = durable.open(migrations=broken, on_damage="raise")
        with pytest.raises(MigrationFailed, match=id):
            await call(strict, "list", None)


async def test_in_what_belongs_to_a_user(
    durable: Backend, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its values, and what tasks wrote to them, stand elsewhere."""
    channels = Channels(user={"profile"})
    with app() as made:
        saver = durable.open(channels=channels)
        ann = {"user_id": "ann"}
        config = put(saver, "t", {"profile": made.made("Step('dig')"), "other": 1}, metadata=ann)
        saver.put_writes({**config, "metadata": ann}, [("profile", made.made("Spot(1)"))], "task")
        with made.away():
            found = await call(durable.open(channels=channels), "get_tuple", at("t"))
            assert isinstance(found.checkpoint["channel_values"]["profile"], Kept)
            for name in ("Step", "Spot"):
                assert f"channel 'profile': a value of {NAME}:{name}" in caplog.text
        strict = durable.open(
            channels=channels, migrations=[Migration(f"{NAME}:Step", 1, raising)],
            on_damage="raise",
        )  # fmt: skip
        with pytest.raises(MigrationFailed, match="channel 'profile'"):
            await call(strict, "get_tuple", at("t"))


def test_in_metadata(durable: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """They may hold whatever the serializer packs."""
    with app() as made:
        put(durable.open(), "t", {"other": 1}, metadata={"spot": made.made("Spot(1)")})
        with made.away():
            assert isinstance(durable.open().get_tuple(at("t")).metadata["spot"], Kept)
            assert f"channel 'metadata': a value of {NAME}:Spot" in caplog.text
