"""One thread looked through, row by row; with each finding, the statements that put it right.

A repair writes only what is proven to have been there. What can't be had back is moved to
`wyrd_quarantine` where no load can use it as it stands; damaged splices stay, as a load still makes
out of them what it can. The ledger and the tables are then read anew out of the checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import alike, beside, opening, rows, task_rows, users, whole
from langgraph_wyrd.healing.report import (
    ANEW,
    AWAY,
    EARLIER,
    HOLLOW,
    LEFT_OUT,
    NONE,
    RIGHT,
    STAYS,
    STAYS_HELD,
    Finding,
)
from langgraph_wyrd.healing.splices import Splices
from langgraph_wyrd.healing.states import Reading, event_put_right, in_places
from langgraph_wyrd.plans import reweave, states
from langgraph_wyrd.plans.gone import on_paths
from langgraph_wyrd.plans.keeping import show_again
from langgraph_wyrd.plans.ledger import is_sound
from langgraph_wyrd.plans.loading import Stored, Write
from langgraph_wyrd.plans.sums import away
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.state.overlay import EDIT
from langgraph_wyrd.store.frames import Frame
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec
from langgraph_wyrd.types.kept import made as placeholders_made


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A row of wyrd_threads, as far as it is looked at."""

    number: int
    thread_id: str
    key: bytes
    head: str | None
    status: str | None


def findings(codec: Codec, weaver: Weaver | None, row: ThreadRow) -> Plan[list[Finding]]:
    """What is wrong with a thread: as it is now, which may be another way than when it was listed,
    or not at all."""
    rows = yield Ask("numbered_thread", (row.number,))
    if not rows:
        return []
    look = _Look(codec, weaver, ThreadRow(*rows[0]))
    yield from look.all()
    return [finding for finding, _ in look.found]


def repaired(codec: Codec, weaver: Weaver | None, row: ThreadRow) -> Plan[None]:
    """Put right what can be proven, move away what can't be used, read the pillars anew."""
    yield Ask("lock_to_bury", (thread_key(row.thread_id),))
    rows = yield Ask("numbered_thread", (row.number,))
    if not rows:
        return
    look = _Look(codec, weaver, ThreadRow(*rows[0]))
    yield from look.all()
    fixes = [fix for finding, fixes in look.found if finding.damage for fix in fixes]
    # Rows may stand in each other's places: first all are taken away, then put where they belong.
    yield from sorted(fixes, key=lambda fix: not fix.name.startswith(("drop_", "put_quarantine")))
    strands = (yield Ask("strands_given", (row.number,)))[0][0]
    yield Tell("touch", [(strands, now(), row.number)])
    # What was moved away tells nothing any more.
    changed = look.pillars_differ or any(each.repairable for each, _ in look.found)
    if changed and look.woven and not look.ended:
        if weaver is not None and not look.kept:
            yield from reweave.reweave(codec, weaver, row.thread_id, aloud=False)
        else:
            yield from show_again(codec, row.number, row.thread_id)


