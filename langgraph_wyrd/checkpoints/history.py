"""A thread's past: its checkpoints in short, with what each changed, and the tree they make.

No channel value is decoded. What a step changed is in its row: the events say what it changed in
the working state, the delta which channels changed and by how many elements.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ormsgpack

from langgraph_wyrd.checkpoints import journal, states
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.points import Point, found_at, standing
from langgraph_wyrd.checkpoints.projection import due_of
from langgraph_wyrd.checkpoints.restore import Restored, applied, delta_of, metadata_of
from langgraph_wyrd.checkpoints.working import Pending
from langgraph_wyrd.codec.delta import REF, Operation
from langgraph_wyrd.codec.payload import Delta
from langgraph_wyrd.codec.values import Codec, counted, map_header
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state.diff import diff, is_users
from langgraph_wyrd.state.draft import replay
from langgraph_wyrd.state.events import is_pruned
from langgraph_wyrd.state.model import ContextItem, Todo, WorkingState
from langgraph_wyrd.state.pending import advance, overlaid
from langgraph_wyrd.state.results import HistoryEntry, Tree
from langgraph_wyrd.state.wording import listing
from langgraph_wyrd.storage.names import given, text_in
from langgraph_wyrd.storage.rows import fetch, select
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, WRITES, CheckpointRow, WriteRow

_MOST_NAMED = 3  # channels in a summary
_NEWEST = "ORDER BY id DESC LIMIT ?"
_CHILDREN = (
    "SELECT parent, id FROM wyrd_checkpoints WHERE thread = ? AND ns = '' "
    "AND parent BETWEEN ? AND ? ORDER BY id"
)
_LABELS = "SELECT name, checkpoint FROM wyrd_labels WHERE thread = ? ORDER BY checkpoint, name"
_SAID = (
    f"{select(WRITES, 'thread', 'ns')} AND checkpoint BETWEEN ? AND ? AND events IS NOT NULL "
    "ORDER BY seq"
)


# ---- what a checkpoint holds, without its values


class Shape(NamedTuple):
    """What is known of a channel's value without decoding it."""

    kind: str  # `l` for a list, `d` for a dict, `w` for a value that is stored whole
    length: int
    keys: frozenset[str] = frozenset()
    content: Any = None  # the stored bytes, where they are at hand as a whole

    @property
    def measured(self) -> int | None:
        return None if self.kind == "w" else self.length


@dataclass(slots=True)
class Outline(Restored):
    """The channels of a checkpoint by their shapes, and what its nodes had seen."""

    def apply(self, codec: Codec, delta: Delta, *_: Any) -> None:
        """Go one delta further."""
        for name, operation in delta.changes.items():
            self.channels[name] = reshaped(self.channels.get(name), operation)
        self.went_on(delta)

    def start(self, codec: Codec, operations: Mapping[str, Operation], *_: Any) -> None:
        self.channels = {name: reshaped(None, held) for name, held in operations.items()}

    def then(self, codec: Codec, delta: Delta) -> Outline:
        """The outline one delta further; this one stays as it is."""
        made = Outline(dict(self.channels), dict(self.versions), dict(self.seen))
        made.apply(codec, delta)
        return made


def outline(codec: Codec, found: Found) -> Outline:
    """The outline of the checkpoint that a path leads back from."""
    return applied(codec, found, Outline())


def reshaped(before: Shape | None, operation: Operation) -> Shape:
    """The shape of a value after an operation."""
    kind = operation[0]
    if kind == REF:  # only who reads it knows more
        return Shape("w", 0)
    if kind == "w":
        return Shape("w", 0, content=(operation[1], operation[2], operation[3]))
    if kind == "l":
        parts = operation[2]
        return Shape("l", counted(parts), content=[[*each] for each in parts])
    if kind == "d":
        keys = _keys(operation[3], operation[2])
        return Shape("d", len(keys), keys, (operation[1], operation[3]))
    if kind == "s":
        length = 0 if before is None else before.length
        length += sum(counted(parts) - cut for _, cut, parts in operation[2])
        return Shape("l", length)
    held = frozenset() if before is None else before.keys
    keys = (held - set(operation[2])) | _keys(operation[4], operation[3])
    return Shape("d", len(keys), keys)


def _keys(body: bytes, count: int) -> frozenset[str]:
    """The keys of packed entries: their values' classes are not asked for."""
    try:
        held = ormsgpack.unpackb(
            map_header(count) + body, ext_hook=lambda _, data: data,
            option=ormsgpack.OPT_NON_STR_KEYS,
        )  # fmt: skip
    except ValueError as error:
        raise CheckpointDamaged(f"a stored dict can't be read: {error}") from error
    return frozenset(held)


# ---- which channels changed

Changed = dict[str, tuple[Shape | None, Shape | None]]  # channels, with shapes before and after


