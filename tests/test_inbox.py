"""What waits for a person, in all threads, and answers that are stored without the graph."""

from __future__ import annotations

import asyncio
import operator
import subprocess
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from pydantic import BaseModel

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.conversation.approvals import misfit
from langgraph_wyrd.errors import (
    AlreadyAnswered,
    AnswerNotAllowed,
    InvalidInput,
    ItemNotFound,
    QuestionExpired,
    ThreadNotFound,
    Unserialisable,
)
from tests.conftest import Backend
from tests.outside import python
from tests.scripted_agents import CONFIG as FIRM
from tests.scripted_agents import Scripted, calls, delete, firm, search

Call = Callable[..., Any]
AT: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    item: int


def graph_of(saver: Any, *nodes: Any, **options: Any) -> Any:
    """A graph whose nodes all begin at the start."""
    builder: Any = StateGraph(State)
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    return builder.compile(checkpointer=saver, **options)


def asks(question: Any = "go?", **options: Any) -> Any:
    def node(state: State) -> State:
        return {"log": [interrupt(question, **options)]}

    return node


# ---- one question


async def test_an_answer_lets_the_thread_go_on(durable: Backend, call: Call) -> None:
    """An answer is stored without the graph; the next `invoke(None)`, in a saver of its own, goes
    on with it."""
    saver = durable.open()
    await call(graph_of(saver, asks()), "invoke", {"log": []}, AT)
    (entry,) = await call(saver, "inbox")
    assert (entry.thread_id, entry.kind, entry.question) == ("t", "interrupt", "go?")
    assert (entry.value, entry.node, entry.allowed, entry.ns) == ("go?", "node", (), "")
    assert entry.config == AT
    (loop,) = saver.open_loops(kind="interrupt")
    assert (entry.loop_id, entry.since) == (loop.id, loop.opened_at)
    other = durable.open()
    assert await call(other.thread("t"), "answer", {"yes": 1}, by="ann") == {
        entry.interrupt_id: {"yes": 1}
    }
    assert await call(saver, "inbox") == []
    assert saver.thread("t").working_state().status == "due"
    graph = graph_of(durable.open(), asks())
    assert graph.get_state(AT).next == ("node",)
    assert (await call(graph, "invoke", None, entry.config))["log"] == [{"yes": 1}]
    assert saver.thread("t").working_state().open_loops == ()


@pytest.mark.parametrize("named", ["entry", "loop", "loop id", "interrupt id"])
def test_a_question_is_named_in_four_ways(sqlite: Backend, named: str) -> None:
    """`loop=` takes an entry of the inbox, an open loop, its id, and the interrupt's id."""
    saver = sqlite.open()
    graph_of(saver, asks()).invoke({"log": []}, AT)
    (entry,), (loop,) = saver.inbox(), saver.open_loops(kind="interrupt")
    names = {"entry": entry, "loop": loop, "loop id": loop.id, "interrupt id": loop.ref}
    saver.thread("t").answer("yes", loop=names[named])
    assert graph_of(saver, asks()).invoke(None, AT)["log"] == ["yes"]


async def test_a_second_answer_is_refused(durable: Backend, call: Call) -> None:
    """Whoever answers again gets an error that says who did before; the first answer stands, also
    when it is asked for by the loop, and after the run went on."""
    saver = durable.open()
    graph = graph_of(saver, asks())
    await call(graph, "invoke", {"log": []}, AT)
    (entry,) = saver.inbox()
    thread = saver.thread("t")
    await call(thread, "answer", "first", by="ann")
    for loop in (None, entry, entry.loop_id):
        with pytest.raises(AlreadyAnswered, match="by ann") as caught:
            await call(thread, "answer", "second", loop)
        assert caught.value.by == "ann"
    assert (await call(graph, "invoke", None, AT))["log"] == ["first"]
    with pytest.raises(AlreadyAnswered, match="is over"):
        await call(thread, "answer", "third", entry)
    with pytest.raises(ItemNotFound, match="waits for no answer"):
        await call(thread, "answer", "third")


async def test_an_answer_that_no_saver_stores(durable: Backend, call: Call) -> None:
    """It is refused as the answer that it is, with its path; the question still waits."""
    saver = durable.open()
    await call(graph_of(saver, asks()), "invoke", {"log": []}, AT)
    for wrong, path in ((object(), ""), ({"deep": [object()]}, "['deep'][0]")):
        with pytest.raises(Unserialisable) as caught:
            await call(saver.thread("t"), "answer", wrong)
        assert str(caught.value).startswith(f"the answer{path} can't be stored")
        assert caught.value.path == path
    assert len(await call(saver, "inbox")) == 1
    await call(saver.thread("t"), "answer", "yes")


