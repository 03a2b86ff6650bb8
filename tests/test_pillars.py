"""The four pillars: facts to events, and events to states."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_wyrd.state.draft import (
    CLOSED_INTENTIONS,
    CLOSED_LOOPS,
    LEFT_TODOS,
    Loops,
    loop_key,
    replay,
)
from langgraph_wyrd.state.events import Event, Moment, base
from langgraph_wyrd.state.facts import (
    Drops,
    Fact,
    Forgets,
    Holds,
    Listed,
    Opens,
    Settles,
    Todos,
    Wants,
)
from langgraph_wyrd.state.fold import MOST_CONTEXT, MOST_TEXT, fold
from langgraph_wyrd.state.model import (
    ELSEWHERE,
    LEFT,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.namespaces import join
from langgraph_wyrd.state.pending import advance, along, overlaid
from langgraph_wyrd.state.status import with_status
from tests.facts import (
    Mood,
    Story,
    asks,
    call,
    fails,
    folded,
    moment,
    plan,
    seen,
    stories,
    through_json,
    todo_facts,
)

# ---- fold and replay


@settings(max_examples=60, deadline=None)
@given(stories)
def test_replay_is_fold(story: list[list[Fact]]) -> None:
    """Whatever the facts, the events give the same states as the fold, at each step and from the
    beginning, also after they went through JSON."""
    states, ledger = folded(story)
    state = states[0]
    text = json.dumps([e.to_dict() for events in ledger for e in events], ensure_ascii=False)
    assert text.encode()  # what no database takes as text has no place in the ledger
    assert "\\u0000" not in text
    for n, events in enumerate(ledger):
        state = replay(state, through_json(events), moment(n))
        assert state == states[n + 1]


FORGOTTEN = [  # a step forgets the first four of these, so they are not back when others are
    [plan(*(f"matter {n}" for n in range(20)))],
    [plan()],
    [plan(*(f"matter {n}" for n in range(10, 15)))],
]


@settings(max_examples=60, deadline=None)
@given(stories)
@example(FORGOTTEN)
def test_a_path_is_replayed_as_its_steps(story: list[list[Fact]]) -> None:
    """All at once, as one by one: what a step ends, or does not keep, is not there in the next."""
    _, ledger = folded(story)
    path = [(moment(n), events, ()) for n, events in enumerate(ledger)]
    state, seen_then, seen_now = WorkingState(thread_id="t"), [], []
    for at, events, _ in path:
        state = replay(advance(state, (), at), events, at)
        seen_then.append(state)
    found = along(WorkingState(thread_id="t"), path, lambda seen, _: seen_now.append(seen))
    assert found == state
    assert seen_now == [overlaid(each, ()) for each in seen_then]
    assert along(WorkingState(thread_id="t"), path) == state


@settings(max_examples=60, deadline=None)
@given(stories, st.integers(0, 5))
def test_a_base_starts_a_replay(story: list[list[Fact]], at: int) -> None:
    """A base event, alone or behind its checkpoint's others, stands for all that was before."""
    states, ledger = folded(story)
    at = min(at, len(ledger) - 1)
    (start,) = through_json([base(states[at + 1])])
    for events in ((start,), (*ledger[at], start)):
        state = replay(WorkingState(thread_id="t", title="other"), events, moment(at))
        assert state == states[at + 1]
    state = replay(WorkingState(thread_id="t"), (start,), moment(at))
    for n in range(at + 1, len(ledger)):
        state = replay(state, ledger[n], moment(n))
    assert state == states[-1]


@settings(max_examples=75, deadline=None)
@given(stories)
def test_states_keep_their_order(story: list[list[Fact]]) -> None:
    """Ids are unique, one loop is open by one ref, an aim has one open intention, keys are
    unique, and what left a list stands before the lists."""
    for state in folded(story)[0]:
        for items in (state.todos, state.context, state.loops, state.intentions):
            ids = [item.id for item in items]  # type: ignore[attr-defined]
            assert len(ids) == len(set(ids))
        is_open = [(loop.kind, loop.ref) for loop in state.loops if loop.ref and not loop.resolved]
        assert len(is_open) == len(set(is_open))
        stated = [i.aim for i in state.intentions if i.open and i.confidence != "heuristic"]
        assert len(stated) == len(set(stated))
        assert len({item.key for item in state.context}) == len(state.context)
        listed = [todo.listed for todo in state.todos]
        assert listed == sorted(listed)
        assert not [todo for todo in state.todos if todo.open and not todo.listed]


