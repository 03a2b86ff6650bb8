"""What tasks say of a checkpoint: what is due, what asks, what failed and what was answered."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import operator
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphRecursionError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, RetryPolicy, Send, interrupt

from langgraph_wyrd.extraction.context import context
from langgraph_wyrd.extraction.due import due, finished, paused_before, remaining
from langgraph_wyrd.extraction.extracting import views
from langgraph_wyrd.extraction.interrupts import asked, request
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.extraction.tasks import error_text, tasks
from langgraph_wyrd.extraction.view import TaskWrite, View
from langgraph_wyrd.state.facts import Opens, Settles
from langgraph_wyrd.state.model import (
    Due,
    OpenLoop,
    WorkingState,
)
from tests.conftest import Backend
from tests.damage import at
from tests.story import Teller, without_loop
from tests.views import CONFIG, NULL, Ask, calls, checkpoint_view, leaf, stored_writes, wrote

# ---- due


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def logs(name: str) -> Any:
    return lambda state: {"log": [name]}


def nodes_of(found: Iterable[Due]) -> list[str]:
    return sorted(each.node for each in found)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("seeds", [range(0, 12), range(40, 52)], ids=str)
def test_due_is_what_the_graph_says(seeds: range, asynchronous: bool) -> None:
    """At every checkpoint of random programs the due nodes are those of the graph's own state."""
    compared = 0
    for seed in seeds:
        doing = compare_program(seed, asynchronous)
        compared += asyncio.run(doing) if asynchronous else without_loop(doing)
    assert compared > 150


async def compare_program(seed: int, asynchronous: bool) -> int:
    saver = InMemorySaver()
    teller = Teller(seed, [saver], asynchronous, past=True)
    for teller.turn in range(6):
        await teller.record("act", teller.act())
    rows = list(saver.list(None))
    leaves: dict[str, Any] = {}
    for row in rows:
        leaves.setdefault(row.config["configurable"]["checkpoint_ns"], row)
        state = await teller.call("get_state", row.config)
        names = sorted(each.name for each in state.tasks)
        assert nodes_of(due(checkpoint_view(row))) == names, (seed, row.metadata)
    for ns, row in leaves.items():
        where = {"configurable": {"thread_id": teller.thread, "checkpoint_ns": ns}}
        state = await teller.call("get_state", where)
        ahead = remaining(due(checkpoint_view(row)), stored_writes(saver, row))
        # langgraph 1.2.0 takes a task that asks again for one that has ended.
        again = [each.name for each in state.tasks if each.interrupts and each.result is not None]
        assert nodes_of(ahead) == sorted([*state.next, *again]), (seed, ns)
        # Without the paths, which only a saver has, the tasks' ids say the same.
        assert views(row, (), WorkingState(), Channels())[2] == ahead, (seed, ns)
    return len(rows)


def fan(saver: Any) -> Any:
    """Nodes with odd names that meet in a join, next to a deferred one and Sends."""
    builder: Any = StateGraph(Log)
    for name in ("a+b", "c d", "meet", "last"):
        builder.add_node(name, logs(name), defer=name == "last")
    builder.add_node("each", logs("each"))
    builder.add_edge(START, "a+b")
    builder.add_edge(START, "c d")
    builder.add_edge(["a+b", "c d"], "meet")
    builder.add_conditional_edges("a+b", lambda s: [Send("each", s), Send("each", s)], ["each"])
    builder.add_edge("c d", "last")
    return builder.compile(checkpointer=saver, interrupt_before=["meet", "each", "last"])


def test_sends_joins_and_deferred_nodes() -> None:
    """Sends have their place, a join is due when all have come, a deferred node at the end."""
    saver = InMemorySaver()
    graph = fan(saver)
    graph.invoke({"log": []}, CONFIG)
    view, _ = leaf(saver)
    assert due(view) == [Due("each", 0), Due("each", 1), Due("meet")]
    assert paused_before(view) == ("each", "meet")
    graph.invoke(None, CONFIG)
    view, _ = leaf(saver)
    assert due(view) == [Due("last")]
    graph.invoke(None, CONFIG)
    assert due(leaf(saver)[0]) == []


