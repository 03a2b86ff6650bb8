"""Which edition of the storage the tests run on: `WYRD_EDITION=2 pytest -m "not inside"`.

This module is the only one of the behaviour tests that may know where a limit is set inside the
saver. Tests that look inside the storage of the first edition are marked `inside`, and go with it.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tests.damage import Rows, garbled
from tests.outside import raw

SECOND = os.environ.get("WYRD_EDITION") == "2"

# What a checkpoint is made of. The first is the table of which a load misses every row.
PIECES = (
    ("wyrd_checkpoints", "wyrd_writes")
    if SECOND
    else ("wyrd_splices", "wyrd_checkpoints", "wyrd_writes")
)


def stepwise(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A sweep deletes at most so many checkpoints in one step, and none in a single one."""
    if SECOND:
        return
    monkeypatch.setattr("langgraph_wyrd.parts.keep._MOST", most)
    monkeypatch.setattr("langgraph_wyrd.parts.keep._LEAST", min(16, most))
    monkeypatch.setattr("langgraph_wyrd.plans.shed.SMALL", 0 if most < 500 else 100)


def age(url: str, thread_id: str, days: int) -> None:
    """As if a thread had been used last so many days ago."""
    then = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()
    with raw(url) as connection:
        for column in ("updated", "deleted_at"):
            connection.execute(
                f"UPDATE wyrd_threads SET {column} = '{then}' WHERE thread_id = '{thread_id}'"
                f" AND {column} IS NOT NULL"
            )


def patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """How long a Postgres server may say nothing before somebody asks whether it is there."""
    if SECOND:
        return
    monkeypatch.setattr("langgraph_wyrd.store.postgres_line._PATIENCE", seconds)
    monkeypatch.setattr("langgraph_wyrd.store.postgres_line._SECOND", seconds)


def codec(serde: Any) -> Any:
    """What turns values into bytes and back through a serde: `dump_typed`, `load_typed`."""
    from langgraph_wyrd.store.values import Codec

    return Codec(serde)


def spoil(url: str, thread_id: str) -> None:
    """Other bytes in every row of a thread from which a checkpoint is loaded."""
    rows, threads = Rows(url, PIECES[0]), Rows(url, "wyrd_threads")
    (thread,) = threads.all("WHERE thread_id = ?", thread_id)
    for row in rows.all("WHERE thread = ?", thread["id"]):
        for name, value in row.items():
            if isinstance(value, bytes | memoryview) and name != "thread":
                rows.run(
                    f"UPDATE {{}} SET {name} = ? WHERE thread = ? AND {name} = ?",
                    *(garbled(bytes(value)), row["thread"], bytes(value)),
                )