@settings(max_examples=120, deadline=None)
@given(st.lists(todo_facts, min_size=1, max_size=6))
def test_todos_stand_as_they_were_listed(lists: list[Todos]) -> None:
    """After each list the tracker's todos are that list, in its order, and the same list again
    is no event."""
    story = Story()
    for each in lists:
        story(each)
        now = [t for t in story.state.todos if t.listed and t.tracker == each.tracker]
        assert [t.status for t in now] == [entry.status for entry in each.items]
        words = [e.content.strip()[:99] for e in each.items]
        assert [t.content[:99] for t in now] == ["? h�lf" if "\0" in w else w for w in words]
        assert not [t for t in now if t.open and t.closed_at is not None]
        known = story.state
        assert story(each) == []
        assert story.state.todos is known.todos


@settings(max_examples=75, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=2, max_size=5))
def test_a_todo_keeps_its_id_wherever_it_moves(lists: list[list[str]]) -> None:
    """Inserting, removing and reordering leave every other todo's id alone."""
    story = Story()
    ids: dict[str, str] = {}
    for each in lists:
        story(plan(*(name * 4 for name in each)))
        now = {todo.content: todo.id for todo in story.state.todos if todo.listed}
        assert all(now[content] == ids[content] for content in now if content in ids)
        ids.update(now)


def test_what_does_not_change_is_shared() -> None:
    """A fold without news keeps the pillars' very objects, and one with news the other items."""
    story = Story()
    story(call("c1"), call("c2"), plan("a", "b"), Holds("k", 1, seen()), Wants("x", "task", seen()))
    before = story.state
    assert (
        story(call("c1"), plan("a", "b"), Holds("k", 1, seen()), Wants("x", "task", seen())) == []
    )
    after = story.state
    assert (after.todos, after.context) == (before.todos, before.context)
    for name in ("todos", "context", "loops", "intentions"):
        assert getattr(after, name) is getattr(before, name)
    story(Settles(("tool_call",), "a result", seen(), "c1"))
    assert story.state.todos is before.todos
    assert story.state.loops[1] is before.loops[1]
    assert (after.checkpoint_id, after.ts) == ("cp0002", moment(2).ts)


def test_something_that_is_no_fact_is_refused() -> None:
    """A fold takes facts and nothing else."""
    with pytest.raises(TypeError, match="str is no fact"):
        fold(WorkingState(), ["note"], moment(1))  # type: ignore[list-item]


def test_events_of_a_later_release_do_nothing() -> None:
    """Kinds of events that this release does not know, and items that are not there, are no
    error in a replay."""
    odd = (
        Event("mood", "open", "m-1"),  # type: ignore[arg-type]
        Event("loop", "split", "l-1"),  # type: ignore[arg-type]
        Event("loop", "close", "l-1", {"outcome": "x"}),
        Event("loop", "change", "l-1", {"description": "x"}),
        Event("todo", "change", "t-1", {"status": "completed"}),
        Event("todo", "change", "", {"tracker": "none", "order": ["t-1"]}),
        Event("context", "drop", "c-1"),
        Event("context", "change", "c-1", {"value": 1}),
        Event("intention", "close", "i-1"),
        Event("intention", "change", "i-1", {"text": "x"}),
    )
    assert replay(WorkingState(), odd, moment(0)) == replace(
        WorkingState(), checkpoint_id="cp0000", ts=moment(0).ts
    )


def test_the_same_events_again_change_nothing() -> None:
    """A replay of events that were applied already is harmless."""
    story = Story()
    story(call("c1"), plan("a", "b"))
    before = story.state
    after, events = fold(
        before,
        [Settles(("tool_call",), "ok", seen()), plan("b", "c"), Holds("k", 1, seen()), call("c2")],
        moment(2),
    )
    assert replay(after, events, moment(2)) == after


# ---- what an event holds


def test_events_hold_what_replay_needs_and_no_more() -> None:
    """Defaults, the moment's checkpoint, namespace and time are not repeated."""
    story = Story()
    here = Source(checkpoint_id="cp0001", rule="calls", tool_call_id="c1")
    assert story(Opens("tool_call", "search", here, "c1"), Holds("k", [1], here)) == [
        {
            "pillar": "loop",
            "op": "open",
            "item": story.state.loops[0].id,
            "body": {"kind": "tool_call", "description": "search", "ref": "c1"},
            "source": {"tool_call_id": "c1", "rule": "calls"},
        },
        {
            "pillar": "context",
            "op": "open",
            "item": story.state.context[0].id,
            "body": {"key": "k", "value": [1]},
            "source": {"tool_call_id": "c1", "rule": "calls"},
        },
    ]
    assert story.state.loops[0].source == here
    closing = story(Settles(("tool_call",), "a result", seen("calls"), "c1"))
    assert [each["body"] for each in closing] == [{"outcome": "a result"}]
    story(plan("a", "b"))
    changes = story(plan(Listed("a", "completed"), Listed("b", "in_progress")))
    assert [(each["op"], each["body"]) for each in changes] == [
        ("close", {"status": "completed"}),
        ("change", {"status": "in_progress"}),
    ]


