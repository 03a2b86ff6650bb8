"""Filters of listings, checked: texts, ids, times, limits; and the cursors of their pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, get_args

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import Confidence
from langgraph_wyrd.storage.names import has_surrogate, stored

Values = tuple[str, ...] | None  # None: whatever it is

MOST_LISTED = 1000  # on a page
_MOST_VALUES = 500  # of one filter


# ---- what was passed


def values(
    given: str | Iterable[str] | None, what: str, made: Callable[[Any], Any] | None = None
) -> Values:
    """One value or several, in a fixed order; `made`: how each is stored."""
    if given is None:
        return None
    try:
        found = (given,) if isinstance(given, str) else tuple(given)
    except TypeError:
        raise InvalidInput(f"{what}={given!r}: use a string, or several") from None
    found = found if made is None else tuple(map(made, found))
    for value in found:
        if not isinstance(value, str):
            raise InvalidInput(f"{what}={value!r}: use a string, or several")
        if "\0" in value or has_surrogate(value):
            raise InvalidInput(f"{what}={value!a} holds a character that no database stores")
    if len(found) > _MOST_VALUES:
        raise InvalidInput(f"{what} has {len(found)} values; {_MOST_VALUES} is the most")
    return tuple(sorted(set(found)))


def ids(given: str | Iterable[str] | None, what: str) -> Values:
    """Ids, in the form that is stored."""
    return values(given, what, lambda each: stored(str(each), what))


def words(given: str | Iterable[str] | None, what: str, allowed: Sequence[str]) -> Values:
    """Some of a few words."""
    found = values(given, what)
    for value in found or ():
        if value not in allowed:
            raise InvalidInput(f"{what}={value!r}: use {_either(allowed)}")
    return found


def one_of(given: str, what: str, allowed: Sequence[str]) -> str:
    if not isinstance(given, str) or given not in allowed:
        raise InvalidInput(f"{what}={given!r}: use {_either(allowed)}")
    return given


def _either(allowed: Sequence[str]) -> str:
    quoted = [f'"{each}"' for each in allowed]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def over(status: str) -> Values:
    """Whether what is open is asked for, or what is over."""
    return (one_of(status, "status", ("open", "closed", "any")),)


def trust(confidence: str | Iterable[str] | None) -> Values:
    """How sure it must be; "any" does not filter."""
    found = words(confidence, "confidence", (*get_args(Confidence), "any"))
    return None if found is None or "any" in found else found


def moment(given: str | datetime | None, what: str) -> str | None:
    """A time as both databases compare it. One without a zone is local."""
    if given is None:
        return None
    try:
        if isinstance(given, str):
            found = datetime.fromisoformat(given.replace("Z", "+00:00"))
        elif isinstance(given, datetime):
            found = given
        else:
            raise ValueError
        return found.astimezone(timezone.utc).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{what}={given!r}: use a datetime, or ISO text") from None


def span(given: timedelta, what: str) -> datetime:
    """The time that long ago."""
    if not isinstance(given, timedelta):
        raise InvalidInput(f"{what}={given!r}: use a timedelta")
    try:
        return datetime.now(timezone.utc) - given
    except OverflowError:
        raise InvalidInput(f"{what}={given}: no time is that long ago") from None


def count(limit: int) -> int:
    if type(limit) is not int or not 0 < limit <= MOST_LISTED:
        raise InvalidInput(f"limit={limit!r}: use a number from 1 to {MOST_LISTED}")
    return limit


def wording(text: str | None, sealed: bool) -> str | None:
    """Text to look for; an empty one is in every text."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise InvalidInput(f"text={text!r}: use a string")
    values(text, "text")
    if sealed:
        raise InvalidInput(
            "text= can't be searched for: this store is sealed, its texts are encrypted. Use the "
            "other filters, and look at what they find"
        )
    return text


def like(text: str) -> str:
    """A pattern that finds every text that `says` it, and perhaps some more.

    SQLite folds the case of ASCII only, Postgres as its locale tells it: so the databases compare
    ASCII, a letter that has a case elsewhere may be anything, and `says` has the last word.
    """
    return "%" + "".join(map(_like, text)) + "%"


def _like(char: str) -> str:
    if char.isascii():
        return f"!{char}" if char in "!%_" else char.lower()
    return char if char == char.lower() == char.upper() == char.casefold() else "%"


def says(text: str, wanted: str) -> bool:
    return wanted.casefold() in text.casefold()


# ---- cursors


def cursor(listing: str, key: Sequence[Any]) -> str:
    """Where a page ends, as short text that goes into an address."""
    packed = json.dumps([listing, *key], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def place(after: str, listing: str, types: Sequence[type]) -> tuple[Any, ...]:
    """The place that a cursor of this listing names."""
    try:
        padded = after + "=" * (-len(after) % 4)
        found = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        name, *key = found
        fits = name == listing and len(key) == len(types) and all(map(_fits, key, types))
    except (TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise no_cursor(after, listing)
    return tuple(key)


def no_cursor(after: str, listing: str) -> InvalidInput:
    return InvalidInput(f"after={after!r}: use the `next` of a page of {listing}()")


def _fits(part: Any, wanted: type) -> bool:
    if wanted is int:
        return type(part) is int and abs(part) < 1 << 62
    if wanted is datetime:
        return datetime.fromisoformat(part).tzinfo is not None
    return type(part) is str and "\0" not in part and not has_surrogate(part)
