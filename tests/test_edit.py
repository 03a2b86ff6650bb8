"""Editing a thread's working state: what is said lasts, and two who edit lose nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver, diff
from langgraph_wyrd.errors import (
    EditConflict,
    InvalidInput,
    InvalidTransition,
    ItemNotFound,
    ThreadDeleted,
    ThreadNotFound,
)
from langgraph_wyrd.state.editing import Editing
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.model import OpenLoop, Todo, WorkingState
from langgraph_wyrd.state.pending import advance, moment_of, overlaid
from tests.conftest import Backend
from tests.handmade import config
from tests.outside import python
from tests.tables import shown_tables
from tests.test_working_state import form

Call = Callable[..., Any]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Plan(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    todos: list[Any]
    budget: int
    goal: str


def agent(saver: Any, *lists: list[tuple[str, str]]) -> Any:
    """Writes the next of these todo lists with each turn."""
    turns = iter(lists)

    def work(state: Plan) -> Any:
        listed = next(turns, None)
        said: dict[str, Any] = {"messages": [AIMessage("done")], "budget": 7}
        if listed is not None:
            said["todos"] = [{"content": text, "status": status} for text, status in listed]
        return said

    return StateGraph(Plan).add_node("work", work).add_edge(START, "work").compile(saver)


def ask(text: str) -> Any:
    return {"messages": [("user", text)]}


BOTH = [("test", "pending"), ("ship", "pending")]


def plan(state: WorkingState) -> dict[str, str]:
    return {todo.content: todo.status for todo in state.todos}


def known(state: WorkingState) -> dict[str, Any]:
    return {item.key: item.value for item in state.context}


def waiting(state: WorkingState) -> list[str]:
    return [loop.description for loop in state.open_loops]


def visible(state: WorkingState) -> Any:
    """All that is said, without where the thread stands."""
    held = json.loads(state.to_json())
    return {name: held.get(name) for name in ("todos", "context", "loops", "intentions")}


# ---- what is said lasts


async def test_what_is_said_lasts(durable: Backend, call: Call) -> None:
    """Every verb: seen at once, after the agent's next turns, by another saver, in listings."""
    saver = durable.open()
    graph = agent(saver, BOTH)
    await call(graph, "invoke", ask("plan it"), CONFIG)
    thread = saver.thread("t")
    before = await call(thread, "working_state")
    ids = {todo.content: todo.id for todo in before.todos}
    done = await call(thread, "complete_todo", ids["test"])
    assert (done.id, done.status, done.closed_at is not None) == (ids["test"], "completed", True)
    await call(thread, "start_todo", ids["ship"])
    added = await call(thread, "add_todo", "call Bob", "high", by="anna")
    assert (added.priority, added.confidence, added.source.author) == ("high", "declared", "anna")
    assert added.source.checkpoint_id == before.checkpoint_id
    await call(thread, "set_context", "deadline", {"day": "friday"}, {"from": "mail"})
    await call(thread, "set_context", "budget", 9)
    loop = await call(thread, "add_open_loop", "who pays?", {"sum": 3})
    gone = await call(thread, "add_open_loop", "is it blue?", kind="question")
    assert (await call(thread, "resolve_open_loop", gone.id, "yes")).outcome == "yes"
    decision = await call(thread, "decide", "use Postgres", "many writers", "migrate")
    assert (decision.kind, decision.context) == (
        "decision", {"rationale": "many writers", "action": "migrate"},
    )  # fmt: skip
    aim = await call(thread, "set_intention", "ship on Friday")

    async def check(reader: WyrdSaver) -> WorkingState:
        state: WorkingState = await call(reader.thread("t"), "working_state")
        assert plan(state) == {"test": "completed", "ship": "in_progress", "call Bob": "pending"}
        assert known(state) == {"budget": 9, "deadline": {"day": "friday"}}
        assert waiting(state) == ["who pays?", "use Postgres"]
        assert state.intention is not None
        assert (state.intention.id, state.intention.text) == (aim.id, "ship on Friday")
        assert await call(reader.thread("t"), "get_context", "deadline") == {"day": "friday"}
        (listed,) = await call(reader, "open_loops", kind="decision")
        assert (listed.id, listed.source.author) == (decision.id, "person")
        assert loop.id in [each.id for each in await call(reader, "open_loops")]
        assert added.id in [each.id for each in await call(reader, "todos")]
        assert [x.id for x in await call(reader, "intentions", aim="explicit")] == [aim.id]
        return state

    await check(saver)
    await check(durable.open())
    for words in ("go on", "and on"):
        await call(graph, "invoke", ask(words), CONFIG)
        await check(saver)
    await check(durable.open())
    assert (await call(thread, "record_outcome", decision.id, "it holds")).outcome == "it holds"
    assert waiting(await call(thread, "working_state")) == ["who pays?"]
    await call(thread, "remove_context", "deadline")
    assert await call(thread, "get_context", "deadline", "none") == "none"
    # Where it was not said yet, it was not said.
    past = await call(thread, "working_state", before.checkpoint_id)
    assert past.intention.text == "ship on Friday"  # it lies on this one
    first = [each async for each in saver.alist(CONFIG)][-1]
    earlier = await call(thread, "working_state", first.config["configurable"]["checkpoint_id"])
    assert (plan(earlier), waiting(earlier)) == ({}, [])