def test_a_source_elsewhere_is_stored_in_full() -> None:
    """What was seen at another checkpoint or in another namespace says so."""
    far = Source(checkpoint_id="cp9999", ns="sub:1", rule="x")
    state, events = fold(WorkingState(), [Opens("note", "n", far)], moment(1))
    assert events[0].source == {"checkpoint_id": "cp9999", "ns": "sub:1", "rule": "x"}
    assert state.loops[0].source == far
    state, _ = fold(WorkingState(), [Opens("note", "n", Source(ns="sub:1"))], moment(1))
    assert state.loops[0].source == Source("cp0001", "sub:1")
    state, events = fold(WorkingState(), [Opens("note", "n", seen("x"))], moment(1, "sub:2"))
    assert events[0].source == {"rule": "x"}
    assert state.loops[0].source == Source("cp0001", "sub:2", rule="x")


def test_ids_come_from_the_place_not_the_text() -> None:
    """Ids tell nothing of a text, differ between items, and come out the same again."""

    def ids(text: str, at: Moment) -> list[str]:
        state, _ = fold(WorkingState(), [call("a", text), call("b", text), asks("i", text)], at)
        return [loop.id for loop in state.loops]

    assert ids("one", moment(1)) == ids("other", moment(1))
    everywhere = [
        *ids("one", moment(1)),
        *ids("one", moment(2)),
        *ids("one", moment(1, "sub:1")),
        *ids("one", moment(1, task="t1")),
    ]
    assert len(set(everywhere)) == 12


def test_a_task_that_writes_twice_gets_other_ids() -> None:
    """Two folds at one moment, the second on top of the first, don't share ids."""
    at = moment(1, task="t1")
    one, _ = fold(WorkingState(), [asks("i1")], at)
    two, _ = fold(one, [asks("i2")], at)
    assert len({loop.id for loop in two.loops}) == 2


# ---- loops


def test_a_loop_is_known_by_kind_and_ref() -> None:
    """The same loop again is no event, in other words it is a change, and another kind is another
    loop."""
    story = Story()
    assert story.ops(call("c1", "search")) == [("loop", "open")]
    assert story.ops(call("c1", "search")) == []
    assert story.ops(call("c1", "search again")) == [("loop", "change")]
    loop = story.state.open_loops[0]
    assert (loop.description, loop.opened_at, loop.changed_at) == (
        "search again",
        moment(1).ts,
        moment(3).ts,
    )
    known = Opens("tool_call", "search again", seen("calls"), "c1", {"args": {"q": "tea"}})
    assert [each["body"] for each in story(known)] == [{"context": known.context}]
    assert story.state.open_loops[0].context == {"args": {"q": "tea"}}
    assert story.ops(Opens("task", "search", seen(), "c1")) == [("loop", "open")]
    assert len(story.state.open_loops) == 2


def test_a_loop_without_ref_is_known_by_its_words() -> None:
    """Two notes in different words are two, the same words again are one; once closed, they may
    be noted again."""
    story = Story()
    story(Opens("note", "call back", seen()), Opens("note", "write", seen()))
    assert story(Opens("note", "call back ", seen())) == []
    assert len(story.state.open_loops) == 2
    story(Settles(("note",), "done", seen()))
    assert story.ops(Opens("note", "call back", seen())) == [("loop", "open")]
    story(Opens("question", "which?", seen()), Settles(("question",), "answered", seen()))
    assert story.ops(Opens("question", "which?", seen())) == [("loop", "open")]


@pytest.mark.parametrize(
    "kind", ["tool_call", "question", "request", "truncated", "malformed_call", "task", "promise"]
)
def test_what_a_message_said_opens_once(kind: Any) -> None:
    """A loop from a message that closed lately is not opened again when the message is seen
    again; another message that uses the same ref is another loop."""
    story = Story()
    fact = Opens(kind, "x", seen(message_id="m1"), "r1")
    story(fact)
    story(Settles((kind,), "over", seen(), "r1"))
    assert story(fact) == []
    assert story(Opens(kind, "x", seen(), "r1")) == []
    assert story.ops(Opens(kind, "x", seen(message_id="m2"), "r1")) == [("loop", "open")]
    story(Settles((kind,), "over", seen(), "r1"))
    assert [loop.resolved for loop in story.state.loops] == [True, True]


def test_interrupts_and_task_errors_come_again() -> None:
    """The same task may ask and fail once more under the ref it had."""
    story = Story()
    for n in (1, 2):
        assert story.ops(asks(), fails()) == [("loop", "open")] * 2
        assert story.ops(Settles(("interrupt", "error"), "over", seen())) == [("loop", "close")] * 2
        assert len(story.state.closed_loops) == 2 * n
    again = Opens("error", "x", seen("failed_tool", message_id="m1"), "c1")
    story(again, Settles(("error",), "worked later", seen(), "c1"))
    assert story(again) == []  # an error that stands in a message is reported once


