"""`repair_messages`: whatever a history looks like, no provider refuses it, and nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.prebuilt import create_react_agent
from langgraph.types import Send

from langgraph_wyrd import repair_messages, repair_node
from langgraph_wyrd.agents.message_repair import EMPTY, has_no_result
from tests.conftest import Backend
from tests.providers import PROVIDERS, Refused, Strict, check, refused_by
from tests.scripted_agents import Turn, asks, config, person, plan, says, search


def call(id: str | None, name: str = "search", **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": id, "name": name, "args": args}


def broken(id: str | None, name: str | None = "search", args: str | None = "{") -> dict[str, Any]:
    return {
        "type": "invalid_tool_call", "id": id, "name": name, "args": args, "error": "cut off"
    }  # fmt: skip


def ai(*calls: dict[str, Any], text: Any = "let me see", **more: Any) -> AIMessage:
    return AIMessage(
        text,
        tool_calls=[c for c in calls if c["type"] == "tool_call"],
        invalid_tool_calls=[c for c in calls if c["type"] != "tool_call"],
        **more,
    )


def result(id: str, text: Any = "found", **more: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=id, **more)


ASK, NEXT, DONE = HumanMessage("go"), HumanMessage("and now?"), AIMessage("done")

BROKEN: dict[str, list[BaseMessage]] = {
    "no result": [ASK, ai(call("a"))],
    "no result, in the middle": [ASK, ai(call("a")), NEXT, DONE, NEXT],
    "one of two results": [ASK, ai(call("a"), call("b")), result("b"), NEXT],
    "an orphan": [ASK, result("a"), DONE, NEXT],
    "an orphan at the start": [result("a"), ASK],
    "two results": [ASK, ai(call("a")), result("a"), result("a", "again"), NEXT],
    "a result before its call": [ASK, result("a"), ai(call("a")), NEXT],
    "a result behind a person": [ASK, ai(call("a")), NEXT, result("a")],
    "a result behind another turn": [ASK, ai(call("a")), NEXT, DONE, result("a"), NEXT],
    "results in between": [ASK, ai(call("a"), call("b")), result("a"), NEXT, result("b")],
    "an id twice in a message": [ASK, ai(call("a"), call("a", x=1)), result("a"), result("a", "2")],
    "an id twice in a message, one result": [ASK, ai(call("a"), call("a")), result("a"), NEXT],
    "an id of another turn again": [
        ASK, ai(call("a")), result("a"), NEXT, ai(call("a")), result("a", "2"), DONE, NEXT,
    ],
    "no id": [ASK, ai(call(None)), NEXT],
    "no id, with a result": [ASK, ai(call("")), result(""), NEXT],
    "no name": [ASK, ai(call("a", "")), result("a"), NEXT],
    "malformed": [ASK, ai(broken("a")), NEXT],
    "malformed, next to a good one": [ASK, ai(call("a"), broken("b")), result("a"), NEXT],
    "malformed, of the same id": [ASK, ai(call("a"), broken("a")), result("a"), NEXT],
    "malformed, without anything": [ASK, ai(broken(None, None, None)), NEXT],
    "blocks only": [
        ASK, AIMessage([{"type": "tool_use", "id": "a", "name": "search", "input": {}}]), NEXT
    ],
    "a block that comes twice": [
        ASK,
        AIMessage(
            [{"type": "tool_use", "id": "a", "name": "search", "input": {}}] * 2,
            tool_calls=[call("a")],
        ),
        result("a"),
        NEXT,
    ],
    "blocks only, cut off": [
        ASK,
        AIMessage(
            [{"type": "tool_use", "id": "a", "name": "s", "input": {}, "partial_json": '{"q'}]
        ),
        NEXT,
    ],
    "blocks, and their results in a person's turn": [
        ASK,
        AIMessage([{"type": "tool_use", "id": "a", "name": "search", "input": {"q": 1}}]),
        HumanMessage(
            [
                {"type": "text", "text": "also this"},
                {"type": "tool_result", "tool_use_id": "a", "content": "found"},
            ]
        ),
    ],
    "an empty person": [ASK, DONE, HumanMessage("")],
    "a blank person": [HumanMessage(" \n")],
    "a blank block": [HumanMessage([{"type": "text", "text": " "}])],
    "a blank answer": [ASK, AIMessage(" \n"), NEXT],
    "an empty answer in blocks": [ASK, AIMessage([]), NEXT],
    "blank words next to a call": [ASK, ai(call("a"), text="\n\n"), result("a"), DONE, NEXT],
    "only thoughts": [ASK, AIMessage([{"type": "thinking", "thinking": "hm"}]), NEXT],
    "a result of no blocks": [ASK, ai(call("a")), result("a", []), DONE, NEXT],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_accepted_once_repaired(name: str) -> None:
    """Refused as it is by at least one provider; by neither after the repair; the repair of the
    repaired one changes nothing."""
    history = BROKEN[name]
    assert refused_by(history)
    repaired = repair_messages(history)
    assert not refused_by(repaired)
    assert all(a is b for a, b in zip(repair_messages(repaired), repaired, strict=True))


def test_what_is_said_in_place_of_a_result() -> None:
    """When it was asked for, when it was begun, until when nothing was recorded; status error."""
    writes = [
        ("t1", "__wyrd_started__", {"call": "a", "at": "2026-11-18 10:00:03 UTC"}),
    ]
    now = datetime(2026, 11, 18, 12, tzinfo=timezone.utc)
    history = [ASK, ai(call("a", "pay"))]
    (_, _, said) = repair_messages(
        history, pending_writes=writes, now=now, asked={"a": "2026-11-18T11:00:01.649512+01:00"}
    )
    assert isinstance(said, ToolMessage)
    assert (said.status, said.name, said.tool_call_id) == ("error", "pay", "a")
    assert said.text == (
        "`pay` (call a) was asked for at 2026-11-18 10:00:01 UTC, it was started at 2026-11-18 "
        "10:00:03 UTC, and no result was recorded until 2026-11-18 12:00:00 UTC. It may or may "
        "not have taken effect: verify before redoing it."
    )
    (_, _, said) = repair_messages([ASK, ai(broken("a", "pay"))])
    assert said.text == (
        "`pay` (call a) was not run: its arguments were malformed or truncated (cut off). If it "
        "is still needed, call it again with valid arguments."
    )


@pytest.mark.usefixtures("behind_utc")
def test_a_time_without_a_zone_is_local() -> None:
    """`now` is said in UTC."""
    now = datetime(2026, 11, 18, 12)
    assert "until 2026-11-18 17:00:00 UTC" in repair_messages([ASK, ai(call("a"))], now=now)[2].text


def test_a_finished_result_that_is_only_a_pending_write_is_used() -> None:
    """Also where another middleware has said before that there was none; of the unfinished call
    it is said."""
    real = ToolMessage("paid", tool_call_id="a", id="m")
    writes = [("t1", "messages", [real]), ("t2", "__error__", "boom"), ("t3", "branch:to:x", None)]
    history = [ASK, ai(call("a"), call("b")), NEXT]
    repaired = repair_messages(history, pending_writes=writes)
    assert repaired[2] is real
    assert repaired[3].text.startswith("`search` (call b) was asked for")
    patched = [
        *history[:2],
        result(
            "a",
            "Tool call search with id a did not complete - no result was recorded. It may have "
            "been cancelled or interrupted.",
            status="error",
        ),
        result("b", "no result was recorded", status="error"),
        NEXT,
    ]
    repaired = repair_messages(patched, pending_writes=writes)
    assert [m for m in repaired if m.type == "tool"] == [patched[3], real]
    assert repaired[3] is real
    assert not refused_by(repaired)


def test_a_late_result_takes_the_place_of_its_placeholder() -> None:
    """A result further down the history outweighs "no result was recorded"."""
    first = repair_messages([ASK, ai(call("a")), NEXT])
    late = result("a", "it did work")
    repaired = repair_messages([*first, DONE, late, NEXT])
    assert [m.text for m in repaired] == [
        "go", "let me see", "it did work", "and now?", "done", "and now?",
    ]  # fmt: skip


def test_a_renamed_call_keeps_its_result_and_its_blocks() -> None:
    """An id that comes again gets a number: in the call, in its block, in its result."""
    block = {"type": "tool_use", "id": "a", "name": "search", "input": {}}
    again = AIMessage([block], tool_calls=[call("a", n=2)])
    history = [ASK, ai(call("a", n=1)), result("a", "1"), again, result("a", "2"), NEXT]
    repaired = repair_messages(history)
    renamed, second = repaired[3], repaired[4]
    assert isinstance(renamed, AIMessage)
    assert isinstance(second, ToolMessage)
    assert renamed.tool_calls[0]["id"] == second.tool_call_id == "a_2"
    assert renamed.content == [{**block, "id": "a_2"}]
    assert second.text == "2"
    assert again.tool_calls[0]["id"] == "a"  # what was given is left as it was


def test_dicts_are_messages_too() -> None:
    """A graph whose state holds plain dicts can be repaired."""
    repaired = repair_messages(
        [
            {"role": "user", "content": "go"},
            {"role": "tool", "tool_call_id": "x", "content": "orphan"},
        ]
    )
    assert [m.text for m in repaired] == ["go"]


def test_a_person_who_says_nothing_stays() -> None:
    """An empty message of a person is said to be empty; one of the agent is left out."""
    assert [m.text for m in repair_messages([HumanMessage(""), AIMessage(""), NEXT])] == [
        EMPTY, "and now?"
    ]  # fmt: skip


# ---- any history

IDS = st.sampled_from(["a", "b", "c", "a_2", "f.x:0"])
SOME_ID = st.one_of(IDS, st.none(), st.just(""))
TEXT = st.sampled_from(["", " ", "\n", "one", "two ", "three"])
NAMES = st.sampled_from(["search", "pay", "task"])
ARGS = st.dictionaries(st.just("q"), st.integers(0, 9), max_size=1)
WORDS = st.one_of(
    TEXT,
    st.lists(st.builds(lambda t: {"type": "text", "text": t}, TEXT), max_size=2),
)


def _call(id: str | None, name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "id": id, "name": name, "args": args}


def _agent(words: Any, calls: list[Any], bad: list[Any], blocks: list[Any]) -> AIMessage:
    if blocks:
        words = [
            *([{"type": "text", "text": words}] if isinstance(words, str) else words),
            *({"type": "tool_use", "id": c["id"], "name": c["name"], "input": {}} for c in blocks),
        ]
    return AIMessage(words, tool_calls=calls, invalid_tool_calls=bad)


GOOD_CALLS = st.builds(_call, SOME_ID, st.one_of(NAMES, st.just("")), ARGS)
BAD_CALLS = st.builds(broken, SOME_ID, st.one_of(NAMES, st.none()), st.sampled_from(["{", None]))
BLOCK_CALLS = st.builds(_call, IDS, NAMES, ARGS)


@st.composite
def _agents(draw: Any) -> AIMessage:
    calls = draw(st.lists(GOOD_CALLS, max_size=3))
    mirrored = draw(st.booleans())  # as Anthropic's models answer: a block for each call
    blocks = [c for c in calls if c["id"]] if mirrored else draw(st.lists(BLOCK_CALLS, max_size=1))
    bad = draw(st.lists(BAD_CALLS, max_size=1))
    return _agent(draw(WORDS), calls, bad, blocks)


RESULTS = st.builds(
    lambda id, text, status: ToolMessage(text, tool_call_id=id, status=status),
    st.one_of(IDS, st.just("")),
    WORDS,
    st.sampled_from(["success", "error"]),
)
PEOPLE = st.one_of(
    st.builds(HumanMessage, WORDS),
    st.builds(
        lambda id, text: HumanMessage(
            [{"type": "tool_result", "tool_use_id": id, "content": text}, text]
        ),
        IDS,
        TEXT,
    ),
)
HISTORIES = st.lists(st.one_of(_agents(), RESULTS, RESULTS, PEOPLE), min_size=1, max_size=12)
WRITES = st.lists(
    st.builds(lambda each: ("task", "messages", [each]), RESULTS), max_size=3
)  # fmt: skip


def _calls(message: BaseMessage) -> list[dict[str, Any]]:
    if not isinstance(message, AIMessage):
        return []
    return [*message.tool_calls, *message.invalid_tool_calls]  # type: ignore[list-item]


def _ids(message: BaseMessage) -> list[str | None]:
    """The ids of a message's calls; a block that only mirrors a call is none."""
    ids = [call["id"] for call in _calls(message)]
    if isinstance(message, AIMessage) and isinstance(message.content, list):
        blocks = [b["id"] for b in message.content if isinstance(b, dict) and "id" in b]
        ids += [id for id in blocks if id not in ids]
    return ids


