"""Threads carried between savers go on as if nothing had happened."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from langgraph_wyrd import AutoLabels, WyrdSaver
from langgraph_wyrd.errors import CopyDiffers, InvalidInput, ThreadNotFound
from langgraph_wyrd.port import Report, aadopt, acopy, adopt, copy
from tests.conftest import Backend
from tests.damage import garbled
from tests.deep import create_deep_agent
from tests.handmade import checkpoint, config, new_id, put
from tests.official_savers import (
    OFFICIAL,
    REST,
    another,
    asking,
    filled,
    gone_on,
    official,
    official_sync,
    outcome,
)
from tests.outside import forked, is_postgres, raw
from tests.programs import MORE, lasting, played, states_of, talk, watching
from tests.scripted_agents import APPROVE, CONFIG, Scripted, decide, firm
from tests.story import Plain, Teller, first_difference, tell, without_loop
from tests.tables import all_text, check_tables, derived, differences, every_thread


async def moved(teller: Teller) -> None:
    """After a turn the thread is copied to the saver that has the next one."""
    here, there = teller.saver, teller.savers[(teller.turn + 1) % len(teller.savers)]
    wanted = [teller.thread]
    try:
        if teller.asynchronous:
            report = await acopy(here, there, wanted)
        else:
            report = copy(here, there, wanted)
    except ThreadNotFound:  # a turn that was refused before anything was stored
        return
    assert not report.left


SEEDS = range(400, 400 + 2 * MORE)


@pytest.mark.parametrize("kind", OFFICIAL)
async def test_random_programs_move_after_every_turn(
    kind: str, durable: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each turn on the other saver, the official and ours, and the story is that of one saver."""
    ours = durable.open()
    with another(kind, request, tmp_path) as url:
        async with official(url) as theirs:
            for seed in SEEDS:
                expected = await tell(seed, InMemorySaver(), asynchronous=True)
                found = await tell(seed, theirs, ours, asynchronous=True, between=moved)
                parted = first_difference(expected, found)
                if parted is not None:  # the official saver alone may tell it differently, too
                    alone = await tell(seed, theirs, asynchronous=True, thread=f"alone {seed}")
                    if first_difference(expected, alone) is not None:
                        continue
                assert parted is None, f"seed {seed}, expected first, then found, {parted}"