async def test_a_standing_order_survives_the_agent(durable: Backend, call: Call) -> None:
    """What was pinned stays so, also on an entry of a channel, which the agent writes again."""
    saver = durable.open()
    graph = agent(saver)
    await call(graph, "invoke", ask("one"), CONFIG)
    with saver.thread("t").edit() as draft:
        draft.set_context("tone", "never promise a date", {"pinned": True})
        draft.set_context("budget", 9, {"pinned": True})
    await call(graph, "invoke", ask("two"), CONFIG)
    state = await call(durable.open().thread("t"), "working_state")
    assert known(state)["budget"] == 9  # the agent said nothing new
    assert {item.key for item in state.context if item.pinned} == {"tone", "budget"}
    assert state.brief().index("Standing orders (2):") < state.brief().index("Lately over")


async def test_a_list_that_is_written_again(durable: Backend, call: Call) -> None:
    """What the tracker goes on saying does not undo what was said; what it says anew counts."""
    saver = durable.open()
    news = [("test", "pending"), ("ship", "in_progress"), ("rest", "pending")]
    turns = [BOTH, [*BOTH, ("rest", "pending")], news, [("ship", "completed"), ("rest", "pending")]]
    graph = agent(saver, *turns)
    await call(graph, "invoke", ask("plan it"), CONFIG)
    thread = saver.thread("t")
    ids = {todo.content: todo.id for todo in (await call(thread, "working_state")).todos}
    async with thread.edit() as draft:
        draft.complete_todo(ids["test"])
        draft.cancel_todo(ids["ship"])
        draft.add_todo("call Bob")
    await call(graph, "invoke", ask("again"), CONFIG)
    state = await call(thread, "working_state")
    assert plan(state) == {
        "test": "completed", "ship": "cancelled", "rest": "pending", "call Bob": "pending",
    }  # fmt: skip
    await call(graph, "invoke", ask("again"), CONFIG)
    state = await call(thread, "working_state")
    assert (plan(state)["test"], plan(state)["ship"]) == ("completed", "in_progress")
    await call(graph, "invoke", ask("again"), CONFIG)
    state = await call(thread, "working_state")
    assert plan(state) == {
        "test": "completed", "ship": "completed", "rest": "pending", "call Bob": "pending",
    }  # fmt: skip
    assert {t.content: t.id for t in state.todos if t.content in ids} == ids
    assert plan(await call(durable.open().thread("t"), "working_state")) == plan(state)


async def test_while_it_waits_for_a_person(durable: Backend, call: Call) -> None:
    """An edit next to a question stays when the question is answered; it may close it, too."""
    saver = durable.open()
    graph = form(saver)  # it asks two subgraphs deep
    await call(graph, "invoke", {"name": ""}, CONFIG)
    thread = saver.thread("t")
    state = await call(thread, "working_state")
    (question,) = state.open_loops
    await call(thread, "add_open_loop", "why so deep?")
    await call(thread, "set_context", "name", "nobody")
    await call(graph, "invoke", Command(resume="ann"), CONFIG)
    state = await call(thread, "working_state")
    assert sorted(waiting(state)) == ["why so deep?", "your colour?"]
    closed = [loop for loop in state.closed_loops if loop.description == question.description]
    assert [loop.outcome for loop in closed] == ["answered"]
    await call(graph, "invoke", Command(resume="red"), CONFIG)
    assert waiting(await call(thread, "working_state")) == ["why so deep?"]


