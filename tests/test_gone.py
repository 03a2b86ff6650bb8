"""What was deleted is in no file and no table, and does not come back; what is kept under a running
writer is what it was."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_wyrd import AutoLabels, Retention, WyrdSaver
from langgraph_wyrd.errors import ThreadDeleted
from tests.conftest import Backend
from tests.handmade import config, put
from tests.outside import is_postgres, path_of, raw, tables
from tests.programs import assert_nothing_over, counting, played, seen, talk
from tests.tables import check_tables

Call = Callable[..., Any]


def held(url: str) -> str:
    """All that the files of an SQLite database hold, its WAL with them; all rows of Postgres."""
    if not is_postgres(url):
        path = path_of(url)
        files = path.parent.glob(f"{path.name}*")
        return "".join(each.read_bytes().decode("latin-1") for each in files)
    found = []
    with raw(url) as connection:
        connection.execute("VACUUM")
        for table in tables(connection):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                found += [
                    each.decode("latin-1") if isinstance(each, bytes) else str(each) for each in row
                ]
    return "".join(found)


def planted(saver: WyrdSaver, thread: str, mark: str, checkpoints: int = 6) -> Any:
    """A thread that says its mark in every place that a text can get to."""
    head = None
    for n in range(checkpoints):
        values = {"secret": f"{mark}-value-{n}.", "log": [f"{mark}-log-{n}."]}
        head = put(saver, thread, values, parent=head, metadata={"note": f"{mark}-meta-{n}."})
        saver.put_writes(head, [("secret", f"{mark}-write-{n}.")], f"task-{n}")
    handle = saver.thread(thread)
    handle.set_context("key", f"{mark}-context.")
    handle.add_open_loop(f"{mark}-loop.")
    handle.add_todo(f"{mark}-todo.")
    handle.set_intention(f"{mark}-aim.")
    handle.decide(f"{mark}-decision.")
    handle.label(f"{mark}-label.")
    return head


@pytest.mark.parametrize("how", ["delete_thread", "prune", "sweep"])
async def test_nothing_of_it_is_left(durable: Backend, call: Call, how: str) -> None:
    """Values, writes, metadata, events, edits, pillar rows and labels of what was deleted are in no
    table; of SQLite in no file either, once it was closed. What stays is there."""
    saver = durable.open()
    planted(saver, "t", "doomed")
    planted(saver, "other", "staying")
    if how == "delete_thread":
        await call(saver, "delete_thread", "t")
        kept: set[str] = set()
    else:
        saver.thread("t").unlabel("doomed-label.")
        put(saver, "t", {"fine": 1}, parent=saver.get_tuple(config("t")).config)
        if how == "prune":
            await call(saver, "prune", ["t"])
        else:
            await call(saver, "sweep", Retention(keep_last=1), dry_run=False)
        # The newest state is what the thread goes on with: what is open belongs to it.
        kept = {"context", "loop", "todo", "aim", "decision"}
    saver.close()
    found = held(durable.url)
    there = {each.split("-")[0] for each in re.findall(r"doomed-([a-z]+(?:-\d)?)\.", found)}
    assert there <= kept, there
    first = 5 if how == "sweep" else 0  # a sweep is of all threads
    for each in (f"value-{first}", "log-5", "meta-5", "write-5", "context", "loop", "label"):
        assert f"staying-{each}." in found, each


def late(url: str, head: Any, verb: str) -> str:
    """What another process's run sends after the deletion; the error that it gets."""
    with WyrdSaver.from_conn_string(url) as saver:
        try:
            if verb == "put":
                put(saver, "t", {"x": 1}, parent=head)
            elif verb == "subgraph":
                put(saver, "t", {"x": 1}, parent=head, ns="child:1")
            else:
                saver.put_writes(head, [("x", 1)], "late")
        except ThreadDeleted as error:
            return type(error).__name__
    return "stored"


