"""`ModelExtractor`: a model reads a thread; what it can't quote does not count."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Backend
from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import Field
from test_middleware import Strict, config, person, says

from langgraph_wyrd import WorkingState, WyrdSaver
from langgraph_wyrd.agents.model_extractor import (
    Findings,
    ModelExtractor,
    Report,
    aextract_with_model,
    extract_with_model,
)
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.pillars.events import Moment
from langgraph_wyrd.pillars.fold import replay


class Reader(BaseChatModel):
    """Reports what it is told to, by a tool call as models do; `heard` is what it was asked."""

    report: dict[str, Any] | None
    heard: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "reader"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.heard.append(messages)
        call = {"name": "Report", "args": self.report, "id": "r", "type": "tool_call"}
        message = AIMessage("", tool_calls=[] if self.report is None else [call])
        return ChatResult(generations=[ChatGeneration(message=message)])


TALK = [
    HumanMessage("Wir feiern im Mai, such einen Ort", id="h1"),
    AIMessage("Der Garten ist frei. Ich schreibe dem Gärtner bis Freitag", id="a1"),
    HumanMessage("Gut. Und wer kocht?", id="h2"),
    AIMessage("Das weiß ich noch nicht.", id="a2"),
]

REPORT = {
    "open": [
        {
            "kind": "promise",
            "description": "write to the gardener by Friday",
            "quote": "ich schreibe dem  Gärtner bis Freitag",
            "message": 1,
        },
        {
            "kind": "note",
            "description": "nobody cooks yet",
            "quote": "“Das weiß ich noch nicht.”",
            "message": 0,
        },
        {"kind": "note", "description": "made up", "quote": "the moon is full", "message": 1},
        {"kind": "note", "description": "too little", "quote": "ist", "message": 1},
    ],
    "intention": {"text": "a party in May", "quote": "wir feiern im Mai", "message": 0},
}


def thread(saver: WyrdSaver, messages: list[Any] = TALK) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": messages})
    builder.add_edge(START, "say")
    builder.compile(checkpointer=saver).invoke({"messages": []}, config("t"))


async def both(saver: WyrdSaver, extractor: ModelExtractor) -> Findings:
    """Found by the sync and by the async function, which agree."""
    found = extract_with_model(saver, "t", extractor)
    assert (await aextract_with_model(saver, "t", extractor)).facts == found.facts
    return found


async def test_what_is_quoted_is_found(saver: WyrdSaver) -> None:
    """With confidence `model`, the quote, and the message that has it, even if another was named;
    what no message says is dropped and counted. Nothing is stored."""
    thread(saver)
    before = saver.thread("t").working_state()
    found = await both(saver, ModelExtractor(Reader(report=REPORT), author="gpt"))
    loops = [loop for loop in found.state.open_loops if loop.confidence == "model"]
    assert [(x.kind, x.description, x.source.message_id) for x in loops] == [
        ("promise", "write to the gardener by Friday", "a1"),
        ("note", "nobody cooks yet", "a2"),
    ]
    assert loops[0].context["quote"] == "ich schreibe dem Gärtner bis Freitag"
    assert {x.source.author for x in loops} == {"gpt"}
    assert found.unfounded == 2
    assert before.intention is not None  # known without a model: not replaced
    assert found.state.intention == before.intention
    assert saver.thread("t").working_state() == before
    at = Moment(before.checkpoint_id or "", "", before.ts, "model")
    assert replay(before, found.events, at) == found.state


async def test_it_is_found_once(saver: WyrdSaver) -> None:
    """Asked again, about a state that has it, open or closed since, it says nothing new."""
    thread(saver)
    extractor = ModelExtractor(Reader(report=REPORT))
    first = await both(saver, extractor)
    again = await extractor.afind(TALK, first.state)
    assert again.facts == ()
    (promise, _) = [x for x in first.state.open_loops if x.confidence == "model"]
    settled = {"id": promise.id, "outcome": "written", "quote": "Gut. Und wer kocht?"}
    closing = ModelExtractor(Reader(report={"settled": [settled]}))
    closed = closing.find(TALK, first.state)
    assert [x.outcome for x in closed.state.closed_loops if x.id == promise.id] == ["written"]
    assert extractor.find(TALK, closed.state).facts == ()


async def test_an_aim_where_none_is_known() -> None:
    """The model's word on what the work is after counts where nobody else has said it."""
    extractor = ModelExtractor(Reader(report=REPORT))
    state = (await extractor.afind(TALK, WorkingState())).state
    assert state.intention is not None
    assert (state.intention.text, state.intention.confidence) == ("a party in May", "model")


