"""`extract`: what real agents were doing, read from any saver's checkpoints, says what is so."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.extracting import extract
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.extraction.registry import Extractors
from langgraph_wyrd.state.facts import Holds
from langgraph_wyrd.state.model import Due, WorkingState
from langgraph_wyrd.state.namespaces import join
from tests.deep import RubricMiddleware
from tests.scripted_agents import (
    APPROVE,
    CONFIG,
    EDIT,
    REJECT,
    RESPOND,
    Scripted,
    ask,
    calls,
    decide,
    office,
    search,
)
from tests.story import Teller, without_loop

THREAD = CONFIG["configurable"]["thread_id"]


def now(saver: Any, previous: WorkingState | None = None, ns: str = "") -> WorkingState:
    """What the newest checkpoint of a namespace says."""
    where: Any = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ns}}
    return extract(saver.get_tuple(where), previous=previous)


def follow(saver: Any, state: WorkingState | None = None) -> WorkingState:
    """The same, having looked at every checkpoint since that state, as a saver does."""
    known = "" if state is None else state.checkpoint_id or ""
    where: Any = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
    for row in reversed(list(saver.list(where))):
        if row.checkpoint["id"] >= known:
            state = extract(row, previous=state)
    assert state is not None
    return state


def spaces(saver: Any) -> list[str]:
    found = {row.config["configurable"]["checkpoint_ns"] for row in saver.list(None)}
    return sorted(found - {""})


def loops(state: WorkingState) -> list[tuple[str, str]]:
    return sorted((loop.kind, loop.description) for loop in state.open_loops)


def kinds(state: WorkingState) -> list[str]:
    return [kind for kind, _ in loops(state)]


def plan(state: WorkingState) -> list[tuple[str, str]]:
    return [(todo.content, todo.status) for todo in state.todos]


TWO = 'approve delete {"path": "/x"}; delete {"path": "/y"}?'


# ---- langchain agents


def test_what_was_known_survives_a_summary() -> None:
    """With the state before, a summarised history takes away no request and no id."""
    saver = InMemorySaver()
    agent = office(saver)
    state: WorkingState | None = None
    for n, answer in enumerate((decide(APPROVE, REJECT), decide(EDIT, RESPOND))):
        agent.invoke(ask(f"Summarise room {n}", f"h{n}"), CONFIG)
        asking = state = follow(saver, state)
        assert asking.intention is not None
        assert asking.intention.text == f"Summarise room {n}"
        assert kinds(asking).count("interrupt") == 1
        agent.invoke(answer, CONFIG)
        state = follow(saver, state)
        assert loops(state) == []
    assert state is not None
    text = saver.get_tuple(CONFIG).checkpoint["channel_values"]["messages"][0].text  # type: ignore[union-attr]
    assert "Summarise room 0" not in text
    assert state.title == "Summarise room 0"
    assert [each.text for each in state.intentions] == ["Summarise room 0", "Summarise room 1"]
    asked = [loop for loop in state.closed_loops if loop.kind == "interrupt"]
    assert [loop.description for loop in asked] == [TWO, TWO]
    again = now(saver, state)
    assert [t.id for t in again.todos] == [t.id for t in state.todos]
    assert [x.id for x in again.loops] == [x.id for x in state.loops]


@tool
def ask_person(question: str) -> str:
    """Ask a person."""
    return str(interrupt({"question": question}))


@tool
def write_line(text: str) -> str:
    """Write a line."""
    return f"wrote {text}"


def curious(saver: Any) -> Any:
    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(
                messages, ("ask_person", {"question": "red?"}), ("write_line", {"text": "a"})
            )
        return AIMessage("thank you")

    return create_agent(Scripted(rule=rule), [ask_person, write_line], checkpointer=saver)


def test_the_prebuilt_agent_s_apology() -> None:
    """ "Need more steps" leaves the thread with a cut-off answer, not a finished one."""
    from langgraph.prebuilt import create_react_agent

    saver = InMemorySaver()
    with pytest.warns(DeprecationWarning, match="create_react_agent"):
        agent = create_react_agent(
            Scripted(rule=lambda m: calls(m, ("search", {"query": "more"}))),
            [search],
            checkpointer=saver,
        )
    agent.invoke(ask("search on"), {**CONFIG, "recursion_limit": 4})
    state = now(saver)
    assert "truncated" in kinds(state)
    assert state.status == "idle"


def test_a_plan_before_its_channel() -> None:
    """At every checkpoint the plan is one list: in the call, and then in the channel."""
    saver = InMemorySaver()

    def rule(messages: list[BaseMessage]) -> AIMessage:
        turn = sum(m.type == "tool" for m in messages)
        if turn < 2:
            done = [{"content": "a", "status": "completed" if turn else "in_progress"}]
            return calls(
                messages, ("write_todos", {"todos": [*done, {"content": "b", "status": "pending"}]})
            )
        return AIMessage("planned")

    agent = create_agent(
        Scripted(rule=rule), [], middleware=[TodoListMiddleware()], checkpointer=saver
    )
    agent.invoke(ask("plan it"), CONFIG)
    state: WorkingState | None = None
    sizes, ids = [], set()
    for row in reversed(list(saver.list(CONFIG))):
        state = extract(row, previous=state)
        sizes.append(len(state.todos))
        ids |= {todo.id for todo in state.todos}
    assert state is not None
    assert set(sizes) == {0, 2}
    assert len(ids) == 2
    assert plan(state) == [("a", "completed"), ("b", "pending")]


@pytest.mark.filterwarnings("ignore:.*RubricMiddleware")  # it is a beta, and says so once
@pytest.mark.parametrize("good_at", [2, 9])
def test_a_rubric_that_is_graded(good_at: int) -> None:
    """The rubric is the aim; what a grader misses stands until it is met, or for good."""
    graded: list[bool] = []

    def grade(messages: list[BaseMessage]) -> AIMessage:
        graded.append(len(graded) + 1 >= good_at)
        criterion: dict[str, Any] = {"name": "cites", "passed": graded[-1]}
        if not graded[-1]:
            criterion["gap"] = "no source"
        verdict = {
            "result": "satisfied" if graded[-1] else "needs_revision",
            "explanation": "so",
            "criteria": [criterion],
        }
        call = {"name": "GraderResponse", "args": verdict, "id": f"g{len(graded)}"}
        return AIMessage("", tool_calls=[call])

    saver = InMemorySaver()
    grader = RubricMiddleware(model=Scripted(rule=grade), max_iterations=2)
    writer = Scripted(rule=lambda messages: AIMessage("the answer"))
    agent = create_agent(writer, [], middleware=[grader], checkpointer=saver)
    agent.invoke({**ask("write it"), "rubric": "cite everything"}, CONFIG)
    state = follow(saver)
    assert state.intention is not None
    assert (state.intention.text, state.intention.aim) == ("cite everything", "explicit")
    (note,) = [loop for loop in state.closed_loops if loop.kind == "note"]
    assert note.context["gaps"] == [{"name": "cites", "gap": "no source"}]
    if good_at == 2:
        assert (note.outcome, loops(state), state.status) == ("satisfied", [], "done")
    else:
        missed = "rubric not met (max_iterations_reached): cites: no source"
        assert loops(state) == [("error", missed)]


# ---- subgraphs


class Form(TypedDict, total=False):
    name: str
    colour: str


def test_an_interrupt_in_a_subgraph() -> None:
    """The question of an inner node is known in both namespaces by one id, and closes in both."""
    saver = InMemorySaver()
    inner: Any = StateGraph(Form)
    inner.add_node("ask", lambda state: {"name": interrupt("your name?")})
    inner.add_node("colour", lambda state: {"colour": interrupt("your colour?")})
    inner.add_edge(START, "ask")
    inner.add_edge("ask", "colour")
    outer: Any = StateGraph(Form)
    outer.add_node("form", inner.compile())
    outer.add_edge(START, "form")
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"name": ""}, CONFIG)
    (ns,) = spaces(saver)
    root, sub = now(saver), now(saver, ns=ns)
    for question, answer in (("your name?", "ann"), ("your colour?", "red")):
        assert loops(root) == loops(sub) == loops(join(root, [sub])) == [("interrupt", question)]
        assert [root.loops[-1].source.node, root.due] == ["form", (Due("form"),)]
        assert sub.open_loops[0].source.node == sub.due[0].node
        graph.invoke(Command(resume=answer), CONFIG)
        root, sub = now(saver, root), now(saver, sub, ns)
    assert loops(root) == loops(sub) == []
    assert root.get_context("colour") == "red"
    assert len(root.closed_loops) == len(sub.closed_loops) == 2


# ---- the functional API


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_functional_chat(wrapped: bool) -> None:
    """Messages that an entrypoint saves for its next run are its conversation."""
    saver = InMemorySaver()

    @entrypoint(checkpointer=saver)
    def chat(said: str, *, previous: Any = None) -> Any:
        talk = list((previous["messages"] if wrapped else previous) or ()) if previous else []
        talk += [HumanMessage(said, id=f"h{len(talk)}"), AIMessage("Which colour would you like?")]
        return entrypoint.final(value="ok", save={"messages": talk} if wrapped else talk)

    chat.invoke("paint the shed", CONFIG)
    state = now(saver)
    assert kinds(state) == ["question", "request"]
    assert state.intention is not None
    assert state.intention.text == "paint the shed"


# ---- what it is given


def test_a_plain_dict() -> None:
    """A state that never saw a checkpointer."""
    call = {"name": "search", "args": {"query": "x"}, "id": "c1"}
    values = {
        "messages": [HumanMessage("look it up"), AIMessage("", tool_calls=[call])],
        "todos": [{"content": "a", "status": "in_progress"}],
        "goal": "know it all",
        "topic": {"of": ("bees", {1})},
    }
    before = copy.deepcopy(values)
    state = extract(values)
    assert values == before
    assert "tool_call" in kinds(state)
    assert plan(state) == [("a", "in_progress")]
    assert state.intention is not None
    assert state.intention.text == "know it all"
    assert [(item.key, item.value) for item in state.context] == [("topic", {"of": ["bees", [1]]})]
    assert extract(values) == state  # the same, every time
    result = [("t", "messages", [ToolMessage("found", tool_call_id="c1")])]
    assert "tool_call" not in kinds(extract(values, pending_writes=result))
    json.dumps(state.to_dict())


def test_an_empty_state() -> None:
    """Nothing is known, and that is said."""
    state = extract({})
    assert (state.loops, state.todos, state.context, state.intentions) == ((), (), (), ())
    assert state.status == "idle"


def test_pending_writes_of_a_plain_dict() -> None:
    """A question among them waits; a later look without it closes it."""
    asked = [("task", "__interrupt__", (Interrupt("go on?", "1" * 32),))]
    state = extract({"topic": 1}, pending_writes=asked)
    assert (state.status, loops(state)) == ("interrupted", [("interrupt", "go on?")])
    same = extract({"topic": 1}, pending_writes=asked, previous=state)
    assert [x.id for x in same.open_loops] == [x.id for x in state.open_loops]
    after = extract({"topic": 2}, previous=same)
    assert loops(after) == []
    assert [x.outcome for x in after.closed_loops] == ["the run went on"]
    assert after.get_context("topic") == 2


def test_a_snapshot_says_what_the_tuple_says() -> None:
    """`get_state` and the saver's tuple lead to one state."""
    saver = InMemorySaver()
    agent = office(saver)
    agent.invoke(ask("tidy up"), CONFIG)
    ours, theirs = now(saver), extract(agent.get_state(CONFIG))
    assert loops(ours) == loops(theirs)
    assert (plan(ours), ours.status, ours.reason) == (plan(theirs), theirs.status, theirs.reason)
    assert [d.node for d in ours.due] == [d.node for d in theirs.due]
    assert ours.thread_id == theirs.thread_id == THREAD
    assert ours.checkpoint_id == theirs.checkpoint_id


