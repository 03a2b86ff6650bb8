"""What a retention lets go is gone, what it keeps is as it was, and nobody waits for it."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_wyrd import AutoLabels, Retention, WyrdSaver
from langgraph_wyrd.checkpoints.delete import Light
from langgraph_wyrd.checkpoints.retention import SweepReport, doomed
from langgraph_wyrd.errors import InvalidInput, ThreadDeleted, ThreadNotFound
from langgraph_wyrd.port import copy
from tests.conftest import Backend
from tests.damage import age, spoil
from tests.handmade import checkpoint, config, new_id, put
from tests.outside import path_of, raw, tables
from tests.programs import MORE, assert_nothing_over, counting, played, seen, share, talk
from tests.scripted_agents import APPROVE, CONFIG, decide, firm
from tests.story import Teller, first_difference, tell, without_loop
from tests.tables import check_tables, rows_of

Call = Callable[..., Any]
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


# ---- the rules


def aged(*ids: str, ns: str = "", days: int = 0) -> list[Light]:
    return [light(id, (NOW - timedelta(days=days)).isoformat(), ns) for id in ids]


def light(id: str, ts: str | None, ns: str = "") -> Light:
    return Light(ns, id, None, None, None, None, ts)


def test_which_checkpoints_go() -> None:
    """The newest stays whatever a rule says; labels stay; calls of subgraphs go with the checkpoint
    that they started from; a subgraph that lives on counts by itself; unknown times are not old."""
    rows = aged("a", "b", "c", days=10) + aged("d")
    calls = aged("x", "y", ns="n:1") + aged("z", ns="n:2") + aged("i", ns="n:1|m:3")
    lasting = aged("p", "q", ns="sub") + aged("r", ns="sub|n:4")
    starts = {"n:1": ("", "a"), "n:2": ("", "d"), "n:1|m:3": ("n:1", "x"), "sub|n:4": ("sub", "q")}

    def gone(rule: Retention, rows: list[Light], *labels: str) -> str:
        found = doomed(rule, rows, {("", id) for id in labels}, NOW, starts)
        return "".join(sorted(id for _, id in found))

    assert gone(Retention(keep_last=2), rows) == "ab"
    assert gone(Retention(keep_last=2), rows, "a") == "b"
    assert gone(Retention(keep_last=1), rows[:1]) == ""
    assert gone(Retention(max_age=timedelta(days=5)), rows) == "abc"
    assert gone(Retention(max_age=timedelta(days=5)), rows[:3]) == "ab"
    assert gone(Retention(keep_last=3, max_age=timedelta(days=5)), rows) == "abc"
    assert gone(Retention(), rows + calls + lasting) == ""
    assert gone(Retention(keep_last=1), rows + calls + lasting) == "abcipxy"
    assert gone(Retention(keep_last=1), rows + calls, "a") == "bc"
    odd = [light("a", None), light("b", "yesterday"), light("c", None)]
    assert gone(Retention(max_age=timedelta(days=1)), odd) == ""
    # A call whose start is not stored yet, or not known, stays.
    assert gone(Retention(keep_last=1), rows + aged("x", ns="n:9")) == "abc"


@pytest.mark.parametrize(
    "options",
    [{"keep_last": 0}, {"keep_last": True}, {"keep_last": 1.5}, {"max_age": 30},
     {"thread_ttl": timedelta()}, {"forget_after": timedelta(days=-1)}],
)  # fmt: skip
def test_rules_that_make_no_sense(options: dict[str, Any]) -> None:
    """Each is refused by its name."""
    with pytest.raises(InvalidInput, match=next(iter(options))):
        Retention(**options)


def test_what_is_no_retention(saver: WyrdSaver) -> None:
    """A number or a dict in its place is refused."""
    with pytest.raises(InvalidInput):
        saver.sweep(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        WyrdSaver.from_conn_string("sqlite://", retention={"keep_last": 5})  # type: ignore[arg-type]


# ---- what is kept is as it was


@pytest.mark.parametrize("keep", [1, 3])
def test_swept_after_every_turn(backend: Backend, asynchronous: bool, keep: int) -> None:
    """Random programs tell the story that they tell unswept: a sweep takes nothing that the present
    of a thread, or its future, rests on."""
    saver = backend.open()

    async def swept(teller: Teller) -> None:
        if asynchronous:
            await saver.asweep(Retention(keep_last=keep), dry_run=False)
        else:
            saver.sweep(Retention(keep_last=keep), dry_run=False)

    import asyncio

    # 817: a question inside a call of a subgraph that lives on, while the root goes on.
    for seed in {817, *share(range(800, 800 + 4 * MORE), backend)}:
        remembered = []
        for each, between in ((InMemorySaver(), None), (saver, swept)):
            story = tell(seed, each, asynchronous=asynchronous, history=False, between=between)
            remembered.append(asyncio.run(story) if asynchronous else without_loop(story))
        parted = first_difference(*remembered)
        assert parted is None, f"seed {seed}, expected first, then found, {parted}"


def without_delta_history(found: Any) -> Any:
    return found[0], found[2]


def test_what_is_kept_loads_as_before(durable: Backend) -> None:
    """Random threads with forks, deltas and subgraphs: every kept checkpoint has its values,
    metadata, writes, deltas and working state; nothing else is stored; a dry run had said it."""
    saver = durable.open()
    for seed in share(range(900, 900 + 4 * MORE), durable):
        thread = played(seed, [saver], asynchronous=False).thread
        before = seen(saver, thread)
        roots = sorted(id for ns, id in before if not ns)
        rule = Retention(keep_last=3, forget_after=None)
        remembered = saver.sweep(rule)
        assert seen(saver, thread) == before
        done = saver.sweep(rule, dry_run=False)
        assert done == SweepReport(**{**vars(remembered), "dry_run": False})
        after = seen(saver, thread)
        assert len(before) - len(after) == done.checkpoints
        assert set(roots[-3:]) <= {id for ns, id in after if not ns}
        for key, found in after.items():
            wanted = before[key]
            # Kept only for the sake of later ones: what rebuilds it may be gone.
            extra = not key[0] and key[1] not in roots[-3:]
            if extra:
                found, wanted = without_delta_history(found), without_delta_history(wanted)
            assert found == wanted, f"seed {seed} at {key}"
        cold = durable.open()
        assert seen(cold, thread) == after
        assert_nothing_over(cold)
        check_tables(saver, durable.url, f"seed {seed}")
        assert saver.sweep(rule, dry_run=False).checkpoints == 0


def test_forks_keep_their_chain(saver: WyrdSaver) -> None:
    """A kept checkpoint whose ancestors go has the nearest kept one as its parent."""
    first = put(saver, "t", {"x": [1]})
    second = put(saver, "t", {"x": [1, 2]}, parent=first)
    fork = put(saver, "t", {"x": [1, 9]}, parent=first)
    last = put(saver, "t", {"x": [1, 2, 3]}, parent=second)
    saver.sweep(Retention(keep_last=3), dry_run=False)
    rows = [*saver.list(config("t"))]
    ids = {row.checkpoint["id"]: row.parent_config for row in rows}
    assert ids[fork["configurable"]["checkpoint_id"]] is None
    assert ids[second["configurable"]["checkpoint_id"]] is None
    parent = ids[last["configurable"]["checkpoint_id"]]
    assert parent["configurable"]["checkpoint_id"] == second["configurable"]["checkpoint_id"]
    saver.sweep(Retention(keep_last=1), dry_run=False)
    (row,) = saver.list(config("t"))
    assert row.checkpoint["channel_values"] == {"x": [1, 2, 3]}
    put(saver, "t", {"x": [1, 2, 3, 4]}, parent=last)


def test_labels_are_kept(durable: Backend) -> None:
    """Labelled checkpoints survive a sweep, with what their deltas need; unless the retention says
    otherwise."""
    saver = durable.open()
    thread = played(901, [saver], asynchronous=False).thread
    before = seen(saver, thread)
    roots = sorted(id for ns, id in before if not ns)
    chosen = ("", roots[len(roots) // 2])
    saver.thread(thread).label("here", chosen[1])
    saver.sweep(Retention(keep_last=1), dry_run=False)
    after = seen(saver, thread)
    assert after[chosen] == before[chosen]
    assert after["", roots[-1]] == before["", roots[-1]]
    check_tables(saver, durable.url, "swept")
    saver.sweep(Retention(keep_last=1, keep_labels=False), dry_run=False)
    assert chosen not in seen(saver, thread)


async def test_an_agent_goes_on_after_a_sweep(durable: Backend) -> None:
    """A deep agent that asks, its messages and files kept as deltas, is swept and answered."""
    saver = durable.open()
    await firm(saver).ainvoke({"messages": [HumanMessage("bees?", id="h1")]}, CONFIG)
    await saver.asweep(Retention(keep_last=1), dry_run=False)
    found = await firm(saver).ainvoke(decide(APPROVE), CONFIG)
    assert found["messages"][-1].text == "report: the hive: deleted /hive"
    assert "/notes.md" in found["files"]


# ---- under a running writer, stopped, in many steps


def test_while_a_thread_is_written(durable: Backend) -> None:
    """Writers of the swept thread, and forks from what is about to go, lose nothing."""
    saver, other = durable.open(), durable.open()
    graph, busy = counting(saver), counting(other)
    for _ in range(30):
        graph.invoke({"log": ["in"]}, config("t"))
    oldest = [*saver.list(config("t"))][-4]
    wanted = oldest.checkpoint["channel_values"]["log"]
    whole = len(graph.get_state(config("t")).values["log"])
    done, failed = threading.Event(), []

    def write() -> None:
        try:
            while not done.is_set():
                busy.invoke({"log": ["more"]}, config("t"))
        except Exception as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    fork = graph.update_state(oldest.config, {"log": ["forked"]}, as_node="step")
    report = saver.sweep(Retention(keep_last=5), dry_run=False)
    done.set()
    writer.join()
    assert not failed
    assert report.checkpoints > 50
    values = graph.get_state(config("t")).values["log"]
    assert len(values) >= len(wanted)
    saver.get_tuple(fork)
    for row in saver.list(config("t")):
        assert row.checkpoint["channel_values"]["log"][:1] == ["in"]
    assert whole >= 60
    check_tables(saver, durable.url, "swept")


# ---- as threads are written


def test_applied_as_a_thread_is_written(durable: Backend) -> None:
    """A saver with a retention keeps a thread near its bound while it grows, and loses nothing that
    its present rests on."""
    saver = durable.open(retention=Retention(keep_last=10))
    graph = counting(saver)
    for _ in range(30):
        graph.invoke({"log": ["in"]}, config("t"))
    saver.close()
    again = durable.open()
    assert 10 <= len([*again.list(config("t"))]) <= 10 + 2 * 16 + 3
    assert len(counting(again).get_state(config("t")).values["log"]) == 60
    assert_nothing_over(again)
    check_tables(again, durable.url, "kept")


async def test_short_lived_processes_apply_it_too(durable: Backend) -> None:
    """A saver that stores a few checkpoints and ends looks at a thread the first time it writes."""
    for _ in range(12):
        async with WyrdSaver.from_conn_string(
            durable.url, retention=Retention(keep_last=5)
        ) as saver:
            await counting(saver).ainvoke({"log": ["in"]}, config("t"))
    again = durable.open()
    assert 5 <= len([*again.list(config("t"))]) <= 5 + 16 + 6


def test_idle_threads_expire_while_others_are_written(durable: Backend) -> None:
    """A write to one thread lets go of others that nobody used for longer than thread_ttl."""
    saver = durable.open()
    talk(saver, "old", run="r", words=["one"])
    talk(saver, "new", run="r", words=["one"])
    age(durable.url, "old", days=40)
    saver.close()
    keeper = durable.open(retention=Retention(thread_ttl=timedelta(days=30)))
    talk(keeper, "other", run="r", words=["one"])
    keeper.close()
    assert {each.thread_id for each in durable.open().threads()} == {"new", "other"}


# ---- whole threads, tombstones, orphans, space


async def test_idle_threads(durable: Backend, call: Call) -> None:
    """thread_ttl: a dry run counts, a sweep deletes, a late write is refused. A sweep is no use of
    a thread. Labelled threads stay."""
    saver = durable.open()
    head = talk(saver, "old", run="r", words=["the planted marker", "two", "three"])
    talk(saver, "new", run="r", words=["one", "two"])
    age(durable.url, "old", days=40)
    rule = Retention(thread_ttl=timedelta(days=30), forget_after=None)
    await call(saver, "sweep", Retention(keep_last=2), dry_run=False)
    remembered = await call(saver, "sweep", rule)
    assert (remembered.threads, remembered.checkpoints, remembered.dry_run) == (1, 2, True)
    assert remembered.bytes > 0
    assert "1 whole thread)" in str(remembered)
    saver.thread("old").label("kept")
    age(durable.url, "old", days=40)
    assert (await call(saver, "sweep", rule, dry_run=False)).threads == 0
    saver.thread("old").unlabel("kept")
    age(durable.url, "old", days=40)
    done = await call(saver, "sweep", rule, dry_run=False)
    assert (done.threads, done.checkpoints, done.bytes) == (1, 2, remembered.bytes)
    assert saver.get_tuple(config("old")) is None
    with pytest.raises(ThreadDeleted):
        saver.put_writes(head, [("x", 1)], "task")
    with pytest.raises(ThreadDeleted):
        put(saver, "old", {"x": 1}, parent=head)
    assert {each.thread_id for each in saver.threads()} == {"new"}


def test_tombstones_are_forgotten_in_time(durable: Backend) -> None:
    """What a run of a deleted thread still sends is refused, on any saver, until the deletion is
    older than forget_after; its row goes with a sweep."""
    saver = durable.open()
    head = talk(saver, "t", run="r", words=["one"])
    saver.delete_thread("t")
    assert saver.sweep(Retention(), dry_run=False).tombstones == 0
    with pytest.raises(ThreadDeleted):
        durable.open().put_writes(head, [("x", 1)], "task")
    age(durable.url, "t", days=31)
    assert saver.sweep(Retention(forget_after=None), dry_run=False).tombstones == 0
    assert saver.sweep(Retention()).tombstones == 1
    assert len(rows_of(durable.url, "wyrd_threads")) == 1
    assert saver.sweep(Retention(), dry_run=False).tombstones == 1
    assert rows_of(durable.url, "wyrd_threads") == []
    talk(saver, "t", run="r", words=["anew"])
    assert len([*saver.list(config("t"))]) == 1


def test_orphans_are_collected(durable: Backend) -> None:
    """Writes to checkpoints that are not there and won't come any more go with a sweep; those that
    may still come stay."""
    saver = durable.open()
    first = put(saver, "t", {"x": 1}, id=hours_ago(5))
    gone = put(saver, "t", {"x": 2}, parent=first, id=hours_ago(4))
    head = put(saver, "t", {"x": 3}, parent=gone)
    saver.prune(["t"])
    saver.put_writes(gone, [("x", "late")], "task")  # of a run that was still going
    early = config("t", new_id())
    saver.put_writes(early, [("x", "early")], "task")
    saver.put_writes(head, [("x", "fine")], "task")
    remembered = saver.sweep(Retention())
    assert (remembered.orphans, remembered.writes) == (1, 1)
    assert saver.sweep(Retention(), dry_run=False).orphans == 1
    kept = {row["checkpoint"] for row in rows_of(durable.url, "wyrd_writes")}
    assert kept == {each["configurable"]["checkpoint_id"] for each in (early, head)}


def hours_ago(hours: int) -> str:
    from tests.handmade import skewed_id

    return skewed_id(-3600 * hours)


@pytest.mark.parametrize("builds", ["OFF", "ON"])
def test_space_is_given_back(sqlite: Backend, builds: str) -> None:
    """The file of an SQLite database is smaller after a sweep, and what went is not in it, whatever
    this build of SQLite does with what is deleted."""
    path = path_of(sqlite.url)

    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(path, check_same_thread=False)
        made.execute(f"PRAGMA secure_delete = {builds}")
        return made

    saver = sqlite.open(connect=connect)
    head = None
    for n in range(300):
        # Values that don't compress, each whole.
        head = put(saver, "t", {"x": os.urandom(4000), "secret": f"planted {n}."}, parent=head)
        saver.put_writes(head, [("secret", f"planted {n}.")], "task")
    saver.close()
    before = path.stat().st_size
    assert before > 1_200_000
    assert found_in(path) == {*range(300)}
    saver = sqlite.open(connect=connect)
    saver.sweep(Retention(keep_last=10), dry_run=False)
    saver.close()
    assert path.stat().st_size < before / 5
    found = found_in(path)
    assert found >= {*range(290, 300)}
    # SQLite may leave a copy in a page whose cells it rearranged: only a VACUUM takes that away.
    assert len(found) <= 11


def found_in(path: Path) -> set[int]:
    """Which of the markers are in a database's files."""
    held = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
    return {int(number) for number in re.findall(rb"planted (\d+)\.", held)}


