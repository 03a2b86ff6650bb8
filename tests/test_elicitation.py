"""An interrupt of langchain's MCP tools is described in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from langgraph_wyrd.extraction.interrupts import asked, request
from tests.conftest import Backend
from tests.damage import at

Call = Callable[..., Any]

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


def asks(*requests: Any) -> dict[str, Any]:
    return {"type": "mcp_elicitation", "tool_name": "book_flight", "requests": list(requests)}


def test_the_payload_is_langchains() -> None:
    """These are the names that langchain gives them."""
    theirs = pytest.importorskip("langchain.mcp.elicitation")
    assert theirs.ELICITATION_INTERRUPT_TYPE == "mcp_elicitation"
    assert set(theirs.MCPElicitationInterrupt.__annotations__) == set(asks())
    assert set(theirs.MCPElicitationFormRequest.__annotations__) == set(FORM)
    assert set(theirs.MCPElicitationUrlRequest.__annotations__) == set(VISIT)


async def test_it_is_listed_in_words(durable: Backend, call: Call) -> None:
    """With the fields to fill in, the address to open, and the keys that answers go under."""

    class State(TypedDict, total=False):
        answer: Any

    def tool(state: State) -> State:
        return {"answer": interrupt(asks(FORM, VISIT))}

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
    [{}, "mcp_elicitation", {"type": "mcp_elicitation"}, asks(), asks("x"),
     {"type": "mcp_elicitation", "requests": "abc"}, {"type": "other", "requests": [FORM]}],
    ids=repr,
)  # fmt: skip
def test_anything_else_is_none_of_them(value: Any) -> None:
    """And is described as any other question."""
    assert request(value).form == "plain"


def test_much_of_it_is_cut() -> None:
    """A server may ask as much as it likes."""
    words, context, _ = asked(asks(*[{**FORM, "message": "x" * 5000}] * 20))
    assert len(words) <= 300
    assert (len(context["requests"]), context["requests_left_out"]) == (8, 12)
    assert len(str(context)) < 20_000
    assert asked(asks({}))[0] == "book_flight asks: an answer is needed"
