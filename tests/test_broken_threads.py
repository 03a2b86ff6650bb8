"""Every way in which a run stops short, or a thread is left unsound: new input goes on with it.

What a checkpoint can say of it is listed with the open loops in docs/pillars.md. Without the
middleware the provider refuses the same thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError
from langgraph.types import interrupt

from langgraph_wyrd.agents.message_repair import LEFT_OUT, sent_to
from langgraph_wyrd.middleware import WyrdMiddleware
from tests.conftest import Backend
from tests.held_runs import until
from tests.providers import PROVIDERS, Refused, Strict, check, refused_by
from tests.scripted_agents import TURNS, Turn, asks, config, person, plan, says

ENDED: list[Callable[[], bool]] = []  # whether what was paid next to a failure is stored


@tool
def pay(to: str) -> str:
    """Pay."""
    if to == "the bank":
        return f"paid, {interrupt('sure?')}"
    if to == "the tax":
        request = {"action_request": {"action": "pay", "args": {}}, "config": {}, "description": ""}
        return f"paid, {interrupt([request])}"
    if to == "nobody":
        until(ENDED[-1], 200)  # LangGraph cancels what still runs next to a failure
        raise RuntimeError("no such person")
    return f"paid {to}"


@dataclass(frozen=True)
class Way:
    """How a thread comes to be broken: what the model answers, and what stops the run then."""

    answer: AIMessage
    middleware: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)  # of create_agent
    limits: Mapping[str, Any] = field(default_factory=dict)  # of the run's config
    afterwards: Callable[[list[BaseMessage]], list[Any]] | None = None  # an update by hand
    lost: tuple[str, ...] = ("c",)  # the calls that are reported
    used: Mapping[str, str] = field(default_factory=dict)  # the results that are there
    healed: bool = False  # create_agent sees to it itself


def cut(args: str) -> Any:
    return {"type": "invalid_tool_call", "id": "c", "name": "pay", "args": args, "error": ""}


ME = asks(("c", "pay", {"to": "me"}))
BATCH = HumanInTheLoopMiddleware({"pay": True})
SINGLY = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode="per_call")
TWO = asks(("d", "pay", {"to": "me"}), ("c", "pay", {"to": "nobody"}))

WAYS: dict[str, Way] = {
    "an approval": Way(ME, (BATCH,)),
    "approvals one by one": Way(
        asks(("c", "pay", {"to": "me"}), ("d", "pay", {"to": "you"})), (SINGLY,), lost=("c", "d")
    ),
    "a question in a tool": Way(asks(("c", "pay", {"to": "the bank"}))),
    "a question of an agent inbox": Way(asks(("c", "pay", {"to": "the tax"}))),
    "a question next to a result": Way(
        asks(("d", "pay", {"to": "me"}), ("c", "pay", {"to": "the bank"})), used={"d": "paid me"}
    ),
    "a failure": Way(asks(("c", "pay", {"to": "nobody"}))),
    "a failure next to a result": Way(TWO, used={"d": "paid me"}),
    "a breakpoint before": Way(ME, options={"interrupt_before": ["tools"]}),
    "a breakpoint behind the model": Way(ME, options={"interrupt_after": ["model"]}),
    "the step limit": Way(ME, limits={"recursion_limit": 2}),
    "an answer that broke off in a call": Way(
        AIMessage(
            "", invalid_tool_calls=[cut('{"to')], response_metadata={"finish_reason": "length"}
        ),
        healed=True,
    ),
    "an answer that broke off in a block": Way(
        AIMessage(
            [{"type": "tool_use", "id": "c", "name": "pay", "input": {}, "partial_json": '{"to'}],
            response_metadata={"stop_reason": "max_tokens"},
        )
    ),
    "a result taken away": Way(
        ME, afterwards=lambda held: [RemoveMessage(id=held[-2].id)]
    ),
    "a call taken away": Way(
        ME, afterwards=lambda held: [RemoveMessage(id=held[-3].id)], lost=()
    ),
    "a call put in by hand": Way(ME, afterwards=lambda held: [asks(("e", "pay", {}))], lost=("e",),
                                 used={"c": "paid me"}),
    "a result said twice": Way(
        ME, afterwards=lambda held: [ToolMessage("again", tool_call_id="c")], lost=(),
        used={"c": "paid me"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
async def test_new_input_goes_on(name: str, durable: Backend, turn: Turn) -> None:
    """The thread is refused without the middleware, and goes on with it; what is lost is reported,
    what had finished is used; what is stored then is sound."""
    way, thread = WAYS[name], config("t")
    each_with_each = [*WAYS].index(name) + (turn is TURNS[0]) + (durable.name == "sqlite")
    provider = PROVIDERS[each_with_each % 2]
    if "block" in name:
        provider = "anthropic"  # OpenAI has no such blocks

    def make(rule: Any, *ours: Any, **options: Any) -> Any:
        return create_agent(
            Strict(rule=rule, provider=provider),
            [pay],
            middleware=[*ours, *way.middleware],
            checkpointer=durable.open(),
            **options,
        )

    first, saver = make(plan(way.answer), WyrdMiddleware(), **way.options), durable.opened[-1]

    def ended() -> bool:
        found = saver.get_tuple(thread)
        written = "" if found is None else str(found.pending_writes)
        return all(text in written for text in way.used.values())

    ENDED[:] = [ended]
    with contextlib.suppress(RuntimeError, GraphRecursionError):
        await turn(first, person(), {**thread, **way.limits})
    if way.afterwards is not None:
        held = (await first.aget_state(thread)).values["messages"]
        await first.aupdate_state(thread, {"messages": way.afterwards(held)}, as_node="model")
    durable.opened[-1].copy_thread("t", "u")
    if not way.healed:
        with pytest.raises(Refused):
            await turn(make(says()), person(), config("u"))
    found = await turn(make(says(), WyrdMiddleware()), person(), thread)
    assert found["messages"][-1].text == "done"
    results = {m.tool_call_id: m for m in found["messages"] if isinstance(m, ToolMessage)}
    assert {id for id, m in results.items() if m.status == "error"} == {*way.lost}
    assert {id: m.text for id, m in results.items() if m.status == "success"} == way.used
    assert not refused_by(found["messages"])
    await turn(make(says()), person(), thread)


OTHERS: dict[str, list[BaseMessage]] = {
    "a long id": [
        HumanMessage("go"),
        AIMessage(
            [{"type": "tool_use", "id": f"chatcmpl-tool-{'a' * 32}", "name": "pay", "input": {}}],
            tool_calls=asks((f"chatcmpl-tool-{'a' * 32}", "pay", {})).tool_calls,
        ),
        ToolMessage("paid", tool_call_id=f"chatcmpl-tool-{'a' * 32}"),
    ],
    "a name that was made up": [
        HumanMessage("go"),
        asks(("c", "multi_tool_use.parallel", {}), ("d", "x" * 200, {})),
        ToolMessage("no such tool", tool_call_id="c", status="error"),
        ToolMessage("no such tool", tool_call_id="d", status="error"),
    ],
    "an agent that speaks first": [AIMessage("Good morning!")],
    "its first call, once the rest was trimmed": [
        asks(("functions.pay:0", "pay", {})),
        ToolMessage("paid", tool_call_id="functions.pay:0"),
    ],
}
SENT_TO = {"openai": {*OTHERS} - {"an agent that speaks first",
                                  "its first call, once the rest was trimmed"},
           "anthropic": {*OTHERS} - {"a long id"}}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_thread_that_another_provider_began(
    provider: str, durable: Backend, turn: Turn
) -> None:
    """Ids, names and a beginning that this provider refuses are sent in a form that it takes, the
    same at every call; what is stored stays as it is."""
    saver = durable.open()
    for name, history in OTHERS.items():
        model = Strict(rule=says(), provider=provider)
        bare = create_agent(model, [pay], checkpointer=saver)
        await bare.aupdate_state(config(name), {"messages": history}, as_node="__start__")
        saver.copy_thread(name, f"{name} 2")
        if name in SENT_TO[provider]:
            with pytest.raises(Refused):
                await turn(bare, person(), config(f"{name} 2"))
        agent = create_agent(model, [pay], middleware=[WyrdMiddleware()], checkpointer=saver)
        for _ in range(2):
            found = await turn(agent, person(), config(name))
        assert [m.text for m in found["messages"][: len(history)]] == [m.text for m in history]
        for stored, given in zip(found["messages"], history, strict=False):
            assert getattr(stored, "tool_calls", ()) == getattr(given, "tool_calls", ())
        one, two = ([m for m in heard if m.type != "system"] for heard in model.heard[-2:])
        assert one[: len(history)] == two[: len(history)]


def test_what_fits_comes_back_as_it_is() -> None:
    """The very same objects; and a model whose provider is not known gets what there is."""
    sound = [HumanMessage("go"), asks(("c", "pay", {})), ToolMessage("paid", tool_call_id="c")]
    odd = OTHERS["a long id"]
    for provider in PROVIDERS:
        model = Strict(rule=says(), provider=provider)
        assert all(a is b for a, b in zip(sent_to(model, sound), sound, strict=True))
        sent = sent_to(model, OTHERS["an agent that speaks first"])
        assert (sent[0].text == LEFT_OUT) is (provider == "anthropic")
        check(provider, sent_to(model, odd))
    model = Strict(rule=says(), provider="somebody")
    assert all(a is b for a, b in zip(sent_to(model, odd), odd, strict=True))


def test_each_provider_has_its_own_lengths() -> None:
    """A tool's name that one provider takes is left as it is for it; an id that is given twice is
    no longer than the provider takes, with the number behind it too."""
    long = {"name": "mcp__" + "x" * 75, "args": {}, "id": "c" * 40}
    history = [
        message
        for n in "12"
        for message in (
            HumanMessage("go", id=f"h{n}"),
            AIMessage("", id=f"a{n}", tool_calls=[long]),
            ToolMessage("r", tool_call_id=long["id"], id=f"t{n}"),
        )
    ]
    for provider, name, id in (("anthropic", 80, 128), ("openai", 64, 40)):
        sent = sent_to(Strict(rule=says(), provider=provider), history)
        calls = [call for each in sent if isinstance(each, AIMessage) for call in each.tool_calls]
        assert [len(call["name"]) for call in calls] == [name, name]
        assert len({call["id"] for call in calls}) == 2
        assert all(len(call["id"]) <= id for call in calls)
        check(provider, sent)
