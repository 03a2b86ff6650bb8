"""LangGraph's own tutorials with our saver in the place of InMemorySaver: every answer is the same,
and the threads that they leave are sound."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, StateUpdate, interrupt

from langgraph_wyrd import WyrdSaver
from tests.conftest import Backend

Tutorial = Callable[[Any], Iterator[Any]]
DURABILITIES: Any = ("sync", "async", "exit")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00|Z)?")


def at(thread_id: str = "t", **more: Any) -> Any:
    return {"configurable": {"thread_id": thread_id, **more}}


def numbered(answer: Any) -> str:
    """An answer with its ids numbered as they come, and without times and objects' addresses."""
    numbers: dict[str, str] = {}
    text = _ID.sub(lambda id: numbers.setdefault(id[0], f"id{len(numbers)}"), repr(answer))
    return re.sub(r"0x[0-9a-f]+", "0x", _TIME.sub("time", text))


def whole(state: Any) -> Any:
    """All that a snapshot says, with its tasks and the subgraphs' own."""
    tasks = [
        (each.name, each.path, each.error, each.interrupts, each.result, each.id,
         whole(each.state) if hasattr(each.state, "tasks") else each.state)
        for each in state.tasks
    ]  # fmt: skip
    return (
        state.values, state.next, state.metadata, state.config["configurable"],
        (state.parent_config or {}).get("configurable"), tasks, state.interrupts,
    )  # fmt: skip


def history(graph: Any, config: Any, **options: Any) -> list[Any]:
    return [whole(each) for each in graph.get_state_history(config, **options)]


class Notes(TypedDict, total=False):
    foo: str
    bar: Annotated[list[str], operator.add]


def writes(name: str) -> Callable[[Any], Any]:
    return lambda _: {"foo": name, "bar": [name]}


def persistence(saver: Any) -> Iterator[Any]:
    """Persistence, time travel, `update_state` as a node, as the input, as a copy; in bulk."""
    builder = StateGraph(Notes).add_node("a", writes("a")).add_node("b", writes("b"))
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=saver)
    yield graph.invoke({"foo": "", "bar": []}, at())
    yield history(graph, at())
    yield history(graph, at(), filter={"source": "loop"}, limit=2)
    past = list(graph.get_state_history(at()))[2].config
    yield graph.invoke(None, past)
    yield whole(graph.get_state(graph.update_state(past, {"foo": "F"}, as_node="a")))
    for values, node in (({"bar": ["u"]}, None), (None, END), (None, "__copy__"), (None, None)):
        graph.update_state(at(), values, as_node=node)
        yield whole(graph.get_state(at()))
    graph.update_state(at(), {"bar": ["in"]}, as_node="__input__")
    yield graph.invoke(None, at())
    steps = [[StateUpdate({"bar": ["1"]}, "__input__")], [StateUpdate({"bar": ["2"]}, "a")]]
    graph.bulk_update_state(at("bulk"), steps)
    yield graph.invoke(None, at("bulk"))
    yield history(graph, at("bulk")) + history(graph, at())
    yield whole(graph.get_state(at("nobody")))


def human_in_the_loop(saver: Any) -> Iterator[Any]:
    """A question that is asked until the answer will do; going back to it; breakpoints."""

    def age(_: Notes) -> Notes:
        asked = "How old?"
        while not (answer := interrupt(asked)).isdigit():
            asked = f"{answer!r} is no age"
        return {"bar": [answer]}

    builder = StateGraph(Notes).add_node("age", age).add_node("b", writes("b"))
    builder.add_edge(START, "age").add_edge("age", "b")
    graph = builder.compile(checkpointer=saver)
    yield graph.invoke({"foo": ""}, at())
    yield graph.invoke(None, at())
    for answer in ("young", "7"):
        yield graph.invoke(Command(resume=answer), at())
        yield history(graph, at())
    asked = next(each for each in graph.get_state_history(at()) if each.next == ("age",))
    yield graph.invoke(Command(resume="8"), asked.config)
    yield graph.invoke({"bar": ["new input"]}, at())
    yield graph.invoke(Command(resume="9", update={"bar": ["with it"]}), at())
    yield history(graph, at())
    stops = builder.compile(checkpointer=saver, interrupt_after=["age"], interrupt_before=["b"])
    stops.invoke({"foo": ""}, at("stops"))
    yield stops.invoke(Command(resume="1"), at("stops"))
    yield whole(stops.get_state(at("stops")))
    yield stops.invoke(None, at("stops"))


