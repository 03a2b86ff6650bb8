"""Rows that were changed, swapped or taken away under a store are noticed, whichever they are."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any

import psycopg.errors
import psycopg.types.json
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd import errors
from langgraph_wyrd.storage.tables import TABLES
from tests import damage
from tests.conftest import Backend
from tests.odd_values import (
    assert_same,
    at,
    checkpoint,
)
from tests.outside import raw, tables
from tests.stored_sizes import prose

MORE = int(os.environ.get("WYRD_MORE", "1"))


class Damaged:
    """A thread with something of everything, and a way to spoil its rows and to see what loads."""

    def __init__(self, durable: Backend) -> None:
        self.durable = durable
        saver = durable.open()
        config: Any = at("t")
        messages = [HumanMessage(f"message {n} {prose(30, n)}", id=str(n)) for n in range(6)]
        files = {f"/{n}": {"content": prose(50, n)} for n in range(4)}
        for turn in range(4):
            made = checkpoint(
                saver,
                {
                    "messages": messages,
                    "files": files,
                    "long": prose(2000, turn),
                    "small": turn,
                    "numbers": [turn] * 3,
                    "snapshot": _DeltaSnapshot([turn, messages[0]]),
                },
                versions_seen={"node": {"messages": f"{turn}"}},
            )
            metadata = {"source": "loop", "step": turn, "exact": (turn,) if turn % 2 else turn}
            config = saver.put(config, made, metadata, made["channel_versions"])
            writes = [("messages", [messages[turn]]), ("odd", {"k": turn}), ("n", turn)]
            saver.put_writes(config, writes, f"task {turn}", f"path {turn}")
            messages = [
                *messages[:2],
                AIMessage(f"edit {turn}", id="e"),
                *messages[3:],
                messages[0],
            ]
            files = {**files, f"/{turn}": {"content": prose(60, 100 + turn)}}
        self.sound = {item.checkpoint["id"]: item for item in saver.list(at("t"))}
        saver.close()

    def load(self) -> list[str]:
        """The checkpoints that are refused as damaged; what does load must be as it was put."""
        saver, refused = self.durable.open(on_damage="raise"), []
        try:
            for checkpoint_id, sound in self.sound.items():
                try:
                    found = saver.get_tuple(at("t", checkpoint_id))
                except errors.CheckpointDamaged:
                    refused.append(checkpoint_id)
                    continue
                assert found is not None, "a damaged checkpoint is not a missing one"
                assert_same(list(found), list(sound), "loaded from a damaged database")
            try:
                listed = {item.checkpoint["id"]: item for item in saver.list(at("t"))}
            except errors.CheckpointDamaged:
                assert refused
            else:
                assert not refused
                assert_same(listed, self.sound, "listed from a damaged database")
        finally:
            saver.close()
            self.durable.opened.remove(saver)
        return refused


class Table:
    """The rows of a table as raw SQL sees them."""

    def __init__(self, connection: Any, name: str) -> None:
        self.connection, self.name = connection, name
        if is_sqlite := not hasattr(connection, "pgconn"):
            info = connection.execute(f"PRAGMA table_info({name})").fetchall()
            self.columns = [row[1] for row in info]
            self.keys = [row[1] for row in info if row[5]]
            if name in TABLES and TABLES[name].rowid:  # the rest of its key is a unique index
                self.keys += TABLES[name].key
        else:
            found = connection.execute(f"SELECT * FROM {name}").description
            self.columns = [column.name for column in found]
            psycopg.types.json.set_json_loads(bytes.decode, connection)  # JSON as text, to put back
            query = (
                "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND"
                " attnum = ANY(indkey) WHERE indisprimary AND indrelid = %s::regclass"
            )
            self.keys = [row[0] for row in connection.execute(query, (name,)).fetchall()]
        self.mark = "?" if is_sqlite else "%s"
        assert self.keys, f"{name} has no primary key"

    def rows(self) -> list[dict[str, Any]]:
        order = ", ".join(self.keys)
        found = self.connection.execute(f"SELECT * FROM {self.name} ORDER BY {order}").fetchall()
        made = [dict(zip(self.columns, row, strict=True)) for row in found]
        return [
            {k: bytes(v) if isinstance(v, memoryview) else v for k, v in r.items()} for r in made
        ]

    def _where(self, row: dict[str, Any]) -> tuple[str, list[Any]]:
        return " AND ".join(f"{k} = {self.mark}" for k in self.keys), [row[k] for k in self.keys]

    def update(self, row: dict[str, Any], **values: Any) -> None:
        sets = ", ".join(f"{name} = {self.mark}" for name in values)
        where, keys = self._where(row)
        query = f"UPDATE {self.name} SET {sets} WHERE {where}"
        assert self.connection.execute(query, [*values.values(), *keys]).rowcount == 1

    def delete(self, row: dict[str, Any]) -> None:
        where, keys = self._where(row)
        self.connection.execute(f"DELETE FROM {self.name} WHERE {where}", keys)

    def insert(self, row: dict[str, Any]) -> None:
        marks = ", ".join([self.mark] * len(row))
        query = f"INSERT INTO {self.name} ({', '.join(row)}) VALUES ({marks})"
        self.connection.execute(query, list(row.values()))


def spoilt(cell: Any, dice: random.Random) -> Iterator[Any]:
    """The same cell with something wrong in it."""
    if isinstance(cell, bytes) and cell:
        for place in {0, len(cell) - 1, len(cell) // 2, dice.randrange(len(cell))}:
            yield cell[:place] + bytes([cell[place] ^ 1 << dice.randrange(8)]) + cell[place + 1 :]
        yield cell[:-1]
        yield cell + b"\0"
        yield b""
    elif isinstance(cell, str) and cell:
        place = dice.randrange(len(cell))
        other = "1" if cell[place] != "1" else "2"
        yield cell[:place] + other + cell[place + 1 :]
    elif isinstance(cell, int) and not isinstance(cell, bool):
        yield cell + 1 if cell < 2**31 - 1 else cell - 1


PIECES = damage.PIECES


def test_a_changed_byte_is_never_loaded(durable: Backend) -> None:
    """One byte changed in any stored piece: the load raises, or what was changed did not matter."""
    damaged, dice = Damaged(durable), random.Random(1)
    assert damaged.load() == []
    noticed: dict[str, set[str]] = {name: set() for name in PIECES}
    most = 3 if durable.name == "sqlite" or MORE > 1 else 1
    with raw(durable.url) as connection:
        for name in PIECES:
            table = Table(connection, name)
            rows = table.rows()
            for column in table.columns:
                if column in table.keys:
                    continue
                filled = [row for row in rows if row[column]]
                for row in dice.sample(filled, min(len(filled), most)):
                    for wrong in spoilt(row[column], dice):
                        try:
                            table.update(row, **{column: wrong})
                        except psycopg.errors.InvalidTextRepresentation:
                            continue  # no JSON: the database itself refuses it
                        refused = damaged.load()
                        if refused:
                            noticed[name].add(column)
                        assert refused or not isinstance(wrong, bytes), (
                            f"{name}.{column}: {wrong!r}"
                        )
                        table.update(row, **{column: row[column]})
    assert damaged.load() == []
    assert all(noticed.values()), noticed


def test_swapped_pieces_are_never_loaded(durable: Backend) -> None:
    """Two rows' bytes swapped, with their checksums or without: the load raises."""
    damaged, dice = Damaged(durable), random.Random(2)
    with raw(durable.url) as connection:
        for name in PIECES:
            table = Table(connection, name)
            rows, others = table.rows(), [c for c in table.columns if c not in table.keys]
            blobs = [c for c in others if any(isinstance(row[c], bytes) for row in rows)]
            for columns in (blobs, others):
                pairs = list(itertools.combinations(rows, 2))
                for one, two in dice.sample(pairs, min(len(pairs), 8)):
                    if [one[c] for c in columns] == [two[c] for c in columns]:
                        continue
                    table.update(one, **{c: two[c] for c in columns})
                    table.update(two, **{c: one[c] for c in columns})
                    what = (
                        f"{name} {[[row[k] for k in table.keys] for row in (one, two)]} {columns}"
                    )
                    assert damaged.load(), what
                    table.update(one, **{c: one[c] for c in columns})
                    table.update(two, **{c: two[c] for c in columns})
    assert damaged.load() == []


