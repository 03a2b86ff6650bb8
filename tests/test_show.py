"""What people see of states, diffs, threads and lists: whole, bounded, and safe to look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from html import unescape
from html.parser import HTMLParser
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.state.diff import diff
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.results import Heal, HistoryEntry, Page, ThreadInfo, Tree
from langgraph_wyrd.views.history import timeline_html, timeline_text
from langgraph_wyrd.views.html import folded, where
from langgraph_wyrd.views.lists import page_text, tree_html
from langgraph_wyrd.views.state import MOST, thread_html
from langgraph_wyrd.views.text import Column, ago, fitted, line, outline, plain, size, table, width
from tests.conftest import Backend
from tests.scripted_agents import Scripted, calls, search
from tests.test_inbox import RULES, asks, cleaner, graph_of

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
KNOWN_TAGS = re.compile(
    "div|style|span|small|code|pre|p|ul|li|details|summary|table|thead|tbody|tr|th|td"
)
BAD = (
    '<script>window.hit=1</script><img src=x onerror="window.hit=1"></style></div>'
    "<a href='javascript:window.hit=1'>\u202egnp.exe\x1b[2J\x00\ud800&lt;"
)
T = "2026-11-18T14:0{}:00+00:00"


def entry(id: str, parent_id: str | None, **given: Any) -> HistoryEntry:
    known = {"ts": T.format(1), "step": 1, "source": "loop", "nodes": ("agent",),
             "summary": "+1 todo"}  # fmt: skip
    return HistoryEntry(id, parent_id, **{**known, **given})


def heal(kind: Any, checkpoint_id: str, channel: str, what: str, seen: str | None = None) -> Heal:
    return Heal("h", kind, "t", "", checkpoint_id, channel, what, T.format(4), seen)


def deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = {"more": [value]}
    return value


def state(says: str = "says", **given: Any) -> WorkingState:
    """A state with everything in it."""
    seen = Source(checkpoint_id=says, node=says, message_id=says, author=says)
    at: Any = {"opened_at": T.format(1), "source": seen}
    whole = WorkingState(
        thread_id=says,
        checkpoint_id=says,
        ts=T.format(5),
        title=says,
        todos=(
            Todo("t1", says, "completed", closed_at=T.format(3), **at),
            Todo("t2", says, "in_progress", "critical", tracker=says, **at),
            Todo("t3", says, says, says, listed=False, **at),  # type: ignore[arg-type]
        ),
        context=(ContextItem("c1", says, {says: [says]}, **at), ContextItem("c2", "k", says, **at)),
        loops=(
            OpenLoop("l1", "interrupt", says, {says: says}, **at),
            OpenLoop("l2", says, says, **at),  # type: ignore[arg-type]
            OpenLoop("l3", "question", says, closed_at=T.format(2), outcome=says, **at),
            OpenLoop("l4", "promise", says, confidence="heuristic", **at),
        ),
        intentions=(
            Intention("i1", says, closed_at=T.format(2), outcome=says, **at),
            Intention("i2", says, **at),
        ),
        status="interrupted",
        reason=says,
        ns=says,
    )
    return replace(whole, **given)


def history(says: str = "agent") -> list[HistoryEntry]:
    return [
        entry("e7", "e5", head=True, nodes=(says,), labels=(says,), summary=says),
        entry("e6", "e3", source="fork", nodes=()),
        entry("e5", "e3"),
        entry("e4", "e2", labels=("what-if",)),
        entry("e3", "e2", children=("e5", "e6")),
        entry("e2", "e1", children=("e3", "e4")),
        entry("e1", None),
    ]


def listed(says: str = "says") -> list[Page[Any]]:
    whole = state(says)
    info = ThreadInfo(says, "error", says, says, (), says, T.format(1), T.format(2), says, 1, 1)
    return [
        Page([info, replace(info, status=says)], next="x"),
        Page([replace(each, thread_id=says) for each in whole.loops]),
        Page([replace(each, thread_id=says) for each in whole.todos]),
        Page([replace(each, thread_id=says) for each in whole.intentions]),
        Page(history(says)),
        Page([says, 1, None]),
        Page(),
    ]


def views(says: str) -> Iterator[str]:
    """Everything that a cell can show."""
    whole = state(says)
    yield whole._repr_html_()  # type: ignore[attr-defined]
    heals = [heal("placeholder", "e5", says, says), heal(says, says, says, says, says)]
    yield thread_html(whole, history(says), heals)
    yield diff(WorkingState(), whole)._repr_html_()  # type: ignore[attr-defined]
    yield diff(whole, state(says, todos=(), context=()))._repr_html_()  # type: ignore[attr-defined]
    other = replace(whole.todos[1], content=says + says, status="completed")
    yield diff(whole, state(says, todos=(other,), status="done"))._repr_html_()  # type: ignore[attr-defined]
    for page in listed(says):
        yield page._repr_html_()  # type: ignore[attr-defined]
    for item in (*whole.todos, *whole.loops, *whole.context, *whole.intentions):
        yield item._repr_html_()  # type: ignore[union-attr]


def texts(says: str) -> Iterator[str]:
    """Everything that `print` shows."""
    whole = state(says)
    yield str(whole)
    yield str(diff(WorkingState(), whole))
    yield from map(str, listed(says))
    yield "\n".join(timeline_text(history(says)))


class Seen(HTMLParser):
    """What a reader of the page gets: its elements, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert KNOWN_TAGS.fullmatch(tag)
        for name, value in attrs:
            assert name in {"class", "style", "title", "open"}
            assert name != "style" or re.fullmatch(r"[-\w:;.,()#% ]*", value or "")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