async def test_an_answer_can_be_replaced(durable: Backend, call: Call) -> None:
    """Until a run takes it up, `replace=True` puts another one in its place."""
    saver = durable.open()
    graph = graph_of(saver, asks())
    await call(graph, "invoke", {"log": []}, AT)
    thread = saver.thread("t")
    await call(thread, "answer", "first")
    await call(thread, "answer", "second", replace=True)
    await call(thread, "answer", "third", replace=True, by="bob")
    with pytest.raises(AlreadyAnswered, match="by bob"):
        await call(thread, "answer", "fourth")
    assert (await call(graph, "invoke", None, AT))["log"] == ["third"]


def test_none_and_falsy_answers(sqlite: Backend) -> None:
    """None, "" and [] are answers, too."""
    saver = sqlite.open()
    for n, value in enumerate((None, "", [], 0, False, ["a"], {})):
        at: Any = {"configurable": {"thread_id": f"t{n}"}}
        graph = graph_of(saver, asks())
        graph.invoke({"log": []}, at)
        saver.thread(f"t{n}").answer(value)
        assert graph.invoke(None, at)["log"] == [value]


# ---- several


async def test_questions_one_after_another(durable: Backend, call: Call) -> None:
    """Each question of one node is answered in its turn; earlier answers are kept."""

    def node(state: State) -> State:
        return {"log": [interrupt("first?"), interrupt("second?"), interrupt("second?")]}

    saver = durable.open()
    graph, thread = graph_of(saver, node), saver.thread("t")
    await call(graph, "invoke", {"log": []}, AT)
    for n, question in enumerate(("first?", "second?", "second?")):
        assert [each.question for each in await call(saver, "inbox")] == [question]
        await call(thread, "answer", n)
        assert await call(saver, "inbox") == []
        found = await call(graph, "invoke", None, AT)
    assert found["log"] == [0, 1, 2]


async def test_nothing_is_answered_twice_by_one_answer(durable: Backend, call: Call) -> None:
    """A run that goes on without a new answer asks again: the old answer is not used for the next
    question, as an answer by `Command(resume=…)` would be."""

    def node(state: State) -> State:
        return {"log": [interrupt("first?"), interrupt("second?")]}

    saver = durable.open()
    graph = graph_of(saver, node)
    await call(graph, "invoke", {"log": []}, AT)
    await call(saver.thread("t"), "answer", "one")
    await call(graph, "invoke", None, AT)
    await call(graph, "invoke", None, AT)
    assert [each.question for each in saver.inbox()] == ["second?"]


async def test_questions_side_by_side(durable: Backend, call: Call) -> None:
    """Of several questions one is named; the others go on waiting. A dict answers several."""

    def one(state: State) -> State:
        return {"log": [("one", interrupt("one?"))]}

    def two(state: State) -> State:
        return {"log": [("two", interrupt("two?"))]}

    def three(state: State) -> State:
        return {"log": [("three", interrupt("three?"))]}

    saver = durable.open()
    graph, thread = graph_of(saver, one, two, three), saver.thread("t")
    await call(graph, "invoke", {"log": []}, AT)
    entries = {each.question: each for each in await call(saver, "inbox")}
    assert set(entries) == {"one?", "two?", "three?"}
    with pytest.raises(InvalidInput, match="waits for 3 answers") as caught:
        await call(thread, "answer", "x")
    assert entries["two?"].loop_id in str(caught.value)
    await call(thread, "answer", 2, entries["two?"])
    assert {each.question for each in saver.inbox()} == {"one?", "three?"}
    await call(graph, "invoke", None, AT)
    assert {each.question for each in saver.inbox()} == {"one?", "three?"}
    both = {entries["one?"].interrupt_id: 1, entries["three?"].interrupt_id: 3}
    assert await call(thread, "answer", both) == both
    found = await call(graph, "invoke", None, AT)
    assert [tuple(each) for each in found["log"]] == [("one", 1), ("three", 3), ("two", 2)]


async def test_questions_of_sends(durable: Backend, call: Call) -> None:
    """Tasks of one node, which Sends made, are distinguished."""

    def worker(state: State) -> State:
        return {"log": [(state["item"], interrupt(f"item {state['item']}?"))]}

    builder: Any = StateGraph(State)
    builder.add_node("worker", worker)
    builder.add_conditional_edges(START, lambda s: [Send("worker", {"item": n}) for n in range(3)])
    saver = durable.open()
    graph = builder.compile(checkpointer=saver)
    await call(graph, "invoke", {"log": []}, AT)
    for entry in saver.inbox():
        await call(saver.thread("t"), "answer", f"yes to {entry.question}", entry)
    found = await call(graph, "invoke", None, AT)
    assert [tuple(each) for each in found["log"]] == [(n, f"yes to item {n}?") for n in range(3)]


