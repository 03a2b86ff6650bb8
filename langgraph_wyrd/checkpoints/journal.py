"""The journal: what a person or an agent declared, as rows of wyrd_journal.

Facts about the world (decisions, their outcomes, loops opened by hand) belong to the thread: they
are seen from every branch. Opinions about the plan (todos, context, intentions), and what a model
found in the messages, follow the path of the checkpoint at which they were said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state.codec import to_dict
from langgraph_wyrd.state.draft import CLOSED_LOOPS
from langgraph_wyrd.state.editing import TRACKER, task_of
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.model import ELSEWHERE, LEFT, OpenLoop, WorkingState
from langgraph_wyrd.state.model_report import RULE as BY_MODEL
from langgraph_wyrd.state.pending import moment_of
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.rows import insert, summed, unsound
from langgraph_wyrd.storage.scripts import Query, Step
from langgraph_wyrd.storage.tables import JOURNAL, JournalRow, Key

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.cache import Thread
    from langgraph_wyrd.checkpoints.working import NamespaceState

FACTS = frozenset(("decision", "outcome", "loop"))
ROWS = f"SELECT {', '.join(JOURNAL.names)} FROM wyrd_journal WHERE thread = ? AND ns = ?"


class Entry(NamedTuple):
    """What was said at once, at one place."""

    said_at: str | None
    seq: int
    at: str
    facts: frozenset[str]  # the items of which it says something that holds on every branch
    read: bool  # a put read it out of a tool call: its checkpoint's events say it as well
    left: bool  # it was left behind with a branch, whose events say it as well
    events: tuple[Event, ...]

    @property
    def task(self) -> str:
        """The name under which it lies over its checkpoint."""
        return task_of(self.at, str(self.seq))


def query(key: Key, ns: str) -> Query:
    """The statement for the journal of a namespace."""
    return Query(ROWS, (key, ns))


def entries(codec: Codec, rows: Iterable[Sequence[Any]], until: int | None = None) -> list[Entry]:
    """What these rows say, in the order in which it was said; damaged rows are refused."""
    found: dict[tuple[int, str], list[JournalRow]] = {}
    for held in rows:
        row = JournalRow._make(held)
        if until is not None and row.seq > until:
            continue
        if unsound(JOURNAL, row):
            raise CheckpointDamaged(f"entry {row.seq} of the journal fails its checksum")
        found.setdefault((row.seq, row.said_at or ""), []).append(row)
    made = []
    for (seq, _), group in sorted(found.items(), key=itemgetter(0)):
        bodies = [unpacked(codec.opened(JOURNAL, row, "body")) for row in group]
        said = sorted((each for body in bodies for each in body["events"]), key=itemgetter(0))
        made.append(
            Entry(
                group[0].said_at, seq, group[0].at,
                frozenset(given(row.item) for row in group if row.kind in FACTS),
                bool(bodies[0].get("read")), bool(bodies[0].get("left")),
                tuple(Event.from_dict(event) for _, event in said),
            )
        )  # fmt: skip
    return made


def rows_of(
    codec: Codec, key: Key, seq: int, ns: str, said_at: str | None, run_id: str | None,
    author: str | None, at: str, events: Sequence[Event], kind_of: Mapping[str, str], *,
    read: bool = False,
    left: bool = False,
) -> list[JournalRow]:  # fmt: skip
    """The rows that store what was said at once: one an item."""
    items: dict[str, list[Any]] = {}
    kinds: dict[str, str] = {}
    for n, event in enumerate(events):
        items.setdefault(event.item, []).append([n, event.to_dict()])
        kinds[event.item] = kind(event, kind_of)
    body: dict[str, Any] = {"read": True} if read else {"left": True} if left else {}
    return [
        summed(
            JOURNAL,
            JournalRow(
                key, seq, stored(item, "an item's id"), kinds[item], ns, said_at, run_id,
                None if author is None else stored(author, "an author"), at, 0,
                packed({**body, "events": held}),
            ),
            codec.sealer,
        )
        for item, held in items.items()
    ]  # fmt: skip


def steps_of(rows: Iterable[JournalRow]) -> list[Step]:
    return [Step(insert(JOURNAL), row) for row in rows]


def kind(event: Event, declared: Mapping[str, str]) -> str:
    """The kind of a row; `declared` has the kinds of the loops that were opened by hand."""
    if event.pillar != "loop":
        return event.pillar
    if event.op == "open":
        if event.body.get("kind") == "decision":
            return "decision"
        return "found" if event.source.get("rule") == BY_MODEL else "loop"
    known = declared.get(event.item)
    if known is None:
        return "resolved"
    return "outcome" if known == "decision" and event.op == "close" else "loop"


def declared(state: WorkingState) -> dict[str, str]:
    """The kinds of a state's loops that somebody declared, by id."""
    return {loop.id: loop.kind for loop in state.loops if is_fact(loop)}


