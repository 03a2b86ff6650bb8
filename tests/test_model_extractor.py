"""`ModelExtractor`: a model reads a thread; what it can quote is stored, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import Field

from langgraph_wyrd import WorkingState, WyrdSaver
from langgraph_wyrd.agents.model_extractor import ModelExtractor, Report
from langgraph_wyrd.errors import (
    EditConflict,
    InvalidInput,
    ThreadNotFound,
    UnusableAnswer,
)
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.state.facts import Opens
from langgraph_wyrd.state.model import OpenLoop
from langgraph_wyrd.state.model_report import weighed
from tests.conftest import Backend
from tests.deep import create_deep_agent
from tests.scripted_agents import config, person, says
from tests.tables import check_tables
from tests.test_middleware import Strict
from tests.test_redaction import MARKER, anywhere

Call = Callable[..., Any]


class Reader(BaseChatModel):
    """Reports what it is told to, by a tool call as models do; `heard` is what it was asked.
    A report that is a message is said as it is."""

    report: Any = None
    heard: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "reader"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.heard.append(messages)
        said = self.report(messages) if callable(self.report) else self.report
        if not isinstance(said, BaseMessage):
            call = {"name": "Report", "args": said, "id": "r", "type": "tool_call"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


TALK = [
    HumanMessage("Wir feiern im Mai, such einen Ort", id="h1"),
    AIMessage("Der Garten ist frei. Ich schreibe dem Gärtner bis Freitag", id="a1"),
    HumanMessage("Gut. Und wer kocht?", id="h2"),
    AIMessage("Das weiß ich noch nicht.", id="a2"),
]


def opens(kind: str, description: str, quote: str, message: int = -1) -> dict[str, Any]:
    return {"kind": kind, "description": description, "quote": quote, "message": message}


REPORT = {
    "open": [
        opens("promise", "write to the gardener", "ich schreibe dem  Gärtner bis Freitag", 1),
        opens("note", "nobody cooks yet", "“Das weiß ich noch nicht.”", 0),
        opens("note", "made up", "the moon is full", 1),
        opens("note", "too little", "ist", 1),
    ],
    "intention": {"text": "a party in May", "quote": "wir feiern im Mai", "message": 0},
}


def graph(saver: Any, *messages: Any) -> Any:
    """Says these messages when it runs."""
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": list(messages)})
    builder.add_edge(START, "say")
    return builder.compile(checkpointer=saver)


def thread(saver: WyrdSaver, *messages: Any) -> Any:
    graph(saver, *(messages or TALK)).invoke({"messages": []}, config("t"))
    return saver.thread("t")


def modelled(state: WorkingState) -> list[OpenLoop]:
    return [loop for loop in state.loops if loop.confidence == "model"]


def findings(state: WorkingState) -> list[tuple[str, str, bool]]:
    return [(loop.kind, loop.description, loop.resolved) for loop in modelled(state)]


def same_tables(backend: Backend) -> None:
    """The public tables show what the ledger says."""
    check_tables(backend.open(), backend.url, "the tables")


FOUND = [("promise", "write to the gardener", False), ("note", "nobody cooks yet", False)]


# ---- what is stored


async def test_what_is_quoted_is_stored(durable: Backend, call: Call) -> None:
    """With confidence `model`, the quote, whose word it is, and the message that has it, even if
    another was named; what no message says is left out and counted. Another saver reads it."""
    saver = durable.open()
    held = thread(saver)
    before = held.working_state()
    extractor = ModelExtractor(Reader(report=REPORT), author="gpt")
    found = await call(held, "extract_with_model", extractor)
    assert (found.calls, found.unfounded, found.left_out) == (1, 2, 0)
    state = durable.open().thread("t").working_state()
    assert state == found.state
    assert findings(state) == FOUND
    promise, note = modelled(state)
    assert promise.context == {"quote": "ich schreibe dem Gärtner bis Freitag"}
    assert [each.source.message_id for each in (promise, note)] == ["a1", "a2"]
    for each in (promise, note):
        assert (each.source.author, each.source.rule) == ("gpt", "model")
        assert each.source.checkpoint_id == before.checkpoint_id
    assert before.intention is None  # all that was asked was answered
    listed = saver.open_loops(confidence="model")
    assert {loop.id for loop in listed} == {promise.id, note.id}
    assert "write to the gardener" in state.brief()
    same_tables(durable)


async def test_asked_again_it_says_nothing_twice(durable: Backend, call: Call) -> None:
    """The same words are the same item: reported again in part, or otherwise, open or closed, by
    another saver; without news no model is asked."""
    held = thread(durable.open())
    model = Reader(report=REPORT)
    extractor = ModelExtractor(model)
    first = await call(held, "extract_with_model", extractor)
    again = await call(durable.open().thread("t"), "extract_with_model", extractor)
    assert (again.calls, again.state, len(model.heard)) == (0, first.state, 1)
    again = await call(held, "extract_with_model", extractor, again=True)
    assert (again.calls, again.facts, again.state) == (1, (), first.state)
    model.report = {
        "open": [
            opens("promise", "tell the gardener", "Gärtner bis Freitag"),
            opens("promise", "tell him", "Der Garten ist frei. Ich schreibe dem Gärtner bis"),
            opens("note", "nobody cooks yet", "Und wer kocht?"),
        ]
    }
    again = await call(held, "extract_with_model", extractor, again=True)
    assert (again.left_out, findings(again.state)) == (3, FOUND)
    for loop in modelled(again.state):
        held.resolve_open_loop(loop.id, "done")
    for n in range(20):  # more than a state keeps of what was over before its checkpoint
        held.resolve_open_loop(held.add_open_loop(f"thing {n}").id)
    graph(durable.open(), AIMessage("Gern.", id="a3")).invoke({"messages": []}, config("t"))
    assert modelled(held.working_state()) == []
    model.report = REPORT
    again = await call(held, "extract_with_model", extractor, again=True)
    assert not any(isinstance(fact, Opens) for fact in again.facts)
    assert modelled(again.state) == []
    same_tables(durable)


async def test_what_it_says_no_more_stays(durable: Backend, call: Call) -> None:
    """It reads what is open, so it need not say it again: open it stays until the model says,
    with a quote, that it is settled, or somebody else closes it."""
    held = thread(durable.open())
    model = Reader(report=REPORT)
    extractor = ModelExtractor(model)
    first = await call(held, "extract_with_model", extractor)
    promise, note = modelled(first.state)
    graph(durable.open(), AIMessage("Er hat geantwortet: gern.", id="a3")).invoke(
        {"messages": []}, config("t")
    )
    model.report = {}
    same = await call(held, "extract_with_model", extractor)
    assert (same.calls, findings(same.state)) == (1, FOUND)
    assert f"[{promise.id}] promise: write to the gardener" in model.heard[-1][1].text
    graph(durable.open(), HumanMessage("Schön", id="h3")).invoke({"messages": []}, config("t"))
    model.report = {
        "settled": [
            {"id": promise.id, "outcome": "he answered", "quote": "Er hat geantwortet"},
            {"id": note.id, "outcome": "made up", "quote": "nobody said this"},
            {"id": "l-000000000000", "outcome": "no such loop", "quote": "Er hat geantwortet"},
        ]
    }
    closed = await call(held, "extract_with_model", extractor)
    assert (closed.unfounded, closed.left_out) == (1, 1)
    assert findings(closed.state) == [("promise", "write to the gardener", True), FOUND[1]]
    assert modelled(closed.state)[0].outcome == "he answered"
    same_tables(durable)


async def test_what_is_declared_or_seen_stands(durable: Backend, call: Call) -> None:
    """A model neither ends nor says again what a person, the agent or the graph says, and its aim
    counts only where there is none."""
    pay = {"id": "c", "name": "pay", "args": {}, "type": "tool_call"}
    thanks = HumanMessage("Danke!", id="h9")  # without it the call goes on with what was asked
    held = thread(durable.open(), *TALK, thanks, AIMessage("", id="a3", tool_calls=[pay]))
    mine = held.add_open_loop("ask the cook", by="ann")
    done = held.resolve_open_loop(held.add_open_loop("find a cook", kind="question").id, "Bob")
    before = held.working_state()
    lost = next(loop for loop in before.open_loops if loop.kind == "tool_call")
    quote = "Gut. Und wer kocht?"
    model = Reader(
        report={
            "open": [opens("note", "ask the cook", quote), opens("question", "find a cook", quote)],
            "settled": [
                {"id": mine.id, "outcome": "asked", "quote": quote},
                {"id": lost.id, "outcome": "paid", "quote": quote},
                {"id": done.id, "outcome": "asked", "quote": quote},
            ],
            "intention": {"text": "food", "quote": quote},
        }
    )
    found = await call(held, "extract_with_model", ModelExtractor(model))
    # What was wanted had been answered: the model's aim fills the gap, its loops say nothing new.
    assert [type(fact).__name__ for fact in found.facts] == ["Wants"]
    assert found.left_out == 5
    assert found.state.loops == before.loops
    assert before.intention is None
    assert found.state.intention.text == "food"
    held.set_intention("a party")
    assert held.working_state().intention.text == "a party"


async def test_a_guess_is_lifted(durable: Backend, call: Call) -> None:
    """What was only guessed is the model's word once it says so, as the same item; and it may end
    a guess."""

    def guesses(view: View) -> list[Opens]:
        if view.previous.loops:
            return []
        words = ("I'll send the report on Friday", "I will check the logs")
        where = view.at("guessed", message_id="a1")
        return [Opens("promise", said, where, said, {}, "heuristic") for said in words]

    talk = (
        HumanMessage("Can you help?", id="h1"),
        AIMessage("I'll send the report on Friday. I will check the logs.", id="a1"),
    )
    saver = durable.open(extractors=[guesses])
    held = thread(saver, *talk)
    sending, checking = held.working_state().guessed_loops
    model = Reader(
        report={
            "open": [opens("promise", "send the report", "I'll send the report on Friday")],
            "settled": [{"id": checking.id, "outcome": "kept", "quote": "I will check the logs"}],
        }
    )
    found = await call(held, "extract_with_model", ModelExtractor(model))
    (lifted,) = modelled(found.state)
    assert (lifted.id, lifted.description) == (sending.id, "send the report")
    assert lifted.context == {**sending.context, "quote": "I'll send the report on Friday"}
    assert found.state.guessed_loops == ()
    assert lifted in found.state.open_loops
    again = await call(held, "extract_with_model", ModelExtractor(model), again=True)
    assert again.facts == ()
    check_tables(saver, durable.url, "the tables")


async def test_an_aim_where_none_is_known(durable: Backend, call: Call) -> None:
    """The model's word on what the work is after counts until a person asks for something."""
    held = thread(durable.open(), AIMessage("Ich plane die Feier im Mai", id="a1"))
    aim = {"text": "a party in May", "quote": "die Feier im Mai"}
    extractor = ModelExtractor(Reader(report={"intention": aim}))
    found = await call(held, "extract_with_model", extractor)
    assert found.state.intention is not None
    assert (found.state.intention.text, found.state.intention.confidence) == (
        "a party in May", "model",
    )  # fmt: skip
    graph(durable.open()).invoke({"messages": [HumanMessage("Im Juni, bitte")]}, config("t"))
    state = held.working_state()
    assert state.intention.text == "Im Juni, bitte"
    assert [i.outcome for i in state.intentions] == ["superseded", None]


