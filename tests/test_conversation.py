"""What conversations open and settle, read message by message."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.messages import ToolMessage as ToolResult
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite

from langgraph_wyrd.extraction.asking import said as person_said
from langgraph_wyrd.extraction.conversation import conversation
from langgraph_wyrd.extraction.intentions import wants
from langgraph_wyrd.extraction.messages import read
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.extraction.speech import turn as asked
from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.facts import Settles
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import WorkingState
from tests import score

needs_data = pytest.mark.skipif(not score.DATA.exists(), reason="the data folder is not here")


class Thread:
    """A list of messages, stored put by put, with the working state after each."""

    def __init__(self, ns: str = "", delta: bool = False) -> None:
        self.ns, self.delta = ns, delta
        self.held: list[Any] = []
        self.state = WorkingState()
        self.puts = 0

    def put(self, *new: Any, **more: Any) -> WorkingState:
        """Messages are added at the end."""
        self.held = [*self.held, *new]
        start = len(self.held) - len(new)
        return self.rewrite(self.held, list(range(start, len(self.held))), new, **more)

    def rewrite(
        self, held: list[Any], places: list[int], new: Any = (), **more: Any
    ) -> WorkingState:
        """The list is `held` now, new at `places`."""
        self.held = held
        self.puts += 1
        id = f"{self.puts:04d}"
        common: dict[str, Any] = {
            "ns": self.ns,
            "previous": self.state,
            "versions": {"messages": self.puts},
            "changed": frozenset(["messages"]),
        }
        if self.delta:
            writes = [TaskWrite("t", "~__pregel_pull, agent", "messages", each) for each in new]
            view = View(id, writes=writes, **{**common, **more})
        else:
            fresh = {"messages": Fresh(held, places)}
            values = {"messages": held}
            view = View(id, values=values, fresh=fresh, **{**common, **more})
        moment = Moment(id, self.ns, f"2026-01-01T00:{self.puts:02d}:00+00:00")
        self.state, _ = fold(self.state, conversation(view), moment)
        return self.state

    def open(self, *kinds: str) -> list[tuple[str, str | None]]:
        return [
            (loop.kind, loop.ref)
            for loop in self.state.loops
            if not loop.resolved and (not kinds or loop.kind in kinds)
        ]

    @property
    def aims(self) -> list[str]:
        return [aim.text for aim in self.state.intentions]


@pytest.fixture(params=[False, True], ids=["plain", "delta"])
def thread(request: pytest.FixtureRequest) -> Thread:
    return Thread(delta=request.param)


def said(text: str, id: str, **more: Any) -> AIMessage:
    return AIMessage(text, id=id, **more)


def calling(id: str, *calls: tuple[str, str], text: str = "", **more: Any) -> AIMessage:
    made = [{"id": call, "name": name, "args": {"q": "cats"}} for call, name in calls]
    return AIMessage(text, id=id, tool_calls=made, **more)


def result(call: str, text: str = "fine", name: str | None = "search", **more: Any) -> ToolResult:
    return ToolResult(text, tool_call_id=call, name=name, id=f"r-{call}-{text[:9]}", **more)


def person(text: Any, id: str = "h1", **more: Any) -> HumanMessage:
    return HumanMessage(text, id=id, **more)


# ---- figures


@needs_data
@pytest.mark.parametrize("delta", [False, True], ids=["plain", "delta"])
@pytest.mark.parametrize("half", [0, 1], ids=["developed-on", "held-out"])
def test_dialogues(half: int, delta: bool) -> None:
    """Questions and intentions are found on both halves, as well as they were when pinned."""
    question, intention = score.score_dialogues(half, delta=delta)
    assert question.f1 >= (0.98 if half == 0 else 0.96), str(question)
    assert intention.f1 >= (0.89 if half == 0 else 0.88), str(intention)


@needs_data
def test_every_cut_of_an_agent_run() -> None:
    """Cut after any message, the open calls are exactly those without a result."""
    cuts, exact = score.score_runs()
    assert cuts > 1000
    assert exact == cuts


@needs_data
def test_delta_threads_read_the_same() -> None:
    """A thread whose list is not at hand gives the same loops and intentions at every cut."""
    for dialogue in list(score.dialogues(None))[::10]:
        turns = dialogue["turns"]
        plain, delta = (score.states(score.spoken(turns), delta=d) for d in (False, True))
        for a, b in zip(plain, delta, strict=True):
            assert [loop.description for loop in a.open_loops] == [
                loop.description for loop in b.open_loops
            ]
            assert [aim.text for aim in a.intentions] == [aim.text for aim in b.intentions]


@needs_data
def test_one_put_at_the_end_reads_the_same() -> None:
    """A run stored once, at its end, leaves open what the same run stored step by step does."""
    for dialogue in list(score.dialogues(None))[::10]:
        messages = list(score.spoken(dialogue["turns"]))
        *_, stepwise = score.states(messages)
        thread = Thread()
        at_once = thread.put(*messages)
        assert [loop.ref for loop in stepwise.open_loops] == [
            loop.ref for loop in at_once.open_loops
        ]
        assert [aim.text for aim in stepwise.intentions] == [aim.text for aim in at_once.intentions]


# ---- requests and questions


def test_a_request_waits_for_words(thread: Thread) -> None:
    """A request is open until the agent says something; calling a tool is no answer."""
    state = thread.put(person("Find me a hotel in Rome"))
    assert thread.open() == [("request", "h1")]
    assert state.intention is not None
    assert state.intention.text == "Find me a hotel in Rome"
    assert state.open_loops[0].source.message_id == "h1"
    thread.put(calling("a1", ("c1", "search")))
    assert thread.open("request") == [("request", "h1")]
    thread.put(result("c1"))
    assert thread.open() == [("request", "h1")]
    thread.put(said("I found two.", "a2"))
    assert thread.open() == []
    assert [loop.outcome for loop in thread.state.closed_loops if loop.kind == "request"] == [
        "answered"
    ]


def test_a_question_waits_for_a_person(thread: Thread) -> None:
    """A question is open until a person speaks; their answer is no new intention."""
    thread.put(person("Book a table"))
    thread.put(said("Sure. For how many people?", "a1"))
    assert [loop.description for loop in thread.state.open_loops] == [
        "Book a table", "For how many people?",
    ]  # fmt: skip
    thread.put(person("I need it for four", "h2"))
    assert thread.open() == [("request", "h1")]
    assert thread.aims == ["Book a table"]


def test_what_is_put_off_is_replaced_by_a_new_aim(thread: Thread) -> None:
    """Who puts a question off and asks for something else wants something new."""
    thread.put(person("Find me a bus to Oslo"))
    thread.put(said("Would you like to buy a ticket?", "a1"))
    thread.put(person("Not right now. Find me a hotel there.", "h2"))
    assert thread.aims[-1] == "Not right now. Find me a hotel there."


def test_thanks_leave_nothing_open(thread: Thread) -> None:
    """Thanks and goodbye wait for no answer, unless they answer a question."""
    thread.put(person("Find me a bus to Oslo"), said("Here it is.", "a1"))
    thread.put(person("Great, thanks a lot! Bye.", "h2"))
    assert thread.open() == []
    thread.put(said("Shall I also book it?", "a2"))
    thread.put(person("Yes, thanks.", "h3"))
    assert thread.open() == [("request", "h3")]


def test_courtesies_are_no_questions(thread: Thread) -> None:
    """Offers of more help leave no loop open."""
    thread.put(person("Find me a bus"), said("Done. Is there anything else I can do?", "a1"))
    assert thread.open() == []


@pytest.mark.parametrize(
    "text",
    [
        "Which city?",
        "What city would you like to look in",
        "Please tell me the date.",
        "To go on, I'll need your user ID.",
        "Just to confirm: two tickets for Friday.",
        "You want a table for two, is that correct",
        "Wohin möchten Sie reisen?",
        "您想去哪个城市\uff1f",
        "هل تريد الحجز؟",
        "I have two options:\nA) rewrite it\nB) patch it\nWhich do you prefer?",
        "Would you like to go on, or is there anything else I can do for you?",
        "Should I update the tests or the docs? I mean:\n- one\n- two\n- three\n- four",
    ],
)
def test_asks(text: str) -> None:
    """Each of these waits for an answer."""
    assert asked(text).form in ("asks", "proposes")


@pytest.mark.parametrize(
    "text",
    [
        "All 42 tests pass.",
        "Let me check the logs first.",
        "What I found is a race condition.",
        "How to install:\n1. pip install x",
        "Running the tests now.",
        "Creating the file failed.",
        "You need to restart the server.",
        "See https://a.b/c?x=1 for details.",
        "```\nx = a ? b : c\n```\nDone.",
        "Hello! How can I help you today?",
        "If you have any other questions, please let me know.",
        "Anything else?",
        "# What is next?\nNothing.",
        "Why does it matter? Because the cache is stale. So reads are wrong. They are slow. It is"
        " fixed. All is well.",
        "",
        "?",
        "...",
    ],
)
def test_does_not_ask(text: str) -> None:
    """None of these waits for an answer."""
    assert asked(text).form in ("tells", "courtesy")


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("Hello, I'd like a pizza", None, True),
        ("hi there!", None, False),
        ("Thanks!", None, False),
        ("Why is the sky blue?", None, True),
        ("6 pm", "asks", False),
        ("yes please", "asks", False),
        ("never mind, write me a poem instead", "asks", True),
        ("Now refactor the parser", "tells", True),
        ("Looks good. Next, deploy it to staging.", "tells", True),
        ("The build is broken, please fix it", "tells", True),
        ("How does photosynthesis work?", "tells", True),
        ("What's the capital of France?", "tells", True),
        ("what is its address?", "tells", False),
        ("How much will it cost?", "tells", False),
        ("do you have anything else?", "tells", False),
        ("No, that is wrong", "tells", False),
        ("ok", "tells", False),
        ("That works. Please book it.", "proposes", True),
        ("I don't like that one", "proposes", False),
        ("Bitte suche mir ein Hotel in Berlin", "tells", True),
        ("请帮我预订一张去上海的火车票", "tells", True),
        ("Danke!", "tells", False),
        ("", None, False),
    ],
)
def test_wants(text: str, before: Any, expected: bool) -> None:
    """A new aim is distinguished from an answer, a nod, a question about what is at hand."""
    assert wants(text, before) is expected


def test_small_words() -> None:
    """Thanks and a goodbye say nothing of their own; what asks does."""
    for text in ("Thank you, that's all.", "thanks!", "No thanks, bye", "Cheers.", "ok", "hello"):
        assert not person_said(text).content, text
    assert person_said("Thanks, and what does it cost?").content
    assert person_said("no, that's all").farewell
    assert person_said("forget it").stop
    assert person_said("yes, go ahead").proceed


# ---- calls


def test_calls_are_open_until_their_result(thread: Thread) -> None:
    """Each call is a loop of its own, by its id, described in words."""
    thread.put(person("Go"), calling("a1", ("c1", "search"), ("c2", "fetch")))
    assert thread.open("tool_call") == [("tool_call", "c1"), ("tool_call", "c2")]
    loop = next(loop for loop in thread.state.open_loops if loop.ref == "c1")
    assert loop.description == "search(q='cats')"
    assert loop.context == {"name": "search", "args": {"q": "cats"}}
    assert loop.source.tool_call_id == "c1"
    thread.put(result("c2", name="fetch"))
    assert thread.open("tool_call") == [("tool_call", "c1")]


def test_an_id_used_twice(thread: Thread) -> None:
    """A call id that a model uses again is a call of its own."""
    for n in range(2):
        thread.put(calling(f"a{n}", ("c1", "search")))
        assert thread.open("tool_call") == [("tool_call", "c1")]
        thread.put(result("c1", f"{n}"))
        assert thread.open("tool_call") == []


def test_calls_without_message_ids() -> None:
    """Dicts in OpenAI's form have no ids: a call id used again still opens a loop."""
    thread = Thread()
    call = {"id": "c1", "function": {"name": "search", "arguments": '{"q": "cats"}'}}
    for _ in range(2):
        thread.put({"role": "assistant", "content": None, "tool_calls": [call]})
        assert thread.open("tool_call") == [("tool_call", "c1")]
        assert thread.state.open_loops[-1].description == "search(q='cats')"
        thread.put({"role": "tool", "tool_call_id": "c1", "content": "ok"})
        assert thread.open("tool_call") == []
    thread.put({"role": "user", "content": "Find me a bus"})
    assert thread.open()[0][0] == "request"


