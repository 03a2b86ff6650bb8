"""The pillars read out of what is stored are those that were read out of what was being stored."""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from langgraph_wyrd import Extractors, WyrdSaver
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.extraction import registry
from langgraph_wyrd.state.facts import Opens
from langgraph_wyrd.state.model import WorkingState
from tests.conftest import Backend
from tests.handmade import config, put
from tests.held_runs import ask, chain, first
from tests.outside import raw
from tests.programs import (
    comparable,
    lasting,
    other_database,
    played,
    seeds,
    states_of,
    talk,
    watching,
)
from tests.story import Teller
from tests.tables import (
    TABLES,
    all_text,
    check_tables,
    derived,
    differences,
    every_thread,
    shown_tables,
)


def left_last(states: dict[str, WorkingState]) -> dict[str, WorkingState]:
    """The states with what was left behind on another branch in one place: live it stands where
    the thread turned away from it, read again where the branch is known to end."""
    return {
        id: replace(state, loops=tuple(sorted(state.loops, key=lambda loop: loop.left)))
        for id, state in states.items()
    }


def test_reextracting_changes_nothing(durable: Backend, asynchronous: bool) -> None:
    """What was read live stands as it was: every row of the tables, and the past."""
    saver = durable.open()
    for seed in seeds(3000, 8, durable):
        thread = played(seed, [saver], asynchronous=asynchronous).thread
        before, past = derived(saver, durable.url), states_of(saver, thread)
        saver.reextract()
        again = durable.open()
        parted = differences(derived(again, durable.url), before)
        assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"
        assert left_last(states_of(again, thread)) == left_last(past), f"seed {seed}"


def test_what_was_written_without_pillars(
    durable: Backend, asynchronous: bool, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    """A database written with pillars=False gets the pillars that it would have had."""
    with other_database(durable.name, request, tmp_path) as other:
        plain = other.open(pillars=False)
        saver = watching(durable).begin([[plain]], watch=False)
        reader = other.open()
        for seed in seeds(4000, 6, durable):
            teller = played(seed, [saver], asynchronous=asynchronous)
            reader.reextract()
            check_tables(reader, other.url, f"seed {seed}")
            found, wanted = states_of(reader, teller.thread), states_of(saver, teller.thread)
            assert found.keys() == wanted.keys()
            for id, state in wanted.items():
                assert lasting(found[id]) == lasting(state), f"seed {seed} at {id}"


@pytest.mark.parametrize("seed", [4008, 4015, 31006, 31007])
def test_programs_that_were_read_otherwise(
    sqlite: Backend, seed: int, asynchronous: bool, tmp_path: Any
) -> None:
    """Where a question stands next to an error or an answer, the writes tell which was last."""
    other = Backend("sqlite", f"sqlite:///{tmp_path / 'other.db'}")
    try:
        plain = other.open(pillars=False)
        saver = watching(sqlite).begin([[plain]], watch=False)
        teller = played(seed, [saver], asynchronous=asynchronous)
        reader = other.open()
        reader.reextract()
        found, wanted = states_of(reader, teller.thread), states_of(saver, teller.thread)
        assert {id: lasting(state) for id, state in found.items()} == {
            id: lasting(state) for id, state in wanted.items()
        }
    finally:
        for each in other.opened:
            each.close()


def test_lost_tables_come_back(durable: Backend) -> None:
    """Whoever empties the public tables loses nothing: they are made again."""
    saver = durable.open()
    thread = played(5000, [saver], asynchronous=False).thread
    before, past = derived(saver, durable.url), states_of(saver, thread)
    with raw(durable.url) as connection:
        for table in TABLES.values():
            connection.execute(f"DELETE FROM {table}")
    again = durable.open()
    again.reextract(thread)
    assert not differences(derived(again, durable.url), before)
    assert states_of(again, thread) == past


class Asked(TypedDict, total=False):
    said: Annotated[list[str], operator.add]


@pytest.mark.parametrize("retried", [False, True], ids=["fails when answered", "asks when retried"])
async def test_a_question_next_to_an_error(durable: Backend, call: Any, retried: bool) -> None:
    """Asked, answered, and failed before the answer was taken; or failed, and asked the next time:
    both leave the same writes. What was told stays, and nothing is taken for damage."""
    fails = [retried]

    def ask(state: Asked) -> Asked:
        if fails[0]:
            raise RuntimeError("no")
        return {"said": [interrupt("go on?")]}

    def last(state: Asked) -> Asked:
        return {"said": ["last"]}

    saver = durable.open()
    builder = StateGraph(Asked).add_node("ask", ask).add_node("last", last)
    graph = builder.add_edge(START, "ask").add_edge("ask", "last").compile(saver)
    for given in ({"said": ["in"]}, None if retried else Command(resume="yes")):
        with contextlib.suppress(RuntimeError):
            await call(graph, "invoke", given, config("t"))
        fails[0] = not fails[0]
    thread = saver.thread("t")
    before = await call(thread, "working_state")
    open_now = "interrupt" if retried else "error"
    assert [loop.kind for loop in before.open_loops] == [open_now]
    assert saver.verify().ok
    await call(saver, "reextract", "t")
    assert await call(thread, "working_state") == before
    fails[0] = False
    resumed = await call(graph, "invoke", Command(resume="yes") if retried else None, config("t"))
    assert resumed["said"] == ["in", "yes", "last"]
    assert (await call(thread, "working_state")).open_loops == ()
    assert saver.verify().ok


# ---- deleting and copying


def own(state: WorkingState) -> Any:
    """What a root's checkpoint says itself, without the subgraphs that ran there."""
    pillars = (state.open_loops, state.guessed_loops, state.todos, state.context, state.intentions)
    return [[item for item in items if not item.source.ns] for items in pillars], state.title


def test_pruning_keeps_the_states_of_what_stays(durable: Backend, asynchronous: bool) -> None:
    """After a prune every checkpoint that is left has the state it had, the tables too. Where delta
    channels keep an older one, those of its subgraphs may be gone, and what these said with them.
    """
    saver = durable.open()
    for seed in seeds(6000, 8, durable):

        def prune(teller: Teller, turn: int, seed: int = seed) -> None:
            before = states_of(saver, teller.thread)
            saver.prune([teller.thread])
            after = states_of(saver, teller.thread)
            for id, state in after.items():
                kept = comparable if id == max(after) else own
                assert kept(state) == kept(before[id]), f"seed {seed} turn {turn}"
            check_tables(saver, durable.url, f"seed {seed} turn {turn}")

        played(seed, [saver], asynchronous=asynchronous, past=False, between=prune)
        before = derived(saver, durable.url)
        saver.reextract()
        found = derived(durable.open(), durable.url)
        parted = [each for each in differences(found, before) if each[0] != "threads"]
        assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"


class Runs(WyrdSaver):
    """Says of every five checkpoints of the root that another run made them, with the subgraphs
    that they started."""

    count = 0

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        self.count += not config["configurable"].get("checkpoint_ns")
        named = {**metadata, "run_id": f"r{self.count // 5}"}
        return super().put(config, checkpoint, named, versions)

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)