def test_a_join_is_known_by_its_name() -> None:
    """Names with a plus in them, and a join that has heard of some only."""
    seen: Any = {}
    both = {"a+b", "c"}
    for value, is_due in (
        ({"a+b"}, False), (both, True), ((both, False), False), ((both, True), True),
        (["c", 7], False), (set(), False),
    ):  # fmt: skip
        view = View(
            "c", values={"join:a+b+c:end": value}, versions={"join:a+b+c:end": 3}, seen=seen
        )
        assert bool(due(view)) is is_due, value


def test_what_finished_is_not_due() -> None:
    """A node with output won't run again; one that asks, or failed with nothing written, will."""
    writes = [
        TaskWrite("1", "~__pregel_pull, done", "log", []),
        TaskWrite("2", "~__pregel_pull, asks", "__interrupt__", ()),
        TaskWrite("3", "~__pregel_pull, failed", "__error__", "E()"),
        TaskWrite("4", "~__pregel_push, 0000000001, False", "__no_writes__", None),
        TaskWrite("5", "~__pregel_push, ~__pregel_pull, wf, 0000000000, True", "__return__", 1),
        TaskWrite("6", "~__pregel_pull, failed, node_error_handler, False", "log", []),
        TaskWrite(NULL, "", "log", []),
    ]
    assert finished(writes) == {"done", 1}
    ahead = [Due("s", 0), Due("s", 1), Due("asks"), Due("done"), Due("failed")]
    assert remaining(ahead, writes) == (Due("s", 0), Due("asks"), Due("failed"))


def test_a_cycle_that_runs_out_of_steps() -> None:
    """After a recursion error the next node is due, and nothing failed or asks."""
    saver = InMemorySaver()
    builder: Any = StateGraph(Log)
    builder.add_node("round", logs("round"))
    builder.add_edge(START, "round")
    builder.add_edge("round", "round")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(GraphRecursionError):
        graph.invoke({"log": []}, {**CONFIG, "recursion_limit": 4})
    put, pending = leaf(saver)
    assert due(put) == [Due("round")]
    assert list(tasks(pending)) == []


def test_a_failed_route() -> None:
    """A node that failed after its output is not run again, says LangGraph; its error shows."""
    saver = InMemorySaver()

    def route(state: Log) -> str:
        raise ValueError("no way")

    builder: Any = StateGraph(Log)
    builder.add_node("a", logs("a"))
    builder.add_node("b", logs("b"))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", route, ["b"])
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(ValueError, match="no way"):
        graph.invoke({"log": []}, CONFIG)
    put, pending = leaf(saver)
    assert remaining(due(put), pending.writes) == graph.get_state(CONFIG).next == ()
    (failed,) = tasks(pending)
    assert isinstance(failed, Opens)
    assert (failed.kind, failed.description, failed.source.node) == (
        "error", "ValueError: no way", "a",
    )  # fmt: skip


def booked(saver: Any) -> Any:
    @task
    def ask(n: int) -> Any:
        return interrupt(f"how about {n}?")

    @task
    def double(n: int) -> int:
        return 2 * n

    @entrypoint(checkpointer=saver)
    def book(n: int, *, previous: Any = None) -> Any:
        twice = double(n).result()
        answer = ask(twice).result()
        return entrypoint.final(value=f"{answer}!", save={"last": answer})

    return book


def test_the_functional_api() -> None:
    """An entrypoint is due under its name, its question stands once, its results are context."""
    saver = InMemorySaver()
    graph = booked(saver)
    for n, answer in enumerate(("yes", "no")):
        graph.invoke(n, CONFIG)
        put, pending = leaf(saver)
        assert nodes_of(remaining(due(put), pending.writes)) == list(graph.get_state(CONFIG).next)
        (asked,) = tasks(pending)
        assert isinstance(asked, Opens)
        assert (asked.description, asked.source.node) == (f"how about {2 * n}?", "book")
        graph.invoke(Command(resume=answer), CONFIG)
        put, _ = leaf(saver)
        assert due(put) == []
        found = {fact.key: fact.value for fact in context(put)}  # type: ignore[union-attr]
        assert found == {"result": f"{answer}!", "previous": {"last": answer}}


