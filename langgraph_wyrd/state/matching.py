"""Which item of one state is which of another, and what happened to it in between."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.state import codec
from langgraph_wyrd.state.events import same
from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Todo, WorkingState

# Fields that say where and when, or how something is kept, not what it is.
SILENT_OF_STATE = frozenset(("thread_id", "checkpoint_id", "ts", "ns", "reason"))
STATE_FIELDS = (*sorted(SILENT_OF_STATE), "title", "status", "due", "extra")
ORIGIN = ("id", "ref", "opened_at", "source", "thread_id")
SILENT = frozenset((*ORIGIN, "changed_at", "closed_at", "closed_in", "listed"))
Fields = dict[str, Any]


def equal(one: Item, other: Item) -> bool:
    """Equal to the last field: 1, 1.0 and True are three values."""
    return one is other or same(codec.write(one), codec.write(other))


def item_fields(item: Item) -> Fields:
    """The fields that say what an item is."""
    return fields_of(codec.write(item), SILENT) or {}


def fields_of(group: Fields | None, silent: frozenset[str]) -> Fields | None:
    """Fields without those that say only where and when."""
    if group is None:
        return None
    out = {name: value for name, value in group.items() if name not in silent}
    if "closed_in" in group:  # of loops and intentions; a todo's status says it
        out["open"] = group["closed_at"] is None and group["closed_in"] is None
    return out


def related(one: WorkingState, other: WorkingState) -> bool:
    """Whether two states are of one thread, so that equal items have equal ids and refs."""
    return one.thread_id is not None and (one.thread_id, one.ns) == (other.thread_id, other.ns)


def _keys(item: Item, kin: bool, added: bool) -> tuple[Hashable, ...]:
    """What makes two items the same one, surest first; None makes none.

    Within a thread the same words under another ref, or once more after it was over, are another
    loop, another intention. A tracker's own ids count unless they are numbers: those begin anew
    with each list, so words go first.
    """
    id = None if added else item.id or None
    if isinstance(item, ContextItem):
        return id, (item.key, item.source.ns), item.key
    text, still = " ".join(item.words.casefold().split()).rstrip(".!"), item.open
    if isinstance(item, Intention):
        return id, (item.aim, text, still), None if kin else (item.aim, text)
    if isinstance(item, OpenLoop):
        ref = (item.kind, item.ref) if item.ref else None
        words = None if kin and ref else (item.kind, text)
        return id, ref and (*ref, still), ref, words and (*words, still), words
    name = (item.tracker, item.ref) if item.ref else None
    number = item.ref is not None and item.ref.isdigit()
    known = (item.tracker, text)
    return (
        id,
        None if number else name,
        name and (*name, text),
        (*known, still),
        known,
        None if kin else text,
        name if number and not added else None,
    )


def matched(
    olds: Sequence[Item], news: Sequence[Item], kin: bool, *, added: bool = False
) -> dict[int, int]:
    """Which new item of a pillar an old one is, by their places: by id, then by what they say.

    `kin`: the states are of one thread. `added`: both were added, each on one side of a merge;
    then an equal id or number proves nothing.
    """
    old_keys = [_keys(item, kin, added) for item in olds]
    new_keys = [_keys(item, kin, added) for item in news]
    found: dict[int, int] = {}
    left, right = list(range(len(olds))), list(range(len(news)))
    for nth in range(len(old_keys[0]) if olds else 0):
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for place in left:
            waiting[old_keys[place][nth]].append(place)
        waiting.pop(None, None)
        alone = []
        for place in right:
            if queue := waiting.get(new_keys[place][nth]):
                found[queue.popleft()] = place
            else:
                alone.append(place)
        left, right = [place for place in left if place not in found], alone
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """An item as it was and as it is; None where it was, or is, not there.

    `moved`: it stands elsewhere among those that both states have.
    """

    old: Item | None
    new: Item | None
    moved: bool = False

    @property
    def item(self) -> Item:
        """The newer of the two."""
        found = self.old if self.new is None else self.new
        assert found is not None
        return found

    @property
    def guessed(self) -> bool:
        """Whether it was only read from prose."""
        return all(i is None or i.confidence == "heuristic" for i in (self.old, self.new))

    @property
    def fields(self) -> dict[str, tuple[Any, Any]]:
        """What differs, old and new; ids, times and sources are no difference."""
        if self.old is None or self.new is None:
            return {}
        old, new = item_fields(self.old), item_fields(self.new)
        names = dict.fromkeys((*old, *new))
        pairs = {name: (old.get(name), new.get(name)) for name in names}
        return {n: p for n, p in pairs.items() if not same(*p) or (n in old) != (n in new)}

    @property
    def verb(self) -> str | None:
        """What happened, in a word; None if nothing that a person would ask about.

        added, removed, changed; of todos also started, completed, cancelled, reopened; of loops
        opened, resolved, reopened, passed (opened and resolved since); of intentions closed,
        reopened. What was over, and is no longer kept, is no change.
        """
        old, new = self.old, self.new
        if old is None:
            if isinstance(new, OpenLoop):
                return "passed" if new.resolved else "opened"
            return "added"
        if new is None:
            if isinstance(old, OpenLoop):
                return None if old.resolved else "resolved"
            stood = isinstance(old, Todo) and old.listed
            return "removed" if stood or old.open else None
        if new.open != old.open and not isinstance(new, Todo):
            closed = "resolved" if isinstance(new, OpenLoop) else "closed"
            return "reopened" if new.open else closed
        fields = self.fields
        if isinstance(new, Todo) and "status" in fields:
            if new.open and not old.open:
                return "reopened"
            word: str = new.status
            return {"in_progress": "started", "pending": "changed"}.get(word, word)
        return "changed" if fields else None