async def test_its_cost_is_bounded() -> None:
    """One call; the newest messages, so many characters of them, and so many findings."""
    talk = [HumanMessage(f"message number {n} " + "x" * 300, id=f"{n}") for n in range(100)]
    opened = [
        {"kind": "note", "description": f"{n}", "quote": f"message number {n} x", "message": n}
        for n in range(100)
    ]
    model = Reader(report={"open": opened})
    extractor = ModelExtractor(model, last=30, max_chars=2000, max_items=3)
    found = await extractor.afind(talk, WorkingState())
    assert len(model.heard) == 1
    asked = model.heard[0][1].text
    assert len(asked) < 2200
    assert "message number 99" in asked
    assert "message number 90" not in asked
    assert [fact.source.message_id for fact in found.facts] == ["94", "95", "96"]
    assert found.unfounded == 94  # what it was not shown it can't quote
    await ModelExtractor(model, max_chars=100).afind(talk, WorkingState())
    assert "message number 99" in model.heard[-1][1].text
    for wrong in ({"last": 0}, {"max_chars": 0}, {"max_items": 0}):
        with pytest.raises(InvalidInput):
            ModelExtractor(model, **wrong)


async def test_nothing_to_read_or_to_say(saver: WyrdSaver) -> None:
    """Without messages no model is asked; a model that calls nothing found nothing; a thread that
    is not there is said so."""
    model = Reader(report=None)
    extractor = ModelExtractor(model)
    assert (await extractor.afind([], WorkingState())).facts == ()
    assert model.heard == []
    thread(saver)
    assert (await both(saver, extractor)).facts == ()
    with pytest.raises(ThreadNotFound):
        extract_with_model(saver, "no such thread", extractor)
    with pytest.raises(ThreadNotFound):
        await aextract_with_model(saver, "no such thread", extractor)


async def test_what_only_the_graph_can_settle_it_can_not(saver: WyrdSaver) -> None:
    """It may settle what was said, not a call without a result."""
    thread(saver, [*TALK, AIMessage("", id="a3", tool_calls=[
        {"id": "c", "name": "pay", "args": {}, "type": "tool_call"}])])  # fmt: skip
    lost = next(x for x in saver.thread("t").working_state().open_loops if x.kind == "tool_call")
    settled = {"id": lost.id, "outcome": "paid", "quote": "Gut. Und wer kocht?"}
    found = await both(saver, ModelExtractor(Reader(report={"settled": [settled]})))
    assert found.facts == ()


async def test_messages_that_are_kept_as_deltas(durable: Backend) -> None:
    """A deep agent's checkpoints hold no messages: they are put together from its writes."""
    saver = durable.open()
    agent = create_deep_agent(Strict(rule=says("Ich melde mich am Freitag")), checkpointer=saver)
    for _ in range(2):
        await agent.ainvoke(person("wer kocht?"), config("t"))
    held = saver.get_tuple(config("t"))
    assert held is not None
    assert "messages" not in held.checkpoint["channel_values"]
    said = {"kind": "promise", "description": "back on Friday", "quote": "melde mich am Freitag"}
    model = Reader(report={"open": [said]})
    found = await both(saver, ModelExtractor(model))
    assert [x.description for x in found.state.open_loops if x.confidence == "model"] == [
        "back on Friday"
    ]
    assert model.heard[0][1].text.count("wer kocht?") >= 2


def test_the_schema_is_small() -> None:
    """What is bound to the model as a tool."""
    assert len(json.dumps(Report.model_json_schema())) < 2500