# ---- it lasts


async def test_it_lasts_whatever_comes(durable: Backend, call: Call) -> None:
    """The agent's next turns, a re-extraction, copies, a rewind there and back, a prune: it is
    there wherever the thread stands behind it, and on no branch from before."""
    saver = durable.open()
    graph(saver, *TALK[:2]).invoke({"messages": []}, config("t"))
    early = saver.thread("t").working_state().checkpoint_id
    graph(saver, *TALK[2:]).invoke({"messages": []}, config("t"))
    held = saver.thread("t")
    first = await call(held, "extract_with_model", ModelExtractor(Reader(report=REPORT)))
    there = first.state.checkpoint_id
    graph(saver, AIMessage("noch etwas", id="a3")).invoke({"messages": []}, config("t"))
    graph(saver, AIMessage("und noch", id="a4")).invoke({"messages": []}, config("t"))

    def stands(reader: WyrdSaver, id: str = "t") -> None:
        found = reader.thread(id).working_state()
        assert findings(found) == FOUND
        assert [x.id for x in modelled(found)] == [x.id for x in modelled(first.state)]
        same_tables(durable)

    stands(durable.open())
    saver.reextract("t")
    stands(durable.open())
    assert findings(held.working_state(there)) == FOUND
    assert findings(held.working_state(early)) == []
    saver.copy_thread("t", "u")
    stands(saver, "u")
    await call(held, "rewind", early)
    assert findings(held.working_state()) == []
    assert [*saver.open_loops(thread_id="t", confidence="model")] == []
    await call(held, "rewind", there)
    stands(durable.open())
    saver.prune(["t"], strategy="keep_latest")
    stands(durable.open())


