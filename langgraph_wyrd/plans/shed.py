"""Letting go of a thread's checkpoints in steps, each a short transaction.

A step is worked out in a read transaction, which keeps nobody from writing, and then made only if
nobody changed the thread meanwhile (`look`, `take`); where somebody always does, it is worked out
with the thread locked (`at_once`).

First what stays is made independent of what goes. Then the rows of checkpoints go, oldest first,
but for one, the oldest: by it a sweep that was stopped is known to be unfinished, and the thread is
sound in between. Then what is kept gets strands of its own, strands are cut to what is named, and
the last checkpoint goes, with what only it held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeVar

from langgraph_wyrd.plans import prune, retain
from langgraph_wyrd.plans.keeping import bases, show_again
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.ledger import through
from langgraph_wyrd.plans.settling import Key, Light, rewrite, settle
from langgraph_wyrd.retention import Retention, is_call
from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Statement, Tell
from langgraph_wyrd.store.values import Codec

T = TypeVar("T")
Stage = Literal["rows", "strands", "cuts", "end"]

SMALL = 100  # a thread of so many checkpoints goes through all stages at once
_DROPS = ("drop_strand", "cut_strand")


@dataclass(frozen=True, slots=True)
class Rule:
    """What goes of a thread: what a retention says.

    `idle`: only if nobody used it for so long. `within`: only of these, so that there is an end to
    it while somebody writes.
    """

    retention: Retention
    idle: timedelta | None = None
    within: frozenset[Key] | None = None


@dataclass(frozen=True, slots=True)
class Going:
    """What is left to do of a thread, as long as nobody changes it."""

    tick: int
    stage: Stage
    last: Key | None  # the checkpoint that goes last; None: only rows of nothing go
    rows: tuple[Key, ...]  # oldest first
    strays: int  # so many of them are rows of checkpoints that are not there
    cuts: tuple[tuple[int, int, int], ...] = ()  # strands: from the newest version down to which

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset(self.rows if self.last is None else (*self.rows, self.last))


@dataclass(frozen=True, slots=True)
class Step:
    """What one transaction does, and what is left then."""

    tells: list[Tell]
    strands: int
    after: Going | None
    gone: int = 0  # checkpoints
    small: bool = False  # all stages at once are not too much: see `whole`


def look(
    codec: Codec, thread_id: str, rule: Rule, going: Going | None, most: int
) -> Plan[tuple[Known, Step] | None]:
    """The next step of a thread, and the thread that it is for. None: there is nothing to do."""
    found = yield Ask("thread_state", (thread_key(thread_id),))
    if not found:
        return None
    thread = Known.locked(found[0])
    step = yield from _next(codec, thread, thread_id, rule, going, most)
    return None if step is None else (thread, step)


def take(thread_id: str, thread: Known, step: Step) -> Plan[bool]:
    """Make a step that was worked out; False: somebody changed the thread since."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found or Known.locked(found[0]) != thread:
        return False
    yield from _made(thread, step)
    return True