def _lines(messages: list[BaseMessage], type: str) -> list[str]:
    said = [m.text.strip() for m in messages if m.type == type]
    return [text for text in said if text not in ("", EMPTY)]


@settings(max_examples=200, deadline=None)
@given(HISTORIES, WRITES)
def test_any_history(history: list[BaseMessage], writes: list[Any]) -> None:
    """Repaired, both providers take it; once more changes nothing; who said what, each call with
    its arguments, and each result of a call that is known by its id, are still there."""
    history = [HumanMessage("hello"), *history, HumanMessage("go on")]
    before = [message.model_copy(deep=True) for message in history]
    repaired = repair_messages(history, pending_writes=writes)
    assert history == before
    for provider in PROVIDERS:
        check(provider, repaired)
    again = repair_messages(repaired)
    assert all(a is b for a, b in zip(again, repaired, strict=True))
    ids = [id for m in history for id in _ids(m)]
    if len(ids) == len(set(ids)):  # which call a pending result is of does not change
        again = repair_messages(repaired, pending_writes=writes)
        assert all(a is b for a, b in zip(again, repaired, strict=True))

    assert _lines(repaired, "human") == _lines(history, "human")
    assert _lines(repaired, "ai") == _lines(history, "ai")
    asked = [(c["args"], c["name"] or "unknown") for m in history for c in _calls(m) if c["id"]]
    left = [(c["args"], c["name"]) for m in repaired for c in _calls(m)]
    for args, name in asked:
        assert (args or "", name) in left or (args, name) in left
        left.remove((args, name) if (args, name) in left else (args or "", name))
    for message in history:
        if isinstance(message, ToolMessage) and not has_no_result(message):
            id = message.tool_call_id
            if id and ids.count(id) == 1:
                (answer,) = [
                    m for m in repaired if isinstance(m, ToolMessage) and m.tool_call_id == id
                ]
                assert not has_no_result(answer)