def test_deleting_runs_keeps_the_states_of_what_stays(durable: Backend) -> None:
    """Checkpoints of other runs keep their states when those that they built on go."""
    saver = Runs.from_conn_string(durable.url)
    durable.opened.append(saver)
    dropped = 0
    for seed in seeds(7000, 6):
        first = saver.count // 5 + 1
        thread = played(seed, [saver], asynchronous=False).thread
        before = states_of(saver, thread)
        saver.delete_for_runs([f"r{first}"])
        after = states_of(saver, thread)
        dropped += len(before) - len(after)
        for found in saver.list({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}):
            if found.metadata.get("run_id") == f"r{first}":  # kept for its delta channels alone
                after.pop(found.config["configurable"]["checkpoint_id"], None)
        for id, state in after.items():
            assert comparable(state) == comparable(before[id]), f"seed {seed} at {id}"
        check_tables(saver, durable.url, f"seed {seed}")
    assert dropped


def test_a_thread_of_which_nothing_is_left_says_nothing(durable: Backend) -> None:
    """Deleting the only run of a thread leaves none of its words, in no column of any table."""
    saver = durable.open()
    talk(saver, "t", run="r", words=["please find the secret door"])
    assert "door" in all_text(durable.url)
    saver.delete_for_runs(["r"])
    assert "door" not in all_text(durable.url)
    assert not any(shown_tables(durable.url).values())
    for info in every_thread(saver):
        assert (info.status, info.reason, info.title, info.due) == (None, None, None, ())
        assert (info.open_loops, info.open_todos) == (0, 0)


def test_a_deleted_thread_says_nothing(durable: Backend) -> None:
    """Nothing of its words is left in any table."""
    saver = durable.open()
    talk(saver, "t", run="r", words=["please find the secret door"])
    saver.delete_thread("t")
    assert "door" not in all_text(durable.url)
    assert not any(shown_tables(durable.url).values())


