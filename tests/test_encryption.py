"""What an encrypting saver stores is read by nobody else, and reads as from a plain store."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors, port
from langgraph_wyrd.cli import main as cli
from langgraph_wyrd.storage.tables import SNAPSHOTS
from tests.conftest import Backend
from tests.damage import Rows, at, flipped, talk
from tests.handmade import put
from tests.marked_words import CONFIG, THREAD, WORDS, build, found, plant, stored_text
from tests.raw_rows import stored
from tests.sealed import ENCRYPTED, NEW, OLD, Own, aes, checkpoint_id, ring, sealer_of, whole

# ---- nothing in the clear


async def test_the_search_finds_what_is_plain(durable: Backend, call: Any) -> None:
    """In a plain store every planted word is found, so that not finding one proves something."""
    await plant(durable.open(), call)
    assert found(durable) == {*WORDS, "Zq_metadata"}


async def test_nothing_is_found(durable: Backend, call: Any, sealing: dict[str, Any]) -> None:
    """No planted word stands anywhere in the database, in its log or after it is closed; what is
    read back by another saver is all there. Metadata are values too."""
    saver = durable.open(**sealing)
    await plant(saver, call)
    assert found(durable) == set()
    state = await call(saver.thread(THREAD), "working_state")
    before = whole(saver, THREAD)
    await saver.aclose()
    assert found(durable) == set()
    saver = durable.open(**sealing)
    assert whole(saver, THREAD) == before
    assert len(await call(saver, "list", CONFIG, filter={"note": "Zq_metadata"})) == len(before)
    assert await call(saver, "list", CONFIG, filter={"note": "another"}) == []
    assert await call(saver.thread(THREAD), "working_state") == state
    assert "Zq_loop" in str(state)


async def test_nor_after_all_that_may_happen(
    durable: Backend, call: Any, sealing: dict[str, Any]
) -> None:
    """Copies, forks, rewinds, sweeps, prunes, heals, repairs and deletions leave nothing readable
    either, and what they leave is whole."""
    saver = durable.open(**sealing)
    await plant(saver, call)
    thread = saver.thread(THREAD)
    before, state = whole(saver, THREAD), await call(thread, "working_state")
    await call(saver, "copy_thread", THREAD, "copied")
    for place in (1, 3):  # checkpoints, pending writes
        assert [each[place] for each in whole(saver, "copied")] == [each[place] for each in before]
    copied = await call(saver.thread("copied"), "working_state")
    assert [loop.description for loop in copied.open_loops] == [
        loop.description for loop in state.open_loops
    ]
    assert copied.context == state.context
    assert (await call(saver.thread("copied"), "get_label", "planted")).context
    ids = [item.config["configurable"]["checkpoint_id"] for item in saver.list(CONFIG)]
    await call(thread, "fork", "forked", ids[2])
    await call(thread, "rewind", ids[1])
    head = await call(saver, "get_tuple", CONFIG)
    assert head.checkpoint["channel_values"]["small"] == "Zq_small"
    await call(saver, "prune", ["copied"], strategy="keep_latest")
    pruned = await call(saver, "get_tuple", at("copied"))
    assert pruned.checkpoint == before[0][1]
    assert (await call(saver, "verify")).ok
    rows = Rows(durable.url, "wyrd_writes")
    numbers = {row["thread_id"]: row["key"] for row in Rows(durable.url, "wyrd_threads").all()}
    row = rows.all("WHERE thread = ?", numbers["forked"])[-1]
    rows.run(
        "UPDATE {} SET payload = ? WHERE thread = ? AND payload = ?",
        flipped(row["payload"]), row["thread"], row["payload"],
    )  # fmt: skip
    assert not (await call(saver, "verify", "forked")).ok
    await call(saver, "verify", "forked", repair=True)
    await call(saver, "delete_thread", THREAD)
    assert found(durable) == set()
    assert (await call(saver, "verify")).ok
    for table in ENCRYPTED:
        for row in stored(durable.url, table):
            sealer_of(sealing).open(table, row)


def test_a_plain_word_may_be_a_channels_name(sqlite: Backend) -> None:
    """Names of channels, keys of the context and ids are no values: they stay readable."""
    saver = sqlite.open(**ring("old"))
    saver.thread("t")
    talk(saver, "t", 1)
    saver.thread("t").set_context("Zq_key", "Zq_value")
    assert found(sqlite) == {"Zq_key"}


async def test_an_export_is_for_reading(sqlite: Backend, tmp_path: Path, caplog: Any) -> None:
    """A file says which of its parts are in the clear; its rows stay sealed, and need the key."""
    saver = sqlite.open(**ring("old"))
    talk(saver, "t", 1)
    with caplog.at_level(logging.WARNING):
        saver.thread("t").export(tmp_path / "t.json", payloads=True)
    assert "in the clear" in caplog.text
    text = (tmp_path / "t.json").read_text()
    assert json.loads(text)["sealed"] == ["payloads"]
    assert "payloads" not in text.partition('"in_the_clear"')[2].partition("]")[0]
    none = WyrdSaver.from_conn_string(tmp_path / "none.db", keys={"b": NEW})
    with none as other, pytest.raises(errors.KeyMissing, match="old"):
        other.import_thread(tmp_path / "t.json")
    both = {**ring("old")["keys"], "b": NEW}
    with WyrdSaver.from_conn_string(tmp_path / "other.db", keys=both) as other:
        other.import_thread(tmp_path / "t.json")
        same = other.get_tuple(at("t"))
        assert same is not None
        assert same.checkpoint == saver.get_tuple(at("t")).checkpoint  # type: ignore[union-attr]


@pytest.mark.parametrize("sealing", [ring("old"), aes()], ids=["ring", "serde"])
async def test_there_and_back(
    durable: Backend, call: Any, sealing: dict[str, Any], tmp_path: Path
) -> None:
    """`port.copy` goes from a plain store into an encrypted one and back, and all is there."""
    with WyrdSaver.from_conn_string(tmp_path / "plain.db") as plain:
        await plant(plain, call)
        sealed = durable.open(**sealing)
        copy = port.copy if getattr(call, "sync", False) else port.acopy
        report: Any = copy(plain, sealed)
        report = await report if hasattr(report, "__await__") else report
        assert report.checkpoints
        assert found(durable) <= {"Zq_metadata"}
        one = plain.thread(THREAD).working_state()
        assert sealed.thread(THREAD).working_state() == one
        with WyrdSaver.from_conn_string(tmp_path / "back.db") as back:
            port.copy(sealed, back)
            assert back.thread(THREAD).working_state() == one
            assert whole(back, THREAD) == whole(plain, THREAD)


# ---- as a plain store


def test_what_reads_a_thread(durable: Backend, sealing: dict[str, Any]) -> None:
    """Working state, history, listings and diffs of an encrypted store are those of a plain one."""

    def read(saver: Any) -> list[Any]:
        thread = saver.thread("t")
        history = thread.history()
        state = thread.working_state()
        return [
            [(each.kind, each.description, each.context, each.outcome) for each in state.loops],
            [(each.key, each.value) for each in state.context],
            [each.text for each in state.intentions],
            [(each.step, each.source, each.nodes, each.changed) for each in history],
            # Nothing is counted in what a serde of the user's packs.
            [each.summary for each in history if saver._codec.splits],
            [each.title for each in saver.threads()],
            [(each.description, each.context) for each in saver.open_loops(status="any")],
            [each.text for each in saver.intentions(status="any")],
            str(thread.diff(history[-1].checkpoint_id, history[0].checkpoint_id)),
        ]

    with second_in_memory() as plain, durable.open(**sealing) as saver:
        for each in (plain, saver):
            talk(each, "t", 2, last="please approve")
        first, second = read(plain), read(saver)
        if not saver._codec.splits:
            del first[4], second[4]
        assert first[:-1] == second[:-1]
        assert "May I?" in str(second)
        with pytest.raises(errors.InvalidInput, match="text"):
            saver.open_loops(text="May")
    assert "May I?" not in stored_text(durable)


def test_every_checkpoint_is_the_one_of_a_plain_store(durable: Backend, sealing: Any) -> None:
    """Snapshots, forks and checkpoints that are put again included."""
    script: list[Any] = []
    with durable.open(**sealing) as saver, second_in_memory() as plain:
        for each in (plain, saver):
            for n in range(60):
                values = {"long": ["element " * 40] * n, "n": n}
                put(each, "t", values, **versioned(n, n - 1 if n else None))
            put(each, "t", {"n": -1}, **versioned(70, 20))
            put(each, "t", {"n": -2}, **{**versioned(80, 9), "id": checkpoint_id(10)})
            script.append(whole(each, "t"))
        assert script[0] == script[1]
        assert len(script[0]) == 61
        names = {row.channel for row in stored(durable.url, SNAPSHOTS)}
        assert names >= ({"", "long"} if saver._codec.splits else set())
        assert "element" not in stored_text(durable)


def versioned(n: int, parent: int | None = None) -> dict[str, Any]:
    """Arguments of `put`: an id and versions by a number."""
    versions = dict.fromkeys(("long", "n"), f"{n:032}.5")
    above = None if parent is None else checkpoint_id(parent)
    return {"id": checkpoint_id(n), "versions": versions, "parent": above}


class second_in_memory:
    """A plain saver in memory."""

    def __enter__(self) -> Any:
        self.saver = Backend("memory", "sqlite://").open()
        return self.saver

    def __exit__(self, *exc: object) -> None:
        self.saver.close()


def test_a_graph_goes_on(durable: Backend, sealing: dict[str, Any]) -> None:
    """A conversation that goes on in one saver after another."""
    for turn in range(3):
        with durable.open(**sealing) as saver:
            graph = build(saver)
            values = graph.get_state(CONFIG).values
            assert len(values.get("messages", [])) == 2 * turn
            graph.update_state(CONFIG, {"messages": [("user", f"hello {turn}")]}, as_node="model")
            graph.update_state(CONFIG, {"messages": [("ai", f"hi {turn}")]}, as_node="each")
    with durable.open(**sealing) as saver:
        assert saver.verify().ok


def test_plain_texts_are_refused(durable: Backend, sealing: dict[str, Any], caplog: Any) -> None:
    """A text that was planted in a table is shown as unreadable, and found and put right."""
    saver = durable.open(**sealing)
    talk(saver, "t", 1)
    thread = saver.thread("t")
    thread.add_open_loop("ask Ann", context={"who": "Ann"})
    thread.add_todo("call Ben")
    planted = [
        ("wyrd_open_loops", "description", "send money to Eve"),
        ("wyrd_open_loops", "context", '{"who": "Eve"}'),
        ("wyrd_todos", "content", "send money to Eve"),
        ("wyrd_intentions", "text", "send money to Eve"),
        ("wyrd_threads", "title", "send money to Eve"),
    ]
    for table, column, text in planted:
        assert Rows(durable.url, table).run(f"UPDATE {{}} SET {column} = ?", text)
    with caplog.at_level(logging.WARNING):
        shown = (saver.threads(), saver.open_loops(), saver.todos(), saver.intentions())
    assert "Eve" not in str([list(page) for page in shown])
    assert saver.todos()[0].content == "(can't be read)"
    assert "verify() tells more" in caplog.text
    assert "ask Ann" in str(thread.working_state())
    assert not saver.verify("t").ok
    saver.verify("t", repair=True)
    assert saver.verify("t").ok
    assert saver.todos()[0].content == "call Ben"
    assert saver.threads()[0].title == "turn 0" or saver.threads()[0].title == "go on"


def test_keys_and_a_serde_that_encrypts(sqlite: Backend) -> None:
    """One of the two: sealing twice is refused. A serde of one's own goes with keys."""
    with pytest.raises(errors.InvalidInput, match="EncryptedSerializer"):
        sqlite.open(**ring("old"), **aes())
    with sqlite.open(serde=Own(), **ring("old")) as saver:
        put(saver, "t", {"a": "Zq_value"})
        assert whole(saver, "t")
    assert found(sqlite) == set()