# ---- safe to look at


@pytest.mark.parametrize("says", [BAD, "x", "", "\u202e" * 50, "<" * 3000, "W" * 3000])
def test_content_is_never_markup(says: str) -> None:
    """Whatever a message says, a cell has only our elements, and it is text."""
    for html in views(says):
        seen = "".join(Seen(html).text)
        assert not UNSEEN.search(html)
        if says == BAD:
            assert "<script>window.hit=1</script>" in seen or len(seen) < 40


@pytest.mark.parametrize("says", [BAD, "\x1b]0;title\x07", "a\rb\x08c", "\u2066x\u2069"])
def test_printing_can_not_move_the_cursor(says: str) -> None:
    """Escape sequences, carriage returns and direction marks are spelt out on a terminal."""
    for text in texts(says):
        assert not UNSEEN.search(text)


@given(st.text(st.characters(), max_size=60))
def test_any_text_comes_out_as_itself(says: str) -> None:
    """What can be seen stays as it is; what can't is spelt out."""
    shown = plain(says)
    assert not UNSEEN.search(shown)
    if says.isprintable() and not any(0xE0000 <= ord(c) < 0xE0080 for c in says):
        assert shown == says
    shown.encode()  # no half of a pair is left


# ---- bounded


def test_a_big_state_says_how_much_more_there_is() -> None:
    """Thousands of items make a page of ordinary size, which says what it leaves out."""
    many = WorkingState(
        thread_id="t",
        loops=tuple(OpenLoop(f"l{n}", "question", f"q{n}") for n in range(5000)),
        todos=tuple(Todo(f"t{n}", f"step {n}") for n in range(5000)),
        context=tuple(ContextItem(f"c{n}", f"k{n}", n) for n in range(5000)),
    )
    html = many._repr_html_()  # type: ignore[attr-defined]
    assert len(html) < 200_000
    for rest in ("open loops", "todos", "context items"):
        assert f"and 4,940 more {rest}" in html
    entries = [entry(f"{n:05}", f"{n - 1:05}") for n in range(MOST + 1, 0, -1)]
    assert "there are older ones" in thread_html(many, entries)
    page = Page([OpenLoop(f"l{n}", "question", f"q{n}") for n in range(1000)])
    assert "and 800 more in this list" in page._repr_html_()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value", ["W" * 5_000_000, deep(900), [list(range(500))] * 500, "\n" * 10**6]
)
def test_a_big_value_is_folded_and_cut(value: Any) -> None:
    """A value of any size or depth takes little room, and says how long it is."""
    html = WorkingState(context=(ContextItem("c", "k", value),))._repr_html_()  # type: ignore[attr-defined]
    assert len(html) < 60_000
    Seen(html)


def test_a_short_value_is_not_folded() -> None:
    """It stands on a line, as it would in a program; brackets within texts stay as they are."""
    value = {"a": [1, {"b": None}], "says": "x {\n  y }", "none": []}
    said = folded(value)
    assert unescape(re.sub("<[^>]*>", "", said)) == (
        '{"a": [1, {"b": null}], "says": "x {\\n  y }", "none": []}'
    )
    assert "<details" not in said
    assert "<details" in folded({"a": "x" * 150})
    assert "<details" in folded([[[[[n]]]] for n in range(100)])


def test_a_deep_value_says_that_it_goes_on() -> None:
    """What is cut is said to be."""
    assert "nested too deeply" in outline(deep(500))
    assert "… (400 more entries)" in outline(list(range(500)))
    assert outline({"a": [1, None, True], "b": {}}) == (
        '{\n  "a": [\n    1,\n    null,\n    true\n  ],\n  "b": {}\n}'
    )


# ---- on a terminal


