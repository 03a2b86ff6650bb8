"""The pillars read out of what is stored are those that were read out of what was being stored."""

from __future__ import annotations

import contextlib
import logging
import operator
from typing import Annotated, Any, TypedDict

import pytest
from conftest import Backend
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from test_pillar_tables import (
    asynchronous,
    check_tables,
    derived,
    differences,
    ledger,
    other_database,
    played,
    rows_of,
    seeds,
    shown_tables,
    watching,
)

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.plans.ledger import event_sum
from langgraph_wyrd.state.facts import PASSING
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.thread_sums import over
from tests.outside import raw
from tests.rows import config, put
from tests.story import Teller

__all__ = ["asynchronous"]


def states_of(saver: Any, thread_id: str) -> dict[str, WorkingState]:
    """The working state at each of the root's checkpoints."""
    found = saver.list(config(thread_id))
    handle = saver.thread(thread_id)
    return {each.checkpoint["id"]: handle.working_state(at=each.checkpoint["id"]) for each in found}


def lasting(state: WorkingState) -> Any:
    """A state without the questions and errors that are over.

    Where a task asked twice only the last question is stored: the earlier can't be read again, and
    the number of the last one is another.
    """
    loops = [
        (loop.kind, loop.ref, loop.description, loop.source, loop.opened_at)
        if loop.source.rule in PASSING
        else loop
        for loop in state.loops
        if not (loop.resolved and loop.source.rule in PASSING)
    ]
    return (
        loops, state.todos, state.context, state.intentions, state.due, state.status, state.title,
    )  # fmt: skip


def test_reweaving_changes_nothing(durable: Backend, asynchronous: bool) -> None:
    """What was written live stands as it was: every event, every row, every column."""
    saver = durable.open()
    for seed in seeds(3000, 8):
        played(seed, [saver], asynchronous=asynchronous)
        before = derived(durable.url)
        saver.reweave()
        parted = differences(derived(durable.url), before)
        for part, _, rows in parted:  # while it runs, the column lags behind
            if part == "threads" and rows["found"]["status"] == "due":
                rows["wanted"].update(due=rows["found"]["due"], reason=rows["found"]["reason"])
        parted = [each for each in parted if each[2]["wanted"] != each[2]["found"]]
        assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"


