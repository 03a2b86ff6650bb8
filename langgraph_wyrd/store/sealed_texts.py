"""Texts and JSON that a key ring seals, with the checksum that stands beside some of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from langgraph_wyrd.store.keys import UNREADABLE, NotOpened, NotSealed
from langgraph_wyrd.store.statements import Row

logger = logging.getLogger("langgraph_wyrd")

Place = Sequence[Any]
NOTHING = b"\xc1"  # in the place of bytes that were planted
_WRONG = 0x5BD1E9955BD1E995  # bits that no healing takes for flipped ones


class Keys(Protocol):
    """What seals and opens. Without keys everything raises KeyMissing, but for texts to show."""

    def seal(self, thread: int, place: Place, data: bytes) -> tuple[bytes, int, int]: ...
    def masks(self, thread: int, sealed: bytes) -> tuple[int, int]: ...
    def open(self, thread: int, place: Place, sealed: bytes) -> bytes: ...
    def seal_text(self, thread: int, place: Place, text: str) -> str: ...
    def seal_text_masked(self, thread: int, place: Place, text: str) -> tuple[str, int, int]: ...
    def open_text(self, thread: int, place: Place, text: str) -> str: ...
    def masks_of_text(self, thread: int, text: str) -> tuple[int, int]: ...
    def shown(self, text: str) -> str | None:
        """What stands for a sealed text that nothing depends on; None: it has to be opened."""


def wrong(total: Any) -> Any:
    """A checksum that says so."""
    return total ^ _WRONG if type(total) is int else _WRONG


Sealing = Callable[[Keys, Row], Row]
Opening = Callable[[Keys, Sequence[Any], Row], Row]


# ---- texts that have no checksum: what is shown


def seal_shown(keys: Keys, thread: int, place: Place, text: str | None) -> str | None:
    return keys.seal_text(thread, place, text) if text else text


def open_shown(keys: Keys, thread: int, place: Place, text: str | None) -> str | None:
    if not text:
        return text
    if (instead := keys.shown(text)) is not None:
        return instead
    try:
        return keys.open_text(thread, place, text)
    except (NotOpened, TypeError, AttributeError) as error:
        planted = "is not encrypted" if isinstance(error, NotSealed) else "can't be read"
        logger.warning("%s of thread number %s %s; verify() tells more", place[0], thread, planted)
        return UNREADABLE


_EMPTY_JSON = ("", "[]", "{}", "null")


def _seal_json(keys: Keys, thread: int, place: Place, text: str | None) -> str | None:
    if text is None or text in _EMPTY_JSON:
        return text
    return json.dumps(keys.seal_text(thread, place, text))


def _open_json(keys: Keys, thread: int, place: Place, text: Any) -> Any:
    if text is None or text in _EMPTY_JSON:
        return text
    try:
        held = json.loads(text)
    except (ValueError, TypeError):
        held = text
    if isinstance(held, str):
        if keys.shown(held) is not None:
            return None
        try:
            return keys.open_text(thread, place, held)
        except NotOpened:
            pass
    logger.warning("%s of thread number %s can't be read; verify() tells more", place[0], thread)
    return None


def texts(
    name: str, thread: int | None, id: Sequence[int], texts: Sequence[int], jsons: Sequence[int],
    *, ids: Sequence[int] = (), bad: str | None = None,
) -> tuple[Sealing, Opening]:  # fmt: skip
    """Seals and opens columns of rows, the number of whose thread stands at `thread` (None: in the
    statement's first parameter). Columns `id`, or parameters `ids`, tell the rows apart. `bad`
    stands for JSON that can't be read."""
    columns = (*((each, seal_shown, open_shown) for each in texts),
               *((each, _seal_json, _open_json) for each in jsons))  # fmt: skip

    def change(keys: Keys, params: Sequence[Any], row: Row, opening: bool) -> Row:
        made = list(row)
        number = params[0] if thread is None else row[thread]
        key = (*(params[each] for each in ids), *(row[each] for each in id))
        for n, (column, seal, open_) in enumerate(columns):
            work = open_ if opening else seal
            made[column] = work(keys, number, (name, *key, n), row[column])
            if made[column] is None and row[column] is not None:
                made[column] = bad
        return tuple(made)

    return (
        lambda keys, row: change(keys, (), row, False),
        lambda keys, params, row: change(keys, params, row, True),
    )


# ---- texts with a checksum over them and what tells their row


def summed(
    name: str, thread: int | None, id: Sequence[int], column: int, total: int,
    *, json_: bool = False, bits: int = -1, ids: Sequence[int] = (), bad: str = UNREADABLE,
) -> tuple[Sealing, Opening]:  # fmt: skip
    """As `texts`, of one column and the checksum at `total`, of which `bits` are over the text.

    Without keys there is no checksum to tell, and what is shown is that it is sealed.
    """

    def place(params: Sequence[Any], row: Row) -> tuple[int, Place]:
        number = params[0] if thread is None else row[thread]
        return number, (name, *(params[each] for each in ids), *(row[each] for each in id))

    def seal(keys: Keys, row: Row) -> Row:
        if row[column] in _EMPTY_JSON:
            return row
        made = list(row)
        text, one, _ = keys.seal_text_masked(*place((), row), row[column])
        made[column] = json.dumps(text) if json_ else text
        made[total] ^= one & bits
        return tuple(made)

    def open_(keys: Keys, params: Sequence[Any], row: Row) -> Row:
        if row[column] in _EMPTY_JSON:
            return row
        made = list(row)
        number, at = place(params, row)
        try:
            text = json.loads(row[column]) if json_ else row[column]
            if (instead := keys.shown(text)) is not None:
                made[column], made[total] = bad if json_ else instead, None
                return tuple(made)
            one, _ = keys.masks_of_text(number, text)
            made[column] = keys.open_text(number, at, text)
            made[total] ^= one & bits
        except (NotOpened, TypeError, ValueError, AttributeError) as error:
            said = "is not encrypted" if isinstance(error, NotSealed) else "can't be read"
            logger.warning("%s of thread number %s %s; verify() tells more", name, number, said)
            made[column], made[total] = bad, wrong(row[total])
        return tuple(made)

    return seal, open_
