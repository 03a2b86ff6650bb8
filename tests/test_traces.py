"""What must leave no trace: upkeep in the order of threads, sealed text in ids."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from tests.conftest import Backend
from tests.outside import raw
from tests.rows import put


def said(saver: Any, thread: str, *texts: str, run: str = "r") -> None:
    head = None
    for count in range(1, len(texts) + 1):
        messages = [HumanMessage(text) for text in texts[:count]]
        head = put(saver, thread, {"messages": messages}, parent=head, metadata={"run_id": run})


async def test_upkeep_leaves_threads_in_their_order(durable: Backend, call: Any) -> None:
    """Pruning, deleting runs and reweaving are nobody's activity."""
    saver = durable.open()
    said(saver, "a", "one", "two", run="ra")
    said(saver, "b", "one", "two")

    def listed() -> list[tuple[str, Any]]:
        return [(each.thread_id, each.updated_at) for each in saver.threads()]

    before = listed()
    assert [id for id, _ in before] == ["b", "a"]
    await call(saver, "prune", ["a"])
    assert listed() == before
    await call(saver, "reextract", "a")
    assert listed() == before
    said(saver, "c", "one", run="rc")
    put(saver, "a", {"messages": [HumanMessage("three")]}, metadata={"run_id": "rc"})
    assert [id for id, _ in listed()] == ["a", "c", "b"]
    before = listed()
    await call(saver, "delete_for_runs", ["rc"])
    assert listed() == [each for each in before if each[0] != "c"]


def message_ids(backend: Backend, thread: str) -> list[str]:
    with raw(backend.url) as connection:
        rows = connection.execute(
            f"SELECT message_id FROM wyrd_intentions WHERE thread_id = '{thread}' ORDER BY 1"
        )
        return [row[0] for row in rows.fetchall()]


def test_ids_tell_nothing_of_sealed_text(durable: Backend) -> None:
    """A message without an id gets one that can't be checked against a guess at its text."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = durable.open(serde=serde)
    said(saver, "a", "please pay Ann 10", "please find me a boat")
    said(saver, "b", "please pay Bob 99", "please find me a bear")
    said(saver, "c", "please pay Ann 10 at once", "please find me a boat")
    first, other, longer = (message_ids(durable, thread) for thread in "abc")
    assert len(first) == 2
    assert first == other
    assert longer != first


def test_ids_tell_texts_apart(durable: Backend) -> None:
    """In a plain store, by contrast."""
    plain = durable.open()
    said(plain, "d", "please pay Ann 10")
    said(plain, "e", "please pay Bob 99")
    assert message_ids(durable, "d") != message_ids(durable, "e")
