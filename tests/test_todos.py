"""A plan from list to list: which todo is which, when each was seen, changed and finished."""

import pytest

from langgraph_wyrd.state.facts import (
    Listed,
)
from tests.facts import Story, moment, plan


def test_a_todo_goes_through_its_life() -> None:
    """Times say when a todo was first seen, changed and finished; its id stays."""
    story = Story()
    story(plan("a", "b"))
    id = story.todo("a").id
    story(plan(Listed("a", "in_progress"), "b"))
    story(plan(Listed("a", "completed"), "b"))
    done = story.todo("a")
    assert (done.id, done.opened_at, done.changed_at, done.closed_at) == (
        id,
        moment(1).ts,
        moment(3).ts,
        moment(3).ts,
    )
    story(plan("a", "b"))
    assert (story.todo("a").closed_at, story.todo("a").id) == (None, id)


def test_a_todo_that_comes_finished_is_closed_at_once() -> None:
    """A completed entry that was never seen open has both times of its checkpoint."""
    story = Story()
    story(plan(Listed("a", "completed")))
    assert story.todo("a").opened_at == story.todo("a").closed_at == moment(1).ts


def test_an_unfinished_todo_that_vanishes_is_cancelled() -> None:
    """A finished one stays finished; both leave the list and stand before it."""
    story = Story()
    story(plan(Listed("a", "completed"), "b", "c"))
    events = story(plan("c", "other matter"))
    assert [each["body"] for each in events[:2]] == [
        {"listed": False},
        {"status": "cancelled", "listed": False},
    ]
    assert [(t.content, t.status, t.listed) for t in story.state.todos] == [
        ("a", "completed", False),
        ("b", "cancelled", False),
        ("c", "pending", True),
        ("other matter", "pending", True),
    ]
    assert story.todo("a").changed_at is None
    assert story.todo("b").closed_at == moment(2).ts


def test_what_was_cancelled_comes_back_as_itself() -> None:
    """The same words, however spaced and cased, reopen the same todo at its place."""
    story = Story()
    story(plan("alpha", "beta", "gamma"))
    id = story.todo("beta").id
    story(plan("alpha", "gamma"))
    assert story.ops(plan("alpha", " Beta", "gamma")) == [("todo", "change")]
    assert story.plan == [("alpha", "pending"), ("Beta", "pending"), ("gamma", "pending")]
    assert (story.todo("Beta").id, story.todo("Beta").closed_at) == (id, None)


def test_what_was_finished_long_ago_and_is_planned_again_is_another_one() -> None:
    """A recurring step of a new plan does not reopen the one that was done."""
    story = Story()
    story(plan(Listed("run the tests", "completed")))
    story(plan("write it up"))
    story(plan("write it up", "run the tests"))
    same = [todo for todo in story.state.todos if todo.content == "run the tests"]
    assert [todo.status for todo in same] == ["completed", "pending"]
    story(plan("write it up"))
    story(plan(Listed("write it up", "completed")))


def test_the_trackers_own_ids_come_first() -> None:
    """An entry with a known id is that todo, whatever it says now."""
    story = Story()
    story(plan(Listed("search", ref="1"), Listed("write", ref="2")))
    ids = [todo.id for todo in story.state.todos]
    story(plan(Listed("write", ref="1"), Listed("wholly other", ref="2")))
    assert [todo.id for todo in story.state.todos] == ids
    assert story.plan == [("write", "pending"), ("wholly other", "pending")]


def test_a_next_list_numbered_from_one_again_is_new() -> None:
    """Ids that are used again for other matters don't rewrite what was finished."""
    story = Story()
    story(plan(Listed("book a flight", "completed", ref="1"), Listed("pack", "completed", ref="2")))
    story(plan(Listed("read the report", ref="1"), Listed("answer Ann", ref="2")))
    assert [(t.content, t.status) for t in story.state.todos] == [
        ("book a flight", "completed"),
        ("pack", "completed"),
        ("read the report", "pending"),
        ("answer Ann", "pending"),
    ]


