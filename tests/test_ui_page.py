"""The web inspector's page in real Chromium: what a person does with it, and what it withstands."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_wyrd import WyrdSaver, ui
from langgraph_wyrd.ui import live
from tests import inspected
from tests.bench import inspector
from tests.chromium import Chromium, Tab
from tests.conftest import Backend

AXE = "axe-core@4.14.0"
SIZES = (380, 1280)
TRIP = "#/thread/trip%2Fparis"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY", 0.1)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with threads, which each test gets a copy of."""
    file = tmp_path_factory.mktemp("filled") / "wyrd.db"
    inspected.filled(f"sqlite:///{file}")
    return file


@pytest.fixture
def saver(sqlite: Backend, filled: Path) -> WyrdSaver:
    shutil.copy(filled, sqlite.url.removeprefix("sqlite:///"))
    return sqlite.open()


@contextmanager
def looking(
    browser: Chromium, app: Any, width: int = 1280, **how: Any
) -> Iterator[tuple[Tab, str]]:
    """A tab, and the address of the page. In the end nothing may have gone wrong in it."""
    with inspected.served(app) as url:
        tab = browser.tab(**how)
        try:
            yield tab, url
            tab.look()
            assert tab.problems == []
            assert [each for each in tab.asked if not each.startswith((url, "about:"))] == []
        finally:
            tab.close()


def writing(saver: WyrdSaver) -> Any:
    return ui.app(saver, read_only=False)


# ---- what a person does


def test_from_the_list_to_a_checkpoint(browser: Chromium, saver: WyrdSaver) -> None:
    """Search, open a thread, unfold a tool call, look at a checkpoint, compare it with the head."""
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url)
        tab.says("Refund 148.00 EUR to Ada Lindqvist")
        tab.click("nav a", "Threads")
        tab.wait("document.querySelectorAll('.thread-row').length === 6")
        tab.click("#search")
        tab.type("Hotel NORD")  # as an agent said it
        tab.wait("document.querySelectorAll('.thread-row').length === 1")
        assert "text=Hotel+NORD" in tab.js("location.hash")
        tab.click(".thread-row")
        tab.says("The 13:05 flight and the Hôtel du Nord come to 264 EUR")
        assert tab.js("location.hash") == TRIP
        assert "LH1040 13:05 96 EUR" not in tab.js("document.body.innerText")
        tab.click(".call summary", "search_flights")
        tab.says("LH1040 13:05 96 EUR")
        tab.click(".tab", "Timeline")
        assert tab.wait("document.querySelectorAll('.moment').length") == len(
            saver.thread("trip/paris").history()
        )
        tab.click(".moment-link", "step 5")
        tab.says("The past:")
        tab.says("The itinerary is in your mail.")
        shared = tab.js("location.href")
        tab.click(".actions a", "Compare with the head")
        tab.says("Working state")
        assert "book both" in tab.js("document.querySelector('.changes').innerText")
        tab.js("history.back()")
        tab.says("The past:")
        tab.click(".banner a", "Back to the head")
        tab.wait("!document.body.innerText.includes('The past:')")
        tab.go("about:blank")
        tab.go(shared)  # a link to a checkpoint can be given to somebody
        tab.says("The itinerary is in your mail.")


