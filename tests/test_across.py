"""Questions across threads: what is listed, by every filter, page by page."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.results import Page
from tests.conftest import Backend
from tests.handmade import append, put
from tests.outside import is_postgres, raw

Call = Callable[..., Any]


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[dict[str, str]]


def agent(state: State) -> State:
    """Does what the first word of the request says."""
    text = str(state["messages"][-1].content)
    match text.split()[0]:
        case "approve":
            return {"messages": [AIMessage(f"It was {interrupt({'question': text})}.")]}
        case "fail":
            raise ValueError(f"no disk: {text}")
        case "call":
            calls = [{"name": "search", "args": {"for": text}, "id": f"c-{text}"}]
            return {"messages": [AIMessage("", tool_calls=calls)]}
        case "which":
            return {"messages": [AIMessage(f"Which branch should I use to {text}?")]}
        case "offer":
            return {"messages": [AIMessage("The report is done. Shall I print it as well?")]}
        case "plan":
            steps = [
                {"content": f"first: {text}", "status": "completed"},
                {"content": f"second: {text}", "status": "in_progress"},
                {"content": f"third: {text}", "status": "pending"},
            ]
            return {"messages": [AIMessage("Planned.")], "todos": steps}
        case "replan":
            return {"messages": [AIMessage("Planned.")], "todos": [{"content": "other"}]}
        case _:
            return {"messages": [AIMessage("Done.")]}


def agents(saver: WyrdSaver) -> Any:
    builder = StateGraph(State)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=saver)


def say(saver: WyrdSaver, thread: str, text: Any, user: str | None = None, **at: Any) -> None:
    """One turn of a thread; what it raises is what the agent did."""
    config: Any = {"configurable": {"thread_id": thread, **at}}
    if user is not None:
        config["metadata"] = {"user_id": user}
    said = text if isinstance(text, Command) else {"messages": [("user", text)]}
    with contextlib.suppress(ValueError):
        agents(saver).invoke(said, config)


def office(saver: WyrdSaver) -> None:
    """Threads of two users in which all sorts of things wait."""
    say(saver, "a1", "approve the refund", "ada")
    say(saver, "a2", "fail at the report", "ada")
    say(saver, "a3", "plan the release", "ada")
    say(saver, "b1", "which way to deploy", "bob")
    say(saver, "b2", "call the customer", "bob")
    say(saver, "b3", "approve the order", "bob")
    say(saver, "c1", "greet everybody")
    say(saver, "c2", "offer a report")


def whose(page: Page[Any]) -> list[str]:
    return [each.thread_id for each in page]


async def every(call: Call, saver: WyrdSaver, name: str, **filters: Any) -> list[Any]:
    """All pages of a listing, one behind the other."""
    page = await call(saver, name, **filters)
    found = [*page]
    while page.next:
        page = await call(saver, name, **filters, after=page.next)
        found += page
    return found


# ---- what is listed


def test_what_waits_for_a_person_has_an_index(durable: Backend) -> None:
    """The inbox does not go through all that is open: its condition is that of an index, word for
    word."""
    with durable.open() as saver:
        assert not saver.inbox()
    wanted = "kind IN ('interrupt', 'question') AND closed_at IS NULL AND closed_in IS NULL"
    with raw(durable.url) as connection:
        if is_postgres(durable.url):
            connection.execute("SET enable_seqscan = off")
            connection.execute("SET enable_bitmapscan = off")
        plan = connection.execute(
            f"EXPLAIN {'' if is_postgres(durable.url) else 'QUERY PLAN '}"
            f"SELECT * FROM wyrd_open_loops WHERE {wanted} "
            "ORDER BY checkpoint DESC, thread DESC, id DESC LIMIT 10"
        ).fetchall()
    assert "wyrd_open_loops_asks" in str(plan)


async def test_open_loops_of_all_threads(saver: WyrdSaver, call: Call) -> None:
    """What waits anywhere is listed with its thread, newest first, and no guesses."""
    office(saver)
    page = await call(saver, "open_loops", kind="interrupt")
    assert [(loop.thread_id, loop.kind) for loop in page] == [
        ("b3", "interrupt"),
        ("a1", "interrupt"),
    ]
    assert "approve the order" in page[0].description
    assert page.next is None
    found = await call(saver, "open_loops")
    checkpoints = [loop.source.checkpoint_id for loop in found]
    assert checkpoints == sorted(checkpoints, reverse=True)
    assert {("a2", "error"), ("b1", "question"), ("b2", "tool_call")} <= {
        (loop.thread_id, loop.kind) for loop in found
    }
    assert "c2" not in {loop.thread_id for loop in found}


async def test_an_item_is_what_its_thread_says(saver: WyrdSaver, call: Call) -> None:
    """Listed items equal those of the working states, open and over, but for the thread id."""
    office(saver)
    say(saver, "a1", Command(resume="fine"))
    say(saver, "a3", "replan everything")
    say(saver, "b3", Command(resume="no"))
    say(saver, "b3", "call once more")
    places: list[tuple[str, str]] = [
        ("open_loops", "loops"), ("todos", "todos"), ("intentions", "intentions"),
    ]  # fmt: skip
    for thread in ("a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2"):
        state = await call(saver.thread(thread), "working_state")
        for name, place in places:
            found = await call(saver, name, thread_id=thread, status="any", confidence="any")
            held = getattr(state, place)
            assert {each.thread_id for each in found} <= {thread}
            assert all(each.thread_id is None for each in held)
            assert {each.id: replace(each, thread_id=None) for each in found} == {
                each.id: each for each in held
            }, (thread, name)
    everything = await every(call, saver, "todos", status="any")
    assert any(not todo.listed for todo in everything)  # what a rewrite of the list dropped
    assert any(loop.outcome for loop in await call(saver, "open_loops", status="closed"))


async def test_todos_across_threads(saver: WyrdSaver, call: Call) -> None:
    """Open todos are listed by default, in the order of their list; any status on request."""
    say(saver, "t1", "plan one")
    say(saver, "t2", "plan two")
    found = await call(saver, "todos")
    assert [(todo.thread_id, todo.content) for todo in found] == [
        ("t2", "second: plan two"),
        ("t2", "third: plan two"),
        ("t1", "second: plan one"),
        ("t1", "third: plan one"),
    ]
    for status, count in {
        "open": 4, "pending": 2, "in_progress": 2, "completed": 2, "cancelled": 0, "any": 6,
    }.items():  # fmt: skip
        assert len(await call(saver, "todos", status=status)) == count, status
    found = await call(saver, "todos", status="any")
    assert [todo.content.split(":")[0] for todo in found] == ["first", "second", "third"] * 2
    found = await call(saver, "todos", status=["completed", "pending"], thread_id="t1")
    assert [todo.status for todo in found] == ["completed", "pending"]
    assert len(await call(saver, "todos", status=["open", "completed"])) == 6


async def test_intentions_across_threads(saver: WyrdSaver, call: Call) -> None:
    """What threads are after now is listed by default; what they were after on request."""
    say(saver, "t1", "greet the team", "ada")
    say(saver, "t1", "deploy the branch", "ada")
    say(saver, "t2", "write the report", "bob")
    assert await call(saver, "intentions") == []  # all of it was done
    found = await call(saver, "intentions", status="closed")
    assert [(each.text, each.outcome, each.thread_id) for each in found] == [
        ("write the report", "answered", "t2"),
        ("deploy the branch", "answered", "t1"),
        ("greet the team", "answered", "t1"),
    ]
    assert len(await call(saver, "intentions", status="any", user_id="ada")) == 2
    assert len(await call(saver, "intentions", aim="request", status="any")) == 3
    assert await call(saver, "intentions", aim=["explicit", "task"]) == []


async def test_threads_with_the_newest_activity_first(saver: WyrdSaver, call: Call) -> None:
    """A thread is listed with its status, title, user, counts, due nodes and head."""
    office(saver)
    say(saver, "a3", "plan it again", "ada")
    found = await call(saver, "threads")
    assert whose(found) == ["a3", "c2", "c1", "b3", "b2", "b1", "a2", "a1"]
    one = {each.thread_id: each for each in found}
    assert (one["a1"].status, one["a1"].user_id, one["a1"].open_loops) == ("interrupted", "ada", 2)
    assert one["a1"].title == "approve the refund"
    assert "approve the refund" in (one["a1"].reason or "")
    assert [due.node for due in one["a1"].due] == ["agent"]
    assert one["a2"].status == "error"
    assert one["a3"].open_todos == 2
    assert one["c1"].user_id is None
    assert one["c1"].status == "done"
    assert one["a3"].created_at < one["a3"].updated_at
    for each in found:
        state = await call(saver.thread(each.thread_id), "working_state")
        assert each.head == state.checkpoint_id
        assert each.status == state.status
        assert each.due == state.due
        assert each.open_loops == len(state.open_loops)


async def test_a_head_is_the_roots(saver: WyrdSaver, call: Call) -> None:
    """While a subgraph runs, the head is still a checkpoint of the root, and its loops are told."""
    inner = StateGraph(State)
    inner.add_node("ask", agent)
    inner.add_edge(START, "ask")
    outer = StateGraph(State)
    outer.add_node("desk", inner.compile())
    outer.add_edge(START, "desk")
    config: Any = {"configurable": {"thread_id": "t"}}
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"messages": [("user", "approve it")]}, config)
    (info,) = await call(saver, "threads")
    assert info.head == graph.get_state(config).config["configurable"]["checkpoint_id"]
    found = await call(saver, "open_loops", kind="interrupt")
    state = await call(saver.thread("t"), "working_state")
    assert [replace(each, thread_id=None) for each in found] == [
        loop for loop in state.open_loops if loop.kind == "interrupt"
    ]
    assert len(found) == 1


# ---- filters


async def test_filters_of_open_loops(saver: WyrdSaver, call: Call) -> None:
    """Each filter takes one value or several, and all of them hold together."""
    office(saver)

    async def found(**filters: Any) -> set[tuple[str, str]]:
        return {(x.thread_id, x.kind) for x in await call(saver, "open_loops", **filters)}

    interrupts = {("a1", "interrupt"), ("b3", "interrupt")}
    assert await found(kind=["interrupt", "question"]) == interrupts | {("b1", "question")}
    assert await found(kind=["interrupt", "question"], user_id="bob") == {
        ("b3", "interrupt"),
        ("b1", "question"),
    }
    assert await found(kind="interrupt", user_id=["bob", "ada", "nobody"]) == interrupts
    assert await found(user_id="nobody") == set()
    assert await found(kind="interrupt", thread_id="a1") == {("a1", "interrupt")}
    assert await found(kind="interrupt", thread_id={"a1", "b3", "gone"}) == interrupts
    assert await found(kind="interrupt", thread_id="a1", user_id="bob") == set()
    assert await found(thread_id="gone") == set()
    assert await found(kind="error", node="agent") == {("a2", "error")}
    assert await found(node=["nowhere", "elsewhere"]) == set()
    assert await found(confidence="heuristic") == {("c2", "question")}
    assert ("c2", "question") in await found(confidence=["any"])
    assert ("a1", "interrupt") in await found(confidence=["structural", "heuristic"])
    assert await found(kind="question", thread_id="c2") == set()
    assert await found(kind="interrupt", status="closed") == set()
    say(saver, "a1", Command(resume="yes"))
    assert await found(kind="interrupt") == {("b3", "interrupt")}
    assert await found(kind="interrupt", status="closed") == {("a1", "interrupt")}
    assert await found(kind="interrupt", status="any") == interrupts
    for name in ("kind", "thread_id", "user_id", "node", "confidence"):
        assert await found(**{name: []}) == set(), name


@pytest.mark.parametrize(
    "method", ["open_loops", "todos", "intentions", "threads", "latest", "resume", "inbox"]
)
async def test_an_unknown_filter(saver: WyrdSaver, call: Call, method: str) -> None:
    """It is a TypeError, as for any method of Python, which names the method and what it takes."""
    with pytest.raises(TypeError, match=rf"{method}\(\) has no filter 'threads': use .*user_id"):
        await call(saver, method, threads=["t"])


async def test_filters_of_threads(saver: WyrdSaver, call: Call) -> None:
    """Threads are found by status, user, time and words."""
    office(saver)

    async def found(**filters: Any) -> list[str]:
        return whose(await call(saver, "threads", **filters))

    assert await found(status="interrupted") == ["b3", "a1"]
    assert await found(status=["error", "interrupted"], user_id="ada") == ["a2", "a1"]
    assert await found(user_id=["bob", "nobody"]) == ["b3", "b2", "b1"]
    assert await found(text="REFUND") == ["a1"]
    assert await found(text="no disk") == ["a2"]  # in its reason
    assert await found(status=[]) == []
    middle = (await call(saver, "threads", user_id="bob"))[1].updated_at
    assert await found(since=middle, user_id="bob") == ["b3", "b2"]
    assert await found(until=middle, user_id="bob") == ["b2", "b1"]
    assert await found(since=datetime.now(timezone.utc) + timedelta(hours=1)) == []


async def test_since_and_until(saver: WyrdSaver, call: Call) -> None:
    """Times are on when something was opened, inclusive, in any zone, as objects or as text."""
    for name in ("t1", "t2", "t3"):
        say(saver, name, f"approve {name}")
    page = await call(saver, "open_loops", kind="interrupt")
    opened = page[1].opened_at

    async def found(**filters: Any) -> list[str]:
        return whose(await call(saver, "open_loops", kind="interrupt", **filters))

    moment = datetime.fromisoformat(opened)
    india = timezone(timedelta(hours=5, minutes=30))
    local = moment.astimezone().replace(tzinfo=None)
    for same in (opened, moment, moment.astimezone(india), opened[:26] + "Z", local):
        assert await found(since=same) == ["t3", "t2"], same
        assert await found(until=same) == ["t2", "t1"], same
        assert await found(since=same, until=same) == ["t2"], same
    assert await found(since="2020-01-01", until="2020-12-31") == []


TEXTS = ["give 100% now", "give 100 now", "snake_case", "snakescase", "Well! done", "back\\slash",
         "ÜBER Straße", "日本語の仕事", "ΟΔΟΣ"]  # fmt: skip
SEARCHES = {
    "100%": ["give 100% now"],
    "GIVE 100": ["give 100% now", "give 100 now"],
    "e_c": ["snake_case"],
    "l! d": ["Well! done"],
    "k\\s": ["back\\slash"],
    "über": ["ÜBER Straße"],
    "STRASSE": [],  # text is matched as it stands, but for its case
    "straße": ["ÜBER Straße"],
    "本語": ["日本語の仕事"],
    "οδος": ["ΟΔΟΣ"],
    "%": ["give 100% now"],
    "_": ["snake_case"],
    "ë": [],
}


async def test_text_is_found_alike(saver: WyrdSaver, call: Call) -> None:
    """Text is found in any case, also beyond ASCII; wildcards are ordinary characters."""
    for n, text in enumerate(TEXTS):
        say(saver, f"t{n}", text)
    for wanted, texts in SEARCHES.items():
        for limit in (1, 50):
            found = await every(call, saver, "intentions", status="any", text=wanted, limit=limit)
            assert sorted(each.text for each in found) == sorted(texts), (wanted, limit)
    assert len(await call(saver, "intentions", status="any", text="")) == len(TEXTS)
    assert whose(await call(saver, "threads", text="über")) == ["t6"]


async def test_pages_of_text(saver: WyrdSaver, call: Call) -> None:
    """Where the database can only narrow the search, pages still hold everything found once."""
    for n in range(9):
        say(saver, f"t{n}", f"ÜBER {n}" if n % 3 else f"Äber {n}")
    for limit in (1, 2, 3, 5, 6):
        found = await every(call, saver, "intentions", status="any", text="über", limit=limit)
        assert whose(Page(found)) == ["t8", "t7", "t5", "t4", "t2", "t1"], limit


async def test_odd_ids(saver: WyrdSaver, call: Call) -> None:
    """Ids that a database can't hold as they are come back as they were given."""
    say(saver, "nul\0and\\", "approve it", "us\\er")
    (loop,) = await call(
        saver, "open_loops", kind="interrupt", thread_id="nul\0and\\", user_id="us\\er"
    )
    assert loop.thread_id == "nul\0and\\"
    (info,) = await call(saver, "threads", user_id="us\\er")
    assert (info.thread_id, info.user_id) == ("nul\0and\\", "us\\er")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("open_loops", {"kind": "interupt"}, "interrupt"),
    ("open_loops", {"kind": ["interrupt", "x"]}, "tool_call"),
    ("open_loops", {"kind": 3}, "string"),
    ("open_loops", {"confidence": "sure"}, "heuristic"),
    ("open_loops", {"status": "pending"}, "closed"),
    ("open_loops", {"status": ["open"]}, "closed"),
    ("todos", {"status": "closed"}, "in_progress"),
    ("intentions", {"aim": "goal"}, "explicit"),
    ("threads", {"status": "open"}, "interrupted"),
    ("threads", {"since": "yesterday"}, "ISO"),
    ("threads", {"until": 5}, "datetime"),
    ("threads", {"text": 5}, "string"),
    ("threads", {"text": "\0"}, "character"),
    ("open_loops", {"node": "\ud800"}, "character"),
    ("open_loops", {"thread_id": "\ud800"}, "surrogate"),
    ("open_loops", {"node": ["x"] * 501}, "500"),
    ("threads", {"limit": 0}, "1000"),
    ("threads", {"limit": 1001}, "1000"),
    ("threads", {"limit": True}, "1000"),
    ("threads", {"limit": "5"}, "1000"),
    ("todos", {"after": "nonsense"}, "next"),
    ("todos", {"after": ""}, "next"),
    ("todos", {"after": 7}, "next"),
]