class _Look:
    """One thread. `found` has each finding with the statements that mend it."""

    def __init__(self, codec: Codec, weaver: Weaver | None, row: ThreadRow) -> None:
        self.codec = codec
        self.weaver = weaver
        self.row = row
        self.found: list[tuple[Finding, list[Tell]]] = []
        self.pillars_differ = self._unread = False  # `_unread`: a checkpoint's row is damaged
        self.woven = row.status is not None
        self.ended = False  # early: what was not looked at is not repaired either
        self.kept = False  # what was read out of whole objects is not read out of kept ones
        self.reading: Reading | None = None  # what a load makes of the thread
        self._splices = Splices(codec, row.number, self._note, self._away)
        self._of_kept: set[tuple[Any, ...]] = set()  # what was said of objects without their class
        self._frames: list[Frame] = []
        self._roots: set[str] = set()  # checkpoints of the root
        self._sound: list[Write] = []

    def all(self) -> Plan[None]:
        """Look at all of it. What was found until then stands, where damage ends it early."""
        try:
            yield from self._all()
        except Exception as error:
            self.found.append((whole.of_look(error, given(self.row.thread_id)), []))
            self.ended = True

    def _all(self) -> Plan[None]:
        stored = yield from self._checkpoints()
        self._frames = yield from self._splices.look(stored, whole=not self._unread)
        yield from self._writes(stored)
        for wrong in opening.wrong_values(self.codec, self._frames, self._sound):
            self._note(*wrong, STAYS)
        yield from self._users()
        yield from self._events()
        if self.woven:
            yield from self._pillars()
        plan = beside.wrong(self.codec, self.row.number, self.row.thread_id, self._away)
        found = yield from (plan if self.reading is None else self.reading.look_on(plan))
        for table, place, what, proven, fixes in found:
            remedy = RIGHT if proven else AWAY if fixes else HOLLOW
            self._note(table, place, what, remedy, fixes)

    def _note(
        self,
        table: str,
        place: str,
        what: str,
        remedy: str,
        fixes: Iterable[Tell] = (),
        *,
        damage: bool = True,
    ) -> None:
        name = f"wyrd_{table}"
        finding = Finding(name, given(self.row.thread_id), place, what, remedy, damage)
        self.found.append((finding, list(fixes)))

    def _away(self, table: str, key: Sequence[Any], row: Sequence[Any], drop: Tell) -> list[Tell]:
        return away(self.row.number, table, key, row, drop, now())

    # ---- checkpoints

    def _checkpoints(self) -> Plan[list[Stored]]:
        number = self.row.number
        raws = yield Ask("rows_of_thread", (number,))
        beside = {row[:2]: row[2:] for row in (yield Ask("columns_of", (number,)))}
        held = yield from self._held_there(raws)
        stored: list[Stored] = []
        stay: list[str] = []
        for raw in raws:
            ns, id, _ = rows.checkpoint_of(raw)
            key = (number, *raw[5:7])  # as it is stored, whatever its type
            right = Stored(*raw) if rows.fits(raw) else rows.checkpoint(raw, raws)
            self._unread = self._unread or right is None
            if right is None and (ns, id) in held:
                self._note("checkpoints", id, "the row is not what was written", STAYS_HELD)
                stay.append(id)
                continue
            if right is None:
                drop = Tell("drop_checkpoint", [key])
                away = self._away("wyrd_checkpoints", (ns, id), raw, drop)
                self._note("checkpoints", id, "the row is not what was written", AWAY, away)
                continue
            if not rows.fits(raw):
                values = (
                    right.ns, right.id, right.parent, right.ts, right.metadata, right.exact,
                    *right.place, right.sum, *key,
                )  # fmt: skip
                fix = Tell("fix_checkpoint", [values])
                self._note("checkpoints", id, "a column is not what was written", RIGHT, [fix])
            stored.append(right)
            if not right.ns:
                self._roots.add(right.id)
            self._beside(right, beside.get((ns, id)))
        yield from self._parents(stored)
        newest = max((*stay, *(row.id for row in stored)), default=None)
        if self.row.head is not None and (newest is None or newest < self.row.head):
            what = f"{self.row.head}, the newest by the thread's row, is missing"
            self._note("checkpoints", self.row.head, what, EARLIER)
        elif newest is not None and self.row.head != newest:
            what = "the thread's row names another newest checkpoint"
            self._note("threads", "head", what, RIGHT)
        return stored

    def _held_there(self, raws: Sequence[Row]) -> Plan[set[tuple[str, str]]]:
        """Checkpoints whose rows are needed as they are: something stands behind them, or a label
        there, or what was said there and only the ledger tells."""
        here = (self.row.number,)
        labels, events = yield [Ask("all_labels", here), Ask("all_events", here)]
        found = {(row[5], row[7]) for row in raws} | {("", row[1]) for row in labels}
        for ns, id, task, *row in events:
            if str(task).startswith(EDIT) or not is_sound(ns, (id, task, *row), self.codec):
                found.add((ns, id))
        return found

    def _beside(self, right: Stored, held: Row | None) -> None:
        try:
            meta = self.codec.open_metadata(right.metadata, right.exact)
        except CheckpointDamaged as error:
            return self._note("checkpoints", right.id, str(error), STAYS)
        step, source, run_id = (meta.get(name) for name in ("step", "source", "run_id"))
        wanted = (
            int(step) if isinstance(step, int) and abs(step) < 1 << 62 else None,
            source if isinstance(source, str) else None,
            run_id if isinstance(run_id, str) else None,
        )
        shown = (
            None
            if held is None
            else tuple(given(each) if isinstance(each, str) else each for each in held)
        )
        if shown is not None and shown != wanted:
            fix = Tell("fix_columns", [(*wanted, self.row.number, right.ns, right.id)])
            what = "step, source or run_id differ from the metadata"
            self._note("checkpoints", right.id, what, RIGHT, [fix])

    def _parents(self, stored: Sequence[Stored]) -> Plan[None]:
        parents = {(row.ns, row.id): row.parent for row in stored}
        gone = yield from on_paths(self.row.number, parents)
        for _, id in gone - {(ns, parent) for (ns, _), parent in parents.items()}:
            self._note("checkpoints", id, "it is lost, as is the next one", STAYS)
        for (ns, id), parent in parents.items():
            if parent is not None and (ns, parent) not in parents:
                lost = (ns, parent) in gone
                what = f"its parent {parent} is {'lost' if lost else 'not there: pruned, or lost'}"
                self._note("checkpoints", id, what, STAYS if lost else NONE, damage=lost)
            elif parent is not None and parent >= id:
                what = f"it sorts before its parent {parent}: two clocks differed"
                self._note("checkpoints", id, what, NONE, damage=False)
            walked = set()
            at: str | None = id
            while at is not None and at not in walked:
                walked.add(at)
                at = parents.get((ns, at))
            if at == id:
                self._note("checkpoints", id, "its parents go in a circle", STAYS)

    # ---- writes

    def _writes(self, stored: Sequence[Stored]) -> Plan[None]:
        there = {(row.ns, row.id) for row in stored}
        parents = {(row.ns, row.parent) for row in stored}
        newest = dict(sorted(there))

        def is_over(ns: str, id: str) -> bool:
            # A parent may be wrong, or lost: what is newer may go on from it.
            return (ns, id) in parents or ((ns, id) in there and id < newest[ns])

        copied = self._splices.copies
        looked = yield from task_rows.look(self.codec, self.row.number, is_over, copied)
        for place, what, remedy, fixes in looked.found:
            self._note("writes", place, what, remedy, fixes)
        self._sound = looked.sound
        last = max((id for _, id in there), default="")
        for ns, checkpoint in looked.places:
            if (ns, checkpoint) not in there and str(checkpoint) < last:
                what = "writes of a checkpoint that is not there"
                self._note("writes", checkpoint, what, NONE, damage=False)

    # ---- what belongs to users

    def _users(self) -> Plan[None]:
        found = yield from users.wrong(self.codec, self.row.number, self._frames, self._sound)
        for at, what, fixes, damage in found:
            remedy = NONE if not damage else RIGHT if fixes else LEFT_OUT
            self._note("user_data", f"strand {at}", what, remedy, fixes, damage=damage)

    # ---- the pillars

    def _events(self) -> Plan[None]:
        found = yield Ask("all_events", (self.row.number,))
        back = in_places(self.codec, found)
        for ns, *row in found:
            self.woven = True
            if opening.says_kept(self.codec, row):
                self._of_kept.add((ns, row[0], row[1]))
            if is_sound(ns, tuple(row), self.codec):
                continue
            key = (self.row.number, ns, *row[:3])
            right = back.get((ns, row[0], row[1], row[2])) or event_put_right(ns, tuple(row))
            if right is not None:
                held = (self.row.number, ns, *right)
                fixes = [Tell("drop_event", [key]), Tell("put_event", [held])]
                remedy = RIGHT
            else:
                fixes = self._away("wyrd_events", key, (ns, *row), Tell("drop_event", [key]))
                remedy = AWAY
            what = "what was said is not what was written"
            self._note("events", f"{row[0]} {row[1]} {row[2]}", what, remedy, fixes)
            self.pillars_differ = True

    def _pillars(self) -> Plan[None]:
        """The ledger beside the checkpoints, and the tables beside the ledger."""
        number, thread_id = self.row.number, self.row.thread_id
        reading = self.reading = Reading(self.codec, number, thread_id)
        yield from reading.put_rows_right()
        if self.weaver is not None:
            before = placeholders_made()
            yield from reading.look_on(
                reweave.reweave(self.codec, self.weaver, thread_id, aloud=False)
            )
            self.kept = placeholders_made() > before
            bad = {key[:3] for key in reading.bad}
            for key in sorted({*reading.told} - bad):
                _, checkpoint, task = key
                place = f"{checkpoint} {task}".strip()
                if self.kept or key in self._of_kept:
                    when = "are not here" if self.kept else "were not here as it was said"
                    what = f"what the ledger says can't be compared: classes of values {when}"
                    self._note("events", place, what, NONE, damage=False)
                    del reading.told[key]
                    continue
                what = "the ledger says other than the checkpoint does"
                self._note("events", place, what, ANEW)
                self.pillars_differ = True
            for (ns, id), _ in sorted(reading.derived.items()):
                if self.kept or (ns, id, "") in self._of_kept:
                    continue  # how much was said there, among others
                what = "what is due, or its root, differs from what it says"
                self._note("checkpoints", id, what, ANEW)
                self.pillars_differ = True
        weave = yield from reading.look_on(states.load_weave(self.codec, number, thread_id))
        wanted = yield from reading.look_on(states.projected(self.codec, number, thread_id, weave))
        user = None if reading.shown is None else reading.shown[4]
        differing = alike.unlike(
            self.codec, number, weave, wanted, user, self._roots, near=bool(reading.lost)
        )
        for table, place, what in (yield from differing):
            self._note(table, place, what, "can be made anew from the ledger")
            self.pillars_differ = True
