"""Whether sound rows open: bytes may be what was written, by their checksum, and yet no value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.plain import KEPT
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.loading import LoadedStrand, Write
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.frames import EMPTY, Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.strands import Place, ReadRow
from langgraph_wyrd.store.values import Codec


def by_strand(places: Iterable[Place]) -> dict[int, set[Place]]:
    found: dict[int, set[Place]] = {}
    for place in places:
        found.setdefault(place.strand, set()).add(place)
    return found


def frames_of(held: Sequence[ReadRow], wanted: set[Place]) -> list[Frame]:
    named = {(place.seq, place.chain) for place in wanted}
    frame, found = EMPTY, []
    for row in held:
        try:
            frame = frames.apply_patch(frame, row[6])
        except CheckpointDamaged:
            break
        if (row[1], row[8]) in named:
            found.append(frame)
    return found


def shapes_of(found: Iterable[Frame]) -> dict[int, str]:
    """The shape of each strand's values."""
    entries = (entry for frame in found for entry in frame.channels.values())
    return {entry.place.strand: entry.shape for entry in entries if entry.place is not None}


def wrong_strand(
    codec: Codec, shape: str, rows: Sequence[ReadRow], wanted: set[Place]
) -> str | None:
    """What keeps the values of a strand from being opened; None if nothing does."""
    if not rows or rows[-1][1] != max(place.seq for place in wanted):
        return None  # damaged, and told as such
    try:
        blocks = [codec.open_block(row[6]) for row in rows if row[6]]
        loaded = LoadedStrand(rows, [element for block in blocks for element in block])
        loading.values_at(codec, shape, loaded, wanted)
    except CheckpointDamaged as error:
        return str(error)
    return None


def wrong_values(
    codec: Codec, found: Iterable[Frame], writes: Iterable[Write]
) -> Iterator[tuple[str, str, str]]:
    """Table, place and what: of small values, which stand in frames, and of tasks' writes."""
    small = {
        (name, entry.shape, entry.inline)
        for frame in found
        for name, entry in frame.channels.items()
        if entry.inline is not None
    }
    for name, shape, block in sorted(small):
        if (what := _wrong(codec, shape, block)) is not None:
            yield "splices", f"channel {given(name)!r}", what
    for write in writes:
        if (what := _wrong(codec, write.shape, write.data)) is not None:
            yield "writes", f"task {given(write.task)}, channel {given(write.channel)!r}", what


def _wrong(codec: Codec, shape: str, block: bytes) -> str | None:
    try:
        codec.open_value(shape, block)
    except CheckpointDamaged as error:
        return str(error)
    return None


_KEPT = f'"{KEPT}":true'


def says_kept(codec: Codec, event: Sequence[Any]) -> bool:
    """Whether a row of the ledger was said of an object whose class was not here."""
    for text in event:
        if isinstance(text, str):
            with suppress(Exception):  # it is damaged, and told as such
                sealed = codec.sealed and text.startswith('"sealed:')
                text = codec.open_text(json.loads(text) if sealed else text)
            if _KEPT in text:
                return True
    return False
