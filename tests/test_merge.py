"""Two states that come from one, in one again."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.diff import apply, diff
from langgraph_wyrd.state.merge import Conflict, Merged, item_fields, merge
from langgraph_wyrd.state.model import (
    PILLARS,
    ContextItem,
    Due,
    OpenLoop,
    Todo,
    WorkingState,
)
from tests.facts import Story, plan
from tests.test_diff import as_json, some_states

BASE = WorkingState(
    "t",
    "cp1",
    todos=(Todo("1", "write"), Todo("2", "test"), Todo("3", "ship")),
    context=(ContextItem("c", "budget", 10),),
    loops=(OpenLoop("l", "question", "Which day?", ref="m1"),),
)


def todos(*held: Todo, **more: Any) -> WorkingState:
    return replace(BASE, todos=held, **more)


# ---- laws


@settings(max_examples=60, deadline=None)
@given(some_states(2))
def test_one_side_alone_is_the_result(states: list[WorkingState]) -> None:
    """What only one side changed, or both alike, comes out to the last field and in its order,
    without a conflict."""
    b, x = states
    for base, ours, theirs in ((b, x, b), (b, b, x), (b, x, x)):
        state, conflicts = merge(base, ours, theirs)
        assert conflicts == ()
        assert as_json(state) == as_json(x)


def fields(state: WorkingState, but: set[tuple[str, str]]) -> Counter[str]:
    """All items in any order, without those of conflicts."""
    return Counter(
        as_json(WorkingState(**{name: (item,)}))
        for name in PILLARS
        for item in getattr(state, name)
        if (name, item.id) not in but
    )


@settings(max_examples=60, deadline=None)
@given(some_states(3))
def test_sides_are_alike(states: list[WorkingState]) -> None:
    """With the sides swapped the same comes out but for the order, and the same conflicts seen
    from the other side. (Of states as they are made: no id twice.)"""
    b, o, t = states
    held = [getattr(each, name) for each in states for name in PILLARS]
    assume(all(len({item.id for item in items}) == len(items) for items in held))
    one, other = merge(b, o, t), merge(b, t, o)
    swapped = [replace(each, ours=each.theirs, theirs=each.ours) for each in other.conflicts]
    assert sorted(map(repr, one.conflicts)) == sorted(map(repr, swapped))
    but = {(each.pillar, each.id) for each in one.conflicts}
    assert fields(one.state, but) == fields(other.state, but)
    for name in PILLARS:
        assert len(getattr(one.state, name)) == len(getattr(other.state, name))


@settings(max_examples=50, deadline=None)
@given(some_states(3))
def test_a_conflict_says_what_was_taken(states: list[WorkingState]) -> None:
    """Each conflict has two different sides; ours is in the merged state, and an item that one
    side removed is there."""
    b, o, t = states
    state, conflicts = merge(b, o, t)
    for each in conflicts:
        assert repr(each.ours) != repr(each.theirs)
        if each.pillar == "state":
            assert repr(getattr(state, str(each.field))) == repr(each.ours)
            continue
        items = [item for item in getattr(state, each.pillar) if item.id == each.id]
        if each.field is None:
            assert (each.ours or each.theirs) in getattr(state, each.pillar)
        elif len(items) == 1 and each.field != "open":
            assert repr(item_fields(items[0]).get(each.field)) == repr(each.ours)


# ---- cases


def test_what_is_no_state_or_no_diff_is_refused() -> None:
    """The error of each names the verb that was meant."""
    changes = diff(BASE, todos())
    for wrong in (lambda: merge(BASE, changes), lambda: merge(BASE, BASE, changes)):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"use apply\(state, diff\)"):
            wrong()
    with pytest.raises(InvalidInput, match="takes a StateDiff, not WorkingState"):
        apply(BASE, BASE)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="takes two WorkingStates, not int"):
        diff(BASE, 5)  # type: ignore[arg-type]


def test_two_people_work_on_one_state() -> None:
    """Changes of different items, and of different fields of one item, all count."""
    one, two, three = BASE.todos
    ours = todos(replace(one, status="completed", closed_at="2026"), two, three, Todo("4", "mine"))
    theirs = todos(
        replace(one, priority="high"), replace(two, content="test it"), Todo("5", "theirs")
    )
    state, conflicts = merge(BASE, ours, theirs)
    assert conflicts == ()
    assert [(each.content, each.status, each.priority) for each in state.todos] == [
        ("write", "completed", "high"),
        ("test it", "pending", "medium"),
        ("mine", "pending", "medium"),
        ("theirs", "pending", "medium"),
    ]
    assert state.todos[0].closed_at == "2026"


def test_the_same_field_changed_twice_is_a_conflict() -> None:
    """Ours is taken, whole: its times come with it. Theirs is listed."""
    one, *rest = BASE.todos
    ours = todos(replace(one, status="in_progress"), *rest)
    theirs = todos(replace(one, status="completed", closed_at="2026"), *rest)
    state, conflicts = merge(BASE, ours, theirs)
    assert conflicts == (Conflict("todos", "1", "status", "pending", "in_progress", "completed"),)
    assert state.todos[0] == ours.todos[0]
    state, conflicts = merge(BASE, theirs, ours)
    assert conflicts == (Conflict("todos", "1", "status", "pending", "completed", "in_progress"),)
    assert state.todos[0] == theirs.todos[0]


def test_times_alone_are_no_conflict() -> None:
    """Both sides finished the same thing at different times: one of the times, whichever side is
    ours."""
    (loop,) = BASE.loops
    closed = [replace(loop, closed_at=f"2026-0{n}", outcome="answered") for n in (1, 2)]
    ours, theirs = (replace(BASE, loops=(each,)) for each in closed)
    assert merge(BASE, ours, theirs) == merge(BASE, theirs, ours) == Merged(theirs)


def test_a_loop_that_closed_in_two_ways_is_a_conflict() -> None:
    """Outcomes contradict each other; an open loop that one side closed is closed."""
    (loop,) = BASE.loops
    ours = replace(BASE, loops=(replace(loop, closed_at="1", outcome="answered"),))
    theirs = replace(BASE, loops=(replace(loop, closed_at="2", outcome="given up"),))
    state, conflicts = merge(BASE, ours, theirs)
    assert conflicts == (Conflict("loops", "l", "outcome", None, "answered", "given up"),)
    assert state.loops == ours.loops
    other = replace(BASE, loops=(replace(loop, description="Which day, please?"),))
    state, conflicts = merge(BASE, ours, other)
    assert conflicts == ()
    assert (state.loops[0].outcome, state.loops[0].description) == (
        "answered",
        "Which day, please?",
    )


@pytest.mark.parametrize("swap", [False, True])
def test_what_one_side_changed_the_other_cannot_remove(swap: bool) -> None:
    """The item stays and the conflict says so; an unchanged one is removed."""
    one, two, three = BASE.todos
    changed = replace(two, status="in_progress")
    sides = [todos(one), todos(one, changed, three)]
    ours, theirs = sides[::-1] if swap else sides
    state, conflicts = merge(BASE, ours, theirs)
    assert state.todos == (one, changed)
    gone = (changed, None) if swap else (None, changed)
    assert conflicts == (Conflict("todos", "2", None, two, *gone),)


def test_both_added_the_same() -> None:
    """The same content once, whatever its id; under one key two values are a conflict."""
    ours = todos(*BASE.todos, Todo("8", "Call them"), context=(ContextItem("7", "city", "Oslo"),))
    theirs = todos(*BASE.todos, Todo("9", "call them"), context=(ContextItem("6", "city", "Rome"),))
    state, conflicts = merge(replace(BASE, context=()), ours, theirs)
    assert [each.content for each in state.todos] == ["write", "test", "ship", "Call them"]
    assert [each.value for each in state.context] == ["Oslo"]
    assert [(each.field, each.ours, each.theirs) for each in conflicts] == [
        ("content", "Call them", "call them"),
        ("value", "Oslo", "Rome"),
    ]


def test_two_additions_under_one_id_both_stay() -> None:
    """Ids come from the place, so two that edit the same head at once may give one id twice."""
    story = Story()
    story(plan("write"))
    sides = [Story(story.state, story.n) for _ in range(2)]
    sides[0](plan("write", "call Ann"))
    sides[1](plan("write", "pay Bob"))
    ours, theirs = (each.state for each in sides)
    assert ours.todos[1].id == theirs.todos[1].id
    state, conflicts = merge(story.state, ours, theirs)
    other, _ = merge(story.state, theirs, ours)
    assert conflicts == ()
    assert sorted(each.content for each in state.todos) == ["call Ann", "pay Bob", "write"]
    assert len({each.id for each in state.todos}) == 3
    assert {each.id: each for each in state.todos} == {each.id: each for each in other.todos}


def test_an_order_that_one_side_changed_stays() -> None:
    """New items of the other side come after what they followed there."""
    one, two, three = BASE.todos
    moved = todos(three, one, two)
    grown = todos(one, Todo("4", "review"), two, three)
    for ours, theirs in ((moved, grown), (grown, moved)):
        state, conflicts = merge(BASE, ours, theirs)
        assert [each.id for each in state.todos] == ["3", "1", "4", "2"]
        assert conflicts == ()


def test_the_state_itself_is_merged() -> None:
    """Status, reason and due belong together; where it stands is the later checkpoint."""
    ours = replace(BASE, checkpoint_id="cp3", status="due", reason="next: a", due=(Due("a"),))
    theirs = replace(BASE, checkpoint_id="cp2", title="a title")
    state, conflicts = merge(BASE, ours, theirs)
    assert conflicts == ()
    assert state == replace(ours, title="a title")
    theirs = replace(theirs, status="error", reason="failed")
    state, conflicts = merge(BASE, ours, theirs)
    assert conflicts == (Conflict("state", "", "status", "idle", "due", "error"),)
    assert (state.status, state.reason, state.due) == ("due", "next: a", (Due("a"),))
