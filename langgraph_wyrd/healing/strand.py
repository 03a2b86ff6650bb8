"""A strand with damaged rows: put right as far as checksums and chains can prove it.

A row's `sum` is over its place, shape and bytes, its `chain` over all sums so far, and the version
that is wanted names the last chain. So of data, sum and chain any one that is wrong is known to be,
and whatever is put in its place is known to be what was written, or is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import flips
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.store import strands
from langgraph_wyrd.store.statements import Row
from langgraph_wyrd.store.strands import Place, ReadRow, link
from langgraph_wyrd.store.values import Codec, checksum


@dataclass(frozen=True, slots=True)
class Lost:
    """A splice that can't be had back: where its elements stood, and the bytes that are there."""

    seq: int
    part: int
    keep: int
    cut: int
    count: int
    data: bytes = b""


@dataclass(slots=True)
class Mended:
    """The rows of a strand up to a place. Without anything lost they are proven to the last bit."""

    rows: list[ReadRow | Lost] = field(default_factory=list)
    done: list[str] = field(default_factory=list)  # what was put right, in words

    @property
    def lost(self) -> list[Lost]:
        return [row for row in self.rows if isinstance(row, Lost)]

    def upto(self, place: Place) -> Mended | None:
        """The same up to an earlier place; None if the rows do not bear that one, or some are lost:
        of fewer rows more may be had back."""
        rows = [r for r in self.rows if (r.seq if isinstance(r, Lost) else r[1]) <= place.seq]
        made = Mended(rows, self.done)
        return made if not made.lost and _bears(made, place) else None

    @property
    def exact(self) -> list[ReadRow]:
        return [row for row in self.rows if not isinstance(row, Lost)]


def mend(
    codec: Codec,
    found: Sequence[Sequence[Any]],
    place: Place,
    *,
    copies: Copies | None = None,
    lengths: Mapping[int, int] | None = None,
    blocks: bool = True,
) -> Mended | None:
    """The rows that bear a place; None if not even what is lost of them can be told.

    Args:
        codec: Packs what copies have.
        found: The rows as they are stored, up to the place.
        place: What is wanted.
        copies: Where else the elements may be.
        lengths: How many elements other versions of the strand have.
        blocks: Whether the rows hold blocks of elements (frames don't).
    """
    known = dict(lengths or {})
    known[place.seq] = place.length
    for moved in (True, False):
        made = _Mending(codec, place, copies, known, blocks).run(found, moved)
        if made is not None and (made.lost or _bears(made, place)):
            return made
    return None


def _bears(made: Mended, place: Place) -> bool:
    try:
        strands.verify(made.exact, [place])
    except CheckpointDamaged:
        return False
    return True


