"""Filters of listings, each declared once; how they are checked; and the cursors of pages."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypedDict, get_args

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import Aim, Confidence, LoopKind, Status, TodoStatus
from langgraph_wyrd.storage.names import has_surrogate, stored

Values = tuple[str, ...] | None  # None: whatever it is
Some = str | Iterable[str] | None  # one value or several
Time = str | datetime | None

MOST_LISTED = 1000  # on a page
_MOST_VALUES = 500  # of one filter


# ---- what was passed


def values(given: Some, what: str, made: Callable[[Any], Any] | None = None) -> Values:
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


def ids(given: Some, what: str) -> Values:
    """Ids, in the form that is stored."""
    return values(given, what, lambda each: stored(str(each), what))


def words(given: Some, what: str, allowed: Sequence[str]) -> Values:
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


def trust(confidence: Some, what: str) -> Values:
    """How sure it must be; "any" does not filter."""
    found = words(confidence, what, (*get_args(Confidence), "any"))
    return None if found is None or "any" in found else found


def moment(given: Time, what: str) -> str | None:
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


def span(given: timedelta | None, what: str) -> datetime | None:
    """The time that long ago."""
    if given is None:
        return None
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


def one(given: str | None, what: str) -> str | None:
    """One text; an empty one is none."""
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"{what}={given!r}: use a string")
    values(given, what)
    return given or None


def exactly(given: str | None, what: str) -> str | None:
    """One name, which nobody may have."""
    one(given, what)
    return given


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


# ---- the filters of each listing


class Filter(NamedTuple):
    """A filter of a listing: `check` validates what a caller passes and gives its stored form; `{}`
    in `sql` takes its `?` placeholders. One without `sql` is no condition on a row of its own."""

    check: Callable[[Any, str], Any]
    sql: str = ""
    default: Any = None


# Postgres does not estimate a CASE. Without it, it assumes that a filter without statistics matches
# few rows, and reads and sorts the whole table. Walking the index until a page is full is right.
ANY = "CASE WHEN i.{0} IN ({{}}) THEN TRUE ELSE FALSE END"


def _some(column: str, check: Callable[[Any, str], Any] = values) -> Filter:
    return Filter(check, ANY.format(column))


def _among(*allowed: str) -> Callable[[Any, str], Values]:
    return lambda given, what: words(given, what, allowed)


def _one(*allowed: str) -> Callable[[Any, str], Values]:
    return lambda given, what: (one_of(given, what, allowed),)


class ThreadFilters(TypedDict, total=False):
    """Which threads: see `Queries.threads`."""

    status: Annotated[Some, Filter(_among(*get_args(Status)))]
    user_id: Annotated[Some, Filter(ids)]
    since: Annotated[Time, Filter(moment, "i.updated >= {}")]
    until: Annotated[Time, Filter(moment, "i.updated <= {}")]
    text: Annotated[str | None, Filter(one)]


class ItemFilters(TypedDict, total=False):
    """Which loops, todos or intentions: see `Queries.open_loops`."""

    thread_id: Annotated[Some, Filter(ids)]
    user_id: Annotated[Some, Filter(ids)]
    node: Annotated[Some, _some("node")]
    ns: Annotated[Some, _some("ns", ids)]
    agent: Annotated[Some, _some("agent")]
    author: Annotated[Some, _some("author", ids)]
    run_id: Annotated[Some, _some("run_id", ids)]
    confidence: Annotated[Some, _some("confidence", trust)]
    since: Annotated[Time, Filter(moment, "i.opened_at >= {}")]
    until: Annotated[Time, Filter(moment, "i.opened_at <= {}")]
    closed_since: Annotated[Time, Filter(moment, "i.closed_at >= {}")]
    text: Annotated[str | None, Filter(one)]


class LoopFilters(ItemFilters, total=False):
    """Which loops: see `Queries.open_loops`."""

    kind: Annotated[Some, _some("kind", _among(*get_args(LoopKind)))]
    status: Annotated[str, Filter(_one("open", "closed", "any"), default="open")]
    branch: Annotated[str, Filter(_one("head", "elsewhere", "any"), default="any")]


class TodoFilters(ItemFilters, total=False):
    """Which todos: see `Queries.todos`."""

    status: Annotated[Some, Filter(_among(*get_args(TodoStatus), "open", "any"), default="open")]


class IntentionFilters(ItemFilters, total=False):
    """Which intentions: see `Queries.intentions`."""

    aim: Annotated[Some, _some("aim", _among(*get_args(Aim)))]
    status: Annotated[str, Filter(_one("open", "closed", "any"), default="open")]


class InboxFilters(TypedDict, total=False):
    """Which questions: see `Queries.inbox`."""

    kind: Annotated[Some, Filter(_among("approval", "interrupt", "question"))]
    user: Annotated[Some, Filter(ids)]
    user_id: Annotated[Some, Filter(ids)]
    thread_id: Annotated[Some, Filter(ids)]
    node: Annotated[Some, Filter(values)]
    agent: Annotated[str | None, Filter(exactly)]
    assigned_to: Annotated[str | None, Filter(exactly)]
    older_than: Annotated[timedelta | None, Filter(span)]


@lru_cache
def declared(of: type) -> Mapping[str, Filter]:
    """The filters of one of these, by name."""
    return {name: hint.__metadata__[0] for name, hint in of.__annotations__.items()}


def checked(of: type, given: Mapping[str, Any], method: str) -> dict[str, Any]:
    """What a caller passes to a method, in stored form; the default for what was not passed."""
    known = declared(of)
    for name in given:
        if name not in known:
            raise TypeError(f"{method}() has no filter {name!r}: use {', '.join(known)}")
    return {
        name: each.check(each.default if given.get(name) is None else given[name], name)
        for name, each in known.items()
    }


# ---- cursors


def cursor(listing: str, key: Sequence[Any]) -> str:
    """Where a page ends, as short text that goes into an address."""
    packed = json.dumps([listing, *key], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def held_by(cursor: str, listing: str) -> list[Any]:
    """What a cursor of this listing holds; raises TypeError or ValueError for any other text."""
    padded = cursor + "=" * (-len(cursor) % 4)
    found: Any = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if not isinstance(found, list) or found[:1] != [listing]:
        raise ValueError
    return found[1:]


def place(after: str, listing: str, types: Sequence[type]) -> tuple[Any, ...]:
    """The place that a cursor of this listing names."""
    try:
        key = held_by(after, listing)
        fits = len(key) == len(types) and all(map(_fits, key, types))
    except (TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise no_cursor(after)
    return tuple(key)


def no_cursor(after: str) -> InvalidInput:
    return InvalidInput(f"after={after!r}: use the `next` of a page of the same listing")


def _fits(part: Any, wanted: type) -> bool:
    if wanted is int:
        return type(part) is int and abs(part) < 1 << 62
    if wanted is datetime:
        return datetime.fromisoformat(part).tzinfo is not None
    return type(part) is str and "\0" not in part and not has_surrogate(part)
