"""A thread written to a file, read by people and machines, and brought back."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import FileDamaged, InvalidInput, PayloadTooNew, ThreadNotFound
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.transfer.files import sum_of
from tests.conftest import Backend
from tests.handmade import config, put
from tests.programs import played, talk
from tests.scripted_agents import APPROVE, CONFIG, decide, firm, plain
from tests.tables import check_tables
from tests.test_port import assert_same_checkpoints, healed, marked, same_contents

Call = Callable[..., Any]
KEY = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")


async def test_random_threads_come_back_as_they_were(
    durable: Backend, call: Call, tmp_path: Path
) -> None:
    """Exported with payloads and imported into an empty store, threads have every checkpoint,
    write, ledger line and table row that they had; what people edited and labelled, what was
    healed, what a prune left."""
    saver = durable.open()
    tellers = [played(seed, [saver], asynchronous=False, turns=4) for seed in range(700, 704)]
    saver.thread(tellers[0].thread).add_open_loop("ask Ann")
    marked(saver, tellers[2].thread)
    healed(saver, durable.url, tellers[3].thread)
    saver.prune([tellers[1].thread])
    other = Backend("sqlite", f"sqlite:///{tmp_path / 'other.db'}")
    with other.open() as target:
        for n, teller in enumerate(tellers):
            path = tmp_path / f"{n}.json"
            await call(saver.thread(teller.thread), "export", path, payloads=True)
            assert await call(target, "import_thread", path) == teller.thread
            assert_same_checkpoints(saver, target, teller.thread)
        same_contents(target, other.url, saver, durable.url)
        check_tables(target, other.url, "imported")


async def test_an_agent_goes_on_from_a_file(durable: Backend, tmp_path: Path) -> None:
    """A deep agent that asks is exported, deleted, brought back under its id, and answered."""
    saver = durable.open()
    asked = {"messages": [HumanMessage("bees?", id="h1")]}
    await firm(saver).ainvoke(asked, CONFIG)
    id = CONFIG["configurable"]["thread_id"]
    handle = saver.thread(id)
    await handle.aexport(tmp_path / "t.json", payloads=True)
    expected = plain([await firm(saver).ainvoke(decide(APPROVE), CONFIG)])
    await saver.adelete_thread(id)
    await saver.aimport_thread(tmp_path / "t.json")
    assert [loop.kind for loop in saver.open_loops(kind="interrupt")] == ["interrupt"]
    assert plain([await firm(saver).ainvoke(decide(APPROVE), CONFIG)]) == expected


def test_it_is_read_by_people(saver: WyrdSaver, tmp_path: Path) -> None:
    """Working state, messages and history; two exports of one thread are equal, and one more
    message is a few lines more."""
    head = talk(saver, "t", run="r", words=["please find the dóor", "and the key"])
    path = tmp_path / "t.json"
    saver.thread("t").export(path)
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    assert data["thread_id"] == "t"
    assert data["schema"] == 1
    assert [each["content"] for each in data["messages"]] == ["please find the dóor", "and the key"]
    assert "dóor" in text
    state = WorkingState.from_dict(data["working_state"])
    assert state == saver.thread("t").working_state()
    assert [each["run_id"] for each in data["history"]] == ["r", "r"]
    assert data["history"][1]["parent_id"] == data["history"][0]["checkpoint_id"]
    assert "payload" not in data["history"][0]
    saver.thread("t").export(path)
    assert path.read_text(encoding="utf-8") == text
    put(saver, "t", {"messages": [HumanMessage("a new one", id="n")]}, parent=head)
    saver.thread("t").export(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len({*lines} & {*text.splitlines()}) > len({*text.splitlines()}) // 2


def test_messages_kept_as_deltas_are_shown(saver: WyrdSaver, tmp_path: Path) -> None:
    """A conversation that no checkpoint holds is rebuilt for the reader."""
    firm(saver).invoke({"messages": [HumanMessage("bees?", id="h1")]}, CONFIG)
    saver.thread(CONFIG["configurable"]["thread_id"]).export(tmp_path / "t.json")
    said = json.loads((tmp_path / "t.json").read_text())["messages"]
    assert said[0]["content"] == "bees?"
    assert any(call["name"] == "task" for each in said for call in each.get("tool_calls", ()))


def test_messages_of_a_snapshot_are_shown(saver: WyrdSaver, tmp_path: Path) -> None:
    """Where a delta channel's checkpoint holds all of it, its messages are written as well."""

    class Talk(TypedDict):
        messages: Annotated[list[Any], DeltaChannel(_messages_delta_reducer, snapshot_frequency=2)]

    builder = StateGraph(Talk)
    builder.add_node("say", lambda state: {"messages": [AIMessage("yes")]})
    builder.add_edge(START, "say")
    graph = builder.compile(checkpointer=saver)
    kinds = set()
    for n in range(4):
        graph.invoke({"messages": [HumanMessage(f"{n}?")]}, config("t"))
        head = saver.get_tuple(config("t"))
        kinds.add(type(head.checkpoint["channel_values"].get("messages")))
        saver.thread("t").export(tmp_path / "t.json")
        assert len(json.loads((tmp_path / "t.json").read_text())["messages"]) == 2 * (n + 1)
    assert _DeltaSnapshot in kinds


