"""The API's operations, each declared once: routes, checks and OpenAPI are made of it.

docs/ui.md says what each takes and gives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from langgraph_wyrd import __version__
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.results import record
from langgraph_wyrd.state.wording import moment
from langgraph_wyrd.views.json_data import Plain

if TYPE_CHECKING:
    from starlette.requests import Request

    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.thread import Thread
    from langgraph_wyrd.ui.security import Access


Run = Callable[["Call"], Awaitable[Any]]
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Field:
    """A query parameter, or a field of a body. `kind` is a JSON type; "any" takes any value."""

    name: str
    kind: str = "string"
    required: bool = False
    many: bool = False  # may be given several times
    least: int = 0  # of a number
    most: int = 10**9

    def read(self, given: Any) -> Any:
        """The value of what was sent: of a query its text, of a body JSON."""
        if self.kind == "integer":
            digits = str(given).isdecimal()
            if not digits or not self.least <= int(given) <= self.most:
                raise self._refused(given, f"a whole number from {self.least} to {self.most}")
            return int(given)
        if self.kind == "boolean":
            if (known := _BOOLEANS.get(str(given).lower())) is None:
                raise self._refused(given, "true or false")
            return known
        if self.kind == "string" and not isinstance(given, str):
            raise self._refused(given, "a string")
        return given

    def _refused(self, given: Any, wanted: str) -> InvalidInput:
        return InvalidInput(f"{self.name}={given!r:.80}: use {wanted}")


def checked(known: Iterable[Field], given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """What was sent, checked; an empty text and null count as not given."""
    by_name = {each.name: each for each in known}
    found: dict[str, Any] = {}
    for name, sent in given:
        if (one := by_name.get(name)) is None:
            names = f"use {', '.join(by_name)}" if by_name else "it takes none"
            raise InvalidInput(f"there is no parameter {name!r} here: {names}")
        if one.many:
            found.setdefault(name, []).append(one.read(sent))
        elif one.kind == "any" or sent not in ("", None):
            found[name] = one.read(sent)
    for one in by_name.values():
        if one.required and one.name not in found:
            raise InvalidInput(f"{one.name!r} is missing")
    return found


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked for."""

    method: str
    path: str  # behind /api
    run: Run
    query: tuple[Field, ...] = ()
    body: tuple[Field, ...] = ()
    changes: bool = False
    public: bool = False  # works without the token

    @property
    def name(self) -> str:
        return self.run.__name__


@dataclass(frozen=True)
class Call:
    """One request for an operation, its input checked. `id`: the thread that it names."""

    saver: WyrdSaver
    access: Access
    request: Request
    id: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def thread(self) -> Thread:
        return self.saver.thread(self.id)


OPERATIONS: list[Operation] = []


def _operation(method: str, path: str, **about: Any) -> Callable[[Run], Run]:
    def declare(run: Run) -> Run:
        OPERATIONS.append(Operation(method, path, run, **about))
        return run

    return declare


def _needed(name: str) -> Field:
    return Field(name, required=True)


def _texts(names: str, *, many: bool = False) -> tuple[Field, ...]:
    return tuple(Field(name, many=many) for name in names.split())


def _flag(name: str) -> Field:
    return Field(name, "boolean")


def _read(path: str, *query: Field) -> Callable[[Run], Run]:
    return _operation("GET", path, query=query)


def _read_thread(path: str, *query: Field) -> Callable[[Run], Run]:
    return _read(f"/thread{path}", _needed("id"), *query)


def _change(
    path: str, about: str, verb: str, answer: Callable[[Any], dict[str, Any]], *body: Field
) -> None:
    """Declare a change of a thread: the verb, which takes the fields of the body, the first one by
    place; and what of its result is answered."""

    async def run(call: Call) -> Any:
        said = dict(call.body)
        first = said.pop(body[0].name, None)
        made = await getattr(call.thread, verb)(first, **said)
        return {"thread_id": call.id, **answer(made)}

    run.__name__, run.__doc__ = path[1:], about
    query = (_needed("id"),)
    OPERATIONS.append(Operation("POST", f"/thread{path}", run, query, body, changes=True))