def test_delegated_work(thread: Thread) -> None:
    """A call of `task` is delegated work, shown by its description."""
    args = {"description": "Compare three laptops", "subagent_type": "researcher"}
    call = {"id": "c1", "name": "task", "args": args}
    thread.put(AIMessage("", id="a1", tool_calls=[call]))
    loop = thread.state.open_loops[0]
    assert (loop.kind, loop.description) == ("task", "Compare three laptops")
    assert loop.context["agent"] == "researcher"
    thread.put(result("c1", name="task"))
    assert thread.open() == []


def test_malformed_calls(thread: Thread) -> None:
    """A call that can't be read is one loop; a result or, without an id, the next turn ends it."""
    bad = [{"id": "c1", "name": "search", "args": '{"q": ', "error": "bad JSON"}]
    thread.put(AIMessage("", id="a1", invalid_tool_calls=bad))
    assert thread.open() == [("malformed_call", "c1")]
    assert "bad JSON" in thread.state.open_loops[0].description
    text = "Tool call search with id c1 could not be executed - arguments were malformed or "
    thread.put(result("c1", text + "truncated.", status="error"))
    assert thread.open() == []
    thread.put(AIMessage("", id="a2", invalid_tool_calls=[{**bad[0], "id": None}]))
    assert [kind for kind, _ in thread.open()] == ["malformed_call"]
    thread.put(calling("a3", ("c2", "search")))
    assert thread.open() == [("tool_call", "c2")]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Tool call x with id c1 did not complete - no result was recorded. It may", "no result"),
        ("User rejected the tool call for `x` with reason: no", "rejected"),
    ],
)
def test_calls_that_never_ran(thread: Thread, text: str, outcome: str) -> None:
    """What stands in place of a result closes the call with how it ended, and is no error."""
    thread.put(calling("a1", ("c1", "x")))
    thread.put(result("c1", text, name="x", status="error"))
    assert thread.open() == []
    assert outcome in (thread.state.closed_loops[-1].outcome or "")


