"""Facts to events: what a put or a task's writes change in what was known.

`fold` compares facts with the state before and makes an event of each that changes something;
`draft.replay` gives the same state from those events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from langgraph_wyrd.state.draft import Draft, Items, loop_key
from langgraph_wyrd.state.events import (
    Event,
    Moment,
    Op,
    Pillar,
    bounded,
    is_exact,
    item_id,
    packed,
    plain,
    same,
    word,
)
from langgraph_wyrd.state.facts import (
    PASSING,
    Drops,
    Fact,
    Forgets,
    Holds,
    Listed,
    Opens,
    Reopens,
    Resumes,
    Settles,
    Todos,
    Wants,
)
from langgraph_wyrd.state.model import FINISHED, Intention, OpenLoop, Source, Todo, WorkingState

MOST_TEXT = 500  # characters of a description, an intention, a todo's content, an outcome
MOST_CONTEXT = 1024  # entries
OVERRULED = "overruled"  # in a todo's extra: the status its tracker gives it, that an edit changed

_ALIKE = 0.5  # share of words that a reworded entry must have in common with what it was
_NEAR = (0, -1, 1, -2, 2)  # how many places an entry may have moved among the unmatched ones

Entry = tuple[str, str, str | None]  # of a tracker's list: content, status, ref

# These kinds may open again under a ref that was closed; what a message says is opened only once.
_COMES_AGAIN = ("interrupt", "note", "decision")

# Items of these pillars are made at once where their event is known to say the same.
_AS_TOLD: dict[str, type[Any]] = {"loop": OpenLoop, "intention": Intention}


def fold(
    previous: WorkingState, facts: Iterable[Fact], at: Moment
) -> tuple[WorkingState, tuple[Event, ...]]:
    """The state with these facts, and the events that lead there.

    For a put, `previous` is what `advance` gives; for a task's writes, what `overlaid` gives.
    Due nodes and status are taken over as they are: `with_status` sets them.
    """
    folding = _Folding(previous, at)
    for fact in facts:
        how = _TAKE.get(type(fact))
        if how is None:
            raise TypeError(f"{type(fact).__name__} is no fact")
        how(folding, fact)
    return folding.draft.finish(at), tuple(folding.events)


class _Folding:
    __slots__ = ("at", "draft", "events", "ordinals")

    def __init__(self, previous: WorkingState, at: Moment) -> None:
        self.at = at
        self.draft = Draft(previous)
        self.events: list[Event] = []
        self.ordinals: dict[tuple[str, str], int] = {}

    def tell(self, pillar: Pillar, op: Op, item: str, body: dict[str, Any], source: Source) -> None:
        event = Event(pillar, op, item, body, packed(source, self.at))
        self.draft.apply(event, self.at)
        self.events.append(event)

    def opened(
        self, pillar: Pillar, body: dict[str, Any], source: Source, there: Items[Any]
    ) -> None:
        """Open an item under the first id of its rule, here, that none has: a task may write more
        than once."""
        kind = pillar[0], source.rule or ""
        ordinal = self.ordinals.get(kind, 0)
        while (id := item_id(kind[0], self.at, kind[1], ordinal)) in there.items:
            ordinal += 1
        self.ordinals[kind] = ordinal + 1
        told = packed(source, self.at, True)
        event = Event(pillar, "open", id, body, told)
        self.events.append(event)
        if pillar in _AS_TOLD and is_exact(source, told, self.at):
            made = _AS_TOLD[pillar](id=id, opened_at=self.at.ts, source=source, **body)
            self.draft.add(pillar, made)
        else:
            self.draft.apply(event, self.at)

    # ---- loops

    def opens(self, fact: Opens) -> None:
        loops = self.draft.loops
        ref = None if fact.ref is None else word(fact.ref)
        description = bounded(fact.description, MOST_TEXT)
        context = plain(fact.context) if fact.context else {}
        key = loop_key(fact.kind, ref, description)
        known = loops.keys.get(key)
        if known is not None:
            self._again(loops.items[known], fact, description, context)
            return
        past = None if ref is None else loops.closed(key[0], ref)
        if past is not None and _told(past, fact):
            return
        body: dict[str, Any] = {"kind": word(fact.kind), "description": description}
        if ref is not None:
            body["ref"] = ref
        if context:
            body["context"] = context
        if fact.confidence != "structural":
            body["confidence"] = word(fact.confidence)
        self.opened("loop", body, fact.source, loops)

    def _again(
        self, held: OpenLoop, fact: Opens, description: str, context: dict[str, Any]
    ) -> None:
        body: dict[str, Any] = {}
        if description != held.description:
            body["description"] = description
        if not same(context, held.context):
            body["context"] = context
        if held.confidence == "heuristic" != fact.confidence:
            body["confidence"] = word(fact.confidence)  # what was guessed has been seen
        if body:
            self.tell("loop", "change", held.id, body, fact.source)

    def settles(self, fact: Settles) -> None:
        loops = self.draft.loops
        if fact.item is not None:
            held = loops.items.get(fact.item)
            ids = [] if held is None or held.resolved else [held.id]
        elif fact.ref is None:
            ids = [id for key, id in loops.keys.items() if key[0] in fact.kinds]
        else:
            ref = word(fact.ref)
            keys = ((kind, ref, "") for kind in fact.kinds)
            ids = [id for key in keys if (id := loops.keys.get(key)) is not None]
        if not ids:
            return
        outcome = bounded(fact.outcome, MOST_TEXT)
        source = packed(fact.source, self.at)
        self.draft.touched.add("loop")
        for id in ids:
            self.events.append(Event("loop", "close", id, {"outcome": outcome}, source))
            loops.close_one(id, outcome, self.at)

    def reopens(self, fact: Reopens) -> None:
        held = self.draft.loops.items.get(fact.item)
        if held is not None and held.resolved:
            self.tell("loop", "change", fact.item, {"open": True}, fact.source)

    # ---- intentions

    def wants(self, fact: Wants) -> None:
        intentions = self.draft.intentions
        text = bounded(fact.text, MOST_TEXT)
        if not text:
            return
        earlier = intentions.of_aim(fact.aim)
        if fact.confidence == "heuristic":  # a guess takes no word's place
            if any(each.text == text for each in earlier[-1:]):
                return
            earlier = [each for each in earlier if each.confidence == "heuristic"]
        else:
            stated = [each for each in earlier if each.confidence != "heuristic"]
            if stated and stated[-1].text == text:
                return
        for each in earlier:
            self.tell("intention", "close", each.id, {"outcome": "superseded"}, fact.source)
        body: dict[str, Any] = {"text": text}
        if fact.aim != "request":
            body["aim"] = word(fact.aim)
        if fact.confidence != "structural":
            body["confidence"] = word(fact.confidence)
        self.opened("intention", body, fact.source, intentions)

    def drops(self, fact: Drops) -> None:
        for each in self.draft.intentions.of_aim(fact.aim):
            self.tell("intention", "close", each.id, {"outcome": fact.outcome}, fact.source)

    def resumes(self, fact: Resumes) -> None:
        intentions = self.draft.intentions
        if intentions.of_aim(fact.aim):
            return
        for each in reversed(intentions.items.values()):
            if each.aim == fact.aim and each.confidence != "heuristic":
                self.tell("intention", "change", each.id, {"open": True}, fact.source)
                return

    # ---- context

    def holds(self, fact: Holds) -> None:
        context = self.draft.context
        key, value = word(fact.key), plain(fact.value)
        metadata = plain(fact.metadata) if fact.metadata else {}
        held = context.get(key)
        body: dict[str, Any] = {}
        if held is None:
            if len(context.items) >= MOST_CONTEXT:
                self._refuse(fact.source)
                return
            body["key"] = key
            body["value"] = value
            if metadata:
                body["metadata"] = metadata
            if fact.confidence != "structural":
                body["confidence"] = word(fact.confidence)
            self.opened("context", body, fact.source, context)
            return
        if not same(value, held.value):
            body["value"] = value
        if not same(metadata, held.metadata):
            body["metadata"] = metadata
        if body:
            self.tell("context", "change", held.id, body, fact.source)

    def _refuse(self, source: Source) -> None:
        note = f"more than {MOST_CONTEXT} entries: later ones were left out"
        if self.draft.extra.get("context_full") != note:
            self.tell("thread", "change", "", {"extra": {"context_full": note}}, source)

    def forgets(self, fact: Forgets) -> None:
        held = self.draft.context.get(word(fact.key))
        if held is not None:
            self.tell("context", "drop", held.id, {}, fact.source)

    # ---- todos

    def todos(self, fact: Todos) -> None:
        todos = self.draft.todos
        tracker = word(fact.tracker)
        listed = todos.listed(tracker)
        contents = [bounded(each.content, MOST_TEXT) for each in fact.items]
        if len(listed) == len(contents) and all(
            not _changes(each, content, todo)
            for each, content, todo in zip(fact.items, contents, listed, strict=True)
        ):
            return
        entries = [
            (content, word(each.status), None if each.ref is None else word(each.ref))
            for each, content in zip(fact.items, contents, strict=True)
        ]
        found = matched(entries, listed, todos.gone(tracker))
        stays = {todo.id for todo in found if todo is not None}
        for gone in listed:
            if gone.id not in stays:
                self._vanished(gone, fact.source)
        order = [todo.id for todo in found if todo is not None and todo.listed]
        if order != todos.lists.get(tracker, []):
            self.tell("todo", "change", "", {"tracker": tracker, "order": order}, fact.source)
        size = sum(each.id in stays for each in listed)
        for place, (each, content, todo) in enumerate(
            zip(fact.items, contents, found, strict=True)
        ):
            if todo is None:
                body = _todo_body(each, content, fact)
                if place != size:
                    body["place"] = place
                self.opened("todo", body, fact.source, todos)
                size += 1
                continue
            body = _changes(each, content, todo)
            if not todo.listed:
                body["listed"] = True
                if place != size:
                    body["place"] = place
                size += 1
            if body:
                ends = todo.open and body.get("status", "pending") in FINISHED
                self.tell("todo", "close" if ends else "change", todo.id, body, fact.source)

    def _vanished(self, todo: Todo, source: Source) -> None:
        ends = {"status": "cancelled"} if todo.open else {}
        self.tell("todo", "close" if ends else "change", todo.id, {**ends, "listed": False}, source)


def _told(past: OpenLoop, fact: Opens) -> bool:
    """Whether a closed loop is the one that is told of. Some models number their calls anew each
    turn, so a ref of another message is another loop."""
    if fact.source.rule in PASSING or fact.kind in _COMES_AGAIN:
        return False
    before, now = past.source.message_id, fact.source.message_id
    return before is None or now is None or before == now


def _todo_body(each: Listed, content: str, fact: Todos) -> dict[str, Any]:
    body: dict[str, Any] = {"content": content}
    if each.status != "pending":
        body["status"] = word(each.status)
    if each.priority != "medium":
        body["priority"] = word(each.priority)
    if each.ref is not None:
        body["ref"] = word(each.ref)
    if fact.tracker != "todos":
        body["tracker"] = word(fact.tracker)
    if fact.confidence != "structural":
        body["confidence"] = word(fact.confidence)
    if each.extra:
        body["extra"] = plain(each.extra)
    return body


def _changes(each: Listed, content: str, todo: Todo) -> dict[str, Any]:
    """The fields of a todo in which the list says otherwise. What it leaves unsaid stays."""
    body: dict[str, Any] = {}
    if content != todo.content:
        body["content"] = content
    overruled = todo.extra.get(OVERRULED)
    if overruled is not None and each.status != overruled:  # its tracker has news of it
        body["extra"] = {OVERRULED: None}
    if each.status not in (todo.status, overruled):
        body["status"] = word(each.status)
    if each.priority != todo.priority:
        body["priority"] = word(each.priority)
    if each.ref is not None and word(each.ref) != todo.ref:
        body["ref"] = word(each.ref)
    if each.extra:
        extra = plain(each.extra)
        held = todo.extra
        new = {k: v for k, v in extra.items() if k not in held or not same(v, held[k])}
        if new:
            body["extra"] = {**body.get("extra", {}), **new}
    return body


# Each kind of fact is taken by the method of its name.
_TAKE: dict[type[Any], Callable[[_Folding, Any], None]] = {
    kind: getattr(_Folding, kind.__name__.lower()) for kind in get_args(Fact)
}


# ---- which entry of a tracker's list is which todo that is known


def matched(
    entries: Sequence[Entry], listed: Sequence[Todo], gone: Sequence[Todo]
) -> list[Todo | None]:
    """For each entry the todo that it is; None for a new one.

    By the tracker's own ids, then by content, then by place if the words are alike. `gone` are
    those that left the list; one of them only comes back under its own words or id, and one that
    was finished only as finished. A finished todo is not taken for an open one in other words:
    trackers number their next list from 1 again.
    """
    found: list[Todo | None] = [None] * len(entries)
    taken: set[str] = set()

    def take(place: int, todo: Todo) -> None:
        found[place] = todo
        taken.add(todo.id)

    for known in (listed, gone):
        refs = {todo.ref: todo for todo in reversed(known) if todo.ref is not None}
        for place, (content, status, ref) in enumerate(entries if refs else ()):
            by_ref = None if ref is None or found[place] is not None else refs.get(ref)
            if by_ref is None or by_ref.id in taken:
                continue
            if _may_become(by_ref, content, status):
                take(place, by_ref)
    for known in (listed, gone):
        waiting: defaultdict[str, list[Todo]] = defaultdict(list)
        for todo in reversed(known):
            if todo.id not in taken:
                waiting[_normal(todo.content)].append(todo)
        for place, (content, status, _) in enumerate(entries if waiting else ()):
            if found[place] is not None or not (those := waiting.get(_normal(content))):
                continue
            if not _was_done(those[-1], status):
                take(place, those.pop())
    rest = [place for place, todo in enumerate(listed) if todo.id not in taken]
    if rest and any(each is None for each in found):
        _by_place(entries, listed, rest, found, taken)
    return found


def _may_become(todo: Todo, content: str, status: str) -> bool:
    if todo.listed and (todo.open or status in FINISHED):
        return True
    return not _was_done(todo, status) and alike(todo.content, content) > _ALIKE


def _was_done(todo: Todo, status: str) -> bool:
    """Whether it was done long ago: once more on the list, and open, it is another one."""
    return not todo.listed and todo.status == "completed" and status not in FINISHED


def _by_place(
    entries: Sequence[Entry],
    listed: Sequence[Todo],
    rest: Sequence[int],
    found: list[Todo | None],
    taken: set[str],
) -> None:
    """What stands at about the same place between the same neighbours, in words alike."""
    at = {todo.id: place for place, todo in enumerate(listed)}
    gaps: defaultdict[int, list[Todo]] = defaultdict(list)  # by the matched todo before
    before = -1
    left = set(rest)
    for place, todo in enumerate(listed):
        if place in left:
            gaps[before].append(todo)
        else:
            before = place
    before, offset = -1, 0
    for place, (content, status, ref) in enumerate(entries):
        if (todo_here := found[place]) is not None:
            before, offset = at.get(todo_here.id, before), 0
            continue
        best, most = None, _ALIKE
        gap = gaps.get(before, ())
        for step in _NEAR:
            near = offset + step
            if not 0 <= near < len(gap) or (todo := gap[near]).id in taken:
                continue
            if not todo.open and status not in FINISHED:
                continue
            if ref is not None and todo.ref is not None and ref != todo.ref:
                continue
            if (how := alike(todo.content, content)) > most:
                best, most = todo, how
        if best is not None:
            found[place] = best
            taken.add(best.id)
        offset += 1


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def alike(one: str, other: str) -> float:
    """How much two entries have in common, from 0 to 1: words by their beginnings."""
    a, b = _parts(one), _parts(other)
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _parts(text: str) -> frozenset[str]:
    text = text.casefold()
    if text.isascii():
        return frozenset(word[:4] for word in text.split())
    joined = "".join(text.split())  # not every script has spaces
    return frozenset(joined[n : n + 2] for n in range(max(len(joined) - 1, 1)))
