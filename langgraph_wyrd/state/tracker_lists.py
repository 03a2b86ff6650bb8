"""Which entry of a tracker's list, as it stands now, is which todo that is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from langgraph_wyrd.state.model import FINISHED, Todo

_ALIKE = 0.5  # share of words that a reworded entry must have in common with what it was
_NEAR = (0, -1, 1, -2, 2)  # how far apart in what is left of the lists

Entry = tuple[str, str, str | None]  # content, status, ref


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
    _by_ref(entries, listed, found, taken)
    _by_ref(entries, gone, found, taken)
    for known in (listed, gone):
        if any(each is None for each in found):
            _by_content(entries, known, found, taken)
    rest = [place for place, todo in enumerate(listed) if todo.id not in taken]
    if rest and any(each is None for each in found):
        _by_place(entries, listed, rest, found, taken)
    return found


def _by_ref(
    entries: Sequence[Entry], known: Sequence[Todo], found: list[Todo | None], taken: set[str]
) -> None:
    refs = {todo.ref: todo for todo in reversed(known) if todo.ref is not None}
    if not refs:
        return
    for place, (content, status, ref) in enumerate(entries):
        if ref is None or found[place] is not None or (todo := refs.get(ref)) is None:
            continue
        if todo.id in taken or not _may_become(todo, content, status):
            continue
        found[place] = todo
        taken.add(todo.id)


def _may_become(todo: Todo, content: str, status: str) -> bool:
    if todo.listed and (todo.open or status in FINISHED):
        return True
    if not todo.listed and todo.status == "completed" and status not in FINISHED:
        return False
    return alike(todo.content, content) > _ALIKE


def _by_content(
    entries: Sequence[Entry], known: Sequence[Todo], found: list[Todo | None], taken: set[str]
) -> None:
    waiting: defaultdict[str, list[Todo]] = defaultdict(list)
    for todo in reversed(known):
        if todo.id not in taken:
            waiting[_normal(todo.content)].append(todo)
    if not waiting:
        return
    for place, (content, status, _) in enumerate(entries):
        if found[place] is not None or not (same := waiting.get(_normal(content))):
            continue
        todo = same[-1]
        if not todo.listed and todo.status == "completed" and status not in FINISHED:
            continue  # done long ago, and on the list once more: another one
        found[place] = same.pop()
        taken.add(todo.id)


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