def test_due_is_cheap() -> None:
    """On a plain chat it takes a few calls, however long the thread is."""
    view = View(
        "c",
        values={"messages": [AIMessage("x")] * 5000, "branch:to:model": None, "todos": []},
        versions={"messages": "2.1", "branch:to:model": "2.1", "todos": "1.1"},
        seen={"model": {"branch:to:model": "1.1"}, "__start__": {"__start__": "1.0"}},
    )
    assert due(view) == [Due("model")]
    assert calls(lambda: due(view)) < 50


# ---- interrupts

BATCHED = {
    "action_requests": [
        {"name": "delete", "args": {"path": "/x"}, "description": "Tool execution"},
        {"name": "mail", "args": {}},
    ],
    "review_configs": [{"action_name": "delete", "allowed_decisions": ["approve", "reject"]}],
}
ALONE = {
    "type": "tool_approval", "tool_call_id": "call-1", "name": "delete", "args": {"path": "/x"},
    "description": "Tool execution",
}  # fmt: skip
INBOX = [
    {
        "action_request": {"action": "send", "args": {"to": "ann"}},
        "config": {"allow_accept": True, "allow_edit": False, "allow_ignore": True},
        "description": "A mail",
    }
]


SHAPES: list[tuple[Any, str]] = [
    ("Shall I?", "Shall I?"),
    ("  two\n lines ", "two lines"),
    (BATCHED, 'approve delete {"path": "/x"}; mail?'),
    (ALONE, 'approve delete {"path": "/x"}?'),
    (INBOX, 'approve send {"to": "ann"}?'),
    (INBOX[0], 'approve send {"to": "ann"}?'),
    ({"question": "Which?", "message": "not this"}, "Which?"),
    ({"ask": "Which?", "options": [1, 2]}, "Which?"),
    ({"message": "Which?"}, "Which?"),
    ({"prompt": "Which?"}, "Which?"),
    ({"description": "Which?"}, "Which?"),
    ({"draft": "Dear Ann", "n": 3}, '{"draft": "Dear Ann", "n": 3}'),
    (["a", 1], '["a", 1]'),
    (42, "42"),
    (Ask("Which?"), "Which?"),
    (None, "waits for an answer"),
    ("", "waits for an answer"),
    ({"action_requests": []}, '{"action_requests": []}'),
    ({"type": "tool_approval"}, '{"type": "tool_approval"}'),
    ([{"action_request": "odd"}], '[{"action_request": "odd"}]'),
]


@pytest.mark.parametrize(("value", "words"), SHAPES, ids=lambda shape: str(shape)[:40])
def test_interrupts_of_all_shapes(value: Any, words: str) -> None:
    """Whatever a node asks reads as a question, and what it came with is kept as plain data."""
    id = "a" * 32
    (found,) = tasks(wrote(("task", "~__pregel_pull, n", "__interrupt__", [Interrupt(value, id)])))
    assert isinstance(found, Opens)
    assert (found.kind, found.description, found.ref) == ("interrupt", words, id)
    assert (found.source.rule, found.source.node, found.source.task_id) == (
        "interrupt",
        "n",
        "task",
    )
    json.dumps(found.context)


def test_an_approval_keeps_its_actions() -> None:
    """What is to be approved, with which arguments, and how it may be decided."""
    (found,) = tasks(wrote(("t", "", "__interrupt__", [Interrupt(BATCHED, "1" * 32)])))
    assert isinstance(found, Opens)
    first, second = found.context["actions"]
    assert first == {
        "name": "delete", "args": {"path": "/x"}, "description": "Tool execution",
        "allowed": ["approve", "reject"],
    }  # fmt: skip
    assert second["name"] == "mail"
    (found,) = tasks(wrote(("t", "", "__interrupt__", [Interrupt(ALONE, "1" * 32)])))
    assert isinstance(found, Opens)
    assert found.source.tool_call_id == "call-1"
    (found,) = tasks(wrote(("t", "", "__interrupt__", [Interrupt(INBOX, "1" * 32)])))
    assert isinstance(found, Opens)
    assert found.context["actions"][0]["allowed"] == ["accept", "ignore"]


