"""What differs between two working states.

A `StateDiff` tells people what changed, and holds what it takes to make one state of the other.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state import codec
from langgraph_wyrd.state.events import same
from langgraph_wyrd.state.matching import (
    PILLARS,
    STATE_FIELDS,
    Change,
    equal,
    matched,
    related,
    text_of,
)
from langgraph_wyrd.state.merge import Merged, applied
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    Item,
    OpenLoop,
    WorkingState,
    shortened,
    viewed,
)
from langgraph_wyrd.state.value_diff import ChannelsDiff
from langgraph_wyrd.state.wording import LINE, counted, listing, nodes, value_text

SCHEMA = 1
_SHOWN_FIELDS = ("title", "status", "due")
_NAMES = {"todos": "todo", "context": "context", "loops": "loop", "intentions": "intention"}
_WORDS = {**_NAMES, "context": "context item"}
_SAID = {"passed": "came and went"}
_SIGNS = {"added": "+", "opened": "+", "passed": "+", "removed": "-", "resolved": "-"}


@viewed("state", "diff_html", "diff_text")
@dataclass(frozen=True, slots=True)
class StateDiff:
    """What makes one working state of another.

    `changes` has it all, by pillar, also ids and times. `added`, `removed`, `changed`, `summary`
    and `lines` have what a person would ask about. `fields` are those of the state itself, old and
    new; `states` the two that were compared.
    """

    changes: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    channels: ChannelsDiff | None = field(default=None, compare=False)
    states: tuple[WorkingState, WorkingState] = field(
        default=(WorkingState(), WorkingState()), compare=False, repr=False
    )

    def all_changes(self) -> Iterator[tuple[str, str, Change]]:
        """Pillar, verb and change of all that a person would ask about."""
        for pillar, changes in self.changes.items():
            for change in changes:
                if (verb := change.verb) is not None:
                    yield pillar, verb, change

    def which(self, verb: str, pillar: str | None = None) -> tuple[Item, ...]:
        """The items that this happened to: see `Change.verb`."""
        return tuple(c.item for p, v, c in self.all_changes() if v == verb and pillar in (None, p))

    def _told(self, pillar: str) -> list[Change]:
        return [change for p, _, change in self.all_changes() if p == pillar]

    @property
    def added(self) -> dict[str, tuple[Item, ...]]:
        return {p: tuple(c.item for c in self._told(p) if c.old is None) for p in PILLARS}

    @property
    def removed(self) -> dict[str, tuple[Item, ...]]:
        return {p: tuple(c.item for c in self._told(p) if c.new is None) for p in PILLARS}

    @property
    def changed(self) -> dict[str, tuple[tuple[Item, Item], ...]]:
        """Pairs: old and new."""
        return {p: tuple((c.old, c.new) for c in self._told(p) if c.old and c.new) for p in PILLARS}

    @property
    def empty(self) -> bool:
        """Whether nothing differs that a person would ask about."""
        quiet = self.channels is None or self.channels.empty
        return quiet and not self.fields.keys() & set(_SHOWN_FIELDS) and not any(self.all_changes())

    def summary(self) -> str:
        """One line: `+1 todo, 1 loop resolved, ~2 todos (1 completed)`. Guesses come last."""
        found = list(self.all_changes())
        count = Counter((pillar, verb) for pillar, verb, change in found if not change.guessed)
        if self.added["intentions"]:  # that it took the place of another goes without saying
            closed = (c.item for _, verb, c in found if verb == "closed" and not c.guessed)
            outcomes = [getattr(each, "outcome", None) for each in closed]
            count["intentions", "closed"] -= outcomes.count("superseded")
        said = []
        for sign, verbs in (("+", ("added", "opened")), ("-", ("removed",))):
            for pillar, name in _WORDS.items():
                n = sum(count.pop((pillar, verb), 0) for verb in verbs)
                said.append((n, f"{sign}{counted(n, name)}"))
        for verb in ("resolved", "reopened", "passed"):
            n = count.pop(("loops", verb), 0)
            said.append((n, f"{counted(n, 'loop')} {_SAID.get(verb, verb)}"))
        for pillar, name in _WORDS.items():
            verbs_left = [(v, n) for (p, v), n in sorted(count.items()) if p == pillar and n]
            how = ", ".join(f"{n} {verb}" for verb, n in verbs_left if verb != "changed")
            n = sum(n for _, n in verbs_left)
            said.append((n, f"~{counted(n, name)}" + (f" ({how})" if how else "")))
        n = sum(change.guessed for _, _, change in found)
        said.append((n, counted(n, "guess", "es")))
        if self.channels is not None and not self.channels.empty:
            said.append((1, self.channels.summary()))
        return ", ".join([*(words for n, words in said if n), *self._field_lines()]) or "no changes"

    def lines(self) -> list[str]:
        """A line for each change: `~ todo Write tests: pending -> completed`."""
        said = [_line(*each) for each in self.all_changes()]
        said += [f"~ {line}" for line in self._field_lines()]
        return said + (self.channels.lines() if self.channels is not None else [])

    def _field_lines(self) -> list[str]:
        said = []
        for name in filter(self.fields.__contains__, _SHOWN_FIELDS):
            old, new = self.fields[name]
            if name == "due":
                old, new = (listing(nodes(each)) for each in (old, new))
            said.append(f"{name} {value_text(old)} -> {value_text(new)}")
        return said

    def invert(self) -> StateDiff:
        """What leads back; without the channels."""
        a, b = self.states
        return diff(b, a)

    def apply(self, state: WorkingState, *, strict: bool = False) -> Merged:
        """The state with these changes; the one that was compared becomes exactly the other one.

        Any other state gets what fits it. What it has otherwise stays so, and is listed in
        `conflicts`; what is new follows at the end.

        Raises:
            InvalidInput: `strict`, and something does not fit; the message names the item.
        """
        found = applied(state, self)
        if strict and found.conflicts:
            more = "" if len(found.conflicts) == 1 else f" (and {len(found.conflicts) - 1} more)"
            raise InvalidInput(f"the diff does not fit: {found.conflicts[0]}{more}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, for reading: of channels it has only descriptions."""
        out: dict[str, Any] = {"schema": SCHEMA, "models": codec.SCHEMA, "summary": self.summary()}
        out["fields"] = {name: list(pair) for name, pair in self.fields.items()}
        if "due" in self.fields:
            out["fields"]["due"] = [[codec.write(d) for d in each] for each in self.fields["due"]]
        out["changes"] = {p: [_written(c) for c in held] for p, held in self.changes.items()}
        if self.channels is not None:
            out["channels"] = {"lines": self.channels.lines()}
        return out

    def to_json(self, *, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent)


