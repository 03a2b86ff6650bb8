"""A working state whose ledger is damaged: read anew out of the checkpoints, on the way.

Nothing is written: the reweaving's own rows are kept in hand and shown to the plan that reads.
What a checkpoint can't tell, as it was declared by a person, is had back if one flipped bit is all
that is wrong with it, and else is left out, aloud.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import beside, flips, rows
from langgraph_wyrd.healing.found import LOST, Found, Kind
from langgraph_wyrd.healing.mending import Mender
from langgraph_wyrd.plans import gone, loading, past, reweave
from langgraph_wyrd.plans.ledger import is_sound, through, unchecked
from langgraph_wyrd.plans.loading import Stored, StrandDamaged, Write
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Statement
from langgraph_wyrd.store.strands import Place, ReadRow
from langgraph_wyrd.store.values import Codec

T = TypeVar("T")
Group = tuple[str, str, str]  # namespace, checkpoint, task: what is said together

_TEXTS = (6, 7, 5, 3, 4, 1)  # of a row of `events`: body, source, item, pillar, op, task


def healed(
    codec: Codec, weaver: Weaver | None, thread_id: str, plan: Callable[[], Plan[T]]
) -> Plan[tuple[T, tuple[Found, ...]]]:
    """What a plan reads out of a thread's ledger, and what was damaged of it."""
    try:
        return (yield from plan()), ()
    except CheckpointDamaged as error:
        first = error
    found = yield Ask("thread_row", (thread_key(thread_id),))
    if not found:
        raise first
    reading = Reading(codec, found[0][0], thread_id)
    yield from reading.put_rows_right()
    yield from reading.put_events_right()
    yield from reading.put_labels_right()
    yield from reading.put_writes_right()
    if weaver is not None:
        yield from reading.look_on(reweave.reweave(codec, weaver, thread_id, aloud=False))
    answer = yield from reading.as_far_as_can_be(plan)
    heals = reading.heals()
    if not heals:  # it was passed over, as nothing tells what it said
        what, number = str(first), found[0][0]
        heals = (Found("left_out", number, thread_id, "", "", "", what, f"met {first}"),)
    return answer, heals