def test_settling() -> None:
    """Settles closes the loop with its ref, or all of its kinds, with time, place and outcome;
    where nothing is open there is no event."""
    story = Story()
    story(call("c1"), call("c2"), Opens("question", "q?", seen(), "m1"), asks())
    assert story(Settles(("question",), "x", seen(), "m7")) == []
    assert story(Settles(("error", "note"), "x", seen())) == []
    story(Settles(("tool_call", "task"), "a result", seen("calls", message_id="m2"), "c2"))
    closed = story.state.closed_loops[0]
    assert (closed.ref, closed.outcome, closed.closed_at, closed.closed_in) == (
        "c2",
        "a result",
        moment(4).ts,
        "cp0004",
    )
    assert story.ops(Settles(("tool_call", "question"), "gone", seen())) == [("loop", "close")] * 2
    assert [loop.kind for loop in story.state.open_loops] == ["interrupt"]
    assert [loop.ref for loop in story.state.loops] == ["c1", "c2", "m1", "i1"]


def test_a_newer_question_leaves_the_older_one() -> None:
    """Only evidence closes a loop."""
    story = Story()
    story(Opens("question", "one?", seen(), "m1"))
    story(Opens("question", "two?", seen(), "m2"))
    assert len(story.state.open_loops) == 2


def test_loops_close_without_a_known_time() -> None:
    """A checkpoint without a timestamp closes a loop all the same."""
    state, _ = fold(WorkingState(), [call()], Moment("cp1"))
    state, _ = fold(state, [Settles(("tool_call",), "ok", seen())], Moment("cp2"))
    assert state.open_loops == ()
    assert state.closed_loops[0].closed_in == "cp2"


def test_guesses_stand_apart_until_they_are_seen() -> None:
    """A heuristic loop is in no default view; when the same is seen for certain, it is one."""
    story = Story()
    guess = Opens("promise", "will call", seen(), "p1", confidence="heuristic")
    story(guess)
    assert story.state.open_loops == ()
    assert [loop.ref for loop in story.state.guessed_loops] == ["p1"]
    assert story.ops(replace(guess, confidence="declared")) == [("loop", "change")]
    assert [loop.ref for loop in story.state.open_loops] == ["p1"]
    assert story(guess) == []


def test_a_loop_that_another_branch_left_open_is_not_the_one_here() -> None:
    """What was left on another branch takes no answer that is given here: it is under no key."""
    here = OpenLoop("a", "tool_call", "look", ref="c1")
    gone = {"source": Source(rule=LEFT), "extra": {ELSEWHERE: True}}
    left = OpenLoop("b", "tool_call", "look", ref="c2", **gone)  # type: ignore[arg-type]
    assert Loops((here, left)).keys == {loop_key("tool_call", "c1", ""): "a"}
    assert Loops((here, left)).closed("tool_call", "c1") is None


# ---- intentions


def test_a_later_wish_supersedes_the_earlier() -> None:
    """Of each aim one intention is open; the same again is nothing."""
    story = Story()
    story(Wants("a trip", "request", seen()), Wants("the goal", "explicit", seen()))
    assert story(Wants(" a trip ", "request", seen())) == []
    assert story.ops(Wants("a hotel", "request", seen())) == [
        ("intention", "close"),
        ("intention", "open"),
    ]
    assert [(i.text, i.outcome, i.closed_in) for i in story.state.intentions] == [
        ("a trip", "superseded", "cp0003"),
        ("the goal", None, None),
        ("a hotel", None, None),
    ]
    assert story.state.intention is story.state.intentions[1]
    assert story.ops(Drops("explicit", seen())) == [("intention", "close")]
    assert story.state.intention is story.state.intentions[2]
    assert story(Drops("explicit", seen())) == []
    assert story(Wants("  ", "explicit", seen())) == []


def test_a_guessed_wish_takes_no_words_place() -> None:
    """A heuristic intention neither closes a stated one nor becomes the current one."""
    story = Story()
    story(Wants("a trip", "request", seen()))
    guess = Wants("perhaps a hotel", "request", seen(), confidence="heuristic")
    assert story.ops(guess) == [("intention", "open")]
    assert story(guess) == []
    assert story.state.intention is not None
    assert story.state.intention.text == "a trip"
    story(Wants("another guess", "request", seen(), confidence="heuristic"))
    assert [i.open for i in story.state.intentions] == [True, False, True]
    story(Wants("a boat", "request", seen()))
    assert [i.open for i in story.state.intentions] == [False, False, False, True]


def test_the_title_is_the_first_request() -> None:
    """Neither a delegated task nor a guess nor a later request is the title; it is shortened."""
    story = Story()
    story(Wants("the task", "task", seen()))
    story(Wants("guess", "request", seen(), confidence="heuristic"))
    story(Opens("request", "guess", seen(), "m0", confidence="heuristic"))
    assert story.state.title is None
    story(Opens("request", "please\nbook " + "a very long trip " * 20, seen(), "m1"))
    assert story.state.title is not None
    assert story.state.title.startswith("please book a very long trip")
    assert len(story.state.title) <= 80
    title = story.state.title
    story(Wants("something else", "request", seen()))
    assert story.state.title == title