def test_a_copy_has_the_same_pillars(durable: Backend, asynchronous: bool) -> None:
    """A copy's tables and states are the original's, under its own id."""
    saver = durable.open()
    for seed in seeds(8000, 5, durable):
        teller = played(seed, [saver], asynchronous=asynchronous)
        copied = f"{teller.thread}, copied"
        saver.copy_thread(teller.thread, copied)
        check_tables(saver, durable.url, f"seed {seed}")
        before = states_of(saver, teller.thread)
        for id, state in states_of(saver, copied).items():
            assert state.thread_id == copied
            assert lasting(state) == lasting(before[id])
        held = shown_tables(durable.url)["wyrd_open_loops"].values()
        ours = {row["id"] for row in held if row["thread_id"] == teller.thread}
        assert ours == {row["id"] for row in held if row["thread_id"] == copied}
        saver.delete_thread(teller.thread)
        check_tables(saver, durable.url, f"seed {seed}, the original deleted")


# ---- the rest


async def test_what_persons_declared_survives(durable: Backend, call: Any) -> None:
    """What somebody declared is in no checkpoint, and stays as it is."""
    saver = durable.open()
    talk(saver, "t", run="r", words=["please find the door"])
    thread = saver.thread("t")
    await call(thread, "add_open_loop", "ask Ann")
    await call(thread, "add_todo", "oil the lock")
    await call(thread, "set_context", "door", "red")
    await call(thread, "decide", "leave it open", "it is warm")
    before, past = derived(saver, durable.url), states_of(saver, "t")
    await call(saver, "reextract", "t")
    again = durable.open()
    assert not differences(derived(again, durable.url), before)
    assert states_of(again, "t") == past
    state = again.thread("t").working_state()
    assert "ask Ann" in [loop.description for loop in state.open_loops]
    assert [todo.content for todo in state.open_todos] == ["oil the lock"]


async def test_progress_is_reported(durable: Backend, call: Any) -> None:
    """After each thread: how many checkpoints of how many."""
    saver = durable.open()
    talk(saver, "a", run="r", words=["one", "two"])
    talk(saver, "b", run="r", words=["one"])
    told: list[tuple[int, int]] = []
    await call(saver, "reextract", progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]
    await call(saver, "reextract", "b", progress=lambda done, total: told.append((done, total)))
    assert told[2:] == [(1, 1)]


async def test_what_can_not_be_reextracted_is_refused(durable: Backend, call: Any) -> None:
    """An unknown thread, and a saver that reads no pillars."""
    with pytest.raises(ThreadNotFound):
        await call(durable.open(), "reextract", "nobody")
    with pytest.raises(InvalidInput):
        await call(durable.open(pillars=False), "reextract")


def read_live_and_later(
    durable: Backend, request: pytest.FixtureRequest, tmp_path: Any, fill: Callable[[Any], None]
) -> None:
    """The same checkpoints, read as they are stored and read out of what is stored."""
    fill(durable.open())
    with other_database(durable.name, request, tmp_path) as other:
        fill(other.open(pillars=False))
        reader = other.open()
        reader.reextract("t")
        saver = durable.open()
        assert not differences(derived(reader, other.url), derived(saver, durable.url))
        assert states_of(reader, "t") == states_of(saver, "t")


