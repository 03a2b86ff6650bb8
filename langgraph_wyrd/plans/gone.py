"""Checkpoints that were put, and whose rows are not there any more.

One that is pruned leaves nothing, and what is behind it gets another parent: so what still tells of
a checkpoint (see the statement `lost`) proves that its row is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans.sums import moved_place
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place

Key = tuple[str, str]  # namespace, checkpoint id
Conditions = Sequence[tuple[str, Sequence[Any]]]


def asked(number: int, ns: str, id: str, *, whoever: bool = False) -> Ask:
    """Whether a checkpoint is lost: a row, or none. `whoever` asks, also who goes on without it."""
    name = "lost whoever" if whoever else "lost"
    return Ask(name, (number, ns, id) * 3 + (number, id, number, moved_place((ns, id))))


def is_lost(number: int, ns: str, id: str) -> Plan[bool]:
    """Whether a checkpoint that is not there is lost. That is damage, unless who asks goes on with
    what there is."""
    if not (yield asked(number, ns, id, whoever=True)):
        return False
    yield from none_lost([(number, ns, id)])
    return True


def older(number: int, ns: str, than: str, there: Iterable[str]) -> Plan[str | None]:
    """What most likely came before a lost checkpoint: the next older one, lost or not."""
    answers = yield [Ask("stray_writes", (number,)), Ask("stray_events", (number,))]
    strays = [id for rows in answers for at, id in rows if at == ns]
    return max((id for id in (*there, *strays) if id < than), default=None)


def none_lost(wanted: Sequence[tuple[int, str, str]]) -> Plan[None]:
    """Raise if one of these checkpoints, by thread, namespace and id, is lost."""
    answers = (yield [asked(*each) for each in wanted]) if wanted else ()
    for (_, _, id), rows in zip(wanted, answers, strict=True):
        if rows:
            raise CheckpointDamaged(f"checkpoint {given(id)} is missing")


def asked_behind(number: int, place: Place) -> Ask:
    """What `is_behind` wants to know."""
    return Ask("newest_seq", (number, place.strand))


def is_behind(number: int, ns: str, place: Place, answer: Sequence[Sequence[Any]]) -> Plan[bool]:
    """Whether the newest checkpoint of a namespace is lost: its frame stands behind the one that is
    there, and none names it."""
    newest = answer[0][0]
    if newest is None or type(place.seq) is not int or newest <= place.seq:  # SQLite takes any type
        return False
    return not (yield Ask("frame_behind", (number, ns, place.strand, place.seq)))


def never_put(key: bytes, ns: str, id: str) -> Plan[None]:
    """Raise if a checkpoint that is not there is lost."""
    found = yield Ask("find_thread", (key,))
    yield from none_lost([(number, ns, id) for number, _ in found])


def on_paths(number: int, parents: Mapping[Key, str | None]) -> Plan[set[Key]]:
    """The lost checkpoints that others stand behind.

    Of several that follow each other only the last is named by a child. The others are known by
    what they said and their tasks wrote, and that nothing stands between.
    """
    found: set[Key] = set()
    strays: set[Key] | None = None
    for (ns, id), parent in parents.items():
        if parent is None or (ns, parent) in parents or (ns, parent) in found:
            continue
        if not (yield asked(number, ns, parent)):
            continue
        if strays is None:
            answers = yield [Ask("stray_writes", (number,)), Ask("stray_events", (number,))]
            strays = {tuple(row) for rows in answers for row in rows}
        at: str | None = parent
        older = min(parent, id)  # two clocks may differ
        while at is not None and (ns, at) not in parents and (ns, at) not in found:
            found.add((ns, at))
            known = (each for keys in (parents, strays) for space, each in keys if space == ns)
            at = max((each for each in known if each < older), default=None)
            older = at or older
    return found


def last_said(key: bytes, ns: str) -> Ask:
    """The newest checkpoint of a namespace by what it said, with its thread."""
    return Ask("last_said", (key, ns))


def never_any(key: bytes, ns: str) -> Plan[None]:
    """Raise if all checkpoints of a namespace that has none are lost."""
    for _, _, id in (yield last_said(key, ns)):
        raise CheckpointDamaged(f"checkpoint {given(id)} is missing, and all before it")


# ---- in lists


class Awaited(NamedTuple):
    """A checkpoint by its place in a list, that has to come as another one names it."""

    id: str
    thread: int
    ns: str
    thread_id: str


class After(NamedTuple):
    """Where a list goes on: behind a row, and with what has to come."""

    id: str
    thread: int
    ns: str
    awaited: frozenset[Awaited]


class Listed(NamedTuple):
    """A row of a list."""

    at: Awaited
    parent: str | None


def unaccounted(
    rows: Iterable[Listed], conditions: Conditions, after: After | None, size: int
) -> tuple[list[Awaited], After | None]:
    """The parents that should stand among the rows of a page and don't, and where to go on.

    They may have been pruned or filtered away, or be lost. Those further on than the page reaches
    are none of them: they are awaited.
    """
    listed = list(rows)
    if any(name == "with_id" for name, _ in conditions):
        return [], None  # its parent was not asked for
    wanted = {at._replace(id=parent) for at, parent in listed if parent is not None}
    if after is not None:
        wanted |= after.awaited
    wanted -= {at for at, _ in listed}
    if len(listed) < size:
        return sorted(wanted), None
    end = listed[-1].at[:3]
    awaited = frozenset(each for each in wanted if each[:3] < end)
    return sorted(wanted - awaited), After(*end, awaited)


def accounted(
    rows: Sequence[Listed], conditions: Conditions, after: After | None, size: int
) -> Plan[After | None]:
    """Where a list goes on. Raises if a row of the page is lost."""
    chosen = dict(conditions)
    if not rows and "with_id" in chosen and "of_thread" in chosen:
        yield from never_put(*named(chosen))
    suspects, then = unaccounted(rows, conditions, after, size)
    yield from none_lost([(each.thread, each.ns, each.id) for each in suspects])
    return then


def named(chosen: Mapping[str, Sequence[Any]]) -> tuple[bytes, str, str]:
    """Thread, namespace and id of a list that is of one checkpoint."""
    return chosen["of_thread"][0], chosen.get("in_namespace", ("",))[0], chosen["with_id"][0]
