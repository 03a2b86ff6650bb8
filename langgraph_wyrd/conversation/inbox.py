"""What waits for a person, in all threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph_wyrd.conversation.answers import expiry
from langgraph_wyrd.conversation.approvals import request
from langgraph_wyrd.conversation.calls import Calls
from langgraph_wyrd.conversation.waiting import Waiting, waiting
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.due import START
from langgraph_wyrd.state.inbox import InboxEntry
from langgraph_wyrd.state.listed import Page, ThreadInfo
from langgraph_wyrd.state.model import OpenLoop

KINDS = ("approval", "interrupt", "question", "breakpoint")
_LOOPS = {"approval": "interrupt", "interrupt": "interrupt", "question": "question"}


async def inbox(
    calls: Calls,
    saver: Any,
    *,
    kind: str | Iterable[str] | None,
    user: Any,
    thread_id: Any,
    node: Any,
    agent: str | None,
    assigned_to: str | None,
    older_than: timedelta | None,
    limit: int,
    after: str | None,
) -> Page[InboxEntry]:
    """One page of it, newest first."""
    kinds = _kinds(kind)
    until = None
    if older_than is not None:
        if not isinstance(older_than, timedelta):
            raise InvalidInput(f"older_than={older_than!r}: use a timedelta")
        until = datetime.now(timezone.utc) - older_than
    if "breakpoint" in kinds:
        if len(kinds) > 1:
            raise InvalidInput('kind="breakpoint" is asked for alone')
        return await _breakpoints(calls, saver, user, node, agent, until, limit, after)
    asked: dict[str, Any] = {
        "kind": sorted({_LOOPS[each] for each in kinds}),
        "user_id": user, "thread_id": thread_id, "node": node, "until": until,
    }  # fmt: skip
    found: Page[InboxEntry] = Page()
    known: dict[str, Waiting | None] = {}
    while True:
        page = await calls(saver, "open_loops", limit=limit - len(found), after=after, **asked)
        nodes = {each.source.node for each in page if each.source.node}
        for loop in page:
            id = loop.thread_id
            if id not in known:
                known[id] = await waiting(calls, saver, id, nodes)
            entry = _entry(loop, known[id])
            if entry is None or entry.kind not in kinds:
                continue
            if agent not in (None, entry.agent) or assigned_to not in (None, entry.assigned_to):
                continue
            found.append(entry)
        found.next = after = page.next
        if after is None or len(found) >= limit:
            return found


def _kinds(kind: str | Iterable[str] | None) -> set[str]:
    if kind is None:
        return {*_LOOPS}
    kinds = {kind} if isinstance(kind, str) else set(kind)
    if not kinds or not kinds <= {*KINDS}:
        raise InvalidInput(f"kind={kind!r}: use one or several of {', '.join(KINDS)}")
    return kinds


def _entry(loop: OpenLoop, found: Waiting | None) -> InboxEntry | None:
    """A question, if it still waits: None for one that was answered a moment ago."""
    if found is None or loop.thread_id is None:
        return None
    source, head = loop.source, found.head
    common: dict[str, Any] = {
        "thread_id": loop.thread_id, "question": loop.description, "since": loop.opened_at,
        "node": source.node, "loop_id": loop.id, "config": _config(head.config),
        "user_id": head.metadata.get("user_id"),
    }  # fmt: skip
    if loop.kind != "interrupt":
        return InboxEntry(kind="question", ns=source.ns, agent=_agent(head), **common)
    asked = None if loop.ref is None else found.waits.get(loop.ref)
    if asked is None:
        return None
    wanted, said = request(asked.value, asked.schema), found.assigned(asked.key)
    return InboxEntry(
        kind="approval" if wanted.form in ("batched", "per_call", "agent_inbox") else "interrupt",
        allowed=wanted.allowed,
        ns=asked.at["configurable"].get("checkpoint_ns") or "",
        agent=_agent(asked.of) or _agent(head),
        value=asked.value,
        actions=tuple(map(asdict, wanted.actions)),
        form=wanted.form,
        schema=asked.schema,
        interrupt_id=asked.key,
        assigned_to=said.get("to"),
        expires_at=expiry(found, asked),
        **common,
    )


def _agent(found: Any) -> str | None:
    name = found.metadata.get("lc_agent_name")
    return name if isinstance(name, str) else None


def _config(config: Any) -> dict[str, Any]:
    """Goes on at the head: with a checkpoint's id LangGraph would ask again."""
    here = config["configurable"]
    kept = {name: here[name] for name in ("thread_id", "user_id") if name in here}
    return {"configurable": kept}


# ---- breakpoints


async def _breakpoints(
    calls: Calls,
    saver: Any,
    user: Any,
    node: Any,
    agent: str | None,
    until: datetime | None,
    limit: int,
    after: str | None,
) -> Page[InboxEntry]:
    """Threads that stand still before a node. A run that was killed there looks the same."""
    nodes = None if node is None else {node} if isinstance(node, str) else set(node)
    found: Page[InboxEntry] = Page()
    while True:
        page: Page[ThreadInfo] = await calls(
            saver, "threads", status="due", user_id=user, until=until,
            limit=limit - len(found), after=after,
        )  # fmt: skip
        for info in page:
            names = [due.node for due in info.due]
            if not names or START in names:  # no breakpoint stands before the input is read
                continue
            if nodes is not None and not nodes & set(names):
                continue
            head = None
            if agent is not None:
                at = {"configurable": {"thread_id": info.thread_id, "checkpoint_ns": ""}}
                head = await calls(saver, "get_tuple", at)
                if head is None or _agent(head) != agent:
                    continue
            found.append(_paused(info, names, agent))
        found.next = after = page.next
        if after is None or len(found) >= limit:
            return found


def _paused(info: ThreadInfo, names: Sequence[str], agent: str | None) -> InboxEntry:
    user = {} if info.user_id is None else {"user_id": info.user_id}
    return InboxEntry(
        info.thread_id,
        "breakpoint",
        f"stands before {', '.join(dict.fromkeys(names))}: go on?",
        since=info.updated_at,
        node=names[0] if names else None,
        agent=agent,
        config={"configurable": {"thread_id": info.thread_id, **user}},
        user_id=info.user_id,
    )