def test_a_long_thread_costs_what_it_says(saver: WyrdSaver, tmp_path: Path) -> None:
    """A list that goes on, and a value that stays, are written once."""
    said: list[Any] = []
    head = None
    for n in range(60):
        said = [*said, HumanMessage(f"message {n} " + "x" * 100, id=f"m{n}")]
        values = {"messages": said, "same": {"big": "y" * 5000}}
        head = put(saver, "t", values, parent=head)
    path = tmp_path / "t.json"
    saver.thread("t").export(path, payloads=True)
    assert path.stat().st_size < 200_000
    saver.import_thread(path, "copy")
    held = saver.get_tuple(config("copy")).checkpoint["channel_values"]
    assert held["messages"] == said
    assert held["same"] == {"big": "y" * 5000}


def test_under_another_id(saver: WyrdSaver, tmp_path: Path) -> None:
    """An import may take another id; one that another thread has is refused; the same thread
    again, or the rest of one that was stopped, is not."""
    talk(saver, "t", run="r", words=["one", "two"])
    talk(saver, "other", run="r", words=["three"])
    path = tmp_path / "t.json"
    saver.thread("t").export(path, payloads=True)
    assert saver.import_thread(path, "new") == "new"
    assert saver.thread("new").working_state().intention == (
        saver.thread("t").working_state().intention
    )
    assert {each.thread_id for each in saver.threads()} == {"t", "other", "new"}
    with pytest.raises(InvalidInput, match="another thread_id"):
        saver.import_thread(path, "other")
    assert saver.import_thread(path) == "t"
    assert len([*saver.list({"configurable": {"thread_id": "t"}})]) == 2


def test_files_that_are_refused(saver: WyrdSaver, tmp_path: Path) -> None:
    """Newer, cut off, changed, for reading only, something else: each has an error of its own, and
    nothing is imported."""
    talk(saver, "t", run="r", words=["one", "two"])
    saver.thread("t").label("here")
    path = tmp_path / "t.json"
    saver.thread("t").export(path, payloads=True)
    text = path.read_text()
    data = json.loads(text)

    def refused(error: type[Exception], content: str) -> None:
        path.write_text(content)
        with pytest.raises(error):
            saver.import_thread(path, "new")

    refused(PayloadTooNew, json.dumps({**data, "schema": 2}))
    refused(FileDamaged, json.dumps({**data, "schema": "one"}))
    for cut in range(0, len(text) - 2, 97):
        refused(FileDamaged, text[:cut])
    for table in data["rows"]:
        for rows in ([["x"]], [*data["rows"][table], *data["rows"]["wyrd_labels"]], None):
            refused(FileDamaged, json.dumps({**data, "rows": {**data["rows"], table: rows}}))
    for history in (data["history"][:1], data["history"][::-1], data["history"] * 2):
        refused(FileDamaged, json.dumps({**data, "history": history}))
    refused(FileDamaged, json.dumps({**data, "labels": []}))
    refused(FileDamaged, json.dumps({**data, "created": "2020-01-01T00:00:00+00:00"}))
    refused(FileDamaged, text + "{}")
    for name in ("sum", "rows"):
        refused(FileDamaged, json.dumps({each: data[each] for each in data if each != name}))
    rows = {**data["rows"], "wyrd_labels": [[*data["rows"]["wyrd_labels"][0][:-1], 7]]}
    other = {**data, "rows": rows}  # a row that fails its checksum, in a file that says so itself
    refused(FileDamaged, json.dumps({**other, "sum": sum_of(other)}))
    refused(InvalidInput, "[1, 2]")
    del data["history"][0]["checkpoint_id"]
    refused(FileDamaged, json.dumps(data))
    refused(InvalidInput, '{"some": "other file"}')
    saver.thread("t").export(path)
    with pytest.raises(InvalidInput, match="payloads=True"):
        saver.import_thread(path, "new")
    with pytest.raises(FileNotFoundError):
        saver.import_thread(tmp_path / "none.json")
    with pytest.raises(ThreadNotFound):
        saver.thread("new").working_state()