def hesitant(saver: Any) -> Any:
    graph: Any = StateGraph(Plan)
    graph.add_node("work", lambda state: {"goal": interrupt("which goal?")})
    return graph.add_edge(START, "work").compile(saver)


async def test_a_question_that_a_person_closes(durable: Backend, call: Call) -> None:
    """It is closed as the person said, and stays so when the run goes on."""
    saver = durable.open()
    graph = hesitant(saver)
    await call(graph, "invoke", ask("go"), CONFIG)
    thread = saver.thread("t")
    (question,) = await call(saver, "open_loops", kind="interrupt")
    await call(thread, "resolve_open_loop", question.id, "asked Ann instead", by="ann")
    state = await call(thread, "working_state")
    assert (waiting(state), state.status) == (["go"], "due")
    assert await call(saver, "open_loops", kind="interrupt") == []
    await call(graph, "invoke", Command(resume="bees"), CONFIG)
    state = await call(thread, "working_state")
    assert [x.outcome for x in state.closed_loops if x.kind == "interrupt"] == ["asked Ann instead"]


async def test_while_a_node_runs(durable: Backend, call: Call) -> None:
    """An edit in the middle of a run is in what the run stores next."""
    saver = durable.open()
    began, go_on = threading.Event(), threading.Event()

    def slow(state: Plan) -> Any:
        began.set()
        go_on.wait(200)
        return {"messages": [AIMessage("done")], "todos": [{"content": "rest"}]}

    graph: Any = StateGraph(Plan).add_node("slow", slow).add_edge(START, "slow").compile(saver)
    # "sync": its checkpoint is there before the node begins
    running = asyncio.create_task(
        asyncio.to_thread(graph.invoke, ask("go"), CONFIG, durability="sync")
    )
    try:
        assert await asyncio.to_thread(began.wait, 20)
        thread = saver.thread("t")
        await call(thread, "add_open_loop", "who pays?")
        await call(durable.open().thread("t"), "set_context", "by", "another saver")
    finally:
        go_on.set()
        await running
    state = await call(thread, "working_state")
    assert (waiting(state), known(state)["by"], plan(state)) == (
        ["who pays?"], "another saver", {"rest": "pending"},
    )  # fmt: skip
    assert [x.description for x in await call(saver, "open_loops")] == ["who pays?"]


# ---- the draft


async def test_a_draft(durable: Backend, call: Call) -> None:
    """NEW until it is read, DIRTY until it is saved; nothing is stored before."""
    saver = durable.open()
    await call(agent(saver, BOTH), "invoke", ask("plan it"), CONFIG)
    thread = saver.thread("t")
    draft = thread.edit()
    assert draft.status == "NEW"
    await call(draft, "load")
    assert draft.status == "LOADED"
    todo = draft.add_todo("call Bob")
    assert isinstance(todo, Todo)
    assert draft.status == "DIRTY"
    assert (waiting(draft.state), plan(draft.state)["call Bob"]) == ([], "pending")
    assert "call Bob" not in plan(await call(thread, "working_state"))
    saved = await call(draft, "save")
    assert draft.status == "LOADED"
    assert visible(saved) == visible(await call(thread, "working_state"))
    assert draft.complete_todo(todo.id).status == "completed"
    draft.discard()
    assert draft.status == "NEW"
    assert plan(await call(thread, "working_state"))["call Bob"] == "pending"
    await call(draft, "save")  # nothing was said
    assert (draft.status, draft.get_context("budget")) == ("LOADED", 7)


