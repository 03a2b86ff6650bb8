"""A message that is changed in place is stored as it is now, however little of it changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from tests.conftest import Backend
from tests.odd_values import as_serde_gives, assert_same, at


def said(n: int) -> Any:
    if n % 2:
        return HumanMessage(f"question {n}", id=f"m{n}")
    about = {"finish_reason": "stop", "tries": 1, "parts": ["a", 1]}
    usage: Any = {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
    call = {"name": "look", "args": {"at": [1, {"deep": 1}]}, "id": f"c{n}"}
    return AIMessage(
        f"answer {n}", id=f"m{n}", tool_calls=[call], response_metadata=about, usage_metadata=usage
    )


CHANGES: dict[str, Callable[[Any], None]] = {
    "content": lambda m: setattr(m, "content", "another answer"),
    "an id": lambda m: setattr(m, "id", "another"),
    "a name": lambda m: setattr(m, "name", ""),
    "a field to blocks": lambda m: setattr(m, "content", [m.content]),
    "a key of its metadata": lambda m: m.response_metadata.update(seen=None),
    "a word deep in its metadata": lambda m: m.response_metadata["parts"].__setitem__(0, "b"),
    "a number to a truth": lambda m: m.response_metadata.update(tries=True),
    "a number to a fraction": lambda m: m.response_metadata.update(tries=1.0),
    "zero to false, deep": lambda m: m.tool_calls[0]["args"]["at"][1].update(deep=True),
    "a list to a tuple": lambda m: m.response_metadata.update(parts=("a", 1)),
    "the order of keys": lambda m: m.usage_metadata.update(
        input_tokens=m.usage_metadata.pop("input_tokens")
    ),
    "a field of the user's own": lambda m: setattr(m, "mood", "good"),
    "a call less": lambda m: m.tool_calls.clear(),
}  # fmt: skip


@pytest.mark.parametrize("again", [1, 2])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_change_in_place_is_stored(sqlite: Backend, loaded: bool, again: int) -> None:
    """In a long list that was put before, once or more often, by this process or by another; one
    change at each put."""
    saver, messages = sqlite.open(), [said(n) for n in range(100)]
    config, version = at("t"), None

    def put() -> Any:
        nonlocal config, version
        version = saver.get_next_version(version, None)
        made = {**empty_checkpoint(), "channel_values": {"messages": list(messages)}}
        made["channel_versions"] = {"messages": version}
        config = saver.put(config, made, {"step": 1}, {"messages": version})
        return as_serde_gives(saver.serde, list(messages)), config

    wanted = [("first", put())]
    if loaded:
        saver.close()
        saver = sqlite.open()
        messages = saver.get_tuple(config).checkpoint["channel_values"]["messages"]
    wanted += [("again", put()) for _ in range(again)]
    for place, (name, change) in enumerate(CHANGES.items()):
        change(messages[66 + 2 * place])
        wanted.append((name, put()))
    wanted.append(("at the end", put()))
    for name, (want, where) in wanted:
        found = saver.get_tuple(where).checkpoint["channel_values"]["messages"]
        assert_same(found, want, name)