def test_a_file_that_a_program_wrote_anew(saver: WyrdSaver, tmp_path: Path) -> None:
    """However its JSON is laid out, the file is the same file."""
    talk(saver, "t", run="r", words=["one", "dóor ☂", "three"])
    saver.thread("t").label("here")
    path = tmp_path / "t.json"
    saver.thread("t").export(path, payloads=True)
    data = json.loads(path.read_text(encoding="utf-8"))
    for n, options in enumerate(({}, {"indent": 4}, {"ensure_ascii": False}, {"indent": "\t"})):
        path.write_text(json.dumps(data, **options) + "\n", encoding="utf-8")
        saver.import_thread(path, f"t{n}")
        assert saver.thread(f"t{n}").labels() == saver.thread("t").labels()


def grown(saver: WyrdSaver, checkpoints: int, size: int) -> None:
    """A thread of checkpoints that have nothing in common."""
    head = None
    for n in range(checkpoints):
        values = {"noise": os.urandom(size), "n": n}
        head = put(saver, "t", values, parent=head)


def test_a_file_appears_whole_or_not_at_all(
    saver: WyrdSaver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If writing fails, what was there stays, and nothing is left over."""
    talk(saver, "t", run="r", words=["one", "two"])
    path = tmp_path / "t.json"
    saver.thread("t").export(path)
    before = path.read_bytes()

    def full(*args: Any) -> Any:
        raise OSError("no room left")

    monkeypatch.setattr("langgraph_wyrd.transfer.files._history", full)
    with pytest.raises(OSError, match="no room"):
        saver.thread("t").export(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.glob("*t.json*")] == ["t.json"]
    with pytest.raises(ThreadNotFound):
        saver.thread("nobody").export(tmp_path / "n.json")
    assert not (tmp_path / "n.json").exists()


def test_what_is_in_the_clear(
    durable: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From an encrypting store the payloads are sealed; the rest is not, and the file and the log
    say so. Without the key the payloads can't be read."""
    saver = durable.open(serde=KEY)
    talk(saver, "t", run="r", words=["the planted marker"])
    head = put(saver, "t", {"hidden": "another secret"}, parent=saver.get_tuple(config("t")).config)
    saver.put_writes(head, [("hidden", "a third secret")], "task")
    with caplog.at_level(logging.WARNING):
        saver.thread("t").export(tmp_path / "t.json", payloads=True)
    assert "in the clear" in caplog.text
    data = json.loads((tmp_path / "t.json").read_text())
    assert data["in_the_clear"] == [
        "working_state", "labels", "heals", "messages", "history",
    ]  # fmt: skip
    assert data["sealed"] == ["payloads"]
    payloads = [each.pop("payload", None) for each in data["history"]]
    assert "planted" not in json.dumps([payloads, data.get("rows")])
    assert "secret" not in json.dumps(data["history"])
    saver.import_thread(tmp_path / "t.json", "back")
    assert saver.get_tuple(config("back")).pending_writes[0][2] == "a third secret"
    with (
        WyrdSaver.from_conn_string(tmp_path / "clear.db") as clear,
        pytest.raises(InvalidInput, match="serde"),
    ):
        clear.import_thread(tmp_path / "t.json")


def test_stores_without_pillars(durable: Backend, tmp_path: Path) -> None:
    """What was written without pillars is exported, and gets them where they are read."""
    plainly = durable.open(pillars=False)
    talk(plainly, "t", run="r", words=["please find the door"])
    plainly.thread("t").export(tmp_path / "t.json", payloads=True)
    saver = durable.open()
    saver.import_thread(tmp_path / "t.json", "with")
    assert saver.thread("with").working_state().intention is not None
    saver.thread("with").export(tmp_path / "with.json", payloads=True)
    plainly.import_thread(tmp_path / "with.json", "without")
    check_tables(saver, durable.url, "imported")
    assert len([*plainly.list(config("without"))]) == 1


async def test_an_import_is_all_or_nothing(durable: Backend, call: Call, tmp_path: Path) -> None:
    """A file of which one row was changed brings nothing in, and its thread is not there."""
    saver = durable.open()
    grown(saver, 100, 10)
    saver.thread("t").label("here")
    path = tmp_path / "t.json"
    saver.thread("t").export(path, payloads=True)
    text = path.read_text()
    packed = max(text.splitlines(), key=len)
    path.write_text(text.replace(packed[200:210], "AAAAAAAAAA"))
    with pytest.raises(FileDamaged):
        await call(saver, "import_thread", path, "new")
    assert {each.thread_id for each in saver.threads()} == {"t"}
    path.write_text(text)
    assert await call(saver, "import_thread", path, "new") == "new"
    assert len([*saver.list(config("new"))]) == 100
    assert [label.name for label in saver.thread("new").labels()] == ["here"]
    saver.prune(["t"])
    saver.delete_thread("new")
    assert await call(saver, "import_thread", path, "new") == "new"
    assert len([*saver.list(config("new"))]) == 100