def test_what_went_is_gone_from_postgres(postgres: Backend) -> None:
    """After a sweep and an ordinary VACUUM no row of any table holds what went."""
    saver = postgres.open()
    head = None
    for n in range(40):
        head = put(saver, "t", {"secret": f"planted {n}.", "log": [f"planted {n}."]}, parent=head)
    saver.sweep(Retention(keep_last=5), dry_run=False)
    with raw(postgres.url) as connection:
        connection.execute("VACUUM")
        held = ""
        for table in tables(connection):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                held += "".join(
                    each.decode("latin-1") if isinstance(each, bytes) else str(each) for each in row
                )
    assert {int(n) for n in re.findall(r"planted (\d+)\.", held)} == {*range(35, 40)}


def test_a_damaged_thread_keeps_nobody_else_from_being_swept(durable: Backend) -> None:
    """It is left as it is and named in the report; the others are swept. A copy does the same."""
    saver = durable.open()
    for name in ("a", "b", "c"):
        talk(saver, name, run="r", words=["one", "two", "three"])
    saver.close()
    spoil(durable.url, "b")
    saver = durable.open()
    report = saver.sweep(Retention(keep_last=1), dry_run=False)
    assert report.left == ("b",)
    assert "1 damaged thread left alone" in str(report)
    assert report.checkpoints == 4
    assert [len([*saver.list(config(name))]) for name in "ac"] == [1, 1]
    assert len(rows_of(durable.url, "wyrd_checkpoints")) == 5
    memory = InMemorySaver()
    copied = copy(saver, memory)
    assert [name for name, _ in copied.left] == ["b"]
    assert memory.get_tuple(config("c")) is not None


