"""What a notebook's cell and `print` show: messages, ages, and everything that is returned."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from test_agents import Scripted, calls, search
from test_inbox import RULES, asks, cleaner, graph_of
from test_show import UNSEEN

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.state.results import Page
from langgraph_wyrd.views.text import ago
from tests.conftest import Backend

EVIL = "hi \x1b[2J\u202egnp.exe <script>alert(1)</script>"


def at(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


@pytest.fixture
def saver(durable: Backend) -> WyrdSaver:
    return durable.open()


def text_of(html: str) -> str:
    """What a cell shows, roughly: no styles, no tags."""
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", html)


class Printer:
    """What IPython hands to `_repr_pretty_`."""

    def __init__(self) -> None:
        self.said = ""

    def text(self, text: str) -> None:
        self.said += text


def test_a_thread_shows_its_messages(saver: WyrdSaver) -> None:
    """A thread's cell has a folded section with who said what; markup in it is text."""

    def rule(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(messages, ("search", {"query": EVIL}))
        return AIMessage("done")

    create_agent(Scripted(rule=rule), [search], checkpointer=saver).invoke(
        {"messages": [HumanMessage(EVIL, id="h1")]}, at("t1")
    )
    html = saver.thread("t1")._repr_html_()
    section = html[html.index("Messages") :]
    section = section[: section.index("</ul>")]
    assert re.search(r'<details class="w-part"><summary>Messages<small>4</small>', html)
    assert section.count("<li>") == 4
    assert re.findall(r">(user|assistant|tool)<", section) == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert "search(query=" in section
    assert "<script>alert" not in html
    assert not UNSEEN.search(html)


def test_a_thread_without_messages(saver: WyrdSaver) -> None:
    """No section where nothing was said."""
    graph_of(saver, asks()).invoke({"log": []}, at("t1"))
    assert "Messages" not in saver.thread("t1")._repr_html_()


def test_a_long_thread_shows_its_newest_messages(saver: WyrdSaver) -> None:
    """The newest forty, and how many more there are."""
    messages = [HumanMessage(f"message {n}", id=str(n)) for n in range(60)]
    create_agent(Scripted(rule=lambda m: AIMessage("ok")), checkpointer=saver).invoke(
        {"messages": messages}, at("t1")
    )
    html = saver.thread("t1")._repr_html_()
    assert "21 older messages not shown" in html
    assert "message 20<" not in html
    assert "message 21<" in html


def test_ages() -> None:
    """In the unit that a person would say."""
    now = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)
    for past, said in [
        ({"seconds": 0}, "just now"),
        ({"seconds": 40}, "just now"),
        ({"seconds": 61}, "1 min ago"),
        ({"minutes": 59, "seconds": 59}, "59 min ago"),
        ({"hours": 5}, "5 h ago"),
        ({"hours": 23, "minutes": 59}, "23 h ago"),
        ({"days": 3}, "3 days ago"),
        ({"days": 1200}, "1,200 days ago"),
        ({"days": -1}, "just now"),
    ]:
        then = (now - timedelta(**past)).isoformat()
        assert ago(then, now) == said
    assert ago("2026-05-01T11:59:00Z", now) == "1 min ago"
    assert ago(None) == ""
    assert ago("no time at all") == "no time at all"


def test_cells_say_how_long_ago(saver: WyrdSaver) -> None:
    """Times are ages that have the time itself to point at."""
    graph_of(saver, asks()).invoke({"log": []}, at("t1"))
    thread, now = saver.thread("t1"), datetime.now(timezone.utc)
    for shown in (saver, thread, thread.history(), saver.open_loops(), saver.inbox(),
                  thread.working_state()):  # fmt: skip
        html: str = shown._repr_html_()  # type: ignore[union-attr]
        found = re.findall(r'<span title="([^"]+) UTC"[^>]*>([^<]+)<', html)
        assert found, shown
        for title, age in found:
            assert abs(datetime.fromisoformat(f"{title}+00:00") - now) < timedelta(minutes=2)
            assert re.fullmatch(r"just now|\d+ min ago", age)


def returned(saver: WyrdSaver) -> dict[str, Callable[[], Any]]:
    thread = saver.thread("cleaning")
    return {
        "inbox": saver.inbox,
        "entry": lambda: saver.inbox()[0],
        "resume": lambda: saver.resume("cleaning"),
        "labels": thread.labels,
        "label": lambda: thread.labels()[0],
        "size_report": saver.size_report,
        "todo": lambda: thread.working_state().todos[0],
        "loop": lambda: thread.working_state().open_loops[0],
        "intention": lambda: thread.working_state().intentions[0],
        "context": lambda: thread.working_state().context[0],
        "history": thread.history,
    }


def test_everything_returned_is_short_and_useful(saver: WyrdSaver) -> None:
    """In a cell, in IPython's terminal and printed: words, no raw reprs, nothing unseen."""
    cleaner(saver, "batched", **RULES).invoke(
        {"messages": [HumanMessage(f"clean up {EVIL}", id="h1")]}, at("cleaning")
    )
    thread = saver.thread("cleaning")
    thread.add_todo(f"buy soap {EVIL}")
    thread.set_context("where", {"room": EVIL})
    thread.label("before", keys=["where", "not there"])
    says = {
        "inbox": ["approve search", "approve, reject", "cleaning"],
        "entry": ["approve search", "cleaning"],
        "resume": ["Where things stand in thread cleaning"],
        "labels": ["before", "where", "not there"],
        "label": ["before"],
        "size_report": ["on disk", "checkpoints", "cleaning"],
        "todo": ["☐ buy soap", "pending", "t-"],
        "loop": ["l-", "open"],
        "intention": ["clean up", "i-"],
        "context": ["where = ", "room", "c-"],
        "history": ["model", "before"],
    }
    for name, make in returned(saver).items():
        found = make()
        printer = Printer()
        printed = str(found)
        if hasattr(found, "_repr_pretty_"):
            found._repr_pretty_(printer, False)
            assert printer.said == printed, name
        html = found._repr_html_()
        assert "<script>alert" not in html, name
        for text in (printed, html):
            assert not UNSEEN.search(text), name
            assert "Source(" not in text, name
        for word in says[name]:
            assert word in printed, (name, printed)
        if name not in ("todo", "loop", "intention", "context", "resume"):
            for word in says[name][:1]:
                assert word.split()[0] in text_of(html), (name, text_of(html))
    assert isinstance(thread.labels(), Page)
    assert thread.labels().to_records()[0]["name"] == "before"


def test_a_saver_names_its_database(durable: Backend) -> None:
    """Its repr says where it is, without a password, and asks the database nothing."""
    saver = durable.open()
    if durable.name == "sqlite":
        assert repr(saver).startswith("<WyrdSaver: SQLite '/")
    else:
        assert re.fullmatch(r"<WyrdSaver: Postgres host=\S+ dbname=\S+>", repr(saver))
        other = WyrdSaver.from_conn_string("postgresql://ann:secret@db.example/agents")
        assert repr(other) == "<WyrdSaver: Postgres host=db.example dbname=agents>"
    assert repr(WyrdSaver.from_conn_string("sqlite://")) == "<WyrdSaver: SQLite in memory>"
