"""WyrdMiddleware in real agents, with models that refuse what OpenAI and Anthropic refuse."""

from __future__ import annotations

import asyncio
import copy
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.factory import _patch_invalid_tool_calls
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolRetryMiddleware,
)
from langchain_anthropic.chat_models import _format_messages
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd.agents import place
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.middleware import WyrdMiddleware
from tests.conftest import Backend
from tests.held_runs import came_to
from tests.providers import PROVIDERS, Refused, Strict, refused_by
from tests.scripted_agents import (
    ORDERS,
    Turn,
    asks,
    config,
    person,
    plan,
    says,
    search,
    system_of,
    turn_sync,
)
from tests.test_repair import BROKEN

# ---- repair


async def test_broken_threads_go_on(durable: Backend, turn: Turn) -> None:
    """Every broken history is refused without the middleware (but for what create_agent repairs
    by itself), and goes on with it; what was repaired is stored, and is repaired once."""
    provider = PROVIDERS[(turn is turn_sync) ^ (durable.name == "sqlite")]  # each with each
    saver = durable.open()
    for n, (name, history) in enumerate(BROKEN.items()):
        history = copy.deepcopy(history)
        thread = config(f"{n}")

        def make(*middleware: Any) -> Any:
            model = Strict(rule=says(), provider=provider)
            return create_agent(model, [search], middleware=middleware, checkpointer=saver)

        await make().aupdate_state(thread, {"messages": history}, as_node="__start__")
        stored = (await make().aget_state(thread)).values["messages"]
        if provider in refused_by(_patch_invalid_tool_calls([*stored, HumanMessage("and now?")])):
            with pytest.raises(Refused):
                await turn(make(), person(), thread)
        found = await turn(make(WyrdMiddleware(saver)), person(), thread)
        assert found["messages"][-1].text == "done", name
        assert not refused_by(found["messages"]), name
        ids = [message.id for message in found["messages"]]
        again = await turn(make(), person(), thread)  # what is stored is sound now
        assert [message.id for message in again["messages"]][: len(ids)] == ids


async def test_a_sound_thread_is_left_alone(durable: Backend, turn: Turn) -> None:
    """Nothing is written for a history that is fine, and the model gets it as it is."""
    saver = durable.open()
    model = Strict(rule=plan(asks(("c1", "search", {"query": "x"}))))
    agent = create_agent(model, [search], middleware=[WyrdMiddleware()], checkpointer=saver)
    await turn(agent, person(), config("t"))
    found = await turn(agent, person(), config("t"))
    assert [m.type for m in found["messages"]] == ["human", "ai", "tool", "ai", "human", "ai"]
    assert model.heard[-1] == found["messages"][:-1]
    steps = [s.metadata["source"] for s in agent.get_state_history(config("t"))]
    assert steps.count("input") == 2


# ---- calls that did not finish


async def test_what_was_not_killed_runs(durable: Backend, turn: Turn) -> None:
    """Calls that waited for approval, stopped at a breakpoint, asked a question or failed are run
    when the run goes on, in another process too."""
    ran: list[str] = []

    @tool
    def pay(to: str) -> str:
        """Pay."""
        ran.append(to)
        if to == "the bank":
            return f"paid, {interrupt('sure?')}"
        if to == "nobody" and ran.count("nobody") == 1:
            raise RuntimeError("no such person")
        return "paid"

    async def begun(thread: str, to: str, *more: Any, **options: Any) -> Any:
        """An agent in a process that stopped, and the same agent in another one."""
        for saver in durable.opened:
            saver.close()
        rule = plan(asks(("c", "pay", {"to": to}))) if thread not in seen else says()
        seen.add(thread)
        return create_agent(
            Strict(rule=rule),
            [pay],
            middleware=[WyrdMiddleware(), *more],
            checkpointer=durable.open(),
            **options,
        )

    seen: set[str] = set()
    approve = HumanInTheLoopMiddleware({"pay": True})
    await turn(await begun("a", "the shop", approve), person(), config("a"))
    decision = Command(resume={"decisions": [{"type": "approve"}]})
    found = await turn(await begun("a", "", approve), decision, config("a"))
    assert found["messages"][-2].text == "paid"

    await turn(await begun("b", "the tax", interrupt_before=["tools"]), person(), config("b"))
    found = await turn(await begun("b", "", interrupt_before=["tools"]), None, config("b"))
    assert found["messages"][-2].text == "paid"

    await turn(await begun("c", "the bank"), person(), config("c"))
    found = await turn(await begun("c", ""), Command(resume="yes"), config("c"))
    assert found["messages"][-2].text == "paid, yes"

    with pytest.raises(RuntimeError):
        await turn(await begun("d", "nobody"), person(), config("d"))
    found = await turn(await begun("d", ""), None, config("d"))
    assert found["messages"][-2].text == "paid"
    assert ran == ["the shop", "the tax", "the bank", "the bank", "nobody", "nobody"]