@pytest.mark.parametrize(("name", "filters", "says"), REFUSED, ids=lambda each: str(each)[:40])
async def test_what_cannot_be_asked(
    sqlite: Backend, call: Call, name: str, filters: dict[str, Any], says: str
) -> None:
    """A filter that can't be used is refused in words that say what can."""
    with pytest.raises(InvalidInput, match=says):
        await call(sqlite.open(), name, **filters)


async def test_a_page_of_another_listing(saver: WyrdSaver, call: Call) -> None:
    """Where one listing goes on is no place in another; nor is a part of such a text one."""
    for n in range(3):
        put(saver, f"t{n}", {"x": n})
        saver.thread(f"t{n}").add_open_loop("look")
    after = (await call(saver, "open_loops", limit=1)).next
    assert after is not None
    assert len(await call(saver, "open_loops", after=after)) == 2
    with pytest.raises(InvalidInput, match="same listing"):
        await call(saver, "todos", after=after)
    for cut in (after[:-1], after[1:], after[: len(after) // 2]):
        with pytest.raises(InvalidInput, match="next"):
            await call(saver, "open_loops", after=cut)


# ---- pages


async def test_pages_hold_everything_once(saver: WyrdSaver, call: Call) -> None:
    """Page by page, of any size and with any filter, everything comes once, in the same order."""
    office(saver)
    for n in range(6):
        say(saver, f"more{n}", f"approve {n}", "ada")
    asks: list[tuple[str, dict[str, Any]]] = [
        ("open_loops", {}),
        ("open_loops", {"kind": ["interrupt", "error", "question"]}),
        ("open_loops", {"confidence": "any", "status": "any"}),
        ("open_loops", {"user_id": "ada"}),
        ("open_loops", {"text": "approve"}),
        ("intentions", {}),
        ("threads", {}),
        ("threads", {"status": "interrupted"}),
    ]
    for name, filters in asks:
        whole = await call(saver, name, **filters)
        assert len(whole) > 2
        for limit in (1, 2, len(whole) - 1, len(whole)):
            page = await call(saver, name, **filters, limit=limit)
            assert len(page) == limit
            assert (page.next is None) == (limit == len(whole))
            assert await every(call, saver, name, **filters, limit=limit) == whole
    steps = await call(saver, "todos", status="any")
    for limit in (1, 2, 3):
        paged = await every(call, saver, "todos", status="any", limit=limit)
        assert sorted(todo.id for todo in paged) == sorted(todo.id for todo in steps)


async def test_pages_of_one_checkpoint(saver: WyrdSaver, call: Call) -> None:
    """Loops that were opened at one checkpoint are distinguished from page to page."""
    builder = StateGraph(State)
    for name in ("one", "two", "three", "four"):
        builder.add_node(name, agent)
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [("user", "approve it")]}, config)
    whole = await call(saver, "open_loops", kind="interrupt")
    assert len(whole) == 4
    assert len({loop.source.checkpoint_id for loop in whole}) == 1
    for limit in (1, 3):
        assert await every(call, saver, "open_loops", kind="interrupt", limit=limit) == whole


