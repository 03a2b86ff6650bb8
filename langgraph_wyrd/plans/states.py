"""Reading the pillars: a namespace's state at any checkpoint, from the ledger along its path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.plans import gone, ledger
from langgraph_wyrd.plans.loading import row_sum, same_derived, same_row
from langgraph_wyrd.plans.shown import PILLARS, changed_rows, cleared, due_of
from langgraph_wyrd.plans.woven import BASE_EVERY, MOST_EARLY, UNREAD, Notes, Weave, Woven
from langgraph_wyrd.state.events import Event, Moment, is_kept
from langgraph_wyrd.state.fold import replay
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.overlay import (
    advance,
    along,
    is_edit,
    moment_of,
    overlaid,
    rank,
    with_edits,
)
from langgraph_wyrd.store.names import given, made_at
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

_PAGE = BASE_EVERY + 2
_LINEAGE = 512

_decode = json.JSONDecoder().decode

Overlay = tuple[tuple[Moment, tuple[Event, ...]], ...]


class Step(NamedTuple):
    """A checkpoint on a path, without what it says."""

    id: str
    parent: str | None
    ts: str | None
    due: Any
    root: str | None
    sum: int | None  # None: what is derived of it is not to be checked


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
    if not isinstance(top, str | None):  # a damaged one: SQLite takes any type
        top = (yield Ask("top_that_is_text", (number,)))[0][0]
    if top is None:
        return Weave(None, {}, WorkingState(thread_id=given(thread_id)))
    also = [Ask("children", (number, top)), *early(number, "", top)]
    root, (children, *behind) = yield from _load(codec, number, thread_id, "", top, also)
    held: list[tuple[Woven | None, Sequence[Sequence[Row]]]] = [(root, behind)]
    for ns, newest in children if root is not None else ():
        held.append(
            (yield from _load(codec, number, thread_id, ns, newest, early(number, ns, newest)))
        )
    names = ("", *(ns for ns, _ in children))
    spaces = {ns: each[0] for ns, each in zip(names, held, strict=False) if each[0] is not None}
    weave = Weave(top, spaces, Weave(top, spaces, WorkingState()).visible(), loaded=True)
    for ns, (_, found) in zip(names, held, strict=False):
        awaits(weave, ns, found)
    return weave


def early(number: int, ns: str, newest: str) -> list[Ask]:
    """What to ask for `awaits`."""
    return [Ask("early_writes", (number, ns, newest)), Ask("early_events", (number, ns, newest))]


def awaits(weave: Weave, ns: str, found: Sequence[Sequence[Row]]) -> None:
    """Note for which checkpoints of a namespace there are writes already."""
    for (checkpoint,) in sorted({tuple(row) for rows in found for row in rows})[-MOST_EARLY:]:
        weave.early[ns, checkpoint] = Notes([TaskWrite("", "", "", UNREAD)])


def spaces_at(codec: Codec, number: int, thread_id: str, root: str) -> Plan[dict[str, Woven]]:
    """The root namespace at one of its checkpoints, and the subgraphs that ran there."""
    also = [Ask("children", (number, root))]
    woven, (rows,) = yield from _load(codec, number, thread_id, "", root, also)
    if woven is None:
        return {}
    children = yield from children_at(codec, number, thread_id, rows)
    return {"": woven, **children}


def children_at(
    codec: Codec, number: int, thread_id: str, rows: Sequence[Row]
) -> Plan[dict[str, Woven]]:
    """The subgraphs that ran at a root checkpoint, from the rows of `children`."""
    spaces: dict[str, Woven] = {}
    for ns, newest in rows:
        child = yield from load_woven(codec, number, thread_id, ns, newest)
        if child is not None:
            spaces[ns] = child
    return spaces


def load_woven(
    codec: Codec, number: int, thread_id: str, ns: str, checkpoint: str
) -> Plan[Woven | None]:
    """A namespace at a checkpoint; None if there is no such checkpoint."""
    found, _ = yield from _load(codec, number, thread_id, ns, checkpoint)
    return found


def _load(
    codec: Codec, number: int, thread_id: str, ns: str, checkpoint: str, also: Sequence[Ask] = ()
) -> Plan[tuple[Woven | None, Sequence[Sequence[Row]]]]:
    """The same, and the answers to what else is asked on the way."""
    here = (number, ns, checkpoint)
    also = [Ask("write_paths", here), Ask("own_row", here), *also]
    path, said, (paths, own, *answers) = yield from _path(
        codec, number, ns, checkpoint, to_base=True, also=also
    )
    if not path:
        return None, answers
    _check_rows(number, ns, checkpoint, own)  # its due nodes and root are read
    return _woven(ns, path, said, _along(thread_id, ns, path, said), paths), answers


def _woven(
    ns: str,
    path: Sequence[Step],
    said: Mapping[str, Said],
    state: WorkingState,
    paths: Sequence[Row],
) -> Woven:
    """A namespace at the end of a path, with the rows of `write_paths`."""
    last, depth = path[-1], 0
    while depth < len(path) and not said.get(path[-1 - depth].id, SILENT).has_base:
        depth += 1
    # Who wrote to what at the checkpoint; the values were not looked at.
    notes = Notes(
        TaskWrite(given(task), given(path), given(name), None if plain(name) else UNREAD)
        for task, path, name in paths
    )
    overlay = said.get(last.id, SILENT).overlay
    return Woven(last.id, state, due_of(last.due), last.root, depth, overlay, notes)


def _along(
    thread_id: str, ns: str, steps: Sequence[Step], said: Mapping[str, Said]
) -> WorkingState:
    """The lasting state at the end of a path that begins with a base, or with nothing."""
    told = [(Moment(step.id, ns, step.ts), said.get(step.id, SILENT)) for step in steps]
    start = WorkingState(thread_id=given(thread_id))
    return along(start, [(at, here.own, here.overlay) for at, here in told])


def _path(
    codec: Codec,
    number: int,
    ns: str,
    checkpoint: str,
    *,
    to_base: bool,
    past: str | None = None,
    after: str | None = None,
    also: Sequence[Ask] = (),
) -> Plan[tuple[list[Step], dict[str, Said], Sequence[Sequence[Row]]]]:
    """The steps to a checkpoint, oldest first, and what each said: from the last base, or all.

    `past` is a step that has to be among them, `after` one that they stop at. `also` is asked
    together with the first page, and its answers come third.
    """
    path: list[Step] = []
    said_of: dict[str, Said] = {}
    page: dict[str, Step] = {}
    rows: dict[str, list[Row]] = {}
    answers: Sequence[Sequence[Row]] = [() for _ in also]
    walked: set[str] = set()
    current: str | None = checkpoint
    while current is not None and current not in walked and current != after:
        walked.add(current)
        if current not in page:
            # Ids mostly follow the parents; where they don't, the parent heads a page of its own.
            here = (number, ns, current, _PAGE)
            steps, events, *more = yield [
                Ask("steps", here), Ask("events_of_steps", (*here, number, ns, current)), *also,
            ]  # fmt: skip
            if also:
                answers, also = more, ()
            page = {row[0]: Step(*row) for row in steps}
            rows = {}
            for row in events:
                rows.setdefault(row[0], []).append(row)
            if current not in page:
                if not path or not (yield from gone.is_lost(number, ns, current)):
                    break  # a pruned parent is an end like any other
                # What it said is in the ledger still.
                before = yield from gone.older(number, ns, min(current, path[-1].id), page)
                page[current] = _missing(current, before)
                rows[current] = yield Ask("events", (number, ns, current, current))
        step = page[current]
        path.append(step)
        if current in rows:  # read when it is needed: a page reaches further than most paths
            said_of[current] = said(codec, ns, current, step.ts, rows[current])
        _check_derived(step, said_of.get(current, SILENT).own)
        if current == past:
            past = None
        if to_base and past is None and said_of.get(current, SILENT).has_base:
            break
        current = step.parent
    ended = current is None or current != after
    if path and ended and not (to_base and said_of.get(path[-1].id, SILENT).has_base):
        yield from _sure(number, ns, path[-1].id)  # a wrong parent would cut the path off
    return path[::-1], said_of, answers


def _check_derived(step: Step, own: Sequence[Event]) -> None:
    if step.sum is None or any(map(is_kept, own)):
        return  # a base was put there later
    try:
        good = same_derived(step.sum, step.due, step.root, len(own))
    except TypeError:  # a column is of another type than it was
        good = False
    if not good:
        raise CheckpointDamaged(f"what checkpoint {step.id} said, or what is due there, is damaged")


def _missing(id: str, parent: str | None) -> Step:
    """A checkpoint whose row is lost: of its time there is only when its id was made."""
    made = made_at(id)
    return Step(id, parent, None if made is None else made.isoformat(), None, None, None)


def _sure(number: int, ns: str, id: str) -> Plan[None]:
    """Raise if a checkpoint's row is not what was written."""
    _check_rows(number, ns, id, (yield Ask("own_row", (number, ns, id))))