async def test_the_thread_moves_on_while_it_is_read(durable: Backend, call: Call) -> None:
    """What the agent did meanwhile is not lost, and what was found lies on top of it; what was
    said meanwhile counts; a thread that was taken back to before is left alone."""
    saver = durable.open()
    graph(saver, *TALK[:2]).invoke({"messages": []}, config("t"))
    early = saver.thread("t").working_state().checkpoint_id
    held = thread(saver, *TALK[2:])

    def goes_on(messages: Any) -> Any:
        other = durable.open()
        graph(other, AIMessage("Bob kocht", id="a3")).invoke({"messages": []}, config("t"))
        other.thread("t").add_open_loop("nobody cooks yet", by="ann")
        return REPORT

    found = await call(held, "extract_with_model", ModelExtractor(Reader(report=goes_on)))
    assert findings(found.state) == FOUND[:1]
    assert found.left_out == 1
    assert [x.description for x in found.state.open_loops if x.confidence == "declared"] == [
        "nobody cooks yet"
    ]
    last = saver.get_tuple(config("t"))
    assert last is not None
    assert last.checkpoint["channel_values"]["messages"][-1].text == "Bob kocht"

    def goes_back(messages: Any) -> Any:
        durable.open().thread("t").rewind(early)
        return {"open": [opens("note", "something else", "Gut. Und wer kocht?")]}

    with pytest.raises(EditConflict, match="'t' went back to another point while a model read"):
        await call(held, "extract_with_model", ModelExtractor(Reader(report=goes_back)), again=True)
    assert modelled(held.working_state()) == []


