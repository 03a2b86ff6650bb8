"""What is lost if what is lost: what docs/lost.md says of each table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Backend
from outside import raw
from test_back_and_forth import AT, INPUT, graph_of

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.storage.tables import TABLES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "lost.md"
DERIVED = [table.name for table in TABLES.values() if table.role == "derived"]
EMPTY_AGAIN = ["wyrd_heals", "wyrd_leases"]
GONE = [
    table.name
    for table in TABLES.values()
    if table.role != "derived" and table.name not in (*EMPTY_AGAIN, "wyrd_migrations")
]


def filled(saver: WyrdSaver) -> dict[str, Any]:
    graph_of(saver).invoke(INPUT, AT)
    thread = saver.thread("t")
    thread.add_todo("water the plants")
    thread.set_context("seat", "4A")
    thread.set_intention("be back by Friday")
    thread.decide("go by train", "the strike")
    thread.label("packed")
    return thread.working_state().to_dict()


def test_the_page_has_every_table() -> None:
    """With its role."""
    for table in TABLES.values():
        assert f"`{table.name}`" in PAGE.read_text("utf-8"), table.name


@pytest.mark.parametrize("name", [*DERIVED, *EMPTY_AGAIN])
def test_a_table_that_is_made_again(durable: Backend, name: str) -> None:
    """A repair makes it and its rows; a second look finds nothing."""
    with durable.open() as saver:
        before = filled(saver)
        loops = saver.open_loops()
    with raw(durable.url) as connection:
        connection.execute(f"DROP TABLE {name}")
    with durable.open() as saver:
        assert any(name in str(each) for each in saver.verify(repair=True).findings)
        assert saver.verify().ok
        assert saver.thread("t").working_state().to_dict() == before
        assert saver.open_loops() == loops
        assert graph_of(saver).get_state(AT).values


@pytest.mark.parametrize("name", GONE)
def test_a_table_that_nothing_brings_back(durable: Backend, name: str) -> None:
    """It is said which one is missing; no other one takes its place."""
    with durable.open() as saver:
        filled(saver)
    with raw(durable.url) as connection:
        connection.execute(f"DROP TABLE {name}")
    saver = durable.open()
    with pytest.raises(errors.SchemaMissing, match=name):
        saver.verify(repair=True)
