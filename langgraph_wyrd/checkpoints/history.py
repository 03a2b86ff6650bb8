"""A thread's past: its checkpoints in short, with what each changed, and the tree they make.

No channel value is decoded. What a step changed is in its row: the events say what it changed in
the working state, the delta which channels changed and by how many elements.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph_wyrd.checkpoints import journal, states
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.outline import Outline, Shape, differences, grown, outline
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.points import Point, found_at, known
from langgraph_wyrd.checkpoints.projection import due_of
from langgraph_wyrd.checkpoints.restore import delta_of
from langgraph_wyrd.checkpoints.working import Pending
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state.diff import diff
from langgraph_wyrd.state.events import is_pruned
from langgraph_wyrd.state.fold import replay
from langgraph_wyrd.state.model import ContextItem, Todo, WorkingState
from langgraph_wyrd.state.pending import advance, overlaid
from langgraph_wyrd.state.results import HistoryEntry, Tree
from langgraph_wyrd.state.wording import listing
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import fetch, select
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, WRITES, CheckpointRow, WriteRow

_MOST_NAMED = 3  # channels in a summary
_NEWEST = "ORDER BY id DESC LIMIT ?"
_PAGE = select(CHECKPOINTS, "thread", "ns")
_CHILDREN = (
    "SELECT parent, id FROM wyrd_checkpoints WHERE thread = ? AND ns = '' "
    "AND parent BETWEEN ? AND ? ORDER BY id"
)
_LABELS = "SELECT name, checkpoint FROM wyrd_labels WHERE thread = ? ORDER BY checkpoint, name"
_SAID = (
    f"{select(WRITES, 'thread', 'ns')} AND checkpoint BETWEEN ? AND ? AND events IS NOT NULL "
    "ORDER BY seq"
)


# ---- history


def history(
    dialect: str, codec: Codec, thread_id: str, limit: int, before: Point
) -> Script[list[HistoryEntry]]:
    """The root's checkpoints, forks included, newest first."""
    thread = yield from known(dialect, thread_id)
    sql, params = _PAGE, [thread.key, ""]
    if before is not None:
        place = yield from found_at(thread, before)
        sql, params = f"{_PAGE} AND id < ?", [*params, place.id]
    rows = yield Query(f"{sql} {_NEWEST}", (*params, limit))
    return (yield from entries_of(dialect, codec, thread, [*map(CheckpointRow._make, rows)]))


def entry(dialect: str, codec: Codec, thread: Thread, id: str) -> Script[HistoryEntry]:
    """One of them."""
    rows = yield from fetch(CHECKPOINTS, thread=thread.key, ns="", id=id)
    (found,) = yield from entries_of(dialect, codec, thread, rows)
    return found


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


def entries_of(
    dialect: str, codec: Codec, thread: Thread, rows: Sequence[CheckpointRow]
) -> Script[list[HistoryEntry]]:
    """What is told of a stretch of root checkpoints."""
    page = {row.id: row for row in rows}
    if not page:
        return []
    about = yield from _about(dialect, codec, thread, page)
    children, labels = yield [
        Query(_CHILDREN, (thread.key, min(page), max(page))),
        Query(_LABELS, (thread.key,)),
    ]
    offspring = _grouped((parent, given(id)) for parent, id in children)
    named = _grouped((checkpoint, given(name)) for name, checkpoint in labels)
    return [
        _entry_of(codec, row, about, named, offspring, head=row.id == thread.head) for row in rows
    ]


def _about(
    dialect: str, codec: Codec, thread: Thread, page: Mapping[str, CheckpointRow]
) -> Script[dict[str, Known]]:
    """What is known of the checkpoints of a page, and of their parents outside of it."""
    outside = {row.parent for row in page.values()} | {row.built_on for row in page.values()}
    about: dict[str, Known] = {}
    for id in sorted(id for id in outside - page.keys() if id is not None):
        found, state = yield from states.load_namespace(
            dialect, codec, thread, "", id, past=True, values=False
        )
        if state is not None:
            about[id] = Known(
                _outlined(codec, found), state.lasting, state.pending, found.path[0].due
            )
    said, declared = yield [
        Query(_SAID, (thread.key, "", min(page), max(page))),
        journal.query(thread.key, ""),
    ]
    entries = journal.entries(codec, declared)
    pending = states.overlays(codec, page.values(), [*map(WriteRow._make, said)], entries)
    for id in page:
        _follow(codec, thread, page, pending, entries, about, id)
    return about


def states_of(
    dialect: str, codec: Codec, thread: Thread, ids: Sequence[str]
) -> Script[dict[str, Known]]:
    """What is known of some root checkpoints that lie on one line."""
    marks = ", ".join("?" * len(ids))
    rows = yield Query(f"{_PAGE} AND id IN ({marks})", (thread.key, "", *ids))
    page = {row.id: row for row in map(CheckpointRow._make, rows)}
    return (yield from _about(dialect, codec, thread, page))


