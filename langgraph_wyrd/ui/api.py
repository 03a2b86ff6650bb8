"""The API's operations, each declared once: routes, checks of input and OpenAPI are made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from langgraph_wyrd import __version__
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.labels import Label
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.records import record
from langgraph_wyrd.state.results import InboxEntry
from langgraph_wyrd.views.data import Plain

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
    about: str
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
            raise InvalidInput(f"{one.name!r} is missing: {one.about}")
    return found


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked for."""

    method: str
    path: str  # behind /api
    run: Run
    gives: Mapping[str, str]  # the answer's fields and their JSON types; empty: a file
    query: tuple[Field, ...] = ()
    body: tuple[Field, ...] = ()
    changes: bool = False
    public: bool = False  # works without the token

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def about(self) -> str:
        return (self.run.__doc__ or "").partition("\n")[0]


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
_ID = Field("id", "the thread's id", required=True)


def _operation(method: str, path: str, **about: Any) -> Callable[[Run], Run]:
    def declare(run: Run) -> Run:
        OPERATIONS.append(Operation(method, path, run, **about))
        return run

    return declare


def _read(path: str, gives: Mapping[str, str], *query: Field) -> Callable[[Run], Run]:
    return _operation("GET", path, gives=gives, query=query)


def _read_thread(path: str, gives: Mapping[str, str], *query: Field) -> Callable[[Run], Run]:
    gives = {"thread_id": "string", **gives} if gives else gives
    return _read(f"/thread{path}", gives, _ID, *query)


def _change(path: str, gives: Mapping[str, str], *body: Field) -> Callable[[Run], Run]:
    gives = {"thread_id": "string", **gives}
    return _operation("POST", f"/thread{path}", gives=gives, query=(_ID,), body=body, changes=True)


_AT = Field("at", "a checkpoint id, a label, a run id or a time; without it, the head")
_LIMIT = Field("limit", "at most so many", "integer", least=1, most=1000)
_AFTER = Field("after", "the `next` of the page before")
_LISTING = (
    Field("user_id", "of these users", many=True),
    Field("since", "at this time (ISO) or later"),
    Field("until", "at this time (ISO) or before"),
    Field("text", "with this text (threads: with these words in a message, or in the title)"),
    _LIMIT,
    _AFTER,
)
_NEXT = {"next": "string?"}
_STATE = {"state": "object", "brief": "string"}


# ---- reading


@_operation(
    "GET", "/about", public=True,
    gives={"version": "string?", "read_only": "boolean", "token": "boolean", "known": "boolean"},
)  # fmt: skip
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


@_read(
    "/threads", {"threads": "array", **_NEXT},
    Field("status", "idle, interrupted, error, due or done", many=True), *_LISTING,
)  # fmt: skip
async def threads(call: Call) -> Any:
    """Threads, those with the newest activity first."""
    page = await call.saver.athreads(**call.query)
    return {"threads": page.to_records(), "next": page.next}


@_read(
    "/inbox", {"entries": "array", **_NEXT},
    Field("kind", "approval, interrupt or question", many=True),
    Field("user", "in the threads of these users", many=True),
    Field("thread_id", "in these threads", many=True),
    Field("node", "asked by these nodes", many=True),
    Field("agent", "asked by the agent of this name"),
    Field("assigned_to", "assigned to this person"),
    Field("older_than", "waiting for more seconds than this", "integer"),
    _LIMIT, _AFTER,
)  # fmt: skip
async def inbox(call: Call) -> Any:
    """What waits for a person, in all threads."""
    asked = dict(call.query)
    if "older_than" in asked:
        asked["older_than"] = timedelta(seconds=asked["older_than"])
    page = await call.saver.ainbox(**asked)
    return {"entries": [_without(each, "config") for each in page], "next": page.next}


