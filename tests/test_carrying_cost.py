"""A long chat is exported and imported at a cost that grows with it, not with its square."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd.transfer import copy_job, endpoint

TURNS = 160  # five pages of what is held at once


def chat(saver: Any, thread: str = "t") -> None:
    """A message and a file more at each checkpoint."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    messages: list[Any] = []
    files: dict[str, str] = {}
    for step in range(TURNS):
        messages.append(HumanMessage(f"message {step}", id=f"m{step}"))
        files[f"/{step}.md"] = f"file {step} " * 20
        point: Any = empty_checkpoint()
        point["channel_values"] = {"messages": [*messages], "files": dict(files)}
        point["channel_versions"] = dict.fromkeys(point["channel_values"], f"{step + 1:05}")
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        config = saver.put(config, point, metadata, point["channel_versions"])


def test_what_differs_is_seen() -> None:
    """Elements that equal each other are remembered, those that don't are no less different."""
    side = endpoint.Endpoint(InMemorySaver())
    sent = copy_job.CopyJob(side, side, "t", print)
    one, other = HumanMessage("one", id="m"), HumanMessage("one", id="m")
    for _ in range(2):
        assert sent._equal([one, 1], [other, 1])
        assert not sent._equal([one, 1], [other, 2])
        assert not sent._equal([one], [other, other])
        assert not sent._equal([one], HumanMessage("one", id="m"))
        assert sent._equal({"a": [one]}, {"a": [other]})
    other.content = "other"
    assert not sent._equal([one, [2]], [HumanMessage("other", id="m"), [2]])