def test_verbs(browser: Chromium, saver: WyrdSaver) -> None:
    """Complete a todo, resolve a loop, label, fork, rewind: each is stored, and seen at once."""
    thread = saver.thread("trip/paris")
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url + TRIP)
        tab.click(".todo label", "book both")
        tab.wait("document.querySelectorAll('.todo.finished').length === 3")
        assert len(thread.working_state().open_todos) == 1
        tab.click(".todo label", "book both")
        tab.wait("document.querySelectorAll('.todo.finished').length === 2")
        tab.click("li:has(.item-text) button", "Resolve")
        tab.focus("#ask-outcome")
        tab.type("asked in another way")
        tab.key("Enter")
        tab.wait("!document.querySelector('dialog')")
        assert "asked in another way" in [
            each.outcome for each in thread.working_state().closed_loops
        ]
        tab.click(".actions button", "Label")
        tab.type("before the answer")
        tab.key("Enter")
        tab.says("Labelled.")
        assert "before the answer" in [each.name for each in thread.labels()]
        tab.click(".tab", "Timeline")
        tab.click(".moment-link", "offers")
        tab.click(".actions button", "Rewind to here")
        tab.click("dialog button", "Rewind")
        tab.says("Rewound.")
        tab.wait("!document.body.innerText.includes('The past:')")
        assert thread.history(limit=1)[0].source == "fork"
        tab.click(".actions button", "Fork")
        tab.key("Enter")
        tab.wait("location.hash === '#/thread/trip%2Fparis-fork'")
        tab.says("trip/paris-fork")
        assert saver.thread("trip/paris-fork").history()
        tab.click(".actions button", "Fork")
        tab.js("document.querySelector('#ask-to').value = 'chat-0193'")
        tab.key("Enter")
        tab.wait("document.querySelector('dialog .wrong')?.innerText.includes('chat-0193')")
        tab.look()
        assert len(tab.problems) == 1  # the refused request is reported in the console
        tab.problems.clear()
        exported = "fetch(document.querySelector('a[download]').href).then(a => a.json())"
        assert tab.js(exported)["thread_id"] == "trip/paris-fork"


def test_answering(browser: Chromium, saver: WyrdSaver) -> None:
    """Answer in words from the inbox, decide on actions, and the runs go on with it."""
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url)
        tab.wait("document.querySelector('#waiting').innerText === '3'")
        tab.click("li:has(a[href*='refund']) textarea")
        tab.type("yes")
        tab.key("Enter", control=True)
        tab.says("Answered: the next run goes on with it.")
        tab.wait("!document.querySelector('li a[href*=refund]')")
        tab.wait("document.querySelector('#waiting').innerText === '2'")
        tab.click("a", inspected.OFFICE)
        tab.says("Mail Ada her invoice")
        send = tab.element("button", "Send the decisions")
        assert tab.js(f"{send}.disabled")
        tab.click(".action:nth-child(1) button", "Edit…")
        tab.wait("document.activeElement.id === 'ask-args'")
        tab.js('document.activeElement.value = \'{"to": "bob@example.org", "text": "Hi"}\'')
        tab.click("dialog button", "Use these")
        tab.wait("!document.querySelector('dialog')")
        tab.click(".action:nth-child(2) button", "Reject…")
        tab.wait("document.activeElement.id === 'ask-message'")
        tab.type("I want to keep it")
        tab.click("dialog button", "Reject")
        tab.says("“I want to keep it”")
        tab.click("button", "Send the decisions")
        tab.says("Answered: the next run goes on with it.")
        tab.wait("!document.querySelector('.card.waits')")
        refund = inspected.graph(saver, inspected.SCRIPTS["refund-4821"][1])
        refund.invoke(None, inspected.config("refund-4821"))
        config: Any = {"configurable": {"thread_id": inspected.OFFICE, "user_id": "eve"}}
        inspected.office(saver).invoke(None, config)
        tab.says("The mail is sent, and the draft is gone.")  # seen without a reload
        tab.click(".call summary", "send_mail")
        tab.says("sent to bob@example.org: Hi")
        tab.go(f"{url}#/thread/refund-4821")
        tab.says("Good news, Ada")


def test_the_keyboard_alone(browser: Chromium, saver: WyrdSaver) -> None:
    """Without a mouse: skip to the content, open a thread, a fold and a dialog, and come back."""
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url + "#/threads")
        tab.wait("document.querySelectorAll('.thread-row').length === 6")
        focused = "document.activeElement"
        tab.key("Tab")
        assert tab.js(f"{focused}.innerText") == "Skip to the content"
        tab.key("Enter")
        assert tab.js(f"{focused}.id") == "main"
        tab.key("/")
        assert tab.js(f"{focused}.id") == "search"
        tab.type("paris")
        tab.wait("document.querySelectorAll('.thread-row').length === 1")
        to(tab, ".thread-row")
        tab.key("Enter")
        tab.says("come to 264 EUR")
        to(tab, ".call summary")
        tab.key("Enter")
        tab.says("AF1235 9:40 120 EUR")
        tab.key("Enter")
        to(tab, ".tab-timeline")
        tab.key("Enter")
        to(tab, ".moment:nth-child(5) .moment-link")
        tab.key("Enter")
        tab.says("The past:")
        to(tab, ".actions button:nth-child(2)")
        tab.key("Space")
        tab.wait(f"{focused}.id === 'ask-name'")
        tab.key("Escape")
        tab.wait("!document.querySelector('dialog')")
        assert tab.js(f"{focused}.innerText") == "Label"
        ring = tab.js(f"getComputedStyle({focused}).outlineStyle")
        assert ring == "solid"