@st.composite
def fine_histories(draw: Any) -> list[BaseMessage]:
    """What a well-behaved agent leaves behind."""
    history: list[BaseMessage] = []
    n = 0
    if draw(st.booleans()):
        history.append(SystemMessage("Be brief."))
    for _ in range(draw(st.integers(1, 4))):
        history.append(HumanMessage(draw(st.sampled_from(["go", "and now?"]))))
        for _ in range(draw(st.integers(0, 2))):
            made = [call(f"call_{n + k}", q=k) for k in range(draw(st.integers(1, 3)))]
            n += len(made)
            text = draw(st.sampled_from(["", "let me see"]))
            history.append(AIMessage(text, tool_calls=made))
            answers = [result(c["id"], draw(st.sampled_from(["", "found"]))) for c in made]
            history += draw(st.permutations(answers))
        history.append(AIMessage("done"))
    return history


@settings(max_examples=75, deadline=None)
@given(fine_histories())
def test_a_history_that_is_fine_comes_back_as_it_is(history: list[BaseMessage]) -> None:
    """The very same objects, in order; results in any order behind their calls are fine."""
    assert not refused_by(history)
    assert all(a is b for a, b in zip(repair_messages(history), history, strict=True))


# `repair_node` in plain graphs, and as the pre-model hook of langgraph's own agent.


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@dataclass
class Held:
    talk: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)