# ---- inside of other things


@pytest.mark.parametrize("checkpointer", [None, True, False])
@pytest.mark.parametrize("called", [False, True])
async def test_a_question_of_a_subgraph(
    durable: Backend, call: Call, checkpointer: Any, called: bool
) -> None:
    """A subgraph's question, two levels down, is answered where it was asked; its namespace is
    named. One without checkpoints is answered as well."""
    inner: Any = StateGraph(State)
    inner.add_node("asking", lambda s: {"log": [interrupt("inner?")]})
    inner.add_edge(START, "asking")
    deepest = inner.compile(checkpointer=checkpointer)
    middle: Any = StateGraph(State)
    middle.add_node("deepest", deepest)
    middle.add_edge(START, "deepest")
    sub = middle.compile(checkpointer=checkpointer)
    node = (lambda state: {"log": sub.invoke({"log": []})["log"]}) if called else sub
    saver = durable.open()
    builder: Any = StateGraph(State)
    builder.add_node("outer", node)
    builder.add_node("after", lambda s: {"log": [interrupt("after?")]})
    builder.add_edge(START, "outer")
    builder.add_edge("outer", "after")
    graph, thread = builder.compile(checkpointer=saver), saver.thread("t")
    await call(graph, "invoke", {"log": []}, AT)
    (entry,) = await call(saver, "inbox")
    assert entry.question == "inner?"
    names = [part.partition(":")[0] for part in entry.ns.split("|")]
    assert names == (["outer", "deepest"] if checkpointer is not False else [""])
    await call(thread, "answer", "deep", by="ann")
    assert await call(saver, "inbox") == []
    found = await call(graph, "invoke", None, AT)
    assert found["log"] == ["deep"]
    assert [each.question for each in saver.inbox()] == ["after?"]
    await call(thread, "answer", "shallow")
    assert (await call(graph, "invoke", None, AT))["log"] == ["deep", "shallow"]


async def test_questions_of_the_functional_api(durable: Backend, call: Call) -> None:
    """Questions of an entrypoint, and of tasks that run side by side in it, are distinguished."""

    @task
    def ask(what: str) -> str:
        return f"{what} {interrupt(f'{what}?')}"

    def work_of(saver: Any) -> Any:
        @entrypoint(checkpointer=saver)
        def work(name: str) -> Any:
            first = interrupt(f"begin {name}?")
            found = [ask("tea"), ask("milk")]
            return [first, *(each.result() for each in found), interrupt("done?")]

        return work

    saver = durable.open()
    work, thread = work_of(saver), saver.thread("t")
    work.invoke("breakfast", AT)
    assert [each.question for each in await call(saver, "inbox")] == ["begin breakfast?"]
    await call(thread, "answer", "go")
    work.invoke(None, AT)
    asked = {each.question: each for each in await call(saver, "inbox")}
    assert set(asked) == {"tea?", "milk?"}
    await call(thread, "answer", "hot", asked["tea?"])
    work.invoke(None, AT)
    assert [each.question for each in await call(saver, "inbox")] == ["milk?"]
    await call(thread, "answer", "cold", asked["milk?"])
    work.invoke(None, AT)
    assert [each.question for each in await call(saver, "inbox")] == ["done?"]
    await call(thread, "answer", "yes")
    assert work_of(durable.open()).invoke(None, AT) == ["go", "tea hot", "milk cold", "yes"]


async def test_a_question_of_a_deep_agents_subagent(durable: Backend, call: Call) -> None:
    """An approval inside a subagent names that agent, and is given from outside."""
    saver = durable.open()
    agent = firm(saver)
    await call(agent, "invoke", {"messages": [HumanMessage("bees?", id="h1")]}, FIRM)
    (entry,) = await call(saver, "inbox", agent="researcher")
    assert (entry.kind, entry.agent, entry.node) == (
        "approval", "researcher", "HumanInTheLoopMiddleware.after_model",
    )  # fmt: skip
    assert entry.ns.startswith("tools:")
    assert await call(saver, "inbox", agent="nobody") == []
    await call(saver.thread("a thread"), "answer", "approve")
    found = await call(firm(durable.open()), "invoke", None, FIRM)
    assert found["messages"][-1].text == "report: the hive: deleted /hive"


# ---- approvals


def cleaner(saver: Any, mode: Any, **rules: Any) -> Any:
    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(messages, ("search", {"query": "x"}), ("delete", {"path": "/p"}))
        return AIMessage("done")

    gate = HumanInTheLoopMiddleware(rules, interrupt_mode=mode)
    return create_agent(
        Scripted(rule=rule), [search, delete], middleware=[gate], checkpointer=saver
    )