class _Mending:
    def __init__(
        self,
        codec: Codec,
        place: Place,
        copies: Copies | None,
        lengths: Mapping[int, int],
        blocks: bool,
    ) -> None:
        self._codec = codec
        self._place = place
        self._copies = copies
        self._lengths = lengths
        self._blocks = blocks
        self._made = Mended()

    def run(self, found: Sequence[Sequence[Any]], moved: bool) -> Mended | None:
        """`moved`: a row whose part is no likely number counts as one of its version's."""
        held = {(row[1], row[2]): row for row in map(plain, found)}
        self._move_back(held, self._keys(held, moved))
        keys = self._keys(held, moved)  # where a row was moved from, there may be none
        if strays := sorted(held.keys() - set(keys)):
            name = f"{self._place.strand}/{strays[0][0]}/{strays[0][1]}"
            self._made.done.append(f"splice {name} does not belong there, and was passed over")
        chain: int | None = 0
        length = 0
        for index, key in enumerate(keys):
            behind = next((held[each] for each in keys[index + 1 :] if each in held), None)
            leads = _leads(behind, self._place)
            stored = held.get(key)
            row = (
                self._missing(key, chain, length, behind, leads)
                if stored is None
                else self._row(stored, chain, length, leads)
            )
            if row is None:
                return None
            self._made.rows.append(row)
            if isinstance(row, Lost):
                length += row.count - row.cut
                chain = None if stored is None or chain is None else stored[8]
            else:
                length += row[5] - row[4]
                chain = row[8]
        return self._made

    def _keys(self, held: Mapping[tuple[int, int], ReadRow], moved: bool) -> list[tuple[int, int]]:
        """Every row that must be there: versions follow each other, and so do their parts."""
        keys = []
        for seq in range(self._place.seq + 1):
            parts = [part for at, part in held if at == seq]
            last = max((part for part in parts if 0 <= part <= 1 << 16), default=0)
            keys += [(seq, part) for part in range(max(last + 1, len(parts) if moved else 0))]
        return keys

    def _move_back(
        self, held: dict[tuple[int, int], ReadRow], keys: Sequence[tuple[int, int]]
    ) -> None:
        """Rows that stand in each other's places, or in none: nothing is left where they stood."""
        bad = {key: row for key, row in held.items() if _sum(row) != row[7]}
        aliens = [*bad.values(), *(self._copies.aliens if self._copies else ())]
        for key in [key for key in keys if key in bad or key not in held]:
            for row in aliens:
                moved = (self._place.strand, *key, *plain(row)[3:])
                if _sum(moved) == moved[7]:
                    stood = row[1:3]
                    if held.get(stood) is row:
                        del held[stood]
                    held[key] = moved
                    self._made.done.append(f"splice {_name(moved)} stood in another's place")
                    break

    # ---- one row

    def _row(
        self, row: ReadRow, chain: int | None, length: int, leads: Callable[[int], bool]
    ) -> ReadRow | Lost | None:
        total = _sum(row)
        if total == row[7]:
            if chain is None or link(chain, total) == row[8]:
                return row
            if leads(link(chain, total)):
                self._made.done.append(f"the chain of splice {_name(row)} was worked out anew")
                return (*row[:8], link(chain, total))
            return None  # the last splice of the version before is gone: nothing tells its shape
        if chain is not None and link(chain, total) == row[8]:
            self._made.done.append(f"the checksum of splice {_name(row)} was worked out anew")
            return (*row[:7], total, row[8])
        fixed = self._fixed(row, length)
        if fixed is not None:
            chained = row[8] if chain is None else link(chain, fixed[7])
            return (*fixed[:8], chained)
        if chain is not None:
            proof = (chain, self._place)
            copied = self._copied(row, lambda total: leads(link(chain, total)), proof)
            if copied is not None:
                return (*copied[:8], link(chain, copied[7]))
        if chain is not None and link(chain, row[7]) != row[8]:
            return None  # it does not follow from the one before: more than its bytes is wrong
        keep, cut, added = row[3:6]
        if 0 <= keep <= length and 0 <= cut <= length - keep and 0 <= added <= 1 << 24:
            return Lost(row[1], row[2], keep, cut, added, row[6])
        return None

    def _fixed(self, row: ReadRow, length: int) -> ReadRow | None:
        """The row that its own checksum proves."""
        total = row[7]
        for keep, cut, added in self._shapes(row, length):
            tried = (*row[:3], keep, cut, added, *row[6:])
            if _sum(tried) == total:
                self._made.done.append(f"the shape of splice {_name(row)} was worked out anew")
                return tried

        def fits(data: bytes) -> bool:
            return checksum(data, *row[:6]) == total

        data = flips.unless_vain(row[:8], lambda: flips.put_right(row[6], fits))
        if data is not None:
            self._made.done.append(f"a changed byte of splice {_name(row)} was put right")
            return (*row[:6], data, *row[7:])
        return self._copied(row, lambda each: each == total)

    def _shapes(self, row: ReadRow, length: int) -> Iterator[tuple[int, int, int]]:
        keep, cut, added = row[3:6]
        for tried in range(length + 1):
            yield tried, cut, added
            yield keep, tried, added
        if self._blocks:
            try:
                elements = self._codec.open_block(row[6])
            except CheckpointDamaged:
                return
            yield keep, cut, len(elements)
            yield keep, cut, len(elements) - cut  # of a dict: keys that go come first
        yield keep, cut, 1

    def _copied(
        self, row: ReadRow, proves: Callable[[int], bool], wanted: object = None
    ) -> ReadRow | None:
        """The row made anew of elements that are stored elsewhere; `wanted`: what it is proven by,
        if not by its own checksum."""
        if self._copies is None or not self._blocks:
            return None
        copies = self._copies

        def search() -> ReadRow | None:
            for elements in copies.runs(row[5], row[6]):
                data = self._codec.block_again(elements, row[6])
                total = checksum(data, *row[:6])
                if proves(total):
                    return (*row[:6], data, total, row[8])
            return None

        found = flips.unless_vain((row, wanted, copies.size), search)
        if found is not None:
            self._made.done.append(f"splice {_name(row)} was copied from where it also stands")
        return found

    def _missing(
        self,
        key: tuple[int, int],
        chain: int | None,
        length: int,
        behind: ReadRow | None,
        leads: Callable[[int], bool],
    ) -> ReadRow | Lost | None:
        """A row that is not there, if all it did was to add elements at the end."""
        then = self._lengths.get(key[0])
        if then is None and behind is not None and behind[1] == key[0] + 1 and not behind[4]:
            then = behind[3]
        if then is None or then <= length:
            return None
        row = (self._place.strand, *key, length, 0, then - length, b"", 0, 0)
        if chain is not None:
            proof = (chain, self._place)
            found = self._copied(row, lambda total: leads(link(chain, total)), proof)
            if found is not None:
                return (*found[:8], link(chain, found[7]))
        return Lost(*key, length, 0, then - length)


