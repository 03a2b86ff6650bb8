"""A thread's past: its checkpoints in short, with what each changed, and the tree they make.

No channel value is read. What changed in the pillars is in the ledger, which is replayed once over
the page; which nodes ran and which channels changed is in the frames.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import gone, loading, moments, states
from langgraph_wyrd.plans.labels import labels_on
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.plans.shown import due_of
from langgraph_wyrd.plans.states import SILENT, Overlay
from langgraph_wyrd.state.diff import diff
from langgraph_wyrd.state.events import Moment, is_pruned
from langgraph_wyrd.state.fold import replay
from langgraph_wyrd.state.model import ContextItem, Todo, WorkingState
from langgraph_wyrd.state.overlay import advance, overlaid
from langgraph_wyrd.state.past import HistoryEntry, Tree
from langgraph_wyrd.state.values import is_users
from langgraph_wyrd.state.words import listing
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given, stored
from langgraph_wyrd.store.statements import Ask, Plan, Row
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec, kind

_PAGE = 1000  # checkpoints of a tree that are read in one go
_MOST_NAMED = 3  # channels in a summary


class Step(NamedTuple):
    """A row of `past`."""

    id: str
    parent: str | None
    ts: str | None
    step: int | None
    source: str | None
    run_id: str | None
    due: Any
    metadata: str
    exact: bytes | None
    strand: int
    seq: int
    length: int
    chain: int
    sum: int

    @property
    def place(self) -> Place:
        return Place(*self[9:13])


# ---- history


def history(codec: Codec, thread_id: str, limit: int, before: Point) -> Plan[list[HistoryEntry]]:
    """The root's checkpoints, forks included, newest first."""
    number = yield from moments.number_of(thread_id)
    if before is None:
        rows = yield Ask("past past_newest", (number, limit))
    else:
        id = yield from moments.found_at(number, thread_id, before)
        rows = yield Ask("past past_before past_newest", (number, id, limit))
    return (yield from told(codec, number, thread_id, rows))


def entry(codec: Codec, number: int, thread_id: str, id: str) -> Plan[HistoryEntry]:
    """One of them."""
    rows = yield Ask("past past_one", (number, id))
    found = yield from told(codec, number, thread_id, rows)
    if not found:
        raise CheckpointDamaged(f"the row of checkpoint {given(id)} is damaged")
    return found[0]


def told(
    codec: Codec, number: int, thread_id: str, rows: Sequence[Row]
) -> Plan[list[HistoryEntry]]:
    """What is told of a stretch of root checkpoints."""
    page = {row[0]: _checked(codec, number, Step(*row)) for row in rows}
    if not page:
        return []
    outside = sorted({s.parent for s in page.values() if s.parent is not None} - page.keys())
    top, offspring, *answers = yield [
        Ask("top", (number,)),
        Ask("offspring", (number, min(page), max(page))),
        *(Ask("past past_one", (number, id)) for id in outside),
    ]
    parents = {row[0]: _checked(codec, number, Step(*row)) for (row,) in filter(None, answers)}
    yield from gone.none_lost([(number, "", id) for id in outside if id not in parents])
    children: dict[str, list[str]] = {}
    for parent, id in offspring:
        children.setdefault(parent, []).append(given(id))
    labels = yield from labels_on(number, page)
    steps = {**parents, **page}
    frames = yield from frames_at(codec, number, {step.place for step in steps.values()})
    seen, pruned = yield from _states(codec, number, thread_id, page, parents)
    found = []
    for step in page.values():
        parent = None if step.parent is None else steps.get(step.parent)
        frame = frames.get(step.place)
        before = EMPTY if parent is None else frames.get(parent.place)
        changed: dict[str, tuple[Entry | None, Entry | None]] = {}
        ran: list[str] = []
        if frame is not None and before is not None:
            changed, ran = _changed(codec, before, frame, step), _ran(before, frame, step, parent)
        state = WorkingState() if parent is None else seen[parent.id]
        said = _summary(codec, state, seen[step.id], changed)
        if not said:
            said = "new input" if step.source == "input" else "no changes"
        if step.id in pruned or (step.parent is not None and parent is None):
            why = "what came before was pruned" if step.id in pruned else "its parent is not there"
            said = f"{why}: what it changed is not known"
        elif frame is None or before is None:
            whose = "its frame" if frame is None else "its parent's frame"
            said += f" (damaged: {whose} can't be read)"
        found.append(
            replace(
                _entry(step, labels, children.get(step.id, ()), head=step.id == top[0][0]),
                nodes=tuple(ran),
                changed=tuple(changed),
                summary=said,
            )
        )
    return found