@given(
    st.lists(st.lists(st.text(max_size=60), min_size=4, max_size=4), max_size=5),
    st.integers(10, 160),
)
def test_a_table_fits(rows: list[list[str]], most: int) -> None:
    """No line is wider than the terminal, also with wide characters."""
    columns = [
        Column("thread", itemgetter(0), most=40),
        Column("n", itemgetter(1), right=True),
        Column("where", itemgetter(2), flexible=True, spare=True),
        Column("says", itemgetter(3), flexible=True),
    ]
    assert all(width(each) <= most for each in table(columns, rows, most))


def test_long_texts_give_way_first() -> None:
    """Ids stay whole where they can; before little is left of a text, spare columns go."""
    columns = [
        Column("id", itemgetter(0)),
        Column("says", itemgetter(1), flexible=True),
        Column("where", itemgetter(2), flexible=True, spare=True),
    ]
    rows = [["i" * 30, "s" * 90, "w" * 90]]
    assert table(columns, rows, 82)[1] == f"{'i' * 30}  {'s' * 23}…  {'w' * 23}…"
    assert table(columns, rows, 70)[1] == f"{'i' * 30}  {'s' * 37}…"
    assert fitted("日本語", 4) == "日…"
    assert width("日本語e\u0301") == 7


def test_a_page_prints_as_a_table() -> None:
    """`print(page)` is a table; its repr is a list's, for debugging."""
    threads, loops, *_ = listed("says")
    assert str(threads).splitlines()[0].split()[:2] == ["thread", "status"]
    assert str(threads).endswith("… and more")
    assert "interrupt" in str(loops)
    assert str(Page()) == "nothing"
    assert (repr(Page([1])), str(Page([1])).split()) == ("[1]", ["says", "1"])
    assert "ThreadInfo(" in repr(threads)
    assert all(width(each) <= 60 for each in page_text(loops, 60).splitlines())


def test_states_and_diffs_print() -> None:
    """`print(state)` is its brief, guesses distinguished; `print(diff)` its summary and lines."""
    whole = state("Paris")
    assert str(whole).startswith("Where things stand in thread Paris")
    assert "Guessed from prose (1)" in str(whole)
    assert repr(whole).startswith("WorkingState(thread_id='Paris'")
    said = str(diff(WorkingState(), whole)).splitlines()
    assert said[0].startswith("+")
    assert any(each.startswith("+ loop Paris (interrupt)") for each in said)


# ---- timeline


def test_forks_run_side_by_side() -> None:
    """The log is drawn as a graph, newest first, labels and the head marked."""
    lines = timeline_text(history(), 200)
    assert [each.split("e")[0].rstrip() if "e" in each else each for each in lines] == [
        "◉", "│ ●", "● │", "│ │ ●", "├─╯ │", "●   │", "├───╯", "●", "●",
    ]  # fmt: skip
    assert "[agent] head" in lines[0]
    assert "[what-if]" in lines[3]
    assert all(width(each) <= 40 for each in timeline_text(history(), 40))


def test_the_timeline_in_a_cell() -> None:
    """Labels, the head, fork points and heals are marked."""
    html = timeline_html(history(), {"e4"})
    for said in (">head<", ">what-if<", ">2 ways on<", ">healed<"):
        assert said in html
    assert html.count(">healed<") == 1


def test_a_tree_in_a_cell() -> None:
    """All of it if there is room, else its newest part; printed, it is a graph."""

    tree = Tree("t", {each.checkpoint_id: each for each in history()})
    assert "7 checkpoints" in tree_html(tree)
    assert str(tree).splitlines()[0].startswith("◉     e7")
    assert str(replace(tree, complete=False)).endswith("…")
    long = Tree("t", {f"{n}": entry(f"{n}", f"{n - 1}") for n in range(1000, 0, -1)})
    html = tree_html(long)
    assert "and 800 more in this list" in html
    assert len(html) < 200_000
    Seen(html)


def test_what_was_healed() -> None:
    """What was met damaged is reported, open as long as nobody has acknowledged it."""
    found = heal("placeholder", "e5", "messages", "message m3 could not be read")
    html = thread_html(state("x"), history(), [found])
    assert "message m3 could not be read" in html
    assert '<details class="w-part" open=""><summary>Healed' in html
    seen = thread_html(state("x"), history(), [replace(found, acknowledged_at=T.format(5))])
    assert '<details class="w-part"><summary>Healed' in seen


# ---- bytes


@pytest.mark.parametrize(
    ("bytes", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_949, "9.9 kB"), (9_951, "10 kB"),
     (999_400, "999 kB"), (999_600, "1.0 MB"), (5 * 10**12, "5,000 GB")],
)  # fmt: skip
def test_bytes_are_shown_shortly(bytes: int, said: str) -> None:
    """Three digits at most, until there is no larger unit."""
    assert size(bytes) == said