def diff(a: WorkingState, b: WorkingState) -> StateDiff:
    """What changed from `a` to `b`.

    Items are the same by their ids, else by what they say: the same todo, added to two states, is
    no difference.
    """
    for each in (a, b):
        if not isinstance(each, WorkingState):
            raise InvalidInput(f"diff(a, b) takes two WorkingStates, not {type(each).__name__}")
    changes: dict[str, tuple[Change, ...]] = {}
    for pillar in PILLARS:
        olds, news = getattr(a, pillar), getattr(b, pillar)
        if olds is not news and (found := _changes(olds, news, related(a, b))):
            changes[pillar] = found
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in STATE_FIELDS}
    fields = {name: pair for name, pair in pairs.items() if not same(*pair)}
    return StateDiff(changes, fields, states=(a, b))


def apply(state: WorkingState, diff: StateDiff) -> WorkingState:
    """The state with these changes: `apply(a, diff(a, b))` is `b`.

    `diff.apply(state)` gives any other state what fits it, and lists what does not.

    Raises:
        InvalidInput: Something does not fit; the message names the item.
    """
    if not isinstance(diff, StateDiff):
        raise InvalidInput(f"apply(state, diff) takes a StateDiff, not {type(diff).__name__}")
    return diff.apply(state, strict=True).state


def _changes(olds: Sequence[Item], news: Sequence[Item], kin: bool) -> tuple[Change, ...]:
    """What changed, as it stands in the new state; what is gone last."""
    pairs = matched(olds, news, kin)
    steady = _ascending([pairs[place] for place in sorted(pairs)])
    was = {now: olds[place] for place, now in pairs.items()}
    found = []
    for now, new in enumerate(news):
        moved = now in was and now not in steady
        if now not in was or moved or not equal(was[now], new):
            found.append(Change(was.get(now), new, moved))
    gone = (Change(old, None) for place, old in enumerate(olds) if place not in pairs)
    return (*found, *gone)


def _ascending(places: Sequence[int]) -> set[int]:
    """The most of them that stand in order: only the others have moved."""
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for place in places:
        at = bisect_left(tails, place)
        before[place] = tails[at - 1] if at else None
        tails[at : at + 1] = [place]
    last, found = tails[-1] if tails else None, set[int]()
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def _written(change: Change) -> dict[str, Any]:
    old = {} if change.old is None else codec.write(change.old, True)
    new = {} if change.new is None else codec.write(change.new, True)
    out: dict[str, Any] = {} if change.old is None else {"old": old}
    if change.new is not None:  # what stays as it was is not repeated
        out["new"] = {k: v for k, v in new.items() if k not in old or not same(v, old[k])}
    return {**out, "moved": True} if change.moved else out


def _line(pillar: str, verb: str, change: Change) -> str:
    item = change.item
    text = shortened(text_of(item), LINE)
    said: list[str] = []
    if isinstance(item, (OpenLoop, Intention)):
        text += f" ({item.kind if isinstance(item, OpenLoop) else item.aim})"
        if verb in ("resolved", "passed", "closed", "reopened"):
            said = [_SAID.get(verb, verb), *filter(None, [item.outcome])]
    elif verb == "added":
        said = [value_text(item.value) if isinstance(item, ContextItem) else item.status]
    for name, (old, new) in change.fields.items():
        if name not in ("open", "outcome"):
            about = "" if name in ("status", "value") else f"{name} "
            said.append(f"{about}{value_text(old)} -> {value_text(new)}")
    tail = (f": {', '.join(said)}" if said else "") + (" (guessed)" if change.guessed else "")
    return f"{_SIGNS.get(verb, '~')} {_NAMES[pillar]} {text}{tail}"
