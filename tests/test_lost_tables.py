"""Tables that are missing from a database: which are made again, and which nothing brings back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.storage.tables import (
    TABLES,
)
from tests.conftest import Backend
from tests.outside import raw
from tests.test_back_and_forth import AT, INPUT, graph_of

# docs/lost.md says what becomes of each table.
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
        if name == "wyrd_todos":
            with pytest.raises(errors.SchemaMissing, match=r"verify\(repair=True\) makes it again"):
                saver.todos()
        assert any(name in str(each) for each in saver.verify(repair=True).findings)
        assert saver.verify().ok
        assert saver.thread("t").working_state().to_dict() == before
        assert saver.open_loops() == loops
        assert graph_of(saver).get_state(AT).values


def test_a_table_of_a_schema_is_made_again(postgres: Backend) -> None:
    """Also where another schema has a table of this name; with its indexes."""
    postgres.open().close()
    with postgres.open(schema="mine") as saver:
        before = filled(saver)
    with raw(postgres.url) as connection:
        connection.execute("DROP TABLE mine.wyrd_open_loops")
    with postgres.open(schema="mine") as saver:
        assert "wyrd_open_loops" in str(saver.verify())
        saver.verify(repair=True)
        assert saver.verify().ok
        assert saver.thread("t").working_state().to_dict() == before
        assert saver.open_loops()


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