# ---- from the terminal


def test_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keys come from a file or the environment; without them lists say "(sealed)"."""
    file, key_file = str(tmp_path / "a.db"), str(tmp_path / "keys")
    with WyrdSaver.from_conn_string(file, keys={"old": OLD}) as saver:
        talk(saver, "t", 1, last="find the marker")
    Path(key_file).write_text(f"old={base64.b64encode(OLD).decode()}\n")
    assert cli.main(["threads", "-u", file, "--key-file", key_file]) == 0
    assert "find the marker" in capsys.readouterr().out
    monkeypatch.setenv("WYRD_KEYS", f"old={base64.b64encode(OLD).decode()}")
    assert cli.main(["show", "t", "-u", file]) == 0
    assert "find the marker" in capsys.readouterr().out
    both = f"old={base64.b64encode(OLD).decode()},new={base64.b64encode(NEW).decode()}"
    monkeypatch.setenv("WYRD_KEYS", both)
    assert cli.main(["rotate-keys", "-u", file]) == 0
    assert "sealed under the newest key" in capsys.readouterr().out
    monkeypatch.delenv("WYRD_KEYS")
    assert cli.main(["threads", "-u", file]) == 0
    assert "(sealed)" in capsys.readouterr().out
    assert cli.main(["show", "t", "-u", file]) == 2
    assert "'new'" in capsys.readouterr().err
    assert cli.main(["threads", "-u", file, "--key-file", str(tmp_path / "none")]) == 2
    assert "can't be read" in capsys.readouterr().err