GO = {"messages": [HumanMessage("go", id="h1")]}
EDIT = {"type": "edit", "edited_action": {"name": "delete", "args": {"path": "/q"}}}
RULES = {"search": {"allowed_decisions": ["approve", "reject"]}, "delete": True}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("approve", ["found x", "deleted /p"]),
        ("accept", ["found x", "deleted /p"]),
        (["approve", EDIT], ["found x", "deleted /q"]),
        ({"decisions": [{"type": "approve"}, EDIT]}, ["found x", "deleted /q"]),
        (["approve", {"type": "edit", "args": {"path": "/q"}}], ["found x", "deleted /q"]),
        (
            ["approve", {"type": "edit", "args": {"action": "delete", "args": {"path": "/q"}}}],
            ["found x", "deleted /q"],
        ),
        (["approve", {"type": "respond", "message": "gone"}], ["found x", "gone"]),
        (["approve", {"type": "response", "args": "gone"}], ["found x", "gone"]),
        (
            [{"type": "reject", "message": "why"}, {"type": "ignore"}],
            ["with reason: why", "rejected the tool call for `delete`"],
        ),
        ([{"type": "response", "args": "why"}, "approve"], ["with reason: why", "deleted /p"]),
    ],
)
def test_approvals_of_a_turn(sqlite: Backend, answer: Any, said: list[str]) -> None:
    """langchain's approvals of several calls take a word for all, or a decision for each, in its
    own words and in Agent Inbox's."""
    saver = sqlite.open()
    agent = cleaner(saver, "batched", **RULES)
    agent.invoke(GO, AT)
    (entry,) = saver.inbox()
    assert (entry.kind, entry.form, entry.allowed) == ("approval", "batched", ("approve", "reject"))
    assert [each["name"] for each in entry.actions] == ["search", "delete"]
    assert entry.actions[1]["allowed"] == ("approve", "edit", "reject", "respond")
    saver.thread("t").answer(answer, by="ann")
    messages = agent.invoke(None, AT)["messages"]
    results = [m.text for m in messages if m.type == "tool"]
    assert len(results) == 2
    for part in said:
        assert any(part in result for result in results)
    assert messages[-1].text == "done"


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("maybe", "search: 'maybe' is not allowed here. Allowed: approve, reject"),
        (["approve"], "1 decisions for 2 actions: .* search, delete"),
        ({"type": "approve"}, "1 decisions for 2 actions"),
        ([EDIT, "approve"], "search: 'edit' is not allowed here. Allowed: approve, reject"),
        (["approve", 7], "delete: 7 is no decision"),
        (["approve", {"type": "edit"}], "delete: an edit needs the new arguments"),
        (["approve", {"type": "respond"}], "delete: a response needs its text"),
        (["approve", None], "delete: None is no decision"),
    ],
)
def test_approvals_that_are_not_allowed(sqlite: Backend, answer: Any, wrong: str) -> None:
    """What an interrupt does not allow is refused with what it allows, and nothing is stored."""
    saver = sqlite.open()
    cleaner(saver, "batched", **RULES).invoke(GO, AT)
    before = saver.get_tuple(AT).pending_writes
    with pytest.raises(AnswerNotAllowed, match=wrong):
        saver.thread("t").answer(answer)
    assert saver.get_tuple(AT).pending_writes == before
    assert len(saver.inbox()) == 1


async def test_an_answered_approval_holds_its_call_up_until_the_run_goes_on(
    durable: Backend, call: Call
) -> None:
    """A call that nobody could have begun yet is not shown as one that may have happened."""
    saver = durable.open()
    agent, thread = cleaner(saver, "batched", **RULES), saver.thread("t")
    await call(agent, "invoke", GO, AT)
    await call(thread, "answer", ["reject", "approve"], by="ann")
    state = await call(thread, "working_state")
    assert [loop.kind for loop in state.open_loops] == ["request"]
    assert state.status == "due"
    assert [loop.kind for loop in await call(saver, "open_loops")] == ["request"]
    assert "verify before redoing" not in state.brief()
    await call(agent, "invoke", None, AT)
    ended = {loop.ref: loop.outcome for loop in (await call(thread, "working_state")).loops}
    assert "rejected" in ended.values()
    assert "a result was recorded" in ended.values()