def test_a_failed_tool_is_an_error_until_it_works(thread: Thread) -> None:
    """A failed call leaves an error, which a later success of the same tool closes."""
    thread.put(calling("a1", ("c1", "search"), ("c2", "fetch")))
    thread.put(result("c1", "boom", status="error"), result("c2", "bad", "fetch", status="error"))
    assert thread.open() == [("error", "c1"), ("error", "c2")]
    assert thread.state.open_loops[0].description == "search failed: boom"
    thread.put(calling("a2", ("c3", "search")))
    thread.put(result("c3"))
    assert thread.open() == [("error", "c2")]


def test_a_result_without_a_tool_name(thread: Thread) -> None:
    """The tool is known from its call."""
    thread.put(calling("a1", ("c1", "search")))
    thread.put(result("c1", "boom", None, status="error"))
    assert thread.state.open_loops[0].description == "search failed: boom"


def test_one_put_with_everything(thread: Thread) -> None:
    """What is opened and settled within one put leaves no loop."""
    thread.put(
        person("Look up cats"),
        calling("a1", ("c1", "search")),
        result("c1", "boom", status="error"),
        calling("a2", ("c2", "search")),
        result("c2"),
        said("There are many.", "a3"),
    )
    assert thread.state.loops == ()
    assert thread.aims == ["Look up cats"]