def subgraphs(saver: Any) -> Iterator[Any]:
    """A question inside a subgraph, its state seen and changed from outside; one that remembers."""
    inner = StateGraph(Notes).add_node("one", writes("one"))
    inner.add_node("two", lambda _: {"bar": [interrupt("Which?")]})
    inner.add_edge(START, "one").add_edge("one", "two")
    for remembers in (None, True):
        builder = StateGraph(Notes).add_node("sub", inner.compile(checkpointer=remembers))
        graph = builder.add_edge(START, "sub").compile(checkpointer=saver)
        config = at(str(remembers))
        yield list(graph.stream({"bar": []}, config, subgraphs=True, stream_mode="updates"))
        state = graph.get_state(config, subgraphs=True)
        yield whole(state)
        if remembers is None:
            graph.update_state(state.tasks[0].state.config, {"bar": ["edited"]})
            yield history(graph, state.tasks[0].state.config)
        yield graph.invoke(Command(resume="that one"), config)
        yield graph.invoke({"foo": "again"}, config)
        yield history(graph, config)


def functional(saver: Any) -> Iterator[Any]:
    """`@entrypoint` and `@task`: what is done is not done again; `previous`, `final`."""
    ran: list[int] = []

    @task
    def double(n: int) -> int:
        ran.append(n)
        if ran.count(n) < 2 and n == 7:
            raise ValueError("not yet")
        return 2 * n

    @entrypoint(checkpointer=saver)
    def work(n: int, *, previous: Any = None) -> Any:
        first, second = double(n).result(), double(n + 1).result()
        answer = interrupt({"so far": [first, second]})
        return entrypoint.final(value=(first, second, answer, previous), save=answer)

    yield work.invoke(1, at())
    yield work.invoke(Command(resume="yes"), at())
    with pytest.raises(ValueError, match="not yet"):
        work.invoke(6, at())
    yield whole(work.get_state(at()))
    yield work.invoke(None, at())
    yield work.invoke(Command(resume="no"), at())
    yield ran
    yield history(work, at())


def map_reduce(saver: Any) -> Iterator[Any]:
    """`Send`: one of several tasks asks, the others are not run again."""

    def joke(state: Any) -> Any:
        return {"bar": [state["foo"] + (interrupt("Funny?") if state["foo"] == "cat" else "")]}

    builder = StateGraph(Notes).add_node("topics", writes("topics")).add_node("joke", joke)
    builder.add_edge(START, "topics").add_node("best", lambda state: {"foo": state["bar"][-1]})
    sends = [Send("joke", {"foo": each}) for each in ("lion", "cat", "dog")]
    builder.add_conditional_edges("topics", lambda _: sends, ["joke"]).add_edge("joke", "best")
    graph = builder.compile(checkpointer=saver)
    yield graph.invoke({"bar": []}, at())
    yield whole(graph.get_state(at()))
    yield graph.invoke(Command(resume="!"), at())
    asked = next(each for each in graph.get_state_history(at()) if each.next == ("joke",) * 3)
    yield graph.invoke(None, asked.config)
    yield graph.invoke(Command(resume="?"), at())
    yield history(graph, at())


def streaming(saver: Any) -> Iterator[Any]:
    """All kinds of streams, and all kinds of durability."""
    builder = StateGraph(Notes).add_node("a", writes("a")).add_node("b", writes("b"))
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=saver)
    modes: Any = ["values", "updates", "debug", "checkpoints", "tasks"]
    for mode in modes:
        yield list(graph.stream({"bar": ["in"]}, at(mode), stream_mode=mode))
    yield list(graph.stream({"bar": ["in"]}, at(), stream_mode=modes, interrupt_before=["b"]))
    yield list(graph.stream(None, at(), stream_mode=modes))
    for how in DURABILITIES:
        yield list(graph.stream({"bar": ["in"]}, at(how), stream_mode=modes, durability=how))
        yield history(graph, at(how))