def test_huge_questions_are_bounded() -> None:
    """A question of a megabyte, or a thousand actions, make a small loop that says so."""
    many = {"action_requests": [{"name": f"n{n}", "args": {"x": "y" * 5000}} for n in range(1000)]}
    for value in ("x" * 10**6, {"question": "y" * 10**6}, many, {"deep": [["z" * 9000] * 50] * 50}):
        (found,) = tasks(wrote(("t", "", "__interrupt__", [Interrupt(value, "1" * 32)])))
        assert isinstance(found, Opens)
        assert len(found.description) <= 500
        assert len(json.dumps(found.context)) < 20_000
    assert found.context["value_cut"]["shortened"] is True


def test_old_interrupts() -> None:
    """Interrupts of older releases, stored as dicts or without an id, and a single one."""
    (found,) = tasks(wrote(("t", "", "__interrupt__", [{"value": "so?", "interrupt_id": "i1"}])))
    assert isinstance(found, Opens)
    assert (found.description, found.ref) == ("so?", "i1")
    (found,) = tasks(wrote(("t", "", "__interrupt__", Interrupt("so?"))))
    assert isinstance(found, Opens)
    assert (found.description, found.ref) == ("so?", "t")


# ---- errors, answers, handlers


class Odd(Exception):
    def __init__(self, one: str, two: int) -> None:
        super().__init__(one, two)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("kaput"), ValueError(), KeyError("it's"), ValueError('both \' and "'),
        ValueError("a", 1), Odd("x", 2), OSError(2, "gone"), ValueError("line\nline"),
        ValueError(object), asyncio.CancelledError(), ValueError("x" * 9000),
        json.JSONDecodeError("bad", "doc", 0),
    ],
    ids=lambda error: repr(error)[:40],
)  # fmt: skip
def test_an_error_reads_the_same_live_and_stored(error: BaseException) -> None:
    """The exception, and what a saver gives back for it, have one description."""
    serde = JsonPlusSerializer()
    stored = serde.loads_typed(serde.dumps_typed(error))
    assert isinstance(stored, str)
    assert error_text(error) == error_text(stored)
    assert type(error).__name__ in error_text(error)
    assert len(error_text(error)) <= 500


def test_errors_in_words() -> None:
    """The error's name and what it said."""
    assert error_text(ValueError("kaput")) == "ValueError: kaput"
    assert error_text(ValueError()) == "ValueError"
    assert error_text("1 validation error for X") == "1 validation error for X"


def state_after(*views: View) -> WorkingState:
    """A state that knows the loops which these views opened, and not those that they closed."""
    loops: dict[str | None, OpenLoop] = {}
    for view in views:
        for fact in tasks(view):
            if isinstance(fact, Opens):
                loops[fact.ref] = OpenLoop(
                    str(fact.ref), fact.kind, fact.description, ref=fact.ref, source=fact.source
                )
            elif isinstance(fact, Settles):
                for ref in list(loops) if fact.ref is None else [fact.ref]:
                    loops.pop(ref, None)
    return WorkingState(loops=tuple(loops.values()))


def test_an_answer_settles_the_question() -> None:
    """A resume closes what waits: every question, or those that its map names."""
    (found,) = tasks(wrote((NULL, "", "__resume__", "yes")))
    assert found == Settles(("interrupt",), "answered", found.source)
    answers = {"a" * 32: "yes", "b" * 32: "no"}
    refs = [f.ref for f in tasks(wrote((NULL, "", "__resume__", answers)))]  # type: ignore[union-attr]
    assert refs == list(answers)
    (found,) = tasks(wrote((NULL, "", "__resume__", {"not": "ids"})))
    assert isinstance(found, Settles)
    assert found.ref is None