def test_a_reworded_todo_keeps_its_id() -> None:
    """Alike words at the same place are a rewrite, also when the list grew before it; wholly
    other words are another todo."""
    story = Story()
    story(plan("fix the login bug", "write docs"))
    id = story.todo("fix the login bug").id
    story(plan("look around", "fix the login bug in auth.py", "deploy everything"))
    assert story.todo("fix the login bug in auth.py").id == id
    assert story.todo("write docs").status == "cancelled"
    assert story.todo("deploy everything").id not in (id, story.todo("write docs").id)


@pytest.mark.parametrize(("before", "after"), [("fix bug", "fix door"), ("日本語", "英本語")])
def test_half_of_the_words_are_not_enough(before: str, after: str) -> None:
    """An entry that has no more than half of its words in common with what it was is another."""
    story = Story()
    story(plan(before))
    story(plan(after))
    assert story.todo(before).status == "cancelled"


def test_one_todo_is_reworded_once() -> None:
    """Of two entries in words alike one is the todo that was there, the other one is new."""
    story = Story()
    story(plan("fix the login bug"))
    id = story.todo("fix the login bug").id
    story(plan("fix the login bug now", "fix the login bug well"))
    assert story.todo("fix the login bug now").id == id
    assert story.todo("fix the login bug well").id != id


def test_a_finished_todo_is_not_reworded_into_an_open_one() -> None:
    """The next of a series is a new todo, not the finished one in other words."""
    story = Story()
    story(plan(Listed("write tests for module one", "completed")))
    story(plan("write tests for module two"))
    assert story.todo("write tests for module one").status == "completed"
    assert story.todo("write tests for module two").opened_at == moment(2).ts


def test_equal_contents_are_distinguished_by_their_order() -> None:
    """Two todos in the same words stay two."""
    story = Story()
    story(plan("again", "again"))
    first, second = (todo.id for todo in story.state.todos)
    story(plan(Listed("again", "completed"), "again"))
    assert [(t.id, t.status) for t in story.state.todos] == [
        (first, "completed"),
        (second, "pending"),
    ]
    story(plan("again"))
    assert {todo.id for todo in story.state.todos} == {first, second}


def test_a_reordered_list_is_one_event() -> None:
    """The event holds only the new order of the entries that stay."""
    story = Story()
    story(plan("aaaa", "bbbb", "cccc", "dddd"))
    ids = {todo.content: todo.id for todo in story.state.todos}
    assert story.ops(plan("dddd", "aaaa", "cccc", "bbbb")) == [("todo", "change")]
    assert [content for content, _ in story.plan] == ["dddd", "aaaa", "cccc", "bbbb"]
    assert {todo.content: todo.id for todo in story.state.todos} == ids


def test_of_what_left_in_the_same_words_the_latest_comes_back() -> None:
    """A finished step that is listed as finished once more is the last one of its words."""
    story = Story()
    story(plan(Listed("ship it", "completed")))
    story(plan("other"))
    story(plan("ship it"))
    story(plan(Listed("ship it", "completed")))
    latest = story.state.todos[-1].id
    story(plan("other"))
    story(plan(Listed("ship it", "completed")))
    assert story.state.todos[-1].id == latest
    assert len([todo for todo in story.state.todos if todo.content == "ship it"]) == 2


def test_ids_of_the_tracker_distinguish_equal_words() -> None:
    """Two entries in the same words that change places keep their ids."""
    story = Story()
    story(plan(Listed("again", ref="1"), Listed("again", "in_progress", ref="2")))
    ids = {todo.ref: todo.id for todo in story.state.todos}
    story(plan(Listed("again", "completed", ref="2"), Listed("again", ref="1")))
    assert {todo.ref: todo.id for todo in story.state.todos} == ids
    assert [todo.status for todo in story.state.todos] == ["completed", "pending"]


def test_words_alike_under_another_id_are_another_todo() -> None:
    """The tracker says that it is not the same."""
    story = Story()
    story(plan(Listed("fix the login bug", ref="1")))
    story(plan(Listed("fix the login page", ref="2")))
    assert story.todo("fix the login bug").status == "cancelled"


