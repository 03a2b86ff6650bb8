"""How items are told of in words, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
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


def by_weight(loops: Iterable[OpenLoop]) -> list[OpenLoop]:
    """The ones that hold up most first; of one kind as they were opened."""
    found = list(loops)
    if len(found) > 1:
        found.sort(key=lambda loop: _RANKS.get(loop.kind, len(_RANKS)))
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


def value_text(value: Any) -> str:
    """A value on a line, shortened."""
    if value is None or isinstance(value, str):
        return shortened((value or "nothing")[: 4 * LINE], LINE)
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return shortened(text[: 4 * LINE], LINE)