async def test_approvals_of_each_call(durable: Backend, call: Call) -> None:
    """langchain's approvals of single calls are entries of their own, checked by their schema."""
    saver = durable.open()
    agent, thread = cleaner(saver, "per_call", **RULES), saver.thread("t")
    await call(agent, "invoke", GO, AT)
    entries = {
        each.actions[0]["name"]: each for each in await call(saver, "inbox", kind="approval")
    }
    assert entries["search"].allowed == ("approve", "reject")
    assert entries["delete"].allowed == ("approve", "edit", "reject", "respond")
    with pytest.raises(AnswerNotAllowed, match="Allowed: approve, reject"):
        await call(thread, "answer", {"type": "edit", "args": {"query": "y"}}, entries["search"])
    wrong = {"type": "edit", "edited_action": {"name": "delete", "args": {"path": 7}}}
    with pytest.raises(AnswerNotAllowed, match=r"\['path'\] must be of type string, not 7"):
        await call(thread, "answer", wrong, entries["delete"])
    wrong = {"type": "edit", "edited_action": {"name": "search", "args": {"path": "/q"}}}
    with pytest.raises(AnswerNotAllowed, match=r"must be 'delete', not 'search'"):
        await call(thread, "answer", wrong, entries["delete"])
    await call(thread, "answer", EDIT, entries["delete"])
    await call(thread, "answer", "approve")
    found = await call(agent, "invoke", None, AT)
    results = [m.text for m in found["messages"] if m.type == "tool"]
    assert "found x" in results[0]
    assert "deleted /q" in results[1]


INBOX = {
    "action_request": {"action": "run_command", "args": {"command": "ls"}},
    "config": {
        "allow_accept": True,
        "allow_edit": True,
        "allow_respond": True,
        "allow_ignore": False,
    },
    "description": "Look before you run it",
}


@pytest.mark.parametrize(
    ("answer", "stored"),
    [
        ("accept", {"type": "accept", "args": None}),
        ("approve", {"type": "accept", "args": None}),
        ({"type": "response", "args": "no"}, {"type": "response", "args": "no"}),
        ({"type": "reject", "message": "no"}, {"type": "response", "args": "no"}),
        (
            {"type": "edit", "args": {"command": "pwd"}},
            {"type": "edit", "args": {"action": "run_command", "args": {"command": "pwd"}}},
        ),
        (
            {"type": "edit", "edited_action": {"name": "run", "args": {"command": "pwd"}}},
            {"type": "edit", "args": {"action": "run", "args": {"command": "pwd"}}},
        ),
    ],
)
def test_agent_inbox_form(sqlite: Backend, answer: Any, stored: Any) -> None:
    """Agent Inbox's requests get answers in its form, whichever words they were given in."""
    saver = sqlite.open()
    graph = graph_of(saver, asks([INBOX]))
    graph.invoke({"log": []}, AT)
    (entry,) = saver.inbox()
    assert (entry.kind, entry.form) == ("approval", "agent_inbox")
    assert entry.allowed == ("accept", "edit", "response")
    with pytest.raises(AnswerNotAllowed, match="Allowed: accept, edit, response"):
        saver.thread("t").answer("ignore")
    saver.thread("t").answer(answer)
    assert graph.invoke(None, AT)["log"] == [[stored]]


def test_questions_of_mcp_servers(sqlite: Backend) -> None:
    """An elicitation is answered by a dict of its form's fields, or declined by a word."""
    form = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    request = {"key": "k1", "message": "Which size?", "mode": "form", "requested_schema": form}
    value = {"type": "mcp_elicitation", "tool_name": "shirt", "requests": [request]}
    saver = sqlite.open()
    for n, (answer, stored) in enumerate(
        [
            ({"size": 4}, {"action": "accept", "content": {"size": 4}}),
            ("decline", {"action": "decline"}),
            ({"responses": {"k1": {"action": "cancel"}}}, {"action": "cancel"}),
        ]
    ):
        at: Any = {"configurable": {"thread_id": f"t{n}"}}
        graph = graph_of(saver, asks(value))
        graph.invoke({"log": []}, at)
        thread = saver.thread(f"t{n}")
        (entry,) = saver.inbox(thread_id=f"t{n}")
        assert (entry.form, entry.allowed) == ("elicitation", ("accept", "decline", "cancel"))
        with pytest.raises(AnswerNotAllowed, match=r"k1: .*\['size'\] must be of type integer"):
            thread.answer({"size": "large"})
        with pytest.raises(AnswerNotAllowed, match="Allowed: accept, decline, cancel"):
            thread.answer("never")
        thread.answer(answer)
        assert graph.invoke(None, at)["log"] == [{"responses": {"k1": stored}}]


class Size(BaseModel, extra="forbid"):
    """What a person may say."""

    width: int
    colour: str | None = None
    sides: list[Literal["front", "back"]] = []
    framed: bool = False