async def test_an_exception_discards(durable: Backend) -> None:
    """A block that raises stores nothing, and its exception comes out."""
    saver = durable.open()
    agent(saver).invoke(ask("go"), CONFIG)
    thread = saver.thread("t")

    def fails(draft: Any) -> None:
        draft.add_open_loop("one")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # noqa: SIM117
        with thread.edit() as draft:
            fails(draft)
    with pytest.raises(ZeroDivisionError):
        async with thread.edit() as draft:
            fails(draft)
    assert waiting(thread.working_state()) == []
    async with thread.edit() as draft:
        draft.add_open_loop("three")
    assert waiting(await thread.aworking_state()) == ["three"]


async def test_auto_save(durable: Backend) -> None:
    """Each verb is stored at once, and can be built on."""
    saver = durable.open()
    await agent(saver).ainvoke(ask("go"), CONFIG)
    draft = saver.thread("t").edit(by="bot", auto_save=True)
    loop = draft.add_open_loop("one")
    assert waiting(durable.open().thread("t").working_state()) == ["one"]
    draft.resolve_open_loop(loop.id)
    assert (waiting(saver.thread("t").working_state()), draft.status) == ([], "LOADED")


ILLEGAL = {
    "complete a completed todo": lambda d, t, p: d.complete_todo(t.id),
    "cancel a completed todo": lambda d, t, p: d.cancel_todo(t.id),
    "start a completed todo": lambda d, t, p: d.start_todo(t.id),
    "reopen an open todo": lambda d, t, p: d.reopen_todo(d.add_todo("x").id),
    "resolve a resolved loop": lambda d, t, p: d.resolve_open_loop(p.id),
    "an outcome of no decision": lambda d, t, p: d.record_outcome(d.add_open_loop("x").id, "y"),
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_an_illegal_transition_changes_nothing(what: str, sqlite: Backend) -> None:
    """It raises, says of which thread and item, and the draft and the thread stay as they are."""
    saver = sqlite.open()
    agent(saver, BOTH).invoke(ask("go"), CONFIG)
    thread = saver.thread("t")
    todo = thread.complete_todo(thread.working_state().todos[0].id)
    loop = thread.resolve_open_loop(thread.add_open_loop("old").id, "done")
    before = thread.working_state()
    draft = thread.edit()
    with pytest.raises(InvalidTransition, match="'t'"):
        ILLEGAL[what](draft, todo, loop)
    assert visible(thread.working_state()) == visible(before)
    draft.discard()
    draft.add_todo("still works")
    draft.save()
    assert plan(thread.working_state())["still works"] == "pending"


BAD: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "an unknown todo": (ItemNotFound, lambda d: d.complete_todo("t-0")),
    "an unknown loop": (ItemNotFound, lambda d: d.resolve_open_loop("l-0")),
    "an unknown key": (ItemNotFound, lambda d: d.remove_context("nothing")),
    "no words": (InvalidInput, lambda d: d.add_todo("  ")),
    "a number for words": (InvalidInput, lambda d: d.set_intention(3)),
    "too many words": (InvalidInput, lambda d: d.add_open_loop("x" * 4001)),
    "an odd priority": (InvalidInput, lambda d: d.add_todo("x", "huge")),
    "the graph's own kind": (InvalidInput, lambda d: d.add_open_loop("x", kind="interrupt")),
    "no kind": (InvalidInput, lambda d: d.add_open_loop("x", kind="whim")),
    "an object": (InvalidInput, lambda d: d.set_context("k", {"a": [object()]})),
    "not a number": (InvalidInput, lambda d: d.set_context("k", float("nan"))),
    "a key that is no text": (InvalidInput, lambda d: d.set_context("k", {1: 2})),
    "a huge value": (InvalidInput, lambda d: d.set_context("k", "x" * 100_001)),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what: str, sqlite: Backend) -> None:
    """It is refused before anything is said."""
    saver = sqlite.open()
    agent(saver).invoke(ask("go"), CONFIG)
    kind, verb = BAD[what]
    draft = saver.thread("t").edit().load()
    with pytest.raises(kind):
        verb(draft)
    assert (draft.status, visible(draft.state)) == (
        "LOADED",
        visible(saver.thread("t").working_state()),
    )


