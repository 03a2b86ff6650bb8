"""Facts of every kind, states that facts lead to, and strategies that make both."""

import enum
import json
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from langgraph_wyrd.state.draft import (
    replay,
)
from langgraph_wyrd.state.events import Event, Moment, item_id
from langgraph_wyrd.state.facts import (
    Drops,
    Fact,
    Forgets,
    Holds,
    Listed,
    Opens,
    Reopens,
    Resumes,
    Settles,
    Todos,
    Wants,
)
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import (
    Source,
    Todo,
    WorkingState,
)


def moment(n: int, ns: str = "", task: str = "") -> Moment:
    return Moment(f"cp{n:04}", ns, f"2026-03-01T{n // 60:02}:{n % 60:02}:00+00:00", task)


def seen(rule: str = "rule", **where: Any) -> Source:
    return Source(rule=rule, **where)


def call(ref: str = "c1", text: str = "search", **where: Any) -> Opens:
    return Opens("tool_call", text, seen("calls", tool_call_id=ref, **where), ref)


def asks(ref: str = "i1", text: str = "approve?", node: str = "tools", task: str = "t1") -> Opens:
    return Opens("interrupt", text, seen("interrupt", node=node, task_id=task), ref)


def fails(task: str = "t1", text: str = "ValueError: no", node: str = "tools") -> Opens:
    return Opens("error", text, seen("task_error", node=node, task_id=task), task)


def plan(*items: Any, tracker: str = "todos", status: str = "pending") -> Todos:
    made = [each if isinstance(each, Listed) else Listed(each, status) for each in items]  # type: ignore[arg-type]
    return Todos(tracker, tuple(made), seen("todos"))


def through_json(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(Event.from_dict(json.loads(json.dumps(each.to_dict()))) for each in events)


class Story:
    """A state that goes on, fact by fact; each step is also replayed from JSON."""

    def __init__(self, state: WorkingState | None = None, n: int = 0) -> None:
        self.state = WorkingState(thread_id="t") if state is None else state
        self.n = n

    def __call__(self, *facts: Fact) -> list[dict[str, Any]]:
        self.n += 1
        before = self.state
        self.state, events = fold(before, facts, moment(self.n))
        assert replay(before, through_json(events), moment(self.n)) == self.state
        return [each.to_dict() for each in events]

    def ops(self, *facts: Fact) -> list[tuple[str, str]]:
        return [(each["pillar"], each["op"]) for each in self(*facts)]

    @property
    def plan(self) -> list[tuple[str, str]]:
        return [(todo.content, todo.status) for todo in self.state.todos if todo.listed]

    def todo(self, content: str) -> Todo:
        (found,) = [todo for todo in self.state.todos if todo.content == content]
        return found


WORDS = (
    "",
    " a ",
    "one two three",
    "one two four",
    "One two three.",
    "x" * 600,
    "\ud800 h\0lf",
    "日本語の仕事",
)
KINDS = ("tool_call", "question", "request", "interrupt", "error", "task", "promise", "note", "new")
RULES = ("interrupt", "task_error", "calls", None)


class Mood(str, enum.Enum):
    DONE = "completed"


words = st.sampled_from(WORDS)
refs = st.sampled_from((None, "r1", "r2", "r3"))
confidences = st.sampled_from(("structural", "structural", "heuristic", "declared"))
scalars = st.sampled_from((None, True, False, 0, 1, 1.0, -0.5, float("nan"), "text", Mood.DONE))
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(("a", "b", 1, None)), inner, max_size=3)
    ),
    max_leaves=5,
)
bags = st.dictionaries(st.sampled_from(("a", "status", "extra", "ref")), values, max_size=2)
sources = st.builds(
    Source,
    checkpoint_id=st.sampled_from((None, "cp0000", "cp0001", "other")),
    ns=st.sampled_from(("", "sub:1")),
    agent=st.sampled_from((None, "researcher")),
    run_id=st.sampled_from((None, "run")),
    node=st.sampled_from((None, "plan")),
    message_id=st.sampled_from((None, "m1", "m2")),
    rule=st.sampled_from(RULES),
)
loops = st.builds(  # ids that loops of a story may have
    item_id, st.just("l"), st.sampled_from([moment(0), moment(1)]), st.sampled_from(RULES[2:]).map(
        lambda rule: rule or ""
    ), st.integers(0, 1),
)  # fmt: skip
entries = st.builds(
    Listed,
    content=words,
    status=st.sampled_from(("pending", "in_progress", "completed", "cancelled", "odd", Mood.DONE)),
    priority=st.sampled_from(("medium", "high")),
    ref=refs,
    extra=bags,
)
todo_facts = st.builds(
    Todos,
    tracker=st.sampled_from(("todos", "tool:other")),
    items=st.lists(entries, max_size=6).map(tuple),
    source=sources,
    confidence=confidences,
)
facts = st.one_of(
    st.builds(
        Opens,
        kind=st.sampled_from(KINDS),
        description=words,
        source=sources,
        ref=refs,
        context=bags,
        confidence=confidences,
    ),
    st.builds(
        Settles,
        kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3).map(tuple),
        outcome=words,
        source=sources,
        ref=refs,
    ),
    todo_facts,
    st.builds(
        Wants,
        text=words,
        aim=st.sampled_from(("explicit", "request", "task")),
        source=sources,
        confidence=confidences,
    ),
    st.builds(Drops, aim=st.sampled_from(("explicit", "request")), source=sources),
    st.builds(
        Holds,
        key=st.sampled_from(("k1", "k2", "k3")),
        value=values,
        source=sources,
        metadata=bags,
        confidence=confidences,
    ),
    st.builds(Forgets, key=st.sampled_from(("k1", "k2", "k4")), source=sources),
    st.builds(Resumes, aim=st.sampled_from(("explicit", "request")), source=sources),
    st.builds(Reopens, item=loops, source=sources),
    st.builds(Settles, kinds=st.just(()), outcome=words, source=sources, item=loops),
)
stories = st.lists(st.lists(facts, max_size=6), min_size=1, max_size=6)


def folded(story: Sequence[Sequence[Fact]]) -> tuple[list[WorkingState], list[tuple[Event, ...]]]:
    states, ledger = [WorkingState(thread_id="t")], []
    for n, each in enumerate(story):
        state, events = fold(states[-1], each, moment(n))
        states.append(state)
        ledger.append(events)
    return states, ledger
