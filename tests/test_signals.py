"""What a checkpoint says, extractor by extractor: todos, aims, context, and extractors together."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import logging
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite
from pydantic import BaseModel

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.aims import aims, rubric, steps
from langgraph_wyrd.extraction.context import context
from langgraph_wyrd.extraction.plain import bounded
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.extraction.registry import DEFAULTS, Extractors
from langgraph_wyrd.extraction.todos import background, todos
from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View
from langgraph_wyrd.state.facts import Drops, Forgets, Holds, Opens, Settles, Todos, Wants
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from tests.views import Ask, calls, changed, said, wrote

# ---- todos


def listed(fact: Any) -> list[tuple[str, str]]:
    assert isinstance(fact, Todos)
    return [(each.content, each.status) for each in fact.items]


def test_the_todos_channel() -> None:
    """The channel's whole list, only when it changed."""
    values = {
        "todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "pending"}]
    }
    (found,) = todos(changed(values))
    assert listed(found) == [("a", "in_progress"), ("b", "pending")]
    assert isinstance(found, Todos)
    assert (found.tracker, found.source.channel) == ("todos", "todos")
    assert list(todos(changed({**values, "x": 1}, "x"))) == []
    (found,) = todos(changed({}, gone=frozenset({"todos"})))
    assert listed(found) == []


WORDS = {
    "pending": ["pending", "todo", "TODO", "to-do", "open", "not started", "blocked", None, "??"],
    "in_progress": ["in_progress", "in-progress", "In Progress", "doing", "active", "wip"],
    "completed": ["completed", "complete", "done", "Done", "finished", "closed"],
    "cancelled": ["cancelled", "canceled", "skipped", "dropped"],
}


@pytest.mark.parametrize(("status", "word"), [(s, w) for s, words in WORDS.items() for w in words])
def test_status_words(status: str, word: str | None) -> None:
    """The words of common trackers mean one of our four."""
    ((item,),) = [
        fact.items for fact in todos(changed({"todos": [{"content": "a", "status": word}]}))
    ]  # type: ignore[union-attr]
    assert item.status == status
    assert item.extra == ({"status": word} if word in ("blocked", "??") else {})


def test_fields_of_an_entry() -> None:
    """Whatever a tracker calls its fields, content, priority, id and the rest are kept."""
    values = [
        {"content": "a", "id": 7, "priority": "P0", "activeForm": "Doing a", "blockedBy": [1, 2]},
        {"step": "b", "status": "completed"},
        {"title": "c", "done": True, "priority": "someday"},
        "- [x] d",
        "* e",
        "[~] f",
        {"id": "only an id"},
        {"nothing": 1},
        None,
        17,
        {"description": "x" * 3000, "priority": "HIGH", "blob": "y" * 9000},
        {"subject": "short", "description": "told at length"},
    ]
    ((a, b, c, d, e, f, g, h, i),) = [fact.items for fact in todos(changed({"todos": values}))]  # type: ignore[union-attr]
    assert (a.content, a.ref, a.priority) == ("a", "7", "critical")
    assert a.extra == {"activeForm": "Doing a", "blockedBy": [1, 2]}
    assert (b.content, b.status, b.priority) == ("b", "completed", "medium")
    assert (c.status, c.priority) == ("completed", "someday")
    assert [(x.content, x.status) for x in (d, e, f)] == [
        ("d", "completed"), ("e", "pending"), ("f", "in_progress"),
    ]  # fmt: skip
    assert g.ref == g.content == "only an id"
    assert h.priority == "high"
    assert len(h.content) <= 500
    assert len(json.dumps(h.extra)) < 400
    assert (i.content, i.extra) == ("short", {"description": "told at length"})


class Step(BaseModel):
    content: str
    status: str = "pending"


def test_lists_of_other_forms() -> None:
    """Objects with fields, a dict by id, JSON text, lines: all are lists."""
    for value in (
        [Step(content="a"), Step(content="b", status="done")],
        {"1": {"content": "a"}, "2": {"content": "b", "status": "done"}},
        {"items": [{"content": "a"}, {"content": "b", "status": "done"}]},
        '[{"content": "a"}, {"content": "b", "status": "done"}]',
        "- [ ] a\n- [x] b\n",
        ({"content": "a"}, {"content": "b", "status": "done"}),
    ):
        (found,) = todos(changed({"todos": value}))
        assert listed(found) == [("a", "pending"), ("b", "completed")], value
    for value in (None, 3, "[not json", b"x"):
        (found,) = todos(changed({"todos": value}))
        assert listed(found) == []