# ---- rows


def test_rows_are_flat() -> None:
    """A record has the columns of the public tables; a state's says its pillar and thread."""
    whole = state("x")
    loop = Page([replace(whole.loops[0], thread_id="t")]).to_records()[0]
    assert next(iter(loop)) == "thread_id"
    assert (loop["thread_id"], loop["node"], loop["checkpoint"]) == ("t", "x", "x")
    assert "source" not in loop
    pillars = [each["pillar"] for each in whole.to_records()]
    assert pillars == ["todos"] * 3 + ["context"] * 2 + ["loops"] * 4 + ["intentions"] * 2
    assert {each["thread_id"] for each in whole.to_records()} == {"x"}


def test_rows_in_pandas() -> None:
    """Times are times."""
    made = Page(state("x").loops).to_pandas()
    assert list(made["kind"]) == ["interrupt", "x", "question", "promise"]
    assert made["opened_at"].dt.minute.tolist() == [1] * 4
    assert made["closed_at"].isna().tolist() == [True, True, False, True]
    assert len(state("x").to_pandas()) == 11
    assert len(Page().to_pandas()) == 0


# ---- what a cell shows of a database


class Talk(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    todos: list[Any]


def booked(saver: WyrdSaver, thread_id: str, *, done: bool = False) -> None:
    """A thread that waits for a person."""

    def plan(state: Talk) -> Talk:
        return {"todos": [{"content": "find", "status": "completed"}, {"content": "book"}]}

    def book(state: Talk) -> Talk:
        return {"messages": [("ai", f"booked: {interrupt('Book the <b>9:40</b>?')}")]}

    builder = StateGraph(Talk)
    builder.add_node("plan", plan)
    builder.add_node("book", book)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "book")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": thread_id}}
    graph.invoke({"messages": [("human", "Book a flight")]}, config)
    if done:
        graph.invoke(Command(resume="yes"), config)


def test_a_thread_in_a_cell(saver: WyrdSaver) -> None:
    """Its status, what it is after, its pillars, and how it went."""
    booked(saver, "t1")
    thread = saver.thread("t1")
    html = thread._repr_html_()
    seen = "".join(Seen(html).text)
    for said in (
        "t1",
        "interrupted",
        "Book a flight",
        "Book the <b>9:40</b>?",
        "1 of 2 done",
        thread.working_state().brief().splitlines()[0],
    ):
        assert said in seen
    assert repr(thread) == "Thread('t1')"


async def test_cells_of_a_running_loop(saver: WyrdSaver) -> None:
    """A notebook's cells run in an event loop: what is shown there reads all the same."""
    booked(saver, "t1", done=True)
    assert "answered" in saver.thread("t1")._repr_html_()
    assert ">done<" in saver._repr_html_() or ">idle<" in saver._repr_html_()


def test_a_saver_in_a_cell(saver: WyrdSaver) -> None:
    """A table of its threads, newest activity first."""
    assert "nothing" in saver._repr_html_()
    booked(saver, "t1")
    booked(saver, "t2")
    html = saver._repr_html_()
    assert "2 threads" in html
    assert html.index("t2") < html.index("t1")


def test_a_cell_shows_what_is_wrong(saver: WyrdSaver, tmp_path: Path) -> None:
    """A thread that is not there, a saver that is closed: a note, no traceback."""
    assert "has no checkpoints" in saver.thread("<none>")._repr_html_()
    assert "<none>" not in saver.thread("<none>")._repr_html_()
    saver.close()
    assert "closed" in saver._repr_html_()


def test_in_ipythons_terminal(saver: WyrdSaver) -> None:
    """There, the text is shown."""
    booked(saver, "t1")
    loops = saver.open_loops()
    for each in (saver, saver.thread("t1"), saver.thread("no"), loops, loops.next or loops):
        printer = Printer()
        each._repr_pretty_(printer, False)  # type: ignore[union-attr]
        assert "t1" in printer.said or "no checkpoints" in printer.said


def test_lines_are_lines() -> None:
    """Text of several lines stands on one where a line is wanted."""
    assert line("a\n\tb  c", 4) == "a b…"
    assert plain("a\r\nb") == "a\nb"


def test_who_said_it_is_shown_once() -> None:
    """Before where it was seen; a channel only where nothing better is known."""
    said = Source(node="chat", message_id="m1", channel="messages", author="ann")
    assert where(said) == "by ann, node chat"
    assert where(Source(author="ann", channel="messages")) == "by ann"
    assert where(Source(channel="messages")) == "channel messages"


# Cells of a notebook, and `print`: messages, ages, and everything that is returned.


EVIL = "hi \x1b[2J\u202egnp.exe <script>alert(1)</script>"


def at(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


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