async def test_late_writes_of_other_processes(durable: Backend, call: Call) -> None:
    """A put, a subgraph's put or a task's writes after a deletion are refused in every process, and
    leave nothing; so they are here, sync and async."""
    saver = durable.open()
    head = planted(saver, "t", "doomed")
    await call(saver, "delete_thread", "t")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for verb in ("put", "subgraph", "put_writes"):
            assert pool.submit(late, durable.url, head, verb).result() == "ThreadDeleted", verb
    with pytest.raises(ThreadDeleted):
        await call(saver, "put_writes", head, [("x", 1)], "late")
    report = saver.size_report()
    assert all(size.rows == 0 for name, size in report.tables.items() if name != "threads")
    talk(saver, "t", run="r", words=["anew"])  # a run that begins now is another thread
    assert saver.thread("t").labels() == []


def write(saver: WyrdSaver, thread: str, tip: Any, failed: list[Any], over: Any) -> None:
    """A graph runs in another thread; this one gets checkpoints, and writes to them."""
    graph, last = counting(saver), tip
    try:
        for n in range(4):
            graph.invoke({"log": ["in"]}, config("busy"))
            saver.put_writes(last, [("noted", n)], f"late-{n}")
            last = put(saver, thread, {"noted": n}, parent=last)
    except Exception as error:
        failed.append(error)
    over.set()


def test_random_threads_swept_while_they_are_written(durable: Backend) -> None:
    """Random graphs with forks, deltas, subgraphs and labels are swept while a writer goes on in
    them and in another thread: what is kept loads as before, to the byte, and nothing is over."""
    saver, other = durable.open(labels=AutoLabels(run_end=True)), durable.open()
    for seed in (910, 911):
        thread = played(seed, [saver], asynchronous=False).thread
        handle = saver.thread(thread)
        roots = [each.checkpoint_id for each in handle.history(limit=100)]
        handle.label("kept", at=roots[len(roots) // 2])
        before, failed, over = seen(saver, thread), [], threading.Event()
        tip = saver.get_tuple(config(thread)).config

        writer = threading.Thread(target=write, args=(other, thread, tip, failed, over))
        writer.start()
        while not over.is_set():
            saver.sweep(Retention(keep_last=8), dry_run=False)
        writer.join()
        assert not failed
        saver.sweep(Retention(keep_last=8), dry_run=False)
        after = seen(durable.open(), thread)
        assert ("", roots[len(roots) // 2]) in after
        assert len(after) < len(before) + 4
        newest = sorted(id for ns, id in after if not ns)[-8:]
        for key in before.keys() & after.keys():
            (found, history, state), wanted = after[key], before[key]
            if key[1] == tip["configurable"]["checkpoint_id"]:
                continue  # the writer added to it
            assert found == wanted[0], f"seed {seed} at {key}"
            if key[0] or key[1] in newest:
                assert (history, state) == wanted[1:], f"seed {seed} at {key}"
        assert_nothing_over(durable.open())
        check_tables(durable.open(), durable.url, f"seed {seed}")
        assert saver.sweep(Retention(keep_last=8)).checkpoints == 0
        assert saver.verify(thread).ok


# Upkeep in the order of threads; sealed text in ids.


def said(saver: Any, thread: str, *texts: str, run: str = "r") -> None:
    head = None
    for count in range(1, len(texts) + 1):
        messages = [HumanMessage(text) for text in texts[:count]]
        head = put(saver, thread, {"messages": messages}, parent=head, metadata={"run_id": run})


async def test_upkeep_leaves_threads_in_their_order(durable: Backend, call: Any) -> None:
    """Pruning, deleting runs and re-extracting are nobody's activity."""
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


def test_ids_reveal_nothing_of_sealed_text(durable: Backend) -> None:
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


def test_ids_of_two_texts_differ(durable: Backend) -> None:
    """In a plain store, by contrast."""
    plain = durable.open()
    said(plain, "d", "please pay Ann 10")
    said(plain, "e", "please pay Bob 99")
    assert message_ids(durable, "d") != message_ids(durable, "e")
