"""`verify`: names damage, and finds nothing in threads that nobody damaged."""

from __future__ import annotations

import contextlib
import operator
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.port import copy
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, talk
from tests.handmade import checkpoint, config, new_id, put
from tests.outside import is_postgres, raw
from tests.programs import played
from tests.story import Teller


@pytest.fixture
def made(durable: Backend) -> Backend:
    """Two threads; the second waits for a person, and was forked."""
    saver = durable.open()
    talk(saver, "t")
    talk(saver, "u", 2, last="approve this")
    old = list(saver.list(at("u")))[4]
    Agent().build(saver).invoke({"messages": [HumanMessage("forked", id="f")]}, old.config)
    saver.close()
    return durable


def test_a_sound_database_has_no_findings(made: Backend) -> None:
    """Nothing is reported that is as it was written."""
    saver = made.open()
    seen: list[tuple[int, int]] = []
    report = saver.verify(progress=lambda done, total: seen.append((done, total)))
    assert report.ok, str(report)
    assert not report.findings, str(report)
    assert (report.threads, seen) == (2, [(1, 2), (2, 2)])
    assert str(report) == "2 threads verified: no damage"


async def test_pruned_and_reextracted_threads_are_sound(made: Backend) -> None:
    """What went was meant to go."""
    saver = made.open()
    saver.prune(["t"])
    saver.copy_thread("u", "copy")
    saver.reextract("u")
    report = await saver.averify()
    assert report.ok, str(report)
    with pytest.raises(errors.ThreadNotFound):
        saver.verify("nobody")


@pytest.mark.parametrize(
    "value", [1e300, 1e16, -1.5e22, [{"a": 1e23}, '1e300 " 1e5'], -0.0, 5e-324, 1.0, 10**30]
)
async def test_numbers_of_any_size_are_as_they_were(
    durable: Backend, value: Any, call: Callable[..., Any]
) -> None:
    """A listing gives the number that was stored, and a float as a float, whatever JSON the
    database keeps it as; another number in a table is damage."""
    saver = durable.open()
    put(saver, "t", {"log": ["a"]})
    saver.thread("t").set_context("k", value)
    saver.thread("t").add_open_loop("ask", context={"n": value})
    (loop,) = await call(saver, "open_loops")
    assert repr(loop.context["n"]).replace("-0.0", "0.0") == repr(value).replace("-0.0", "0.0")
    assert saver.verify().ok, str(saver.verify())
    Rows(durable.url, "wyrd_context").run("UPDATE {} SET value = '1e299'")
    assert [each.table for each in saver.verify().findings] == ["wyrd_context"]


def test_threads_whose_working_state_was_never_read(durable: Backend) -> None:
    """With pillars=False nothing is shown of them, and that is no damage; a saver that reads
    working states notes that it will."""
    saver = durable.open(pillars=False)
    talk(saver, "t", 1, last="approve this")
    assert not saver.verify().findings
    (found,) = durable.open().verify().findings
    assert (found.place, found.damage) == ("its working state", False)


# Random programs, forks and subgraphs included.