def is_sound(row: Sequence[Any]) -> bool:
    """Whether a row is what was written, wherever its strand leads."""
    return bool(_sum(row) == row[7])


def put_back(
    held: dict[int, list[ReadRow]], nowhere: list[Row], wanted: Mapping[int, set[Place]]
) -> list[tuple[Row, ReadRow, ReadRow | None]]:
    """Rows that stand in each other's places, or `nowhere`, now in their own; each with what it
    was, and with what stood there that belongs nowhere.

    Whatever else is wrong with their strands: elsewhere they may be in the way, and written over.
    """
    bad: list[Row] = [row for rows in held.values() for row in rows if not is_sound(row)]
    tried = [*bad, *nowhere]
    keys: list[Row] = [row[:3] for row in bad]
    for number, places in wanted.items() if tried else ():
        rows = [*held.get(number, ()), *(row for row in nowhere if row[0] == number)]
        keys += _empty(number, max(place.seq for place in places), rows)
    moved: dict[Row, tuple[Row, ReadRow]] = {}  # by its own key: what stood elsewhere
    for key in keys:
        for row in tried:
            right = (*key, *plain(row)[3:])
            if is_sound(right):
                moved[key] = (row, right)
                break
    sources = {id(row) for row, _ in moved.values()}
    over: dict[Row, ReadRow] = {row[:3]: row for row in bad if id(row) not in sources}
    for number, there in held.items():
        held[number] = [row for row in there if id(row) not in sources and row[:3] not in moved]
    nowhere[:] = [row for row in nowhere if id(row) not in sources]
    for key, (_, right) in moved.items():
        held[key[0]] = sorted([*held.get(key[0], ()), right], key=lambda each: each[1:3])
    return [(row, right, over.get(key)) for key, (row, right) in moved.items()]


def _empty(number: int, newest: int, rows: Iterable[Row]) -> list[Row]:
    """Where a strand may lack a row: as many parts as a version has rows, or up to the last."""
    sound: dict[int, list[int]] = {}
    count: dict[int, int] = {}
    for row in rows:
        count[row[1]] = count.get(row[1], 0) + 1
        if is_sound(row):
            sound.setdefault(row[1], []).append(row[2])
    return [
        (number, seq, part)
        for seq in range(newest + 1)
        for part in range(max(count.get(seq, 1), *(each + 1 for each in sound.get(seq, (0,)))))
        if part not in sound.get(seq, ())
    ]


def _sum(row: Sequence[Any]) -> int:
    try:
        return checksum(row[6], *row[:6])
    except (TypeError, OverflowError, MemoryError):
        return NO_SUM


NO_SUM = -2  # of what has none; a column that is no number counts as -1


def plain(row: Sequence[Any]) -> ReadRow:
    """A row whose columns have the types that they should."""
    numbers = [value if type(value) is int else -1 for value in row]
    data = bytes(row[6]) if isinstance(row[6], (bytes, memoryview)) else b""
    return (*numbers[:6], data, *numbers[7:])  # type: ignore[return-value]


def _name(row: Sequence[Any]) -> str:
    return f"{row[0]}/{row[1]}/{row[2]}"


def _leads(behind: ReadRow | None, place: Place) -> Callable[[int], bool]:
    """Whether a chain is the one that what comes behind it was linked to."""
    if behind is None:
        return lambda chain: chain == place.chain
    return lambda chain: link(chain, behind[7]) == behind[8]