@_read(
    "/loops", {"loops": "array", **_NEXT},
    Field("kind", "interrupt, error, tool_call, question, …", many=True),
    Field("status", "open, closed or any"),
    Field("node", "of these nodes", many=True),
    Field("thread_id", "in these threads", many=True),
    *_LISTING,
)  # fmt: skip
async def loops(call: Call) -> Any:
    """What is open, in all threads, newest first."""
    page = await call.saver.aopen_loops(**call.query)
    return {"loops": page.to_records(), "next": page.next}


@_read_thread("", {**_STATE, "labels": "array", "heals": "array"})
async def thread(call: Call) -> Any:
    """A thread: its working state, labels and damage."""
    handle = call.thread
    state = await handle.aworking_state()
    labels = [_without(each, "context") for each in await handle.alabels()]
    heals = [record(each) for each in await handle.aheals()]
    return {**await run_in_threadpool(_stated, call.id, state), "labels": labels, "heals": heals}


def _without(each: InboxEntry | Label, name: str) -> dict[str, Any]:
    """The fields of a result, but for one that no client needs."""
    names = [one.name for one in fields(each) if one.name != name and one.name[0] != "_"]
    return {one: getattr(each, one) for one in names}


@_read_thread("/state", _STATE, _AT)
async def state(call: Call) -> Any:
    """What the agent was doing at a point."""
    found = await call.thread.aworking_state(call.query.get("at"))
    return await run_in_threadpool(_stated, call.id, found, now="at" not in call.query)


def _stated(thread_id: str, state: WorkingState, *, now: bool = True) -> dict[str, Any]:
    """A state; its brief counts ages up to now, or for a point of the past up to then."""
    at = None if now or state.ts is None else datetime.fromisoformat(state.ts)
    return {"thread_id": thread_id, "state": state.to_dict(), "brief": state.brief(now=at)}


@_read_thread(
    "/messages", {"total": "integer", "start": "integer", "messages": "array"}, _AT,
    Field("all", "also what was summarised or removed since", "boolean"),
    Field("channel", "the channel that holds them, if it is another than `messages`"),
    Field("ns", "the namespace of a subgraph"),
    Field("limit", "only the last so many", "integer", least=1, most=100_000),
    Field("before", "only those before this index", "integer"),
    Field("cut", "shorten texts to so many characters", "integer", least=20, most=100_000),
)  # fmt: skip
async def messages(call: Call) -> Any:
    """A thread's messages, oldest first: all in one call."""
    asked = dict(call.query)
    end, limit, cut = asked.pop("before", None), asked.pop("limit", None), asked.pop("cut", None)
    found = await call.thread.amessages(**asked, as_dicts=True)
    end = len(found) if end is None else min(end, len(found))
    start = 0 if limit is None else max(0, end - limit)
    return {
        "thread_id": call.id,
        "total": len(found),
        "start": start,
        "messages": await run_in_threadpool(_shortened, found[start:end], cut),
    }


def _shortened(found: list[dict[str, Any]], cut: int | None) -> list[Any]:
    made: list[Any] = []
    for each in found:
        shortener = Plain(cut)
        one = shortener.of(each)
        made.append({**one, "cut": True} if shortener.was_cut else one)
    return made


@_read_thread(
    "/history", {"entries": "array"}, _LIMIT,
    Field("before", "only those older than this point"),
    Field("changed_only", "leave out those that changed nothing", "boolean"),
)  # fmt: skip
async def history(call: Call) -> Any:
    """A thread's checkpoints, newest first, with forks."""
    page = await call.thread.ahistory(**call.query)
    return {"thread_id": call.id, "entries": page.to_records()}


@_read_thread(
    "/diff",
    {
        "summary": "string", "empty": "boolean", "state_lines": "array", "value_lines": "array",
        "diff": "object",
    },
    Field("a", "a point", required=True),
    Field("b", "a point; without it, the head"),
    Field("channels", "false: leave the values of channels out", "boolean"),
)  # fmt: skip
async def diff(call: Call) -> Any:
    """What changed between two points."""
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


