"""How items are put into words, wherever they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph_wyrd.state.model import Due, OpenLoop, Source, shortened

LINE = 80  # characters of a text or a value in a line

# In the order in which somebody who picks up a thread should look at them.
KINDS = {
    "interrupt": "waits for a person",
    "error": "failed",
    "tool_call": "tool call without a recorded result, verify before redoing",
    "malformed_call": "tool call that can't be read",
    "question": "asked, not answered",
    "request": "requested, not answered",
    "truncated": "answer cut off",
    "task": "delegated, not reported back",
    "decision": "decided, outcome open",
    "note": "noted",
    "promise": "promised",
}
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}


def moment(text: str | None) -> datetime | None:
    """The time in ISO text, in UTC where it names no zone; None if it is none."""
    try:
        found = None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=timezone.utc)


def now_in_utc() -> datetime:
    return datetime.now(timezone.utc)


def ago(age: timedelta) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `12 days ago`."""
    minutes = int(age.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    return f"{minutes // (24 * 60):,} days ago"


def count(n: int, one: str, several: str | None = None) -> str:
    """`1 todo`, `2,000 todos`."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def by_weight(loops: Iterable[OpenLoop]) -> list[OpenLoop]:
    """The ones that hold up most first, other branches' last; of one kind as they were opened."""
    found = list(loops)
    if len(found) > 1:
        found.sort(key=lambda loop: (loop.elsewhere, _RANKS.get(loop.kind, len(_RANKS))))
    return found


def node_path(ns: str) -> str:
    """A namespace without its task ids: `plan/write`."""
    return "/".join(part.partition(":")[0] for part in ns.split("|") if part)


def place(source: Source, *, messages: bool = True) -> str:
    """Where something was seen, as far as it is known."""
    said = []
    if source.node is not None:
        said.append(f"node {source.node}")
    if source.ns:
        said.append(f"in {node_path(source.ns)}")
    if source.tool_call_id is not None:
        said.append(f"call {source.tool_call_id}")
    elif (
        messages and source.message_id is not None and not source.message_id.startswith("@")
    ):  # it has no id
        said.append(f"message {source.message_id}")
    if source.author is not None:
        said.append(f"by {source.author}")
    if not said and source.channel is not None and (messages or source.message_id is None):
        said.append(f"channel {source.channel}")
    return ", ".join(said)


def nodes(due: Iterable[Due]) -> list[str]:
    """The nodes by name, each once: `worker (3 times)`."""
    counts: dict[str, int] = {}
    for each in due:
        counts[each.node] = counts.get(each.node, 0) + 1
    return [name if n == 1 else f"{name} ({n} times)" for name, n in counts.items()]


def listing(names: list[str], most: int = 5) -> str:
    """A few names in a row, and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def value_text(value: Any, most: int = LINE) -> str:
    """A value on a line, shortened."""
    if value is None or isinstance(value, str):
        return shortened((value or "nothing")[: 4 * most], most)
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return shortened(text[: 4 * most], most)


def call_text(name: Any, args: Any, most: int = 2 * LINE) -> str:
    """A tool call on a line: `refund(order=7)`."""

    def said(value: Any) -> str:
        text = value_text(value)
        return json.dumps(text, ensure_ascii=False) if isinstance(value, str) else text

    if isinstance(args, Mapping):
        text = ", ".join(f"{key}={said(value)}" for key, value in args.items())
    else:
        text = said(args)
    return shortened(f"{name}({text})", most)
