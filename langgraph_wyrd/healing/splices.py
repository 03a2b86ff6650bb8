"""A thread's splices looked through: those of frames first, then those of the values they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import copies, opening, strand
from langgraph_wyrd.healing.beside import Away
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.healing.opening import by_strand, frames_of
from langgraph_wyrd.healing.report import AWAY, EARLIER, NONE, RIGHT, STAYS, count
from langgraph_wyrd.plans.loading import Stored
from langgraph_wyrd.store import strands
from langgraph_wyrd.store.frames import Frame
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.strands import Place, ReadRow
from langgraph_wyrd.store.values import Codec


class Note(Protocol):
    """Takes down a finding, with the statements that mend it."""

    def __call__(
        self,
        table: str,
        place: str,
        what: str,
        remedy: str,
        fixes: Iterable[Tell] = (),
        *,
        damage: bool = True,
    ) -> None: ...


class Splices:
    """Of one thread."""

    def __init__(self, codec: Codec, number: int, note: Note, away: Away) -> None:
        self._codec = codec
        self._number = number
        self._note = note
        self._away = away
        self._copies: Copies | None = None
        self._held: dict[int, list[ReadRow]] = {}
        self._nowhere: list[Row] = []  # rows whose keys are none

    def look(self, stored: Sequence[Stored], *, whole: bool) -> Plan[list[Frame]]:
        """What is wrong with them; the frames that can be read, of these checkpoints. `whole`:
        they are all that there are."""
        yield from self._read()
        places = by_strand(row.place for row in stored)
        found: list[Frame] = []
        self._put_back(places)
        for _, versions in sorted(places.items()):
            mended = yield from self._strand(versions, blocks=False)
            found += frames_of(mended, versions)
        values = by_strand(
            entry.place for frame in found for entry in frame.channels.values() if entry.place
        )
        self._put_back(values)
        shapes = opening.shapes_of(found)
        for number, versions in sorted(values.items()):
            mended = yield from self._strand(versions, blocks=True)
            what = opening.wrong_strand(self._codec, shapes[number], mended, versions)
            if what is not None:
                self._note("splices", f"strand {number}", what, STAYS)
        newest = {row.ns: row for row in sorted(stored, key=lambda row: row.id)}
        last = {row.strand for row in newest.values()} if whole else set()
        self._left_over(places, values, last)
        return found

    def copies(self) -> Plan[Copies]:
        """Where else the thread's elements stand."""
        if self._copies is None:
            self._copies = yield from copies.of_thread(self._codec, self._number)
        return self._copies

    def _read(self) -> Plan[None]:
        for row in (yield Ask("all_splices", (self._number,))):
            if any(type(each) is not int for each in row[:3]):  # SQLite takes any type
                self._nowhere.append(row)
            else:
                self._held.setdefault(row[0], []).append(row)

    def _put_back(self, wanted: dict[int, set[Place]]) -> None:
        for row, moved, there in strand.put_back(self._held, self._nowhere, wanted):
            # Where it stood no load would know what to make of it.
            drop = Tell("drop_splice", [(self._number, *row[:3])])
            over = [] if there is None else self._stray(there)
            fixes = [drop, *over, Tell("fix_splice", [(self._number, *moved)])]
            what = f"splice {row[1]}/{row[2]} stands in another's place"
            self._note("splices", f"strand {row[0]}", what, RIGHT, fixes)

    def _left_over(
        self, frames: dict[int, set[Place]], values: dict[int, set[Place]], last: set[int]
    ) -> None:
        """What no version that can be read needs. `last`: strands of a namespace's newest frame.

        Behind an older one may stand that of a checkpoint that was put a second time.
        """
        newest: dict[int, int] = {}
        named = (*frames.values(), *values.values())
        for place in (place for places in named for place in places):
            newest[place.strand] = max(place.seq, newest.get(place.strand, place.seq))
        for number in newest:
            for row in self._held.get(number, ()):
                if row[1] > newest[number] and not strand.is_sound(row):
                    what = f"splice {row[1]}/{row[2]} does not belong there"
                    self._note("splices", f"strand {number}", what, AWAY, self._stray(row))
                elif row[1] > newest[number] and number in last:
                    cut = Tell("cut_strand", [(self._number, number, newest[number])])
                    what = f"that of frame {number}/{row[1]} is lost"
                    self._note("checkpoints", "newest", what, EARLIER, [cut])
        for number in sorted(set(self._held) - set(newest)):
            what = f"{count(len(self._held[number]), 'row')} that no readable checkpoint names"
            self._note("splices", f"strand {number}", what, NONE, damage=False)
        for row in self._nowhere:
            what = f"splice {row[1]!r}/{row[2]!r} has columns of other types than it had"
            self._note("splices", f"strand {row[0]!r}", what, AWAY, self._stray(row))

    def _stray(self, row: Row) -> list[Tell]:
        key = (self._number, *row[:3])
        drop = Tell("drop_splice", [key])
        return self._away("wyrd_splices", key, row, drop)

    def _strand(self, wanted: set[Place], *, blocks: bool) -> Plan[list[ReadRow]]:
        """The rows of a strand, put right where they can be; what can't is left out."""
        newest = max(wanted, key=lambda place: place.seq)
        held = self._held.get(newest.strand, [])
        upto = [row for row in held if row[1] <= newest.seq]
        try:
            strands.verify(upto, wanted)
            return upto
        except CheckpointDamaged as error:
            what = str(error)
        lengths = {place.seq: place.length for place in wanted}
        copied = yield from self.copies()
        for place in sorted(wanted, key=lambda place: -place.seq):
            some = [row for row in upto if row[1] <= place.seq]
            made = strand.mend(
                self._codec, some, place, copies=copied, lengths=lengths, blocks=blocks
            )
            if made is not None and not made.lost:
                if place != newest:
                    break
                stale = [row for row in made.exact if row not in upto]
                fixes = (
                    [Tell("fix_splice", [(self._number, *row) for row in stale])] if stale else []
                )
                there = {row[:3] for row in made.exact}
                for row in upto:
                    if row[:3] not in there:
                        fixes += self._stray(row)
                # Without any, what is wanted as well was written over by what came later.
                remedy = RIGHT if fixes else STAYS
                self._note("splices", f"strand {newest.strand}", what, remedy, fixes)
                return made.exact
        self._note("splices", f"strand {newest.strand}", what, STAYS)
        return list(made.exact) if made is not None and not made.lost else []