async def test_pages_while_others_write(saver: WyrdSaver, call: Call) -> None:
    """What comes between two pages changes neither what follows nor its order."""
    for n in range(7):
        say(saver, f"t{n}", f"approve {n}")
    before = await call(saver, "open_loops", kind="interrupt")
    threads = await call(saver, "threads")
    found, seen, after, place, more = [], [], None, None, 0
    while True:
        page = await call(saver, "open_loops", kind="interrupt", limit=2, after=after)
        found += page
        infos = await call(saver, "threads", limit=2, after=place)
        seen += infos
        say(saver, f"new{more}", f"approve new {more}")
        say(saver, seen[0].thread_id, Command(resume="yes"))  # one that was listed moves on
        more += 1
        after, place = page.next, infos.next
        if after is None:
            break
    assert more == 4
    assert found == before
    assert place is None
    assert whose(Page(seen)) == whose(threads)
    assert (await call(saver, "open_loops", kind="interrupt"))[0].thread_id == "new3"


# ---- stores and threads


async def test_a_sealed_store(backend: Backend, call: Call) -> None:
    """On a store that encrypts, everything is listed in the clear, and text can't be asked for."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = backend.open(serde=serde)
    office(saver)
    for thread in ("a1", "a3", "b2"):
        state = await call(saver.thread(thread), "working_state")
        for name, held in (
            ("open_loops", state.loops), ("todos", state.todos), ("intentions", state.intentions),
        ):  # fmt: skip
            found = await call(saver, name, thread_id=thread, status="any", confidence="any")
            assert {replace(each, thread_id=None).id for each in found} == {x.id for x in held}
            assert all(replace(each, thread_id=None) in held for each in found)
    (info,) = await call(saver, "threads", status="error")
    assert info.title == "fail at the report"
    assert "no disk" in info.reason
    for name in ("threads", "open_loops", "todos", "intentions"):
        with pytest.raises(InvalidInput, match="sealed"):
            await call(saver, name, text="report")


async def test_deleted_threads_vanish(saver: WyrdSaver, call: Call) -> None:
    """Nothing of a deleted thread is listed, and what its id is used for next is new."""
    say(saver, "t", "approve the refund", "ada")
    say(saver, "t", "plan the release", "ada")
    say(saver, "u", "approve the order", "ada")
    saver.delete_thread("t")
    for name in ("threads", "open_loops", "todos", "intentions"):
        for filters in ({}, {"user_id": "ada"}):
            found = await call(saver, name, **filters)
            assert set(whose(found)) <= {"u"}, name
    assert await call(saver, "open_loops", thread_id="t", status="any") == []
    say(saver, "t", "approve the tour")
    assert whose(await call(saver, "threads")) == ["t", "u"]
    (loop,) = await call(saver, "open_loops", thread_id="t", kind="interrupt", status="any")
    assert "tour" in loop.description


async def test_a_fork_changes_what_is_listed(saver: WyrdSaver, call: Call) -> None:
    """After a fork from the past, the listings show the fork and nothing of what it left behind."""
    say(saver, "t", "greet the team")
    start = agents(saver).get_state({"configurable": {"thread_id": "t"}})
    id = start.config["configurable"]["checkpoint_id"]
    say(saver, "t", "approve the refund")
    assert whose(await call(saver, "open_loops", kind="interrupt")) == ["t"]
    say(saver, "t", "plan the tour", checkpoint_id=id)
    assert await call(saver, "open_loops", kind="interrupt", status="any") == []
    assert len(await call(saver, "todos")) == 2
    assert [each.text for each in await call(saver, "intentions")] == ["plan the tour"]
    (info,) = await call(saver, "threads")
    assert (info.open_todos, info.status) == (2, "idle")


async def test_listings_without_pillars(backend: Backend, call: Call) -> None:
    """A saver that reads no pillars lists its threads, and nothing in them."""
    saver = backend.open(pillars=False)
    say(saver, "t", "approve it", "ada")
    (info,) = await call(saver, "threads")
    assert (info.thread_id, info.status, info.title, info.open_loops) == ("t", None, None, 0)
    assert info.head is not None
    for name in ("open_loops", "todos", "intentions"):
        assert await call(saver, name) == []


async def test_writes_without_a_checkpoint_are_no_thread(saver: WyrdSaver, call: Call) -> None:
    """A thread is listed once it has a checkpoint."""
    early: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1f"}}
    saver.put_writes(early, [("x", 1)], "task")
    assert await call(saver, "threads") == []


def test_a_listed_item_names_its_thread_as_json() -> None:
    """A listed item's JSON has its thread id; the items of a state don't repeat it."""
    from langgraph_wyrd.state import codec
    from langgraph_wyrd.state.model import OpenLoop

    loop = OpenLoop("l-1", "note", "look", thread_id="t")
    assert codec.from_dict(OpenLoop, codec.to_dict(loop)) == loop
    assert "thread_id" not in codec.to_dict(replace(loop, thread_id=None))


# ---- how the databases go about it


async def test_times_read_as_they_were_written(saver: WyrdSaver, call: Call) -> None:
    """A time without microseconds is listed without them, as LangGraph writes it."""
    put(saver, "t", {"messages": [HumanMessage("deploy the branch", id="m")]})
    (each,) = await call(saver, "intentions")
    assert each.opened_at == "2026-01-01T00:00:00+00:00"
    state = await call(saver.thread("t"), "working_state")
    assert replace(each, thread_id=None) == state.intention


DAMAGES = {
    "what is due": ("wyrd_threads", "due", ("nonsense", "5", "[1]", "")),
    "a time": ("wyrd_open_loops", "opened_at", (b"\xff\xfe",)),
    "extra": ("wyrd_open_loops", "extra", ("[", "x", "5", b"\xff")),
    "context": ("wyrd_open_loops", "context", ("[", "x")),
    "a todo's extra": ("wyrd_todos", "extra", ("[", "x", "5")),
    "a place in the order": ("wyrd_open_loops", "checkpoint", (b"\xff",)),
}


@pytest.mark.parametrize("name", DAMAGES)
async def test_a_damaged_row_hides_no_other(
    durable: Backend, call: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Listings leave out a value that can't be read, with a warning; other rows, and `resume` and
    `latest`, are as they were, and a repair makes the row again."""
    table, column, values = DAMAGES[name]
    saver = durable.open()
    for thread in ("a", "b"):
        saver.thread(thread).add_todo("look")
        saver.thread(thread).add_open_loop("who pays?", context={"n": 1})
        append(saver, thread, "m")
    listed = ("threads", "open_loops", "todos")
    before = {each: len(await call(saver, each)) for each in listed}
    mark = "%s" if is_postgres(durable.url) else "?"
    for value in values:
        caplog.clear()
        with raw(durable.url) as connection:
            try:
                text = f"UPDATE {table} SET {column} = {mark} WHERE thread_id = 'a'"
                assert connection.execute(text, (value,)).rowcount
            except psycopg.Error:
                continue  # a column of JSON, or of times, takes no such value there
        reader = durable.open()
        found = {each: len(await call(reader, each)) for each in listed}
        assert found == before
        assert (await call(reader, "resume", "a")).state.open_todos
        assert (await call(reader, "latest")).thread_id in "ab"
        assert column == "checkpoint" or "verify(repair=True)" in caplog.text or value == "5"
        await call(reader, "verify", repair=True)
        assert (await call(reader, "verify")).ok
        caplog.clear()
        assert [each.due for each in await call(reader, "threads")] == [(), ()]
        notes = await call(reader, "open_loops", kind="note")
        assert [dict(each.context) for each in notes] == [{"n": 1}] * 2
        assert "damaged" not in caplog.text