def test_a_second_question_of_a_task() -> None:
    """The next question of a task takes the first one's place; its output leaves none."""
    first, second = Interrupt("one?", "1" * 32), Interrupt("two?", "2" * 32)
    path = "~__pregel_pull, n"
    asked = wrote(("t", path, "__interrupt__", [first]))
    previous = state_after(asked)
    again = wrote(
        ("t", path, "__interrupt__", [second]), ("t", path, "__resume__", ["a"]), previous=previous
    )
    closed, opened = tasks(again)
    assert isinstance(closed, Settles)
    assert isinstance(opened, Opens)
    assert (closed.ref, closed.outcome, opened.ref) == ("1" * 32, "answered", "2" * 32)
    other = wrote(("other", path, "log", []), previous=previous)
    assert list(tasks(other)) == []
    done = wrote(("t", path, "log", ["x"]), ("t", path, "__resume__", ["a"]), previous=previous)
    (closed,) = tasks(done)
    assert isinstance(closed, Settles)
    assert closed.ref == "1" * 32
    # All of them at once, in any order, as a tuple has them: the answer was to the first one.
    at_once = wrote(
        (NULL, "", "__resume__", "a"), ("t", path, "__resume__", ["a"]),
        ("t", path, "__interrupt__", [second]),
    )  # fmt: skip
    (opened,) = tasks(at_once)
    assert isinstance(opened, Opens)
    assert opened.ref == "2" * 32


def test_a_task_that_failed_and_ran_again() -> None:
    """The second run's output closes the error of the first."""
    failed = wrote(("t", "~__pregel_pull, n", "__error__", ValueError("kaput")))
    previous = state_after(failed)
    (closed,) = tasks(wrote(("t", "~__pregel_pull, n", "log", []), previous=previous))
    assert closed == Settles(("error",), "it ran again", closed.source, "t")


def test_a_question_answered_before_the_failure() -> None:
    """A task that failed after its answer asks nothing any more, though its question is stored."""
    saver = InMemorySaver()

    def node(state: Log) -> Any:
        raise ValueError(f"what is {interrupt('so?')}?")

    builder: Any = StateGraph(Log)
    builder.add_node("n", node)
    builder.add_edge(START, "n")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(ValueError, match="what is it"):
        graph.invoke(Command(resume="it"), CONFIG)
    _, pending = leaf(saver)
    assert [w.channel for w in pending.writes].count("__interrupt__") == 1
    opened = [fact for fact in tasks(pending) if isinstance(fact, Opens)]
    assert [(fact.kind, fact.description) for fact in opened] == [
        ("error", "ValueError: what is it?")
    ]


def test_an_error_that_the_graph_handles() -> None:
    """A routed error says so, and is over when its handler has run."""
    path = "~__pregel_pull, n"
    failed = wrote(
        ("t", path, "__error__", ValueError("k")), ("t", path, "__error_source_node__", "n")
    )
    (opened,) = tasks(failed)
    assert isinstance(opened, Opens)
    assert opened.context == {"error_handler": True, "node": "n"}
    handled = ("h", f"{path}, node_error_handler, False", "log", [])
    (closed,) = tasks(wrote(handled, previous=state_after(failed)))
    assert closed == Settles(("error",), "handled by the graph", closed.source, "t")
    at_once = wrote(*[dataclasses.astuple(w) for w in failed.writes], handled)
    assert [fact for fact in tasks(at_once) if isinstance(fact, Opens)] == []


def test_a_real_error_handler() -> None:
    """What LangGraph writes for a handled error is read so, at whatever write it is seen."""
    saver = Watched()

    def fails(state: Log) -> Any:
        raise ValueError("kaput")

    def mends(state: Log) -> Any:
        return {"log": ["mended"]}

    builder: Any = StateGraph(Log)
    builder.add_node("fails", fails, error_handler=mends)
    builder.add_edge(START, "fails")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, CONFIG)
    seen = [fact for view in saver.views for fact in tasks(view)]
    assert [type(fact) for fact in seen if not isinstance(fact, Settles)] == [Opens]
    previous = state_after(*saver.views[:2])
    last = [
        fact for view in saver.views for fact in tasks(dataclasses.replace(view, previous=previous))
    ]
    assert "handled by the graph" in [f.outcome for f in last if isinstance(f, Settles)]