def differences(codec: Codec, before: Outline, here: Outline, row: CheckpointRow) -> Changed:
    """The channels whose value is another one, with their shapes before and after."""
    found = {}
    counted_: Collection[str] | None = None
    names = (*before.channels, *before.versions, *here.channels, *here.versions)
    for name in dict.fromkeys(names):
        if not is_users(name):
            continue
        changed = differ(before, here, name)
        if changed is None:
            if counted_ is None:
                counted_ = deltas(codec, row, here.metadata)
            changed = name in counted_
        if changed:
            found[name] = (before.channels.get(name), here.channels.get(name))
    return dict(sorted(found.items()))


def differ(before: Outline, here: Outline, name: str) -> bool | None:
    """Whether a channel holds another value. None if it holds none and its version is another one:
    if it is kept as deltas it was written to."""
    old, new = before.channels.get(name), here.channels.get(name)
    if old is not None and new is not None:
        if old is new or (old.content is not None and old == new):
            return False
        known = old.content is not None and new.content is not None
        return known or before.versions.get(name) != here.versions.get(name)
    if before.versions.get(name) == here.versions.get(name) and name in here.versions:
        return False  # a snapshot of deltas is in one checkpoint only
    if name not in here.versions and new is None:
        return old is not None
    return True if old is not None or new is not None else None


def deltas(codec: Codec, row: CheckpointRow, exact: Any) -> Collection[str]:
    """The channels that are kept as deltas, as a checkpoint's metadata counts them."""
    try:
        counters = metadata_of(codec, row, exact).get("counters_since_delta_snapshot")
    except Exception:  # it only tells whether a channel changed that has no value anyway
        return ()
    return counters if isinstance(counters, Mapping) else ()


def grown(old: Shape | None, new: Shape | None) -> int | None:
    """By how many elements a list or a dict has grown; None if that can't be told."""
    if new is None or new.measured is None:
        return None
    if old is None:
        return new.length
    return None if old.measured is None else new.length - old.length


# ---- history


def history(
    dialect: str, codec: Codec, thread_id: str, limit: int, before: Point
) -> Script[list[HistoryEntry]]:
    """The root's checkpoints, forks included, newest first."""
    thread = yield from standing(dialect, thread_id)
    older: list[str] = []
    if before is not None:
        older = [(yield from found_at(thread, before)).id]
    tail = f"{'AND id < ? ' * len(older)}{_NEWEST}"
    rows = yield from fetch(CHECKPOINTS, tail, *older, limit, thread=thread.key, ns="")
    return (yield from _Page(dialect, codec, thread, rows).entries())


@dataclass(slots=True)
class Known:
    """What is known of a checkpoint while a page is gone through."""

    outline: Outline | None  # None: it can't be read
    state: WorkingState
    pending: Pending
    due: str | None

    @property
    def seen(self) -> WorkingState:
        return overlaid(self.state, self.pending)


class _Page:
    """A stretch of root checkpoints, and what is known of them and of their parents."""

    def __init__(
        self, dialect: str, codec: Codec, thread: Thread, rows: Iterable[CheckpointRow]
    ) -> None:
        self.dialect, self.codec, self.thread = dialect, codec, thread
        self.rows = {row.id: row for row in rows}
        self.about: dict[str, Known] = {}

    def entries(self) -> Script[list[HistoryEntry]]:
        """The entries of the history for these checkpoints."""
        if not self.rows:
            return []
        yield from self.known()
        key = self.thread.key
        children, labels = yield [
            Query(_CHILDREN, (key, min(self.rows), max(self.rows))), Query(_LABELS, (key,)),
        ]  # fmt: skip
        named, offspring = _named(labels), _grouped((p, given(id)) for p, id in children)
        return [self._entry(row, named, offspring) for row in self.rows.values()]

    def known(self) -> Script[dict[str, Known]]:
        """What is known of them, and of their parents outside of the page."""
        rows, key = self.rows, self.thread.key
        outside = {id for row in rows.values() for id in (row.parent, row.built_on)}
        for id in sorted(id for id in outside - rows.keys() if isinstance(id, str)):
            found, state = yield from states.load_namespace(
                self.dialect, self.codec, self.thread, "", id, past=True, values=False
            )
            if state is not None:
                here = None
                with suppress(CheckpointDamaged):
                    here = outline(self.codec, found)
                self.about[id] = Known(here, state.lasting, state.pending, found.path[0].due)
        said, declared = yield [
            Query(_SAID, (key, "", min(rows), max(rows))), journal.query(key, ""),
        ]  # fmt: skip
        entries = journal.entries(self.codec, declared)
        pending = states.overlays(self.codec, rows.values(), [*map(WriteRow._make, said)], entries)
        for id in rows:
            path: dict[str, CheckpointRow] = {}
            at: str | None = id
            while at is not None and at in rows and at not in self.about and at not in path:
                path[at] = rows[at]
                at = rows[at].built_on
            for row in reversed(path.values()):
                self.about[row.id] = self._follow(row, pending, entries)
        return self.about

    def _follow(
        self, row: CheckpointRow, pending: states.Pendings, declared: Sequence[journal.Entry]
    ) -> Known:
        """What is known of a checkpoint, from where the one that it builds on is known."""
        before = None if row.built_on is None else self.about.get(row.built_on)
        if before is None:
            state = WorkingState(thread_id=given(self.thread.thread_id))
            start = Outline() if row.built_on is None else None
            before = Known(start, state, states.unborn(declared, "", row.seq), None)
        made = None
        if before.outline is not None:
            with suppress(CheckpointDamaged):
                made = before.outline.then(self.codec, delta_of(self.codec, row))
        moment, own, over = states.own_events(self.codec, row, pending)
        state = replay(advance(before.state, before.pending, moment), own, moment)
        return Known(made, state, over, row.due)

    def _entry(self, row: CheckpointRow, labels: _Groups, children: _Groups) -> HistoryEntry:
        here = self.about[row.id]
        parent = None if row.parent is None else self.about.get(row.parent)
        before = Outline() if parent is None else parent.outline
        changed: Changed = {}
        ran: list[str] = []
        if here.outline is not None and before is not None:
            changed = differences(self.codec, before, here.outline, row)
            ran = _ran(before, here.outline, row, None if parent is None else parent.due)
        state = WorkingState() if parent is None else parent.seen
        said = _summary(state, here.seen, changed)
        if not said:
            said = "new input" if row.source == "input" else "no changes"
        _, own, _ = states.events_at(self.codec, row)
        pruned = row.parent is None and any(map(is_pruned, own))
        if pruned or (row.parent is not None and parent is None):
            why = "what came before was pruned" if pruned else "its parent is not there"
            said = f"{why}: what it changed is not known"
        elif here.outline is None or before is None:
            whose = "its row" if before is not None else "its parent's row"
            said += f" (damaged: {whose} can't be read)"
        made = _entry(self.thread.thread_id, row, labels, children, row.id == self.thread.head)
        return replace(made, nodes=tuple(ran), changed=tuple(changed), summary=said)