async def test_what_is_tried_again_runs(durable: Backend, turn: Turn) -> None:
    """A tool that fails at first is run again by ToolRetryMiddleware, outside or inside."""
    saver = durable.open()
    for n, order in enumerate(ORDERS.values()):
        tries: list[int] = []

        @tool
        def flaky() -> str:
            """Fail at first."""
            tries.append(1)  # noqa: B023
            if len(tries) < 3:  # noqa: B023
                raise RuntimeError("not yet")
            return "at last"

        again = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
        agent = create_agent(
            Strict(rule=plan(asks(("c", "flaky", {})))),
            [flaky],
            middleware=order(WyrdMiddleware(), [again, TodoListMiddleware()]),
            checkpointer=saver,
        )
        found = await turn(agent, person(), config(f"{n}"))
        assert [m.text for m in found["messages"] if m.type == "tool"] == ["at last"]


async def test_a_cancelled_call_is_not_begun_again(durable: Backend) -> None:
    """A cancelled run leaves its calls in doubt as a kill does, in the same process too."""
    begun: list[int] = []
    saver = durable.open()

    @tool
    async def slow() -> str:
        """Be slow."""
        begun.append(1)
        await asyncio.sleep(600)
        return "slow is done"

    agent = create_agent(
        Strict(rule=plan(asks(("c", "slow", {})))),
        [slow],
        middleware=[WyrdMiddleware()],
        checkpointer=saver,
    )
    run = asyncio.create_task(agent.ainvoke(person(), config("t")))
    await came_to(run, lambda: bool(begun))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    found = await agent.ainvoke(None, config("t"))
    assert len(begun) == 1
    assert "it was started at 20" in found["messages"][-2].text


async def test_an_agent_inside_a_graph(durable: Backend, turn: Turn) -> None:
    """As a node of a larger graph: it reads where the thread stood, once, and its calls are
    declared; a history that its caller broke is repaired."""
    saver = durable.open()
    model = Strict(rule=plan(asks(("c", "open_loop", {"description": "the budget", "id": "b"}))))
    for n in range(2):
        if n:
            saver = durable.open()
            model = Strict(rule=plan(asks(("d", "search", {}))), provider="anthropic")
        agent = create_agent(
            model, [search], system_prompt="Be brief.", middleware=[WyrdMiddleware()]
        )
        builder = StateGraph(MessagesState)
        builder.add_node("agent", agent)
        builder.add_edge(START, "agent")
        graph = builder.compile(checkpointer=saver)
        lost = asks((f"x{n}", "search", {}))
        found = await turn(graph, {"messages": [lost, HumanMessage("go on")]}, config("t"))
        assert found["messages"][-1].text == "done"
        if not n:
            loops = saver.thread("t").working_state().open_loops
            assert "the budget" in [loop.description for loop in loops]
    first, second = map(system_of, model.heard)
    assert "Picked up again" in first
    assert second == "Be brief."
    assert "noted: the budget" in first


# ---- the brief


def an_agent(
    checkpointer: Any, rule: Any = None, *more: Any, provider: str = "openai", **options: Any
) -> Any:
    model = Strict(rule=rule or says(), provider=provider)
    agent = create_agent(
        model,
        [search],
        system_prompt="Be brief.",
        middleware=[WyrdMiddleware(**options), *more],
        checkpointer=checkpointer,
    )
    return agent, model


