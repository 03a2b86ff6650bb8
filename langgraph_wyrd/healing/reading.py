"""The plans that read, with a second try that heals after a first one that met damage.

The first try is the plan as it stands, so what is undamaged costs nothing. An error of another kind
is never taken for damage: the second try checks all that the first one read, and where it finds
nothing wrong the first error stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.later import later
from langgraph_wyrd.plans import gone, read
from langgraph_wyrd.plans.gone import After, Awaited, Conditions, Listed
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.read import Pending, Read
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langgraph_wyrd.healing import deltas, mending
    from langgraph_wyrd.healing import rows as bare
    from langgraph_wyrd.healing.found import Found
    from langgraph_wyrd.healing.mending import Mender
else:
    deltas, mending, bare = later("healing.deltas", "healing.mending", "healing.rows")


def is_foreign(error: Exception) -> bool:
    """Whether an error has a name of its own, and so can't be damage."""
    return isinstance(error, WyrdError) and not isinstance(error, CheckpointDamaged)


def get(
    codec: Codec, thread_id: str, ns: str, id: str | None, known: Known | None
) -> Plan[tuple[Read | None, Known | None, tuple[Found, ...]]]:
    """One checkpoint, or the latest: healed, or instead of the latest its nearest ancestor."""
    try:
        found, learnt = yield from read.get(codec, thread_id, ns, id, known)
        return found, learnt, ()
    except Exception as error:
        if is_foreign(error):
            raise
        first = error
    healed, heals = yield from _get(codec, thread_id, ns, id, first)
    if not heals:
        raise first
    return healed, None, heals


def _get(
    codec: Codec, thread_id: str, ns: str, id: str | None, first: Exception
) -> Plan[tuple[Read | None, tuple[Found, ...]]]:
    key = thread_key(thread_id)
    rows = yield Ask("latest", (key, ns)) if id is None else Ask("checkpoint", (key, ns, id))
    if not rows and id is not None and isinstance(first, CheckpointDamaged):
        rows = yield from _under_another_id(codec, thread_id, ns, id)
    if not rows:
        return None, ((yield from _emptied(codec, key, ns)) if id is None else ())
    mender = mending.Mender(codec, rows[0][0], thread_id)
    raw = rows[0]
    wanted = str(raw[6]) if id is None else id
    if id is None:
        newest, head = (yield Ask("newest_id", (mender.number,)))[0][0], raw[-1]
        if isinstance(head, str) and str(newest) < head:
            what = f"checkpoint {head} is missing: {wanted} was taken"
            mender.note("ancestor", ns, head, what, f"checkpoint {head}")
        elif (yield from mender.is_behind(ns, Place(*raw[11:15]))):
            what = f"a checkpoint behind it is missing: {wanted} was taken"
            mender.note("ancestor", ns, wanted, what, f"behind {wanted}")
    walked: set[str] = set()
    failed = False
    while True:
        row = yield from mender.row(raw)
        if row is not None and id is None and row.id != raw[6]:
            # Its id is damaged, and sorts where it should not: what is newer comes first.
            there = yield from mender.parents()
            walked.add(str(raw[6]))
            newer = max((e for at, e in there if at == ns and e not in walked), default="")
            if newer > row.id:
                raw = (yield Ask("checkpoint", (key, ns, newer)))[0]
                continue
        found = None if row is None else (yield from mender.checkpoint(row))
        if found is not None and not failed:
            mender.at_least(first, ns, found.id)
            return found, tuple(mender.found.values())
        if found is not None and id is not None:
            raise _damaged(thread_id, wanted, found.id)
        if found is not None:
            what = f"it can't be read: its ancestor {found.id} was taken"
            mender.note("ancestor", ns, wanted, what, f"checkpoint {wanted}")
            return found, tuple(mender.found.values())
        failed = True
        before = yield from _before(mender, ns, raw, sure=row is not None)
        if before is None and id is not None:
            raise _damaged(thread_id, wanted, None)
        if before is None:
            what = "neither it nor any before it can be read: the thread is empty"
            mender.note("empty", ns, wanted, what, f"checkpoint {wanted}")
            return None, tuple(mender.found.values())
        raw = (yield Ask("checkpoint", (key, ns, before)))[0]