# ---- context


def test_context_entries() -> None:
    """An entry opens, changes when its value does, and is forgotten."""
    story = Story()
    assert story.ops(Holds("k", {"a": 1}, seen())) == [("context", "open")]
    assert story(Holds("k", {"a": 1}, seen())) == []
    (event,) = story(Holds("k", {"a": 2}, seen()))
    assert event["body"] == {"value": {"a": 2}}
    (item,) = story.state.context
    assert (item.opened_at, item.changed_at) == (moment(1).ts, moment(3).ts)
    assert story.ops(Holds("k", {"a": 2}, seen(), {"cut": True})) == [("context", "change")]
    assert story.ops(Forgets("k", seen())) == [("context", "drop")]
    assert story.state.context == ()
    assert story(Forgets("k", seen())) == []


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), ([0], [False]), ({"a": 1}, {"a": 1.0}), (5, None)]
)
def test_values_that_python_takes_for_equal(one: Any, other: Any) -> None:
    """A value that becomes another one in JSON is a change."""
    story = Story()
    story(Holds("k", one, seen()))
    assert story.ops(Holds("k", other, seen())) == [("context", "change")]
    assert repr(story.state.context[0].value) == repr(other)


def test_odd_values_are_held_as_plain_data() -> None:
    """Sets in an order of their own, keys as text, endless nesting cut, objects by their type."""
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    story = Story()
    story(
        Holds("set", {"b", "a", "c"}, seen()),
        Holds("deep", deep, seen()),
        Holds("keys", {1: (1, 2), Mood.DONE: Mood.DONE}, seen()),
        Holds("object", moment, seen()),
    )
    assert story.state.get_context("set") == ["a", "b", "c"]
    assert len(json.dumps(story.state.get_context("deep"))) < 500
    assert story.state.get_context("keys") == {"1": [1, 2], "completed": "completed"}
    assert story.state.get_context("object") == "<function>"


def test_an_entry_forgotten_and_held_again_is_there() -> None:
    """Within one put as well."""
    story = Story()
    story(Holds("k", 1, seen()))
    story(Forgets("k", seen()), Holds("k", 2, seen()))
    assert [item.value for item in story.state.context] == [2]


# ---- bounds


def test_texts_are_bounded() -> None:
    """Descriptions, intentions, todos and outcomes have at most 500 characters, and a long text
    seen again is no change."""
    long = "word " * 1000
    ops: list[Fact] = [call("c1", long), Wants(long, "task", seen()), plan(long)]
    story = Story()
    story(*ops)
    assert story(*ops) == []
    story(Settles(("tool_call",), long, seen()))
    state = story.state
    for text in (
        state.loops[0].description,
        state.loops[0].outcome,
        state.intentions[0].text,
        state.todos[0].content,
    ):
        assert text is not None
        assert MOST_TEXT * 0.9 < len(text) <= MOST_TEXT
        assert text.endswith("…")


def test_a_state_keeps_the_last_of_what_is_over() -> None:
    """Everything open is kept; of what is over, the last few that ended."""
    story = Story()
    story(*(call(f"c{n}") for n in range(100)))
    for n in range(60):
        story(Settles(("tool_call",), "ok", seen(), f"c{99 - n}"))
        story(Wants(f"wish {n}", "request", seen()))
        story(plan(f"{n} matter"))
    state = story.state
    assert len(state.open_loops) == 40
    assert [loop.ref for loop in state.closed_loops] == [
        f"c{n}" for n in range(40, 40 + CLOSED_LOOPS)
    ]
    closed = [i for i in state.intentions if not i.open]
    assert [i.text for i in closed] == [f"wish {n}" for n in range(59 - CLOSED_INTENTIONS, 59)]
    left = [todo for todo in state.todos if not todo.listed]
    assert [t.content for t in left] == [f"{n} matter" for n in range(59 - LEFT_TODOS, 59)]


def test_many_loops_in_one_put() -> None:
    """A whole history at once (durability="exit", adoption) keeps to the bounds and is replayed."""
    story = Story()
    facts: list[Fact] = []
    for n in range(2000):
        facts += [call(f"c{n}"), Settles(("tool_call",), "ok", seen(), f"c{n}")]
    story(*facts, call("last"))
    assert len(story.state.closed_loops) == CLOSED_LOOPS
    assert [loop.ref for loop in story.state.open_loops] == ["last"]