async def test_while_a_question_waits(durable: Backend, call: Call) -> None:
    """Stored over a leaf whose tasks wait for a person, it is there before and after the answer."""
    from langgraph.types import Command, interrupt

    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda state: {"messages": [AIMessage(interrupt("sure?"))]})
    builder.add_edge(START, "ask")
    made = builder.compile(checkpointer=durable.open())
    made.invoke({"messages": TALK}, config("t"))
    held = durable.opened[0].thread("t")
    found = await call(held, "extract_with_model", ModelExtractor(Reader(report=REPORT)))
    assert findings(found.state) == FOUND
    assert found.state.status == "interrupted"
    made.invoke(Command(resume="yes"), config("t"))
    state = held.working_state()
    assert findings(state) == FOUND
    assert state.status == "done" or state.status == "idle"
    same_tables(durable)


async def test_two_read_at_once(durable: Backend) -> None:
    """Two savers that ask at the same time store it once."""
    thread(durable.open())
    handles = [durable.open().thread("t") for _ in range(2)]
    extractor = ModelExtractor(Reader(report=REPORT))
    await asyncio.gather(*(each.aextract_with_model(extractor, again=True) for each in handles))
    assert findings(durable.open().thread("t").working_state()) == FOUND


async def test_hooks_hear_of_it(durable: Backend, call: Call) -> None:
    """Each loop, with who found it; nothing when nothing was found."""
    heard: list[Happening] = []
    saver = durable.open(hooks={"loop_opened": heard.append, "loop_closed": heard.append})
    held = thread(saver)
    heard.clear()
    extractor = ModelExtractor(Reader(report=REPORT), author="gpt")
    await call(held, "extract_with_model", extractor)
    await call(held, "extract_with_model", extractor, again=True)
    assert [(each.event, each.loop and each.loop.kind) for each in heard] == [
        ("loop_opened", "promise"), ("loop_opened", "note"),
    ]  # fmt: skip
    assert {(each.detail["by"], each.detail["author"]) for each in heard} == {("model", "gpt")}