async def test_words_in_the_place_of_an_id(durable: Backend, call: Call) -> None:
    """The error names the id of the item that says so, else the ids of what is open."""
    thread = durable.open().thread("t")
    todo = await call(thread, "add_todo", "call the carrier")
    loop = await call(thread, "add_open_loop", "does Ann want it?")
    with pytest.raises(ItemNotFound, match=f"pass its id, '{todo.id}'"):
        await call(thread, "complete_todo", "call the carrier")
    with pytest.raises(ItemNotFound, match=f"pass its id, '{loop.id}'"):
        await call(thread, "resolve_open_loop", "does Ann want it?")
    with pytest.raises(ItemNotFound, match=f"no todo 't-0' in thread 't': .* {todo.id}"):
        await call(thread, "complete_todo", "t-0")


async def test_what_can_not_be_edited(durable: Backend, call: Call) -> None:
    """A thread without checkpoints, a saver without pillars, an editor without a name."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    with pytest.raises(InvalidInput, match="pillars=False"):
        await call(durable.open(pillars=False).thread("t"), "add_todo", "x")
    with pytest.raises(InvalidInput, match="by="):
        saver.thread("t").edit(by=" ")
    await call(saver, "delete_thread", "t")
    with pytest.raises((ThreadNotFound, ThreadDeleted)):
        await call(saver.thread("t"), "add_todo", "x")


# ---- two who edit


async def test_two_drafts_are_joined(durable: Backend, call: Call) -> None:
    """What both said is there; what both said alike is said once."""
    one, two = durable.open(), durable.open()
    graph = agent(one, BOTH)
    await call(graph, "invoke", ask("plan it"), CONFIG)
    first, second = one.thread("t").edit(by="ann"), two.thread("t").edit(by="bob")
    ids = {todo.content: todo.id for todo in first.state.todos}
    assert second.status == "NEW"
    second.load()
    for draft, name in ((first, "ann"), (second, "bob")):
        draft.complete_todo(ids["test"])
        draft.set_context("colour", "blue")
        draft.set_context(name, 1)
        draft.add_open_loop(f"from {name}")
    await call(first, "save")
    await call(graph, "invoke", ask("meanwhile"), CONFIG)
    state = await call(second, "save")
    assert plan(state) == {"test": "completed", "ship": "pending"}
    assert known(state) == {"budget": 7, "colour": "blue", "ann": 1, "bob": 1}
    assert waiting(state) == ["from ann", "from bob"]
    assert visible(state) == visible(await call(one.thread("t"), "working_state"))
    assert [item.key for item in state.context].count("colour") == 1


@pytest.mark.parametrize("what", ["todo", "context", "intention"])
async def test_two_who_contradict_each_other(what: str, durable: Backend, call: Call) -> None:
    """The second one gets both sides, nothing is stored, and it can still look at its draft."""
    saver = durable.open()
    await call(agent(saver, BOTH), "invoke", ask("plan it"), CONFIG)
    thread = durable.open().thread("t")
    draft = saver.thread("t").edit().load()
    id = draft.state.todos[0].id
    if what == "todo":
        draft.complete_todo(id)
        await call(thread, "cancel_todo", id)
    elif what == "context":
        draft.set_context("colour", "red")
        await call(thread, "set_context", "colour", "blue")
    else:
        draft.set_intention("rest")
        await call(thread, "set_intention", "run")
    before = await call(thread, "working_state")
    with pytest.raises(EditConflict, match="'t'") as caught:
        await call(draft, "save")
    (conflict,) = caught.value.conflicts
    ours, theirs = {
        "todo": ("completed", "cancelled"),
        "context": ("red", "blue"),
        "intention": ("rest", "run"),
    }[what]
    assert (conflict.ours, conflict.theirs) == (ours, theirs)
    assert visible(caught.value.theirs) == visible(before)
    assert visible(caught.value.ours) == visible(draft.state)
    assert draft.status == "DIRTY"
    assert visible(await call(thread, "working_state")) == visible(before)


async def test_the_agent_contradicts(durable: Backend, call: Call) -> None:
    """A draft that the agent's own news contradicts is refused."""
    saver = durable.open()
    graph = agent(saver, BOTH, [("test", "completed"), ("ship", "pending")])
    await call(graph, "invoke", ask("plan it"), CONFIG)
    draft = saver.thread("t").edit()
    draft.cancel_todo(draft.state.todos[0].id)
    await call(graph, "invoke", ask("go on"), CONFIG)
    with pytest.raises(EditConflict):
        await call(draft, "save")


