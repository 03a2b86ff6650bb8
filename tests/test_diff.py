"""What differs between two working states, and between the values of two checkpoints."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.diff import StateDiff, diff, diff_values
from langgraph_wyrd.state.facts import Holds, Listed, Settles, Wants
from langgraph_wyrd.state.model import (
    ContextItem,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from tests.facts import WORDS, Story, asks, call, folded, plan, seen, stories

ids = st.sampled_from(("x1", "x2", "x3", "x4", "x5", "x6"))
words = st.sampled_from([each for each in WORDS if each.isprintable()])
times = st.sampled_from((None, "2026-03-01", "2026-03-02"))
sources = st.builds(Source, checkpoint_id=st.sampled_from((None, "cp1")), ns=st.just(""))
confidences = st.sampled_from(("structural", "heuristic", "declared"))
plain = st.sampled_from((None, True, 1, 1.0, "text", [1], [True], {"a": 1}, {"a": {"b": True}}))
names = st.sampled_from(("a", "b", "status", "open"))
bags = st.dictionaries(names, plain.filter(lambda each: each is not None), max_size=2)
refs = st.sampled_from((None, "1", "2", "call_x", "call_y"))
todos = st.builds(
    Todo,
    id=ids,
    content=words,
    status=st.sampled_from(("pending", "in_progress", "completed", "cancelled", "odd")),
    priority=st.sampled_from(("medium", "high")),
    closed_at=times,
    source=sources,
    confidence=confidences,
    tracker=st.sampled_from(("todos", "other")),
    ref=refs,
    listed=st.booleans(),
    extra=bags,
)
entries = st.builds(
    ContextItem,
    id=ids,
    key=st.sampled_from(("k1", "k2", "k3")),
    value=plain,
    metadata=bags,
    source=sources,
    extra=bags,
)
loops = st.builds(
    OpenLoop,
    id=ids,
    kind=st.sampled_from(("question", "tool_call")),
    description=words,
    context=bags,
    ref=refs,
    closed_at=times,
    outcome=st.sampled_from((None, "answered", "given up")),
    source=sources,
    confidence=confidences,
)
intentions = st.builds(
    Intention,
    id=ids,
    text=words,
    aim=st.sampled_from(("explicit", "request")),
    closed_at=times,
    outcome=st.sampled_from((None, "superseded")),
    source=sources,
    extra=bags,
)


def some(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Items with ids of their own, now and then with one id twice, as damaged data has it."""
    unique = st.lists(items, max_size=5, unique_by=lambda each: each.id)
    return st.one_of(unique, unique, unique, st.lists(items, max_size=5)).map(tuple)


made = st.builds(
    WorkingState,
    thread_id=st.sampled_from((None, "t", "u")),
    checkpoint_id=st.sampled_from((None, "cp1", "cp2")),
    ts=times,
    title=st.sampled_from((None, "a title", "another")),
    todos=some(todos),
    context=some(entries),
    loops=some(loops),
    intentions=some(intentions),
    due=st.lists(st.builds(Due, st.sampled_from("ab"), st.sampled_from((None, 0)))).map(tuple),
    status=st.sampled_from(("idle", "due", "done")),
    reason=st.sampled_from((None, "why")),
    extra=bags,
)  # fmt: skip


@st.composite
def of_one_story(draw: Any, count: int) -> list[WorkingState]:
    """States that one agent came through, not always in that order."""
    reached = folded(draw(stories))[0]
    return [draw(st.sampled_from(reached)) for _ in range(count)]


def some_states(count: int) -> st.SearchStrategy[list[WorkingState]]:
    return st.one_of(st.lists(made, min_size=count, max_size=count), of_one_story(count))


def as_json(state: WorkingState) -> str:
    """Everything, with 1 and True apart."""
    return json.dumps(state.to_dict(), sort_keys=True)


# ---- laws


@settings(max_examples=60, deadline=None)
@given(some_states(2))
def test_a_diff_leads_from_one_to_the_other(states: list[WorkingState]) -> None:
    """Applied to the first state a diff gives the second one to the last field and in its order,
    inverted it leads back, and a second time it changes nothing."""
    a, b = states
    change = diff(a, b)
    assert as_json(change.apply(a, strict=True).state) == as_json(b)
    assert change.apply(a).state == b
    assert as_json(change.invert().apply(b, strict=True).state) == as_json(a)
    json.loads(change.to_json())