def test_an_encrypting_store_holds_no_plain_text(durable: Backend) -> None:
    """Neither the quote nor the words, and nothing that they could be guessed from."""
    key = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = durable.open(serde=key)
    held = thread(saver, AIMessage(f"I will pay the {MARKER} tomorrow", id="a1"))
    report = {
        "open": [opens("note", f"pay {MARKER}", f"pay the {MARKER} tomorrow")],
        "intention": {"text": f"be rid of {MARKER}", "quote": f"pay the {MARKER} tomorrow"},
    }
    found = held.extract_with_model(ModelExtractor(Reader(report=report)))
    again = held.extract_with_model(ModelExtractor(Reader(report=report)), again=True)
    assert (len(found.facts), again.left_out) == (2, 2)
    saver.close()
    assert not anywhere(durable.url)


# ---- what it costs


async def test_its_cost_is_bounded() -> None:
    """One call; the newest messages, so many characters of them and of what is known, and so many
    findings."""
    talk = [HumanMessage(f"message number {n} " + "x" * 300, id=f"{n}") for n in range(100)]
    opened = [opens("note", f"thing {n}", f"message number {n} x", n) for n in range(100)]
    model = Reader(report={"open": opened})
    extractor = ModelExtractor(model, last=30, max_chars=2000, max_items=3)
    many = tuple(OpenLoop(f"l-{n}", "note", f"known {n} " + "y" * 100) for n in range(100))
    report = await extractor.aread(talk, WorkingState(loops=many))
    assert len(model.heard) == 1
    asked = model.heard[0][1].text
    assert len(asked) < 2700
    assert "message number 99" in asked
    assert "message number 90" not in asked
    assert "known 99" in asked
    assert "known 90" not in asked
    found = weighed(report, WorkingState())
    assert [fact.source.message_id for fact in found.facts] == ["94", "95", "96"]
    assert (found.unfounded, found.left_out) == (94, 3)  # what it was not shown it can't quote
    extractor.read(talk, WorkingState())
    ModelExtractor(model, max_chars=100).read(talk, WorkingState())
    assert "message number 99" in model.heard[-1][1].text
    for wrong in ({"last": 0}, {"max_chars": 0}, {"max_items": 1.5}, {"author": " "}):
        with pytest.raises(InvalidInput):
            ModelExtractor(model, **wrong)


async def test_nothing_to_read(durable: Backend, call: Call) -> None:
    """Without messages no model is asked, nor about a thread that is not there, nor by a saver
    that has no place for what it finds."""
    model = Reader(report=REPORT)
    saver = durable.open()
    with pytest.raises(ThreadNotFound):
        await call(saver.thread("t"), "extract_with_model", ModelExtractor(model))
    thread(saver, "")
    found = await call(saver.thread("t"), "extract_with_model", ModelExtractor(model))
    assert (found.calls, found.facts) == (0, ())
    with pytest.raises(InvalidInput, match=r"Reader is no extractor: pass ModelExtractor\(model\)"):
        await call(saver.thread("t"), "extract_with_model", model)
    bare = durable.open(pillars=False).thread("t")
    with pytest.raises(InvalidInput, match="pillars=False"):
        await call(bare, "extract_with_model", ModelExtractor(model))
    assert model.heard == []


# ---- what models answer