def items_named(codec: Codec, key: Any, ns: str, id: str) -> Script[set[str]]:
    """The items of which the events at a subgraph's checkpoint say something."""
    rows = yield from fetch(CHECKPOINTS, thread=key, ns=ns, id=id)
    said = yield from fetch(WRITES, thread=key, ns=ns, checkpoint=id)
    pending = states.overlays(codec, rows, [row for row in said if row.events is not None], ())
    found: set[str] = set()
    for row in rows:
        _, own, over = states.own_events(codec, row, pending)
        found.update(
            event.item for events in (own, *(held for _, held in over)) for event in events
        )
    return found


def _outlined(codec: Codec, found: Found) -> Outline | None:
    try:
        return outline(codec, found)
    except CheckpointDamaged:
        return None


def _follow(
    codec: Codec,
    thread: Thread,
    page: Mapping[str, CheckpointRow],
    pending: states.Pendings,
    declared: Sequence[journal.Entry],
    about: dict[str, Known],
    id: str,
) -> None:
    """Learn what is to be known of a checkpoint of the page, from where its path is known."""
    path: dict[str, CheckpointRow] = {}
    at: str | None = id
    while at is not None and at in page and at not in about and at not in path:
        path[at] = page[at]
        at = page[at].built_on
    for row in reversed(path.values()):
        before = None if row.built_on is None else about.get(row.built_on)
        if before is None:
            before = Known(
                Outline() if row.built_on is None else None,
                WorkingState(thread_id=given(thread.thread_id)),
                states.unborn(declared, "", row.seq), None,
            )  # fmt: skip
        made = None
        if before.outline is not None:
            try:
                made = before.outline.then(codec, delta_of(codec, row))
            except (CheckpointDamaged, AttributeError, TypeError, ValueError):
                made = None
        moment, own, over = states.own_events(codec, row, pending)
        state = replay(advance(before.state, before.pending, moment), own, moment)
        about[row.id] = Known(made, state, over, row.due)


def _entry_of(
    codec: Codec,
    row: CheckpointRow,
    about: Mapping[str, Known],
    labels: Mapping[str, Sequence[str]],
    children: Mapping[str, Sequence[str]],
    *,
    head: bool,
) -> HistoryEntry:
    here = about[row.id]
    parent = None if row.parent is None else about.get(row.parent)
    before = Outline() if parent is None else parent.outline
    changed: dict[str, tuple[Shape | None, Shape | None]] = {}
    ran: list[str] = []
    if here.outline is not None and before is not None:
        changed = differences(codec, before, here.outline, row)
        ran = _ran(before, here.outline, row, None if parent is None else parent.due)
    state = WorkingState() if parent is None else parent.seen
    said = _summary(state, here.seen, changed)
    if not said:
        said = "new input" if row.source == "input" else "no changes"
    _, own, _ = states.events_at(codec, row)
    pruned = row.parent is None and any(map(is_pruned, own))
    if pruned or (row.parent is not None and parent is None):
        why = "what came before was pruned" if pruned else "its parent is not there"
        said = f"{why}: what it changed is not known"
    elif here.outline is None or before is None:
        whose = "its row" if before is not None else "its parent's row"
        said += f" (damaged: {whose} can't be read)"
    return replace(
        _entry(row, labels.get(row.id, ()), children.get(row.id, ()), head=head),
        nodes=tuple(ran), changed=tuple(changed), summary=said,
    )  # fmt: skip


def _entry(row: Any, labels: Sequence[str], children: Sequence[str], *, head: bool) -> HistoryEntry:
    """What a checkpoint's own columns say of it."""
    return HistoryEntry(
        given(row.id),
        None if row.parent is None else given(row.parent),
        row.ts,
        row.step,
        row.source,
        None if row.run_id is None else given(row.run_id),
        tuple(labels),
        tuple(children),
        head,
    )


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


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


def _summary(
    before: WorkingState,
    after: WorkingState,
    changed: Mapping[str, tuple[Shape | None, Shape | None]],
) -> str:
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
    thread = yield from known(dialect, thread_id)
    rows, labels = yield [Query(_TREE, (thread.key, limit + 1)), Query(_LABELS, (thread.key,))]
    steps: list[Any] = [_branch(*row) for row in rows[:limit]]
    ids = {step.id for step in steps}
    children = _grouped((step.parent or "", given(step.id)) for step in reversed(steps))
    named = _grouped((checkpoint, given(name)) for name, checkpoint in labels)
    entries = {
        given(step.id): _entry(
            step, named.get(step.id, ()), children.get(step.id, ()), head=step is steps[0]
        )
        for step in steps
    }
    roots = tuple(given(step.id) for step in reversed(steps) if step.parent not in ids)
    head = given(steps[0].id) if steps else None
    return Tree(given(thread_id), entries, roots, head, len(rows) <= limit)