def _emptied(codec: Codec, key: bytes, ns: str) -> Plan[tuple[Found, ...]]:
    """What is told of a namespace of which nothing is left but what it said."""
    for number, thread_id, said in (yield gone.last_said(key, ns)):
        mender = mending.Mender(codec, number, thread_id)
        what = "neither it nor any before it is there any more: the namespace is empty"
        mender.note("empty", ns, said, what, f"checkpoint {said}")
        return tuple(mender.found.values())
    return ()


def _under_another_id(codec: Codec, thread_id: str, ns: str, id: str) -> Plan[list[Sequence[Any]]]:
    """The row of a checkpoint that was put and is not found by its id, if that is damaged. Else
    raises, with the nearest before it that can be read."""
    key = thread_key(thread_id)
    mender = mending.Mender(codec, (yield Ask("find_thread", (key,)))[0][0], thread_id)
    raw = yield from mender.under_another_id(ns, id)
    if raw is not None:
        return [raw]
    there = yield from mender.parents()
    for before in sorted((e for at, e in there if at == ns and e < id), reverse=True):
        row = yield from mender.row((yield Ask("checkpoint", (key, ns, before)))[0])
        if row is not None and (yield from mender.checkpoint(row)) is not None:
            raise _damaged(thread_id, id, row.id)
    raise _damaged(thread_id, id, None)


def _before(mender: Mender, ns: str, raw: Sequence[Any], *, sure: bool) -> Plan[str | None]:
    """The nearest checkpoint before one: its parent if that is there, else the next older one."""
    _, id, parent = bare.checkpoint_of(raw)
    there = yield from mender.parents()
    # Of a row that is damaged itself nothing is sure, not even its id.
    if sure and parent is not None and parent < id and (ns, parent) in there:
        return parent
    return max((each for at, each in there if at == ns and each < id), default=None)


def _damaged(thread_id: str, id: str, ancestor: str | None) -> CheckpointDamaged:
    then = (
        "and nothing before it can be read either"
        if ancestor is None
        else f"the nearest before it that can be read is {ancestor}"
    )
    error = CheckpointDamaged(
        f"checkpoint {given(id)} of thread {given(thread_id)!r} is damaged and can't be had back: "
        f"{then}"
    )
    error.ancestor = ancestor
    return error


def page(
    codec: Codec,
    conditions: Conditions,
    after: After | None,
    size: int,
    matches: Callable[[dict[str, Any]], bool],
) -> Plan[tuple[list[Read], After | None, tuple[Found, ...]]]:
    """The next checkpoints of a list; one that can't be read is left out, and said so."""
    try:
        found, then = yield from read.page(codec, conditions, after, size, matches)
        return found, then, ()
    except Exception as error:
        if is_foreign(error):
            raise
        first = error
    raws = yield read.ask_page(conditions, after, size)
    made: list[Read] = []
    menders: dict[int, Mender] = {}
    for raw in raws:
        mender = menders.setdefault(raw[0], mending.Mender(codec, raw[0], raw[4]))
        row = yield from mender.row(raw)
        try:
            if row is not None and not matches(codec.open_metadata(row.metadata, row.exact)):
                continue
        except CheckpointDamaged:
            row = None
        one = None if row is None else (yield from mender.checkpoint(row))
        if one is not None:
            made.append(one)
        else:
            what = "it can't be read, and is left out of a list"
            mender.note("left_out", str(raw[5]), str(raw[6]), what, f"listed {raw[6]}")
    then = yield from _missing(codec, menders, raws, conditions, after, size)
    if not any(mender.found for mender in menders.values()):
        if not menders:
            raise first
        next(iter(menders.values())).at_least(first)
    heals = tuple(heal for mender in menders.values() for heal in mender.found.values())
    return made, then, heals