def test_context_is_bounded() -> None:
    """Beyond 1,024 entries new ones are refused, with a note, once; known ones still change."""
    story = Story()
    story(*(Holds(f"k{n}", n, seen()) for n in range(MOST_CONTEXT)))
    assert story.ops(Holds("one more", 1, seen()), Holds("and more", 1, seen())) == [
        ("thread", "change")
    ]
    assert "later ones were left out" in story.state.extra["context_full"]
    assert story(Holds("one more", 1, seen())) == []
    assert len(story.state.context) == MOST_CONTEXT
    assert story.ops(Holds("k0", "new", seen())) == [("context", "change")]
    assert story.ops(Forgets("k1", seen()), Holds("one more", 1, seen())) == [
        ("context", "drop"),
        ("context", "open"),
    ]


def test_a_strange_state_is_left_in_peace() -> None:
    """A fold that finds nothing new does not tidy what somebody else wrote, and neither does its
    replay."""
    strange = WorkingState(
        todos=(Todo("t-1", "a"), Todo("t-2", "b", "completed", listed=False)),
        loops=tuple(
            OpenLoop(f"l-{n}", "note", "x", ref=str(n), closed_at="2026") for n in range(50)
        ),
        intentions=tuple(Intention(f"i-{n}", "x", closed_at="2026") for n in range(50)),
    )
    story = Story(strange)
    story(plan("a"), Settles(("note",), "x", seen()), Drops("task", seen()))
    assert story.state.todos is strange.todos
    assert story.state.loops is strange.loops
    assert story.state.intentions is strange.intentions


# ---- what tasks say


def task_writes(state: WorkingState, *facts: Fact, n: int = 1, task: str = "t1") -> Any:
    at = moment(n, task=task)
    return at, fold(state, facts, at)[1]


def test_a_leaf_shows_what_its_tasks_say() -> None:
    """Interrupts, errors and pending results are seen at once, and belong to the checkpoint."""
    lasting, _ = fold(WorkingState(), [call("c1")], moment(1))
    done = Settles(("tool_call",), "a result", seen(), "c1")
    over = [task_writes(lasting, asks()), task_writes(lasting, fails("t2"), done, task="t2")]
    leaf = overlaid(lasting, over)
    assert [loop.kind for loop in leaf.open_loops] == ["interrupt", "error"]
    assert (leaf.checkpoint_id, leaf.ts) == (lasting.checkpoint_id, lasting.ts)
    assert overlaid(lasting, ()) is lasting
    assert [loop.ref for loop in lasting.open_loops] == ["c1"]


def test_a_child_closes_what_passes() -> None:
    """A child knows interrupts and errors as closed; other things that tasks said it gets
    anew."""
    lasting, _ = fold(WorkingState(), [call("c1")], moment(1))
    done = Settles(("tool_call",), "a result", seen(), "c1")
    note = Opens("note", "n", seen("notes"))
    asked = task_writes(lasting, asks("i1"), asks("i2"))
    leaf = overlaid(lasting, [asked])
    answer = Settles(("interrupt",), "answered", seen("interrupt"), "i1")
    over = [
        asked,
        task_writes(leaf, answer, task="0"),
        task_writes(lasting, fails("t2"), done, note, task="t2"),
    ]
    child = advance(lasting, over, moment(2))
    assert [loop.ref for loop in child.open_loops] == ["c1"]
    assert [(c.ref, c.outcome, c.closed_at, c.closed_in) for c in child.closed_loops] == [
        ("i1", "answered", moment(2).ts, "cp0002"),
        ("i2", "the run went on", moment(2).ts, "cp0002"),
        ("t2", "the run went on", moment(2).ts, "cp0002"),
    ]
    assert child.closed_loops[0].opened_at == moment(1).ts


def test_a_child_knows_how_it_ended_and_what_was_said_last() -> None:
    """The outcome is the one that was recorded, the words are those of the last change."""
    lasting = WorkingState()
    over = [task_writes(lasting, fails("t2"), asks("i1"), task="t2")]
    later = [
        asks("i1", "approve this one?", task="t2"),
        Settles(("error",), "handled by the graph", seen("task_error"), "t2"),
    ]
    over.append(task_writes(overlaid(lasting, over), *later, task="t3"))
    child = advance(lasting, over, moment(2))
    assert [(loop.description, loop.outcome) for loop in child.loops] == [
        ("ValueError: no", "handled by the graph"),
        ("approve this one?", "the run went on"),
    ]


def test_nothing_passes() -> None:
    """Without tasks' words a child starts from the very state of its parent."""
    lasting, _ = fold(WorkingState(), [call("c1")], moment(1))
    assert advance(lasting, (), moment(2)) is lasting
    done = task_writes(lasting, Settles(("tool_call",), "ok", seen(), "c1"))
    assert advance(lasting, [done], moment(2)) == lasting


