"""The API as data: each operation once. Routes, checks of input and OpenAPI are made of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import InvalidInput

if TYPE_CHECKING:
    from starlette.requests import Request

    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.thread import Thread
    from langgraph_wyrd.ui.security import Access

Run = Callable[["Call"], Awaitable[Any]]
ONE = "/threads/{id}"  # paths of one thread begin with it
BY_QUERY = "/thread"  # the same, with the id as ?id=: for ids that a path can't carry
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Field:
    """A query parameter, or a field of a body. `kind` is a JSON type; "any" takes any value."""

    name: str
    about: str
    kind: str = "string"
    required: bool = False
    many: bool = False  # may be given several times
    least: int | None = None
    most: int | None = None

    def read(self, text: str) -> Any:
        """The value of a query parameter."""
        if self.kind == "integer":
            try:
                return self._in_range(int(text))
            except ValueError:
                raise InvalidInput(f"{self.name}={text!r}: use a whole number") from None
        if self.kind == "boolean":
            if text.lower() not in _BOOLEANS:
                raise InvalidInput(f"{self.name}={text!r}: use true or false")
            return _BOOLEANS[text.lower()]
        return text

    def _in_range(self, value: int) -> int:
        least, most = self.least, self.most
        if (least is not None and value < least) or (most is not None and value > most):
            raise InvalidInput(f"{self.name}={value}: use a number from {least} to {most}")
        return value

    def check(self, value: Any) -> Any:
        """A body's value, if it is of this kind."""
        if self.kind == "string" and not isinstance(value, str):
            raise InvalidInput(f"{self.name}={value!r:.80}: use a string")
        if self.kind == "boolean" and not isinstance(value, bool):
            raise InvalidInput(f"{self.name}={value!r:.80}: use true or false")
        return value


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked for."""

    method: str
    path: str  # behind /api
    run: Run
    about: str
    gives: str  # the answer's schema: a name of `openapi.SCHEMAS`
    query: tuple[Field, ...] = ()
    body: tuple[Field, ...] = ()
    changes: bool = False
    public: bool = False  # works without the token
    errors: tuple[int, ...] = ()

    @property
    def of_thread(self) -> bool:
        return self.path.startswith(ONE)

    @property
    def name(self) -> str:
        return self.run.__name__


@dataclass(frozen=True)
class Call:
    """One request for an operation, its input checked."""

    saver: WyrdSaver
    access: Access
    request: Request
    id: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def thread(self) -> Thread:
        return self.saver.thread(self.id)


def query_of(operation: Operation, request: Request, *, with_id: bool) -> dict[str, Any]:
    """The query parameters, read and checked. One that there is not is refused."""
    known = {each.name: each for each in operation.query}
    found: dict[str, Any] = {}
    for name, text in request.query_params.multi_items():
        if with_id and name == "id":
            continue
        if name not in known:
            raise InvalidInput(f"there is no parameter {name!r} here: {_names(known)}")
        if text == "":
            continue
        value = known[name].read(text)
        if known[name].many:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    _complete(operation.query, found)
    return found


def body_of(operation: Operation, given: Any) -> dict[str, Any]:
    """The fields of a body, checked; those that are null count as not given."""
    known = {each.name: each for each in operation.body}
    if not isinstance(given, dict):
        raise InvalidInput("send a JSON object")
    for name in given:
        if name not in known:
            raise InvalidInput(f"there is no field {name!r} here: {_names(known)}")
    found = {
        name: known[name].check(value)
        for name, value in given.items()
        if value is not None or known[name].kind == "any"
    }
    _complete(operation.body, found)
    return found


def _complete(fields: tuple[Field, ...], found: Mapping[str, Any]) -> None:
    for each in fields:
        if each.required and each.name not in found:
            raise InvalidInput(f"{each.name!r} is missing: {each.about}")


def _names(known: Mapping[str, Any]) -> str:
    return f"use {', '.join(known)}" if known else "it takes none"
