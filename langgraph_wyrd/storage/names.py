"""Ids as the database holds them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone

from langgraph_wyrd.errors import InvalidInput


def has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def stored(text: str, what: str) -> str:
    """An id or a name in the form that both databases can hold (Postgres has no NUL in text)."""
    try:
        if text.isascii() or not has_surrogate(text):
            if "\0" in text or "\\" in text:
                return text.replace("\\", "\\\\").replace("\0", "\\0")
            return text
    except (AttributeError, TypeError):
        kind = type(text).__name__
        raise InvalidInput(f"{what} is {text!r:.80}, a {kind}: pass text") from None
    raise InvalidInput(f"{what} {text!a} holds a lone surrogate, which UTF-8 can't carry")


# What goes into an index together must fit into a third of a Postgres page.
_MOST = {"checkpoint_ns": 1500, "checkpoint_id": 300, "task_id": 300, "user_id": 600, "key": 600}


def check_size(made: str, what: str) -> str:
    """A stored id that becomes part of an index, if it is not longer than the index takes."""
    if len(made) * 4 > _MOST[what] and len(made.encode()) > _MOST[what]:
        raise InvalidInput(
            f"{what} {made[:40]!r}… has {len(made.encode())} bytes; {_MOST[what]} is the most that "
            "can be stored"
        )
    return made


def given(text: str) -> str:
    """The id or name that `stored` made `text` of."""
    try:
        if "\\" not in text:
            return text
    except TypeError:  # SQLite takes any type: whoever shows what is damaged comes here as well
        return str(text)
    return "\\".join(part.replace("\\0", "\0") for part in text.split("\\\\"))


def text_in(held: object) -> str | None:
    """The text that a column holds; None where a damaged row has anything else there."""
    return given(held) if isinstance(held, str) else None


def made_at(id: str | None) -> datetime | None:
    """When a checkpoint id was made; None if it is of no kind that says so."""
    try:
        made = uuid.UUID(id)
    except (ValueError, TypeError, AttributeError):
        return None
    if made.version != 6:
        return None
    ticks = (made.int >> 80) << 12 | (made.int >> 64) & 0xFFF
    return datetime(1582, 10, 15, tzinfo=timezone.utc) + timedelta(microseconds=ticks // 10)