def is_fact(loop: OpenLoop) -> bool:
    return loop.source.rule in (TRACKER, LEFT) or loop.kind == "decision"


# What happened, whichever branch goes on: it is declared again when its branch is left.
HAPPENED = ("tool_call", "error", "task")


def left_behind(before: WorkingState, here: WorkingState) -> list[Event]:
    """What is declared when a thread whose state was `before` goes on from `here`.

    What failed or has no result on the branch that is left stays listed, marked `elsewhere`, until
    somebody closes it. What was listed so, and is this branch's own, is not any more.
    """
    known = {loop.id: loop for loop in here.loops}
    events = []
    for loop in before.loops:
        held = known.get(loop.id)
        if loop.resolved:
            continue
        if held is None:
            if loop.kind in HAPPENED:
                events.append(_left(loop))
        elif loop.left and not held.left:
            events.append(Event("loop", "drop", loop.id))
    return events


def _left(loop: OpenLoop) -> Event:
    """A loop of a branch that is left, as the thread's own."""
    told = to_dict(loop, compact=True)
    source = {**told.pop("source", {}), "rule": LEFT}
    body = {k: v for k, v in told.items() if k not in ("schema", "id", "thread_id")}
    return Event("loop", "open", loop.id, body, source)


def rows_of_left(
    codec: Codec, key: Key, seq: int, head: str | None, at: str, events: Sequence[Event]
) -> list[JournalRow]:
    """The rows for what was left behind with the branch of a head."""
    kinds = {event.item: "loop" for event in events}
    return rows_of(codec, key, seq, "", head, None, None, at, events, kinds, left=True)


def leave(
    codec: Codec, thread: Thread, state: NamespaceState, ts: str | None, events: Sequence[Event]
) -> tuple[NamespaceState, list[Step]]:
    """Store what a put leaves behind with the head's branch; its own state, with that."""
    if not events:
        return state, []
    seq, at = thread.version + 1, ts or ""
    rows = rows_of_left(codec, thread.key, seq, thread.head, at, events)
    items = frozenset(event.item for event in events)
    entry = Entry(thread.head, seq, at, items, False, True, tuple(events))
    for said in elsewhere(state.seen(), [entry], ts=ts):
        state = state.also(*said)
    return state, steps_of(rows)


def of_events(
    codec: Codec, key: Key, seq: int, ns: str, id: str, run_id: str | None, at: str | None,
    events: Sequence[Event], before: Sequence[OpenLoop],
) -> list[Step]:  # fmt: skip
    """The rows for what a put read of facts: decisions of tool calls, and how facts ended.
    `before` are the loops that were known."""
    known = {
        loop.id: loop.kind
        for loop in before
        if loop.kind == "decision" or (loop.extra and loop.elsewhere)
    }
    said = []
    for event in events:
        if event.pillar != "loop":
            continue
        if event.op == "open" and event.body.get("kind") == "decision":
            known[event.item] = "decision"
        elif event.item not in known:
            continue
        said.append(event)
    if not said:
        return []
    return steps_of(
        rows_of(codec, key, seq, ns, id, run_id, None, at or "", said, known, read=True)
    )


# ---- what other branches said


def elsewhere(
    seen: WorkingState, entries: Sequence[Entry], ns: str = "", ts: str | None = None
) -> list[tuple[Moment, tuple[Event, ...]]]:
    """The facts that a path's state does not have, for the end of the path: `ns`, and its time.

    They were said on other branches, or taken back with a rewind. What is over is left out where
    the state has no room for more of it: it may be what the path itself dropped.
    """
    full = sum(loop.resolved for loop in seen.loops) >= CLOSED_LOOPS
    held = {loop.id: loop for loop in seen.loops}
    opened: dict[str, list[tuple[Moment, tuple[Event, ...]]]] = {}
    found: list[tuple[Moment, tuple[Event, ...]]] = []
    for entry in entries:
        if not entry.facts:
            continue
        where = {} if entry.said_at is None else {"checkpoint_id": given(entry.said_at)}
        at = moment_of(given(entry.said_at or ""), ns, ts, entry.task)
        for event in entry.events:
            if event.item not in entry.facts:
                continue
            if event.item in held:
                if event.op not in ("open", "drop") and not held[event.item].resolved:
                    found.append((at, (event,)))
            elif event.op == "open":
                source = {**where, **event.source}
                extra = {**(event.body.get("extra") or {}), ELSEWHERE: True}
                body = {**event.body, "extra": extra}
                opened[event.item] = [(at, (Event("loop", "open", event.item, body, source),))]
            elif event.op == "drop":
                opened.pop(event.item, None)
            elif event.item in opened:
                opened[event.item].append((at, (event,)))
    for each in opened.values():
        if not (full and any(event.op == "close" for _, (event,) in each)):
            found += each
    return found