def call(name: str, args: Any, id: str = "c1") -> dict[str, Any]:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def test_trackers_that_are_tools() -> None:
    """The lists in calls of known trackers, each under its own name, from new messages only."""
    plan = {"plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]}
    for name, args in (
        ("TodoWrite", {"todos": [{"content": "a", "status": "completed", "activeForm": "A"},
                                 {"content": "b", "status": "in_progress", "activeForm": "B"}]}),
        ("update_plan", {"explanation": "so", **plan}),
        ("todo_write", {"merge": False, "todos": '[{"content": "a", "status": "done"}, "[~] b"]'}),
    ):  # fmt: skip
        (found,) = todos(
            said(HumanMessage("x"), AIMessage("", id="m1", tool_calls=[call(name, args)]))
        )
        assert listed(found) == [("a", "completed"), ("b", "in_progress")]
        assert isinstance(found, Todos)
        assert (found.tracker, found.confidence) == (f"tool:{name}", "declared")
        assert (found.source.message_id, found.source.tool_call_id) == ("m1", "c1")
    other = AIMessage("", tool_calls=[call("search", {"todos": ["a"]})])
    assert list(todos(said(other))) == []
    old = said(AIMessage("", tool_calls=[call("TodoWrite", {"todos": ["a"]})]))
    fresh = {"messages": Fresh(old.values["messages"], [])}
    assert list(todos(dataclasses.replace(old, fresh=fresh))) == []


def test_a_call_in_the_form_of_openai() -> None:
    """Messages that are dicts are read as well."""
    function = {"name": "update_plan", "arguments": '{"plan": [{"step": "a", "status": "done"}]}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": function}],
    }
    (found,) = todos(said(message))
    assert listed(found) == [("a", "completed")]


def test_a_tracker_next_to_the_channel() -> None:
    """Where the channel is there, the calls say nothing; before it is, they fill the same list."""
    message = AIMessage("", tool_calls=[call("write_todos", {"todos": [{"content": "a"}]})])
    (found,) = todos(said(message))
    assert isinstance(found, Todos)
    assert found.tracker == "todos"
    assert list(todos(said(message, versions={"messages": 2, "todos": 1}))) == []
    twice = [call("write_todos", {"todos": ["a"]}, id) for id in ("c1", "c2")]
    assert list(todos(said(AIMessage("", tool_calls=twice)))) == []  # langchain refuses both


def test_a_list_that_is_merged() -> None:
    """`merge` changes entries by their ids; the others stay as they were."""
    known = (
        Todo("t1", "first", ref="1", tracker="tool:todo_write"),
        Todo("t2", "second", ref="2", tracker="tool:todo_write", priority="high"),
    )
    update = {
        "merge": True,
        "todos": [{"id": "2", "status": "completed"}, {"id": "3", "content": "third"}],
    }
    message = AIMessage("", tool_calls=[call("todo_write", update)])
    (found,) = todos(said(message, previous=WorkingState(todos=known)))
    assert listed(found) == [("first", "pending"), ("second", "completed"), ("third", "pending")]
    assert isinstance(found, Todos)
    assert found.items[1].priority == "high"


def test_todos_that_are_still_pending_writes() -> None:
    """A whole list that a finished task wrote counts; entries that a node adds replace nothing."""
    known = WorkingState(todos=(Todo("t1", "a"), Todo("t2", "b")))
    new = ("t", "~__pregel_pull, tools", "todos", [{"content": "c"}])
    reply = ToolMessage("Updated todo list to [...]", tool_call_id="c1")
    (found,) = todos(wrote(new, (*new[:2], "messages", [reply]), previous=known))
    assert listed(found) == [("c", "pending")]
    assert list(todos(wrote(new, previous=known))) == []
    (found,) = todos(wrote(new))
    assert listed(found) == [("c", "pending")]
    asks = AIMessage("", tool_calls=[call("TodoWrite", {"todos": ["a"]})])
    (found,) = todos(wrote(("t", "~__pregel_pull, model", "messages", [asks])))
    assert isinstance(found, Todos)
    assert (found.tracker, found.source.task_id) == ("tool:TodoWrite", "t")


def test_background_tasks() -> None:
    """A loop while a subagent works or waits, over when it ended, and anew when it is sent on."""

    def held(status: str, run: str = "r1") -> View:
        return changed({"async_tasks": {"k": {
            "task_id": "k", "agent_name": "scout", "thread_id": "k", "run_id": run,
            "status": status, "created_at": "2026-01-01T00:00:00Z",
        }}})  # fmt: skip

    (found,) = background(held("running"))
    assert isinstance(found, Opens)
    assert (found.kind, found.ref, found.description) == (
        "task", "k", "scout works in the background",
    )  # fmt: skip
    (found,) = background(held("waiting"))
    assert isinstance(found, Opens)
    assert found.description == "scout waits for a person"
    assert found.context["thread_id"] == "k"
    for status in ("success", "error", "cancelled", "timeout", "interrupted"):
        closed = list(background(held(status)))
        assert Settles(("task",), status, closed[0].source, "k") in closed
    over = OpenLoop("l", "task", "x", ref="k", closed_at="2026", closed_in="c")
    again = dataclasses.replace(held("running", "r2"), previous=WorkingState(loops=(over,)))
    (found,) = background(again)
    assert isinstance(found, Opens)
    assert found.ref == "k r2"
    pending = wrote(("t", "", "async_tasks", {"k": {"task_id": "k", "status": "success"}}))
    assert next(fact.ref for fact in background(pending)) == "k"  # type: ignore[union-attr]


# ---- aims


def test_explicit_aims() -> None:
    """A goal in a channel is what the agent is after, until it is emptied."""
    for value, text in (("ship it", "ship it"), ({"text": "ship it"}, "ship it"),
                        (Step(content="ship it"), "ship it"), ({"n": 1}, '{"n": 1}')):  # fmt: skip
        (found,) = aims(changed({"goal": value}))
        assert found == Wants(text, "explicit", found.source, "declared")
    assert list(aims(changed({"goal": "ship it", "x": 1}, "x"))) == []
    aim = Intention("i", "ship it", "explicit", source=Source(channel="goal"))
    held = WorkingState(intentions=(aim,))
    for value in ("", None, [], {}):
        (found,) = aims(changed({"goal": value}, previous=held))
        assert found == Drops("explicit", found.source)
    (found,) = aims(changed({}, gone=frozenset({"goal"}), previous=held))
    assert isinstance(found, Drops)
    assert list(aims(changed({"goal": ""}))) == []
    facts = list(aims(changed({"goal": "", "objective": "rest"}, "goal", previous=held)))
    assert [type(fact) for fact in facts] == [Drops, Wants]


def test_plans() -> None:
    """A plan that is a list is a tracker of its own; steps that were carried out are done."""
    (found,) = aims(changed({"plan": ["a", "b"]}))
    assert isinstance(found, Todos)
    assert (found.tracker, listed(found)) == ("channel:plan", [("a", "pending"), ("b", "pending")])
    for value in ({"steps": ["a", "b"]}, "1. a\n2. b", [{"step": "a"}, {"step": "b"}]):
        (found,) = aims(changed({"plan": value}))
        assert len(listed(found)) == 2
    known = tuple(Todo(str(n), text, tracker="channel:plan") for n, text in enumerate("ab"))
    values = {"plan": ["b", "c"], "past_steps": [("a", "went well")]}
    (found,) = aims(changed(values, "plan", previous=WorkingState(todos=known)))
    assert listed(found) == [("a", "completed"), ("b", "pending"), ("c", "pending")]
    (found,) = aims(changed({"plan": []}, previous=WorkingState(todos=known)))
    assert listed(found) == []
    (found,) = aims(changed({"plan": "think, then write"}))
    assert isinstance(found, Wants)


def test_which_channels_say_aims_is_configurable() -> None:
    """Other channels can be named, and the usual ones left out."""
    view = changed({"mission": "go", "goal": "stay"})
    named = dataclasses.replace(view, channels=Channels(aims=("mission",)))
    assert [fact.text for fact in aims(named)] == ["go"]  # type: ignore[union-attr]
    without = dataclasses.replace(view, channels=Channels(exclude=("goal",)))
    assert list(aims(without)) == []


def graded(status: Any, run: str = "r1", **more: Any) -> View:
    evaluation = {
        "grading_run_id": run, "iteration": 1, "result": status, "explanation": "so so",
        "criteria": [{"name": "cites", "passed": False, "gap": "no source for 3"},
                     {"name": "short", "passed": True}],
    }  # fmt: skip
    return changed({"_rubric_status": status, "_rubric_evaluations": [evaluation]}, **more)


def test_rubrics() -> None:
    """A rubric is the aim; a verdict below it a note or an error with its gaps, until it is met."""
    (found,) = aims(changed({"rubric": "cites everything"}))
    assert found == Wants("cites everything", "explicit", found.source, "declared")
    assert list(aims(changed({"rubric": "x", "_active_rubric": "x"}, "_active_rubric")))
    kinds = dict.fromkeys(("failed", "max_iterations_reached", "grader_error"), "error")
    for status, kind in {"needs_revision": "note", **kinds}.items():
        (found,) = rubric(graded(status))
        assert isinstance(found, Opens)
        assert found.kind == kind
        assert found.context["gaps"] == [{"name": "cites", "gap": "no source for 3"}]
        assert "no source for 3" in found.description
    assert list(rubric(graded("satisfied"))) == []
    note = OpenLoop("l", "note", "", ref="rubric r1", source=Source(rule="rubric_verdict"))
    held = WorkingState(loops=(note,))
    for status in ("satisfied", None):
        (found,) = rubric(graded(status, previous=held))
        assert isinstance(found, Settles)
        assert (found.kinds, found.ref) == (("note",), "rubric r1")
    closed, opened = rubric(graded("failed", previous=held))
    assert isinstance(closed, Settles)
    assert isinstance(opened, Opens)


def test_an_agent_that_ran_out_of_steps() -> None:
    """The prebuilt agent's apology is no answer."""
    sorry = AIMessage("Sorry, need more steps to process this request.", id="m")
    (found,) = steps(said(sorry))
    assert isinstance(found, Opens)
    assert (found.kind, found.ref) == ("truncated", "m")
    assert list(steps(said(AIMessage("Sorry, I can't.")))) == []


# ---- context


class Point(NamedTuple):
    x: int


class Colour(enum.Enum):
    RED = "red"


class Opaque:
    pass


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no")


class Shapeless:
    @property
    def shape(self) -> Any:
        raise KeyError("no shape")

    def __len__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return "Shapeless()"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, 1), (None, None), (True, True), ("é", "é"), (1.5, 1.5), (float("inf"), "inf"),
        ((1, (2,)), [1, [2]]), ({3, 1, 2}, [1, 2, 3]), (frozenset({"b", "a"}), ["a", "b"]),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "(1, 2)": "c"}),
        ({1: "a", "1": "b"}, {"1": "a", "1 (str)": "b"}),
        (b"ab\xff", {"$type": "bytes", "size": 3, "start": "ab\\xff"}),
        (Ask("q"), {"$type": "Ask", "question": "q", "weight": 1}),
        (Step(content="x"), {"$type": "Step", "content": "x", "status": "pending"}),
        (Point(1), {"$type": "Point", "x": 1}), (Colour.RED, "red"),
        (datetime.date(2026, 1, 2), "2026-01-02"), (decimal.Decimal("1.10"), "1.10"),
        (Opaque(), {"$type": "Opaque", "repr": "<tests.test_signals.Opaque object>"}),
        (Broken(), {"$type": "Broken", "repr": "its repr raised ValueError"}),
        (Shapeless(), {"$type": "Shapeless", "repr": "Shapeless()"}),
        (2**70, hex(2**70)), ("half \ud800", "half \\ud800"),
        ([{"a": [{"b": ({1},)}]}], [{"a": [{"b": [[1]]}]}]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_as_plain_data(value: Any, shown: Any) -> None:
    """Any Python value becomes JSON data that says what it was."""
    found, about = bounded(value)
    if isinstance(value, Opaque):
        found["repr"] = found["repr"].replace("<test_signals", "<tests.test_signals")
    assert found == shown
    assert about == {}
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6, '"\n\\' * 4000, "é🙂" * 5000, list(range(10**5)),
        {str(n): n for n in range(10**4)},
        {"k" * 5000: 1}, set(range(5000)), b"x" * 10**6, [["y" * 500] * 100] * 100,
        {"a": {"b": {"c": ["z" * 4000] * 9}}}, "\x00" * 9000, [["\x01" * 30] * 30] * 30,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_are_bounded(value: Any) -> None:
    """However large it is, a value takes at most 2,000 characters; its size is said."""
    found, about = bounded(value)
    assert len(json.dumps(found, ensure_ascii=False)) <= 2000
    if not isinstance(value, bytes):
        assert about == {"shortened": True, "type": type(value).__name__, "size": len(value)}
    assert calls(lambda: bounded(value)) < 10_000


def test_a_value_that_holds_itself() -> None:
    """A circle ends."""
    ring: list[Any] = []
    ring.append(ring)
    found, about = bounded(ring)
    assert about["shortened"]
    json.dumps(found)


def entries_of(view: View) -> dict[str, Any]:
    return {fact.key: fact.value for fact in context(view) if isinstance(fact, Holds)}


def test_which_channels_are_context() -> None:
    """User channels by the policy; bookkeeping, messages and other pillars are kept out."""
    values: dict[str, Any] = {
        "topic": "bees", "_private": 1, "branch:to:x": None, "join:a+b:c": {"a"}, "__start__": 1,
        "messages": [HumanMessage("x")], "chat": [HumanMessage("x")], "last": AIMessage("x"),
        "todos": ["a"], "goal": "go", "jump_to": "end", "secret": 1, "scratch": 2,
        "structured_response": Step(content="x"),
    }  # fmt: skip
    view = changed(values, channels=Channels(exclude=("secret",), ephemeral=("scratch",)))
    assert entries_of(view) == {
        "topic": "bees",
        "structured_response": {"$type": "Step", "content": "x", "status": "pending"},
    }
    only = changed(values, channels=Channels(context=("goal", "_private")))
    assert entries_of(only) == {"goal": "go", "_private": 1}


def test_bookkeeping_by_its_whole_name() -> None:
    """Counters, prompts and routing of common agents are no context, in either spelling; the
    user's own data stays, where a name only contains such a word or they are asked for."""
    kept_out = "count prompt status turns turnCount tokenUsage system_prompt fileTree next sender"
    own = "order_status headcount prompt_for_guests turns_taken version_control statusReport"
    values = dict.fromkeys((*kept_out.split(), *own.split()), "x")
    assert set(entries_of(changed(values))) == set(own.split())
    asked = changed(values, channels=Channels(context=("status", "count")))
    assert set(entries_of(asked)) == {"status", "count"}


def test_only_what_changed_is_looked_at() -> None:
    """Channels that did not change cost nothing, and what is gone is forgotten."""

    class Untouchable:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError("looked at")

    view = changed({"a": 1, "b": Untouchable()}, "a", gone=frozenset({"c", "_d"}))
    assert [(type(f), f.key) for f in context(view)] == [(Holds, "a"), (Forgets, "c")]  # type: ignore[union-attr]


def test_files_and_memories_by_name() -> None:
    """Of files the names and sizes, of memories and skills the names: never what they hold."""
    values = {
        "files": {"/a.md": {"content": "secret text", "encoding": "utf-8"},
                  "/b.md": {"content": ["two", "lines"]}, "/c": "plain"},
        "memory_contents": {"/AGENTS.md": "secret text"},
        "skills_metadata": [{"name": "web", "description": "secret text"}],
    }  # fmt: skip
    found = entries_of(changed(values))
    assert found["files"] == {"/a.md": 11, "/b.md": 10, "/c": 5}
    assert found["memory_contents"] == ["/AGENTS.md"]
    assert found["skills_metadata"] == ["web"]
    assert "secret" not in json.dumps(found)
    many = {f"/notes/{n}.md": {"content": "x"} for n in range(5000)}
    (fact,) = context(changed({"files": many}))
    assert isinstance(fact, Holds)
    assert fact.metadata == {"count": 5000, "shortened": True}
    assert len(json.dumps(fact.value)) <= 2000


def test_files_kept_as_deltas() -> None:
    """Without the value, the names come from what was known and what the parent's tasks wrote."""
    versions = {"files": 3}

    def put(*writes: Any, value: Any = None, **more: Any) -> View:
        return View(
            "c", versions=versions, changed=frozenset({"files"}),
            writes=[TaskWrite("t", "", "files", write) for write in writes],
            values={} if value is None else {"files": value}, **more,
        )  # fmt: skip

    known = ContextItem("c", "files", {"/a": 1, "/b": 2}, {"count": 2})
    held = WorkingState(context=(known,))
    found = put({"/c": {"content": "new"}, "/a": None}, {"/b": {"content": "12345"}}, previous=held)
    assert entries_of(found) == {"files": {"/b": 5, "/c": 3}}
    for over in (Overwrite({"/d": "x"}), {"__overwrite__": {"/d": "x"}},
                 {"type": "__overwrite__", "value": {"/d": "x"}}):  # fmt: skip
        assert entries_of(put(over, previous=held)) == {"files": {"/d": 1}}
    assert entries_of(put(value=_DeltaSnapshot({"/s": "xyz"}), previous=held)) == {
        "files": {"/s": 3}
    }
    assert entries_of(put(previous=held)) == {}
    assert entries_of(put(["a list"], previous=held)) == {}


# ---- extractors together


def holds_turn(view: View) -> Any:
    yield Holds("turn", view.step, view.at("mine"))


def test_users_bring_their_own() -> None:
    """A user's function runs after the default ones and its facts count."""
    run = Extractors([holds_turn])
    assert run.names == (*DEFAULTS, "holds_turn")
    found, failures = run(changed({"topic": "x"}, step=3))
    assert [f.key for f in found if isinstance(f, Holds)] == ["topic", "turn"]
    assert not failures


MODEL = ("t", "~__pregel_pull, model", "messages")
SPOKEN = (
    HumanMessage("Please plot it"),
    HumanMessage("earlier", additional_kwargs={"lc_source": "summarization"}),
    AIMessage("Which file?"),
    AIMessage("Sorry, need more steps to process this request."),
    AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "c1"}]),
    AIMessage("", tool_calls=[{"name": "TodoWrite", "args": {"todos": ["a"]}, "id": "c1"}]),
    AIMessage("", tool_calls=[{"name": "open_loop", "args": {"description": "a"}, "id": "c1"}]),
    AIMessage("", tool_calls=[{"name": "set_intention", "args": {"intention": "a"}, "id": "c1"}]),
    ToolMessage("found", tool_call_id="c1", name="search"),
    ToolMessage("no such file", tool_call_id="c1", name="read", status="error"),
)
VIEWS = (
    *map(said, SPOKEN),
    *(wrote((*MODEL, [each])) for each in SPOKEN),
    changed({"messages": [], "todos": ["a"]}, "todos"),
    changed({}, gone=frozenset(["todos"])),
    changed({"goal": "a", "rubric": "b", "_rubric_status": "failed", "topic": "x"}),
    changed({"async_tasks": {"t": {"status": "running"}}}),
    changed({"messages": [], "branch:to:model": None, "__start__": {"a": 1}}),
    wrote((*MODEL[:2], "todos", ["a"])),
    wrote((*MODEL[:2], "async_tasks", {"t": {"status": "success"}})),
    wrote((*MODEL[:2], "__error__", ValueError("x"))),
)