def to(tab: Tab, selector: str, most: int = 80) -> None:
    """Press Tab until this has the focus."""
    for _ in range(most):
        tab.key("Tab")
        if tab.js(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def test_the_token(browser: Chromium, saver: WyrdSaver) -> None:
    """The address with the token opens the page, which then takes it out of the address."""
    token = "a token of some length"
    app = ui.app(saver, token=token)
    with looking(browser, app) as (tab, url):
        tab.go(url + TRIP)
        tab.says("Who is there?")
        tab.type("wrong")
        tab.key("Enter")
        tab.says("this is not the token")
        tab.look()
        assert all("401" in each for each in tab.problems)
        tab.problems.clear()
        tab.js("document.querySelector('#token').value = ''")
        tab.click("#token")
        tab.type(token)
        tab.key("Enter")
        tab.says("come to 264 EUR")
        assert tab.js("document.cookie") == ""  # no script can read it
    with looking(browser, app) as (tab, url):
        tab.go(f"{url}#token={quote(token)}")
        tab.says("Refund 148.00 EUR")
        assert token not in tab.js("location.href + JSON.stringify(localStorage)")
        tab.go(url + TRIP)
        tab.says("come to 264 EUR")


def test_read_only(browser: Chromium, saver: WyrdSaver) -> None:
    """Nothing that would be refused is offered."""
    with looking(browser, ui.app(saver)) as (tab, url):
        tab.go(url + TRIP)
        tab.says("read-only")
        tab.says("come to 264 EUR")
        assert tab.js("document.querySelectorAll('.actions button, .answer').length") == 0
        assert tab.js("[...document.querySelectorAll('.todo input')].every(e => e.disabled)")
        assert tab.js("document.querySelectorAll('.actions a').length") == 2


def test_filters_of_the_inbox(browser: Chromium, saver: WyrdSaver) -> None:
    """What waits is narrowed down by user, agent and age; the address says how."""
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url)
        tab.wait("document.querySelectorAll('.card').length === 3")
        tab.click("#inbox-filters input", None)
        tab.type("eve")
        tab.wait("document.querySelectorAll('.card').length === 1")
        tab.says("send_mail")
        shared = tab.js("location.href")
        assert shared.endswith("?user=eve")
        tab.go("about:blank")
        tab.go(f"{shared}&agent=nobody")
        tab.says("Nothing that waits fits these filters.")


def test_an_encrypted_store(browser: Chromium, sqlite: Backend) -> None:
    """It is shown to whoever may look; only a search in its texts is refused, with the reason."""
    saver = sqlite.open(keys={"2026": b"k" * 32})
    inspected.run(saver, "trip/paris")
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url + "#/threads")
        tab.says("Two nights in Paris")
        tab.click("#search")
        tab.type("paris")
        tab.says("its texts are encrypted")
        tab.look()
        assert len(tab.problems) == 1  # the refused request is reported in the console
        tab.problems.clear()
        tab.go(url + TRIP)
        tab.says("come to 264 EUR")


# ---- live