def test_what_is_no_state_is_refused() -> None:
    """A list, None, a string: said at once."""
    for value in ([], None, "messages", 7):
        with pytest.raises(InvalidInput, match="is no state"):
            extract(value)  # type: ignore[arg-type]


def test_channels_and_extractors_are_chosen() -> None:
    """Channels left out stay out, default extractors can be switched off, others brought."""

    def counts(view: Any) -> Iterator[Holds]:
        yield Holds("count", len(view.values), view.at("counts"))

    values = {"topic": 1, "secret": 2, "todos": ["a"]}
    state = extract(values, channels=Channels(exclude=("secret", "todos")), extractors=[counts])
    assert {item.key: item.value for item in state.context} == {"topic": 1, "count": 3}
    assert state.todos == ()
    state = extract(values, extractors=Extractors(off=("context",)))
    assert state.context == ()


ODD: list[Any] = [
    {"messages": None}, {"messages": 7}, {"messages": [None, 7, "x", {"role": "user"}, object()]},
    {"todos": object()}, {"async_tasks": [1]}, {"rubric": {}}, {"goal": object()}, {"plan": [None]},
    {"files": ["x"]}, {"_rubric_status": "failed", "_rubric_evaluations": "x"}, {1: 2},
    {"__pregel_tasks": [None]}, {"branch:to:x": object()}, {"join:": {1}},
    {"todos": [{"content": object(), "id": object(), "status": []}]},
    {"past_steps": [1], "plan": ["a"]}, {"__previous__": object()},
]  # fmt: skip


