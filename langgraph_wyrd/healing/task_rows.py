"""What is wrong with the rows of what tasks wrote, and what puts it right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import control, rows
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.healing.report import AWAY, RIGHT
from langgraph_wyrd.plans import loading, marks
from langgraph_wyrd.plans.loading import Write
from langgraph_wyrd.plans.sums import write_away
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

AGAIN = "the task counts as unfinished, and runs again"
NEEDED = "stays: its step is over, and what can be read of it is read; loads tell of it"
NO_MORE = "can't be had back: a repair makes the others ask for it no more"


class Wrong(NamedTuple):
    place: str
    what: str
    remedy: str
    fixes: Sequence[Tell] = ()


class Looked(NamedTuple):
    found: list[Wrong]
    sound: list[Write]
    places: list[tuple[str, str]]  # namespace and checkpoint


def look(
    codec: Codec,
    number: int,
    is_over: Callable[[str, str], bool],
    copied: Callable[[], Plan[Copies]],
) -> Plan[Looked]:
    """`is_over`: whether another checkpoint goes on from one: then its tasks don't run again."""
    by_place: dict[tuple[str, str], list[Any]] = {}
    for ns, checkpoint, *raw in (yield Ask("all_writes", (number,))):
        by_place.setdefault((ns, checkpoint), []).append(raw)
    made = Looked([], [], [*by_place])
    for (ns, checkpoint), raws in by_place.items():
        place = _Place(codec, number, ns, checkpoint, is_over(ns, checkpoint))
        yield from place.look(raws, copied)
        made.found.extend(place.found)
        made.sound.extend(place.sound)
    return made


class _Place:
    """The writes of the tasks of one checkpoint."""

    def __init__(self, codec: Codec, number: int, ns: str, id: str, over: bool) -> None:
        self.codec = codec
        self.number = number
        self.ns = ns
        self.id = id
        self.over = over
        self.found: list[Wrong] = []
        self.sound: list[Write] = []

    def look(self, raws: Sequence[Row], copied: Callable[[], Plan[Copies]]) -> Plan[None]:
        bad: list[tuple[Row, str]] = []
        for raw in raws:
            try:
                self.sound.append(loading.checked_write(self.ns, self.id, raw))
                continue
            except CheckpointDamaged as error:
                what = str(error)
            right = rows.write(self.codec, self.ns, self.id, raw, (yield from copied()))
            if right is None:
                bad.append((raw, what))
                continue
            key = (self.number, self.ns, self.id, raw[0], raw[1])
            fixes = [Tell("drop_write", [key]), self._put(right)]
            self.found.append(Wrong(f"{self.id} {raw[0]}", what, RIGHT, fixes))
            self.sound.append(right)
        by_task = loading.by_task(self.sound)
        for raw, what in bad:
            self._bad(raw, what, by_task.get(raw[0], []))
        for task in sorted(by_task):
            self._task(task, by_task[task], [raw[1] for raw, _ in bad if raw[0] == task])

    def _bad(self, raw: Row, what: str, beside: Iterable[Write]) -> None:
        """A row that can't be had back. In a step that is over it stays where nothing but it tells
        that something is missing."""
        told = any(write.idx >= 0 for write in beside)
        if self.over and not told and not (type(raw[1]) is int and raw[1] < 0):
            self.found.append(Wrong(f"{self.id} {raw[0]}", what, NEEDED))
            return
        fixes = write_away(self.number, self.ns, self.id, raw, now())
        self.found.append(Wrong(f"{self.id} {raw[0]}", what, AWAY, fixes))

    def _task(self, task: str, mine: list[Write], unread: Sequence[Any]) -> None:
        """What a task lacks."""
        place, left = f"{self.id} {task}", mine
        try:
            loading.refuse_half(self.ns, self.id, task, mine)
        except CheckpointDamaged as error:
            left = [write for write in mine if write.idx < 0]
            away: list[Tell] = []
            for write in () if self.over else mine:
                if write.idx >= 0:
                    away += write_away(self.number, self.ns, self.id, write, now())
            remedy = NEEDED if self.over else AGAIN
            self.found.append(Wrong(place, str(error), remedy, away))
        control_rows = [idx for idx in unread if type(idx) is int and idx < 0]
        settled = control.settled(self.codec, self.ns, self.id, task, left, control_rows)
        if not settled.told:
            return
        lost = {idx for _, idx, _ in settled.told if settled.back is None or idx != marks.RESUME}
        fixes = [] if settled.back is None else [self._put(settled.back)]
        for write in left:
            if write is settled.gone:
                fixes += write_away(self.number, self.ns, self.id, write, now())
            elif (quiet := self._without(write, lost)) is not None:
                fixes.append(self._put(quiet))
        for _, idx, what in settled.told:
            if fixes or idx not in control_rows:  # else it is told, as a row that can't be read
                self.found.append(Wrong(place, what, NO_MORE if lost else RIGHT, fixes))
            fixes = []

    def _without(self, write: Write, lost: Iterable[int]) -> Write | None:
        """A write that asks no more for what is lost; None: it did not."""
        said = loading.said_by(self.ns, self.id, write) or marks.NOTHING
        beside = said.beside & ~sum(map(marks.bit, lost))
        if beside == said.beside:
            return None
        total = loading.write_sum(self.ns, self.id, *write[:6])
        if beside or write.idx >= 0:
            total ^= marks.mark(said.many, beside)
        return write._replace(sum=total)

    def _put(self, write: Write) -> Tell:
        return Tell("fix_write", [(self.number, self.ns, self.id, *write)])