@settings(max_examples=40, deadline=None)
@given(some_states(1))
def test_nothing_differs_from_itself(states: list[WorkingState]) -> None:
    """A state and its copy are no different: the diff holds nothing at all."""
    (state,) = states
    for other in (state, WorkingState.from_dict(json.loads(state.to_json()))):
        change = diff(state, other)
        assert change.empty
        assert change == StateDiff()
        assert (change.summary(), change.lines()) == ("no changes", [])


@settings(max_examples=50, deadline=None)
@given(some_states(3))
def test_any_state_takes_what_fits(states: list[WorkingState]) -> None:
    """On a third state a diff does what it can: strict refuses exactly if something was left out,
    and no item of the third state that the diff does not know is lost."""
    a, b, c = states
    change = diff(a, b)
    state, left = change.apply(c)
    if left:
        with pytest.raises(InvalidInput, match="does not fit"):
            change.apply(c, strict=True)
    else:
        assert change.apply(c, strict=True).state == state
    for pillar, held in change.changes.items():
        gone = sum(each.new is None for each in held)
        assert len(getattr(state, pillar)) >= len(getattr(c, pillar)) - gone
    for name in ("todos", "context", "loops", "intentions"):
        if name not in change.changes:
            assert getattr(state, name) is getattr(c, name)


@settings(max_examples=40, deadline=None)
@given(some_states(2))
def test_empty_means_that_nothing_differs(states: list[WorkingState]) -> None:
    """Summary, lines and `empty` agree on whether there is anything to tell."""
    change = diff(*states)
    assert change.empty == (change.summary() == "no changes") == (not change.lines())


# ---- what counts as the same


def state_of(*contents: str, **more: Any) -> WorkingState:
    """A state with these todos, whose ids no other state has."""
    state_of.count = getattr(state_of, "count", 0) + 1  # type: ignore[attr-defined]
    n = state_of.count  # type: ignore[attr-defined]
    made = tuple(Todo(f"t-{n}-{k}", each, opened_at=str(n)) for k, each in enumerate(contents))
    return WorkingState(todos=made, **more)


def test_random_ids_do_not_count() -> None:
    """The same todo, added to two states, is no difference; one more is one."""
    one, other = state_of("Task A"), state_of("Task A")
    assert one != other
    assert diff(one, other).empty
    assert diff(one, state_of("Task A", "Task B")).summary() == "+1 todo"
    assert diff(one, state_of("task  a.")).lines() == ["~ todo task a.: content Task A -> task a."]


def test_ids_come_first() -> None:
    """A todo in other words under its id is the same one, even if another has its old words."""
    a = WorkingState(todos=(Todo("1", "write"),))
    b = WorkingState(todos=(Todo("1", "write more"), Todo("2", "write")))
    change = diff(a, b)
    assert change.added["todos"] == (b.todos[1],)
    assert change.changed["todos"] == ((a.todos[0], b.todos[0]),)


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        ([("x-7", "old words")], [("x-7", "quite other")], 1),
        ([("1", "plan"), ("2", "code")], [("1", "plan"), ("2", "design"), ("3", "code")], 0),
        ([("1", "plan")], [("1", "plan it")], 1),
    ],
    ids=("ref", "numbers", "number"),
)
def test_a_trackers_ids_count_before_words_unless_they_are_numbers(
    a: list[Any], b: list[Any], pairs: int
) -> None:
    """An id of the tracker's own names a todo; numbers, which every list begins anew, only do if
    no words help."""
    one, other = (
        WorkingState(todos=tuple(Todo(f"{n}-{ref}", text, ref=ref) for ref, text in each))
        for n, each in enumerate((a, b))
    )
    change = diff(one, other)
    assert len(change.changed["todos"]) == pairs
    assert len(change.added["todos"]) == len(b) - len(a)
    assert not change.removed["todos"]


def test_loops_are_known_by_ref_then_by_words() -> None:
    """Between threads the same question is the same loop; within one, another ref is another."""

    def state(thread: str | None, id: str, ref: str | None) -> WorkingState:
        return WorkingState(thread, loops=(OpenLoop(id, "question", "Which day?", ref=ref),))

    assert diff(state("t", "1", "m1"), state("u", "2", "m9")).empty
    assert diff(state(None, "1", "m1"), state("t", "2", "m1")).empty
    assert diff(state("t", "1", None), state("t", "2", None)).empty
    assert (
        diff(state("t", "1", "m1"), state("t", "2", "m9")).summary() == "+1 loop, 1 loop resolved"
    )


