"""A working state in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import (
    ContextItem,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.status import with_status


def at(minutes: int) -> str:
    start = datetime(2026, 3, 10, 12, 0, tzinfo=timezone.utc)
    return (start - timedelta(minutes=minutes)).isoformat()


TRIP = WorkingState(
    thread_id="trip-42",
    checkpoint_id="cp9",
    ts=at(0),
    title="Book a week in Rome",
    todos=(
        Todo("t-0", "Ask Ada", "cancelled", closed_at=at(70), listed=False),
        Todo("t-1", "Find flights", "completed", opened_at=at(90), closed_at=at(60)),
        Todo("t-2", "Check the museum", priority="high", opened_at=at(90)),
        Todo("t-3", "Book flights", "in_progress", opened_at=at(90), changed_at=at(60)),
        Todo("t-4", "Perhaps trains", confidence="heuristic"),
    ),
    context=(ContextItem("c-1", "budget", 2000), ContextItem("c-2", "notes", ["all " * 60])),
    loops=(
        OpenLoop(
            "l-1",
            "tool_call",
            'search_hotels {"city": "Rome"}',
            ref="call_7",
            opened_at=at(60 * 24 * 9),
            source=Source(node="model", message_id="m2", tool_call_id="call_7"),
        ),
        OpenLoop("l-2", "request", "hello", opened_at=at(99), closed_at=at(98), outcome="answered"),
        OpenLoop(
            "l-3", "promise", "will look into trains", opened_at=at(5), confidence="heuristic"
        ),
        OpenLoop(
            "l-4",
            "interrupt",
            "approve book_flight?",
            opened_at=at(0),
            source=Source(node="tools", ns="travel:7f|book:8a"),
        ),
        OpenLoop(
            "l-5",
            "question",
            "Which\ndates?",
            opened_at=at(3 * 60),
            source=Source(message_id="m3"),
        ),
    ),
    intentions=(
        Intention("i-1", "Book a week in Rome, under 2000 euros", opened_at=at(100)),
        Intention("i-2", "guess", confidence="heuristic"),
    ),
    due=(Due("tools"),),
    status="interrupted",
    reason="node tools asks: approve book_flight?",
)

WHOLE = """\
Where things stand in thread trip-42, 2026-03-10 12:00 UTC
Intention: [i-1] Book a week in Rome, under 2000 euros (request, 1 h ago)
Status: interrupted, node tools asks: approve book_flight?
Due: tools

Open loops (3):
- [l-4] waits for a person: approve book_flight? (just now, node tools, in travel/book)
- [l-1] tool call without a recorded result, verify before redoing: search_hotels \
{"city": "Rome"} (9 days ago, STALE, node model, call call_7)
- [l-5] asked, not answered: Which dates? (3 h ago)

Open todos (2):
- [t-2] pending: Check the museum (high priority, 1 h ago)
- [t-3] in progress: Book flights (1 h ago)