def _missing(
    codec: Codec,
    menders: dict[int, Mender],
    raws: Sequence[Sequence[Any]],
    conditions: Conditions,
    after: After | None,
    size: int,
) -> Plan[After | None]:
    """Where a list goes on. Notes what of it is lost, and of its threads' paths."""

    def note(number: int, thread_id: str, keys: Iterable[gone.Key]) -> None:
        mender = menders.setdefault(number, mending.Mender(codec, number, thread_id))
        for ns, id in keys:
            mender.note_lost(ns, id)

    chosen = dict(conditions)
    if not raws and "with_id" in chosen:
        key, ns, id = gone.named(chosen)
        for number, thread_id in (yield Ask("find_thread", (key,))):
            note(number, thread_id, [(ns, id)])
    if raws and read.is_from_top(conditions, after):
        top = raws[0]
        newest = (yield Ask("newest_id", (top[0],)))[0][0]
        if isinstance(top[-1], str) and str(newest) < top[-1]:
            note(top[0], top[4], [(str(top[5]), top[-1])])
    rows = [bare.checkpoint_of(raw) for raw in raws]
    held = [
        Listed(Awaited(id, raw[0], ns, raw[4]), parent)
        for raw, (ns, id, parent) in zip(raws, rows, strict=True)
    ]
    suspects, then = gone.unaccounted(held, conditions, after, size)
    for number, thread_id in {(each.thread, each.thread_id) for each in suspects}:
        note(number, thread_id, ())
        note(number, thread_id, (yield from menders[number].lost()))
    return then


# ---- delta channels

Histories = dict[str, tuple[list[Pending], list[Any]]]


def delta_history(
    codec: Codec, thread_id: str, ns: str, id: str | None, channels: Sequence[str]
) -> Plan[tuple[Histories, tuple[Found, ...]]]:
    """What rebuilds delta channels: a lost value from an earlier one and what followed."""
    try:
        return (yield from read.delta_history(codec, thread_id, ns, id, channels)), ()
    except Exception as error:
        if is_foreign(error):
            raise
        first = error
    key = thread_key(thread_id)
    rows = yield Ask("latest", (key, ns)) if id is None else Ask("checkpoint", (key, ns, id))
    if not rows and id is not None and isinstance(first, CheckpointDamaged):
        rows = yield from _under_another_id(codec, thread_id, ns, id)
    if not rows:
        raise first
    mender = mending.Mender(codec, rows[0][0], thread_id)
    row = yield from mender.row(rows[0])
    if row is None:
        raise _damaged(thread_id, str(rows[0][6]), None)
    found = yield from deltas.history(mender, ns, row.id, row.parent, channels)
    mender.at_least(first, ns, row.id)
    return found, tuple(mender.found.values())


# ---- without healing


def just_get(
    codec: Codec, thread_id: str, ns: str, id: str | None, known: Known | None
) -> Plan[tuple[Read | None, Known | None, tuple[Found, ...]]]:
    found, learnt = yield from read.get(codec, thread_id, ns, id, known)
    return found, learnt, ()


def just_page(
    codec: Codec,
    conditions: Conditions,
    after: After | None,
    size: int,
    matches: Callable[[dict[str, Any]], bool],
) -> Plan[tuple[list[Read], After | None, tuple[Found, ...]]]:
    found, then = yield from read.page(codec, conditions, after, size, matches)
    return found, then, ()


def just_delta_history(
    codec: Codec, thread_id: str, ns: str, id: str | None, channels: Sequence[str]
) -> Plan[tuple[Histories, tuple[Found, ...]]]:
    return (yield from read.delta_history(codec, thread_id, ns, id, channels)), ()