def test_context_is_known_by_key_and_intentions_by_words() -> None:
    """Keys and aims name what they hold."""
    a = WorkingState(context=(ContextItem("1", "k", 1),), intentions=(Intention("1", "Go on"),))
    b = WorkingState(context=(ContextItem("2", "k", 1),), intentions=(Intention("2", "go on."),))
    assert not diff(a, b).changed["context"]
    assert diff(a, b).lines() == ["~ intention go on. (request): text Go on -> go on."]
    other = replace(b, context=(ContextItem("2", "k", True),))
    assert diff(b, other).lines() == ["~ context k: 1 -> true"]


# ---- what is reported


def test_a_story_is_told() -> None:
    """What happened between two states, in a line and in lines."""
    story = Story()
    story(plan("write", "test", "ship"), asks("i1", "Deploy now?"), Holds("budget", 10, seen()))
    before = replace(story.state, status="interrupted", due=(Due("tools"),))
    story(
        plan(Listed("write", "completed"), Listed("test", "in_progress"), "announce"),
        Settles(("interrupt",), "answered", seen(), "i1"),
        call("c1", "search"),
        Holds("budget", 20, seen()),
        Holds("city", {"name": "Oslo"}, seen()),
        Wants("Ship it", "explicit", seen()),
    )
    change = diff(before, story.state)
    assert change.summary() == (
        "+1 todo, +1 context item, +1 loop, +1 intention, 1 loop resolved, "
        "~3 todos (1 cancelled, 1 completed, 1 started), ~1 context item, "
        "status interrupted -> idle, due tools -> nothing"
    )
    assert change.lines() == [
        "~ todo ship: pending -> cancelled",
        "~ todo write: pending -> completed",
        "~ todo test: pending -> in_progress",
        "+ todo announce: pending",
        "~ context budget: 10 -> 20",
        '+ context city: {"name": "Oslo"}',
        "- loop Deploy now? (interrupt): resolved, answered",
        "+ loop search (tool_call)",
        "+ intention Ship it (explicit)",
        "~ status interrupted -> idle",
        "~ due tools -> nothing",
    ]
    assert [each.content for each in change.which("completed")] == ["write"]
    assert [each.description for each in change.which("opened", "loops")] == ["search"]
    assert change.fields["status"] == ("interrupted", "idle")


def test_a_loop_that_is_no_longer_listed_was_resolved() -> None:
    """An open loop that is gone counts as resolved, its outcome unknown; a closed one that is no
    longer kept is no news, one that opened and closed since is."""
    loop = OpenLoop("1", "question", "Which day?")
    closed = replace(loop, closed_at="2026", outcome="answered")
    none = WorkingState("t")
    assert diff(replace(none, loops=(loop,)), none).summary() == "1 loop resolved"
    assert diff(replace(none, loops=(loop,)), none).removed["loops"] == (loop,)
    assert diff(replace(none, loops=(closed,)), none).empty
    since = diff(none, replace(none, loops=(closed,)))
    assert since.summary() == "1 loop came and went"
    assert since.lines() == ["+ loop Which day? (question): came and went, answered"]
    again = diff(replace(none, loops=(closed,)), replace(none, loops=(loop,)))
    assert again.summary() == "1 loop reopened"
    assert again.lines() == ["~ loop Which day? (question): reopened"]


def test_what_was_over_may_be_forgotten() -> None:
    """Todos that left their list and intentions that were over are no loss, listed todos are."""
    none = WorkingState("t")
    left = Todo("1", "a", "completed", listed=False)
    over = Intention("1", "a", closed_at="2026")
    assert diff(replace(none, todos=(left,), intentions=(over,)), none).empty
    assert diff(replace(none, todos=(replace(left, listed=True),)), none).summary() == "-1 todo"


def test_an_intention_in_place_of_another_is_one_change() -> None:
    """That the earlier one is superseded goes without saying in the summary."""
    story = Story()
    story(Wants("one", "request", seen()))
    before = story.state
    story(Wants("two", "request", seen()))
    change = diff(before, story.state)
    assert change.summary() == "+1 intention"
    assert change.lines()[0] == "~ intention one (request): closed, superseded"
    story(Wants("two", "request", seen()))
    ended = replace(
        story.state,
        intentions=tuple(replace(each, closed_at="x") for each in story.state.intentions),
    )
    assert diff(story.state, ended).summary() == "~1 intention (1 closed)"