@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
def test_only_extractors_that_find_nothing_are_left_out(view: View) -> None:
    """What a view holds decides which of the default ones look at it: all together say the same."""
    opened = [OpenLoop("l1", "tool_call", "read()", ref="c1", source=Source(rule="declared"))]
    view = dataclasses.replace(view, previous=WorkingState(loops=tuple(opened)), found={})
    every = [fact for run in DEFAULTS.values() for fact in run(view)]
    assert Extractors()(dataclasses.replace(view, found={})) == (every, [])


def test_extractors_are_switched_off_by_name() -> None:
    """A default one can be left out; a name that is none is refused."""
    found, _ = Extractors(off=["context"])(changed({"topic": "x"}))
    assert found == []
    with pytest.raises(InvalidInput, match="contexts"):
        Extractors(off=["contexts"])
    with pytest.raises(InvalidInput, match="one string"):
        Extractors(off="context")
    with pytest.raises(InvalidInput, match="no extractor"):
        Extractors([7])  # type: ignore[list-item]
    nothing = Extractors([lambda view: None, lambda view: ()], off=DEFAULTS)  # type: ignore[list-item, return-value]
    assert nothing.names == ("<lambda>", "<lambda>-2")
    assert nothing(changed({"topic": "x"})) == ([], [])


def raises_midway(view: View) -> Any:
    yield Holds("half", 1, view.at("mine"))
    raise KeyError("oops")