def test_a_passing_loop_that_was_taken_for_lasting_passes_too() -> None:
    """A state that was read in one go holds its tasks' loops too; a child closes them."""
    whole, _ = fold(WorkingState(), [asks(), fails("t2")], moment(1))
    child = advance(whole, (), moment(2))
    assert child.open_loops == ()
    assert {loop.outcome for loop in child.closed_loops} == {"the run went on"}


def test_a_task_that_asks_again() -> None:
    """Ask, answer, ask again under the same ref: one is open at the leaf, two were at the child."""
    state = WorkingState()
    over: list[Any] = []
    answer = Settles(("interrupt",), "answered", seen("interrupt"))
    for facts in ([asks("i1", "first?")], [answer], [asks("i1", "second?")]):
        over.append(task_writes(overlaid(state, over), *facts))
    leaf = overlaid(state, over)
    assert [loop.description for loop in leaf.open_loops] == ["second?"]
    child = advance(state, over, moment(2))
    assert [(c.description, c.outcome) for c in child.closed_loops] == [
        ("first?", "answered"),
        ("second?", "the run went on"),
    ]


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(4)))
def test_order_of_arrival_does_not_matter(order: list[int]) -> None:
    """Whichever task's events come first, the leaf and the child know the same."""
    lasting, _ = fold(WorkingState(), [call("c1"), call("c2")], moment(1))
    asked = task_writes(lasting, asks("i1"), task="b")
    leaf = overlaid(lasting, [asked])
    over = [
        asked,
        task_writes(leaf, Settles(("interrupt",), "answered", seen()), task="0"),
        task_writes(lasting, fails("c"), task="c"),
        task_writes(lasting, Settles(("tool_call",), "ok", seen(), "c1"), task="d"),
    ]
    mixed = [over[n] for n in order]

    def known(state: WorkingState) -> set[Any]:
        return {(loop.id, loop.outcome, loop.closed_in) for loop in state.loops}

    assert known(overlaid(lasting, mixed)) == known(overlaid(lasting, over))
    assert known(advance(lasting, mixed, moment(2))) == known(advance(lasting, over, moment(2)))
    assert [loop.ref for loop in overlaid(lasting, mixed).open_loops] == ["c2", "c"]


# ---- status


def status(state: WorkingState, *due: str, **how: Any) -> tuple[str, str | None]:
    state = with_status(state, due=[Due(node) for node in due], **how)
    return state.status, state.reason


def test_status_and_reason() -> None:
    """An open interrupt comes before an error, that before what is due; otherwise something open
    makes it idle, and nothing done."""
    story = Story()
    assert status(story.state, ran=False) == ("idle", "nothing happened yet")
    assert status(story.state) == ("done", "nothing due, nothing open")
    story(plan("first", "second"))
    assert status(story.state) == ("idle", "2 todos are open: first")
    story(call("c1", "search {}"), Opens("note", "n", seen()))
    assert status(story.state) == (
        "idle",
        "2 open, first: a tool call has no recorded result: search {}",
    )
    assert status(story.state, "a", "b", "b") == ("due", "next: a, b (2 times)")
    assert status(story.state, "a", paused_before=["a"]) == ("due", "paused before a")
    story(fails())
    assert status(story.state, "a") == ("error", "node tools failed: ValueError: no")
    story(asks())
    assert status(story.state, "a") == ("interrupted", "node tools asks: approve?")
    story(asks("i2", "and this? " * 100))
    found = status(story.state)
    assert found[1] is not None
    assert found[1].startswith("2 open, first: node tools asks: approve?")
    assert len(found[1]) <= 200


def test_guesses_and_other_errors_make_no_status() -> None:
    """A heuristic item does not keep a thread from being done; an error that stands in a message
    is no failed task."""
    story = Story()
    story(
        Opens("promise", "p", seen(), "p1", confidence="heuristic"),
        Todos("prose", (Listed("guessed"),), seen(), confidence="heuristic"),
    )
    assert status(story.state) == ("done", "nothing due, nothing open")
    story(Opens("error", "search failed", seen("failed_tool"), "c1"))
    assert status(story.state) == ("idle", "something failed: search failed")


# ---- namespaces

SUB = "sub:t1"


def at_sub(*facts: Fact, ns: str = SUB, n: int = 1) -> WorkingState:
    return fold(WorkingState(thread_id="t"), facts, moment(n, ns))[0]


def test_an_interrupt_of_a_subgraph_is_one() -> None:
    """The caller reports it too; answered below is answered."""
    root = at_sub(asks("i1", node="sub"), ns="")
    child = at_sub(asks("i1", node="inner"))
    both = join(root, [child])
    assert [(loop.ref, loop.source.node) for loop in both.loops] == [("i1", "inner")]
    answered, _ = fold(child, [Settles(("interrupt",), "answered", seen())], moment(2, SUB))
    (loop,) = join(root, [answered]).loops
    assert (loop.outcome, loop.closed_in, loop.id) == ("answered", "cp0002", root.loops[0].id)
    again, _ = fold(answered, [asks("i1", "again?")], moment(3, SUB))
    (loop,) = join(root, [again]).open_loops
    assert loop.id == root.loops[0].id


