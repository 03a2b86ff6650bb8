"""The public tables, the listing of threads and the past agree, whatever a graph and its people do.

`WYRD_MORE=20` plays that many times more programs.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import ThreadNotFound
from tests.conftest import Backend
from tests.handmade import config, ids, put
from tests.programs import other_database, played, seeds, states_of, watching
from tests.story import Teller
from tests.tables import check_tables, derived, differences, rows_of


def test_tables_say_what_the_head_says(durable: Backend, asynchronous: bool) -> None:
    """After every act of a random program the tables hold the working state of the head."""
    saver = durable.open()
    for seed in (*seeds(0, 12, durable), 49):  # 49: a fork from before something was dropped

        def look(teller: Teller, turn: int, seed: int = seed) -> None:
            check_tables(saver, durable.url, f"seed {seed} turn {turn}")

        played(seed, [saver], asynchronous=asynchronous, between=look)


def test_the_past_is_seen_as_it_was(durable: Backend, asynchronous: bool) -> None:
    """The working state at a checkpoint is the one that was seen while it was the head."""
    saver = watching(durable).begin()
    count = 0
    for seed in seeds(1000, 9, durable):
        teller = played(seed, [saver], asynchronous=asynchronous)
        handle = saver.thread(teller.thread)
        for (thread_id, id), seen in saver.seen.items():
            if thread_id == teller.thread:
                assert handle.working_state(at=id) == seen, f"seed {seed}"
                count += 1
    assert count > 25


def test_two_savers_in_turns_are_as_one(
    durable: Backend, asynchronous: bool, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    """What two savers write in turns, neither knowing what the other did, one alone writes too."""
    with other_database(durable.name, request, tmp_path) as other:
        pair, reader = [other.open(), other.open()], other.open()
        saver = watching(durable).begin([pair], watch=False)
        for seed in seeds(2000, 6, durable):

            def look(teller: Teller, turn: int, seed: int = seed) -> None:
                with saver.lock:
                    parted = differences(derived(reader, other.url), derived(saver, durable.url))
                    saver.calls[0] += 1
                assert not parted, f"seed {seed} turn {turn}: {len(parted)}, first {parted[0]}"

            teller = played(seed, [saver], asynchronous=asynchronous, between=look)
            assert states_of(reader, teller.thread) == states_of(saver, teller.thread)


def say_something(saver: WyrdSaver, thread_id: str, rng: random.Random) -> set[str]:
    """A few random verbs of a person; what must be open from now on, whatever the graph does."""
    said = set()
    try:
        with saver.thread(thread_id).edit(by="person") as draft:
            for _ in range(rng.randint(1, 3)):
                state = draft.state
                words = f"said {rng.random()}"
                match rng.randint(0, 7):
                    case 0:
                        said.add(draft.add_todo(words).id)
                    case 1 if state.open_todos:
                        draft.complete_todo(rng.choice(state.open_todos).id)
                    case 2 if state.open_todos:
                        draft.cancel_todo(rng.choice(state.open_todos).id)
                    case 3 if state.open_loops:
                        draft.resolve_open_loop(rng.choice(state.open_loops).id, "settled")
                    case 4:
                        draft.set_context(rng.choice(["count", "note"]), words)
                    case 5 if state.context:
                        draft.remove_context(rng.choice(state.context).key)
                    case 6:
                        draft.set_intention(words)
                    case _:
                        said.add(draft.add_open_loop(words).id)
    except ThreadNotFound:
        return set()
    state = saver.thread(thread_id).working_state()
    return said & {item.id for item in (*state.open_todos, *state.open_loops)}


def test_what_is_said_between_the_acts(durable: Backend, asynchronous: bool) -> None:
    """Edits and a random program: tables and past agree, and re-extracting changes nothing."""
    saver, other = durable.open(), durable.open()
    for seed in seeds(3000, 9, durable):
        rng = random.Random(f"editor {seed}")

        def edit(teller: Teller, turn: int, seed: int = seed, rng: random.Random = rng) -> None:
            editor = rng.choice([saver, other])  # this process, or as good as another one
            said = say_something(editor, teller.thread, rng)
            check_tables(saver, durable.url, f"seed {seed} turn {turn}")
            shown = {row["id"] for row in rows_of(durable.url, "wyrd_open_loops")}
            shown |= {row["id"] for row in rows_of(durable.url, "wyrd_todos")}
            assert said <= shown, f"seed {seed} turn {turn}"

        teller = played(seed, [saver], asynchronous=asynchronous, between=edit)
        before = derived(saver, durable.url)
        past = states_of(saver, teller.thread) if teller.thread in before["threads"] else {}
        with suppress(ThreadNotFound):
            saver.reextract(teller.thread)
        parted = differences(derived(durable.open(), durable.url), before)
        assert not past or states_of(durable.open(), teller.thread) == past
        assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"


# ---- forks from far back, and from branches that were left


def grown(dice: random.Random, said: list[Any], n: int) -> list[Any]:
    """A conversation with one thing more: a request, a call, its result, an answer, a question."""
    last = said[-1] if said else None
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    if calls and dice.random() < 0.8:
        return [*said, ToolMessage("done", tool_call_id=calls[0]["id"], name="look", id=f"t{n}")]
    if isinstance(last, AIMessage):
        return [*said, HumanMessage(f"please find thing {n}", id=f"h{n}")]
    if dice.random() < 0.5:
        call = {"name": "look", "args": {"n": n}, "id": f"c{n}"}
        return [*said, AIMessage("", tool_calls=[call], id=f"a{n}")]
    words = f"Which one do you want, {n}?" if dice.random() < 0.3 else f"here is thing {n}"
    return [*said, AIMessage(words, id=f"a{n}")]


def todos(dice: random.Random, n: int) -> list[dict[str, str]]:
    words = ("pending", "in_progress", "completed")
    return [{"content": f"step {k}", "status": dice.choice(words)} for k in range(n % 5)]


@pytest.mark.parametrize(("seed", "cold"), [(0, False), (2, True)], ids=["known", "read anew"])
def test_tables_follow_to_any_branch(durable: Backend, cold: bool, seed: int) -> None:
    """Branches of up to a hundred checkpoints, gone back and forth between."""
    dice = random.Random(seed)
    saver = durable.open()
    held: dict[str | None, list[Any]] = {None: []}
    at: str | None = None
    most = 0
    for n in range(260):
        if dice.random() < 0.06:
            at = dice.choice([id for id in held if id is not None] or [None])
            if cold:
                saver.close()
                saver = durable.open()
        said = grown(dice, held[at], n)
        values: dict[str, Any] = {"messages": said, "todos": todos(dice, n)}
        if dice.random() < 0.3:
            values["note"] = n
        if dice.random() < 0.5:
            values["draft"] = "long kept"
        parent = at
        at = put(saver, "t", values, parent=parent)["configurable"]["checkpoint_id"]
        held[at] = said
        if n % 10 == 9:
            check_tables(saver, durable.url, f"seed {seed} put {n} on {parent}")
            most = max(most, len(rows_of(durable.url, "wyrd_open_loops")))
    assert most > 20, "more than a state holds"


def test_a_branch_whose_root_was_pruned(durable: Backend) -> None:
    """Where paths met in what is gone, the tables are made anew."""
    saver = durable.open()
    head, said = None, []
    for n in range(12):
        said = grown(random.Random(n), said, n)
        head = put(saver, "t", {"messages": said}, parent=head, metadata={"run_id": f"r{n // 4}"})
    assert head is not None
    first = ids(list(saver.list(config("t"))))[-3]
    put(saver, "t", {"messages": said[:3]}, parent=first, metadata={"run_id": "other"})
    saver.delete_for_runs(["r0"])
    check_tables(saver, durable.url, "after the deletion")
    put(saver, "t", {"messages": said}, parent=head, metadata={"run_id": "again"})
    check_tables(saver, durable.url, "back on the old branch")
