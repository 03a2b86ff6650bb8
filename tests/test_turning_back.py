"""Forks from far back, and from branches that were left: the tables follow, whatever is closed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.conftest import Backend
from tests.handmade import config, ids, put
from tests.tables import check_tables, rows_of


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
