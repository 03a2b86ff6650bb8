"""Which item of one state is which of another, and how two lines of changes become one.

`matched` finds the pairs, `merge` joins two states that come from one, `applied` brings a diff to a
state: where that is not the one that was compared, as a merge with the diff's old items as base.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph_wyrd.pillars import codec
from langgraph_wyrd.pillars.events import same
from langgraph_wyrd.pillars.model import (
    ContextItem,
    Intention,
    Item,
    OpenLoop,
    Todo,
    WorkingState,
    shortened,
)

if TYPE_CHECKING:
    from langgraph_wyrd.pillars.diff import StateDiff

PILLARS: dict[str, type[Item]] = {
    "todos": Todo,
    "context": ContextItem,
    "loops": OpenLoop,
    "intentions": Intention,
}
# Fields that say where and when, or how something is kept, not what it is.
_SILENT_OF_STATE = frozenset(("thread_id", "checkpoint_id", "ts", "ns", "reason"))
STATE_FIELDS = (*sorted(_SILENT_OF_STATE), "title", "status", "due", "extra")
_ORIGIN = ("id", "ref", "opened_at", "source", "thread_id")
_SILENT = frozenset((*_ORIGIN, "changed_at", "closed_at", "closed_in", "listed"))
# Fields that are only right together: an open todo with the other side's `closed_at` is none.
_GROUPS = {
    **dict.fromkeys(_ORIGIN, "(origin)"),
    **dict.fromkeys(("status", "listed", "closed_at", "closed_in", "outcome"), "(end)"),
}
_GROUPS_OF_STATE = {
    **dict.fromkeys(("checkpoint_id", "ts", "thread_id", "ns"), "(place)"),
    **dict.fromkeys(("status", "due", "reason"), "(status)"),
}
Fields = dict[str, Any]


# ---- what is the same


def is_open(item: Item) -> bool:
    if isinstance(item, OpenLoop):
        return not item.resolved
    return True if isinstance(item, ContextItem) else item.open


def text_of(item: Item) -> str:
    """What a person knows an item by."""
    if isinstance(item, Todo):
        return item.content
    if isinstance(item, ContextItem):
        return item.key
    return item.description if isinstance(item, OpenLoop) else item.text


def equal(one: Item, other: Item) -> bool:
    """Equal to the last field: 1, 1.0 and True are three values."""
    return one is other or same(codec.write(one), codec.write(other))


def told(item: Item) -> Fields:
    """The fields that say what an item is."""
    return _told(codec.write(item), _SILENT) or {}


def _told(group: Fields | None, silent: frozenset[str]) -> Fields | None:
    if group is None:
        return None
    out = {name: value for name, value in group.items() if name not in silent}
    if "closed_in" in group:  # of loops and intentions; a todo's status says it
        out["open"] = group["closed_at"] is None and group["closed_in"] is None
    return out


def related(one: WorkingState, other: WorkingState) -> bool:
    """Whether two states are of one thread, so that equal items have equal ids and refs."""
    return one.thread_id is not None and (one.thread_id, one.ns) == (other.thread_id, other.ns)


def digest(items: Iterable[Item]) -> str:
    """Tells whether the same items stand in the same order, by their ids."""
    ids = "\0".join(item.id for item in items)
    return blake2b(ids.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()


def _keys(item: Item, kin: bool, added: bool) -> tuple[Hashable, ...]:
    """What makes two items the same one, surest first; None makes none.

    Within a thread the same words under another ref, or once more after it was over, are another
    loop, another intention. A tracker's own ids count unless they are numbers: those begin anew
    with each list, so words go first.
    """
    id = None if added else item.id or None
    if isinstance(item, ContextItem):
        return id, (item.key, item.source.ns), item.key
    text, still = " ".join(text_of(item).casefold().split()).rstrip(".!"), is_open(item)
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
    nth = 0
    while left and right and nth < len(old_keys[0]):
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
        nth += 1
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """An item as it was and as it is, and its places; None where it was, or is, not there.

    `moved`: it stands elsewhere among those that both states have.
    """

    old: Item | None
    new: Item | None
    was: int | None = None
    now: int | None = None
    moved: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def invert(self) -> Change:
        return replace(self, old=self.new, new=self.old, was=self.now, now=self.was)

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
        old, new = told(self.old), told(self.new)
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
            return "removed" if stood or is_open(old) else None
        if is_open(new) != is_open(old) and not isinstance(new, Todo):
            closed = "resolved" if isinstance(new, OpenLoop) else "closed"
            return "reopened" if is_open(new) else closed
        fields = self.fields
        if isinstance(new, Todo) and "status" in fields:
            if is_open(new) and not is_open(old):
                return "reopened"
            word: str = new.status
            return {"in_progress": "started", "pending": "changed"}.get(word, word)
        return "changed" if fields else None


# ---- three into one


@dataclass(frozen=True, slots=True)
class Conflict:
    """Both sides changed the same thing differently. The merged state has what is ours.

    `field` is None where one side removed an item (None here) that the other changed.
    `pillar` is "state" for fields of the state itself; then `id` is empty.
    """

    pillar: str
    id: str
    field: str | None
    base: Any
    ours: Any
    theirs: Any

    def invert(self) -> Conflict:
        """As the other side sees it."""
        return replace(self, ours=self.theirs, theirs=self.ours)

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.pillar, self.id, self.field)))
        if self.field is not None:
            return f"{what} is {self.ours!r}, not {self.base!r}"
        did = "is not there" if self.ours is None else "was changed"
        return f"{what} ({shortened(text_of(self.base), 60)}) {did}"


class Merged(NamedTuple):
    """Two states in one, and where they contradict each other."""

    state: WorkingState
    conflicts: tuple[Conflict, ...] = ()


def merge(base: WorkingState, ours: WorkingState, theirs: WorkingState) -> Merged:
    """Both sides' changes since `base`, item by item and field by field.

    What both added stays, once if it is the same. Where both changed one field differently, ours
    is taken and the conflict listed; an item that one side removed and the other changed stays.
    """
    conflicts: list[Conflict] = []
    kin = related(base, ours) and related(base, theirs)
    b, o, t = ({n: getattr(each, n) for n in STATE_FIELDS} for each in (base, ours, theirs))
    found = _Joining("state", conflicts).fields(b, o, t)
    for pillar in PILLARS:
        b_items, o_items, t_items = (getattr(each, pillar) for each in (base, ours, theirs))
        joining = _Joining(pillar, conflicts)
        found[pillar] = _items(joining, b_items, o_items, t_items, kin)
    return Merged(replace(ours, **found), tuple(conflicts))


def applied(state: WorkingState, diff: StateDiff) -> Merged:
    """See `StateDiff.apply`."""
    conflicts: list[Conflict] = []
    known = {name: pair for name, pair in diff.fields.items() if name in STATE_FIELDS}
    b, t = ({name: pair[n] for name, pair in known.items()} for n in (0, 1))
    o = {name: getattr(state, name) for name in known}
    found = _Joining("state", conflicts, partial=True).fields(b, o, t)
    for pillar, changes in diff.changes.items():
        joining, items = _Joining(pillar, conflicts, partial=True), getattr(state, pillar)
        if digest(items) == diff.ids.get(pillar, ("",))[0]:
            found[pillar] = _in_place(joining, items, changes)
            continue
        olds = [each.old for each in changes if each.old is not None]
        news = [each.new for each in changes if each.new is not None]
        found[pillar] = _items(joining, olds, items, news, False)
    return Merged(replace(state, **found), tuple(conflicts))


class _Joining:
    """Joins three of a kind, and lists what contradicts. `partial`: the other two only have what
    a diff has, so what ours lacks is not brought back, and where ours is stays."""

    def __init__(self, pillar: str, conflicts: list[Conflict], *, partial: bool = False) -> None:
        self.pillar, self.conflicts, self.partial = pillar, conflicts, partial
        of_state = pillar == "state"
        self.groups = _GROUPS_OF_STATE if of_state else _GROUPS
        self.silent = _SILENT_OF_STATE if of_state else _SILENT

    def item(self, base: Item | None, ours: Item | None, theirs: Item | None) -> Item | None:
        if ours is None or theirs is None:
            held = theirs if ours is None else ours
            if held is None or base is None:
                return held
            if same(told(held), told(base)):
                return None
            self.conflicts.append(Conflict(self.pillar, held.id, None, base, ours, theirs))
            return ours if self.partial else held
        if ours is theirs:
            return ours
        b = {} if base is None else codec.write(base)
        o, t = codec.write(ours), codec.write(theirs)
        before = len(self.conflicts)
        found = self.fields(b, o, t)
        self.conflicts[before:] = [replace(c, id=found["id"]) for c in self.conflicts[before:]]
        if same(found, o):
            return ours
        return theirs if same(found, t) else codec.read(type(ours), found)

    def fields(self, base: Fields, ours: Fields, theirs: Fields) -> Fields:
        b, o, t = (self._grouped(each) for each in (base, ours, theirs))
        found: Fields = {}
        for name in dict.fromkeys((*o, *t)):
            found.update(self._group(b.get(name), o.get(name), t.get(name)) or {})
        return found

    def _grouped(self, fields: Fields) -> dict[str, Fields]:
        out: dict[str, Fields] = {}
        for name, value in fields.items():
            out.setdefault(self.groups.get(name, name), {})[name] = value
        return out

    def _group(
        self, base: Fields | None, ours: Fields | None, theirs: Fields | None
    ) -> Fields | None:
        if same(ours, theirs) or same(theirs, base):
            return ours
        if same(ours, base):
            return theirs
        b, o, t = (_told(each, self.silent) for each in (base, ours, theirs))
        if same(o, t):  # only when and where: the same one, whichever side is ours
            return ours if self.partial else max(ours, theirs, key=_ordered)
        if same(t, b):
            return ours
        if same(o, b):
            return theirs
        b, o, t = b or {}, o or {}, t or {}
        names = sorted({*o, *t}, reverse=True)  # status and outcome first
        field = next(n for n in names if n not in o or n not in t or not same(o[n], t[n]))
        said = (b.get(field), o.get(field), t.get(field))
        self.conflicts.append(Conflict(self.pillar, "", field, *said))
        return ours


def _ordered(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


# Where an item stands in base, ours and theirs.
_Slot = tuple[int | None, int | None, int | None]


def _items(
    joining: _Joining, base: Sequence[Item], ours: Sequence[Item], theirs: Sequence[Item], kin: bool
) -> tuple[Item, ...]:
    to_ours, to_theirs = matched(base, ours, kin), matched(base, theirs, kin)
    mine = sorted(set(range(len(ours))) - set(to_ours.values()))
    yours = sorted(set(range(len(theirs))) - set(to_theirs.values()))
    both = matched([ours[p] for p in mine], [theirs[p] for p in yours], kin, added=True)
    slots: list[_Slot] = [(p, to_ours.get(p), to_theirs.get(p)) for p in range(len(base))]
    slots += [(None, p, yours[both[n]] if n in both else None) for n, p in enumerate(mine)]
    only = set(range(len(yours))) - set(both.values())
    slots += [(None, None, yours[n]) for n in sorted(only)]
    items: dict[int, Item] = {}
    for n, slot in enumerate(slots):
        sides = zip((base, ours, theirs), slot, strict=True)
        item = joining.item(*(None if at is None else side[at] for side, at in sides))
        if item is not None:
            items[n] = item
    _told_apart(items, slots)
    return tuple(items[n] for n in _order(items, slots, joining.partial))


def _order(items: Mapping[int, Item], slots: Sequence[_Slot], partial: bool) -> list[int]:
    """The slots in ours' order, or theirs' if only they have another; with what only the other
    side has after what it follows there."""
    first, second = (
        sorted((n for n in items if slots[n][side] is not None), key=lambda n: slots[n][side] or 0)
        for side in (1, 2)
    )
    if partial:  # what is new to a state that was not compared follows at its end
        return first + [n for n in second if slots[n][1] is None]
    known = [at for n in first if (at := slots[n][0]) is not None]
    if known == sorted(known):
        first, second = second, first
    before, there = None, set(first)
    for n in second:
        if n not in there:
            first.insert(0 if before is None else first.index(before) + 1, n)
        before = n
    return first


def _told_apart(items: dict[int, Item], slots: Sequence[_Slot]) -> None:
    """Two sides that each added something at the same place gave it the same id: one of them gets
    another, the same one whichever side is ours."""
    mine = {items[n].id: n for n in items if slots[n][0] is slots[n][2] is None}
    taken = {item.id for item in items.values()}
    for n in [n for n in items if slots[n][0] is slots[n][1] is None]:
        if (other := mine.get(items[n].id)) is not None:
            later = max(n, other, key=lambda each: _ordered(codec.write(items[each])))
            number = 2
            while (id := f"{items[later].id}-{number}") in taken:
                number += 1
            taken.add(id)
            items[later] = replace(items[later], id=id)


def _in_place(
    joining: _Joining, items: Sequence[Item], changes: Sequence[Change]
) -> tuple[Item, ...]:
    """A diff's changes to items that stand as those did that were compared."""
    kept: dict[int, Item] = dict(enumerate(items))
    put: list[tuple[int, Item]] = []
    for change in changes:
        held = None if change.was is None else kept.pop(change.was)
        after = joining.item(change.old, held, change.new)
        if after is None:
            continue
        if change.was is None or change.moved:
            put.append((change.now or 0, after))
        else:
            kept[change.was] = after
    result = [kept[place] for place in sorted(kept)]
    for place, item in sorted(put, key=lambda each: each[0]):
        result.insert(place, item)
    return tuple(result)