def test_an_answer_fits_its_schema(sqlite: Backend) -> None:
    """LangGraph checks an answer only when the run goes on; a stored one is checked before."""
    saver = sqlite.open()
    graph = graph_of(saver, asks("how big?", response_schema=Size))
    graph.invoke({"log": []}, AT)
    thread = saver.thread("t")
    for wrong, why in (
        ({}, "it has no 'width'"), ({"width": "wide"}, "must be of type integer"),
        ({"width": True}, "must be of type integer"), (7, "must be of type object"),
        ({"width": 1, "colour": 2}, "must be of type string"),
        ({"width": 1, "framed": 1}, "must be of type boolean"),
        ({"width": 1, "hue": "red"}, "a field 'hue' that is not known"),
        ({"width": 1, "sides": ["front", "top"]}, r"\['sides'\]\[1\] must be one of"),
    ):  # fmt: skip
        with pytest.raises(AnswerNotAllowed, match=f"does not fit.*{why}"):
            thread.answer(wrong)
    thread.answer({"width": 4})
    assert graph.invoke(None, AT)["log"] == [Size(width=4)]


# ---- the listing


async def test_filters_of_the_inbox(durable: Backend, call: Call) -> None:
    """By user, thread, node, kind and age; pages go on where the last one ended."""
    saver = durable.open()

    def one(state: State) -> State:
        return {"log": [interrupt("one?")]}

    def two(state: State) -> State:
        return {"log": [interrupt([INBOX])]}

    for n, user in enumerate(("ann", "bob", "ann")):
        at = {"configurable": {"thread_id": f"t{n}", "user_id": user}}
        await call(graph_of(saver, one, two), "invoke", {"log": []}, at)
    found = await call(saver, "inbox")
    assert len(found) == 6
    assert [each.thread_id for each in found[::2]] == ["t2", "t1", "t0"]
    for name in ("user", "user_id"):
        assert {e.thread_id for e in await call(saver, "inbox", **{name: "ann"})} == {"t0", "t2"}
    assert {e.thread_id for e in await call(saver, "inbox", thread_id="t1")} == {"t1"}
    assert {e.question for e in await call(saver, "inbox", node="one")} == {"one?"}
    assert {e.node for e in await call(saver, "inbox", kind="approval")} == {"two"}
    assert {e.node for e in await call(saver, "inbox", kind="interrupt")} == {"one"}
    assert await call(saver, "inbox", older_than=timedelta(hours=1)) == []
    assert len(await call(saver, "inbox", older_than=timedelta(0))) == 6
    pages, after = [], None
    while True:
        page = await call(saver, "inbox", limit=2, kind="approval", after=after)
        pages += page
        if (after := page.next) is None:
            break
    assert [each.thread_id for each in pages] == ["t2", "t1", "t0"]
    for name, wrong in (
        ("kind", "loop"), ("kind", 5), ("kind", []), ("older_than", 5), ("limit", 0),
        ("limit", "5"), ("older_than", timedelta.max), ("agent", 5), ("assigned_to", 5),
        ("after", 5), ("after", "junk"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=name):
            await call(saver, "inbox", **{name: wrong})
    with pytest.raises(TypeError, match=r"has no filter 'age': use kind, .*older_than"):
        await call(saver, "inbox", age=timedelta(hours=1))


async def test_a_users_inbox(durable: Backend, call: Call) -> None:
    """A saver for one user lists and answers that user's questions only."""
    saver = durable.open()
    for user in ("ann", "bob"):
        at = {"configurable": {"thread_id": user, "user_id": user}}
        await call(graph_of(saver, asks()), "invoke", {"log": []}, at)
    mine = saver.for_user("ann")
    (entry,) = await call(mine, "inbox")
    assert entry.config == {"configurable": {"thread_id": "ann", "user_id": "ann"}}
    with pytest.raises(ThreadNotFound):
        await call(mine.thread("bob"), "answer", "x")
    await call(mine.thread("ann"), "answer", "yes")
    found = await call(graph_of(mine, asks()), "invoke", None, entry.config)
    assert found["log"] == ["yes"]
    assert [each.thread_id for each in saver.inbox()] == ["bob"]


async def test_questions_in_messages(durable: Backend, call: Call) -> None:
    """A question that the agent asked in prose is listed, and can't be answered without a run."""
    saver = durable.open()
    rule = Scripted(rule=lambda m: AIMessage("Which city do you mean?"))
    await call(create_agent(rule, checkpointer=saver), "invoke", GO, AT)
    (entry,) = await call(saver, "inbox")
    assert (entry.kind, entry.question) == ("question", "Which city do you mean?")
    with pytest.raises(InvalidInput, match="no interrupt but a question"):
        await call(saver.thread("t"), "answer", "Paris", entry)


async def test_breakpoints(durable: Backend, call: Call) -> None:
    """A thread that stands before a node asks nobody: it is due."""
    saver = durable.open()

    def node(state: State) -> State:
        return {"log": [1]}

    graph = graph_of(saver, node, interrupt_before=["node"])
    await call(graph, "invoke", {"log": []}, AT)
    assert await call(saver, "inbox") == []
    (info,) = await call(saver, "threads", status=["due", "paused"])
    assert [each.node for each in info.due] == ["node"]
    with pytest.raises(ItemNotFound):
        await call(saver.thread("t"), "answer", "x")
    assert (await call(graph, "invoke", None, AT))["log"] == [1]


async def test_assigning_and_expiring(durable: Backend, call: Call) -> None:
    """A question is assigned to somebody, and refused once its time has passed."""
    saver = durable.open()
    graph, thread = graph_of(saver, asks()), saver.thread("t")
    await call(graph, "invoke", {"log": []}, AT)
    await call(thread, "assign", to="ann", by="bob")
    (entry,) = await call(saver, "inbox", assigned_to="ann")
    assert (entry.assigned_to, entry.expires_at, entry.expired) == ("ann", None, False)
    soon = datetime.now(timezone.utc) + timedelta(hours=1)
    await call(thread, "assign", entry, expires_at=soon)
    (entry,) = await call(saver, "inbox", assigned_to="ann")
    assert entry.expires_at == soon.isoformat()
    await call(thread, "assign", entry, to="eve", expires_at="2026-01-01T00:00:00Z")
    assert await call(saver, "inbox", assigned_to="ann") == []
    (entry,) = await call(saver, "inbox")
    assert entry.expired
    with pytest.raises(QuestionExpired, match="2026-01-01"):
        await call(thread, "answer", "late")
    with pytest.raises(InvalidInput, match="expires_at"):
        await call(thread, "assign", expires_at="soon")
    for nobody in ("", 5):
        with pytest.raises(InvalidInput, match="whose question"):
            await call(thread, "assign", to=nobody)


def test_a_graph_says_until_when(sqlite: Backend) -> None:
    """An interrupt's own `expires_at` counts."""
    saver = sqlite.open()
    question = {"question": "now?", "expires_at": "2026-01-01T00:00:00+00:00"}
    graph_of(saver, asks(question)).invoke({"log": []}, AT)
    assert saver.inbox()[0].expired
    with pytest.raises(QuestionExpired):
        saver.thread("t").answer("late")


@pytest.mark.usefixtures("behind_utc")
@pytest.mark.parametrize("kind", ["datetime", "text"])
def test_a_time_without_a_zone_is_local(sqlite: Backend, kind: str) -> None:
    """In an hour is in an hour, also five hours behind UTC: of who assigns, and of the graph."""
    saver = sqlite.open()
    soon: Any = datetime.now() + timedelta(hours=1)
    soon = soon if kind == "datetime" else soon.isoformat()
    graph_of(saver, asks({"question": "now?", "expires_at": soon})).invoke({"log": []}, AT)
    for _ in range(2):
        (entry,) = saver.inbox()
        left = datetime.fromisoformat(str(entry.expires_at)) - datetime.now(timezone.utc)
        assert timedelta(minutes=50) < left < timedelta(minutes=61)
        saver.thread("t").assign(entry, expires_at=soon)


def test_new_input_ends_a_question(sqlite: Backend) -> None:
    """Input that takes a thread on leaves nothing to answer."""
    saver = sqlite.open()
    graph = graph_of(saver, asks())
    graph.invoke({"log": []}, AT)
    (old,) = saver.inbox()
    graph.invoke({"log": []}, AT)
    (new,) = saver.inbox()
    assert new.interrupt_id != old.interrupt_id
    with pytest.raises(AlreadyAnswered, match="is over"):
        saver.thread("t").answer("x", old)
    with pytest.raises(ThreadNotFound):
        saver.thread("nobody").answer("x")


def test_an_answer_of_langgraphs_own(sqlite: Backend) -> None:
    """A node that failed after `Command(resume=…)` waits for no answer."""
    saver = sqlite.open()

    def node(state: State) -> State:
        raise ValueError(interrupt("go?"))

    graph = graph_of(saver, node)
    graph.invoke({"log": []}, AT)
    with pytest.raises(ValueError, match="yes"):
        graph.invoke(Command(resume="yes"), AT)
    assert saver.inbox() == []
    with pytest.raises(ItemNotFound):
        saver.thread("t").answer("no")


def test_encrypted_answers(sqlite: Backend) -> None:
    """On a sealed store neither the answer nor who gave it is in the file in plain text."""
    saver = sqlite.open(keys={"k": b"0" * 32})
    graph = graph_of(saver, asks())
    graph.invoke({"log": []}, AT)
    saver.thread("t").answer("top secret answer", by="annabella")
    assert graph.invoke(None, AT)["log"] == ["top secret answer"]
    saver.close()
    for file in Path(sqlite.url.removeprefix("sqlite:///")).parent.iterdir():
        assert b"secret" not in file.read_bytes()
        assert b"annabella" not in file.read_bytes()


# ---- races


def test_a_race_of_threads_has_one_winner(durable: Backend) -> None:
    """Of eight answers at once, through savers of their own, one is stored: the one that the run
    then gets."""
    for n in range(6):
        at: Any = {"configurable": {"thread_id": f"t{n}"}}
        first = durable.open()
        graph = graph_of(first, asks())
        graph.invoke({"log": []}, at)
        savers = [durable.open() for _ in range(4)]
        barrier, won, refused = threading.Barrier(8), list[int](), list[int]()

        def compete(me: int) -> None:
            thread = savers[me % 4].thread(f"t{n}")  # noqa: B023
            barrier.wait()  # noqa: B023
            try:
                thread.answer(me, by=f"p{me}")
                won.append(me)  # noqa: B023
            except AlreadyAnswered:
                refused.append(me)  # noqa: B023

        runners = [threading.Thread(target=compete, args=(me,)) for me in range(8)]
        for runner in runners:
            runner.start()
        for runner in runners:
            runner.join()
        assert (len(won), len(refused)) == (1, 7)
        assert graph.invoke(None, at)["log"] == won
        for saver in savers:
            saver.close()


RACE = """
import sys
from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import AlreadyAnswered
url, me, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with WyrdSaver.from_conn_string(url) as saver:
    saver.threads()
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        try:
            saver.thread(f"t{n}").answer(me, by=me)
            print(n, flush=True)
        except AlreadyAnswered as error:
            assert error.by not in (None, me), error
"""


def test_a_race_of_processes_has_one_winner(durable: Backend) -> None:
    """Two processes answer the same twenty questions: each goes to one of them, and the run gets
    the answer of that one."""
    count, saver = 20, durable.open()
    graph = graph_of(saver, asks())
    for n in range(count):
        graph.invoke({"log": []}, {"configurable": {"thread_id": f"t{n}"}})
    command = python("-c", RACE, durable.url)
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*command, me, str(count)], **pipes) for me in ("ann", "bob")]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    won = {}
    for me, process in zip(("ann", "bob"), both, strict=True):
        out, _ = process.communicate(timeout=200)
        assert process.returncode == 0
        won[me] = {int(line) for line in out.split()}
    assert won["ann"] | won["bob"] == {*range(count)}
    assert not won["ann"] & won["bob"]
    for n in range(count):
        found = graph.invoke(None, {"configurable": {"thread_id": f"t{n}"}})["log"]
        assert found == ["ann" if n in won["ann"] else "bob"]