@_read_thread(
    "/export", {}, Field("payloads", "with all it takes to import it elsewhere", "boolean")
)
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
    return FileResponse(
        path,
        media_type="application/json",
        filename="thread.json",
        background=BackgroundTask(folder.cleanup),
    )


# ---- changing


@_operation(
    "POST", "/login", public=True, gives={"known": "boolean"},
    body=(Field("token", "the token", required=True),),
)  # fmt: skip
async def login(call: Call) -> Response:
    """Exchange the token for a cookie."""
    return call.access.log_in(call.request, call.body["token"])


_BY = Field("by", 'whose word it is; "person" if not given')
_LOOP = Field("loop", "the id of the loop or the interrupt; without it, the only one that waits")
_TODO = Field("todo", "the todo's id", required=True)
_LABEL = Field("name", "the label", required=True)


@_change(
    "/answer", {"answers": "object"}, _LOOP,
    Field("value", "the answer: a decision, a list of them, or any JSON", "any", required=True),
    Field("by", "who answers"),
    Field("replace", "take the place of an answer that no run has taken up", "boolean"),
)  # fmt: skip
async def answer(call: Call) -> Any:
    """Answer an interrupt: the next run goes on with it."""
    return {"thread_id": call.id, "answers": await call.thread.aanswer(**call.body)}


@_change(
    "/assign", {}, _LOOP, Field("to", "whose it is"),
    Field("expires_at", "answers after this time are refused"), _BY,
)  # fmt: skip
async def assign(call: Call) -> Any:
    """Say whose question an interrupt is, and until when."""
    await call.thread.aassign(**call.body)
    return {"thread_id": call.id}


async def _said(call: Call, verb: str, what: str) -> dict[str, Any]:
    """Say something of an item; the item then."""
    asked = dict(call.body)
    made = await getattr(call.thread, verb)(asked.pop(what), **asked)
    return {"thread_id": call.id, what: record(made)}


@_change(
    "/resolve", {"loop": "object"}, Field("loop", "the loop's id", required=True),
    Field("outcome", "how it ended"), _BY,
)  # fmt: skip
async def resolve(call: Call) -> Any:
    """Say that an open loop is over."""
    return await _said(call, "aresolve_open_loop", "loop")


@_change("/complete", {"todo": "object"}, _TODO, _BY)
async def complete(call: Call) -> Any:
    """Say that a todo is done."""
    return await _said(call, "acomplete_todo", "todo")


@_change("/reopen", {"todo": "object"}, _TODO, _BY)
async def reopen(call: Call) -> Any:
    """Make a finished todo pending again."""
    return await _said(call, "areopen_todo", "todo")


@_change("/label", {"name": "string", "checkpoint_id": "string"}, _LABEL, _AT)
async def label(call: Call) -> Any:
    """Name a checkpoint."""
    made = await call.thread.alabel(**call.body)
    return {"thread_id": call.id, "name": made.name, "checkpoint_id": made.checkpoint_id}


@_change("/unlabel", {"removed": "boolean"}, _LABEL, _AT)
async def unlabel(call: Call) -> Any:
    """Take a label away."""
    return {"thread_id": call.id, "removed": await call.thread.aunlabel(**call.body)}


@_change(
    "/rewind", {"checkpoint_id": "string"},
    Field("to", "a checkpoint id, a label, a time, or a message's id", required=True),
)  # fmt: skip
async def rewind(call: Call) -> Any:
    """Make an older point the head again. Nothing is deleted."""
    config = await call.thread.arewind(call.body["to"])
    return {"thread_id": call.id, "checkpoint_id": config["configurable"]["checkpoint_id"]}


@_change(
    "/fork", {}, Field("new_thread_id", "a thread that has no checkpoints yet", required=True), _AT
)
async def fork(call: Call) -> Any:
    """Make a new thread with this one's past up to a point."""
    return {"thread_id": (await call.thread.afork(**call.body)).id}
