"""Reading the pillars: a namespace's state at any checkpoint, from the ledger along its path."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.pillars.events import Event, Moment
from langgraph_wyrd.pillars.fold import replay
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.pillars.overlay import advance, along
from langgraph_wyrd.plans import ledger
from langgraph_wyrd.plans.loading import row_sum, with_derived
from langgraph_wyrd.plans.shown import changed_rows, cleared, due_of
from langgraph_wyrd.plans.woven import BASE_EVERY, MOST_EARLY, UNREAD, Weave, Woven
from langgraph_wyrd.signals.view import TaskWrite
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

_PAGE = BASE_EVERY + 2

Overlay = tuple[tuple[Moment, tuple[Event, ...]], ...]


class Step(NamedTuple):
    """A checkpoint on a path, without what it says."""

    id: str
    parent: str | None
    ts: str | None
    due: Any
    root: str | None


@dataclass(frozen=True, slots=True)
class Said:
    """The events of one checkpoint: its own, and those of its tasks."""

    own: tuple[Event, ...] = ()
    overlay: Overlay = ()

    @property
    def has_base(self) -> bool:
        return any(event.op == "base" for event in self.own)


SILENT = Said()


def load_weave(codec: Codec, number: int, thread_id: str) -> Plan[Weave]:
    """A thread's pillars as of its head."""
    top = (yield Ask("top", (number,)))[0][0]
    if top is None:
        return Weave(None, {}, WorkingState(thread_id=given(thread_id)))
    spaces = yield from spaces_at(codec, number, thread_id, top)
    shown = Weave(top, spaces, WorkingState()).visible()
    weave = Weave(top, spaces, shown, loaded=True)
    for ns, woven in spaces.items():
        yield from awaits(number, weave, ns, woven.checkpoint)
    return weave


def awaits(number: int, weave: Weave, ns: str, newest: str) -> Plan[None]:
    """Note for which checkpoints of a namespace there are writes already."""
    behind = (number, ns, newest)
    writes, events = yield [Ask("early_writes", behind), Ask("early_events", behind)]
    for (checkpoint,) in sorted({*map(tuple, writes), *map(tuple, events)})[-MOST_EARLY:]:
        weave.early[ns, checkpoint] = [TaskWrite("", "", "", UNREAD)]


def spaces_at(codec: Codec, number: int, thread_id: str, root: str) -> Plan[dict[str, Woven]]:
    """The root namespace at one of its checkpoints, and the subgraphs that ran there."""
    spaces: dict[str, Woven] = {}
    woven = yield from load_woven(codec, number, thread_id, "", root)
    if woven is not None:
        children = yield from children_at(codec, number, thread_id, root)
        spaces = {"": woven, **children}
    return spaces


def children_at(codec: Codec, number: int, thread_id: str, root: str) -> Plan[dict[str, Woven]]:
    """The subgraphs that ran at a root checkpoint."""
    spaces: dict[str, Woven] = {}
    for ns, newest in (yield Ask("children", (number, root))):
        child = yield from load_woven(codec, number, thread_id, ns, newest)
        if child is not None:
            spaces[ns] = child
    return spaces


def load_woven(
    codec: Codec, number: int, thread_id: str, ns: str, checkpoint: str
) -> Plan[Woven | None]:
    """A namespace at a checkpoint; None if there is no such checkpoint."""
    path, said = yield from _path(codec, number, ns, checkpoint, to_base=True)
    if not path:
        return None
    steps = [(Moment(step.id, ns, step.ts), said.get(step.id, SILENT)) for step in path]
    start = WorkingState(thread_id=given(thread_id))
    state = along(start, [(at, here.own, here.overlay) for at, here in steps])
    overlay = steps[-1][1].overlay
    last = path[-1]
    notes = yield from notes_at(number, ns, checkpoint)
    depth = 0 if said.get(path[0].id, SILENT).has_base else 1
    return Woven(
        checkpoint, state, due_of(last.due), last.root, depth + len(path) - 1, overlay, notes
    )


def _path(
    codec: Codec, number: int, ns: str, checkpoint: str, *, to_base: bool
) -> Plan[tuple[list[Step], dict[str, Said]]]:
    """The steps to a checkpoint, oldest first, and what each said: from the last base, or all."""
    path: list[Step] = []
    said: dict[str, Said] = {}
    page: dict[str, Step] = {}
    walked: set[str] = set()
    current: str | None = checkpoint
    while current is not None and current not in walked:
        walked.add(current)
        if current not in page:
            # Ids mostly follow the parents; where they don't, the parent heads a page of its own.
            rows = yield Ask("steps", (number, ns, current, _PAGE))
            page = {row[0]: Step(*row) for row in rows}
            if current not in page:
                break  # a pruned parent is an end like any other
            held = yield Ask("events", (number, ns, min(page), current))
            said.update(_said(codec, ns, page, held))
        step = page[current]
        path.append(step)
        if to_base and said.get(current, SILENT).has_base:
            break
        current = step.parent
    if path and not (to_base and said.get(path[-1].id, SILENT).has_base):
        yield from _sure(number, ns, path[-1].id)  # a wrong parent would cut the path off
    if path and to_base:
        yield from _sure(number, ns, path[0].id)  # whose due nodes and root are read
    return path[::-1], said


