"""The public tables, the listing of threads and the past agree, whatever a graph and its people do.

`WYRD_MORE=20` plays that many times more programs.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import ThreadNotFound
from tests.conftest import Backend
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
