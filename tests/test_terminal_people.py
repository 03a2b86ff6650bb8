"""In a terminal: what was said, what waits, and the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.views.text import width
from tests.conftest import Backend
from tests.scripted_agents import Scripted, calls, search
from tests.test_inbox import RULES, State, asks, cleaner, graph_of
from tests.test_show import UNSEEN

Ran = tuple[int, str, str]
EVIL = "hello \x1b[2J\u202egnp.exe\u200b <script>x</script>"


def at(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


@pytest.fixture
def saver(durable: Backend) -> WyrdSaver:
    return durable.open()


@pytest.fixture
def run(
    durable: Backend, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    monkeypatch.setenv("WYRD_URL", durable.url)

    def ran(*arguments: str, columns: int = 100) -> Ran:
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, err = command(*arguments)
        assert not UNSEEN.search(out + err)
        assert all(width(line) <= columns for line in out.splitlines() if "--json" not in arguments)
        return code, out, err

    return ran


@pytest.mark.parametrize("columns", [30, 80, 140])
def test_messages(saver: WyrdSaver, run: Callable[..., Ran], columns: int) -> None:
    """Who said what, with calls and results, at any width; hostile text is spelt out."""

    def rule(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(messages, ("search", {"query": EVIL}))
        return AIMessage("\n".join(f"line {n} {'word ' * 30}" for n in range(20)))

    create_agent(Scripted(rule=rule), [search], checkpointer=saver).invoke(
        {"messages": [HumanMessage(EVIL, id="h1")]}, at("t1")
    )
    code, out, _ = run("messages", "t1", columns=columns)
    assert code == 0
    assert re.findall(r"^(\w+)", out, re.M) == ["user", "assistant", "tool", "assistant"]
    assert r"\x1b[2J\u202egnp" in out.replace("\n  ", "")
    assert "→ search(query=" in out
    assert "more lines" in out
    assert "line 19" not in out
    assert "line 19" in run("messages", "t1", "--full", columns=columns)[1]
    assert "found" not in run("messages", "t1", "-n", "1")[1]
    data = json.loads(run("messages", "t1", "--json")[1])
    assert data[0]["content"] == EVIL
    first = saver.thread("t1").history()[-2].checkpoint_id
    assert run("messages", "t1", "--at", first)[1].count("\n") < 6
    assert run("messages", "nobody")[0] == 1


def test_messages_that_are_gone(saver: WyrdSaver, run: Callable[..., Ran]) -> None:
    """`--all` shows what was trimmed, and says so."""
    from langchain_core.messages import RemoveMessage
    from langgraph.graph import START, MessagesState, StateGraph

    builder = StateGraph(MessagesState)
    builder.add_node(
        "node", lambda s: {"messages": [RemoveMessage("h1"), AIMessage("trimmed", id="a")]}
    )
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("old words", id="h1")]}, at("t1"))
    assert "old words" not in run("messages", "t1")[1]
    out = run("messages", "t1", "--all")[1]
    assert "user  no longer in the state" in out
    assert "old words" in out


def test_answering(saver: WyrdSaver, run: Callable[..., Ran]) -> None:
    """From the inbox to the answer, by the start of an id or by the thread."""
    agent = cleaner(saver, "per_call", **RULES)
    agent.invoke({"messages": [HumanMessage("go", id="h1")]}, at("cleaning"))
    graph = graph_of(saver, asks("Which colour?"))
    graph.invoke({"log": []}, at("painting"))
    code, out, _ = run("inbox", columns=140)
    assert code == 0
    assert out.count("approval") == 2
    assert re.search(r"painting +interrupt .*Which colour\?", out)
    entries = json.loads(run("inbox", "--thread", "cleaning", "--json")[1])
    ids = {each["actions"][0]["name"]: each["loop_id"] for each in entries}
    assert all(id in run("inbox", columns=80)[1] for id in ids.values())
    code, _, err = run("answer", "cleaning", "approve")
    assert code == 2
    assert f"waits for 2 answers: say which: {entries[0]['loop_id']}" in err
    code, _, err = run("answer", "l-", "approve")
    assert code == 2
    assert "'l-' is ambiguous: 3 questions" in err
    code, _, err = run("answer", ids["search"], "edit")
    assert code == 2
    assert "Allowed: approve, reject" in err
    start = next(
        ids["delete"][:n]
        for n in range(3, 15)
        if not any(
            each["loop_id"].startswith(ids["delete"][:n])
            for each in json.loads(run("inbox", "--json")[1])
            if each["loop_id"] != ids["delete"]
        )
    )
    command = ["answer", start, "reject", "--message", "keep it", "--by", "ann", "--json"]
    done = json.loads(run(*command)[1])
    assert [*done["stored"].values()] == [{"type": "reject", "message": "keep it"}]
    assert run("answer", "cleaning", "approve")[1].startswith("answered cleaning: approve search")
    painting = json.loads(run("inbox", "--thread", "painting", "--json")[1])[0]["loop_id"]
    assert run("answer", "painting", "blue", "--by", "bob")[0] == 0
    for named in ("painting", painting):
        code, _, err = run("answer", named, "red")
        assert code == 2
        assert "thread 'painting' was answered already by bob" in err
    assert run("answer", painting, '{"colour": "green", "coats": 2}', "--replace")[0] == 0
    assert run("inbox")[0] == 1
    messages = agent.invoke(None, at("cleaning"))["messages"]
    assert "reason: keep it" in str(messages)
    assert "found x" in str(messages)
    assert graph.invoke(None, at("painting"))["log"] == [{"colour": "green", "coats": 2}]
    assert "is over: answered" in run("answer", "painting", "red")[2]
    assert run("answer", "nowhere", "red")[0] == 1


def test_filters(saver: WyrdSaver, run: Callable[..., Ran]) -> None:
    """The inbox by kind, thread, node, age and person."""

    def painter(state: State) -> State:
        return {"log": [interrupt(EVIL)]}

    graph_of(saver, painter).invoke({"log": []}, at("t1"))
    saver.thread("t1").assign(to="ann")
    for found in (["--kind", "interrupt"], ["--node", "painter"], ["--assigned-to", "ann"],
                  ["--thread", "t1"], ["--older-than", "0"]):  # fmt: skip
        assert run("inbox", *found)[0] == 0
    for found in (["--kind", "approval"], ["--node", "x"], ["--assigned-to", "bob"],
                  ["--user", "ann"], ["--older-than", "1d"], ["--agent", "x"]):  # fmt: skip
        assert run("inbox", *found)[0] == 1
    assert run("inbox", columns=140)[1].count("for ann") == 1


def test_closing(saver: WyrdSaver, run: Callable[..., Ran]) -> None:
    """Loops are resolved and todos completed by the start of their id, whichever thread's."""
    create_agent(Scripted(rule=lambda m: AIMessage("ok")), checkpointer=saver).invoke(
        {"messages": [HumanMessage("go", id="h1")]}, at("t1")
    )
    thread = saver.thread("t1")
    loop, todo = thread.add_open_loop("who pays?"), thread.add_todo("buy soap")
    assert run("resolve", loop.id[:6], "Ada does", "--by", "ann")[1] == "closed: who pays?\n"
    assert run("complete", todo.id[:6], "--by", "ann")[1] == "done: buy soap\n"
    state = saver.thread("t1").working_state()
    closed = {each.id: each for each in state.closed_loops}
    assert closed[loop.id].outcome == "Ada does"
    assert [each.status for each in state.todos] == ["completed"]
    for command in (["resolve", loop.id], ["complete", todo.id], ["resolve", "x"]):
        code, _, err = run(*command)
        assert code == 1
        assert "there is no open" in err


def test_resuming(saver: WyrdSaver, run: Callable[..., Ran]) -> None:
    """Where a thread stands, and the config that goes on: now, or from a point."""
    graph_of(saver, asks("Which colour?")).invoke({"log": []}, at("painting"))
    code, out, _ = run("resume", "paint", columns=1000)
    assert code == 0
    assert "waits for a person: Which colour?" in out
    assert out.endswith('graph.invoke(None, {"configurable": {"thread_id": "painting"}})\n')
    entry = saver.thread("painting").history()[-1]
    data = json.loads(run("resume", "painting", "--at", entry.checkpoint_id, "--json")[1])
    assert data["config"] == entry.config
    assert run("resume", "nobody")[0] == 1