SAYS = """
import sys
from langgraph_wyrd import WyrdSaver
url, name = sys.argv[1:]
with WyrdSaver.from_conn_string(url) as saver:
    thread = saver.thread("t")
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(12):
        thread.add_open_loop(f"{name} {n}", by=name)
        thread.set_context(f"{name}", n, by=name)
"""


def test_two_processes_at_once(durable: Backend) -> None:
    """Two processes edit, a third runs the graph: nothing of it is lost."""
    import subprocess

    saver = durable.open()
    graph = agent(saver)
    graph.invoke(ask("go"), CONFIG)
    command = python("-c", SAYS, durable.url)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    peers = [subprocess.Popen([*command, name], **pipes) for name in ("ann", "bob")]  # type: ignore[call-overload]
    for peer in peers:
        assert peer.stdout.readline() == "ready\n"
    for peer in peers:
        peer.stdin.write("\n")
        peer.stdin.flush()
    for n in range(6):
        graph.invoke(ask(f"turn {n}"), CONFIG)
    for peer in peers:
        peer.communicate(timeout=200)
        assert peer.returncode == 0
    state = saver.thread("t").working_state()
    assert sorted(waiting(state)) == sorted(
        f"{name} {n}" for name in ("ann", "bob") for n in range(12)
    )
    assert (known(state)["ann"], known(state)["bob"]) == (11, 11)
    assert visible(durable.open().thread("t").working_state()) == visible(state)
    assert len(graph.get_state(CONFIG).values["messages"]) == 14


# ---- and what else is done to a thread


async def test_what_is_done_to_a_thread(durable: Backend, call: Call) -> None:
    """Re-extracting, copying and pruning keep what was said; deleting takes it."""
    saver = durable.open()
    graph = agent(saver, BOTH)
    await call(graph, "invoke", ask("plan it"), CONFIG)
    thread = saver.thread("t")
    async with thread.edit(by="ann") as draft:
        draft.complete_todo(draft.state.todos[0].id)
        draft.add_open_loop("who pays?")
        draft.set_intention("ship")
    await call(graph, "invoke", ask("go on"), CONFIG)
    await call(thread, "set_context", "late", 1)
    state, shown = await call(thread, "working_state"), shown_tables(durable.url)
    await call(saver, "reextract", "t")
    assert visible(await call(thread, "working_state")) == visible(state)
    assert shown_tables(durable.url) == shown
    await call(saver, "copy_thread", "t", "copy")
    assert visible(await call(saver.thread("copy"), "working_state")) == visible(state)
    await call(saver, "prune", ["t"])
    kept = await call(thread, "working_state")
    assert (waiting(kept), known(kept), plan(kept)) == (waiting(state), known(state), plan(state))
    assert kept.intention == state.intention
    await call(saver, "delete_thread", "copy")
    assert not any(
        thread == "copy" for rows in shown_tables(durable.url).values() for thread, _ in rows
    )
    assert [info.thread_id for info in saver.threads()] == ["t"]


# ---- the verbs, as such

WORDS = st.sampled_from(["one", "two", "three"])
VERBS = st.one_of(
    st.tuples(st.just("add_todo"), WORDS, st.sampled_from(["low", "high"])),
    st.tuples(st.just("set_context"), WORDS, st.sampled_from([1, 1.0, True, "x"]), st.none()),
    st.tuples(st.just("remove_context"), WORDS),
    st.tuples(st.just("add_open_loop"), WORDS, st.none(), st.sampled_from(["note", "question"])),
    st.tuples(st.just("decide"), WORDS, st.none(), st.none()),
    st.tuples(st.just("set_intention"), st.one_of(WORDS, st.none())),
    st.tuples(
        st.sampled_from(["complete_todo", "cancel_todo", "start_todo", "reopen_todo"]),
        st.integers(0, 9),
    ),
    st.tuples(st.just("resolve_open_loop"), st.integers(0, 9), st.none()),
)


def speak(editing: Editing, verbs: list[Any]) -> None:
    for name, *args in verbs:
        if args and isinstance(args[0], int):  # the nth item there is
            items: Any = editing.state.todos if "todo" in name else editing.state.loops
            if not items:
                continue
            args[0] = items[args[0] % len(items)].id
        with suppress(InvalidTransition, ItemNotFound):
            editing.say(name, *args)


