"""Values of users that are damaged: put right where that can be proved, else left out, aloud.

What was erased is no damage: its rows are there, and empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import control, copies, strand
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.plans import owned
from langgraph_wyrd.plans.loading import Write
from langgraph_wyrd.plans.owned import Key
from langgraph_wyrd.plans.read import Pending, Read, filled, refs_of, told
from langgraph_wyrd.store import strands
from langgraph_wyrd.store.frames import Frame
from langgraph_wyrd.store.refs import ABSENT, REF, Ref
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.users import Salted, is_of
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langgraph_wyrd.healing.mending import Mender


# ---- on load


def healed(mender: Mender, made: Read) -> Plan[Read]:
    """A checkpoint with the values of users in it, as far as they can be had.

    A task that lacks a write runs again.
    """
    refs = refs_of(made)
    if not refs:
        return made
    written = {ref[:5] for ref in owned.among(write[2] for write in made.writes)}
    there, lost = yield from values(mender, made.ns, made.id, refs, written)
    if lost:
        gone = {task for task, _, held in made.writes if is_one_of(held, lost)}
        writes = [w for w in made.writes if w[0] not in gone or w[1].startswith("__")]
        writes = control.without_questions(writes, lambda held: is_one_of(held, lost))
        made = replace(made, writes=[w for w in writes if not is_one_of(w[2], lost)])
    return told(mender.codec, filled(made, there))


def healed_history(
    mender: Mender,
    ns: str,
    id: str,
    writes: dict[str, list[Pending]],
    seeds: dict[str, list[Any]],
) -> Plan[None]:
    """The same for what rebuilds delta channels."""
    refs = owned.among(value for found in seeds.values() for value in found)
    written = owned.among(write[2] for found in writes.values() for write in found)
    if refs or written:
        whole = {ref[:5] for ref in written}
        there, _ = yield from values(mender, ns, id, [*refs, *written], whole)
        owned.put_in(writes, seeds, there)


def is_one_of(held: Any, lost: set[Key]) -> bool:
    return type(held) is Ref and held[:5] in lost


def values(
    mender: Mender, ns: str, id: str, refs: Iterable[Ref], whole: Collection[Key] = ()
) -> Plan[tuple[dict[Key, Any], set[Key]]]:
    """The values that can be had, ABSENT for the others; and which those are. Nothing stands in
    for a part of what must be `whole`: what tasks wrote."""
    codec, found, lost = mender.codec, {}, set()
    for ref in {ref[:5]: ref for ref in refs}.values():
        rows = yield Ask("user_strand", (mender.number, ref.strand, ref.seq))
        key = ref[:5]
        name = rows[0][10] if rows else ""
        try:
            found.update(owned.loaded(codec, rows, {key: ref}))
            continue
        except Exception:
            value = yield from _mended_value(mender, ns, id, name, rows, ref, key in whole)
        found[key] = ABSENT if value is None else value[0]
        if value is None:
            lost.add(key)
            what = "a value of a user can't be read, and is left out"
            mender.note("left_out", ns, id, what, f"user data {ref.strand}/{ref.seq}", name)
    return found, lost


def _mended_value(
    mender: Mender, ns: str, id: str, name: str, rows: Sequence[Row], ref: Ref, whole: bool
) -> Plan[tuple[Any] | None]:
    codec, place = Salted(mender.codec), Place(*ref[1:5])
    splices = [row[:9] for row in rows]
    made = strand.mend(codec, splices, place)
    if made is None or made.lost:
        copied = yield from mender.user_copies()
        made = strand.mend(codec, splices, place, copies=copied)
    if made is None or (whole and made.lost):
        return None
    return mender.valued(made, ns, id, name, ref.shape, place, codec)


# ---- verifying


class Wrong(NamedTuple):
    """What is wrong with a strand; `fixes` put it right, if they are there."""

    strand: int
    what: str
    fixes: list[Tell]
    damage: bool = True


def wrong(
    codec: Codec, number: int, frames: Iterable[Frame], writes: Iterable[Write]
) -> Plan[list[Wrong]]:
    """What is wrong with a thread's rows, by what its checkpoints and its tasks' writes name."""
    held: dict[int, list[Row]] = {}
    for raw in (yield Ask("all_user_data", (number,))):
        row = (*strand.plain(raw[:9]), *raw[9:])
        held.setdefault(row[0], []).append(row)
    named: dict[int, dict[Key, Ref]] = {}
    channels: dict[int, str] = {}
    for channel, ref in _named(codec, frames, writes):
        named.setdefault(ref.strand, {})[ref[:5]] = ref
        channels[ref.strand] = channel
    users = {row[9] for rows in held.values() for row in rows if row[9] is not None}
    copied: Copies | None = None
    found: list[Wrong] = []
    for at, refs in sorted(named.items()):
        newest = max(refs.values(), key=lambda ref: ref.seq)
        rows = [row for row in held.get(at, []) if row[1] <= newest.seq]
        if owned.is_erased(rows):
            continue
        try:
            strands.verify([row[:9] for row in rows], [Place(*ref[1:5]) for ref in refs.values()])
        except CheckpointDamaged as error:
            copied = copied or (yield from copies.of_users(codec, number))
            fixes = _fixes(codec, number, rows, Place(*newest[1:5]), copied)
            found.append(Wrong(at, str(error), fixes))
            continue
        found += _owners(number, at, rows, users)
        found += _names(number, at, rows, channels[at])
    for at in sorted(held.keys() - named.keys()):
        what = f"{len(held[at])} rows that nothing readable names"
        found.append(Wrong(at, what, [], damage=False))
    return found


def _fixes(
    codec: Codec, number: int, rows: Sequence[Row], place: Place, copied: Copies
) -> list[Tell]:
    """What makes rows those that bear a place, if that can be proved."""
    made = strand.mend(Salted(codec), [row[:9] for row in rows], place, copies=copied)
    if made is None or made.lost or [row[:3] for row in made.exact] != [row[:3] for row in rows]:
        return []
    right = [(*row, *old[9:]) for row, old in zip(made.exact, rows, strict=True)]
    return [_fix(number, row) for row in right if row not in rows]


def _named(
    codec: Codec, frames: Iterable[Frame], writes: Iterable[Write]
) -> Iterable[tuple[str, Ref]]:
    """What stands for users' values, each with its channel."""
    for frame in frames:
        for channel, entry in frame.channels.items():
            if entry.shape == REF and entry.inline is not None:
                with suppress(CheckpointDamaged):  # told already: it does not open
                    yield channel, codec.open_value(REF, entry.inline)
    for write in writes:
        if write.shape == REF:
            with suppress(CheckpointDamaged):
                yield write.channel, codec.open_value(REF, write.data)


def _owners(number: int, at: int, rows: Sequence[Row], users: set[str]) -> list[Wrong]:
    """Rows that say that they are another's than they were written for: no erasure finds them."""
    strays = [row for row in rows if row[6] and (row[9] is None or not is_of(row[6], row[9]))]
    if not strays:
        return []
    fixes = [
        _fix(number, (*row[:9], user, *row[10:]))
        for row in strays
        for user in users
        if is_of(row[6], user)
    ]
    return [Wrong(at, "it is not of the user that it says", fixes)]


def _names(number: int, at: int, rows: Sequence[Row], channel: str) -> list[Wrong]:
    strays = [row for row in rows if row[10] != channel]
    fixes = [_fix(number, (*row[:10], channel)) for row in strays]
    return [Wrong(at, "it is not of the channel that it says", fixes)] if strays else []


def _fix(number: int, row: Row) -> Tell:
    return Tell("fix_user_data", [(*row[3:11], number, *row[:3])])