def _check_rows(number: int, ns: str, id: str, rows: Sequence[Row]) -> None:
    for parent, ts, metadata, exact, *place, total in rows:
        try:
            row = row_sum(number, ns, id, parent, ts, metadata, exact, place)
            good = same_row(row, total)
        except TypeError:  # a column is of another type than it was
            good = False
        if not good:
            raise CheckpointDamaged(f"checkpoint {id} fails its checksum")


def path_behind(
    codec: Codec, number: int, ns: str, checkpoint: str, start: str | None
) -> Plan[tuple[list[Step], dict[str, Said]]]:
    """The steps to a checkpoint that come after another one (None: all), and what each said."""
    path, told, _ = yield from _path(codec, number, ns, checkpoint, to_base=False, after=start)
    return path, told


def said_by(
    codec: Codec, ns: str, times: Mapping[str, str | None], rows: Sequence[Row]
) -> dict[str, Said]:
    """What checkpoints and their tasks said, from rows of the ledger."""
    by_checkpoint: dict[str, list[Row]] = {}
    for row in rows:
        by_checkpoint.setdefault(row[0], []).append(row)
    return {id: said(codec, ns, id, times.get(id), held) for id, held in by_checkpoint.items()}


def said(codec: Codec, ns: str, checkpoint: str, ts: str | None, rows: Sequence[Row]) -> Said:
    """What a checkpoint and its tasks said, from its rows of the ledger."""
    tasks: dict[str, list[Event]] = {}
    for _, task, _, pillar, op, item, body, source, _ in ledger.checked(ns, rows):
        event = Event(pillar, op, item, codec.open_json(body), _decode(source))
        tasks.setdefault(task, []).append(event)
    own = tuple(tasks.pop("", ()))
    overlay = tuple(
        (moment_of(checkpoint, ns, ts, task), tuple(tasks[task]))
        for task in sorted(tasks, key=rank)
    )
    return Said(own, overlay)