@pytest.mark.parametrize("seed", [3004, 3005, 3019])
def test_a_sound_thread(durable: Backend, seed: int) -> None:
    """After every act; a row of the tables that was written once more is no damage."""
    saver = durable.open()

    def look(teller: Teller, turn: int) -> None:
        assert saver.verify(pages=False).ok, f"turn {turn}"

    played(seed, [saver], asynchronous=seed % 2 == 0, between=look)


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def test_a_thread_that_runs(durable: Backend) -> None:
    """One task has ended and another has not: verify finds nothing wrong."""
    saver, other = durable.open(), durable.open()
    config: Any = {"configurable": {"thread_id": "t"}}
    looked, columns, reports = threading.Event(), [], []

    def due() -> list[str]:
        return [each.node for each in other.thread("t").working_state().due]

    def quick(state: Log) -> Log:
        deadline = time.monotonic() + 120
        while other.get_tuple(config) is None or due() != ["quick", "slow"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return {"log": ["quick"]}

    def slow(state: Log) -> Log:
        assert looked.wait(120)
        return {"log": ["slow"]}

    def write(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        put_writes(config, writes, task_id, task_path)
        if ("log", ["quick"]) in writes:
            (row,) = Rows(durable.url, "wyrd_threads").all("WHERE thread_id = 't'")
            columns.append(str(row["due"]))
            reports.append((due(), other.verify(pages=False)))
            looked.set()

    put_writes = saver.put_writes
    saver.put_writes = write  # type: ignore[method-assign]
    builder = StateGraph(Log).add_node("quick", quick).add_node("slow", slow)
    graph = builder.add_edge(START, "quick").add_edge(START, "slow").compile(checkpointer=saver)
    graph.invoke({"log": []}, config)
    ((left, report),) = reports
    assert (left, report.damages) == (["slow"], ())
    assert "quick" in columns[0], "the column is as it was: nothing was to be seen of this"
    assert other.verify(pages=False).ok


# Threads made in every other way; a repair leaves them as they are.


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def shown(saver: WyrdSaver) -> list[str]:
    """What a person sees of the thread, without times."""
    return [line for line in str(saver.thread("t").working_state()).splitlines()[1:] if line]


def check(saver: WyrdSaver) -> None:
    """Nothing is found, and neither a repair nor a reading anew changes what is reported."""
    before = shown(saver)
    report = saver.verify()
    assert report.ok, str(report)
    assert not report.findings, str(report)
    saver.verify(repair=True)
    assert shown(saver) == before
    saver.reextract("t")
    assert shown(saver) == before
    assert saver.verify().ok


def fails(how: str) -> Any:
    if how == "asks":
        return interrupt("Shall I?")
    raise ValueError("not today")


@pytest.mark.parametrize("how", ["fails", "asks"])
def test_a_call_that_brings_its_caller_down(durable: Backend, how: str) -> None:
    """A `@task` and the entrypoint that waits for it report the same error, or question: it is one,
    told of the one that came first."""
    saver = durable.open()

    @task
    def inner(n: int) -> Any:
        return fails(how)

    @entrypoint(checkpointer=saver)
    def outer(n: int) -> Any:
        return inner(n).result()

    with contextlib.suppress(ValueError):
        outer.invoke(1, CONFIG)
    kind = "interrupt" if how == "asks" else "error"
    loops = saver.thread("t").working_state().open_loops
    assert [loop.kind for loop in loops] == [kind]
    check(saver)
    with contextlib.suppress(ValueError):
        outer.invoke(Command(resume="yes") if how == "asks" else None, CONFIG)
    check(saver)


@pytest.mark.parametrize("first", ["call", "caller"])
def test_whichever_came_first(durable: Backend, first: str) -> None:
    """Two writes at once may arrive in either order; of the two errors the first one stands."""
    saver = durable.open()

    @task
    def inner(n: int) -> int:
        raise ValueError("not today")

    @entrypoint(checkpointer=saver)
    def outer(n: int) -> int:
        return inner(n).result()

    held: list[Any] = []
    writes = WyrdSaver.put_writes

    def hold(self: Any, config: Any, some: Any, task_id: str, task_path: str = "") -> None:
        held.append((config, some, task_id, task_path))

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(ValueError):
        patch.setattr(WyrdSaver, "put_writes", hold)
        outer.invoke(1, CONFIG)
    held.sort(key=lambda each: ("__pregel_push" in each[3]) is (first == "caller"))
    assert len(held) == 2
    for each in held:
        writes(saver, *each)
    (loop,) = saver.thread("t").working_state().open_loops
    assert bool(loop.context.get("called")) is (first == "call")
    check(saver)


@pytest.mark.parametrize("first", ["call", "caller"])
def test_whichever_came_first_before_its_checkpoint(durable: Backend, first: str) -> None:
    """Another saver stores the checkpoint after them, and finds them in the order of arrival."""
    one, two = durable.open(), durable.open()
    begun = put(one, "t", {"x": 1})["configurable"]["checkpoint_id"]
    at = new_id()
    paths = ["~__pregel_push, ~__pregel_pull, outer, 0, 1", "~__pregel_pull, outer"]
    for path in paths if first == "call" else paths[::-1]:
        error = ("__error__", ValueError("not today"))
        one.put_writes(config("t", at), [error], f"task {paths.index(path)}", path)
    put(two, "t", {"x": 2}, parent=begun, id=at)
    (loop,) = two.thread("t").working_state().open_loops
    assert bool(loop.context.get("called")) is (first == "call")
    check(two)


class State(TypedDict, total=False):
    topic: str
    parts: Annotated[list[str], operator.add]


def asking() -> Any:
    sub = StateGraph(State).add_node("one", lambda _: {"parts": ["one"]})
    sub.add_node("two", lambda _: {"parts": [interrupt("Which?")]})
    sub.add_edge(START, "one").add_edge("one", "two")
    builder = StateGraph(State).add_node("begin", lambda _: {"topic": "birds"})
    builder.add_node("sub", sub.compile()).add_node("end", lambda _: {"parts": ["end"]})
    return builder.add_edge(START, "begin").add_edge("begin", "sub").add_edge("sub", "end")


def test_a_subgraph_that_waits_and_a_fork(durable: Backend) -> None:
    """What a subgraph holds while it waits, and what a fork puts back, is as the ledger says."""
    saver = durable.open()
    graph = asking().compile(checkpointer=saver)
    graph.invoke({"topic": "cats", "parts": []}, CONFIG)
    check(saver)
    graph.invoke(Command(resume="that one"), CONFIG)
    check(saver)
    for past in [each for each in graph.get_state_history(CONFIG) if each.next == ("sub",)]:
        graph.invoke(None, past.config)
        check(saver)
        graph.invoke(Command(resume="another one"), CONFIG)
        check(saver)


def joined(old: list[Any], writes: Any) -> list[Any]:
    for each in writes:
        old = add_messages(old, each)  # type: ignore[assignment]
    return old


class Delta(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(joined)]


class Asked(TypedDict, total=False):
    number: Annotated[int, lambda old, new: new]
    log: Annotated[list[Any], operator.add]


def test_more_subgraphs_that_ask_than_a_state_keeps(durable: Backend) -> None:
    """Of 20 questions that end at once a state keeps 16; the table has the others as they were."""
    ask = StateGraph(Asked)
    ask.add_node("first", lambda state: {})
    ask.add_node("ask", lambda state: {"log": [interrupt(f"question {state['number']}")]})
    ask.add_edge(START, "first").add_edge("first", "ask")
    builder = StateGraph(Asked).add_node("call", ask.compile())
    builder.add_conditional_edges(
        START, lambda state: [Send("call", {"number": n, "log": []}) for n in range(20)], ["call"]
    )
    graph = builder.compile(checkpointer=durable.open())
    graph.invoke({"log": []}, config("t"))
    asked = graph.get_state(config("t")).interrupts
    graph.invoke(Command(resume={each.id: each.value for each in asked}), config("t"))
    report = durable.open().verify()
    assert not report.findings, str(report)


@pytest.mark.parametrize("how", ["pairs", "a pair", "text"])
def test_messages_given_in_short(durable: Backend, how: str) -> None:
    """A `("human", "…")` comes back from the database as a list, and is still a request; bare text
    is one, too."""
    saver = durable.open()
    builder = StateGraph(Delta).add_node("say", lambda _: {"messages": [AIMessage("Yes.", id="a")]})
    graph = builder.add_edge(START, "say").compile(checkpointer=saver)
    said = ("human", "Please feed the cat")
    given = {"pairs": [said], "a pair": said, "text": said[1]}[how]
    graph.invoke({"messages": given}, CONFIG)
    (intention,) = saver.thread("t").working_state().intentions
    assert intention.text == "Please feed the cat"
    assert not any("@" in line for line in shown(saver))
    check(saver)


def together(state: dict[str, int] | None, writes: Any) -> dict[str, int]:
    return {name: each for held in (state or {}, *writes) for name, each in held.items()}


def after_each(*channels: Any) -> Any:
    return TypedDict(
        "Kept", {"messages": Annotated[list[Any], channels[0]],
                 "notes": Annotated[dict[str, int], channels[1]], "n": int},
    )  # fmt: skip


@pytest.mark.parametrize("frequency", [1, 2, 3])
@pytest.mark.parametrize("late", [False, True])
def test_what_comes_after_a_snapshot(durable: Backend, frequency: int, late: bool) -> None:
    """The checkpoint after one that holds a delta channel's value tells what came in as any other
    does, and nothing is gone: the same as of channels that are kept whole."""
    saver, other = durable.open(), durable.open()

    def graph_of(state: Any, saver: Any) -> Any:
        def work(state: Any) -> Any:
            n = state["n"]
            call = {"name": "look", "args": {}, "id": f"c{n}"}
            said = [AIMessage("", id=f"a{n}", tool_calls=[call])]
            return {"messages": said, "notes": {f"k{n}": n}, "n": n + 1}

        builder = StateGraph(state).add_node("work", work).add_node("rest", lambda _: {})
        return builder.add_edge(START, "work").add_edge("work", "rest").compile(checkpointer=saver)

    whole = graph_of(after_each(add_messages, lambda a, b: together(a, [b])), saver)
    kept = {"snapshot_frequency": frequency}
    deltas = graph_of(after_each(DeltaChannel(joined, **kept), DeltaChannel(together, **kept)),
                      other if late else saver)  # fmt: skip
    for n in range(5):
        given = {"messages": [("human", f"Please feed cat {n}")], "n": n}
        for graph, thread in ((whole, "whole"), (deltas, "t")):
            where = {"configurable": {"thread_id": thread}}
            graph.invoke(given, where, durability="async" if late else "sync")
        both = [saver.thread(thread).working_state() for thread in ("whole", "t")]
        wanted = {"n": n + 1, "notes": {f"k{each}": each for each in range(n + 1)}}
        assert [{item.key: item.value for item in s.context} for s in both] == [wanted, wanted]
        loops = [[(loop.kind, loop.description, loop.resolved) for loop in s.loops] for s in both]
        assert loops[0] == loops[1]
        assert both[0].intention.text == both[1].intention.text
    check(saver)


def test_threads_that_others_stored(durable: Backend) -> None:
    """Other savers do not say in which order tasks wrote: what arrives from them is sound, too."""
    memory = InMemorySaver()

    @task
    def inner(how: str) -> Any:
        return fails(how)

    @entrypoint(checkpointer=memory)
    def outer(n: int) -> Any:
        return inner("asks").result() + inner("fails").result()

    outer.invoke(1, CONFIG)
    with contextlib.suppress(ValueError):
        outer.invoke(Command(resume="yes"), CONFIG)
    saver = durable.open()
    copy(memory, saver)
    assert "error" in [loop.kind for loop in saver.thread("t").working_state().open_loops]
    check(saver)


# ---- the thread's own row


WRONG = {
    "head": "head = NULL",
    "another head": "head = (SELECT min(id) FROM wyrd_checkpoints)",
    "version": "version = 0",
    "buried": "buried = (SELECT max(id) FROM wyrd_checkpoints)",
    "deleted_at": "deleted_at = updated",
    "status": "status = 'idle'",
    "reason": "reason = 'none'",
    "title": "title = 'another'",
    "open_loops": "open_loops = 7",
    "open_todos": "open_todos = 7",
}


@pytest.mark.parametrize("what", WRONG)
def test_a_column_of_the_threads_row(made: Backend, what: str) -> None:
    """What does not agree with the thread's checkpoints or events is named, and made again."""
    threads = Rows(made.url, "wyrd_threads")
    sound = threads.all("WHERE thread_id = 'u'")[0]
    threads.run(f"UPDATE {{}} SET {WRONG[what]} WHERE thread_id = 'u'")
    column = WRONG[what].partition(" ")[0]
    saver = made.open()
    (found,) = saver.verify().findings
    assert (found.table, found.thread_id, found.repairable) == ("wyrd_threads", "u", True)
    assert f"its {column} " in found.what
    assert str(found).startswith("wyrd_threads, thread 'u', ")
    (done,) = saver.verify(repair=True).findings
    assert done.repaired
    assert saver.verify().ok
    after = threads.all("WHERE thread_id = 'u'")[0]
    assert after["version"] >= sound["version"]
    moves = ("version", "writer", "updated")
    assert {k: v for k, v in after.items() if k not in moves} == {
        k: v for k, v in sound.items() if k not in moves
    }


def test_a_writer_ahead_of_a_repair(made: Backend) -> None:
    """A repair that waits for another writer goes by what that one stored, and takes back nothing
    of it."""
    threads = Rows(made.url, "wyrd_threads")
    threads.run("UPDATE {} SET head = NULL WHERE thread_id = 'u'")
    saver = made.open()
    with raw(made.url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN" if is_postgres(made.url) else "BEGIN IMMEDIATE")
        moved = "version = version + 5, title = 'newer', updated = '2999-01-01T00:00:00.000000Z'"
        other.execute(f"UPDATE wyrd_threads SET {moved} WHERE thread_id = 'u'")
        reading = pool.submit(saver.get_tuple, at("u"))
        time.sleep(0.5)
        assert not reading.done()
        other.execute("COMMIT")
        assert reading.result(200)
    after = threads.all("WHERE thread_id = 'u'")[0]
    assert after["head"] is not None
    assert after["updated"].startswith("2999")


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "label": lambda saver, head: saver.thread("u").label("here"),
    "get_tuple": lambda saver, head: saver.get_tuple(at("u")),
    "list": lambda saver, head: [*saver.list(at("u"))],
    "put": lambda saver, head: saver.put(head.config, checkpoint(), {"source": "loop"}, {}),
    "put again": lambda saver, head: saver.put(
        head.parent_config, {**head.checkpoint, "channel_values": {}}, {"source": "loop"}, {}
    ),
    "put_writes": lambda saver, head: saver.put_writes(head.config, [("log", ["x"])], "task"),
    "reextract": lambda saver, head: saver.reextract("u"),
    "verify": lambda saver, head: saver.verify("u", repair=True),
}


@pytest.mark.parametrize("called", CALLS)
def test_a_row_that_somebody_else_puts_back(made: Backend, called: str) -> None:
    """A thread's row is missing, and comes back just when a call restores it: the call goes on."""
    saver, threads = made.open(), Rows(made.url, "wyrd_threads")
    sound = threads.all("WHERE thread_id = 'u'")[0]
    sound.pop("minute", None)  # which Postgres makes itself
    head = saver.get_tuple(at("u"))
    saver.close()
    saver = made.open()
    threads.run("DELETE FROM {} WHERE thread_id = 'u'")
    with raw(made.url) as other, ThreadPoolExecutor(1) as pool:
        mark = "%s" if is_postgres(made.url) else "?"
        other.execute("BEGIN" if is_postgres(made.url) else "BEGIN IMMEDIATE")
        marks = ", ".join([mark] * len(sound))
        names = ", ".join(sound)
        other.execute(f"INSERT INTO wyrd_threads ({names}) VALUES ({marks})", [*sound.values()])
        writing = pool.submit(CALLS[called], saver, head)
        time.sleep(0.5)
        assert not writing.done()
        other.execute("COMMIT")
        writing.result(200)
    assert not saver.verify("u").findings


def test_a_thread_that_comes_between_two_statements(postgres: Backend) -> None:
    """On Postgres each statement of a write sees what others have committed by then: a thread that
    is not there at the first one, and is at the second, is no damaged one."""
    saver = postgres.open(on_damage="raise")
    talk(saver, "u")
    Rows(postgres.url, "wyrd_threads").run("UPDATE {} SET deleted_at = updated")
    with raw(postgres.url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN")
        other.execute("LOCK TABLE wyrd_parity IN ACCESS EXCLUSIVE MODE")
        other.execute("UPDATE wyrd_threads SET deleted_at = NULL")
        writing = pool.submit(saver.delete_thread, "u")
        time.sleep(0.5)
        assert not writing.done()
        other.execute("COMMIT")
        writing.result(200)
    assert saver.get_tuple(at("u")) is None


@pytest.mark.parametrize("by", ["verify", "get_tuple"])
def test_a_thread_whose_name_was_changed(made: Backend, by: str) -> None:
    """Its parity names it: who asks for it is given it, and its row gets its name back."""
    with made.open() as saver:
        before = saver.get_tuple(at("u"))
    threads = Rows(made.url, "wyrd_threads")
    sound = threads.all("WHERE thread_id = 'u'")
    assert threads.run("UPDATE {} SET thread_id = 'other' WHERE thread_id = 'u'")
    saver = made.open()
    if by == "verify":
        (found,) = saver.verify(repair=True).findings
        assert (found.thread_id, found.repaired) == ("u", True)
        assert found.what == "its thread_id is not what its checkpoints say"
    assert saver.get_tuple(at("u")) == before
    assert threads.all("WHERE thread_id = 'u'") == sound
    assert not threads.all("WHERE thread_id = 'other'")
    assert not saver.verify().findings


@pytest.mark.parametrize("thread_id", ["u", None])
def test_a_threads_row_that_is_missing(made: Backend, thread_id: str | None) -> None:
    """Its parity names the thread: it is found, and its row is made again with its owner."""
    saver = made.open()
    talk(saver, "u", 1, user="ada")
    before = saver.get_tuple(at("u"))
    shown = saver.thread("u").working_state()
    saver.close()
    threads = Rows(made.url, "wyrd_threads")
    sound = threads.all("WHERE thread_id = 'u'")[0]
    threads.run("DELETE FROM {} WHERE thread_id = 'u'")
    saver = made.open()
    (found,) = saver.verify(thread_id).findings
    assert (found.table, found.thread_id, found.what) == ("wyrd_threads", "u", "it is missing")
    assert saver.verify(thread_id, repair=True).ok
    assert not saver.verify().findings
    after = threads.all("WHERE thread_id = 'u'")[0]
    kept = ("head", "user_id", "status", "reason", "title", "open_loops", "open_todos")
    assert {name: after[name] for name in kept} == {name: sound[name] for name in kept}
    assert saver.get_tuple(at("u")) == before
    assert saver.thread("u").working_state() == shown


def test_a_column_of_a_wrong_type(sqlite: Backend) -> None:
    """What no saver stores in a column is named. SQLite keeps whatever it is given."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    saver.thread("t").decide("so be it")
    saver.close()
    threads = Rows(sqlite.url, "wyrd_threads")
    sound = threads.all()[0]
    threads.run("UPDATE {} SET open_todos = 'many', created = x'00'")
    Rows(sqlite.url, "wyrd_open_loops").run("UPDATE {} SET description = x'00'")
    saver = sqlite.open()
    report = saver.verify()
    assert {(each.table, each.what) for each in report.findings} == {
        ("wyrd_threads", "its created is not what its checkpoints say"),
        ("wyrd_threads", "its open_todos is not what its checkpoints say"),
        ("wyrd_open_loops", "its description can't be what was stored"),
    }
    assert all(each.repairable for each in report.findings)
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    (held,) = saver.open_loops(kind="decision")
    assert held.description == "so be it"
    assert {**threads.all()[0], "created": ""} == {**sound, "created": ""}


# ---- rows of no thread


def test_rows_of_no_thread(made: Backend) -> None:
    """They are named; a repair removes those that are derived, and keeps what nothing else has."""
    key = Rows(made.url, "wyrd_threads").all("WHERE thread_id = 'u'")[0]["key"]
    Rows(made.url, "wyrd_parity").run("DELETE FROM {} WHERE thread = ?", key)
    Rows(made.url, "wyrd_threads").run("DELETE FROM {} WHERE key = ?", key)
    saver = made.open()
    found = saver.verify().findings
    assert {each.thread_id for each in found} == {None}
    assert {each.place for each in found} == {"a row of no thread"}
    assert str(found[0]).startswith(f"{found[0].table}, a row of no thread: it is of a thread")
    kept = {each.table for each in found if not each.repairable}
    assert kept == {"wyrd_checkpoints", "wyrd_writes"}
    report = saver.verify(repair=True)
    assert {each.table for each in report.damages if not each.repaired} == kept
    assert {each.table for each in saver.verify().damages} == kept
    assert saver.verify("t").ok


def values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what the database makes itself, in an order of their own."""
    made = [{k: v for k, v in row.items() if k not in ("row", "committed")} for row in rows]
    return sorted(made, key=repr)


def test_a_row_that_moved_to_no_thread(made: Backend) -> None:
    """It is restored where it belongs, and what stands elsewhere is removed."""
    key = Rows(made.url, "wyrd_threads").all("WHERE thread_id = 'u'")[0]["key"]
    nowhere = key + 1 if isinstance(key, int) else b"x" * 16
    rows = Rows(made.url, "wyrd_writes")
    sound = rows.all("WHERE thread = ?", key)
    where = "thread = ? AND task = ? AND seq = ?"
    moved = (key, sound[0]["task"], sound[0]["seq"])
    assert rows.run(f"UPDATE {{}} SET thread = ? WHERE {where}", nowhere, *moved) == 1
    saver = made.open()
    assert ("wyrd_writes", None, "a row of no thread") in {
        (each.table, each.thread_id, each.place) for each in saver.verify().findings
    }
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert not rows.all("WHERE thread = ?", nowhere)
    assert values(rows.all("WHERE thread = ?", key)) == values(sound)


# ---- remedies


REMEDIES = [
    ("wyrd_labels", "seq = seq + 1024", "can be restored to the byte"),
    ("wyrd_labels", "seq = seq + 9911", "stays: what it held is lost"),
    ("wyrd_search", "text = 'never'", "a repair makes it again from what it is derived of"),
]


@pytest.mark.parametrize(("table", "how", "remedy"), REMEDIES)
def test_what_a_repair_can_do(made: Backend, table: str, how: str, remedy: str) -> None:
    """A finding says what a repair does about it, and the repair does that."""
    saver = made.open()
    saver.thread("t").label("here")
    assert saver.threads(text="turn 1")
    saver.close()
    rows = Rows(made.url, table)
    sound = rows.all()
    assert rows.run(f"UPDATE {{}} SET {how}")
    damaged = rows.all()
    saver = made.open()
    found = saver.verify().findings
    assert {(each.table, each.what, each.remedy) for each in found} == {
        (table, "it fails its checksum", remedy)
    }
    assert saver.verify(repair=True).ok != remedy.startswith("stays")
    assert saver.threads(text="turn 1")
    assert rows.all() == (damaged if remedy.startswith("stays") else sound)


def test_a_record_of_migrations_that_was_changed(made: Backend) -> None:
    """It is named, and restored: the library knows which migrations there are."""
    rows = Rows(made.url, "wyrd_migrations")
    sound = [{**row, "applied_at": None} for row in rows.all()]
    saver = made.open()
    assert saver.verify().ok
    assert rows.run("UPDATE {} SET name = 'another'")
    (found,) = saver.verify().findings
    assert (found.table, found.place, found.repairable) == ("wyrd_migrations", "rows", True)
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert [{**row, "applied_at": None} for row in rows.all()] == sound


@pytest.mark.parametrize(("how", "kind"), [("data", "exact"), ("tags", "left_out")])
def test_a_damaged_group(durable: Backend, how: str, kind: str) -> None:
    """The rows are grouped anew. Where the group's tags are readable, and all that they name is
    there, nothing can be missing; else that is said."""
    with durable.open() as saver:
        talk(saver, "t", 1)
    rows = Rows(durable.url, "wyrd_parity")
    assert len(rows.all()) == 1
    rows.run(f"UPDATE {{}} SET {how} = ?", b"\1" * 8)
    saver = durable.open()
    assert {each.table for each in saver.verify(repair=True).damages} == {"wyrd_parity"}
    assert not saver.verify().findings
    assert [heal.kind for heal in saver.thread("t").heals()] == [kind]


def test_a_file_whose_pages_are_damaged(sqlite: Backend) -> None:
    """What SQLite finds in its file is reported, and no repair is tried above it."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    saver.close()
    index = ("wyrd_threads_read_by",)
    with raw(sqlite.url) as connection:
        held = connection.execute("SELECT * FROM sqlite_master WHERE name = ?", index).fetchone()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = ?", index)
    saver = sqlite.open()
    talk(saver, "u", 1)
    saver.close()
    with raw(sqlite.url) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", held)
    saver = sqlite.open()
    found = saver.verify(repair=True).findings
    assert {(each.table, each.thread_id, each.place) for each in found} == {
        ("the file", None, "pages")
    }
    assert any("missing from index wyrd_threads_read_by" in each.what for each in found)
    assert not any(each.repaired or each.repairable for each in found)
    assert saver.verify(pages=False).ok


def test_a_thread_whose_pages_are_damaged(sqlite: Backend) -> None:
    """What can't be read at all is said of each thread that has rows there."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    talk(saver, "u", 1)
    assert saver.threads(text="looking")  # makes its table's rows
    saver.close()
    path = Path(sqlite.url.removeprefix("sqlite:///"))
    with raw(sqlite.url) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'wyrd_search'"
        ).fetchone()
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = bytes(0x55 for _ in range(size))
    path.write_bytes(data)
    saver = sqlite.open()
    found = saver.verify(pages=False, repair=True).findings
    assert {(each.table, each.thread_id, each.place) for each in found} == {
        ("the file", thread_id, "pages") for thread_id in (None, "t", "u")
    }
    assert {each.what for each in found} == {"database disk image is malformed"}
    assert not any(each.repairable for each in found)
    assert len(saver.verify("t", pages=False).findings) == 1
    assert saver.get_tuple(at("t"))