def test_pending_results() -> None:
    """Results of a task whose step still runs settle its calls; nothing else is read."""
    writes = [
        TaskWrite("t1", "p", "messages", [result("c1")]),
        TaskWrite("t2", "p", "messages", {"role": "tool", "tool_call_id": "c2", "content": ""}),
        TaskWrite("t3", "p", "messages", [person("Do more"), said("Which?", "a1")]),
        TaskWrite("t3", "p", "__interrupt__", [result("c3")]),
    ]
    facts = list(conversation(View("1", writes=writes, putting=False)))
    assert all(isinstance(fact, Settles) for fact in facts)
    assert [fact.ref for fact in facts if isinstance(fact, Settles)] == ["c1", "c2"]


# ---- answers that broke off


@pytest.mark.parametrize(
    "about",
    [
        {"finish_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"stop_reason": "refusal"},
        {"incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_truncated_answers(thread: Thread, about: dict[str, Any]) -> None:
    """An answer that broke off is a loop until the agent speaks again."""
    thread.put(person("Tell me all"), said("It began", "a1", response_metadata=about))
    assert thread.open() == [("truncated", "a1")]
    thread.put(said("And it ended.", "a2", response_metadata={"finish_reason": "stop"}))
    assert thread.open() == []


# ---- what stood there before


def test_trimming_settles_nothing() -> None:
    """A call whose message was trimmed away stays open."""
    thread = Thread()
    thread.put(person("Go"), calling("a1", ("c1", "search")))
    thread.rewrite([person("Go")], [])
    assert thread.open("tool_call") == [("tool_call", "c1")]


def test_old_messages_behind_a_new_one() -> None:
    """An edit in the middle of a list neither reopens what follows it, nor closes it."""
    thread = Thread()
    thread.put(person("Find a bus"), said("Where to?", "a1"), person("To Oslo", "h2"))
    thread.put(said("When?", "a2"))
    before = thread.state
    held = [person("Find me a train"), *thread.held[1:]]
    thread.rewrite(held, [0])
    assert thread.open() == [("request", "h1"), ("question", "a2")]
    assert thread.aims == [aim.text for aim in before.intentions]
    thread.rewrite([*held[:1], said("Where do you go?", "a1"), *held[2:]], [1])
    assert thread.open() == [("request", "h1"), ("question", "a2")]


def test_a_call_answered_later_in_the_list() -> None:
    """A call that comes again with its result behind it opens nothing."""
    thread = Thread()
    thread.held = [calling("a1", ("c1", "search")), result("c1")]
    thread.rewrite(thread.held, [0])
    assert thread.state.loops == ()


def test_a_list_read_again_as_a_whole() -> None:
    """Reading everything anew changes nothing."""
    thread = Thread()
    thread.put(person("Find me a bus"), said("Here.", "a1"))
    thread.put(person("Now find me a hotel", "h2"), calling("a2", ("c1", "search")))
    before = thread.state
    thread.rewrite(thread.held, list(range(len(thread.held))))
    assert thread.open() == [("request", "h2"), ("tool_call", "c1")]
    assert thread.state.intentions == before.intentions


# ---- who is no person


@pytest.mark.parametrize(
    "more",
    [
        {"additional_kwargs": {"lc_source": "rubric_grader"}},
        {"additional_kwargs": {"deepagents_notification": {"task_id": "t"}}},
        {"additional_kwargs": {"read_file_tool_call_id": "c1"}},
        {"name": "nemotron_final_answer_guard"},
    ],
)
def test_programs_are_no_people(thread: Thread, more: dict[str, Any]) -> None:
    """What a program says in a human message is no request and no answer."""
    thread.put(person("Find me a bus"), said("Where to?", "a1"))
    thread.put(person("Find me a train instead, please", "h2", **more))
    assert thread.open() == [("request", "h1"), ("question", "a1")]
    assert thread.aims == ["Find me a bus"]


def test_the_parent_agent_speaks_first_in_a_subgraph(thread: Thread) -> None:
    """The first human message of a sub-agent is its task, not a person's request."""
    thread.ns = "tools:0a1b"
    state = thread.put(person("Compare three laptops"))
    assert thread.open() == []
    assert state.intention is not None
    assert state.intention.aim == "task"


SUMMARY = """Here is a summary of the conversation to date:

## SESSION INTENT
Move the shop to Postgres.

## SUMMARY
Half is done.

## NEXT STEPS
1. Copy the orders
   - with dates
2. [ ] Switch the reads
"""


def test_summaries(thread: Thread) -> None:
    """A summary is kept, its next steps as todos, its intent if nothing else is known."""
    source = {"lc_source": "summarization"}
    state = thread.put(person(SUMMARY, "s1", additional_kwargs=source))
    assert state.get_context("summary").startswith("## SESSION INTENT")
    assert [todo.content for todo in state.todos] == ["Copy the orders", "Switch the reads"]
    assert {todo.tracker for todo in state.todos} == {"summary:next_steps"}
    assert thread.aims == ["Move the shop to Postgres."]
    assert thread.open() == []


def test_a_summary_takes_no_aim_away() -> None:
    """What a person asked for stays the intention; the history that went settles nothing."""
    thread = Thread()
    thread.put(person("Migrate the database"), calling("a1", ("c1", "search")))
    summary = person(SUMMARY, "s1", additional_kwargs={"lc_source": "summarization"})
    thread.rewrite([summary, thread.held[-1]], [0])
    assert thread.aims == ["Migrate the database"]
    assert thread.open() == [("request", "h1"), ("tool_call", "c1")]


def test_the_summary_of_deepagents() -> None:
    """deepagents keeps the history and puts its summary into a channel of its own."""
    text = f"You are in the middle.\n<summary>\n{SUMMARY}</summary>"
    event = {"cutoff_index": 4, "summary_message": person(text, "s1"), "file_path": None}
    name = "_summarization_event"
    view = View("1", values={name: event}, changed=frozenset([name]))
    state, _ = fold(WorkingState(), conversation(view), Moment("1"))
    assert state.get_context("summary").startswith("## SESSION INTENT")
    assert len(state.todos) == 2


# ---- forms


def test_content_in_blocks(thread: Thread) -> None:
    """Only what is said counts: no reasoning, no images, no calls."""
    blocks = [
        {"type": "thinking", "thinking": "What would they want?"},
        {"type": "text", "text": "Here it is."},
        {"type": "tool_use", "id": "c1", "name": "x", "input": {}},
    ]
    thread.put(person([{"type": "image_url", "image_url": {"url": "data:"}}]))
    assert [loop.description for loop in thread.state.open_loops] == ["(image_url)"]
    thread.put(said(blocks, "a1"))
    assert thread.open() == []


def test_anthropics_form() -> None:
    """Calls and results as blocks of plain dicts are calls and results."""
    thread = Thread()
    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "cats"}}
    thread.put({"role": "user", "content": "Go"}, {"role": "assistant", "content": [use]})
    assert ("tool_call", "c1") in thread.open()
    done = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x"}]}
    thread.put({"role": "user", "content": [done]})
    assert [kind for kind, _ in thread.open()] == ["request"]


def test_writes_of_a_delta_channel() -> None:
    """A DeltaChannel's messages come from the parent's writes, in every form these take."""
    text = {"role": "user", "content": "Find me a bus", "id": "h1"}
    for value in (
        [person("Find me a bus")],
        person("Find me a bus"),
        text,
        [("user", "Find me a bus")],
        Overwrite([person("Find me a bus")]),
        {"__overwrite__": [text]},
        {"type": "__overwrite__", "value": [text]},
        [RemoveMessage("__remove_all__"), person("Find me a bus")],
    ):
        view = View(
            "1",
            versions={"messages": 2},
            changed=frozenset(["messages"]),
            writes=[TaskWrite("t", "p", "messages", value)],
        )
        state, _ = fold(WorkingState(), conversation(view), Moment("1"))
        assert [aim.text for aim in state.intentions] == ["Find me a bus"], value
        assert [loop.kind for loop in state.open_loops] == ["request"], value


def test_a_snapshot_of_a_delta_channel() -> None:
    """Where the put holds a snapshot, only what the parent's tasks wrote is new."""
    held = _DeltaSnapshot([person("Find me a bus"), said("Where to?", "a1")])
    view = View(
        "1",
        values={"messages": held},
        versions={"messages": 2},
        changed=frozenset(["messages"]),
        writes=[TaskWrite("t", "p", "messages", said("Where to?", "a1"))],
    )
    state, _ = fold(WorkingState(), conversation(view), Moment("1"))
    assert [loop.ref for loop in state.open_loops] == ["a1"]


def test_writes_to_a_plain_channel_are_not_read_twice() -> None:
    """Where the list itself is at hand, the parent's writes to it say nothing more."""
    new = calling("a1", ("c1", "search"))
    view = View(
        "1",
        values={"messages": [new]},
        versions={"messages": 2},
        changed=frozenset(["messages"]),
        writes=[TaskWrite("t", "p", "messages", new)],
    )
    assert list(conversation(view)) == []


ODD: list[Any] = [
    None,
    7,
    "words",
    {},
    {"role": None, "content": "x"},
    {"role": ["user"], "content": "x"},
    {"role": "admin", "content": "x"},
    {"role": "user", "name": "a record, not a message"},
    {"role": "user", "content": None},
    {"role": "user", "content": {"a": 1}},
    {"role": "assistant", "content": [None, 3, {"type": "text"}, {"type": ["x"]}]},
    {"role": "assistant", "content": "", "tool_calls": [None, {}, {"id": 3, "function": 4}]},
    {"role": "assistant", "content": "", "tool_calls": {"a": 1}, "invalid_tool_calls": "x"},
    {"role": "tool", "content": None},
    {"role": "tool", "tool_call_id": 5, "content": ["x", {"type": "text", "text": 4}]},
    {"type": "human", "data": {"content": "\ud800 find me a bus"}},
    {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi"}},
    {"lc": 1, "type": "constructor", "id": [], "kwargs": None},
    ("user", None),
    ("a", "b", "c"),
    AIMessage.model_construct(content=None, tool_calls=None, id=None),
    AIMessage.model_construct(content="x", response_metadata=None, additional_kwargs=3),
    ToolResult.model_construct(content=None, tool_call_id=None, status=3),
    HumanMessage.model_construct(content=[[]], id=4),
    SystemMessage("You are."),
    RemoveMessage("h1"),
]


@pytest.mark.parametrize("delta", [False, True], ids=["plain", "delta"])
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_messages_do_no_harm(odd: Any, delta: bool) -> None:
    """Whatever stands in a list, the messages around it are read."""
    read(odd)
    thread = Thread(delta=delta)
    thread.put(person("Find me a bus", "h1"), calling("a1", ("c1", "search")), odd)
    thread.put(odd, result("c1"), calling("a2", ("c2", "search")), odd)
    assert thread.open("tool_call")[-1] == ("tool_call", "c2")
    assert ("tool_call", "c1") not in thread.open()
    assert "Find me a bus" in thread.aims


def test_long_texts_are_bounded() -> None:
    """A question at the end of a long answer is found, and nothing long is kept."""
    thread = Thread()
    thread.put(person("Explain this: " + "x" * 100_000))
    thread.put(said("It is so. " * 10_000 + "Shall I go on?", "a1"))
    assert thread.open() == [("request", "h1"), ("question", "a1")]
    assert thread.state.open_loops[1].description == "Shall I go on?"
    call = {"id": "c1", "name": "write", "args": {"text": "y" * 100_000, "more": [1] * 9999}}
    thread.put(AIMessage("", id="a2", tool_calls=[call]))
    for loop in thread.state.loops:
        assert len(loop.description) <= 500
        assert len(str(loop.context)) <= 1000
    assert all(len(aim.text) <= 500 for aim in thread.state.intentions)


def test_channels_that_are_left_out() -> None:
    """A channel that is kept out of the pillars is not read."""
    thread = Thread()
    thread.put(person("Find me a bus"), channels=Channels(exclude=["messages"]))
    assert thread.state.loops == ()
    assert thread.state.intentions == ()


def test_reading_again_keeps_every_kind_of_loop() -> None:
    """Reading a whole thread anew closes nothing that was open at its end."""
    thread = Thread()
    thread.put(person("Look up cats"), calling("a1", ("c1", "search")))
    thread.put(result("c1", "boom", status="error"), calling("a2", ("c2", "search")))
    thread.put(result("c2"), said("Cats are", "a3"), person("Go on, please", "h2"))
    thread.put(calling("a4", ("c3", "search")), result("c3", "boom", status="error"))
    cut = {"finish_reason": "length"}
    thread.put(said("Shall I try again?", "a5", response_metadata=cut))
    assert sorted(thread.open()) == [
        ("error", "c3"), ("question", "a5"), ("request", "h2"), ("truncated", "a5"),
    ]  # fmt: skip
    before = thread.open(), thread.aims
    thread.rewrite(thread.held, list(range(len(thread.held))))
    assert (thread.open(), thread.aims) == before