def test_guesses_are_marked() -> None:
    """What was only read from prose counts neither as todo nor as loop."""
    guess = OpenLoop("1", "promise", "will call", confidence="heuristic")
    change = diff(WorkingState(), WorkingState(loops=(guess,)))
    assert change.summary() == "1 guess"
    assert change.lines() == ["+ loop will call (promise) (guessed)"]
    assert not change.empty


def test_a_diff_holds_only_what_changed() -> None:
    """In fifty todos of which one is done and one is moved, the diff has one entry; applied, it
    gives their order as well."""
    before = WorkingState("t", todos=tuple(Todo(f"t{n}", f"step {n}") for n in range(50)))
    listed = list(before.todos)
    listed[3] = replace(listed[3], status="completed")
    listed.insert(0, listed.pop(40))
    after = replace(before, todos=tuple(listed))
    change = diff(before, after)
    assert [each.item.id for each in change.changes["todos"]] == ["t3"]
    assert change.summary() == "~1 todo (1 completed)"
    assert len(change.to_json()) < len(after.to_json()) / 10
    assert change.to_dict()["changes"]["todos"][0]["new"] == {"status": "completed"}
    assert change.apply(before, strict=True).state == after


# ---- on other states


def test_a_third_state_keeps_its_own() -> None:
    """Fields that the diff does not touch stay, new items come once, and what does not fit is
    named: an item that is not there, which is added as it was changed, and one that was changed
    otherwise."""
    a = WorkingState("t", todos=(Todo("1", "write"), Todo("2", "test"), Todo("3", "ship")))
    b = replace(
        a,
        todos=(
            Todo("1", "write", "completed"),
            Todo("2", "test", "in_progress"),
            Todo("4", "rest"),
        ),
    )
    c = replace(
        a,
        todos=(
            Todo("9", "own"),
            Todo("1", "write", priority="high"),
            Todo("3", "ship it", "in_progress"),
            Todo("8", "Rest."),
        ),
    )
    state, left = diff(a, b).apply(c)
    assert [(each.id, each.content, each.status) for each in state.todos[:3]] == [
        ("9", "own", "pending"),
        ("1", "write", "completed"),
        ("3", "ship it", "in_progress"),
    ]
    assert state.todos[1].priority == "high"
    assert {each.id for each in state.todos} == {"9", "1", "2", "3", "8"}
    assert [(each.id, each.field) for each in left][:2] == [("2", None), ("3", None)]
    assert str(left[0]) == "todos 2 (test) is not there"
    assert str(left[1]) == "todos 3 (ship) was changed"
    with pytest.raises(InvalidInput, match=r"todos 2 \(test\) is not there"):
        diff(a, b).apply(c, strict=True)


def test_a_diff_twice_is_a_diff_once() -> None:
    """Its changes are known where they are already."""
    story = Story()
    story(plan("write", "test"), asks("i1"))
    before = story.state
    story(plan(Listed("write", "completed"), "ship"), Settles(("interrupt",), "ok", seen(), "i1"))
    change = diff(before, story.state)
    assert change.apply(story.state, strict=True).state == story.state


def test_a_field_that_is_otherwise_is_named() -> None:
    """A status that is neither the old nor the new one stays, and is reported."""
    a, b = WorkingState("t", "cp1", status="idle"), WorkingState("t", "cp2", status="due")
    state, (only,) = diff(a, b).apply(WorkingState("v", "cp7", status="error"))
    assert (state.status, state.checkpoint_id, state.thread_id) == ("error", "cp7", "v")
    assert str(only) == "state status is 'error', not 'idle'"


# ---- JSON


# ---- values of channels


def test_messages_are_compared_by_id() -> None:
    """Appended, edited and removed messages are distinguished from other values."""
    old = [HumanMessage("hi", id="1"), AIMessage("hello", id="2"), AIMessage("bye", id="3")]
    new = [HumanMessage("hi", id="1"), AIMessage("hello you", id="2"), HumanMessage("more", id="4")]
    found = diff_values({"messages": old, "n": 1}, {"messages": new, "n": 1})
    held = found.messages["messages"]
    assert (held.appended, held.edited, held.removed) == ((new[2],), ((old[1], new[1]),), (old[2],))
    assert not found.changed
    assert found.summary() == "+1 message, -1 message, ~1 message"
    assert found.lines() == [
        "+ messages: human 4: more",
        "~ messages: ai 2: hello -> hello you",
        "- messages: ai 3: bye",
    ]
    assert diff_values({}, {"messages": new}).summary() == "+3 messages"
    assert diff_values({"messages": new}, {"messages": []}).summary() == "-3 messages"
    assert diff_values({"messages": old}, {"messages": [*old]}).empty
    assert diff_values({"messages": old}, {"messages": [each.model_copy() for each in old]}).empty
    assert diff_values({"messages": old}, {"messages": old[::-1]}).summary() == "~1 value"
    nameless = [HumanMessage("a"), HumanMessage("a"), HumanMessage("b")]
    assert diff_values({"m": nameless[:1]}, {"m": nameless}).summary() == "+2 messages"


