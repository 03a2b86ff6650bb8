"""Threads to look at in the web inspector: real graphs whose model is scripted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, TypedDict

import uvicorn
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver
from tests.scripted_agents import Scripted, calls


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[dict[str, str]]
    customer: dict[str, Any]
    budget: int


Step = tuple[str, list[tuple[str, dict[str, Any]]], dict[str, Any]]  # says, calls, other channels

ASKS = "ask_person"
FAILS = "restart_service"
RESULTS = {
    "look_up_order": (
        "Order 4821: 2 x Hanging lamp “Fjord”, 148.00 EUR, delivered 3 November.\n"
        "Customer: Ada Lindqvist, member since 2019, 14 orders, 0 refunds."
    ),
    "read_policy": (
        "Refunds up to 100 EUR: at once. Above: a person approves. Damaged goods: photos wanted."
    ),
    "search_flights": "AF1235 9:40 120 EUR\nLH1040 13:05 96 EUR\nAF1841 19:20 88 EUR",
    "search_hotels": "Hôtel des Arts, 2 nights, 214 EUR\nHôtel du Nord, 2 nights, 168 EUR",
    "run_tests": "412 passed, 3 skipped in 48 s",
    "query_sales": "region  week 45  week 46\nnorth   12,400   13,850\nsouth    9,100    8,720",
    "write_file": "written",
}


def todos(*steps: str, done: int) -> dict[str, Any]:
    """A plan of which so many steps are done, and the next one is under way."""
    words = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
    return {"todos": [{"content": s, "status": w} for s, w in zip(steps, words, strict=False)]}


_REFUND = ("look up the order", "read the refund policy", "get the refund approved", "tell Ada")
_TRIP = ("find a flight", "find a hotel", "book both", "mail the itinerary")
_DEPLOY = ("run the tests", "deploy the api", "watch the error rate")
_REPORT = ("query the sales", "write the report", "mail it to the team")

SCRIPTS: dict[str, tuple[str, list[Step]]] = {
    "refund-4821": (
        "My lamp arrived broken (order 4821). Can I have my money back?",
        [
            ("I'll look at the order first.", [("look_up_order", {"order": 4821})],
             {**todos(*_REFUND, done=0), "customer": {"name": "Ada Lindqvist", "since": 2019}}),
            ("", [("read_policy", {"topic": "refunds", "above_eur": 100})],
             todos(*_REFUND, done=1)),
            ("148.00 EUR is above what I may refund by myself, so I ask a colleague.",
             [(ASKS, {"question": "Refund 148.00 EUR to Ada Lindqvist for order 4821?",
                      "amount": 148, "currency": "EUR"})], todos(*_REFUND, done=2)),
            ("Good news, Ada: the 148.00 EUR are on their way, and will be on your account in "
             "two to three days. Sorry about the lamp!", [], todos(*_REFUND, done=4)),
        ],
    ),
    "trip/paris": (
        "Two nights in Paris from 3 December, for less than 400 EUR please.",
        [
            ("", [("search_flights", {"to": "Paris", "on": "2026-12-03"}),
                  ("search_hotels", {"city": "Paris", "nights": 2})], todos(*_TRIP, done=0)),
            ("The 13:05 flight and the Hôtel du Nord come to 264 EUR:\n\n"
             "```\nLH1040  3 Dec 13:05   96 EUR\nHôtel du Nord, 2 n.  168 EUR\n```\n\n"
             "Shall I book both?",
             [(ASKS, {"question": "Book LH1040 and the Hôtel du Nord for 264 EUR?"})],
             {**todos(*_TRIP, done=2), "budget": 400}),
            ("Booked. The itinerary is in your mail.", [], todos(*_TRIP, done=4)),
        ],
    ),
    "deploy/api#42": (
        "Deploy api 2.4.1 to production.",
        [
            ("", [("run_tests", {"suite": "api"})], todos(*_DEPLOY, done=0)),
            ("All tests pass, I deploy.", [(FAILS, {"service": "api", "version": "2.4.1"})],
             todos(*_DEPLOY, done=1)),
        ],
    ),
    "wochenbericht-46-größe": (
        "Write the sales report of week 46.",
        [
            ("", [("query_sales", {"weeks": [45, 46]})], todos(*_REPORT, done=0)),
            ("", [("write_file", {"path": "/reports/week-46.md",
                                  "text": "# Week 46\n\nNorth is up 12 %, south is down 4 %."})],
             todos(*_REPORT, done=1)),
            ("The report is written: north is up 12 %, south is down 4 %.", [],
             todos(*_REPORT, done=3)),
        ],
    ),
    "chat-0193": (
        "What does SameSite=Strict do?",
        [("It keeps a cookie out of every request that another site's page starts. A link from "
          "there to you counts as well: `Lax` would send the cookie then, `Strict` does not.",
          [], {})],
    ),
}  # fmt: skip
USERS = {"refund-4821": "ada", "trip/paris": "ben", "deploy/api#42": "ci"}


def graph(saver: WyrdSaver, script: list[Step]) -> Any:
    """An agent that says what its script says."""

    def agent(state: State) -> dict[str, Any]:
        turn = sum(isinstance(each, AIMessage) for each in state["messages"])
        says, calls, other = script[min(turn, len(script) - 1)]
        named = [{"name": name, "args": args, "id": f"call_{turn}_{n}"}
                 for n, (name, args) in enumerate(calls)]  # fmt: skip
        return {"messages": [AIMessage(says, tool_calls=named, id=f"ai{turn}")], **other}

    def tools(state: State) -> dict[str, Any]:
        made = []
        for call in state["messages"][-1].tool_calls:  # type: ignore[union-attr]
            if call["name"] == FAILS:
                raise ConnectionError("api-2: connection refused while restarting")
            said = interrupt(call["args"]) if call["name"] == ASKS else RESULTS[call["name"]]
            made.append(ToolMessage(str(said), tool_call_id=call["id"], name=call["name"]))
        return {"messages": made}

    def next_step(state: State) -> str:
        return "tools" if state["messages"][-1].tool_calls else END  # type: ignore[union-attr]

    builder = StateGraph(State)
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", next_step, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def config(name: str) -> Any:
    user = {"user_id": USERS[name]} if name in USERS else {}
    return {"configurable": {"thread_id": name, **user}}


def run(saver: WyrdSaver, name: str) -> Any:
    """One thread, as far as it goes by itself; the graph."""
    asks, script = SCRIPTS[name]
    made = graph(saver, script)
    first = [
        SystemMessage("You help customers and colleagues. Ask before you spend.", id="system"),
        HumanMessage(asks, id="first"),
    ]
    with suppress(ConnectionError):
        made.invoke({"messages": first}, config(name))
    return made


OFFICE = "office/17"


def office(saver: WyrdSaver) -> Any:
    """A langchain agent whose mails and deletions a person approves."""

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            mail = {"to": "ada@example.org", "text": "Your invoice for March is attached."}
            return calls(messages, ("send_mail", mail), ("delete_file", {"path": "/drafts/3.md"}))
        return AIMessage("The mail is sent, and the draft is gone.")

    @tool
    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        return f"sent to {to}: {text}"

    @tool
    def delete_file(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    gate = HumanInTheLoopMiddleware(
        {"send_mail": True, "delete_file": {"allowed_decisions": ["approve", "reject"]}}
    )
    return create_agent(
        Scripted(rule=rule), [send_mail, delete_file], middleware=[gate], checkpointer=saver,
        name="office",
    )  # fmt: skip


def approve(saver: WyrdSaver) -> Any:
    """A thread that waits for the approval of two actions; its agent."""
    made = office(saver)
    asks = HumanMessage("Mail Ada her invoice, and throw the draft away.", id="asks")
    made.invoke({"messages": [asks]}, {"configurable": {"thread_id": OFFICE, "user_id": "eve"}})
    return made


def fill(saver: WyrdSaver) -> None:
    """All of them; a trip that was booked, taken back to the offers, and asks again."""
    for name in ("chat-0193", "wochenbericht-46-größe", "deploy/api#42"):
        run(saver, name)
    approve(saver)
    trip = run(saver, "trip/paris")
    thread = saver.thread("trip/paris")
    thread.label("offers")
    trip.invoke(Command(resume="yes, both"), config("trip/paris"))
    here = saver.get_tuple(config("trip/paris"))
    assert here is not None
    past = [each.config for each in trip.get_state_history(config("trip/paris"))]
    trip.invoke(None, past[-4])  # once more from an older point: a fork
    with thread.edit(by="ben") as draft:
        draft.decide("take the train if the flight is above 150 EUR", "ben dislikes flying")
        draft.set_context("seat", "window")
    run(saver, "refund-4821")


def filled(url: str) -> None:
    with WyrdSaver.from_conn_string(url) as saver:
        fill(saver)


def many(saver: WyrdSaver, messages: int) -> str:
    """A long thread; its id."""
    made: list[Any] = []
    for n in range(messages // 3):
        call = {"name": "look_up_order", "args": {"order": n}, "id": f"c{n}"}
        made += [
            HumanMessage(f"And order {n}? {'It came late. ' * (n % 7)}", id=f"h{n}"),
            AIMessage("", tool_calls=[call], id=f"a{n}"),
            ToolMessage(f"Order {n}: delivered on day {n % 30}.", tool_call_id=f"c{n}", id=f"t{n}"),
        ]
    builder = StateGraph(State)
    builder.add_node("load", lambda state: {"messages": made})
    builder.add_edge(START, "load")
    builder.compile(checkpointer=saver).invoke({"budget": 1}, config("long"))
    return "long"


# ---- a server to look at


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an app on a free port, in a thread of its own; its address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    settings = uvicorn.Config(
        app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1, access_log=False
    )
    server = uvicorn.Server(settings)
    running = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    running.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        running.join(120)
        listener.close()
        assert not running.is_alive()