_Groups = Mapping[str, Sequence[str]]


def _entry(
    thread_id: str, row: Any, labels: _Groups, children: _Groups, head: bool
) -> HistoryEntry:
    """What a checkpoint's own columns say of it."""
    parent, run_id, ts, source = map(text_in, (row.parent, row.run_id, row.ts, row.source))
    step = row.step if type(row.step) is int else None
    return HistoryEntry(
        given(row.id), parent, ts, step, source, run_id,
        tuple(labels.get(row.id, ())), tuple(children.get(row.id, ())), head,
        thread_id=given(thread_id),
    )  # fmt: skip


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def _named(labels: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    return _grouped((checkpoint, given(name)) for name, checkpoint in labels)


def _ran(before: Outline, here: Outline, row: CheckpointRow, due: str | None) -> list[str]:
    """The nodes that ran: they have seen newer versions. Those reached by a Send see none, but
    are known to have been due. An input only takes what was due off the list."""
    if row.source not in ("loop", "update"):
        return []
    names = [node for node, held in here.seen.items() if before.seen.get(node) != held]
    found = [name for name in names if not name.startswith("__")]
    if row.source == "loop":
        found += [each.node for each in due_of(due) if each.index is not None]
    return list(dict.fromkeys(found))


def _summary(before: WorkingState, after: WorkingState, changed: Changed) -> str:
    """What changed in the working state, how lists and dicts grew, and what else changed; in one
    line, which is empty where nothing did."""
    state = replace(diff(before, after), fields={})
    said = [] if state.empty else [state.summary()]
    # What the working state says of a channel is not said twice.
    items = [each.item for _, _, each in state.all_changes()]
    known = {item.key for item in items if isinstance(item, ContextItem)}
    if any(isinstance(item, Todo) for item in items):
        known.add("todos")
    others = []
    for name, (old, new) in changed.items():
        if name in known or (known and name.startswith("__")):
            continue
        more = grown(old, new)
        if more:
            one = name == "messages" and abs(more) == 1
            said.append(f"{more:+} {'message' if one else name}")
        else:
            others.append(name)
    if others:
        said.append(f"~{listing(others, _MOST_NAMED)}")
    return ", ".join(said)


# ---- the tree


_SHORT = ("id", "parent", "ts", "step", "source", "run_id")
_branch: Any = namedtuple("_branch", _SHORT)  # type: ignore[misc]
_TREE = f"SELECT {', '.join(_SHORT)} FROM wyrd_checkpoints WHERE thread = ? AND ns = '' {_NEWEST}"


def tree(dialect: str, thread_id: str, limit: int) -> Script[Tree]:
    """All checkpoints of the root, at most so many, without what they changed."""
    thread = yield from standing(dialect, thread_id)
    rows, labels = yield [Query(_TREE, (thread.key, limit + 1)), Query(_LABELS, (thread.key,))]
    steps: list[Any] = [_branch(*row) for row in rows[:limit]]
    ids = {step.id for step in steps}
    children = _grouped((step.parent or "", given(step.id)) for step in reversed(steps))
    named = _named(labels)
    entries = {
        given(step.id): _entry(thread_id, step, named, children, step is steps[0]) for step in steps
    }
    roots = tuple(given(step.id) for step in reversed(steps) if step.parent not in ids)
    head = given(steps[0].id) if steps else None
    return Tree(given(thread_id), entries, roots, head, len(rows) <= limit)