def test_it_follows(browser: Chromium, saver: WyrdSaver) -> None:
    """What an agent does is seen without a reload; what is typed and unfolded stays."""
    with looking(browser, writing(saver)) as (tab, url):
        tab.go(url + "#/threads")
        tab.wait("document.querySelectorAll('.thread-row').length === 6")
        tab.wait("document.querySelector('#live.on')")
        inspected.graph(saver, inspected.SCRIPTS["chat-0193"][1]).invoke(
            {"messages": [("human", "A new one")]}, {"configurable": {"thread_id": "new"}}
        )
        tab.wait("document.querySelector('.thread-row .title').innerText === 'A new one'")
        tab.go(url + TRIP)
        tab.click(".call summary", "search_flights")
        tab.says("LH1040 13:05 96 EUR")
        tab.click(".answer textarea")
        tab.type("half an ans")
        tab.wait("document.querySelector('#live.on')")
        saver.thread("trip/paris").add_todo("pack the bags")
        tab.says("pack the bags")
        assert tab.js("document.querySelector('.answer textarea').value") == "half an ans"
        assert tab.js("document.activeElement.matches('.answer textarea')")
        tab.says("LH1040 13:05 96 EUR")


# ---- looks


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core as npm has it, for this test only."""
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--prefix", str(folder), "--no-save", "--no-audit", "--no-fund",
               "--ignore-scripts", AXE]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    return (folder / "node_modules/axe-core/axe.min.js").read_text("utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessible(browser: Chromium, saver: WyrdSaver, axe: str, dark: bool) -> None:
    """axe-core finds nothing, and nothing is wider than the page, narrow and wide. The dark theme
    only has other colours: their contrast is all that is looked at."""
    point = saver.thread("trip/paris").history()[3].checkpoint_id
    views = {  # no two of one thread behind each other: `visit` waits for another heading
        "#/inbox": "for a person",
        TRIP: "264 EUR",
        "#/threads": "6 threads",
        f"{TRIP}?tab=state": "next: tools",
        "#/threads?text=nothing-like-this": "No thread fits",
        f"{TRIP}?tab=timeline": "new input",
        f"#/thread/{quote(inspected.OFFICE, safe='')}": "Send the decisions",
        f"{TRIP}?at={point}": "The past:",
        "#/thread/deploy%2Fapi%2342": "connection refused",
        f"{TRIP}/diff": "Working state",
    }
    with looking(browser, writing(saver), dark=dark) as (tab, url):
        tab.send("Page.setBypassCSP", {"enabled": True})  # axe makes style sheets of its own
        for view, says in views.items():
            tab.size(1280)
            visit(tab, url + view)
            tab.says(says)
            checked(tab, axe, view, dark)
        visit(tab, url + "#/inbox")
        visit(tab, url + TRIP)
        tab.click(".actions button", "Label")
        tab.js("document.querySelectorAll('details').forEach(e => { e.open = true })")
        checked(tab, axe, "dialog", dark)


def visit(tab: Tab, address: str) -> None:
    """Go to another view; the page is loaded once, as it is by a person who follows links."""
    tab.js("document.querySelector('h1')?.setAttribute('data-left', '')")
    tab.go(address)
    tab.wait("document.querySelector('h1:not([data-left])')")


def fits(tab: Tab, view: str) -> None:
    """Nothing is wider than the page or its part of it, but in a box that is scrolled."""
    boxes = "document.documentElement, ...document.querySelectorAll('.pane, .narrow, .thread-head')"
    for box in tab.js(
        f"[{boxes}].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className || 'page')"
    ):
        wide = tab.js(
            "[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && "
            "e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 200))"
        )
        raise AssertionError(f"{view}: {box} is too wide: {wide[:6]}")


def checked(tab: Tab, axe: str, view: str, dark: bool) -> None:
    tab.js(f"window.axe || (() => {{ {axe} }})(); undefined")
    if dark:
        return complain(tab, view, "color-contrast")
    for width in SIZES:
        tab.size(width)
        fits(tab, view)
    complain(tab, view)
    if view in ("#/inbox", "#/threads", TRIP):
        tab.size(SIZES[0])
        complain(tab, f"{view}, narrow")


def complain(tab: Tab, view: str, *rules: str) -> None:
    only = f", runOnly: {json.dumps(rules)}" if rules else ""
    found = tab.js(
        f"axe.run(document, {{resultTypes: ['violations']{only}}}).then(found => "
        "found.violations.map(each => ({id: each.id, impact: each.impact, nodes: "
        "each.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary)})))"
    )
    assert found == [], view


# ---- hostile content

MARKUP = (
    "<script>window.hit=1</script><img src=x onerror=window.hit=1><svg onload=window.hit=1>"
    "</textarea></details><a href='javascript:window.hit=1'>click</a>{{7*7}}"
)
BIDI = "\u202egnp.exe\u2066\u200bhidden\ufeff\U000e0041\x1b[2J\x07\x00end"
HUGE = "W" * 60_000
HOSTILE = f"{BIDI}{MARKUP}"  # names and labels are cut: both have to be in their beginning


def hostile(saver: WyrdSaver, says: str, name: str) -> None:
    """A thread with this in every field that an agent, a model or a person can fill."""
    call = {"name": says[:2000], "args": {says: says, "list": [says] * 3}, "id": f"c{says[:100]}"}
    messages = [
        HumanMessage(says, id="h"),
        AIMessage([{"type": "text", "text": says}, {"type": says, "thinking": says},
                   {"type": "image_url", "image_url": {"url": f"javascript:{says}"}}], id="a",
                  tool_calls=[call], name=says[:500]),
        ToolMessage(says, tool_call_id=call["id"], name=says[:500], id="t", status="error"),
        AIMessage(f"```{says}\n{says}\n``` `{says}`", id="b"),
    ]  # fmt: skip
    todos = [{"content": says, "status": each} for each in ("pending", "completed", says[:50])]

    def work(state: Any) -> Any:
        return {"messages": messages, "todos": todos, "customer": {says: says}}

    def fails(state: Any) -> Any:
        raise RuntimeError(says)

    builder = StateGraph(inspected.State)
    builder.add_node("work", work)
    builder.add_node("fails", fails)
    builder.add_edge(START, "work")
    builder.add_edge("work", "fails")
    config: Any = {"configurable": {"thread_id": name, "user_id": says[:60]}}
    with pytest.raises(RuntimeError):
        builder.compile(checkpointer=saver).invoke({"messages": [HumanMessage(says)]}, config)

    def asks(state: Any) -> Any:
        action = {"action": says[:2000], "args": {says[:2000]: says, "more": [says]}}
        allow = {f"allow_{each}": True for each in ("accept", "edit", "respond", "ignore")}
        interrupt([{"action_request": action, "config": allow, "description": says}])

    def wonders(state: Any) -> Any:
        interrupt({"question": says, says[:500]: {says[:500]: says}})

    waits = StateGraph(inspected.State)
    for node in (asks, wonders):
        waits.add_node(node.__name__, node)
        waits.add_edge(START, node.__name__)
    config = {"configurable": {"thread_id": f"{name} waits", "user_id": says[:60]}}
    waits.compile(checkpointer=saver).invoke({"messages": [HumanMessage(says)]}, config)
    saver.thread(f"{name} waits").assign(saver.inbox()[0], to=says[:100].replace("\0", ""))
    thread = saver.thread(name)
    thread.label(says[:150])
    short = says[:3900].replace("\0", "")  # which nothing that is declared may hold
    with thread.edit(by=short[:200]) as draft:
        draft.decide(short, short, short)
        key = short[:300]
        draft.set_context(key, {key: [short]})
        draft.set_intention(short)
        draft.add_open_loop(short, {key: short}, "question")


@pytest.mark.parametrize("says", [HOSTILE, HUGE], ids=["hostile", "huge"])
def test_hostile_content(browser: Chromium, sqlite: Backend, says: str) -> None:
    """Whatever a thread says stays text: nothing runs, hides, reorders or breaks the page."""
    saver = sqlite.open()
    name = f"{says[:200]}/.."
    hostile(saver, says, name)
    id = quote(name, safe="")
    with looking(browser, writing(saver)) as (tab, url):
        views = ["#/inbox", "#/threads"] + [
            f"#/thread/{each}{more}"
            for more in ("", "?tab=state", "?tab=timeline", "/diff")
            for each in (id, quote(f"{name} waits", safe=""))
        ] + [f"#/threads?text={quote(says.split(chr(0))[0][:100])}"]  # fmt: skip
        for view in views:
            visit(tab, url + view)
            tab.wait("!document.body.innerText.includes('Comparing…')")
            tab.wait("document.querySelector('.thread-row, .card, .message, .change, .item')")
            for _ in range(3):  # folds in folds
                tab.js("document.querySelectorAll('details').forEach(e => { e.open = true })")
            tab.wait("[...document.querySelectorAll('.fold-body')].every(e => e.firstChild)")
            assert tab.js("window.hit ?? null") is None, view
            foreign = "document.querySelectorAll('main script, main img, main iframe, main style')"
            assert tab.js(f"{foreign}.length") == 0, view
            links = "[...document.querySelectorAll('a')].map(e => e.protocol)"
            assert set(tab.js(links)) == {"http:"}, view
            assert tab.js("document.querySelectorAll('main [onerror], main [onload]').length") == 0
            unseen = (
                r"/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/"
            )
            assert not tab.js(f"{unseen}.test(document.querySelector('main').innerText)"), view
            assert not tab.js(
                f"[...document.querySelectorAll('main *')].some(e => [...e.attributes].some(a => "
                f"{unseen}.test(a.value) && a.name !== 'value' && a.name !== 'href'))"
            ), view
            for width in SIZES:
                tab.size(width)
                fits(tab, view)
        visit(tab, f"{url}#/thread/{id}")
        for button in ("Label", "Fork"):
            tab.click(".actions button", button)
            tab.wait("document.querySelector('dialog')")
            tab.key("Escape")
            tab.wait("!document.querySelector('dialog')")


def test_pages_of_threads(browser: Chromium, sqlite: Backend) -> None:
    """Further pages are loaded when asked for, and stay when something changes."""
    saver = sqlite.open()
    asyncio.run(inspector.fill(saver, 120))
    rows = "document.querySelectorAll('.thread-row').length"
    with looking(browser, ui.app(saver)) as (tab, url):
        tab.go(url + "#/threads")
        tab.wait(f"{rows} === 50")
        tab.wait("document.querySelector('#live.on')")
        tab.click("button", "Show more")
        tab.wait(f"{rows} === 100")
        tab.click("button", "Show more")
        tab.wait(f"{rows} === 120")
        tab.says("120 threads")
        inspected.run(saver, "chat-0193")
        tab.wait("document.querySelector('.thread-row').innerText.includes('chat-0193')")
        assert tab.js(rows) == 121
        assert tab.wait("document.querySelector('#waiting').innerText") == "6"


def test_a_long_thread(browser: Chromium, sqlite: Backend) -> None:
    """Of a long thread the end is shown first; what came before is fetched when it is asked for."""
    saver = sqlite.open()
    inspected.many(saver, 3000)
    with looking(browser, ui.app(saver)) as (tab, url):
        tab.go(f"{url}#/thread/long")
        tab.says("And order 999?")
        few = tab.js("document.querySelectorAll('.message').length")
        assert 60 < few <= 100
        tab.click("button", "Show earlier messages")
        tab.wait(f"document.querySelectorAll('.message').length > {few} + 100")
        assert tab.wait("document.querySelector('.talk').scrollTop > 200")


def test_a_message_that_was_cut(browser: Chromium, sqlite: Backend, tmp_path: Path) -> None:
    """A large message is shortened, and shown whole when that is asked for."""
    saver = sqlite.open()
    builder = StateGraph(inspected.State)
    large = f"{'word ' * 10_000}the end"
    builder.add_node("say", lambda state: {"messages": [AIMessage(large)]})
    builder.add_edge(START, "say")
    builder.compile(checkpointer=saver).invoke(
        {"messages": [HumanMessage("Talk.")]}, {"configurable": {"thread_id": "large"}}
    )
    with looking(browser, ui.app(saver)) as (tab, url):
        tab.go(f"{url}#/thread/large")
        tab.says("more characters)")
        assert "the end" not in tab.js("document.body.innerText")
        tab.click(".message button", "Show more of it")
        tab.says("the end")