def test_what_was_cancelled_comes_back_by_its_id() -> None:
    """In words alike it is the same todo, in entirely different words another one."""
    story = Story()
    story(plan(Listed("fix the login bug", ref="1"), Listed("write docs", ref="2")))
    ids = [todo.id for todo in story.state.todos]
    story(plan())
    story(plan(Listed("fix the login bug now", ref="1"), Listed("call Ada", ref="2")))
    assert story.todo("fix the login bug now").id == ids[0]
    assert story.todo("call Ada").id not in ids


def test_a_full_stop_makes_no_other_todo() -> None:
    """What comes back with or without its full stop is the same."""
    story = Story()
    story(plan("Write docs.", "x"))
    id = story.todo("Write docs.").id
    story(plan("x"))
    story(plan("x", "write  docs"))
    assert story.state.todos[-1].id == id


def test_a_list_of_which_every_entry_is_reworded() -> None:
    """Each keeps its id, in any script."""
    story = Story()
    before = [
        f"{name} chapter draft" for name in ("alpha", "beta", "gamma", "delta", "eps", "zeta")
    ]
    story(plan(*before, "登录页面的错误修复"))
    ids = [todo.id for todo in story.state.todos]
    story(plan(*(f"{text} carefully" for text in before), "修复登录页面的错误"))
    assert [todo.id for todo in story.state.todos] == ids


def test_todos_are_reworded_between_the_same_neighbours() -> None:
    """What stands between two entries that stayed is looked for there, not elsewhere."""
    story = Story()
    story(plan("write the first chapter", "stays", "write the other chapter"))
    ids = [todo.id for todo in story.state.todos]
    story(plan("write the other chapter now", "stays", "write the first chapter now"))
    assert [todo.id for todo in story.state.todos] == ids


def test_an_insertion_is_one_event() -> None:
    """A list that grew in its middle is one event."""
    story = Story()
    story(plan("aaaa", "bbbb"))
    (event,) = story(plan("aaaa", "nnnn", "bbbb"))
    assert event["body"] == {"content": "nnnn", "place": 1}
    (event,) = story(plan("aaaa", "nnnn", "bbbb", "last"))
    assert event["body"] == {"content": "last"}
    story(plan("aaaa", "nnnn", "bbbb"))
    assert [content for content, _ in story.plan] == ["aaaa", "nnnn", "bbbb"]
    events = story(plan("aaaa", "nnnn", "bbbb", "cccc", "dddd"))
    assert [each["body"] for each in events] == [{"content": "cccc"}, {"content": "dddd"}]


def test_trackers_do_not_disturb_each_other() -> None:
    """Each tracker's list is its own, also when words and ids are the same."""
    story = Story()
    story(plan("a", Listed("b", ref="1")), plan(Listed("b", ref="1"), tracker="tool:other"))
    ids = {(todo.tracker, todo.content): todo.id for todo in story.state.todos}
    assert len(set(ids.values())) == 3
    story(plan(tracker="tool:other"))
    assert story.plan == [("a", "pending"), ("b", "pending")]
    assert story.ops(plan("a", Listed("b", ref="1"))) == []
    story(plan("b", tracker="tool:other"))
    back = [todo for todo in story.state.todos if todo.tracker == "tool:other"]
    assert [(todo.id, todo.status) for todo in back] == [(ids["tool:other", "b"], "pending")]


def test_what_a_list_leaves_unsaid_stays() -> None:
    """Extra fields join those that are known, an id that is not repeated is kept, and priority is
    as listed."""
    story = Story()
    story(plan(Listed("a", priority="high", ref="7", extra={"activeForm": "Doing a", "n": 1})))
    story(plan(Listed("a", "in_progress", extra={"n": 2})))
    todo = story.todo("a")
    assert (todo.ref, todo.extra, todo.priority) == (
        "7",
        {"activeForm": "Doing a", "n": 2},
        "medium",
    )