async def test_the_brief_comes_once_per_resume(durable: Backend, turn: Turn) -> None:
    """A new process reads it at its first model call and no other; nothing of it is stored; a new
    thread gets none."""
    rule = plan(asks(("c1", "open_loop", {"description": "ask for the budget", "id": "budget"})))
    agent, model = an_agent(durable.open(), rule)
    await turn(agent, person("plan the party"), config("t"))
    await turn(agent, person("go on"), config("t"))
    assert [system_of(heard) for heard in model.heard] == ["Be brief."] * 3
    durable.opened[0].close()

    again, model = an_agent(durable.open(), plan(asks(("c2", "search", {}))))
    found = await turn(again, person("where were we?"), config("t"))
    first, second = map(system_of, model.heard)
    assert "## Picked up again" in first
    assert "ask for the budget" in first
    assert "where were we?" not in first
    assert second == "Be brief."
    await turn(again, person("and?"), config("t"))
    assert system_of(model.heard[2]) == "Be brief."
    assert "Picked up" not in str(found["messages"])
    assert "Picked up" not in str((await again.aget_state(config("t"))).values)


async def test_the_brief_comes_after_a_pause(
    durable: Backend, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same process, once nothing happened for as long as `idle`."""
    agent, model = an_agent(durable.open(), idle=timedelta(hours=1))
    later = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + later[0], sleep=time.sleep)
    monkeypatch.setattr(place, "time", clock)
    for pause in (0, 0, 3601, 0):
        later[0] += pause
        await turn(agent, person("plan the party"), config("t"))
    assert ["Picked up" in system_of(heard) for heard in model.heard] == [
        False, False, True, False,
    ]  # fmt: skip
    agent, model = an_agent(durable.opened[0], idle=None)
    await turn(agent, person(), config("t"))
    assert system_of(model.heard[0]) == "Be brief."  # made anew, but in this process


async def test_a_model_call_that_failed_gets_the_brief_again(sqlite: Backend, turn: Turn) -> None:
    """The brief counts as read when the model has answered."""
    agent, _ = an_agent(sqlite.open())
    await turn(agent, person("plan the party"), config("t"))
    heard: list[str] = []

    def fails(messages: list[BaseMessage]) -> AIMessage:
        heard.append(system_of(messages))
        if len(heard) == 1:
            raise RuntimeError("overloaded")
        return AIMessage("done")

    agent, _ = an_agent(sqlite.open(), fails)
    with pytest.raises(RuntimeError):
        await turn(agent, person(), config("t"))
    await turn(agent, None, config("t"))
    await turn(agent, person(), config("t"))
    assert ["Picked up" in text for text in heard] == [True, True, False]


async def test_500_open_items(sqlite: Backend, turn: Turn) -> None:
    """The block is never longer than `max_chars`, and says how many it leaves out; with room, all
    500 are in it. What stands before it is sent as it is without it."""
    calls = [(f"c{n}", "open_loop", {"description": f"thing {n:03}"}) for n in range(500)]
    noted = [ToolMessage("ok", tool_call_id=id) for id, _, _ in calls]
    agent, _ = an_agent(sqlite.open())
    history = [HumanMessage("note them"), asks(*calls), *noted, AIMessage("done")]
    await agent.aupdate_state(config("t"), {"messages": history}, as_node="__start__")

    async def sent(**options: Any) -> list[BaseMessage]:
        agent, model = an_agent(sqlite.open(), provider="anthropic", **options)
        await turn(agent, person(), config("t"))
        await turn(agent, person(), config("t"))
        with_it, without = model.heard
        assert without[0].content == "Be brief."
        (first, *_), (only, *_) = (_format_messages(m, model=None) for m in (with_it, without))
        assert isinstance(first, str | list)
        assert first == only or first[0] == {"type": "text", "text": only}
        return [with_it[0]]

    (system,) = await sent(max_chars=3000)
    (block,) = system.content[1:]
    assert isinstance(block, dict)
    assert len(block["text"].strip()) <= 3000
    assert "Open loops (500)" in block["text"]
    shown = sum(f"thing {n:03}" in block["text"] for n in range(500))
    assert f"{500 - shown} more open loops" in block["text"]
    assert 10 < shown < 60
    (system,) = await sent(max_chars=200_000)
    assert all(f"thing {n:03}" in system.text for n in range(500))
    (system,) = await sent(max_chars=0)
    assert system.text == "Be brief."


async def test_without_a_wyrd_saver_it_says_what_to_do(durable: Backend, turn: Turn) -> None:
    """Another checkpointer, or none, or no thread: an error that names the way out. A saver that
    is passed is used whatever the agent runs with."""
    for checkpointer in (InMemorySaver(), None):
        agent, _ = an_agent(checkpointer)
        with pytest.raises(InvalidInput, match=r"checkpointer=WyrdSaver"):
            await turn(agent, person(), config("t"))
    saver = durable.open()
    agent, _ = an_agent(saver, saver=saver)
    await turn(agent, person(), config("t"))
    with pytest.raises(InvalidInput):
        WyrdMiddleware(InMemorySaver())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        WyrdMiddleware(once="pay")
    with pytest.raises(InvalidInput):
        WyrdMiddleware(max_chars=-1)
    with pytest.raises(InvalidInput, match="pass a timedelta"):
        WyrdMiddleware(idle=30)  # type: ignore[arg-type]


async def test_it_works_with_durability_exit(durable: Backend, turn: Turn) -> None:
    """Nothing of a run is stored before its end: the brief still comes, calls still run."""
    for n in range(2):
        agent, model = an_agent(durable.open(), plan(asks((f"c{n}", "search", {"query": "x"}))))
        found = await turn(agent, person("the party"), config("t"), durability="exit")
        assert found["messages"][-2].text == "found x"
        assert ("Picked up" in system_of(model.heard[0])) is bool(n)


async def test_a_saver_without_pillars(durable: Backend, turn: Turn) -> None:
    """There is nothing to report; histories are repaired, and calls run."""
    lost = asks(("x", "search", {}))
    for n in range(2):
        saver = durable.open(pillars=False)
        agent, model = an_agent(saver, plan(asks((f"c{n}", "search", {}))))
        talk = [HumanMessage("go"), lost, HumanMessage("go on")]
        found = await turn(agent, {"messages": talk}, config("t"))
        assert found["messages"][-1].text == "done"
        assert not refused_by(found["messages"])
        assert system_of(model.heard[0]) == "Be brief."


# ---- what the agent says


async def test_what_the_agent_declares_outlives_a_summary(durable: Backend, turn: Turn) -> None:
    """Loops, decisions and the aim are declared items of the thread, with message and call as
    source; they are there after the messages were summarised away, and close by their names."""
    saver = durable.open()
    sent = asks(
        ("c1", "open_loop", {"description": "ask for the budget", "id": "budget"}),
        ("c2", "set_intention", {"intention": "a party in May"}),
        ("c3", "note_decision", {"decision": "outdoors", "rationale": "it is warm", "id": "where"}),
    )
    cut = SummarizationMiddleware(
        Strict(rule=says("a summary")), trigger=("messages", 6), keep=("messages", 2)
    )
    closing = asks(
        ("c4", "close_loop", {"id": "budget", "outcome": "1,000"}),
        ("c5", "close_loop", {"id": "no such loop", "outcome": "?"}),
        ("c6", "note_decision", {"decision": "outdoors", "id": "where", "outcome": "it rained"}),
    )
    agent, model = an_agent(saver, plan(sent, AIMessage("noted"), closing), cut)
    first = await turn(agent, person("plan the party"), config("t"))
    assert [m.text for m in first["messages"] if m.type == "tool"] == [
        "Noted as open: budget", "Noted.", "Noted, its outcome is open: where",
    ]  # fmt: skip
    assert {"open_loop", "close_loop", "set_intention", "note_decision"} <= set(model.tools)
    state = saver.thread("t").working_state()
    loops = {loop.ref: loop for loop in state.open_loops}
    call = next(m for m in first["messages"] if m.type == "ai" and m.tool_calls)
    assert loops["budget"].confidence == "declared"
    assert loops["budget"].source.message_id == call.id
    assert loops["where"].kind == "decision"
    assert state.intention is not None
    assert state.intention.text == "a party in May"

    second = await turn(agent, person("and?"), config("t"))
    assert call.id not in [m.id for m in second["messages"]]  # summarised away
    answers = {m.tool_call_id: m for m in second["messages"] if m.type == "tool"}
    assert answers["c4"].text == "Closed: budget"
    assert answers["c5"].status == "error"
    assert "No open loop has the id 'no such loop'" in answers["c5"].text
    state = saver.thread("t").working_state()
    assert not [x for x in state.open_loops if x.source.rule == "declared"]
    closed = {x.ref: x.outcome for x in state.closed_loops if x.source.rule == "declared"}
    assert closed == {"budget": "1,000", "where": "it rained"}
    # Their calls are no work of their own, and one with a wrong id is no failure of the thread.
    assert not [x for x in state.loops if x.kind in ("tool_call", "error")]


async def test_loops_are_closed_by_the_ids_in_the_brief(durable: Backend, turn: Turn) -> None:
    """In another process, by what stands in brackets; more at once than a state keeps of what is
    closed."""
    saver = durable.open()
    opened = [(f"c{n}", "open_loop", {"description": f"thing {n:02}"}) for n in range(20)]
    agent, _ = an_agent(saver, plan(asks(*opened)))
    await turn(agent, person(), config("t"))
    saver.close()

    def closes(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("done")
        lines = system_of(messages).splitlines()
        ids = [x[3 : x.index("]")] for x in lines if x.startswith("- [") and "thing" in x]
        return asks(
            *((f"d{n}", "close_loop", {"id": id, "outcome": "ok"}) for n, id in enumerate(ids))
        )

    agent, _ = an_agent(saver := durable.open(), closes)
    found = await turn(agent, person(), config("t"), durability="sync")
    answers = [m.text for m in found["messages"] if m.type == "tool"][20:]
    assert len(answers) == 20
    assert all(text.startswith("Closed: l-") for text in answers)
    state = saver.thread("t").working_state()
    assert not [x for x in state.open_loops if x.kind == "note"]


# ---- todos


def todo(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status}


def writes(id: str, *todos: dict[str, str]) -> AIMessage:
    return asks((id, "write_todos", {"todos": list(todos)}))


async def test_finished_and_dropped_todos_stay(durable: Backend, turn: Turn) -> None:
    """The list forgets them, the pillars don't."""
    saver = durable.open()
    rule = plan(
        writes("w1", todo("shop", "in_progress"), todo("cook"), todo("sing")),
        writes("w2", todo("shop", "completed"), todo("cook", "in_progress")),
        writes("w3", todo("cook", "in_progress")),
    )
    agent, _ = an_agent(saver, rule, TodoListMiddleware())
    found = await turn(agent, person(), config("t"))
    assert [t["content"] for t in found["todos"]] == ["cook"]
    state = saver.thread("t").working_state()
    assert {t.content: t.status for t in state.todos} == {
        "cook": "in_progress", "shop": "completed", "sing": "cancelled",
    }  # fmt: skip


# ---- standing orders


def pin(thread: Any) -> None:
    thread.set_context("tone", "never promise a date", {"pinned": True})


async def test_standing_orders_are_in_every_model_call(durable: Backend, turn: Turn) -> None:
    """Behind the system prompt of each call, once, and in no message; until they are taken back."""
    saver = durable.open()
    pin(saver.thread("t"))
    model = Strict(rule=plan(asks(("c", "open_loop", {"description": "ring Ada"}))))
    agent = create_agent(
        model, [], system_prompt="Be brief.", middleware=[WyrdMiddleware()], checkpointer=saver
    )
    await turn(agent, person(), config("t"))
    await turn(agent, person("b"), config("t"))
    assert len(model.heard) == 3
    for heard in model.heard:
        assert system_of(heard).count("never promise a date") == 1
        assert heard[0].content[0] == {"type": "text", "text": "Be brief."}
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert "never promise" not in str(found.checkpoint["channel_values"]["messages"])
    saver.thread("t").remove_context("tone")
    await turn(agent, person("c"), config("t"))
    assert "never promise" not in system_of(model.heard[-1])


async def test_standing_orders_outlive_a_summary(durable: Backend, turn: Turn) -> None:
    """What a summary of the messages leaves out is in the prompt all the same."""
    saver = durable.open()
    pin(saver.thread("t"))
    cut = SummarizationMiddleware(
        Strict(rule=says("a summary")), trigger=("messages", 4), keep=("messages", 2)
    )
    model = Strict(rule=says())
    agent = create_agent(model, [], middleware=[cut, WyrdMiddleware()], checkpointer=saver)
    for text in "abcd":
        found = await turn(agent, person(text), config("t"))
    assert "a summary" in found["messages"][0].text
    assert all("never promise a date" in system_of(heard) for heard in model.heard)