@pytest.mark.parametrize(
    "broken",
    [raises_midway, lambda view: 7, lambda view: ["no fact"], lambda view: {"a": 1}, lambda: None],
)
def test_an_extractor_that_fails_is_skipped(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    """What it had found is dropped, the others go on, and it is logged and reported."""
    run = Extractors([broken, holds_turn])
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        found, failures = run(changed({"topic": "x"}), "thread-7")
    assert [f.key for f in found if isinstance(f, Holds)] == ["topic", "turn"]
    (failure,) = failures
    assert (failure.extractor, failure.checkpoint_id) == (broken.__name__, "c")
    (record,) = caplog.records
    assert "thread-7" in record.getMessage()
    assert broken.__name__ in record.getMessage()
    assert "'c'" in record.getMessage() or " c " in record.getMessage()


def test_an_extractor_that_takes_too_long(caplog: pytest.LogCaptureFixture) -> None:
    """Over its budget for three of twenty views it is switched off, loudly; once is forgiven."""
    now = [0.0]
    slow = [True]

    def dawdles(view: View) -> Any:
        now[0] += 0.06 if slow[0] else 0.001
        return [Holds("late", 1, view.at("mine"))]

    run = Extractors([dawdles, holds_turn], clock=lambda: now[0])
    view = changed({"topic": "x"})
    for quick in (False, *[True] * 20, False, True, False, True):
        slow[0] = not quick
        found, failures = run(view)
        assert any(isinstance(f, Holds) and f.key == "late" for f in found)
        assert not failures
    slow[0] = True
    with caplog.at_level(logging.ERROR, "langgraph_wyrd"):
        _, failures = run(view)
    assert [failure.extractor for failure in failures] == ["dawdles"]
    assert "dawdles" in caplog.text
    assert run.switched_off == {"dawdles"}
    found, _ = run(view)
    assert [f.key for f in found if isinstance(f, Holds)] == ["topic", "turn"]


def test_an_extractor_that_hangs_for_once_is_switched_off() -> None:
    """One view that costs twenty budgets is enough."""
    now = [0.0]

    def hangs(view: View) -> Any:
        now[0] += 6.0
        return ()

    run = Extractors([hangs], clock=lambda: now[0])
    _, (failure,) = run(changed({"topic": "x"}))
    assert (failure.extractor, run.switched_off) == ("hangs", {"hangs"})


def test_what_an_extractor_said_names_it_and_its_version() -> None:
    """The facts of a user's extractor carry its name and version."""

    def mine(view: View) -> Any:
        return [Holds("mine", 1, view.at("mine"))]

    mine.version = "3.1"  # type: ignore[attr-defined]
    run = Extractors([mine])
    found, _ = run(changed({"topic": "x"}))
    (fact,) = [each for each in found if isinstance(each, Holds) and each.key == "mine"]
    assert fact.source.extra == {"extractor": "mine 3.1"}
    assert run.versions[1:] == ("mine 3.1",)
    assert run.versions[0].startswith("wyrd ")


def test_extraction_is_cheap(office_view: View) -> None:
    """All default extractors on a typical put take a few hundred calls."""
    run = Extractors()
    assert run(office_view)[0]  # what is compiled and remembered is there from now on
    assert calls(lambda: run(dataclasses.replace(office_view, found={}))) < 400


@pytest.fixture
def office_view() -> View:
    """A put of a tool-calling agent: two new messages at the end of 1,200, 50 items known."""
    talk: list[Any] = []
    for n in range(300):
        talk += [
            HumanMessage(f"please look up {n}", id=f"h{n}"),
            AIMessage("let me see", id=f"a{n}", tool_calls=[call("search", {"q": n}, f"c{n}")]),
            ToolMessage(f"found {n}", tool_call_id=f"c{n}", id=f"t{n}"),
            AIMessage(f"it is {n}", id=f"b{n}"),
        ]
    loops = tuple(OpenLoop(f"l{n}", "note", f"note {n}", ref=str(n)) for n in range(20))
    entries = tuple(ContextItem(f"x{n}", f"key{n}", n) for n in range(15))
    plan = tuple(Todo(f"t{n}", f"step {n}") for n in range(15))
    return View(
        "c",
        values={
            "messages": talk,
            "todos": [{"content": "a"}],
            "branch:to:model": None,
            "topic": "x",
        },
        versions={"messages": "9.1", "todos": "2.1", "branch:to:model": "9.1", "topic": "1.1"},
        changed=frozenset(("messages", "branch:to:model", "topic")),
        fresh={"messages": Fresh(talk, [len(talk) - 2, len(talk) - 1])},
        previous=WorkingState(loops=loops, context=entries, todos=plan),
    )
