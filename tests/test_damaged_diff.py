"""A diff of points of which something can't be read any more: the rest is compared, aloud."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from langgraph_wyrd import Channels
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing.placeholders import TEXT
from tests.conftest import Backend
from tests.damage import Rows, at, garbled, splices_of, spoil_splice, talk

pytestmark = pytest.mark.inside

Lose = Callable[[bytes], None]


@pytest.fixture
def made(durable: Backend) -> Backend:
    """Two threads of two turns."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        talk(saver, "u", 1)
    return durable


@pytest.fixture
def lose(made: Backend) -> Lose:
    """Have something stored nowhere whole, known by its text."""

    def lose(text: bytes) -> None:
        Rows(made.url, "wyrd_writes").run("DELETE FROM {}")
        *_, row = splices_of(made.url, "t", text)
        spoil_splice(made.url, row, data=garbled(row["data"]))

    return lose


def points(saver: Any) -> list[str]:
    """The thread's checkpoints, oldest first."""
    return [each.checkpoint_id for each in saver.thread("t").history()][::-1]


def frame_of(made: Backend, id: str) -> dict[str, Any]:
    (row,) = Rows(made.url, "wyrd_checkpoints").all("WHERE id = ?", id)
    place = [row[name] for name in ("thread", "strand", "seq")]
    found = Rows(made.url, "wyrd_splices")
    return found.all("WHERE thread = ? AND strand = ? AND seq = ?", *place)[0]


async def test_what_is_stood_in_for_names_it(made: Backend, lose: Lose, call: Any) -> None:
    """A message that can't be read is one that says so; all others are told as they were."""
    saver = made.open()
    first, *_, last = points(saver)
    was = saver.thread("t").diff(first, last)
    lose(b"ai-5")
    saver = made.open()
    found = await call(saver.thread("t"), "diff", first, last)
    assert found.channels.damaged == ("messages",)
    before, now = was.channels.messages["messages"], found.channels.messages["messages"]
    assert [each.content == TEXT for each in now.appended].count(True) == 1
    sound = [each for each in now.appended if each.content != TEXT]
    assert sound == [each for each in before.appended if each.id != "ai-5"]
    assert replace(found.channels, damaged=(), messages={}) == replace(was.channels, messages={})
    assert (found.changes, found.fields) == (was.changes, was.fields)
    assert found.summary() == was.summary().replace(" deltas", " deltas, 1 damaged")
    assert "~ messages: damaged; only what can be read is told" in found.lines()
    assert not found.empty
    assert "placeholder" in [heal.kind for heal in saver.thread("t").heals()]


async def test_what_has_no_value_is_left_out(made: Backend, lose: Lose, call: Any) -> None:
    """What is lost on one side is neither added nor removed nor changed, and is said."""
    saver = made.open()
    ids = points(saver)
    middle, last = ids[5], ids[-1]
    was = saver.thread("t").diff(middle, last).channels
    assert [path.startswith("files[") for path in was.added] == [True]
    lose(b"line of a file")
    saver = made.open()
    found = (await call(saver.thread("t"), "diff", middle, last)).channels
    assert found.damaged == ("files",)
    assert replace(found, damaged=()) == replace(was, added={})
    back = saver.thread("t").diff(last, middle).channels
    assert (back.damaged, back.added, back.removed) == (("files",), {}, {})
    (heal,) = [heal for heal in saver.thread("t").heals() if heal.channel == "files"]
    assert heal.kind == "left_out"


def test_what_is_the_same_on_both_sides_is_not_met(made: Backend, lose: Lose) -> None:
    """It is not read, so its damage changes nothing and is not told."""
    saver = made.open()
    first, *_, before, last = points(saver)
    was = saver.thread("t").diff(before, last).channels
    lose(b"line of a file")
    saver = made.open()
    assert saver.thread("t").diff(before, last).channels == was
    assert saver.thread("t").heals() == []
    assert saver.thread("t").diff(first, last).channels.damaged == ("files",)


async def test_a_frame_is_lost(made: Backend, call: Any) -> None:
    """Then nothing is known of that point's channels; the pillars are compared if asked for."""
    saver = made.open()
    first, *_, last = points(saver)
    was = saver.thread("t").diff(first, last)
    row = frame_of(made, last)
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    for other in (first, saver.thread("u")):
        with pytest.raises(CheckpointDamaged, match=f"'t'.*{last} .*channels=False"):
            await call(saver.thread("t"), "diff", other, last)
    found = await call(saver.thread("t"), "diff", first, last, channels=False)
    assert (found.changes, found.fields) == (was.changes, was.fields)


@pytest.mark.parametrize("text", [b"ai-5", b"r" * 200])
async def test_on_damage_raise(made: Backend, lose: Lose, call: Any, text: bytes) -> None:
    """Then nothing is healed: it raises, with the thread's name."""
    saver = made.open()
    first, *_, last = points(saver)
    lose(text)
    strict = made.open(on_damage="raise")
    with pytest.raises(CheckpointDamaged, match="thread 't'"):
        await call(strict.thread("t"), "diff", first, last)
    assert strict.thread("t").heals() == []


def test_a_value_of_a_user(durable: Backend) -> None:
    """One that is lost is named; one that was erased is no damage."""
    channels = Channels(user={"profile"})
    saver = durable.open(channels=channels)
    config = at("t")
    config["configurable"]["user_id"] = "ann"
    ids = []
    for step in range(2):
        values = {"profile": {"name": f"Ann {step}"}, "steps": step}
        point = {**empty_checkpoint(), "channel_values": values}
        point["channel_versions"] = dict.fromkeys(values, str(step))
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        config = saver.put(config, point, metadata, point["channel_versions"])
        config["configurable"]["user_id"] = "ann"
        ids.append(point["id"])
    saver.close()
    rows = Rows(durable.url, "wyrd_user_data")
    for row in rows.all():
        rows.run("UPDATE {} SET data = ? WHERE sum = ?", garbled(row["data"]), row["sum"])
    saver = durable.open(channels=channels)
    found = saver.thread("t").diff(*ids).channels
    assert (found.damaged, found.changed) == (("profile",), {"steps": (0, 1)})
    saver.erase_user("ann")
    found = saver.thread("t").diff(*ids).channels
    assert (found.damaged, found.changed) == ((), {"steps": (0, 1)})