@settings(max_examples=75, deadline=None)
@given(st.lists(VERBS, max_size=10), st.lists(VERBS, max_size=10))
def test_the_events_say_the_same(first: list[Any], second: list[Any]) -> None:
    """What the events of an edit give on its head, and to a child, is what the draft showed; said
    again to a state that says it already, it changes nothing."""
    start = WorkingState("t", "cp1", "2026-01-01T00:00:00+00:00")
    one = Editing(start, "ann", "2026-01-02T00:00:00+00:00", "aa")
    speak(one, first)
    two = Editing(one.state, "bob", "2026-01-03T00:00:00+00:00", "bb")
    speak(two, second)
    overlay = [
        (moment_of("cp1", "", each.ts, f"edit:{each.ts}:{each.token}"), [e for _, e in each.events])
        for each in (one, two)
    ]
    assert visible(overlaid(start, overlay)) == visible(two.state)
    child = advance(start, overlay, Moment("cp2", "", "2026-01-04T00:00:00+00:00"))
    assert visible(child) == visible(two.state)
    assert two.said_again(two.base).state == two.state
    assert not two.conflicts(two.state)


def test_said_again_where_it_is_so_already() -> None:
    """What the other side did too is passed over, and ids stay those that were given out."""
    start = WorkingState(
        "t", "cp1", todos=(Todo("t-1", "x"),), loops=(OpenLoop("l-1", "note", "y"),)
    )
    one = Editing(start, "ann", "2026-01-02T00:00:00+00:00", "aa")
    one.say("complete_todo", "t-1")
    one.say("resolve_open_loop", "l-1", "done")
    one.say("set_context", "k", 1, None)
    last = one.say("add_todo", "z", "medium")
    other = Editing(start, "bob", "2026-01-02T00:00:00+00:00", "bb")
    for name, args in one.verbs[:3]:
        other.say(name, *args)
    again = one.said_again(other.state)
    assert [(e.pillar, e.op, e.item) for _, e in again.events] == [("todo", "open", last.id)]


async def test_hooks_hear_of_it(durable: Backend, call: Call) -> None:
    """An edit is reported once it is stored, with the loops that it opened and closed; an edit that
    says nothing is not."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    thread, heard = saver.thread("t"), []
    for event in ("edit", "loop_opened", "loop_closed", "resume"):
        saver.on(event, heard.append)
    loop = await call(thread, "add_open_loop", "who pays?", by="ann")
    await call(thread, "resolve_open_loop", loop.id)
    await call(thread.edit(), "save")
    assert [(each.event, each.detail.get("by"), each.loop and each.loop.id) for each in heard] == [
        ("edit", "ann", None), ("loop_opened", "edit", loop.id),
        ("edit", "person", None), ("loop_closed", "edit", loop.id),
    ]  # fmt: skip
    assert [each.description for each in heard[0].state.open_loops] == ["who pays?"]
    resumed = await call(saver, "resume", "t")
    assert (heard[-1].event, heard[-1].state) == ("resume", resumed.state)


def test_a_todo_of_a_fork_with_another_ones_number(durable: Backend) -> None:
    """What a fork added is added, though its tracker gave it a number that is taken here."""

    class Plan(TypedDict, total=False):
        todos: list[Any]

    def listed(*words: str) -> Any:
        return {"todos": [{"id": str(n), "content": each} for n, each in enumerate(words)]}

    saver = durable.open()
    graph: Any = StateGraph(Plan).add_node("a", lambda _: {}).add_edge(START, "a").compile(saver)
    graph.invoke(listed("Plan"), config("t"))
    thread = saver.thread("t")
    fork = thread.fork("f")
    before = fork.working_state()
    graph.invoke(listed("Plan", "Call the lawyer"), config("f"))
    graph.invoke(listed("Plan", "Buy milk"), config("t"))
    assert str(thread.apply(diff(before, fork.working_state()))) == "merged, with 0 conflicts"
    contents = [todo.content for todo in thread.working_state().todos]
    assert contents == ["Plan", "Buy milk", "Call the lawyer"]