async def test_the_official_saver_takes_such_answers() -> None:
    """What is stored is LangGraph's own form: its in-memory saver goes on with it as well."""
    saver = InMemorySaver()
    graph = graph_of(saver, asks())
    await asyncio.to_thread(graph.invoke, {"log": []}, AT)
    found = saver.get_tuple(AT)
    assert found is not None
    ((who, _, (asked,)),) = found.pending_writes or ()
    assert isinstance(asked, Interrupt)
    saver.put_writes(found.config, [("__wyrd_answer__", {"key": asked.id})], f"answer:{asked.id}:0")
    saver.put_writes(found.config, [("__resume__", ["yes"])], who)
    assert graph.get_state(AT).next == ("node",)
    assert graph.invoke(None, AT)["log"] == ["yes"]


def test_a_store_without_pillars_answers(sqlite: Backend) -> None:
    """Without pillars nothing is listed, and an answer is stored all the same."""
    saver: WyrdSaver = sqlite.open(pillars=False)
    graph = graph_of(saver, asks())
    graph.invoke({"log": []}, AT)
    assert saver.inbox() == []
    saver.thread("t").answer("yes")
    with pytest.raises(AlreadyAnswered):
        saver.thread("t").answer("no")
    assert graph.invoke(None, AT)["log"] == ["yes"]


def test_a_union_whose_tag_has_a_default() -> None:
    """pydantic refuses an answer without the tag, though its schema does not ask for it."""
    branches = [{"properties": {"type": {"const": each}}} for each in ("yes", "no")]
    schema = {"oneOf": branches, "discriminator": {"propertyName": "type"}}
    assert misfit({"type": "yes", "note": "x"}, schema) is None
    assert "must be one of yes, no" in (misfit({"note": "x"}, schema) or "")


def test_filters_that_nobody_matches(sqlite: Backend) -> None:
    """An empty name is nobody's; None is no filter."""
    saver = sqlite.open()
    cleaner(saver, "batched", **RULES).invoke(GO, AT)
    assert len(saver.inbox(assigned_to=None)) == 1
    assert not saver.inbox(assigned_to="")
    assert len(saver.open_loops(branch=None)) == len(saver.open_loops())