def _entry(
    step: Step, labels: Mapping[str, tuple[str, ...]], children: Sequence[str], *, head: bool
) -> HistoryEntry:
    """What a checkpoint's own row says of it."""
    return HistoryEntry(
        given(step.id),
        None if step.parent is None else given(step.parent),
        step.ts,
        step.step,
        step.source,
        None if step.run_id is None else given(step.run_id),
        labels.get(step.id, ()),
        tuple(children),
        head,
    )


def _checked(codec: Codec, number: int, step: Step) -> Step:
    """A row, after its checksum; what stands beside its metadata is said there too."""
    try:
        total = loading.row_sum(
            number, "", step.id, step.parent, step.ts, step.metadata, step.exact, step.place
        )
        good = loading.same_row(total, step.sum)
    except TypeError:  # a column is of another type than it was
        good = False
    if not good or beside(codec, step.metadata, step.exact) != step[3:6]:
        raise CheckpointDamaged(f"the row of checkpoint {step.id} is damaged")
    return step


def beside(codec: Codec, metadata: str, exact: bytes | None) -> tuple[Any, Any, Any]:
    """Step, source and run id, as they are stored beside the metadata that says them."""
    held = codec.open_metadata(metadata, exact)
    step, source, run_id = (held.get(name) for name in ("step", "source", "run_id"))
    return (
        int(step) if isinstance(step, int) and abs(step) < 1 << 62 else None,
        stored(source, "source") if isinstance(source, str) else None,
        stored(run_id, "run_id") if isinstance(run_id, str) else None,
    )


def frames_at(codec: Codec, number: int, places: Collection[Place]) -> Plan[dict[Place, Frame]]:
    """The frames at these places, as far as they can be read."""
    found: dict[Place, Frame] = {}
    waiting = [list(places)]
    while waiting:
        some = waiting.pop()
        try:
            found.update((yield from loading.read_frames(codec, number, some)))
        except CheckpointDamaged:
            if not (yield Ask("given_up")):  # it may be had back yet
                raise
            # Of several strands, or places of one, some may be whole.
            strands: dict[int, list[Place]] = {}
            for place in some:
                strands.setdefault(place.strand, []).append(place)
            if len(strands) > 1:
                waiting += strands.values()
            elif len(some) > 1:
                waiting += [[place] for place in some]
    return found


def _states(
    codec: Codec, number: int, thread_id: str, page: dict[str, Step], outside: Collection[str]
) -> Plan[tuple[dict[str, WorkingState], set[str]]]:
    """The root's state at each checkpoint of a page, and at the parents that are outside of it; and
    the checkpoints before which a prune took everything.

    The ledger of the page is read and replayed once; only a parent outside has a path of its own.
    """
    known: dict[str, tuple[WorkingState, Overlay]] = {}
    for id in outside:
        woven = yield from states.load_woven(codec, number, thread_id, "", id)
        if woven is not None:
            known[id] = (woven.state, woven.overlay)
    rows = yield Ask("events", (number, "", min(page), max(page)))
    said = states.said_by(codec, "", {id: step.ts for id, step in page.items()}, rows)
    start = (WorkingState(thread_id=given(thread_id)), SILENT.overlay)
    for newest in reversed(page):
        path: dict[str, Step] = {}
        at: str | None = newest
        while at is not None and at in page and at not in known and at not in path:
            path[at] = page[at]
            at = page[at].parent
        for step in reversed(path.values()):
            lasting, overlay = known.get(step.parent or "", start)
            moment, here = Moment(step.id, "", step.ts), said.get(step.id, SILENT)
            state = replay(advance(lasting, overlay, moment), here.own, moment)
            known[step.id] = (state, here.overlay)
    shown = {id: overlaid(state, overlay) for id, (state, overlay) in known.items()}
    roots = (id for id, step in page.items() if step.parent is None)
    return shown, {id for id in roots if any(map(is_pruned, said.get(id, SILENT).own))}


def _ran(before: Frame, frame: Frame, step: Step, parent: Step | None) -> list[str]:
    """The nodes that ran: they have seen newer versions. Those reached by a Send see none, but
    are known to have been due. An input only takes what was due off the list."""
    if step.source not in ("loop", "update"):
        return []
    names = [node for node, held in frame.seen.items() if before.seen.get(node) != held]
    found = [given(name) for name in names if not name.startswith("__")]
    if step.source == "loop" and parent is not None:
        found += [due.node for due in due_of(parent.due) if due.index is not None]
    return list(dict.fromkeys(found))


# ---- which channels changed