@pytest.mark.parametrize("kind", OFFICIAL)
def test_random_programs_move_in_sync_code(
    kind: str, sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The same with sync savers, three of them: official, in memory, ours."""
    ours = sqlite.open()
    with another(kind, request, tmp_path) as url, official_sync(url) as theirs:
        for seed in SEEDS:
            expected = without_loop(tell(seed, InMemorySaver(), asynchronous=False))
            savers = (theirs, InMemorySaver(), ours)
            found = without_loop(tell(seed, *savers, asynchronous=False, between=moved))
            parted = first_difference(expected, found)
            if parted is not None:  # the official saver alone may tell it differently, too
                alone = tell(seed, theirs, asynchronous=False, thread=f"alone {seed}")
                if first_difference(expected, without_loop(alone)) is not None:
                    continue
            assert parted is None, f"seed {seed}, expected first, then found, {parted}"


# ---- databases of the official savers


async def test_a_deep_agent_is_adopted_while_it_asks(durable: Backend) -> None:
    """Messages and files kept as deltas, a question open inside a subagent: adopted in place, the
    agent goes on as it does with the official saver."""
    async with official(durable.url) as theirs:
        await firm(theirs).ainvoke({"messages": [HumanMessage("bees?", id="h1")]}, CONFIG)
        report = await aadopt(durable.url)
        assert report.threads == 1
        assert report.checkpoints > 3
        ours = durable.open()
        (loop,) = ours.open_loops(kind="interrupt")
        assert loop.thread_id == CONFIG["configurable"]["thread_id"]
        assert await outcome(firm(ours), *REST) == await outcome(firm(theirs), *REST)
        check_tables(ours, durable.url, "afterwards")


async def test_a_long_deep_agent_thread_is_adopted(
    sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Past a snapshot of its deltas a thread still has every message, at every step."""

    def brief(saver: Any) -> Any:
        return create_deep_agent(
            Scripted(rule=lambda m: AIMessage(f"answer {len(m)}")), checkpointer=saver
        )

    turns = [{"messages": [HumanMessage(str(n), id=f"h{n}")]} for n in range(28)]
    with another("sqlite", request, tmp_path) as url:
        async with official(url) as theirs:
            await outcome(brief(theirs), *turns[:24])
            ours = sqlite.open()
            await aadopt(url, ours)
            assert await outcome(brief(ours), *turns[24:]) == await outcome(
                brief(theirs), *turns[24:]
            )


async def test_adopted_again(durable: Backend) -> None:
    """What was written since the last time is added; what is there is not sent twice."""
    async with official(durable.url) as theirs:
        await firm(theirs).ainvoke({"messages": [HumanMessage("bees?", id="h1")]}, CONFIG)
        first = await aadopt(durable.url)
        again = await aadopt(durable.url)
        assert again == Report(threads=1, there=first.checkpoints)
        await firm(theirs).ainvoke(decide(APPROVE), CONFIG)
        more = await aadopt(durable.url)
        # The questions of the first turn have been answered: their checkpoints have new writes.
        assert 0 < more.checkpoints <= more.checkpoints + more.there
        assert more.there > 0
        ours = durable.open()
        assert not ours.open_loops(kind="interrupt")
        assert await outcome(firm(ours)) == await outcome(firm(theirs))


@pytest.mark.parametrize("kind", OFFICIAL)
def test_adopting_in_sync_code_reads_what_live_reads(
    kind: str, durable: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Pillars of adopted threads are those that live threads have, at every checkpoint."""
    live = watching(durable)
    with another(kind, request, tmp_path) as url:
        with official_sync(url) as theirs:
            live.begin([[theirs]], watch=False)
            tellers = [played(seed, [live], asynchronous=False) for seed in range(500, 502)]
        target = tmp_path / "target.db"
        report = adopt(url, f"sqlite:///{target}")
        assert report.threads == len([*every_thread(live)])
        with WyrdSaver.from_conn_string(f"sqlite:///{target}") as ours:
            check_tables(ours, f"sqlite:///{target}", "adopted")
            for teller in tellers:
                found, wanted = states_of(ours, teller.thread), states_of(live, teller.thread)
                assert found.keys() == wanted.keys()
                for id, state in wanted.items():
                    assert lasting(found[id]) == lasting(state), f"{teller.thread} at {id}"


def test_an_adopted_thread_keeps_its_times(durable: Backend) -> None:
    """Listings across threads show when a thread was used, not when it was adopted."""
    with official_sync(durable.url) as theirs:
        for name, ts in (("old", "2024-05-01"), ("new", "2025-06-01"), ("mid", "2024-12-01")):
            made = checkpoint({"x": [name]}, ts=f"{ts}T10:00:00+00:00")
            theirs.put(
                config(name), made, {"source": "input", "step": -1}, made["channel_versions"]
            )
        adopt(durable.url)
    ours = durable.open()
    assert [each.thread_id for each in ours.threads()] == ["new", "mid", "old"]
    assert next(iter(ours.threads(until="2024-06-01"))).thread_id == "old"


def test_what_can_not_be_adopted(sqlite: Backend, tmp_path: Path, postgres: Backend) -> None:
    """A database without the official tables, one in memory, a file that is not there."""
    sqlite.open().setup()
    for url in (sqlite.url, postgres.url, "sqlite://", f"sqlite:///{tmp_path / 'none.db'}"):
        with pytest.raises(InvalidInput):
            adopt(url)
    assert not (tmp_path / "none.db").exists()


def test_an_old_file_without_task_paths(tmp_path: Path) -> None:
    """A file from before task paths were stored is read as it is, and not touched."""
    path = tmp_path / "old.db"
    with official_sync(f"sqlite:///{path}") as theirs:
        head = put(theirs, "t", {"x": 1})
        theirs.put_writes(head, [("x", 2)], "task-b", "~path")
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("ALTER TABLE writes DROP COLUMN task_path")
    with WyrdSaver.from_conn_string(tmp_path / "new.db") as ours:
        assert adopt(str(path), ours).writes == 1
        assert ours.get_tuple(head).pending_writes == [("task-b", "x", 2)]
    with contextlib.closing(sqlite3.connect(path)) as raw:
        names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master")]
        assert not [name for name in names if name.startswith("wyrd")]


# ---- ours to ours


def same_contents(one: WyrdSaver, url: str, other: WyrdSaver, other_url: str) -> None:
    """Two databases say the same of every thread: states, tables, labels, heals, times."""
    assert not differences(derived(one, url), derived(other, other_url))
    for ours, theirs in zip(every_thread(one), every_thread(other), strict=True):
        assert replace(ours, updated_at=None) == replace(theirs, updated_at=None)
        assert datetime.fromisoformat(ours.updated_at) == datetime.fromisoformat(theirs.updated_at)
        assert states_of(one, ours.thread_id) == states_of(other, ours.thread_id)
        mine, its = one.thread(ours.thread_id), other.thread(ours.thread_id)
        assert mine.labels() == its.labels()
        for label in mine.labels():
            assert mine.get_label(label.name) == its.get_label(label.name)
        assert mine.heals() == its.heals()


async def test_there_and_back_again(sqlite: Backend, postgres: Backend, tmp_path: Path) -> None:
    """SQLite -> Postgres -> SQLite gives the database that was: every checkpoint, write and value,
    the ledger with what people edited and what a prune left, labels, heals, tables, times."""
    ours = sqlite.open(labels=AutoLabels(run_end=True))
    for seed in range(600, 604):
        played(seed, [ours], asynchronous=False, turns=4)
    pruned = played(604, [ours], asynchronous=False, turns=4).thread
    ours.prune([pruned])
    ours.thread("thread-601-sync").add_open_loop("ask Ann")
    marked(ours, "thread-600-sync")
    healed(ours, sqlite.url, "thread-603-sync")
    back = Backend("sqlite", f"sqlite:///{tmp_path / 'back.db'}")
    with postgres.open() as middle, back.open() as last:
        first = await acopy(ours, middle)
        second = copy(middle, last)
        assert first == second
        for thread in ours.threads(limit=100):
            assert_same_checkpoints(ours, last, thread.thread_id)
            one, other = (each.thread(thread.thread_id) for each in (ours, last))
            assert one.labels() == other.labels()
            assert one.heals() == other.heals()
        same_contents(middle, postgres.url, ours, sqlite.url)
        same_contents(last, back.url, ours, sqlite.url)
        check_tables(last, back.url, "back")
        again = copy(middle, last)
        assert (again.checkpoints, again.there) == (0, second.checkpoints)
        same_contents(last, back.url, ours, sqlite.url)


def marked(saver: WyrdSaver, thread_id: str) -> None:
    """A thread's working state is edited in many ways, and labelled."""
    handle = saver.thread(thread_id)
    handle.set_context("city", {"name": "Zürich", "at": [47.4, 8.5]})
    handle.label("booked")
    todo = handle.add_todo("pack")
    loop = handle.add_open_loop("ask Ben")
    handle.complete_todo(todo.id)
    handle.resolve_open_loop(loop.id, "he knows")
    decision = handle.decide("go by train", "no flights")
    handle.record_outcome(decision.id, "it was late")
    handle.decide("stay a night")
    handle.set_intention("see the lake")
    handle.label("booked ☂", keys=["city", "nothing"])
    first = handle.history()[-1].checkpoint_id
    handle.label("start", at=first, keys=[])


def healed(saver: WyrdSaver, url: str, thread_id: str) -> None:
    """Two writes of a thread were damaged, met, left out and put away; one was acknowledged."""
    head = saver.get_tuple(config(thread_id)).config
    saver.put_writes(head, [("x", "one")], "lost-1")
    saver.put_writes(head, [("x", "two")], "lost-2")
    with raw(url) as connection:
        cursor = connection.execute("SELECT * FROM wyrd_writes WHERE task LIKE 'lost-%'")
        names = [each[0] for each in cursor.description]
        mark = "%s" if is_postgres(url) else "?"
        for row in [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]:
            for name, value in row.items():
                if isinstance(value, bytes | memoryview) and name != "thread":
                    connection.execute(
                        f"UPDATE wyrd_writes SET {name} = {mark} WHERE task = {mark}",
                        (garbled(bytes(value)), row["task"]),
                    )
    saver.get_tuple(head)
    assert saver.verify(thread_id, repair=True)
    handle = saver.thread(thread_id)
    heals = handle.heals()
    assert len(heals) >= 2  # a load notes them, and so does a repair
    handle.acknowledge(heals[0])


def assert_same_checkpoints(one: Any, other: Any, thread_id: str) -> None:
    rows = [[*saver.list({"configurable": {"thread_id": thread_id}})] for saver in (one, other)]
    assert rows[0]
    parted = first_difference(Plain()(rows[0]), Plain()(rows[1]))
    assert parted is None, parted


def test_copied_again_after_both_sides_were_marked(sqlite: Backend, tmp_path: Path) -> None:
    """What was labelled, edited and acknowledged at the source since is added; what people did at
    the target only stays."""
    ours = sqlite.open()
    talk(ours, "t", run="r", words=["one", "two"])
    with WyrdSaver.from_conn_string(tmp_path / "other.db") as other:
        copy(ours, other)
        healed(ours, sqlite.url, "t")
        ours.thread("t").label("ours")
        ours.thread("t").set_context("source", 1)
        other.thread("t").label("theirs")
        other.thread("t").set_context("target", 2)
        assert copy(ours, other).left == ()
        handle = other.thread("t")
        assert [label.name for label in handle.labels()] == ["ours", "theirs"]
        assert handle.get_label("ours") == ours.thread("t").get_label("ours")
        assert [item.value for item in handle.working_state().context] == [1, 2]
        assert handle.heals() == ours.thread("t").heals()
        handle.acknowledge()
        copy(ours, other)
        assert all(heal.acknowledged_at for heal in handle.heals())
        check_tables(other, f"sqlite:///{tmp_path / 'other.db'}", "copied twice")


async def test_within_a_database(durable: Backend, call: Callable[..., Any]) -> None:
    """copy_thread takes labels, heals and edits along; of the latest only, those that fit."""
    ours = durable.open()
    talk(ours, "t", run="r", words=["one", "two", "three"])
    marked(ours, "t")
    healed(ours, durable.url, "t")
    await call(ours, "copy_thread", "t", "t2")
    one, other = ours.thread("t"), ours.thread("t2")
    assert other.labels() == one.labels()
    assert other.get_label("booked ☂") == one.get_label("booked ☂")
    assert [(h.id, h.acknowledged_at) for h in other.heals()] == [
        (h.id, h.acknowledged_at) for h in one.heals()
    ]
    assert lasting(other.working_state()) == lasting(one.working_state())


def test_into_an_encrypted_store(sqlite: Backend, tmp_path: Path) -> None:
    """Pillar text is sealed by the store that it comes to, and opened by the one that it leaves."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    ours = sqlite.open()
    talk(ours, "t", run="r", words=["please find the planted marker"])
    ours.thread("t").set_context("where", "a planted marker")
    ours.thread("t").label("noted")
    path = tmp_path / "sealed.db"
    with (
        WyrdSaver.from_conn_string(path, serde=serde) as sealed,
        WyrdSaver.from_conn_string(tmp_path / "clear.db") as clear,
    ):
        copy(ours, sealed)
        assert sealed.thread("t").working_state() == ours.thread("t").working_state()
        assert sealed.thread("t").get_label("noted") == ours.thread("t").get_label("noted")
        copy(sealed, clear)
        assert clear.thread("t").get_label("noted") == ours.thread("t").get_label("noted")
        assert clear.thread("t").working_state() == ours.thread("t").working_state()
    assert b"planted" not in b"".join(each.read_bytes() for each in tmp_path.glob("sealed.db*"))
    assert b"planted" in (tmp_path / "clear.db").read_bytes()


def test_to_a_store_where_the_thread_was_deleted(sqlite: Backend, tmp_path: Path) -> None:
    """A person may bring back what was deleted, pruned threads too."""
    ours = sqlite.open()
    talk(ours, "t", run="r", words=["one", "two", "three"])
    ours.delete_for_runs(["nobody"])
    with WyrdSaver.from_conn_string(tmp_path / "other.db") as other:
        copy(ours, other)
        other.prune(["t"])
        other.put_writes(other.get_tuple(config("t")).config, [("x", 1)], "task")
        ours.delete_thread("t")
        assert copy(other, ours).checkpoints == 1
        assert_same_checkpoints(ours, other, "t")
        head = ours.get_tuple(config("t")).config
        ours.put_writes(head, [("x", 2)], "later")


def test_a_store_without_pillars_gets_them(sqlite: Backend, tmp_path: Path) -> None:
    """From pillars=False to a store with them, what checkpoints say is read."""
    plainly = sqlite.open(pillars=False)
    talk(plainly, "t", run="r", words=["please find the door"])
    with WyrdSaver.from_conn_string(tmp_path / "other.db") as other:
        copy(plainly, other)
        assert other.thread("t").working_state().intention is not None
        check_tables(other, f"sqlite:///{tmp_path / 'other.db'}", "copied")


# ---- stopping, conflicts, damage, other savers


def test_stopped_and_started_again(sqlite: Backend) -> None:
    """A copy that was stopped anywhere goes on where it stopped, and ends as one that was not."""
    ours = sqlite.open()
    for name in ("a", "b"):
        talk(ours, name, run="r", words=[str(n) for n in range(25)])
    counts: list[tuple[int, int]] = []
    total = copy(ours, InMemorySaver(), progress=lambda *each: counts.append(each)).checkpoints
    assert counts[-1] == (total, total)
    assert counts == sorted(counts)

    class Stop(Exception):
        pass

    target, sent = Counting(), 0
    for _ in range(total):
        stop_at = target.puts + 7

        def stop(done: int, of: int, stop_at: int = stop_at) -> None:
            if target.puts >= stop_at:
                raise Stop

        try:
            report = copy(ours, target, progress=stop)
            break
        except Stop:
            sent += 1
    assert sent >= 2
    assert target.puts == total
    assert report.there == total - report.checkpoints
    for name in ("a", "b"):
        assert_same_checkpoints(ours, target, name)


class Counting(InMemorySaver):
    """Counts its calls."""

    puts = 0

    def put(self, *args: Any) -> Any:
        self.puts += 1
        return super().put(*args)


def test_another_thread_of_that_id_is_left_alone(saver: WyrdSaver) -> None:
    """Two threads are never mixed: one that the target has of that id stays as it is, and the
    report says so."""
    source = InMemorySaver()
    talk(source, "t", run="r", words=["one"])
    talk(source, "fine", run="r", words=["one"])
    talk(saver, "t", run="r", words=["something else"])
    before = [*saver.list({"configurable": {"thread_id": "t"}})]
    report = copy(source, saver)
    assert [name for name, _ in report.left] == ["t"]
    assert "another one" in report.left[0][1]
    assert "1 thread left alone" in str(report)
    assert report.threads == 1
    assert [*saver.list({"configurable": {"thread_id": "t"}})] == before
    assert saver.get_tuple(config("fine")) is not None


class Forgetful(InMemorySaver):
    """Loses a message now and then."""

    def put(self, config: Any, checkpoint: Any, *args: Any) -> Any:
        values = dict(checkpoint["channel_values"])
        if len(values.get("messages", ())) > 2:
            values["messages"] = values["messages"][:-1]
        return super().put(config, {**checkpoint, "channel_values": values}, *args)


class Careless(InMemorySaver):
    """Forgets who wrote."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, "")


@pytest.mark.parametrize(
    ("saver", "why"), [(Forgetful(), "'messages' differs"), (Careless(), "paths")]
)
def test_a_target_that_stores_something_else(saver: Any, why: str) -> None:
    """What is read back is compared with what was sent: a value, a task's path."""
    source = InMemorySaver()
    head = talk(source, "t", run="r", words=["one", "two", "three"])
    source.put_writes(head, [("messages", ["more"])], "task", "~path")
    with pytest.raises(CopyDiffers, match=why):
        copy(source, saver)


class Stranger(BaseCheckpointSaver[int]):
    """A saver of which only the contract is known. It counts versions in whole numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = InMemorySaver()

    def get_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    def list(self, config: Any, **options: Any) -> Any:
        return self.inner.list(config, **options)

    def put(self, *args: Any) -> Any:
        return self.inner.put(*args)

    def put_writes(self, *args: Any) -> None:
        self.inner.put_writes(*args)


def test_savers_that_count_in_whole_numbers(saver: WyrdSaver) -> None:
    """Versions are converted to the kind that the target counts in, both ways, so that the graph
    goes on: text and numbers don't compare."""
    strange, back = Stranger(), Stranger()
    where = config("t")
    asking().compile(checkpointer=strange).invoke({"total": 1}, where)
    copy(strange, saver)
    graph = asking().compile(checkpointer=saver)
    assert graph.invoke(Command(resume="yes"), where) == {"total": 2}
    graph.invoke({"total": 1}, where)
    report = copy(saver, back)
    assert report.checkpoints > 4
    graph = asking().compile(checkpointer=back)
    assert graph.invoke(Command(resume="yes"), where) == {"total": 4}
    assert copy(saver, back).left  # it went on


def test_numbers_of_writes_are_kept(saver: WyrdSaver) -> None:
    """A control write among ordinary ones has a number of its own: the others keep theirs."""
    source = InMemorySaver()
    head = put(source, "t", {"x": 1})
    source.put_writes(head, [("a", 1), ("__resume__", [2]), ("b", 3)], "task")
    copy(source, saver)
    for each in (source, saver):
        each.put_writes(head, [("c", 4), ("late", 5)], "task")  # of which one is new
    wanted = source.get_tuple(head).pending_writes
    assert [name for _, name, _ in wanted] == ["__resume__", "a", "late", "b"]
    assert saver.get_tuple(head).pending_writes == wanted


def test_children_that_sort_before_their_parents(saver: WyrdSaver) -> None:
    """Clocks differ: a parent is sent first, whatever its id."""
    source = InMemorySaver()
    ids_ = sorted((new_id() for _ in range(4)), reverse=True)
    parent = None
    for id in ids_:
        parent = put(source, "t", {"x": [id]}, parent=parent, id=id)["configurable"][
            "checkpoint_id"
        ]
    assert copy(source, saver).checkpoints == 4
    assert_same_checkpoints(source, saver, "t")


async def test_only_some_threads(saver: WyrdSaver) -> None:
    """Those that are named; one that is not there stops the copy before anything is sent."""
    source = InMemorySaver()
    for name in ("a", "b", "c"):
        talk(source, name, run="r", words=["one"])
    with pytest.raises(ThreadNotFound, match="'nobody'"):
        await acopy(source, saver, ["a", "nobody"])
    with pytest.raises(InvalidInput, match="one string"):
        copy(source, saver, "a")
    with pytest.raises(InvalidInput, match="no LangGraph checkpointer"):
        copy("agents.db", saver)  # type: ignore[arg-type]
    assert not saver.threads()
    assert (await acopy(source, saver, ["c", "a", "c"])).threads == 2
    assert {each.thread_id for each in saver.threads()} == {"a", "c"}


async def test_sync_and_async_savers_mix(tmp_path: Path) -> None:
    """A sync saver in an async copy; an async saver in a sync copy, off its loop, but not on it."""
    with official_sync(f"sqlite:///{tmp_path / 'a.db'}") as first:
        talk(first, "t", run="r", words=["one"])
        async with official(f"sqlite:///{tmp_path / 'b.db'}") as second:
            assert (await acopy(first, second)).checkpoints == 1
            third = InMemorySaver()
            with pytest.raises(InvalidInput, match="acopy"):
                copy(second, third)
            assert (await asyncio.to_thread(copy, second, third)).checkpoints == 1


def test_an_encrypted_database_is_adopted(durable: Backend) -> None:
    """With the serde of the official saver; what is adopted is sealed as well."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    where = config("t")
    with official_sync(durable.url) as theirs:
        theirs.serde = serde
        talk(theirs, "t", run="r", words=["please find the planted marker"])
        assert adopt(durable.url, serde=serde).checkpoints == 1
    ours = durable.open(serde=serde)
    assert ours.get_tuple(where).checkpoint["channel_values"]["messages"][0].id == "r0"
    assert "planted" in (ours.thread("t").working_state().title or "")
    assert "planted" not in all_text(durable.url)


# A copy whose process is killed in the middle is run again.


def copy_and_die(ours: str, theirs: str, outwards: bool, after: int) -> None:
    """Copies, and is gone when so many checkpoints are done."""

    def tell(done: int, total: int) -> None:
        if done >= after:
            os.kill(os.getpid(), signal.SIGKILL)

    with WyrdSaver.from_conn_string(ours) as one, official_sync(theirs) as other:
        copy(*((one, other) if outwards else (other, one)), progress=tell)


@pytest.mark.parametrize("kind", OFFICIAL)
@pytest.mark.parametrize("outwards", [True, False], ids=["to theirs", "to ours"])
def test_killed_and_run_again(
    kind: str, outwards: bool, sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """From memory into ours, on to the official saver and back: killed twice on the way each time,
    and every thread has its question, and its answer."""
    memory = InMemorySaver()
    filled(memory, 12)
    ours = sqlite.open()
    with another(kind, request, tmp_path) as url, official_sync(url) as theirs:
        source = ours if outwards else theirs
        total = copy(memory, source).checkpoints
        ours.close()
        for after in (total // 3, 2 * total // 3):
            child = forked.Process(target=copy_and_die, args=(sqlite.url, url, outwards, after))
            child.start()
            child.join()
            assert child.exitcode == -signal.SIGKILL
        ours = sqlite.open()
        source, target = (ours, theirs) if outwards else (theirs, ours)
        calls: list[tuple[int, int]] = []
        report = copy(source, target, progress=lambda *each: calls.append(each))
        assert report.checkpoints + report.there == total
        assert report.there >= total // 2
        assert calls[-1] == (total, total)
        for thread in ("t0", "t6", "t11"):
            assert gone_on(target, thread) == gone_on(memory, thread)


class Own(JsonPlusSerializer):
    """A serde of somebody's own, which may pack anything in any way."""


def test_what_a_serde_of_its_own_leaves_behind(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    """Checkpoints go along; that what people declared does not is said in the log."""
    source, target = backend.open(serde=Own()), WyrdSaver.from_conn_string("sqlite://")
    put(source, "t", {"log": ["a"]})
    source.thread("t").add_todo("call back")
    with target:
        assert copy(source, target).checkpoints == 1
        assert target.get_tuple(config("t")) is not None
        assert target.thread("t").working_state().todos == ()
    assert "edits, decisions" in caplog.text
