"""Labels: checkpoints with a name, and what was promoted of their context.

A label means its moment: `seq` says up to where of the thread's history. What is declared at the
checkpoint afterwards is not part of it. Names are in stored form.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.checkpoints import auto_labels, points, working
from langgraph_wyrd.checkpoints import path as paths
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.checkpoints.history import deltas, outline
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.points import Point
from langgraph_wyrd.checkpoints.restore import checked, restore
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec, bare
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state import codec as plain
from langgraph_wyrd.state.diff import is_users
from langgraph_wyrd.state.model import ContextItem
from langgraph_wyrd.state.results import Label
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import delete, fetch, now, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, LABELS, LabelRow

_PILLARS = {"todos", "context", "open_loops", "loops", "intention", "intentions"}

logger = logging.getLogger("langgraph_wyrd")


def label_of(codec: Codec, row: LabelRow, *, whole: bool) -> Label:
    """The label of a row; `whole`: with what was promoted."""
    if unsound(LABELS, row):
        raise CheckpointDamaged(f"label {given(row.name)!r} is damaged")
    kept = unpacked(codec.opened(LABELS, row, "kept"))
    items = kept["items"] if whole else ()
    return Label(
        given(row.name), given(row.checkpoint), row.created_at, tuple(kept["keys"]),
        tuple(kept["missing"]), tuple(plain.from_dict(ContextItem, each) for each in items),
        bool(row.automatic), tuple(kept.get("elsewhere", ())),
    )  # fmt: skip


def put(
    dialect: str, codec: Codec, thread_id: str, name: str, at: Point, keys: Sequence[str] | None
) -> Script[Label | None]:
    """Label a point; None if there is no such point."""
    thread = yield from lock(dialect, thread_id)
    if thread is None:
        return None
    place = yield from points.place_at(thread, at)
    if place is None:
        return None
    for row in (yield from fetch(CHECKPOINTS, thread=thread.key, ns="", id=place.id)):
        checked(row)  # a name for what can't be read helps nobody
    then = yield from points.thread_at(dialect, codec, thread, place)
    state = working.visible(then)
    held = {item.key: item for item in state.context}
    wanted = [*held] if keys is None else list(dict.fromkeys(keys))
    items = [held[key] for key in wanted if key in held]
    other: set[str] = set()
    counted: set[str] = set()
    if len(items) < len(wanted):
        other, counted = yield from _channels(dialect, codec, thread_id, place.id)
    found = [key for key in wanted if key in held or key in other]
    elsewhere = [key for key in wanted if key not in found and key in counted | _PILLARS]
    missing = [key for key in wanted if key not in found and key not in elsewhere]
    seq = thread.version if place.until is None else place.until
    kept: dict[str, Any] = {
        "keys": found, "missing": missing, "elsewhere": elsewhere,
        "items": [plain.to_dict(item, compact=True) for item in items],
    }  # fmt: skip
    row = auto_labels.row_of(codec, thread.key, name, place.id, seq, now(), kept)
    yield Command(upsert(LABELS), [row])
    return label_of(codec, row, whole=True)


def _channels(
    dialect: str, codec: Codec, thread_id: str, id: str
) -> Script[tuple[set[str], set[str]]]:
    """A checkpoint's channels that have a value, and those that are kept as deltas."""
    found = yield from paths.find(dialect, thread_id, "", id, writes=False)
    here = outline(codec, found)
    counted = deltas(codec, found.path[0], here.metadata)
    shapes = {name for name in here.channels if is_users(name)}
    return shapes, {name for name in counted if name not in shapes}


def values(
    dialect: str, codec: Codec, thread_id: str, name: str, checkpoint: str
) -> Script[dict[str, Any] | None]:
    """What a label promoted, whole; None if it is not there any more."""
    thread = yield from thread_row(dialect, thread_id)
    rows = yield from points.labels(thread, name=name, checkpoint=checkpoint)
    if not rows:
        return None
    label = label_of(codec, rows[0], whole=True)
    found = yield from paths.find(dialect, thread_id, "", checkpoint, writes=False)
    restored = restore(codec, found)
    items = {item.key: item for item in label.context}
    values: dict[str, Any] = {}
    for key in label.keys:
        item, channel = items.get(key), restored.channels.get(key)
        said = item is not None and item.confidence == "declared"
        if channel is not None and not said:
            values[key] = bare(channel.get())[1]
        elif item is not None:
            values[key] = item.value
    return values


def every(dialect: str, codec: Codec, thread_id: str, lenient: bool = False) -> Script[list[Label]]:
    """Every label, oldest checkpoint first, without what was promoted.

    With `lenient`, damaged ones are left out, with a warning.
    """
    thread = yield from thread_row(dialect, thread_id)
    found = []
    for row in (yield from points.labels(thread)):
        try:
            found.append(label_of(codec, row, whole=False))
        except CheckpointDamaged as error:
            if not lenient:
                raise
            logger.warning("thread %r: %s: it is left out", given(thread_id), error)
    return found


def newest(dialect: str, codec: Codec, thread_id: str, name: str) -> Script[Label | None]:
    """The label of that name at the newest checkpoint."""
    thread = yield from thread_row(dialect, thread_id)
    rows = yield from points.labels(thread, name=name)
    return label_of(codec, rows[-1], whole=True) if rows else None


def remove(dialect: str, codec: Codec, thread_id: str, name: str, at: Point) -> Script[bool]:
    """Take a label off a point, or (None) off its newest checkpoint; whether it was there.

    One that is damaged, so that nobody knows where it stands, is taken away by its name.
    """
    thread = yield from lock(dialect, thread_id)
    if thread is None:
        return False
    if at is None:
        rows = yield from points.labels(thread, name=name)
        rows = rows or (yield from fetch(LABELS, thread=thread.key, name=name))
        id = rows[-1].checkpoint if rows else None
    else:
        place = yield from points.place_at(thread, at)
        id = None if place is None else place.id
    if not (yield from fetch(LABELS, thread=thread.key, name=name, checkpoint=id)):
        return False
    yield Command(delete(LABELS, "thread", "name", "checkpoint"), [(thread.key, name, id)])
    return True