def memory(saver: Any) -> Iterator[Any]:
    """Messages edited and removed, and a store for long-term memory next to the checkpointer."""

    def answer(state: MessagesState, *, store: BaseStore) -> Any:
        last = state["messages"][-1]
        store.put(("memories",), str(last.id), {"said": last.text})
        return {"messages": [AIMessage(f"{len(store.search(('memories',)))}", id=f"re:{last.id}")]}

    def forget(state: MessagesState) -> Any:
        return {"messages": [RemoveMessage(id=str(each.id)) for each in state["messages"][:-2]]}

    builder = StateGraph(MessagesState).add_node("answer", answer).add_node("forget", forget)
    builder.add_edge(START, "answer").add_edge("answer", "forget")
    graph = builder.compile(checkpointer=saver, store=InMemoryStore())
    for thread_id in ("t", "t", "u"):
        for n in range(2):
            yield graph.invoke({"messages": [HumanMessage("Hello?", id=f"m{n}")]}, at(thread_id))
    for message in (HumanMessage("Edited.", id="m1"), RemoveMessage(id=REMOVE_ALL_MESSAGES)):
        graph.update_state(at(), {"messages": [message]}, as_node="answer")
        yield whole(graph.get_state(at()))
    yield history(graph, at())


TUTORIALS: tuple[Tutorial, ...] = (
    persistence, human_in_the_loop, subgraphs, functional, map_reduce, streaming, memory,
)  # fmt: skip


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda each: each.__name__)
def test_every_answer_is_the_same(backend: Backend, tutorial: Tutorial) -> None:
    """What InMemorySaver answers; then `verify` finds nothing, and reading the pillars anew
    changes nothing."""
    saver = backend.open()
    answers = [numbered(each) for each in tutorial(saver)]
    assert answers == [numbered(each) for each in tutorial(InMemorySaver())]
    report = saver.verify()
    assert report.ok, str(report)

    def states() -> list[list[str]]:
        found = [saver.thread(each.thread_id).working_state() for each in saver.threads()]
        return [str(each).splitlines()[1:] for each in found]

    before = states()
    saver.reextract()
    assert states() == before
    assert saver.verify().ok


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda each: each.__name__)
def test_a_saver_for_one_user(tutorial: Tutorial, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot's config says whose it is, so going on from there is not refused."""
    anybodys = at

    def anns(thread_id: str = "t", **more: Any) -> Any:
        return anybodys(thread_id, user_id="ann", **more)

    def unnamed(answer: Any) -> str:
        return re.sub(r"'user_id': 'ann'(, )?|, 'user_id': 'ann'", "", numbered(answer))

    monkeypatch.setitem(globals(), "at", anns)
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        answers = [unnamed(each) for each in tutorial(saver.for_user("ann"))]
        assert {each.user_id for each in saver.threads()} == {"ann"}
    wanted = [unnamed(each) for each in tutorial(InMemorySaver())]
    assert [each.replace(", }", "}") for each in answers] == [
        each.replace(", }", "}") for each in wanted
    ]


async def test_picking_up_as_one_user() -> None:
    """The configs that a user's saver gives can be run with, as anybody's can."""
    builder = StateGraph(Notes).add_node("a", writes("a")).add_edge(START, "a")
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        mine = saver.for_user("ann")
        graph = builder.compile(checkpointer=mine)
        graph.invoke({"bar": []}, at(user_id="ann"))
        first = mine.thread("t").history()[-1].checkpoint_id
        latest = mine.latest()
        assert latest is not None
        graph.invoke({"bar": ["in"]}, latest.config)
        graph.invoke({"bar": ["in"]}, mine.resume("t").config)
        graph.invoke({"bar": ["in"]}, (await mine.aresume("t")).config)
        graph.invoke(None, mine.thread("t").rewind(first))
        assert graph.get_state(at()).values["bar"] == ["a"]