def plain(channel: str) -> bool:
    """Whether a channel's writes say nothing to the next checkpoint but that there were some."""
    return channel.startswith(("__", "branch:to:"))


def parting(number: int, ns: str, one: str, other: str) -> Plan[str | None]:
    """The newest checkpoint on the paths to two; None where ids don't follow the parents."""
    parents: dict[str, str | None] = {}
    while one != other:
        if one < other:
            one, other = other, one
        if one not in parents:
            rows = yield Ask("parents", (number, ns, one, _LINEAGE))
            parents = {row[0]: row[1] for row in rows}
        parent = parents.get(one)
        if parent is None or parent >= one:
            return None
        one = parent
    there = one in parents or (yield Ask("ancestor", (number, ns, one)))
    return one if there else None  # else it was pruned


# ---- the tables, made from the ledger


def project(codec: Codec, number: int, thread_id: str, weave: Weave) -> Plan[None]:
    """Make a thread's tables anew: its history along the head's path, then what runs now."""
    rows = yield from projected(codec, number, thread_id, weave)
    yield cleared(number)
    for name, held in rows.items():
        if held:
            yield Tell(name, held)


class _Tables:
    """The rows of a thread's tables while states follow each other; None: there is none."""

    def __init__(self, codec: Codec, number: int, thread_id: str) -> None:
        self._thread = (codec, number, thread_id)
        self.rows: dict[str, dict[str, Row | None]] = {name: {} for name in PILLARS}

    def show(self, before: WorkingState, after: WorkingState, at: str) -> None:
        for name, rows in changed_rows(*self._thread, before, after, at).items():
            op, _, pillar = name.partition("_")
            for row in rows:
                self.rows[pillar][row[2] if op == "put" else row[1]] = row if op == "put" else None

    def along(
        self, state: WorkingState, overlay: Overlay, steps: Sequence[Step], said: dict[str, Said]
    ) -> tuple[WorkingState, WorkingState]:
        """Follow a path from a state, and what lies over it; the last state, and as it was shown:
        with what was edited there."""
        shown = with_edits(state, overlay)
        for step in steps:
            at, here = Moment(step.id, "", step.ts), said.get(step.id, SILENT)
            state = replay(advance(state, overlay, at), here.own, at)
            overlay = here.overlay
            edits = [each for each in overlay if is_edit(each[0])]
            for n in range(len(edits) + 1):  # one by one, as they were stored: much may be over
                edited = overlaid(state, edits[:n])
                self.show(shown, edited, step.id)
                shown = edited
        return state, shown