Context (2):
- budget: 2000
- notes: ["all all all all all all all all all all all all all all all all all all all all \
all all all all…

Lately over (3):
- completed: Find flights
- cancelled: Ask Ada
- answered: hello (request)"""


def many(count: int, context: int = 0) -> WorkingState:
    kinds = ("note", "tool_call", "question", "interrupt")
    return WorkingState(
        thread_id="t",
        ts=at(0),
        todos=tuple(Todo(f"t-{n}", f"todo number {n}") for n in range(count)),
        loops=tuple(
            OpenLoop(f"l-{n}", kinds[n % 4], f"loop number {n}", opened_at=at(n))  # type: ignore[arg-type]
            for n in range(count)
        ),
        context=tuple(ContextItem(f"c-{n}", f"key{n}", n) for n in range(context)),
        status="idle",
    )


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noon of the day that the states are of."""
    monkeypatch.setattr(
        "langgraph_wyrd.state.brief.now_in_utc", lambda: datetime.fromisoformat(at(0))
    )


def test_a_brief_reads_like_this() -> None:
    """Intention, status, what is open with id, kind, age and source, then the rest; guesses and
    line breaks stay out."""
    assert TRIP.brief() == WHOLE


def test_standing_orders_come_first_and_go_last() -> None:
    """What was pinned comes before all else, at length, and is the last to be left out."""
    orders = ("never promise a date " * 9).strip()
    pinned = ContextItem("c-0", "tone", orders, {"pinned": True}, confidence="declared")
    state = replace(many(40, context=5), context=(*many(0, context=5).context, pinned))
    whole = state.brief()
    assert whole.index(f"Standing orders (1):\n- tone: {orders}\n") < whole.index("Open loops (40)")
    assert "Context (5):" in whole
    short = state.brief(max_chars=500)
    assert f"- tone: {orders}" in short
    assert "Left out:" in short
    assert "5 more context entries" in short
    only = WorkingState(context=(pinned,)).brief()
    assert only.endswith(f"Nothing is open.\n\nStanding orders (1):\n- tone: {orders}")


def test_an_empty_state_says_so() -> None:
    """A thread of which nothing is known has a brief too."""
    assert WorkingState().brief() == (
        "Where things stand\nIntention: none known\nStatus: idle\nNothing is open."
    )


def test_the_same_state_gives_the_same_words() -> None:
    """A brief hangs on the state only, also when it went through JSON."""
    assert WorkingState.from_dict(TRIP.to_dict()).brief() == WHOLE


def test_ages_are_counted_up_to_now() -> None:
    """Not up to the checkpoint: a week later nothing is "just now"."""
    later = datetime(2026, 3, 18, 12, 30)  # taken for UTC
    words = TRIP.brief(now=later)
    assert "approve book_flight? (8 days ago, STALE, node tools" in words
    assert words.count("STALE") == 6
    assert "STALE" not in TRIP.brief(now=later, stale_after=None)
    assert TRIP.brief(now=later, stale_after=timedelta(days=17)).count("STALE") == 1


@pytest.mark.parametrize("ts", [None, "yesterday"])
def test_without_times_there_are_no_ages(ts: str | None) -> None:
    """An item without a usable time is shown without its age; a state's own time is not needed."""
    assert "(3 h ago)" in replace(TRIP, ts=ts).brief()
    loops = (OpenLoop("l-1", "note", "x", opened_at=ts),)
    assert "- [l-1] noted: x\n" in WorkingState(ts=at(0), loops=loops).brief() + "\n"


def test_times_of_any_iso_form_are_read() -> None:
    """`Z`, other offsets, and a clock that ran behind."""
    loops = (
        OpenLoop("l-1", "note", "x", opened_at="2026-03-10T11:00:00Z"),
        OpenLoop("l-2", "note", "y", opened_at="2026-03-10T11:00:00+02:00"),
        OpenLoop("l-3", "note", "z", opened_at="2026-03-10T13:00:00+00:00"),
    )
    words = WorkingState(ts="2026-03-10T12:00:00Z", loops=loops).brief()
    assert "x (1 h ago)" in words
    assert "y (3 h ago)" in words
    assert "z (just now)" in words


def test_what_changed_lately_is_not_stale() -> None:
    """Stale means that nothing moved; the age is since it was opened."""
    todo = Todo("t-1", "x", opened_at=at(60 * 24 * 30), changed_at=at(60))
    assert "pending: x (30 days ago)" in WorkingState(ts=at(0), todos=(todo,)).brief()
    stale = replace(todo, changed_at=None)
    assert "x (30 days ago, STALE)" in WorkingState(ts=at(0), todos=(stale,)).brief()


def test_guesses_only_when_asked_for_and_apart() -> None:
    """Heuristic items have a section of their own."""
    words = TRIP.brief(guesses=True)
    assert words == WHOLE + (
        "\n\nGuessed from prose (3):\n"
        "- [l-3] promised: will look into trains (5 min ago)\n"
        "- [t-4] pending: Perhaps trains\n"
        "- [i-2] guess (request)"
    )


def test_the_title_is_said_when_the_intention_is_another() -> None:
    """A thread that moved on from its first request says both."""
    moved = replace(TRIP, intentions=(Intention("i-9", "Cancel everything"),))
    assert "\nTitle: Book a week in Rome\nIntention: [i-9] Cancel everything" in moved.brief()
    assert (
        "\nTitle: Book a week in Rome\nIntention: none known"
        in replace(TRIP, intentions=()).brief()
    )
    done = Intention("i-9", "Cancel", closed_at=at(60), closed_in="c", outcome="answered")
    words = replace(TRIP, intentions=(done,)).brief()
    assert "Intention: none now; last: Cancel (answered, 1 h ago)" in words


def test_in_little_room_the_open_loop_survives() -> None:
    """At 300 characters the reader still learns what holds the thread up."""
    state = replace(TRIP, thread_id="3f2504e0-4f89-11d3-9a0c-0305e82c3301")
    for most in (300, 200, 160):
        words = state.brief(max_chars=most)
        assert len(words) <= most
        assert "[l-4] waits for a person: approve book_flight?" in words, most


def test_in_little_room_every_open_loop_that_fits_is_named() -> None:
    """Where not even the head fits next to them, the weightiest loops stand alone."""
    loops = tuple(
        OpenLoop(f"l-{n}", "question", f"Which of the {n} folders shall it be?", opened_at=at(n))
        for n in range(2, 7)
    )
    state = replace(TRIP, loops=loops, todos=(), title="T" * 200)
    words = state.brief(max_chars=300)
    assert len(words) <= 300
    assert words.count("folders") == 4
    assert "Left out: 1 more open loop" in words


def test_what_was_not_read_is_not_said_to_be_closed() -> None:
    """A thread that was stored without being read never has "nothing open"."""
    state = with_status(WorkingState(thread_id="t"), due=(), read=False)
    assert state.status == "unread"
    assert "What is open here was not read yet." in state.brief()
    assert "Nothing is open" not in state.brief()


def test_only_the_last_of_what_is_over() -> None:
    """With more than five closed items it says how many there are."""
    loops = tuple(
        OpenLoop(f"l-{n}", "note", f"note {n}", closed_at=at(n), outcome="done") for n in range(9)
    )
    words = WorkingState(loops=loops).brief()
    assert "Lately over (last 5 of 9):\n- done: note 0 (note)" in words
    assert "note 5" not in words


def test_of_what_ended_together_the_later_comes_first() -> None:
    """The order does not hang on times alone."""
    loops = tuple(
        OpenLoop(f"l-{n}", "note", f"note {n}", closed_at=at(0), outcome="done") for n in range(3)
    )
    words = WorkingState(loops=loops).brief()
    assert words.index("note 2") < words.index("note 1") < words.index("note 0")


def test_what_is_due_is_said_once() -> None:
    """A status that names the due nodes needs no line of its own for them."""
    due = tuple(Due("worker", n) for n in range(3))
    words = WorkingState(due=due, status="due", reason="next: worker (3 times)").brief()
    assert words.count("worker") == 1
    failed = WorkingState(due=due, status="error", reason="node a failed").brief()
    assert "\nDue: worker (3 times)" in failed


def test_kinds_of_later_releases_are_named() -> None:
    """An unknown kind is no reason to leave a loop out."""
    loop = OpenLoop("l-1", "omen", "ravens")  # type: ignore[arg-type]
    assert "- [l-1] omen: ravens" in WorkingState(loops=(loop,)).brief()


def test_a_long_list_is_complete() -> None:
    """Without max_chars nothing that is open is left out, the weightiest kinds first."""
    words = many(500, 40).brief()
    lines = words.splitlines()
    assert sum(line.startswith("- [l-") for line in lines) == 500
    assert sum(line.startswith("- [t-") for line in lines) == 500
    assert sum(line.startswith("- key") for line in lines) == 40
    kinds = [line.partition("]")[2] for line in lines if "[l-" in line]
    assert kinds == sorted(kinds, key=_rank)


def _rank(words: str) -> int:
    starts = (" waits", " tool call", " asked", " noted")
    return next(n for n, start in enumerate(starts) if words.startswith(start))


def test_what_is_cut_is_counted() -> None:
    """Context goes first, then what is over, then todos, then loops, and the last line says how
    many of what are missing."""
    state = many(6, 20)
    full = state.brief()
    short = state.brief(max_chars=len(full) - 1)
    assert short.endswith("\n\nLeft out: 3 more context entries")
    assert short.count("- key") == 17
    assert short.count("- [") == 12
    less = state.brief(max_chars=600)
    assert less.endswith("Left out: 5 more todos, 20 more context entries")
    assert less.count("- [t-") == 1
    assert less.count("- [l-") == 6
    assert "Context" not in less
    least = state.brief(max_chars=300)
    assert least.endswith("Left out: 5 more open loops, 6 more todos, 20 more context entries")
    assert least.count("- [l-") == 1
    assert "Open todos" not in least


def test_a_todo_in_progress_stays_longer_than_a_pending_one() -> None:
    """When todos must go, those that nobody works on go first."""
    state = WorkingState(
        todos=(
            *(Todo(f"t-{n}", f"pending thing number {n}") for n in range(5)),
            Todo("t-9", "the current thing", "in_progress"),
        )
    )
    words = state.brief(max_chars=160)
    assert "the current thing" in words
    assert words.endswith("Left out: 5 more todos")


def test_one_is_not_several() -> None:
    """A single thing that is missing is said in the singular."""
    words = many(3, 1).brief()
    assert many(3, 1).brief(max_chars=len(words)) == words
    context = (ContextItem("c", "long", "x" * 90),)
    state = WorkingState(context=context)
    assert state.brief(max_chars=110).endswith("Left out: 1 more context entry")


def test_negative_lengths_are_refused() -> None:
    """A length below nothing is a mistake of the caller."""
    with pytest.raises(InvalidInput, match="max_chars"):
        TRIP.brief(max_chars=-1)


@settings(max_examples=75, deadline=None)
@given(
    st.integers(0, 2000),
    st.sampled_from([TRIP, many(0), many(1), many(7, 30), many(60, 3), WorkingState()]),
    st.booleans(),
)
def test_a_brief_is_never_longer_than_asked(most: int, state: WorkingState, guesses: bool) -> None:
    """Whatever the length, it is kept, and what is left out is counted as far as there is room."""
    words = state.brief(max_chars=most, guesses=guesses)
    assert len(words) <= most
    whole = state.brief(guesses=guesses)
    if len(whole) <= most:
        assert words == whole
    elif most >= 160:  # room for the last line
        counts = dict.fromkeys(("open loop", "todo", "context entr", "guess"), 0)
        for part in words.rpartition("Left out: ")[2].split(", "):
            number, _, what = part.partition(" more ")
            for kind in counts:
                counts[kind] += int(number) if what.startswith(kind) else 0
        body = "\n" + words.partition("Guessed")[0]
        assert body.count("\n- [l-") + counts["open loop"] == len(state.open_loops)
        assert body.count("\n- [t-") + counts["todo"] == len(state.open_todos) - (state is TRIP)


def test_as_much_is_said_as_there_is_room_for() -> None:
    """At every length: no longer than asked, and a brief fits into its own length."""
    for state in (many(4, 6), TRIP):
        whole = state.brief(guesses=True)
        for most in range(len(whole) + 1):
            words = state.brief(max_chars=most, guesses=True)
            assert len(words) <= most
            assert state.brief(max_chars=len(words), guesses=True) == words


def test_an_unprintable_value_is_described() -> None:
    """A context value that is no JSON, which only code can make, does not break a brief."""
    value: Any = {"when": datetime(2026, 1, 1)}
    assert "datetime" in WorkingState(context=(ContextItem("c", "k", value),)).brief()


@pytest.mark.usefixtures("behind_utc")
def test_ages_count_up_to_a_local_time() -> None:
    """`now` without a zone is local, as Python has it."""
    opened = datetime.now(timezone.utc) - timedelta(hours=2, minutes=5)
    state = WorkingState(loops=(OpenLoop("l", "note", "it", opened_at=opened.isoformat()),))
    assert "(2 h ago)" in state.brief(now=datetime.now())