def test_missing_pieces_are_never_passed_over(durable: Backend) -> None:
    """A row of a strand that is gone, or stands there twice, is noticed, whichever it is."""
    damaged = Damaged(durable)
    with raw(durable.url) as connection:
        table = Table(connection, PIECES[0])
        step = 1 if durable.name == "sqlite" or MORE > 1 else 3
        for row in table.rows()[::step]:
            table.delete(row)
            assert damaged.load(), {k: row[k] for k in table.keys}
            table.insert(row)
        for name in tables(connection):
            short = name.rpartition(".")[2].strip('"')
            if short in (*PIECES, "wyrd_threads", "wyrd_migrations"):
                continue
            table = Table(connection, name)
            for row in table.rows():
                table.delete(row)
                damaged.load()
                table.insert(row)
    assert damaged.load() == []


def test_damage_in_one_thread_leaves_the_others_alone(durable: Backend) -> None:
    """Who reads another thread, or all but the damaged one, is not stopped by it."""
    saver = durable.open()
    for thread in ("sound", "damaged"):
        made = checkpoint(saver, {"messages": [HumanMessage(prose(50, 1), id=thread)]})
        saver.put(at(thread), made, {"step": 1}, made["channel_versions"])
    saver.close()
    with raw(durable.url) as connection:
        table = Table(connection, PIECES[0])
        held = (
            (row, column, value)
            for row in table.rows()
            for column, value in row.items()
            if column == "delta" and b"damaged" in value
        )
        row, column, value = next(held)
        table.update(row, **{column: value.replace(b"damaged", b"dbmaged")})
    reader = durable.open(on_damage="raise")
    with pytest.raises(errors.CheckpointDamaged):
        reader.get_tuple(at("damaged"))
    found = reader.get_tuple(at("sound"))
    assert found.checkpoint["channel_values"]["messages"][0].id == "sound"
    made = checkpoint(reader, {"messages": ["new"]})
    reader.put(at("damaged"), made, {"step": 2}, made["channel_versions"])
    found = reader.get_tuple(at("damaged"))
    assert found.checkpoint["channel_values"] == {"messages": ["new"]}