def test_an_edit_of_a_messages_parts_is_an_edit() -> None:
    """Also where Python calls the parts equal."""
    one = AIMessage("x", id="1", additional_kwargs={"n": 1})
    other = AIMessage("x", id="1", additional_kwargs={"n": True})
    assert diff_values({"m": [one]}, {"m": [other]}).summary() == "~1 message"


def test_dicts_are_compared_by_path() -> None:
    """Keys that came, went or changed are named by where they are, to a bounded depth."""
    deep: dict[str, Any] = {"x": 1}
    other: dict[str, Any] = {"x": 2}
    for _ in range(9):
        deep, other = {"d": deep}, {"d": other}
    found = diff_values(
        {"files": {"/a.md": "a", "/b.md": "b", 3: 1}, "gone": None, "deep": deep},
        {"files": {"/a.md": "A", "/c.md": "c", 3: 1}, "came": 0, "deep": other},
    )
    assert found.added == {"came": 0, 'files["/c.md"]': "c"}
    assert found.removed == {"gone": None, 'files["/b.md"]': "b"}
    assert list(found.changed) == ['deep["d"]["d"]["d"]["d"]', 'files["/a.md"]']
    assert found.summary() == "+2 values, -2 values, ~2 values"


class Odd:
    def __init__(self, n: int) -> None:
        self.n = n


@dataclass(frozen=True, slots=True)
class Slotted:
    n: Any


class Raises:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


def _values() -> Sequence[Any]:
    import numpy as np

    long = np.arange(5000)
    longer = long.copy()
    longer[2500] = 7
    return [1, 1.0, True, "1", None, b"1", [1], (1,), [True], {"a": 1}, {"a": 1.0}, {1}, Odd(1),
            Odd(2), Slotted(1), Slotted(2), float("nan"), long, longer, Raises()]  # fmt: skip


def test_values_are_equal_by_type_and_value() -> None:
    """1, 1.0 and True are three values; objects count by what they hold, and one that can't be
    compared is no reason to fail."""
    import copy

    values = _values()
    for n, one in enumerate(values):
        assert diff_values({"v": one}, {"v": copy.deepcopy(one)}).empty, one
        for other in values[n + 1 :]:
            assert not diff_values({"v": one}, {"v": other}).empty, (one, other)


def test_long_values_are_shortened() -> None:
    """A line stays a line, whatever the values are."""
    found = diff_values({"a": "x" * 9999}, {"a": ["y\n" * 9999], "b": {(1, 2): Odd(1)}})
    assert all(len(line) < 200 and "\n" not in line for line in found.lines())
    assert len(found.lines()) == 2


def test_channels_are_part_of_what_a_diff_says() -> None:
    """A diff of two checkpoints reports their values, too."""
    change = diff(state_of("a"), state_of("a", "b"))
    whole = replace(change, channels=diff_values({"n": 1}, {"n": 2}))
    assert whole.summary() == "+1 todo, ~1 value"
    assert whole.lines() == ["+ todo b: pending", "~ n: 1 -> 2"]
    assert whole.to_dict()["channels"] == {"lines": ["~ n: 1 -> 2"]}
    assert not replace(StateDiff(), channels=whole.channels).empty


def test_a_call_and_a_todo_that_changed_can_be_read() -> None:
    """A line shows the call with its arguments, and of a list the entry that changed."""
    call = {"name": "refund", "args": {"order": 7}, "id": "c1"}
    before = {"messages": [], "plan": [{"content": "a", "done": False}, {"content": "b"}]}
    after = {
        "messages": [AIMessage("", id="lc_run--" + "0" * 32, tool_calls=[call])],
        "plan": [{"content": "a", "done": True}, {"content": "b"}],
    }
    lines = diff_values(before, after).lines()
    assert "+ messages: ai: refund(order=7)" in lines
    assert any(line.endswith("a: done false -> true") for line in lines)
