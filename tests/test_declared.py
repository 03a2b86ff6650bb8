"""What an agent says by calling `open_loop`, `close_loop`, `set_intention`, `note_decision`."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_wyrd import WorkingState, extract
from langgraph_wyrd.extraction.declared import declared
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.facts import Opens, Settles
from langgraph_wyrd.state.model import OpenLoop, Source


def said(id: str, *calls: tuple[str, str, dict[str, Any]]) -> AIMessage:
    made = [{"id": c, "name": n, "args": a, "type": "tool_call"} for c, n, a in calls]
    return AIMessage("", id=id, tool_calls=made)


def done(call: str, text: str = "ok", **more: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call, **more)


def after(*messages: Any, previous: WorkingState | None = None) -> WorkingState:
    return extract({"messages": [HumanMessage("go", id="h"), *messages]}, previous=previous)


def declared_loops(state: WorkingState) -> list[OpenLoop]:
    return [loop for loop in state.loops if loop.source.rule == "declared"]


def test_an_opened_loop_is_declared_with_its_message_and_call_as_source() -> None:
    """Known by the id that the agent gave; else by the call's."""
    state = after(
        said(
            "m1",
            ("c1", "open_loop", {"description": "ask for the budget", "id": "budget"}),
            ("c2", "open_loop", {"description": "call back"}),
        ),
        done("c1"),
        done("c2"),
    )
    one, two = declared_loops(state)
    assert (one.kind, one.ref, one.description) == ("note", "budget", "ask for the budget")
    assert (one.confidence, one.source.author) == ("declared", "agent")
    assert (one.source.message_id, one.source.tool_call_id) == ("m1", "c1")
    assert (two.ref, two.source.tool_call_id) == ("c2", "c2")
    assert one in state.open_loops
    assert two in state.open_loops


def test_a_loop_is_closed_by_its_name_its_call_or_its_id() -> None:
    """With what came of it; in the same turn, too. What the history lost stays known."""
    opened = after(
        said(
            "m1",
            ("c1", "open_loop", {"description": "a", "id": "A"}),
            ("c2", "open_loop", {"description": "b"}),
            ("c3", "open_loop", {"description": "c", "id": "C"}),
            ("c4", "open_loop", {"description": "d", "id": "D"}),
            ("c5", "close_loop", {"id": "D", "outcome": "at once"}),
        )
    )
    assert [x.outcome for x in declared_loops(opened)] == [None, None, None, "at once"]
    by_id = declared_loops(opened)[2].id
    closing = said(
        "m2",
        ("d1", "close_loop", {"id": "A", "outcome": "done"}),
        ("d2", "close_loop", {"id": "c2", "outcome": "not needed"}),
        ("d3", "close_loop", {"id": by_id}),
        ("d4", "close_loop", {"id": "nothing of that name", "outcome": "?"}),
    )
    state = extract({"messages": [HumanMessage("a summary", id="s"), closing]}, previous=opened)
    assert [x.outcome for x in declared_loops(state)] == ["done", "not needed", "closed", "at once"]


def test_a_decision_stays_open_until_its_outcome_is_known() -> None:
    """Given at once, or when it is noted again, or by close_loop."""
    told = {"decision": "use Postgres", "rationale": "it is there", "id": "db"}
    first = after(said("m1", ("c1", "note_decision", told)))
    (open_one,) = declared_loops(first)
    assert (open_one.kind, open_one.resolved) == ("decision", False)
    assert open_one.context == {"rationale": "it is there"}
    again = said("m2", ("c2", "note_decision", {**told, "outcome": "worked"}))
    state = after(said("m1", ("c1", "note_decision", told)), again, previous=first)
    assert [(x.id, x.outcome) for x in declared_loops(state)] == [(open_one.id, "worked")]
    at_once = after(said("m3", ("c3", "note_decision", {"decision": "stop", "outcome": "ok"})))
    assert [x.outcome for x in declared_loops(at_once)] == ["ok"]


def test_an_intention_is_explicit_and_may_be_taken_back() -> None:
    """It stands above what the last request asked for; an empty one takes it back."""
    state = after(said("m1", ("c1", "set_intention", {"intention": "ship the release"})))
    assert state.intention is not None
    assert (state.intention.text, state.intention.aim) == ("ship the release", "explicit")
    assert state.intention.source.author == "agent"
    state = after(said("m2", ("c2", "set_intention", {"intention": ""})), previous=state)
    assert state.intention is not None
    assert state.intention.text == "go"


def test_what_was_rejected_was_not_said() -> None:
    """A call that a person rejected, or that its tool refused, leaves nothing open; one whose
    result was never recorded does: it was said."""
    call = said("m1", ("c1", "open_loop", {"description": "a"}))
    gone = done("c1", "User rejected the tool call for `open_loop`", status="error")
    lost = done("c1", "no result was recorded", status="error")
    for state in (after(call, gone), after(call, gone, previous=after(call))):
        assert [x.outcome for x in declared_loops(state)] == ["the call failed"]
    assert [x.resolved for x in declared_loops(after(call, lost))] == [False]
    aim = said("m1", ("c1", "set_intention", {"intention": "x"}))
    state = after(aim, gone, previous=after(aim))
    assert state.intention is not None
    assert state.intention.text == "go"


def test_odd_calls_say_nothing() -> None:
    """Arguments that are missing, of another type, or malformed."""
    odd = [
        ("c1", "open_loop", {}),
        ("c2", "open_loop", {"description": 3}),
        ("c3", "close_loop", {"id": None}),
        ("c4", "set_intention", {"intention": ["x"]}),
        ("c5", "note_decision", {"decision": "  "}),
    ]
    bad = {"id": "c6", "name": "open_loop", "args": "{", "error": "", "type": "invalid_tool_call"}
    state = after(said("m1", *odd), AIMessage("", id="m2", invalid_tool_calls=[bad]))
    assert not declared_loops(state)


def test_an_agent_cannot_settle_what_only_the_graph_can() -> None:
    """An interrupt stays; a call without a result may be said to be verified, by the loop's id."""
    held = (
        OpenLoop("l1", "interrupt", "approve?", ref="i", source=Source(rule="interrupt")),
        OpenLoop("l2", "tool_call", "pay()", ref="p", source=Source(rule="tool_call")),
        OpenLoop("l3", "note", "no ref", source=Source(rule="edit")),
    )
    calls = [(f"c{n}", "close_loop", {"id": id, "outcome": "seen"}) for n, id in enumerate(
        ("l1", "i", "l2", "l3")
    )]  # fmt: skip
    view = View(
        "x",
        changed=frozenset(("messages",)),
        fresh={"messages": Fresh([said("m", *calls)], [0])},
        previous=WorkingState(loops=held),
    )
    found = list(declared(view))
    assert [(f.kinds, f.item) for f in found if isinstance(f, Settles)] == [
        (("tool_call",), "l2"),
        (("note",), "l3"),
    ]
    assert not [f for f in found if isinstance(f, Opens)]
    state = after(said("m", calls[3]), previous=WorkingState(loops=held))
    assert [x.outcome for x in state.loops if x.id == "l3"] == ["seen"]