class Watched(InMemorySaver):
    """Keeps a view of each task's writes, as a saver sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.views: list[View] = []

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.views.append(wrote(*((task_id, task_path, name, value) for name, value in writes)))
        super().put_writes(config, writes, task_id, task_path)


def test_retries_within_a_run_leave_no_error() -> None:
    """A node that succeeds on its second try never failed."""
    saver = Watched()
    tried: list[int] = []

    def flaky(state: Log) -> Any:
        tried.append(1)
        if len(tried) < 2:
            raise ValueError("not yet")
        return {"log": ["at last"]}

    builder: Any = StateGraph(Log)
    policy = RetryPolicy(initial_interval=0.001, retry_on=ValueError)
    builder.add_node("flaky", flaky, retry_policy=policy)
    builder.add_edge(START, "flaky")
    builder.compile(checkpointer=saver).invoke({"log": []}, CONFIG)
    assert [fact for view in saver.views for fact in tasks(view)] == []
    assert len(tried) == 2


# ---- questions of MCP servers

FORM = {
    "key": "seats",
    "message": "How many seats?",
    "mode": "form",
    "requested_schema": {
        "type": "object",
        "properties": {"seats": {"type": "integer"}, "window": {"type": "boolean"}},
    },
}
VISIT = {"key": "pay", "message": "Please pay", "mode": "url", "url": "https://pay.example/1"}


def elicits(*requests: Any) -> dict[str, Any]:
    return {"type": "mcp_elicitation", "tool_name": "book_flight", "requests": list(requests)}


def test_an_elicitation_has_the_names_of_langchain() -> None:
    """These are the names that langchain gives them."""
    theirs = pytest.importorskip("langchain.mcp.elicitation")
    assert theirs.ELICITATION_INTERRUPT_TYPE == "mcp_elicitation"
    assert set(theirs.MCPElicitationInterrupt.__annotations__) == set(elicits())
    assert set(theirs.MCPElicitationFormRequest.__annotations__) == set(FORM)
    assert set(theirs.MCPElicitationUrlRequest.__annotations__) == set(VISIT)


async def test_an_elicitation_is_listed_in_words(durable: Backend, call: Any) -> None:
    """With the fields to fill in, the address to open, and the keys that answers go under."""

    class State(TypedDict, total=False):
        answer: Any

    def tool(state: State) -> State:
        return {"answer": interrupt(elicits(FORM, VISIT))}

    saver = durable.open()
    graph = StateGraph(State).add_node("tool", tool).add_edge(START, "tool").compile(saver)
    await call(graph, "invoke", {"answer": None}, at("t"))
    (loop,) = await call(durable.open(), "open_loops", kind="interrupt")
    assert loop.description == (
        "book_flight asks: How many seats? (seats, window); Please pay (open https://pay.example/1)"
    )
    assert loop.context["tool"] == "book_flight"
    assert [each["key"] for each in loop.context["requests"]] == ["seats", "pay"]
    assert loop.context["requests"][0]["requested_schema"] == FORM["requested_schema"]
    responses = {"seats": {"action": "accept", "content": {"seats": 2}}}
    await call(graph, "invoke", Command(resume={"responses": responses}), at("t"))
    assert await call(durable.open(), "open_loops", kind="interrupt") == []


@pytest.mark.parametrize(
    "value",
    [{}, "mcp_elicitation", {"type": "mcp_elicitation"}, elicits(), elicits("x"),
     {"type": "mcp_elicitation", "requests": "abc"}, {"type": "other", "requests": [FORM]}],
    ids=repr,
)  # fmt: skip
def test_what_is_no_elicitation(value: Any) -> None:
    """And is described as any other question."""
    assert request(value).form == "plain"


def test_a_long_elicitation_is_cut() -> None:
    """A server may ask as much as it likes."""
    words, context, _ = asked(elicits(*[{**FORM, "message": "x" * 5000}] * 20))
    assert len(words) <= 300
    assert (len(context["requests"]), context["requests_left_out"]) == (8, 12)
    assert len(str(context)) < 20_000
    assert asked(elicits({}))[0] == "book_flight asks: an answer is needed"