def projected(
    codec: Codec, number: int, thread_id: str, weave: Weave
) -> Plan[dict[str, list[Row]]]:
    """The rows that a thread's tables hold, by the statement that puts them."""
    if weave.top is None:
        return {}
    path, said, _ = yield from _path(codec, number, "", weave.top, to_base=False)
    tables = _Tables(codec, number, thread_id)
    _, shown = tables.along(WorkingState(thread_id=given(thread_id)), (), path, said)
    tables.show(shown, weave.visible(), weave.top)
    return {
        f"put_{name}": [row for row in rows.values() if row is not None]
        for name, rows in tables.rows.items()
    }


def turn(codec: Codec, number: int, thread_id: str, start: str, to: str) -> Plan[Woven]:
    """The root at a checkpoint, and the tables, as they are at the end of another path through
    `start`, made those of the path to it. Only what changed behind `start` is touched."""
    also = [
        Ask("write_paths", (number, "", to)),
        *(Ask(f"changed_{name}s", (number, start)) for name in PILLARS),
    ]
    path, said, (paths, *changed) = yield from _path(
        codec, number, "", to, to_base=True, past=start, also=also
    )
    behind = [step.id for step in path].index(start) + 1
    state = _along(thread_id, "", path[:behind], said)
    tables = _Tables(codec, number, thread_id)
    overlay = said.get(start, SILENT).overlay
    tables.show(WorkingState(), with_edits(state, overlay), start)
    held = tables.rows
    tables.rows = {
        name: {id: held[name].get(id) for (id,) in rows}
        for name, rows in zip(PILLARS, changed, strict=True)
    }
    tables.rows["context"].update(held["context"])  # what was dropped behind it is in no table
    state, shown = tables.along(state, overlay, path[behind:], said)
    woven = _woven("", path, said, state, paths)
    tables.show(shown, Weave(to, {"": woven}, state).visible(), to)
    for name, rows in tables.rows.items():
        if gone := [id for id, row in rows.items() if row is None]:
            yield Tell(f"drop_{name}", [(number, id) for id in sorted(gone)])
        if put := [row for row in rows.values() if row is not None]:
            yield Tell(f"put_{name}", put)
    return woven
