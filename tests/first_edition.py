"""Fixtures that look inside the storage of the first edition; they go with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from langgraph_wyrd.healing import whole
from langgraph_wyrd.store.postgres import PostgresDriver
from langgraph_wyrd.store.sqlite import SqliteDriver
from langgraph_wyrd.store.statements import Ask, Tell


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each statement of a plan was sent; `round trips` on Postgres."""
    found: Counter[str] = Counter()
    on_sqlite, on_postgres = SqliteDriver._execute, PostgresDriver._execute

    def here(self: Any, raw: Any, statement: Ask | Tell) -> Any:
        found[statement.name] += 1
        return on_sqlite(self, raw, statement)

    async def there(self: Any, connection: Any, step: Any) -> Any:
        if not isinstance(step, Ask | Tell):
            found["round trips"] += 1
            found.update(each.name for each in step)
        return await on_postgres(self, connection, step)

    monkeypatch.setattr(SqliteDriver, "_execute", here)
    monkeypatch.setattr(PostgresDriver, "_execute", there)
    return found


@pytest.fixture(autouse=True)
def looks_end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No look at a thread meets what it does not expect: it would tell of it, and go on."""
    met: list[Exception] = []
    told = whole.of_look

    def of_look(error: Exception, thread_id: str | None) -> Any:
        found = told(error, thread_id)
        met.append(error)
        return found

    monkeypatch.setattr(whole, "of_look", of_look)
    yield
    if met and request.node.get_closest_marker("ends_early") is None:
        raise met[0]
