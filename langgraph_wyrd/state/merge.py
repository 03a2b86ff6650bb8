"""How two lines of changes become one, and which item of one state is which of another."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state import codec
from langgraph_wyrd.state.events import same
from langgraph_wyrd.state.model import (
    PILLARS,
    ContextItem,
    Intention,
    Item,
    OpenLoop,
    WorkingState,
    shortened,
)
from langgraph_wyrd.state.wording import count

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


# Fields that are only right together: an open todo with the other side's `closed_at` is none.
_GROUPS = {
    **dict.fromkeys(ORIGIN, "(origin)"),
    **dict.fromkeys(("status", "listed", "closed_at", "closed_in", "outcome"), "(end)"),
}
_GROUPS_OF_STATE = {
    **dict.fromkeys(("checkpoint_id", "ts", "thread_id", "ns"), "(place)"),
    **dict.fromkeys(("status", "due", "reason"), "(status)"),
}


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

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.pillar, self.id, self.field)))
        if self.field is not None:
            return f"{what} is {self.ours!r}, not {self.base!r}"
        did = "is not there" if self.ours is None else "was changed"
        said = next(each for each in (self.base, self.ours, self.theirs) if each is not None)
        return f"{what} ({shortened(said.words, 60)}) {did}"


class Merged(NamedTuple):
    """Two states in one, and where they contradict each other."""

    state: WorkingState
    conflicts: tuple[Conflict, ...] = ()

    def __str__(self) -> str:
        head = f"merged, with {count(len(self.conflicts), 'conflict')}"
        return "\n".join([head, *map(str, self.conflicts)])


_LEFT_OUT: Any = None  # so that merge(state, diff) gets an error that names `apply`


def merge(base: WorkingState, ours: WorkingState, theirs: WorkingState = _LEFT_OUT) -> Merged:
    """Both sides' changes since `base`, item by item and field by field.

    What both added stays, once if it is the same. Where both changed one field differently, ours
    is taken and the conflict listed; an item that one side removed and the other changed stays.
    """
    for each in (base, ours, theirs):
        if not isinstance(each, WorkingState):
            raise InvalidInput(
                "merge(base, ours, theirs) takes three WorkingStates: to put a diff onto a state "
                "use apply(state, diff), to put it onto a thread use thread.apply(diff)"
            )
    conflicts: list[Conflict] = []
    kin = related(base, ours) and related(base, theirs)
    b, o, t = ({n: getattr(each, n) for n in STATE_FIELDS} for each in (base, ours, theirs))
    found = _Joining("state", conflicts).fields(b, o, t)
    for pillar in PILLARS:
        b_items, o_items, t_items = (getattr(each, pillar) for each in (base, ours, theirs))
        if _alike(b_items, t_items) or _alike(o_items, t_items):
            found[pillar] = o_items
        elif _alike(b_items, o_items):
            found[pillar] = t_items
        else:
            found[pillar] = _items(_Joining(pillar, conflicts), b_items, o_items, t_items, kin)
    return Merged(replace(ours, **found), tuple(conflicts))


class _Joining:
    """Joins three of a kind, and lists what contradicts."""

    def __init__(self, pillar: str, conflicts: list[Conflict]) -> None:
        self.pillar, self.conflicts = pillar, conflicts
        of_state = pillar == "state"
        self.groups = _GROUPS_OF_STATE if of_state else _GROUPS
        self.silent = SILENT_OF_STATE if of_state else SILENT

    def item(self, base: Item | None, ours: Item | None, theirs: Item | None) -> Item | None:
        if ours is None or theirs is None:
            held = theirs if ours is None else ours
            if held is None or base is None:
                return held
            if same(item_fields(held), item_fields(base)):
                return None
            self.conflicts.append(Conflict(self.pillar, held.id, None, base, ours, theirs))
            return held
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
        b, o, t = (fields_of(each, self.silent) for each in (base, ours, theirs))
        if same(o, t):  # only when and where: the same one, whichever side is ours
            return max(ours, theirs, key=_ordered)
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
    _distinct(items, slots)
    return tuple(items[n] for n in _order(items, slots))


def _order(items: Mapping[int, Item], slots: Sequence[_Slot]) -> list[int]:
    """The slots in ours' order, or theirs' if only they have another; with what only the other
    side has after what it follows there."""
    first, second = (
        sorted((n for n in items if slots[n][side] is not None), key=lambda n: slots[n][side] or 0)
        for side in (1, 2)
    )
    known = [at for n in first if (at := slots[n][0]) is not None]
    if known == sorted(known):
        first, second = second, first
    before, there = None, set(first)
    for n in second:
        if n not in there:
            first.insert(0 if before is None else first.index(before) + 1, n)
        before = n
    return first


def _distinct(items: dict[int, Item], slots: Sequence[_Slot]) -> None:
    """Give one of two items that both sides added under one id another id, the same one whichever
    side is ours."""
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


def _alike(one: Sequence[Item], other: Sequence[Item]) -> bool:
    return len(one) == len(other) and all(map(equal, one, other))