def test_children_that_sort_before_their_parents(
    durable: Backend, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    """Clocks differ: a checkpoint whose id is smaller than its parent's is read after it."""

    def fill(saver: WyrdSaver) -> None:
        said: list[Any] = [HumanMessage("please find the door", id="h")]
        first = put(saver, "t", {"messages": said}, id="3")
        said = [*said, AIMessage("it is behind you", id="a")]
        second = put(saver, "t", {"messages": said}, id="1", parent=first)
        said = [*said, HumanMessage("now open it please", id="h2")]
        put(saver, "t", {"messages": said}, id="2", parent=second)

    read_live_and_later(durable, request, tmp_path, fill)


def test_an_extractor_that_raises(durable: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """The save goes through and the log says what failed; re-extracting says it again."""

    def broken(view: Any) -> Any:
        raise RuntimeError("no idea")

    saver = durable.open(extractors=[broken])
    with caplog.at_level(logging.WARNING):
        talk(saver, "t", run="r", words=["please find the door"])
        assert "broken" in caplog.text
        assert saver.thread("t").working_state().title == "please find the door"
        before = derived(saver, durable.url)
        caplog.clear()
        saver.reextract()
        assert "broken" in caplog.text
    assert not differences(derived(durable.open(), durable.url), before)


def test_a_long_thread_is_reextracted_page_by_page(
    durable: Backend, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    """A list that was edited in the middle, or begun anew, is read as it was."""

    def fill(saver: WyrdSaver) -> None:
        head, said = None, []
        for n in range(110):
            said = [
                *said,
                HumanMessage(f"please do {n}", id=f"h{n}"),
                AIMessage("done", id=f"a{n}"),
            ]
            if n % 50 == 49:
                said = [HumanMessage("a summary of it all", id=f"s{n}"), *said[-6:]]
            if n % 7 == 3:
                said = [*said[:1], AIMessage(f"changed {n}", id=said[1].id), *said[2:]]
            head = put(saver, "t", {"messages": said, "n": n}, parent=head, id=f"{n:04}")

    read_live_and_later(durable, request, tmp_path, fill)


# What no extractor has read, or only older ones, is read on first use.


def notes(version: int | None) -> Any:
    """An extractor that opens a note for whatever is said; it has a version, or none."""

    def noting(view: Any) -> Iterator[Opens]:
        if view.putting and "said" in view.changed:
            where = view.at("noting", channel="said")
            yield Opens("note", f"noted by {version}", where, ref="noted")

    if version is not None:
        noting.version = version  # type: ignore[attr-defined]
    return noting


def noted(saver: WyrdSaver) -> list[str]:
    state = saver.thread("t").working_state()
    return [loop.description for loop in state.open_loops if loop.kind == "note"]


async def test_read_on_first_use(durable: Backend, call: Any) -> None:
    """Whoever looks at such a thread, or goes on with it, reads all of it first."""
    off, on = durable.open(pillars=False), durable.open()
    for turn, given in enumerate([{"said": ["in"]}, Command(resume="yes"), {"said": ["more"]}]):
        await call(chain(first, ask, checkpointer=off), "invoke", given, config("t"))
        assert [info.status for info in on.threads()] == ["unread"]
        assert [info.status for info in on.threads(status="unread")] == ["unread"]
        assert not on.threads(status=["idle", "done", "interrupted"])
        assert on.open_loops().unread == on.todos(thread_id="t").unread == 1
        assert on.open_loops(thread_id="other").unread == 0
        report = on.verify()
        assert report.ok
        assert "stale" in str(report)
        state = await call(on.thread("t"), "working_state")
        assert state.status == ("idle", "interrupted")[turn != 1] or state.status == "done"
        assert len(state.loops) == (1, 1, 2)[turn]
        assert [info.status for info in on.threads()] == [state.status]
        assert not on.threads(status="unread")
        assert on.open_loops().unread == 0
    await call(chain(first, ask, checkpointer=off), "invoke", Command(resume="yes"), config("t"))
    await call(chain(first, ask, checkpointer=on), "invoke", {"said": ["last"]}, config("t"))
    assert len((await call(on.thread("t"), "working_state")).loops) == 3
    assert on.verify().ok
    assert "stale" not in str(on.verify())


@pytest.mark.parametrize("pillars", [True, False])
async def test_an_answer_of_none_is_an_answer(
    durable: Backend, call: Any, pillars: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is to be told, nothing is read again, with the working state on or off."""
    saver = durable.open(pillars=pillars)
    await call(chain(first, ask, checkpointer=saver), "invoke", {"said": ["in"]}, config("t"))
    monkeypatch.setattr(WyrdSaver, "_reextract", None)
    assert await call(saver.thread("t"), "get_label", "no such label") is None


def stored_by(durable: Backend, extractors: Any) -> WyrdSaver:
    saver = durable.open(extractors=extractors)
    chain(first, ask, checkpointer=saver).invoke({"said": ["in"]}, config("t"))
    return saver


def test_an_extractor_was_added(durable: Backend) -> None:
    """A thread that it never read says so, and is read once; one that reads less has no doubt."""
    stored_by(durable, ())
    more, less = durable.open(extractors=[notes(None)]), durable.open()
    assert [info.status for info in more.threads()] == ["unread"]
    assert [info.status for info in less.threads()] == ["interrupted"]
    assert more.open_loops(kind="note").unread == 1
    assert "stale" in str(more.verify())
    assert more.verify().ok
    assert noted(more) == ["noted by None"]
    assert [info.status for info in more.threads()] == ["interrupted"]
    assert more.open_loops(kind="note").unread == 0
    assert noted(less) == ["noted by None"]  # what is read stays
    assert not more.threads(status="unread")


def test_an_extractor_has_a_newer_version(durable: Backend) -> None:
    """What the older version read is read again; the older one takes what the newer one read."""
    old = stored_by(durable, [notes(1)])
    assert noted(old) == ["noted by 1"]
    new = durable.open(extractors=[notes(2)])
    assert new.resume("t").state.status == "interrupted"  # a look like any other
    assert noted(new) == ["noted by 2"]
    assert [info.status for info in old.threads()] == ["interrupted"]
    assert noted(durable.open(extractors=[notes(1)])) == ["noted by 2"]


def test_the_default_extractors_have_a_newer_version(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of any other; threads that are stored from then on are not read twice."""
    stored_by(durable, ())
    monkeypatch.setattr(registry, "VERSION", registry.VERSION + 1)
    new = durable.open()
    assert [info.status for info in new.threads()] == ["unread"]
    chain(first, checkpointer=new).invoke({"said": ["in"]}, config("other"))
    found = {info.thread_id: info.status for info in new.threads()}
    assert found == {"t": "unread", "other": "idle"} or found["other"] == "done"
    assert new.latest(status="interrupted") is None
    assert new.thread("t").working_state().status == "interrupted"
    assert not new.threads(status="unread")


def test_going_on_with_less_is_read_again_with_more(durable: Backend) -> None:
    """What a saver without an extractor stores, the next saver that has it reads."""
    stored_by(durable, [notes(1)])
    less = durable.open(extractors=Extractors(off=["steps"]))
    chain(first, ask, checkpointer=less).invoke(Command(resume="yes"), config("t"))
    for extractors in ((), [notes(1)]):
        saver = durable.open(extractors=extractors)
        assert [info.status for info in saver.threads()] == ["unread"]
        saver.thread("t").working_state()
        assert [info.status for info in saver.threads()] != ["unread"]


def test_a_put_reads_first(durable: Backend) -> None:
    """A run that goes on with such a thread has the whole of it read before it stores anything."""
    stored_by(durable, ())
    saver = durable.open(extractors=[notes(1)])
    chain(first, ask, checkpointer=saver).invoke(Command(resume="yes"), config("t"))
    assert [info.status for info in saver.threads()] != ["unread"]
    assert noted(saver) == ["noted by 1"]
    saver.copy_thread("t", "copied")
    assert {info.status for info in saver.threads()} == {saver.threads()[0].status}
    assert noted(durable.open(extractors=[notes(1)])) == ["noted by 1"]


def test_what_a_run_that_is_over_asks_late(durable: Backend) -> None:
    """A question of a subgraph that comes when the thread has gone on is part of the past, read at
    once as it is read again."""
    saver = durable.open()
    root = put(saver, "t", {"log": ["a"]})
    id = root["configurable"]["checkpoint_id"]
    inner = put(saver, "t", {"log": ["a"]}, ns="sub:1", metadata={"parents": {"": id}})
    put(saver, "t", {"log": ["b"]}, parent=root, metadata={"source": "update", "step": 1})
    saver.put_writes(inner, [("__interrupt__", (Interrupt(value="late?", id="i1"),))], "task-1")
    state = saver.thread("t").working_state(at=id)
    assert [loop.description for loop in state.open_loops] == ["late?"]
    saver.reextract("t")
    assert saver.thread("t").working_state(at=id) == state


def test_an_answer_inside_a_subgraph_outlives_a_prune(durable: Backend) -> None:
    """A run that is stopped in a subgraph after somebody answered there: once what held the answer
    is pruned, the question is still over, and nothing of its text stays behind."""

    class Said(TypedDict, total=False):
        said: Annotated[list[str], operator.add]

    inner = StateGraph(Said).add_node("ask", lambda _: {"said": [interrupt("the secret word?")]})
    inner = inner.add_node("work", lambda _: {"said": ["worked"]}).add_edge(START, "ask")
    graph = StateGraph(Said).add_node("call", inner.add_edge("ask", "work").compile())
    saver = durable.open()
    compiled: Any = graph.add_edge(START, "call").compile(saver)
    compiled.invoke({"said": []}, config("t"))
    (asked,) = compiled.get_state(config("t")).interrupts
    answer = Command(resume={asked.id: "yes"})
    run = compiled.stream(answer, config("t"), subgraphs=True, durability="sync")
    for ns, chunk in run:
        if ns and "ask" in chunk:
            break
    run.close()
    thread = saver.thread("t")
    before = thread.working_state()
    assert (before.status, before.open_loops) == ("due", ())
    saver.prune(["t"])
    after = thread.working_state()
    assert (after.status, after.open_loops) == ("due", ())
    assert [loop.outcome for loop in after.closed_loops] == ["answered"]