def graph(model: Strict, saver: Any, *, repair: bool = True) -> Any:
    """A model that calls two tools at once, of which the second fails."""

    def think(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def run(call: Any) -> dict[str, Any]:
        if call["id"] == "b":
            raise RuntimeError("kaput")
        return {"messages": [ToolMessage("it worked", tool_call_id=call["id"])]}

    builder = StateGraph(State)
    builder.add_node("repair", repair_node() if repair else lambda state: None)
    builder.add_node("think", think)
    builder.add_node("run", run)
    builder.add_edge(START, "repair")
    builder.add_edge("repair", "think")
    builder.add_conditional_edges(
        "think",
        lambda state: [Send("run", call) for call in state["messages"][-1].tool_calls] or END,
        ["run", END],
    )
    builder.add_edge("run", "think")
    return builder.compile(checkpointer=saver)


BOTH = asks(("a", "search", {}), ("b", "search", {}))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_failed_step_that_new_input_passes_over(
    durable: Backend, turn: Turn, provider: str
) -> None:
    """Its finished result is used, the failed call is reported; without the node the model
    refuses."""
    saver = durable.open()
    with pytest.raises(RuntimeError):
        await turn(graph(Strict(rule=plan(BOTH)), saver), person(), config("t"))
    model = Strict(rule=says(), provider=provider)
    saver.copy_thread("t", "u")
    with pytest.raises(Refused):
        await turn(graph(model, saver, repair=False), person(), config("u"))
    found = await turn(graph(model, durable.open()), person(), config("t"))
    assert [m.type for m in found["messages"]] == ["human", "ai", "tool", "tool", "human", "ai"]
    worked, lost = found["messages"][2:4]
    assert worked.text == "it worked"
    assert lost.status == "error"
    assert "was asked for at 20" in lost.text
    ids = [m.id for m in found["messages"]]
    again = await turn(graph(model, saver), person(), config("t"))
    assert [m.id for m in again["messages"]][:6] == ids


async def test_with_another_checkpointer(turn: Turn) -> None:
    """The history alone is repaired: of neither call a result is known."""
    saver = InMemorySaver()
    with pytest.raises(RuntimeError):
        await turn(graph(Strict(rule=plan(BOTH)), saver), person(), config("t"))
    found = await turn(graph(Strict(rule=says()), saver), person(), config("t"))
    assert [m.status for m in found["messages"] if m.type == "tool"] == ["error", "error"]


def test_a_channel_of_another_name() -> None:
    """The state may be an object, and its messages under another name; a sound history is left."""
    builder = StateGraph(Held)
    builder.add_node("repair", repair_node("talk"))
    builder.add_edge(START, "repair")
    made = builder.compile()
    broken: Any = [HumanMessage("go"), BOTH, HumanMessage("and now?")]
    found = made.invoke(Held(broken))["talk"]
    assert [m.type for m in found] == ["human", "ai", "tool", "tool", "human"]
    assert [m.id for m in made.invoke(Held(found))["talk"]] == [m.id for m in found]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_as_a_pre_model_hook(durable: Backend, turn: Turn) -> None:
    """langgraph's create_react_agent takes it as it is."""
    saver = durable.open()
    rule = plan(asks(("c", "search", {"query": "x"})))
    agent = create_react_agent(
        Strict(rule=rule), [search], pre_model_hook=repair_node(), checkpointer=saver
    )
    history = [HumanMessage("go"), AIMessage("", tool_calls=BOTH.tool_calls)]
    await agent.aupdate_state(config("t"), {"messages": history}, as_node="__start__")
    found = await turn(agent, person(), config("t"))
    assert [m.text for m in found["messages"]][-2:] == ["found x", "done"]
    assert [m.type for m in found["messages"]][:5] == ["human", "ai", "tool", "tool", "human"]