_LIMIT = Field("limit", "integer", least=1, most=1000)
_PAGE = (_LIMIT, *_texts("after"))
_LISTING = (*_texts("user_id", many=True), *_texts("since until text"), *_PAGE)


# ---- reading


@_operation("GET", "/about", public=True)
async def about(call: Call) -> Any:
    """What this inspector allows."""
    access = call.access
    known = access.is_known(call.request)
    return {
        "version": __version__ if known else None,
        "read_only": access.read_only,
        "token": access.token is not None,
        "known": known,
    }


@_read("/threads", *_texts("status", many=True), *_LISTING)
async def threads(call: Call) -> Any:
    """Threads, those with the newest activity first."""
    page = await call.saver.athreads(**call.query)
    return {"threads": page.to_records(), "next": page.next}


@_read(
    "/inbox", *_texts("kind user thread_id node", many=True), *_texts("agent assigned_to"),
    Field("older_than", "integer"), *_PAGE,
)  # fmt: skip
async def inbox(call: Call) -> Any:
    """What waits for a person, in all threads; `older_than` in seconds."""
    asked = dict(call.query)
    if "older_than" in asked:
        asked["older_than"] = timedelta(seconds=asked["older_than"])
    page = await call.saver.ainbox(**asked)
    return {"entries": [_without(each, "config") for each in page], "next": page.next}


@_read("/loops", *_texts("kind node thread_id", many=True), *_texts("status"), *_LISTING)
async def loops(call: Call) -> Any:
    """What is open, in all threads, newest first."""
    page = await call.saver.aopen_loops(**call.query)
    return {"loops": page.to_records(), "next": page.next}


_HAPPENED = (*_texts("since"), *_texts("kind", many=True), _LIMIT)


async def events(call: Call) -> Any:
    """What happened in all threads, oldest first: as JSON, or live as server-sent events."""
    page = await call.saver.aevents(**call.query)
    return {"events": page.to_records(), "next": page.next}


# Where the live updates are, for who accepts JSON only.
EVENTS_LISTED = Operation(
    "GET", "/events", events, query=(*_HAPPENED, *_texts("thread_id", many=True))
)


@_read_thread("")
async def thread(call: Call) -> Any:
    """A thread: its working state, labels and damage."""
    handle = call.thread
    state = await handle.aworking_state()
    labels = [_without(each, "context") for each in await handle.alabels()]
    heals = [record(each) for each in await handle.aheals()]
    return {**await run_in_threadpool(_stated, call.id, state), "labels": labels, "heals": heals}


def _without(item: Any, name: str) -> dict[str, Any]:
    """The fields of a result, but for one that no client needs."""
    return {k: v for k, v in record(item).items() if k != name}


@_read_thread("/state", *_texts("at"))
async def state(call: Call) -> Any:
    """What the agent was doing at a point."""
    found = await call.thread.aworking_state(call.query.get("at"))
    return await run_in_threadpool(_stated, call.id, found, now="at" not in call.query)


def _stated(thread_id: str, state: WorkingState, *, now: bool = True) -> dict[str, Any]:
    """A state; its brief counts ages up to now, or for a point of the past up to then."""
    at = None if now else moment(state.ts)
    return {"thread_id": thread_id, "state": state.to_dict(), "brief": state.brief(now=at)}


@_read_thread("/events", *_HAPPENED)
async def thread_events(call: Call) -> Any:
    """What happened in a thread, oldest first."""
    page = await call.saver.aevents(thread_id=call.id, **call.query)
    return {"thread_id": call.id, "events": page.to_records(), "next": page.next}


@_read_thread(
    "/messages", *_texts("at channel ns"), _flag("all"), Field("before", "integer"),
    Field("limit", "integer", least=1, most=100_000),
    Field("cut", "integer", least=20, most=100_000),
)  # fmt: skip
async def messages(call: Call) -> Any:
    """A thread's messages, oldest first: the last `limit` of those before the index `before`, with
    texts of at most `cut` characters."""
    asked = dict(call.query)
    end, limit, cut = asked.pop("before", None), asked.pop("limit", None), asked.pop("cut", None)
    found = await call.thread.amessages(**asked, as_dicts=True)
    end = len(found) if end is None else min(end, len(found))
    start = 0 if limit is None else max(0, end - limit)
    shown = await run_in_threadpool(_shortened, found[start:end], cut)
    return {"thread_id": call.id, "total": len(found), "start": start, "messages": shown}