RUBBISH: dict[str, Any] = {
    "prose": AIMessage("There is nothing open, I think."),
    "nothing": AIMessage(""),
    "another form": {"answer": 42},
    "no object": AIMessage("[1, 2, 3]"),
    "broken off": AIMessage(
        "",
        invalid_tool_calls=[
            {"type": "invalid_tool_call", "name": "Report", "args": '{"open', "id": "r",
             "error": "cut off"}
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUBBISH)
async def test_rubbish_changes_nothing_and_is_said(name: str, sqlite: Backend, call: Call) -> None:
    """An answer that is no report raises, with the thread and what was said; asked again with a
    better one, it counts."""
    held = thread(sqlite.open())
    before = held.working_state()
    model = Reader(report=RUBBISH[name])
    with pytest.raises(UnusableAnswer, match="'t', the model gave no report, but"):
        await call(held, "extract_with_model", ModelExtractor(model))
    assert held.working_state() == before
    model.report = REPORT
    assert findings((await call(held, "extract_with_model", ModelExtractor(model))).state) == FOUND


async def test_a_model_that_fails_changes_nothing(sqlite: Backend, call: Call) -> None:
    """Its error is raised as it is."""
    held = thread(sqlite.open())
    before = held.working_state()

    def fails(messages: Any) -> Any:
        raise TimeoutError("overloaded")

    with pytest.raises(TimeoutError):
        await call(held, "extract_with_model", ModelExtractor(Reader(report=fails)))
    assert held.working_state() == before


async def test_odd_words_in_a_report(sqlite: Backend, call: Call) -> None:
    """Text that the database does not take, and text without end, is stored as far as it can be."""
    report = {
        "open": [
            *REPORT["open"][:1],
            opens("note", "\0 \ud800 " + "x" * 100_000, "Und wer kocht?" + "\0" * 0),
            opens("note", "  ", "Das weiß ich noch nicht"),
        ],
    }
    held = thread(sqlite.open())
    found = await call(held, "extract_with_model", ModelExtractor(Reader(report=report)))
    promise, odd, blank = modelled(found.state)
    assert promise.description == "write to the gardener"
    assert len(odd.description) <= 500
    assert blank.description == "Das weiß ich noch nicht"
    assert durable_state(sqlite) == found.state


def durable_state(backend: Backend) -> WorkingState:
    return backend.open().thread("t").working_state()


async def test_a_report_in_words(sqlite: Backend, call: Call) -> None:
    """Models that answer with JSON as text, or with the report itself, are understood as well."""

    class Plain(Reader):
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            from langchain_core.runnables import RunnableLambda

            return RunnableLambda(lambda messages: Report.model_validate(self.report))

    held = thread(sqlite.open())
    words = AIMessage(json.dumps({**REPORT, "open": REPORT["open"][:1]}))
    found = await call(held, "extract_with_model", ModelExtractor(Reader(report=words)))
    assert findings(found.state) == FOUND[:1]
    found = await call(held, "extract_with_model", ModelExtractor(Plain(report=REPORT)), again=True)
    assert findings(found.state) == FOUND


async def test_messages_that_are_kept_as_deltas(durable: Backend, call: Call) -> None:
    """A deep agent's checkpoints hold no messages: they are put together from its writes."""
    saver = durable.open()
    agent = create_deep_agent(Strict(rule=says("Ich melde mich am Freitag")), checkpointer=saver)
    for _ in range(2):
        await agent.ainvoke(person("wer kocht?"), config("t"))
    held = saver.get_tuple(config("t"))
    assert held is not None
    assert "messages" not in held.checkpoint["channel_values"]
    said = opens("promise", "back on Friday", "melde mich am Freitag")
    model = Reader(report={"open": [said]})
    found = await call(saver.thread("t"), "extract_with_model", ModelExtractor(model))
    assert findings(found.state) == [("promise", "back on Friday", False)]
    assert model.heard[0][1].text.count("wer kocht?") >= 2


def test_the_schema_is_small() -> None:
    """What is bound to the model as a tool."""
    assert len(json.dumps(Report.model_json_schema())) < 2500