class Reading:
    """What plans see of a thread: damaged rows put right or not at all, written ones at once."""

    def __init__(self, codec: Codec, number: int, thread_id: str) -> None:
        self._codec = codec
        self._number = number
        self._thread_id = thread_id
        self._right_rows: dict[tuple[str, str], Stored] = {}
        self.derived: dict[tuple[str, str], Row] = {}  # due and root, read anew
        self.told: dict[Group, list[Row]] = {}
        self.bad: dict[tuple[str, str, str, int], Row | None] = {}
        self.lost: set[tuple[str, str]] = set()  # checkpoints that are missing
        self._elsewhere: dict[tuple[str, str], Stored] = {}  # rows by the ids that they had
        self._rows: list[tuple[Kind, str, str]] = []
        self._labels: dict[Row, tuple[Row, bool]] = {}
        self._gone: set[tuple[str, str]] = set()  # checkpoints whose rows can't be had back
        self._columns: dict[str, str] = {}  # of those checkpoints, what stands beside the metadata
        self._strands: dict[tuple[int, int], Sequence[ReadRow] | None] = {}
        self._met: list[Found] = []
        self._writes: dict[tuple[str, str], list[Write]] = {}
        self._tolerant = False
        self.shown: Row | None = None  # a thread's columns, as they are told anew

    def look_on(self, plan: Plan[T]) -> Plan[T]:
        return through(plan, self._answered, self._asked)

    def put_rows_right(self) -> Plan[None]:
        """The rows that say which way a path goes."""
        found = yield Ask("rows_of_thread", (self._number,))
        for raw in found:
            if rows.fits(raw):
                continue
            ns, id, _ = rows.checkpoint_of(raw)
            right = rows.checkpoint(raw, found)
            if right is not None:
                self._right_rows[ns, id] = right
            else:
                self._gone.add((raw[5], raw[6]))
            kind: Kind = "left_out" if right is None else "exact"
            self._rows.append((kind, ns, id))
        there = {
            raw[5:7]: rows.checkpoint_of(self._right_rows.get(raw[5:7], raw))[2] for raw in found
        }
        self.lost = yield from gone.on_paths(self._number, there)
        for right in self._right_rows.values():
            if (right.ns, right.id) in self.lost:
                self._elsewhere[right.ns, right.id] = right

    def put_events_right(self) -> Plan[None]:
        """What stands in the ledger in another's place."""
        self.bad.update(in_places(self._codec, (yield Ask("all_events", (self._number,)))))

    def put_labels_right(self) -> Plan[None]:
        plan = beside.labels_right(self._codec, self._number, self._thread_id)
        self._labels = yield from self.look_on(plan)

    def put_writes_right(self) -> Plan[None]:
        """What tasks wrote, where anything of it is damaged; half a result is none."""
        mender = Mender(self._codec, self._number, self._thread_id)
        by_place: dict[tuple[str, str], list[Row]] = {}
        for ns, checkpoint, *raw in (yield Ask("all_writes", (self._number,))):
            by_place.setdefault((ns, checkpoint), []).append(tuple(raw))
        for (ns, checkpoint), raws in by_place.items():
            try:
                held = [loading.checked_write(ns, checkpoint, raw) for raw in raws]
                loading.all_there(ns, checkpoint, held)
            except CheckpointDamaged:
                held = yield from mender.checked_writes(ns, checkpoint, raws)
                self._writes[ns, checkpoint] = held
        self._met += mender.found.values()

    def as_far_as_can_be(self, plan: Callable[[], Plan[T]]) -> Plan[T]:
        """What a plan reads, again and again, until no strand that it meets can be put right."""
        while True:
            try:
                return (yield from self.look_on(plan()))
            except StrandDamaged as error:
                place = max(error.places, key=lambda place: place.seq)
                if place[:2] not in self._strands:
                    yield from self._put_strand_right(place, error)
                elif self._tolerant:
                    raise
                else:
                    self._tolerant = True  # who can do without it, does

    def _put_strand_right(self, place: Place, error: StrandDamaged) -> Plan[None]:
        mender = Mender(self._codec, self._number, self._thread_id)
        made = yield from mender.strand(place, blocks=error.blocks)
        proven = made is not None and not made.lost
        self._strands[place[:2]] = made.exact if made is not None and proven else None
        ns, checkpoint, channel = yield from mender.owner(place.strand)
        for what in made.done if made is not None and proven else ():
            mender.note("exact", ns, checkpoint, what, what, channel)
        if not proven:
            mender.note("left_out", ns, checkpoint, str(error), f"strand {place.strand}", channel)
        self._met += mender.found.values()

    def heals(self) -> tuple[Found, ...]:
        made = [*self._met]
        for id, what in self._columns.items():
            place = f"columns {id}"
            made.append(Found("exact", self._number, self._thread_id, "", id, "", what, place))
        for (name, checkpoint), (_, proven) in self._labels.items():
            what = f"label {given(name)!r} was put right"
            if not proven:
                what = f"label {given(name)!r} stands, what it promoted is lost"
            kind: Kind = "exact" if proven else "left_out"
            place = f"label {name} {checkpoint}"
            made.append(Found(kind, self._number, self._thread_id, "", checkpoint, "", what, place))
        for (ns, checkpoint, task, n), right in self.bad.items():
            again = right is not None or (ns, checkpoint, task) in self.told
            what = (
                "what it said was put right"
                if right is not None
                else "what it says was read anew out of it"
                if again
                else "something that was said there is lost"
            )
            kind = "exact" if again else "left_out"
            place = f"event {checkpoint} {task} {n}"
            made.append(Found(kind, self._number, self._thread_id, ns, checkpoint, "", what, place))
        bad = {key[:3] for key in self.bad}
        for ns, checkpoint, task in self.told:
            if (ns, checkpoint, task) not in bad:
                what = "what it said was not in the ledger, and was read anew out of it"
                place = f"said {checkpoint} {task}"
                made.append(
                    Found("exact", self._number, self._thread_id, ns, checkpoint, "", what, place)
                )
        for ns, checkpoint in self.derived:
            what = "what is due there was read anew out of it"
            place = f"due {checkpoint}"
            made.append(
                Found("exact", self._number, self._thread_id, ns, checkpoint, "", what, place)
            )
        for ns, id in self.lost - self._elsewhere.keys():
            made.append(
                Found("left_out", self._number, self._thread_id, ns, id, "", LOST, f"lost {id}")
            )
        for kind, ns, id in self._rows:
            what = "its row was put right" if kind == "exact" else "what led there can't be read"
            made.append(Found(kind, self._number, self._thread_id, ns, id, "", what, f"row {id}"))
        return tuple(made)

    # ---- on the way

    def _asked(self, step: Statement) -> Statement | None:
        if isinstance(step, Ask):
            # Only looked at: nothing is locked, and what is damaged is known by now.
            names = {"lock_to_bury": "thread_row", "lock_thread": "thread_row"}
            return step._replace(name=names.get(step.name, step.name))
        if step.name == "show_thread":
            self.shown = tuple(step.rows[0])
        if step.name == "drop_events":
            for _, ns, checkpoint, task in step.rows:
                self.told[ns, checkpoint, task] = []
        if step.name == "set_derived":
            for due, root, _, _, ns, checkpoint in step.rows:
                self.derived[ns, checkpoint] = (due, root)
        if step.name == "put_event":
            for _, ns, *row in step.rows:
                self.told.setdefault((ns, row[0], row[1]), []).append(tuple(row))
        return None

    def _answered(self, ask: Ask, found: Any) -> Any:
        if ask.name == "own_row" or (ask.name == "lost" and ask.params[1:3] in self.lost):
            return []  # what is to be said of it is known by now
        if ask.name == "steps":
            _, ns, upto, most = ask.params
            steps = [self._step(ns, row) for row in found if type(row[0]) is str]
            steps += [
                (id, right.parent, right.ts, None, None, None)
                for (at, id), right in self._elsewhere.items()
                if at == ns and id <= upto
            ]
            return sorted(steps, key=lambda row: row[0], reverse=True)[:most]
        if ask.name == "ancestor":
            held = [self._right_rows.get((ask.params[1], row[0])) for row in found]
            return [
                row if right is None else (right.id, right.parent, *right.place)
                for row, right in zip(found, held, strict=True)
            ]
        if ask.name == "lineage":
            held = [self._right_rows.get((ask.params[1], row[0])) for row in found]
            return [
                row if right is None else (*right[6:11], *right.place, right.sum)
                for row, right in zip(found, held, strict=True)
            ]
        if ask.name in ("checkpoint_rows", "checkpoint_row"):
            return [self._row(row) for row in found if type(row[1]) is str]  # SQLite takes any type
        if ask.name == "strand":
            return self._strands.get((ask.params[1], ask.params[2])) or found
        if ask.name == "writes":
            writes = self._writes.get((ask.params[1], ask.params[2]))
            return found if writes is None else [tuple(write) for write in writes]
        if ask.name == "given_up":
            return [(1,)] if self._tolerant else []
        if ask.name == "offspring":
            return [row for row in found if type(row[1]) is str]
        if ask.name.startswith("past "):
            return [self._past(row) for row in found if ("", row[0]) not in self._gone]
        if ask.name in ("labels", "get_label"):
            rows = [self._label(row) for row in found]
            if rows or ask.name == "labels":
                return rows
            return [right for right, _ in self._labels.values() if right[:2] == ask.params[1:]]
        if ask.name not in ("events", "events_of_steps"):
            return found
        _, ns, low, high = ask.params if ask.name == "events" else _page(*ask.params[:3])
        sound = [right for row in found if (right := self._right(ns, row)) is not None]
        said = [row for row in sound if (ns, row[0], row[1]) not in self.told]
        for (at, checkpoint, _), told in self.told.items():
            if at == ns and low <= checkpoint <= high:
                said += told
        return sorted(said, key=lambda row: row[:3])

    def _step(self, ns: str, row: Row) -> Row:
        id, parent, ts, due, root, _ = unchecked(row)
        right = self._right_rows.get((ns, id))
        if right is not None:
            parent, ts = right.parent, right.ts
        return (id, parent, ts, *self.derived.get((ns, id), (due, root)), None)

    def _past(self, row: Row) -> Row:
        """A row of `past`."""
        right = self._right_rows.get(("", row[0]))
        if right is not None:
            row = (right.id, right.parent, right.ts, *row[3:7], right.metadata, right.exact,
                   *right.place, right.sum)  # fmt: skip
        told = past.beside(self._codec, row[7], row[8])
        if told != row[3:6]:
            self._columns[row[0]] = "what stands beside its metadata was read anew out of it"
        due, _ = self.derived.get(("", row[0]), (row[6], None))
        return (*row[:3], *told, due, *row[7:])

    def _row(self, row: Row) -> Row:
        right = self._right_rows.get((row[0], row[1]))
        if right is None:
            return row
        more = (*right.place, *row[13:15], right.sum)
        return (*row[:2], right.parent, right.ts, *row[4:7], right.metadata, right.exact, *more)

    def _label(self, row: Row) -> Row:
        right, _ = self._labels.get(row[:2], (row, True))
        return right[: len(row)]

    def _right(self, ns: str, row: Row) -> Row | None:
        if is_sound(ns, row, self._codec):
            return row
        key = (ns, row[0], row[1], row[2])
        if key not in self.bad:
            self.bad[key] = event_put_right(ns, row)
        return self.bad[key]


def _page(number: int, ns: str, high: str) -> tuple[int, str, str, str]:
    """A page of the ledger that is asked for by its newest checkpoint."""
    return number, ns, "", high


def event_put_right(ns: str, row: Row) -> Row | None:
    """A row of the ledger in which one bit of a text, or of the checksum, is wrong."""

    def flipped() -> Row | None:
        return rows.flipped_back(row, _TEXTS, len(row) - 1, lambda tried: is_sound(ns, tried))

    return flips.unless_vain((ns, *row), flipped)


def in_places(codec: Codec, found: Sequence[Row]) -> dict[tuple[str, str, str, int], Row]:
    """Of rows of `all_events` that stand in each other's places, by their keys, what was there."""
    bad = [row for row in found if not is_sound(row[0], row[1:], codec)]
    right = rows.put_back(bad, 4, lambda row: is_sound(row[0], row[1:], codec))
    return {(row[0], row[1], row[2], row[3]): row[1:] for row in right.values()}