def test_progress_is_reported(saver: WyrdSaver) -> None:
    """After each thread: how many threads of how many."""
    for name in ("a", "b", "c"):
        talk(saver, name, run="r", words=["one"])
    remembered: list[tuple[int, int]] = []
    saver.sweep(Retention(keep_last=1), progress=lambda *each: remembered.append(each))
    assert remembered == [(1, 3), (2, 3), (3, 3)]


async def test_sizes(durable: Backend, call: Call) -> None:
    """Rows and bytes by table, and of the largest threads; they are those of the tables."""
    saver = durable.open()
    talk(saver, "small", run="r", words=["one"])
    talk(saver, "large", run="r", words=["x" * 3000, "y" * 3000])
    found = await call(saver, "size_report")
    assert [*found.threads] == ["large", "small"]
    assert found.on_disk > 50_000
    for table, size in found.tables.items():
        assert size.rows == len(rows_of(durable.url, f"wyrd_{table}")), table
        if table != "threads":
            assert size == sum(
                (sizes[table] for sizes in found.threads.values() if table in sizes), type(size)()
            )
    (one,) = (await call(saver, "size_report", 1)).threads
    assert one == "large"
    assert "thread 'large'" in str(found)


def test_a_long_thread_goes_while_others_are_written(durable: Backend) -> None:
    """Thousands of checkpoints of one thread are swept; who writes to another thread meanwhile
    is not refused."""
    saver = durable.open(pillars=False)
    head = None
    made = checkpoint({"log": ["m"]})
    for n in range(1500):
        made = {**made, "id": str(uuid6()), "channel_values": {"log": [f"m{n}"]}}
        made["channel_versions"] = {"log": f"{n:032}.5"}
        parent = None if head is None else head["configurable"]["checkpoint_id"]
        metadata = {"source": "loop", "step": n, "parents": {}}
        head = saver.put(config("t", parent), made, metadata, made["channel_versions"])
    other = durable.open()
    done = threading.Event()
    written = [0]

    def write() -> None:
        last = None
        while not done.is_set() or written[0] < 2:
            last = put(other, "other", {"x": 1}, parent=last)
            written[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    report = saver.sweep(Retention(keep_last=3), dry_run=False)
    done.set()
    writer.join()
    assert report.checkpoints >= 1497
    assert len([*saver.list(config("t"))]) == 3
    assert other.get_tuple(config("other")) is not None


# Hooks hear what a sweep deleted; automatic labels do not keep everything.


async def test_sweeps_are_reported(durable: Backend, call: Call) -> None:
    """As an explicit prune or deletion is: once a thread, with how many checkpoints went; a dry run
    tells nothing."""
    saver = durable.open()
    talk(saver, "a", run="r", words=["one", "two", "three"])
    talk(saver, "b", run="r", words=["one"])
    talk(saver, "old", run="r", words=["one", "two"])
    age(durable.url, "old", days=40)
    heard: list[Any] = []
    saver.on("discard", heard.append)
    rule = Retention(keep_last=1, thread_ttl=timedelta(days=30))
    remembered = await call(saver, "sweep", rule)
    assert not heard
    done = await call(saver, "sweep", rule, dry_run=False)
    assert done.checkpoints == remembered.checkpoints
    assert {each.thread_id for each in heard} == {"a", "old"}
    assert all(each.detail["how"] == "sweep" for each in heard)
    assert sum(each.detail["checkpoints"] for each in heard) == done.checkpoints
    assert not [*saver.list(config("old"))]


async def test_decisions_and_errors_stay_known(durable: Backend, call: Call) -> None:
    """A sweep keeps decisions, with rationale and outcome, and what failed, however long ago."""
    saver = durable.open()
    fails = [False]

    def work(state: Any) -> Any:
        if fails[0]:
            raise RuntimeError("no disk")
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work")
    graph, thread = builder.compile(checkpointer=saver), saver.thread("t")
    here: Any = config("t")
    await call(graph, "invoke", {"messages": ["begin"]}, here)
    over = await call(thread, "decide", "use Postgres", "many writers")
    await call(thread, "record_outcome", over.id, "it works")
    await call(thread, "decide", "ship it")
    fails[0] = True
    with pytest.raises(RuntimeError):
        await call(graph, "invoke", {"messages": ["fail"]}, here)
    fails[0] = False
    await call(graph, "invoke", None, here)
    for n in range(20):  # more than a state shows of what is over
        await call(graph, "invoke", {"messages": [f"please do {n}"]}, here)

    async def remembered(reader: Any) -> Any:
        found = await call(reader, "open_loops", kind=["decision", "error"], status="any")
        return sorted((each.description, each.outcome, each.context) for each in found)

    before = await remembered(saver)
    assert [each[0] for each in before] == ["RuntimeError: no disk", "ship it", "use Postgres"]
    for keep in (30, 5, 1):
        await call(saver, "sweep", Retention(keep_last=keep), dry_run=False)
        assert await remembered(saver) == before
    await call(saver, "verify", repair=True)
    await call(saver, "reextract", "t")
    assert await remembered(durable.open()) == before
    assert (await call(saver, "verify")).ok


async def test_a_thread_has_a_time_of_its_own(durable: Backend, call: Call) -> None:
    """`set_ttl` counts for one thread, whatever the rule says of all; None takes it back."""
    saver = durable.open()
    for name in ("short", "long", "plain"):
        talk(saver, name, run="r", words=["one"])
    await call(saver.thread("short"), "set_ttl", timedelta(days=1))
    await call(saver.thread("long"), "set_ttl", timedelta(days=90))
    await call(saver.thread("plain"), "set_ttl", timedelta(days=1))
    await call(saver.thread("plain"), "set_ttl", None)
    assert await call(saver.thread("long"), "get_ttl") == timedelta(days=90)
    assert await call(saver.thread("plain"), "get_ttl") is None
    listed = {each.thread_id: each.ttl for each in await call(saver, "threads")}
    assert listed == {"short": timedelta(days=1), "long": timedelta(days=90), "plain": None}
    records = (await call(saver, "threads")).to_records()
    assert {each["ttl"] for each in records} == {86400, 90 * 86400, None}
    for name in ("short", "long", "plain"):
        age(durable.url, name, days=5)
    other = durable.open()
    await call(other, "sweep", Retention(keep_last=50), dry_run=False)
    assert {each.thread_id for each in await call(saver, "threads")} == {"long", "plain"}
    await call(other, "sweep", Retention(thread_ttl=timedelta(days=3)), dry_run=False)
    assert [each.thread_id for each in await call(saver, "threads")] == ["long"]
    with pytest.raises(InvalidInput):
        await call(saver.thread("long"), "set_ttl", timedelta(0))
    await call(saver.thread("long"), "set_ttl", timedelta(milliseconds=1))
    assert await call(saver.thread("long"), "get_ttl") == timedelta(seconds=1)
    with pytest.raises(ThreadNotFound):
        await call(saver.thread("nobody"), "get_ttl")


async def test_what_goes_as_threads_are_written_is_reported(durable: Backend, call: Call) -> None:
    """By the next call of this saver, never on its own thread."""
    saver = durable.open(retention=Retention(keep_last=3))
    heard: list[Any] = []
    saver.on("discard", heard.append)
    graph = counting(saver)
    deadline = time.monotonic() + 60
    while not heard and time.monotonic() < deadline:
        await call(graph, "invoke", {"log": ["in"]}, config("t"))
    assert {(each.thread_id, each.detail["how"]) for each in heard} == {("t", "retention")}
    assert heard[0].detail["checkpoints"] > 0


def test_automatic_labels_do_not_keep_everything(durable: Backend) -> None:
    """keep_labels=True keeps what somebody labelled; "all" keeps automatic labels too."""
    saver = durable.open(labels=AutoLabels(run_end=True))
    graph = counting(saver)
    for n in range(6):
        graph.invoke({"log": ["in"]}, config("t"))
        if n == 1:
            saver.thread("t").label("mine")
    handle = saver.thread("t")
    total, labelled = 18, {label.checkpoint_id for label in handle.labels()}
    assert len([*saver.list(config("t"))]) == total
    assert len(labelled) == 6
    assert saver.sweep(Retention(keep_last=1, keep_labels="all")).checkpoints == total - len(
        labelled | {handle.history()[0].checkpoint_id}
    )
    remembered = saver.sweep(Retention(keep_last=1, keep_labels="manual"))
    assert remembered == saver.sweep(Retention(keep_last=1))
    assert saver.sweep(Retention(keep_last=1), dry_run=False).checkpoints == total - 2
    assert [label.name for label in handle.labels() if not label.automatic] == ["mine"]
    age(durable.url, "t", days=40)
    assert saver.sweep(Retention(thread_ttl=timedelta(days=30))).threads == 0
    handle.unlabel("mine")
    assert handle.labels()
    assert saver.sweep(Retention(thread_ttl=timedelta(days=30))).threads == 1
    with pytest.raises(InvalidInput, match="keep_labels"):
        Retention(keep_labels="some")  # type: ignore[arg-type]