def _shortened(found: list[dict[str, Any]], cut: int | None) -> list[Any]:
    made: list[Any] = []
    for each in found:
        shortener = Plain(cut)
        one = shortener.of(each)
        made.append({**one, "cut": True} if shortener.was_cut else one)
    return made


@_read_thread("/history", _LIMIT, *_texts("before"), _flag("changed_only"))
async def history(call: Call) -> Any:
    """A thread's checkpoints, newest first, with forks."""
    page = await call.thread.ahistory(**call.query)
    return {"thread_id": call.id, "entries": page.to_records()}


@_read_thread("/diff", _needed("a"), *_texts("b"), _flag("channels"))
async def diff(call: Call) -> Any:
    """What changed between two points; `channels=false` leaves the values of channels out."""
    found = await call.thread.adiff(**call.query)
    return {"thread_id": call.id, **await run_in_threadpool(_summary, found)}


def _summary(found: StateDiff) -> dict[str, Any]:
    values = [] if found.channels is None else found.channels.lines()
    lines = found.lines()
    return {
        "summary": found.summary(),
        "empty": found.empty,
        "state_lines": lines[: len(lines) - len(values)],
        "value_lines": values,
        "diff": found.to_dict(),
    }


@_read_thread("/export", _flag("payloads"))
async def export(call: Call) -> Response:
    """The thread as a JSON file."""
    # A worker thread writes it: it may be large.
    folder = await run_in_threadpool(tempfile.TemporaryDirectory, prefix="wyrd-export-")
    try:
        path = Path(folder.name) / "thread.json"
        await run_in_threadpool(call.thread.export, path, call.query.get("payloads", False))
    except BaseException:
        folder.cleanup()
        raise
    done = BackgroundTask(folder.cleanup)
    return FileResponse(path, 200, None, "application/json", done, filename="thread.json")


# ---- changing


@_operation("POST", "/login", public=True, body=(_needed("token"),))
async def login(call: Call) -> Response:
    """Exchange the token for a cookie."""
    return call.access.log_in(call.request, call.body["token"])


_BY = Field("by")
_AT = Field("at")
_change(
    "/answer", "Answer an interrupt: the next run goes on with it.", "aanswer",
    lambda made: {"answers": made},
    Field("value", "any", required=True), *_texts("loop by"), _flag("replace"),
)  # fmt: skip
_change(
    "/assign", "Say whose question an interrupt is, and until when.", "aassign",
    lambda made: {}, *_texts("loop to expires_at by"),
)  # fmt: skip
_change(
    "/resolve", "Say that an open loop is over.", "aresolve_open_loop",
    lambda made: {"loop": record(made)}, _needed("loop"), Field("outcome"), _BY,
)  # fmt: skip
_change(
    "/complete", "Say that a todo is done.", "acomplete_todo",
    lambda made: {"todo": record(made)}, _needed("todo"), _BY,
)  # fmt: skip
_change(
    "/reopen", "Make a finished todo pending again.", "areopen_todo",
    lambda made: {"todo": record(made)}, _needed("todo"), _BY,
)  # fmt: skip
_change(
    "/label", "Name a checkpoint.", "alabel",
    lambda made: {"name": made.name, "checkpoint_id": made.checkpoint_id}, _needed("name"), _AT,
)  # fmt: skip
_change(
    "/unlabel", "Take a label away.", "aunlabel",
    lambda made: {"removed": made}, _needed("name"), _AT,
)  # fmt: skip
_change(
    "/rewind", "Make an older point the head again. Nothing is deleted.", "arewind",
    lambda made: {"checkpoint_id": made["configurable"]["checkpoint_id"]}, _needed("to"),
)  # fmt: skip
_change(
    "/fork", "Make a new thread with this one's past up to a point.", "afork",
    lambda made: {"thread_id": made.id}, _needed("new_thread_id"), _AT,
)  # fmt: skip
