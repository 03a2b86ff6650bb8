"""A long chat is exported and imported at a cost that grows with it, not with its square."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Backend
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd.transfer import passage, reading, sides

TURNS = 160  # five pages of what is held at once
AT: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


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


@pytest.mark.inside
def test_what_is_looked_at(
    durable: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a chat, each message is packed a few times, each record of the file read a few times."""
    from langgraph_wyrd.store.values import Codec

    saver = durable.open()
    chat(saver)
    count = {"exported": 0, "compared": 0, "read": 0}

    def counted(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            some = args[-1] if isinstance(args[-1], (list, dict)) else [args[-1]]
            count[name] += sum(isinstance(each, HumanMessage) for each in some)
            return function(*args)

        return call

    fingerprint, pack = Codec.fingerprint_bytes, passage.Passage._packed_alike
    monkeypatch.setattr(Codec, "fingerprint_bytes", counted("exported", fingerprint))
    file = tmp_path / "t.json"
    saver.thread("t").export(file, payloads=True)
    assert TURNS <= count["exported"] <= 6 * TURNS
    monkeypatch.setattr(Codec, "fingerprint_bytes", fingerprint)
    records = reading._records

    def counting(file: Any) -> Any:
        for each in records(file):
            count["read"] += 1
            yield each

    monkeypatch.setattr(reading, "_records", counting)
    monkeypatch.setattr(passage.Passage, "_packed_alike", counted("compared", pack))
    saver.import_thread(file, thread_id="again")
    assert count["read"] <= 3 * TURNS
    assert TURNS <= count["compared"] <= 6 * TURNS
    config = {"configurable": {"thread_id": "again", "checkpoint_ns": ""}}
    ours, theirs = [*saver.list(config)], [*saver.list(AT)]
    assert [each.checkpoint for each in ours] == [each.checkpoint for each in theirs]


def test_what_differs_is_seen() -> None:
    """Elements that equal each other are remembered, those that don't are no less different."""
    side = sides.Side(InMemorySaver(), False)
    sent = passage.Passage(side, side, "t", print)
    one, other = HumanMessage("one", id="m"), HumanMessage("one", id="m")
    for _ in range(2):
        assert sent._equal([one, 1], [other, 1])
        assert not sent._equal([one, 1], [other, 2])
        assert not sent._equal([one], [other, other])
        assert not sent._equal([one], HumanMessage("one", id="m"))
        assert sent._equal({"a": [one]}, {"a": [other]})
    other.content = "other"
    assert not sent._equal([one, [2]], [HumanMessage("other", id="m"), [2]])