def test_what_was_written_without_pillars(
    durable: Backend, asynchronous: bool, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    """A database written with pillars=False gets the pillars that it would have had."""
    with other_database(durable.name, request, tmp_path) as other:
        plain = other.open(pillars=False)
        saver = watching(durable).begin([[plain]], watch=False)
        reader = other.open()
        for seed in seeds(4000, 6):
            teller = played(seed, [saver], asynchronous=asynchronous)
            reader.reweave()
            check_tables(reader, other.url, f"seed {seed}")
            found, wanted = states_of(reader, teller.thread), states_of(saver, teller.thread)
            assert found.keys() == wanted.keys()
            for id, state in wanted.items():
                assert lasting(found[id]) == lasting(state), f"seed {seed} at {id}"


@pytest.mark.parametrize("seed", [4008, 4015, 31006, 31007])
def test_programs_that_were_told_otherwise(
    sqlite: Backend, seed: int, asynchronous: bool, tmp_path: Any
) -> None:
    """Where a question stands beside an error or an answer, the writes tell which was last."""
    other = Backend("sqlite", f"sqlite:///{tmp_path / 'other.db'}")
    try:
        plain = other.open(pillars=False)
        saver = watching(sqlite).begin([[plain]], watch=False)
        teller = played(seed, [saver], asynchronous=asynchronous)
        reader = other.open()
        reader.reweave()
        found, wanted = states_of(reader, teller.thread), states_of(saver, teller.thread)
        assert {id: lasting(state) for id, state in found.items()} == {
            id: lasting(state) for id, state in wanted.items()
        }
    finally:
        for each in other.opened:
            each.close()


def test_a_lost_ledger_comes_back(durable: Backend) -> None:
    """Dropping all that is derived loses nothing that checkpoints can tell."""
    saver = durable.open()
    teller = played(5000, [saver], asynchronous=False)
    before = {id: lasting(state) for id, state in states_of(saver, teller.thread).items()}
    with raw(durable.url) as connection:
        for table in ("events", "todos", "context", "open_loops", "intentions"):
            connection.execute(f"DELETE FROM wyrd_{table}")
        connection.execute("UPDATE wyrd_checkpoints SET due = NULL, root = NULL")
        connection.execute("UPDATE wyrd_threads SET status = NULL, title = NULL, due = NULL")
    again = durable.open()
    again.reweave(teller.thread)
    assert {id: lasting(s) for id, s in states_of(again, teller.thread).items()} == before
    check_tables(again, durable.url, "after the loss")


class Asked(TypedDict, total=False):
    said: Annotated[list[str], operator.add]


@pytest.mark.parametrize("retried", [False, True], ids=["fails when answered", "asks when retried"])
async def test_a_question_beside_an_error(durable: Backend, call: Any, retried: bool) -> None:
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
    await call(saver, "reweave", "t")
    assert await call(thread, "working_state") == before
    fails[0] = False
    resumed = await call(graph, "invoke", Command(resume="yes") if retried else None, config("t"))
    assert resumed["said"] == ["in", "yes", "last"]
    assert (await call(thread, "working_state")).open_loops == ()
    assert saver.verify().ok


# ---- deleting and copying


def comparable(state: WorkingState) -> Any:
    """A state without what is over, of which a base keeps less."""
    return (
        state.open_loops, state.guessed_loops, state.todos, state.context, state.intention,
        state.due, state.status, state.reason, state.title,
    )  # fmt: skip


def test_pruning_keeps_the_states_of_what_stays(durable: Backend, asynchronous: bool) -> None:
    """After a prune every checkpoint that is left has the state it had, the tables too."""
    saver = durable.open()
    for seed in seeds(6000, 8):

        def prune(teller: Teller, turn: int, seed: int = seed) -> None:
            before = states_of(saver, teller.thread)
            saver.prune([teller.thread])
            after = states_of(saver, teller.thread)
            for id, state in after.items():
                assert comparable(state) == comparable(before[id]), f"seed {seed} turn {turn}"
            check_tables(saver, durable.url, f"seed {seed} turn {turn}")
            left = {(row["ns"], row["id"]) for row in rows_of(durable.url, "wyrd_checkpoints")}
            told = {(row[1], row[2]) for row in ledger(durable.url)}
            assert told <= left, f"seed {seed} turn {turn}: events of deleted checkpoints"

        played(seed, [saver], asynchronous=asynchronous, past=False, between=prune)
        before = derived(durable.url)
        saver.reweave()
        parted = [
            each for each in differences(derived(durable.url), before) if each[0] != "threads"
        ]
        assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"


def test_deleting_runs_keeps_the_states_of_what_stays(durable: Backend) -> None:
    """Checkpoints of other runs keep their states when those that they built on go."""
    saver, dropped = durable.open(), 0
    for seed in seeds(7000, 6):
        teller = played(seed, [saver], asynchronous=False)
        before = states_of(saver, teller.thread)
        found = sorted(saver.list(config(teller.thread)), key=lambda each: each.checkpoint["id"])
        runs = sorted({row["run_id"] for row in rows_of(durable.url, "wyrd_checkpoints")} - {None})
        if runs:
            saver.delete_for_runs(runs[:1])
        else:  # these runs have no id: a made-up one is put on a few
            gone = {each.checkpoint["id"] for each in found[1 : len(found) // 2]}
            with raw(durable.url) as connection:
                for id in gone:
                    connection.execute(
                        f"UPDATE wyrd_checkpoints SET run_id = 'r{seed}' WHERE id = '{id}'"
                    )
            saver.delete_for_runs([f"r{seed}"])
        after = states_of(saver, teller.thread)
        dropped += len(before) - len(after)
        for id, state in after.items():
            assert comparable(state) == comparable(before[id]), f"seed {seed} at {id}"
        check_tables(saver, durable.url, f"seed {seed}")
    assert dropped


def talk(saver: Any, thread: str, *, run: str, words: list[str]) -> Any:
    """A conversation by hand: one checkpoint a request."""
    head = None
    said: list[Any] = []
    for n, text in enumerate(words):
        said = [*said, HumanMessage(text, id=f"{run}{n}")]
        head = put(saver, thread, {"messages": said}, parent=head, metadata={"run_id": run})
    return head


def test_a_thread_of_which_nothing_is_left_says_nothing(durable: Backend) -> None:
    """Deleting the only run of a thread leaves none of its words, in no column."""
    saver = durable.open()
    talk(saver, "t", run="r", words=["please find the secret door"])
    saver.delete_for_runs(["r"])
    (row,) = rows_of(durable.url, "wyrd_threads")
    assert (row["status"], row["reason"], row["title"], row["due"]) == (None,) * 4
    assert (row["open_loops"], row["open_todos"]) == (0, 0)
    assert ledger(durable.url) == []
    assert not any(shown_tables(durable.url).values())


def test_a_deleted_thread_says_nothing(durable: Backend) -> None:
    """Its row stays, without title and reason; its ledger and tables are gone."""
    saver = durable.open()
    talk(saver, "t", run="r", words=["please find the secret door"])
    saver.delete_thread("t")
    (row,) = rows_of(durable.url, "wyrd_threads")
    assert "door" not in str(row)
    assert ledger(durable.url) == []
    assert not any(shown_tables(durable.url).values())


def test_a_copy_has_the_same_pillars(durable: Backend, asynchronous: bool) -> None:
    """A copy's ledger, tables and columns are the original's, under its own id."""
    saver = durable.open()
    for seed in seeds(8000, 5):
        teller = played(seed, [saver], asynchronous=asynchronous)
        copied = f"{teller.thread}, copied"
        saver.copy_thread(teller.thread, copied)
        check_tables(saver, durable.url, f"seed {seed}")
        before = states_of(saver, teller.thread)
        for id, state in states_of(saver, copied).items():
            assert state.thread_id == copied
            assert lasting(state) == lasting(before[id])
        held = shown_tables(durable.url)["wyrd_open_loops"].values()
        numbers = {row["thread_id"]: row["thread"] for row in held}
        ours = {row["id"] for row in held if row["thread"] == numbers.get(teller.thread)}
        assert ours == {row["id"] for row in held if row["thread"] == numbers.get(copied)}
        saver.delete_thread(teller.thread)
        check_tables(saver, durable.url, f"seed {seed}, the original deleted")


# ---- the rest


async def test_what_persons_declared_survives(durable: Backend, call: Any) -> None:
    """Rows of tasks that start with 'edit:' are no checkpoint's, and stay as they are."""
    saver = durable.open()
    head = talk(saver, "t", run="r", words=["please find the door"])
    id = head["configurable"]["checkpoint_id"]
    said = ("", id, "edit:1", 0, "loop", "open", "l-1")
    body = '{"kind":"note","description":"ask Ann","confidence":"declared"}'
    with raw(durable.url) as connection:
        connection.execute(
            "INSERT INTO wyrd_events (thread, ns, checkpoint, task, n, pillar, op, item, body,"
            f" source, sum) VALUES (1, '', '{id}', 'edit:1', 0, 'loop', 'open', 'l-1',"
            f" '{body}', '{{}}', {event_sum(*said, body, '{}') ^ over(1)})"
        )
    before = ledger(durable.url)
    await call(saver, "reweave", "t")
    assert ledger(durable.url) == before
    assert "ask Ann" in [loop.description for loop in saver.thread("t").working_state().loops]


async def test_progress_is_told(durable: Backend, call: Any) -> None:
    """After each thread: how many checkpoints of how many."""
    saver = durable.open()
    talk(saver, "a", run="r", words=["one", "two"])
    talk(saver, "b", run="r", words=["one"])
    told: list[tuple[int, int]] = []
    await call(saver, "reweave", progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]
    await call(saver, "reweave", "b", progress=lambda done, total: told.append((done, total)))
    assert told[2:] == [(1, 1)]


async def test_what_can_not_be_rewoven_is_refused(durable: Backend, call: Any) -> None:
    """An unknown thread, and a saver that reads no pillars."""
    with pytest.raises(ThreadNotFound):
        await call(durable.open(), "reweave", "nobody")
    with pytest.raises(InvalidInput):
        await call(durable.open(pillars=False), "reweave")


def test_children_that_sort_before_their_parents(durable: Backend) -> None:
    """Clocks differ: a checkpoint whose id is smaller than its parent's is read after it."""
    saver = durable.open()
    said = [HumanMessage("please find the door", id="h")]
    first = put(saver, "t", {"messages": said}, id="3")
    answer = AIMessage("it is behind you", id="a")
    second = put(saver, "t", {"messages": [*said, answer]}, id="1", parent=first)
    more = HumanMessage("now open it please", id="h2")
    put(saver, "t", {"messages": [*said, answer, more]}, id="2", parent=second)
    before = derived(durable.url)
    with raw(durable.url) as connection:
        connection.execute("DELETE FROM wyrd_events")
    durable.open().reweave("t")
    assert not differences(derived(durable.url), before)


def test_an_extractor_that_raises(durable: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """The save goes through; log and ledger say what failed, and reweaving says it again."""

    def broken(view: Any) -> Any:
        raise RuntimeError("no idea")

    saver = durable.open(extractors=[broken])
    with caplog.at_level(logging.WARNING):
        talk(saver, "t", run="r", words=["please find the door"])
    assert "broken" in caplog.text
    assert saver.thread("t").working_state().title == "please find the door"
    failed = [row for row in rows_of(durable.url, "wyrd_events") if row["op"] == "failed"]
    assert [(row["item"], "no idea" in row["body"]) for row in failed] == [("broken", True)]
    before = derived(durable.url)
    saver.reweave()
    assert not differences(derived(durable.url), before)
    durable.open().reweave()  # with an extractor less there is nothing that failed
    assert not [row for row in rows_of(durable.url, "wyrd_events") if row["op"] == "failed"]


def test_a_long_thread_is_rewoven_page_by_page(durable: Backend) -> None:
    """Bases stand where they stood, and a list that was edited in the middle is read as it was."""
    saver = durable.open()
    head, said = None, []
    for n in range(300):
        said = [*said, HumanMessage(f"please do {n}", id=f"h{n}"), AIMessage("done", id=f"a{n}")]
        if n % 50 == 49:
            said = [HumanMessage("a summary of it all", id=f"s{n}"), *said[-6:]]
        if n % 7 == 3:
            said = [*said[:1], AIMessage(f"changed {n}", id=said[1].id), *said[2:]]
        head = put(saver, "t", {"messages": said, "n": n}, parent=head)
    before = derived(durable.url)
    with raw(durable.url) as connection:
        connection.execute("DELETE FROM wyrd_events")
    durable.open().reweave("t")
    assert not differences(derived(durable.url), before)