@pytest.mark.parametrize("values", ODD, ids=lambda values: "+".join(map(str, values)))
def test_odd_states_break_nothing(values: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is in a state, no extractor fails on it and the result is plain data."""
    writes = [("t", str(name), value) for name, value in values.items()]
    state = extract(values, pending_writes=writes)
    json.dumps(state.to_dict())
    assert not caplog.records


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_random_programs(asynchronous: bool, caplog: pytest.LogCaptureFixture) -> None:
    """At every leaf of random programs, the open questions are those that the graph reports."""
    compared = 0
    for seed in range(70, 90):
        doing = compare_questions(seed, asynchronous)
        compared += asyncio.run(doing) if asynchronous else without_loop(doing)
    assert compared > 100
    assert not caplog.records


async def compare_questions(seed: int, asynchronous: bool) -> int:
    saver = InMemorySaver()
    teller = Teller(seed, [saver], asynchronous, past=True)
    compared = 0
    for teller.turn in range(6):
        await teller.record("act", teller.act())
        state = await teller.call("get_state", teller.config)
        if state.metadata is None:
            continue
        found = extract(saver.get_tuple(teller.config))  # type: ignore[arg-type]
        refs = sorted(str(x.ref) for x in found.open_loops if x.kind == "interrupt")
        assert refs == sorted({each.id for each in state.interrupts}), seed
        failed = [each for each in state.tasks if each.error is not None]
        assert len([x for x in found.open_loops if x.source.rule == "task_error"]) == len(failed)
        named = [x.source.node for x in found.open_loops if x.source.rule == "task_error"]
        assert sorted(map(str, named)) == sorted(each.name for each in failed)
        compared += 1
    return compared