def test_what_the_root_closed_stays_closed_unless_asked_again() -> None:
    """The root wins, but not over a question that the subgraph asked after its closing."""
    child = at_sub(asks("i1"))
    root = at_sub(asks("i1"), ns="")
    root, _ = fold(root, [Settles(("interrupt",), "answered", seen())], moment(2))
    assert join(root, [child]).open_loops == ()
    later = at_sub(asks("i1", "again?"), n=3)
    assert [loop.description for loop in join(root, [later]).open_loops] == ["again?"]


def test_a_deep_interrupt_is_one() -> None:
    """Root, subgraph and the subgraph's subgraph report the same one."""
    deep = [at_sub(asks("i1"), ns=ns) for ns in ("sub:t1|inner:t2", "sub:t1")]
    assert len(join(at_sub(asks("i1"), ns=""), deep).open_loops) == 1
    assert len(join(at_sub(ns=""), deep).open_loops) == 1


def test_an_error_that_came_up_from_a_subgraph_is_one() -> None:
    """The innermost node is named; an error in other words, or of another task, is its own."""
    root = at_sub(fails("t1", node="sub"), ns="")
    child = at_sub(fails("t2", node="inner"))
    deep = at_sub(fails("t3", node="innermost"), ns="sub:t1|inner:t2")
    assert [loop.source.node for loop in join(root, [child]).open_loops] == ["inner"]
    assert [loop.source.node for loop in join(root, [deep, child]).open_loops] == ["innermost"]
    other = at_sub(fails("t2", "KeyError: k", node="inner"))
    assert len(join(root, [other]).open_loops) == 2
    nowhere = at_sub(replace(fails("t2"), source=seen("task_error", task_id="t2")))
    assert [loop.source.node for loop in join(root, [nowhere]).open_loops] == ["sub"]
    gone_on = advance(root, (), moment(2))
    assert [loop.source.node for loop in join(gone_on, [child]).open_loops] == ["inner"]
    assert len(join(gone_on, [child]).closed_loops) == 1
    sub = at_sub(fails("t2", node="inner"), ns="sub:t8")
    assert len(join(root, [sub]).open_loops) == 2


def test_the_rest_of_a_subgraph_is_appended() -> None:
    """Todos, context, loops and due of a subgraph follow the root's, copies of the root's own
    left out."""
    root = at_sub(plan("a", "b"), Holds("k", 1, seen()), call("c1"), ns="")
    child = at_sub(plan("a", "c"), Holds("k", 1, seen()), Holds("k2", 2, seen()), call("c2"))
    root = with_status(root, due=[Due("sub")])
    both = join(root, [with_status(child, due=[Due("inner")])])
    assert [todo.content for todo in both.todos] == ["a", "b", "c"]
    assert [(item.key, item.source.ns) for item in both.context] == [("k", ""), ("k2", SUB)]
    assert [loop.ref for loop in both.open_loops] == ["c1", "c2"]
    assert both.due == (Due("sub"), Due("inner"))
    assert (both.checkpoint_id, both.status, both.ns) == ("cp0001", "due", "")
    assert join(root, ()) is root


def test_a_subgraph_sets_the_threads_intention_only_explicitly() -> None:
    """Its requests and tasks are its own; what is stated explicitly counts, after the root's."""

    def text(root: WorkingState, child: WorkingState) -> str | None:
        found = join(root, [child]).intention
        return None if found is None else found.text

    child = at_sub(Wants("delegated", "request", seen()), Wants("do it", "task", seen()))
    assert child.intention is not None
    assert child.intention.text == "delegated"
    assert text(at_sub(ns=""), child) is None
    root = at_sub(Wants("the person's", "request", seen()), ns="")
    assert text(root, child) == "the person's"
    stated = at_sub(Wants("below", "explicit", seen()))
    assert text(root, stated) == "below"
    assert text(at_sub(Wants("above", "explicit", seen()), ns=""), stated) == "above"


def test_closing_a_loop_changes_nothing_but_that() -> None:
    """A field that is added to OpenLoop is not lost when a loop closes."""
    filled: dict[str, Any] = {each.name: each.name for each in fields(OpenLoop)}
    over = {"changed_at": "2026", "closed_at": "2026", "closed_in": "c9", "outcome": "done"}
    still_open = dict.fromkeys([*over][1:])
    odd = {"source": Source(node="n"), "context": {"a": 1}, "extra": {"b": 2}}
    loop = OpenLoop(**{**filled, **still_open, **odd})
    loops = Loops((loop,))
    loops.close_one(loop.id, "done", Moment("c9", ts="2026"))
    assert loops.done() == (replace(loop, **over),)  # type: ignore[arg-type]