def _sure(number: int, ns: str, id: str) -> Plan[None]:
    """Raise if a checkpoint's row is not what was written."""
    for parent, ts, metadata, exact, *place, due, root, total in (
        yield Ask("own_row", (number, ns, id))
    ):
        row = row_sum(number, ns, id, parent, ts, metadata, exact, place)
        if total != with_derived(row, due, root):
            raise CheckpointDamaged(f"checkpoint {id} fails its checksum")


def _said(codec: Codec, ns: str, page: dict[str, Step], rows: Sequence[Row]) -> dict[str, Said]:
    tasks: dict[str, dict[str, list[Event]]] = {}
    for checkpoint, task, _, pillar, op, item, body, source, _ in ledger.checked(ns, rows):
        event = Event(pillar, op, item, json.loads(codec.open_text(body)), json.loads(source))
        tasks.setdefault(checkpoint, {}).setdefault(task, []).append(event)
    found = {}
    for checkpoint, by_task in tasks.items():
        ts = page[checkpoint].ts if checkpoint in page else None
        own = tuple(by_task.pop("", ()))
        overlay = tuple(
            (Moment(checkpoint, ns, ts, task), tuple(events))
            for task, events in sorted(by_task.items())
        )
        found[checkpoint] = Said(own, overlay)
    return found


def said_at(codec: Codec, number: int, ns: str, checkpoint: str, ts: str | None) -> Plan[Overlay]:
    """What tasks said of a checkpoint, which may have been before it was stored."""
    rows = yield Ask("events", (number, ns, checkpoint, checkpoint))
    return said(codec, ns, checkpoint, ts, rows).overlay


def said(codec: Codec, ns: str, checkpoint: str, ts: str | None, rows: Sequence[Row]) -> Said:
    """What a checkpoint and its tasks said, from these rows of the ledger."""
    here = {checkpoint: Step(checkpoint, None, ts, None, None)}
    return _said(codec, ns, here, rows).get(checkpoint, SILENT)


def notes_at(number: int, ns: str, checkpoint: str) -> Plan[list[TaskWrite]]:
    """Who wrote to what at a checkpoint; the values were not looked at."""
    rows = yield Ask("write_paths", (number, ns, checkpoint))
    return [
        TaskWrite(given(task), given(path), given(name), None if plain(name) else UNREAD)
        for task, path, name in rows
    ]


def plain(channel: str) -> bool:
    """Whether a channel's writes say nothing to the next checkpoint but that there were some."""
    return channel.startswith(("__", "branch:to:"))


def is_ancestor(number: int, ns: str, of: str, id: str) -> Plan[bool]:
    """Whether a checkpoint is on the path to another one."""
    current: str | None = of
    page: dict[str, str | None] = {}
    walked: set[str] = set()
    while current is not None and current != id and current not in walked:
        walked.add(current)
        if current not in page:
            rows = yield Ask("parents", (number, ns, current, 512))
            page = {row[0]: row[1] for row in rows}
            if current not in page:
                return False
        current = page[current]
    return current == id


# ---- the tables, made from the ledger


def project(codec: Codec, number: int, thread_id: str, weave: Weave) -> Plan[None]:
    """Make a thread's tables anew: its history along the head's path, then what runs now."""
    rows = yield from projected(codec, number, thread_id, weave)
    yield cleared(number)
    for name, held in rows.items():
        if held:
            yield Tell(name, held)


def projected(
    codec: Codec, number: int, thread_id: str, weave: Weave
) -> Plan[dict[str, list[Row]]]:
    """The rows that a thread's tables hold, by the statement that puts them."""
    kept: dict[str, dict[str, Row]] = {}

    def show(before: WorkingState, after: WorkingState, at: str) -> None:
        for name, rows in changed_rows(codec, number, thread_id, before, after, at).items():
            op, _, pillar = name.partition("_")
            held = kept.setdefault(f"put_{pillar}", {})
            for row in rows:
                if op == "put":
                    held[row[2]] = row
                else:
                    held.pop(row[1], None)

    if weave.top is None:
        return {}
    path, said = yield from _path(codec, number, "", weave.top, to_base=False)
    state, overlay = WorkingState(thread_id=given(thread_id)), SILENT.overlay
    for step in path:
        at, here = Moment(step.id, "", step.ts), said.get(step.id, SILENT)
        after = replay(advance(state, overlay, at), here.own, at)
        show(state, after, step.id)
        state, overlay = after, here.overlay
    show(state, weave.visible(), weave.top)
    return {name: list(held.values()) for name, held in kept.items()}
