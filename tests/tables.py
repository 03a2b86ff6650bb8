"""The public tables, read as anybody reads them: by SQL, with the columns of docs/pillars.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.results import ThreadInfo
from tests.outside import raw, tables

TABLES = {
    "todos": "wyrd_todos",
    "context": "wyrd_context",
    "loops": "wyrd_open_loops",
    "intentions": "wyrd_intentions",
}
JSON = {"value", "metadata", "context", "extra"}
# Not public: how a row finds its thread, its checksum, its place in the order of writing.
INTERNAL = {"thread", "changed_in", "sum"}


def plain(name: str, value: Any) -> Any:
    if name.endswith("_at") and isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds")
    if name in JSON and value is not None:
        return json.dumps(json.loads(value) if isinstance(value, str) else value, sort_keys=True)
    if name in JSON and name != "value":
        return "{}"  # nothing more is known
    return bool(value) if name == "listed" else value


def rows_of(url: str, table: str, where: str = "") -> list[dict[str, Any]]:
    """All rows of a table; JSON as text with sorted keys, times as ISO text."""
    with raw(url) as connection:
        cursor = connection.execute(f"SELECT * FROM {table} {where}")
        names = [each[0] for each in cursor.description]
        made = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    if table == "wyrd_context" and not url.startswith("sqlite"):
        for row in made:  # JSON that is a text comes as that text
            row["value"] = json.dumps(row["value"])
    return [{name: plain(name, value) for name, value in row.items()} for row in made]


def all_text(url: str) -> str:
    """Every row of every table of ours, as text."""
    found = []
    with raw(url) as connection:
        for table in tables(connection):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                for cell in row:
                    held = isinstance(cell, bytes | memoryview)
                    found.append(bytes(cell).decode("latin-1") if held else str(cell))
    return "\n".join(found)


def shown_tables(url: str) -> dict[str, dict[Any, dict[str, Any]]]:
    """The rows of the four tables by thread and item."""
    return {
        table: {
            (row["thread_id"], row["id"]): {k: v for k, v in row.items() if k not in INTERNAL}
            for row in rows_of(url, table)
        }
        for table in TABLES.values()
    }


def every_thread(saver: Any) -> Iterator[ThreadInfo]:
    after = None
    while True:
        page = saver.threads(after=after)
        yield from page
        after = page.next
        if after is None:
            return


def derived(saver: Any, url: str) -> dict[str, Any]:
    """What the tables and the listing of threads say."""
    return {
        **shown_tables(url),
        "threads": {each.thread_id: _said_of(each) for each in every_thread(saver)},
    }


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> list[Any]:
    made = []
    for part, rows in wanted.items():
        here = found[part]
        for key in sorted({*rows, *here}, key=str):
            if rows.get(key) != here.get(key):
                made.append((part, key, {"wanted": rows.get(key), "found": here.get(key)}))
    return made


def check_tables(saver: Any, url: str, where: str) -> None:
    """Tables and listing say of each thread what its working state at the head says."""
    found = derived(saver, url)
    wanted: dict[str, Any] = {table: {} for table in found}
    for info in every_thread(saver):
        if info.status in (None, "unread") or info.head is None:
            found["threads"].pop(info.thread_id)
            continue
        state = saver.thread(info.thread_id).working_state(at=info.head)
        wanted["threads"][info.thread_id] = _said_at(state, info)
        places: dict[str, int] = {}
        for row in state.to_records():
            pillar = row.pop("pillar")
            if pillar == "todos":
                row["place"] = places[row["id"]] = len(places)
            wanted[TABLES[pillar]][info.thread_id, row["id"]] = {
                name: json.dumps(value, sort_keys=True) if name in JSON else plain(name, value)
                for name, value in row.items()
            }
        _number_places([found["wyrd_todos"].get((info.thread_id, id)) for id in places])
    for table in TABLES.values():  # of what is over, the tables may hold more than a state tells
        for key in [*found[table]]:
            if key not in wanted[table] and _is_over(table, found[table][key]):
                del found[table][key]
        for key, row in wanted[table].items():  # a table may have columns that items do not have
            if here := found[table].get(key):
                found[table][key] = {name: here[name] for name in row if name in here}
    parted = differences(found, wanted)
    assert not parted, f"{where}: {len(parted)} rows differ, first {parted[0]}"


def _is_over(table: str, row: dict[str, Any]) -> bool:
    if table == "wyrd_todos":
        return row["status"] not in ("pending", "in_progress")
    return table != "wyrd_context" and bool(row["closed_at"] or row["closed_in"])


def _number_places(rows: list[dict[str, Any] | None]) -> None:
    """A todo's place says which comes first; numbers may be left out."""
    there = [row for row in rows if row is not None]
    for number, row in enumerate(sorted(there, key=lambda row: row["place"])):
        row["place"] = number


def _said_of(info: ThreadInfo) -> dict[str, Any]:
    running = info.status == "due"  # while a step runs, what is due in the listing lags behind
    return {
        "status": info.status,
        "reason": None if running else info.reason,
        "due": None if running else info.due,
        "title": info.title,
        "user": info.user_id,
        "head": info.head,
        "open": (info.open_loops, info.open_todos),
    }


def _said_at(state: WorkingState, info: ThreadInfo) -> dict[str, Any]:
    running = state.status == "due"
    return {
        "status": state.status,
        "reason": None if running else state.reason,
        "due": None if running else state.due,
        "title": state.title,
        "user": info.user_id,
        "head": info.head,
        "open": (len(state.open_loops), len(state.open_todos)),
    }