def at_once(
    codec: Codec, thread_id: str, rule: Rule, going: Going | None, most: int
) -> Plan[Step | None]:
    """Work out a step and make it, with the thread locked."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found:
        return None
    thread = Known.locked(found[0])
    step = yield from _next(codec, thread, thread_id, rule, going, most)
    if step is not None:
        yield from _made(thread, step)
    return step


def _made(thread: Known, step: Step) -> Plan[None]:
    if step.tells:
        yield step.tells
    yield Tell("moved", [(step.strands, thread.number)])


def _next(
    codec: Codec, thread: Known, thread_id: str, rule: Rule, going: Going | None, most: int
) -> Plan[Step | None]:
    number = thread.number
    if going is None or going.tick != thread.tick:
        return (yield from _begun(codec, thread, thread_id, rule, most))
    after = replace(going, tick=thread.tick + 1)
    if going.stage == "rows" and going.rows:
        some, rest = going.rows[:most], going.rows[most:]
        strays = min(going.strays, len(some))
        if going.last is None and not rest:
            return Step(prune.rows_of(number, some), thread.strands, None)
        then = replace(after, rows=rest, strays=going.strays - strays)
        return Step(prune.rows_of(number, some), thread.strands, then, len(some) - strays)
    last = going.last
    assert last is not None
    rows = yield Ask("checkpoint_ids", (number,))
    there = list(map(Light._make, rows))
    kept = [light for light in there if light.key != last]
    if going.stage in ("rows", "strands"):
        tells: list[Tell] = []
        strands = yield from gathered(settle(codec, thread, kept, {}), tells)
        tells = [tell for tell in tells if tell.name not in _DROPS]
        if tells:
            return Step(tells, strands, replace(after, stage="cuts", cuts=()))
        going = replace(going, stage="cuts")
    if going.stage == "cuts":
        cuts = going.cuts or (yield from _to_cut(codec, number, there))
        if cuts:
            tells, left = _cut(number, cuts, most)
            stage: Stage = "cuts" if left else "end"
            return Step(tells, thread.strands, replace(after, stage=stage, cuts=left))
    tells = prune.rows_of(number, [last])
    strands = yield from gathered(settle(codec, thread, kept, {}), tells)
    yield from _shown(codec, number, thread_id, tells)
    return Step(tells, strands, None, 1)


def _begun(codec: Codec, thread: Known, thread_id: str, rule: Rule, most: int) -> Plan[Step | None]:
    """Decide what goes, and make what stays independent of it."""
    number = thread.number
    if rule.idle is not None and not (yield Ask("still_idle", (number, _since(rule.idle)))):
        return None
    rows = yield Ask("checkpoint_ids", (number,))
    all_of_it = list(map(Light._make, rows))
    strays = yield from retain.strays(number, all_of_it)
    gone = yield from retain.gone(codec, number, rule.retention, all_of_it, rule.within)
    if not gone and not strays:
        return None
    small = len(all_of_it) + len(strays) <= SMALL
    if not gone:
        some = tuple(strays[:most])
        after = Going(thread.tick + 1, "rows", None, tuple(strays[most:]), len(strays) - len(some))
        return Step(
            prune.rows_of(number, some), thread.strands, after if after.rows else None, small=small
        )
    tells = yield from _independent(codec, thread, thread_id, all_of_it, gone)
    # What a subgraph's call left is known by the checkpoint that it started from: it goes first.
    order = sorted(gone, key=lambda key: (not is_call(key[0]), -key[0].count("|"), key[1], key[0]))
    last = next((key for key in order if not is_call(key[0])), order[0])
    order.remove(last)
    going = Going(thread.tick, "rows", last, (*strays, *order), len(strays))
    if tells or small:
        return Step(tells, thread.strands, replace(going, tick=thread.tick + 1), small=small)
    return (yield from _next(codec, thread, thread_id, rule, going, most))


def _independent(
    codec: Codec, thread: Known, thread_id: str, all_of_it: Sequence[Light], gone: set[Key]
) -> Plan[list[Tell]]:
    """What stays knows its state, and has a parent that stays."""
    cut = [
        each.key for each in all_of_it if each.key not in gone and (each.ns, each.parent) in gone
    ]
    held = yield from bases(codec, thread.number, thread_id, cut)
    tells = [Tell("put_event", held)] if held else []
    adopted = prune.adopted(all_of_it, gone)
    changed = [light for light in all_of_it if light.key in adopted]
    yield from gathered(rewrite(thread.number, changed, {}, adopted), tells)
    return tells


def whole(codec: Codec, thread_id: str, rule: Rule) -> Plan[int]:
    """All stages at once, with the thread locked; how many checkpoints went."""
    thread, all_of_it = yield from prune.locked(thread_id)
    if thread is None:
        return 0
    number = thread.number
    if rule.idle is not None and not (yield Ask("still_idle", (number, _since(rule.idle)))):
        return 0
    strays = yield from retain.strays(number, all_of_it)
    if strays:
        yield prune.rows_of(number, strays)
    gone = yield from retain.gone(codec, number, rule.retention, all_of_it, rule.within)
    yield from prune.drop(codec, thread, thread_id, all_of_it, gone)
    return len(gone)


def _since(idle: timedelta) -> str:
    return (datetime.now(timezone.utc) - idle).isoformat()


def _to_cut(
    codec: Codec, number: int, there: Sequence[Light]
) -> Plan[tuple[tuple[int, int, int], ...]]:
    """Strands that are longer than what the checkpoints that are there name."""
    named = yield from retain.named(codec, number, there)
    newest = yield Ask("strands_of", (number,))
    return tuple(
        (strand, seq, named.get(strand, -1))
        for strand, seq in sorted(newest)
        if named.get(strand, -1) < seq
    )


def _cut(
    number: int, cuts: Sequence[tuple[int, int, int]], most: int
) -> tuple[list[Tell], tuple[tuple[int, int, int], ...]]:
    """At most so many versions go."""
    tells: list[Tell] = []
    for n, (strand, newest, named) in enumerate(cuts):
        down_to = max(named, newest - most)
        tells.append(Tell("cut_strand", [(number, strand, down_to)]))
        most -= newest - down_to
        if down_to > named:
            return tells, ((strand, down_to, named), *cuts[n + 1 :])
        if most <= 0:
            return tells, tuple(cuts[n + 1 :])
    return tells, ()


def _shown(codec: Codec, number: int, thread_id: str, tells: list[Tell]) -> Plan[None]:
    if (yield Ask("thread_status", (number,)))[0][0] is not None:  # None: the pillars were off
        yield from gathered(show_again(codec, number, thread_id), tells)


def gathered(plan: Plan[T], tells: list[Tell]) -> Plan[T]:
    """A plan that only reads: what it would write is put into a list."""

    def kept(step: Statement) -> Statement | None:
        if isinstance(step, Tell):
            tells.append(step)
            return None
        return step

    return through(plan, lambda ask, rows: rows, kept)
