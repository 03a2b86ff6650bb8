"""Operations that read: threads, one thread's messages, history, states and differences."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from langgraph_wyrd import __version__
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.inbox import InboxEntry
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.records import record
from langgraph_wyrd.ui.data import Plain
from langgraph_wyrd.ui.operations import ONE, Call, Field, Operation

CUT = 100_000  # the shortest `cut` that anybody needs is far below; the longest is this


async def about(call: Call) -> Any:
    access = call.access
    known = access.is_known(call.request)
    return {
        "version": __version__ if known else None,
        "read_only": access.read_only,
        "token": access.token is not None,
        "known": known,
    }


async def threads(call: Call) -> Any:
    page = await call.saver.athreads(**call.query)
    return {"threads": [record(each) for each in page], "next": page.next}


async def inbox(call: Call) -> Any:
    asked = dict(call.query)
    if "older_than" in asked:
        asked["older_than"] = timedelta(seconds=asked["older_than"])
    page = await call.saver.ainbox(**asked)
    return {"entries": [_entry(each) for each in page], "next": page.next}


def _entry(each: InboxEntry) -> dict[str, Any]:
    """Without the config: who answers here needs none."""
    return {one.name: getattr(each, one.name) for one in fields(each) if one.name != "config"}


async def loops(call: Call) -> Any:
    page = await call.saver.aopen_loops(**call.query)
    return {"loops": page.to_records(), "next": page.next}


async def thread(call: Call) -> Any:
    handle = call.thread
    state = await handle.aworking_state()
    labels = [
        {k: v for k, v in record(each).items() if k != "context"} for each in await handle.alabels()
    ]
    heals = [record(each) for each in await handle.aheals()]
    return {**await run_in_threadpool(_stated, call.id, state), "labels": labels, "heals": heals}


async def state(call: Call) -> Any:
    found = await call.thread.aworking_state(call.query.get("at"))
    return await run_in_threadpool(_stated, call.id, found, now="at" not in call.query)


def _stated(thread_id: str, state: WorkingState, *, now: bool = True) -> dict[str, Any]:
    """A state; its brief counts ages up to now, or for a point of the past up to then."""
    at = None if now or state.ts is None else datetime.fromisoformat(state.ts)
    brief = state.brief(now=at)
    return {"thread_id": thread_id, "state": state.to_dict(), "brief": brief}


async def messages(call: Call) -> Any:
    asked = dict(call.query)
    where = {name: asked[name] for name in ("all", "channel", "ns") if name in asked}
    found = await call.thread.amessages(asked.get("at"), as_dicts=True, **where)
    end = min(asked.get("before", len(found)), len(found))
    start = max(0, end - asked["limit"]) if "limit" in asked else 0
    return {
        "thread_id": call.id,
        "total": len(found),
        "start": start,
        "messages": await run_in_threadpool(_shortened, found[start:end], asked.get("cut")),
    }


def _shortened(found: list[dict[str, Any]], cut: int | None) -> list[Any]:
    made: list[Any] = []
    for each in found:
        shortener = Plain(cut)
        one = shortener.of(each)
        made.append({**one, "cut": True} if shortener.was_cut else one)
    return made


async def history(call: Call) -> Any:
    asked = call.query
    page = await call.thread.ahistory(
        asked.get("limit", 50), asked.get("before"), changed_only=asked.get("changed_only", False)
    )
    return {"thread_id": call.id, "entries": [record(each) for each in page]}


async def diff(call: Call) -> Any:
    asked = call.query
    found = await call.thread.adiff(asked["a"], asked.get("b"), asked.get("channels", True))
    return await run_in_threadpool(_told, found)


def _told(found: StateDiff) -> dict[str, Any]:
    values = [] if found.channels is None else found.channels.lines()
    lines = found.lines()
    return {
        "summary": found.summary(),
        "empty": found.empty,
        "state_lines": lines[: len(lines) - len(values)],
        "value_lines": values,
        "diff": found.to_dict(),
    }


async def export(call: Call) -> Response:
    """The file is written by a worker thread: it may be large."""
    folder = await run_in_threadpool(tempfile.TemporaryDirectory, prefix="wyrd-export-")
    try:
        path = Path(folder.name) / "thread.json"
        payloads = call.query.get("payloads", False)
        await run_in_threadpool(call.thread.export, path, payloads)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        path,
        media_type="application/json",
        filename="thread.json",
        background=BackgroundTask(folder.cleanup),
    )


_AT = Field("at", "a checkpoint id, a label, a run id or a time; without it, the head")
_LIMIT = Field("limit", "at most so many", "integer", least=1, most=1000)
_AFTER = Field("after", "the `next` of the page before")
_LISTING = (
    Field("user_id", "of these users", many=True),
    Field("since", "at this time (ISO) or later"),
    Field("until", "at this time (ISO) or before"),
    Field("text", "with this text, in upper or lower case"),
    _LIMIT,
    _AFTER,
)

OPERATIONS = (
    Operation("GET", "/about", about, "What this inspector allows.", "About", public=True),
    Operation(
        "GET", "/threads", threads, "Threads, those with the newest activity first.", "Threads",
        query=(Field("status", "idle, interrupted, error, due or done", many=True), *_LISTING),
    ),
    Operation(
        "GET", "/inbox", inbox, "What waits for a person, in all threads.", "Inbox",
        query=(
            Field("kind", "approval, interrupt, question or breakpoint", many=True),
            Field("user", "in the threads of these users", many=True),
            Field("thread_id", "in these threads", many=True),
            Field("node", "asked by these nodes", many=True),
            Field("agent", "asked by the agent of this name"),
            Field("assigned_to", "assigned to this person"),
            Field("older_than", "waiting for more seconds than this", "integer", least=0,
                  most=10**9),
            _LIMIT,
            _AFTER,
        ),
    ),
    Operation(
        "GET", "/loops", loops, "What is open, in all threads, newest first.", "Loops",
        query=(
            Field("kind", "interrupt, error, tool_call, question, …", many=True),
            Field("status", "open, closed or any"),
            Field("node", "of these nodes", many=True),
            Field("thread_id", "in these threads", many=True),
            *_LISTING,
        ),
    ),
    Operation("GET", ONE, thread, "A thread: its working state, labels and damage.", "Thread"),
    Operation(
        "GET", f"{ONE}/messages", messages, "A thread's messages, oldest first: all in one call.",
        "Messages",
        query=(
            _AT,
            Field("all", "also what was summarised or removed since", "boolean"),
            Field("channel", "the channel that holds them, if it is another than `messages`"),
            Field("ns", "the namespace of a subgraph"),
            Field("limit", "only the last so many", "integer", least=1, most=100_000),
            Field("before", "only those before this index", "integer", least=0, most=10**9),
            Field("cut", "shorten texts to so many characters", "integer", least=20, most=CUT),
        ),
    ),
    Operation(
        "GET", f"{ONE}/history", history, "A thread's checkpoints, newest first, with forks.",
        "History",
        query=(
            _LIMIT,
            Field("before", "only those older than this point"),
            Field("changed_only", "leave out those that changed nothing", "boolean"),
        ),
    ),
    Operation(
        "GET", f"{ONE}/state", state, "What the agent was doing at a point.", "State", query=(_AT,)
    ),
    Operation(
        "GET", f"{ONE}/diff", diff, "What changed between two points.", "Diff",
        query=(
            Field("a", "a point", required=True),
            Field("b", "a point; without it, the head"),
            Field("channels", "false: leave the values of channels out", "boolean"),
        ),
    ),
    Operation(
        "GET", f"{ONE}/export", export, "The thread as a JSON file.", "File",
        query=(Field("payloads", "with all it takes to import it elsewhere", "boolean"),),
    ),
)  # fmt: skip