def _changed(
    codec: Codec, before: Frame, frame: Frame, step: Step
) -> dict[str, tuple[Entry | None, Entry | None]]:
    """The channels whose value is another one, as far as places tell: old and new entry."""
    found = {}
    counted: Collection[str] | None = None
    for name in dict.fromkeys((*before.channels, *frame.channels)):
        old, new = before.channels.get(name), frame.channels.get(name)
        if not is_users(shown := given(name)):
            continue
        changed = differ(old, new)
        if changed is None:
            if counted is None:
                counted = deltas(codec, step.metadata, step.exact)
            changed = shown in counted
        if changed:
            found[shown] = (old, new)
    return dict(sorted(found.items()))


def differ(old: Entry | None, new: Entry | None) -> bool | None:
    """Whether a channel holds another value. None if it holds none and its version is another one:
    if it is kept as deltas it was written to."""
    if new is None or old is new:
        return old is not None and old is not new and old.has_value
    if old is None:
        return new.has_value or None
    if old.has_value and new.has_value:
        return not old.same_value(new)
    if old.version == new.version:  # a snapshot of deltas is in one checkpoint only
        return False
    return True if old.has_value or new.has_value else None


def deltas(codec: Codec, metadata: str, exact: bytes | None) -> Collection[str]:
    """The channels that are kept as deltas, and hold no value at a checkpoint of this metadata."""
    try:
        return deltas_of(codec.open_metadata(metadata, exact))
    except Exception:  # it only tells whether a channel changed that has no value anyway
        return ()


def deltas_of(metadata: Mapping[str, Any]) -> Collection[str]:
    counted = metadata.get("counters_since_delta_snapshot")
    return counted if isinstance(counted, Mapping) else ()


def _summary(
    codec: Codec,
    before: WorkingState,
    after: WorkingState,
    changed: Mapping[str, tuple[Entry | None, Entry | None]],
) -> str:
    """What changed in the pillars, how lists and dicts grew, and what else changed; in one line,
    which is empty where nothing did."""
    pillars = replace(diff(before, after), fields={})
    said = [] if pillars.empty else [pillars.summary()]
    # What a pillar told of a channel is not said twice.
    told = {item.key for _, _, each in pillars.told() if isinstance(item := each.item, ContextItem)}
    if any(isinstance(each.item, Todo) for _, _, each in pillars.told()):
        told.add("todos")
    others = []
    for name, (old, new) in changed.items():
        if name in told or (told and name.startswith("__")):
            continue
        grown = _grown(codec, old, new)
        if grown:
            said.append(f"{grown:+} {name}")
        else:
            others.append(name)
    if others:
        said.append(f"~{listing(others, _MOST_NAMED)}")
    return ", ".join(said)


def _grown(codec: Codec, old: Entry | None, new: Entry | None) -> int | None:
    """By how many elements a list or a dict has grown; None if that can't be told."""
    if new is None or not new.has_value:
        return None
    if old is None or not old.has_value:
        is_delta = new.shape[0] == "D"  # then it may have had a value all the same
        return None if is_delta else _length(codec, new)
    was, now = _length(codec, old), _length(codec, new)
    return None if was is None or now is None else now - was


def _length(codec: Codec, entry: Entry) -> int | None:
    if kind(entry.shape) == "w":
        return None
    if entry.place is not None:
        return entry.place.length
    try:
        return len(codec.open_block(entry.inline or b""))  # counted, not loaded
    except CheckpointDamaged:
        return None


# ---- the tree


def tree(codec: Codec, thread_id: str, limit: int) -> Plan[Tree]:
    """All checkpoints of the root, at most so many, without what they changed."""
    number = yield from moments.number_of(thread_id)
    found: dict[str, Step] = {}
    page = yield Ask("past past_newest", (number, min(_PAGE, limit)))
    # What can't be read is in no page, and an id that was put right stands in another place.
    while new := [Step(*row) for row in page if row[0] not in found]:
        if len(found) == limit:
            break
        found.update((step.id, _checked(codec, number, step)) for step in new)
        size = min(_PAGE, max(limit - len(found), 1))
        page = yield Ask("past past_before past_newest", (number, new[-1].id, size))
    ids = found.keys()
    steps = [found[id] for id in sorted(ids, reverse=True)]
    # Those further back than the limit are not looked for.
    behind = {step.parent or "" for step in steps if not new or steps[-1].id < (step.parent or "")}
    yield from gone.none_lost([(number, "", id) for id in sorted(behind - ids - {""})])
    children: dict[str | None, list[str]] = {}
    for step in reversed(steps):
        children.setdefault(step.parent, []).append(given(step.id))
    labels = yield from labels_on(number, ids)
    entries = {
        given(step.id): _entry(step, labels, children.get(step.id, ()), head=step is steps[0])
        for step in steps
    }
    roots = tuple(given(step.id) for step in reversed(steps) if step.parent not in ids)
    head = given(steps[0].id) if steps else None
    return Tree(given(thread_id), entries, roots, head, not new)
