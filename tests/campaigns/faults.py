"""Faults in single rows of every table, one at a time, and what a saver makes of them.

    python -m tests.campaigns.faults --n 2000 --backend sqlite --first 1

Every fault is drawn from its seed: a flipped bit, a cut or zeroed cell, a deleted row, two rows
swapped. After each: what loads is as it was, or the damage was told; every thread goes on; verify()
finds what no load looks at. Counted by table and by what came of it.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver, errors
from tests.damage import Agent, at, talk
from tests.outside import is_postgres, own_server, raw

TABLES = (
    "wyrd_splices", "wyrd_checkpoints", "wyrd_writes", "wyrd_events", "wyrd_threads",
    "wyrd_context", "wyrd_open_loops", "wyrd_intentions",
)  # fmt: skip
KINDS = ("flip", "cut", "zero", "delete", "swap")
WEIGHTS = (6, 4, 4, 3, 1, 1, 1, 1)
ORDER = ("exact", "placeholder", "left_out", "ancestor", "empty")
THREADS = ("t", "u")


def build(url: str) -> None:
    """Thread t has three turns behind it; u waits for a person."""
    with WyrdSaver.from_conn_string(url) as saver:
        talk(saver, "t", 3)
        talk(saver, "u", 2, last="approve this")


# ---- what is seen of a database


def seen(saver: Any, thread: str) -> dict[str, Any]:
    """All that loads of a thread."""
    graph = Agent().build(saver)
    found = saver.get_tuple(at(thread))
    made: dict[str, Any] = {"head": found and (found.checkpoint, found.pending_writes)}
    made["values"] = graph.get_state(at(thread)).values
    made["list"] = {
        each.checkpoint["id"]: (each.checkpoint, each.metadata, each.parent_config)
        for each in saver.list(at(thread))
    }
    try:
        state = saver.thread(thread).working_state()
        loops = [loop for loop in state.loops if loop.source.rule != "healed"]
        made["state"] = state.to_dict() | {"loops": [(x.id, x.description) for x in loops]}
    except errors.ThreadNotFound:
        made["state"] = None
    return made


def explicit(saver: Any, thread: str, sound: dict[str, Any]) -> bool:
    """Whether each checkpoint, asked for by its id, is as it was or refused."""
    for id, (checkpoint, _, _) in sound["list"].items():
        with contextlib.suppress(errors.CheckpointDamaged):
            found = saver.get_tuple(at(thread, id))
            if found is not None and found.checkpoint != checkpoint:
                return False
    return True


# ---- faults


class Fault:
    """One fault, drawn from a seed."""

    def __init__(self, url: str, seed: int) -> None:
        self.dice = random.Random(seed)
        self.url = url
        self.mark = "%s" if is_postgres(url) else "?"
        self.table = self.dice.choices(TABLES, WEIGHTS)[0]
        self.kind = self.dice.choice(KINDS)
        self.told = ""

    def strike(self) -> bool:
        """False if the database itself would not have it."""
        with raw(self.url) as connection:
            try:
                return self._strike(connection)
            except Exception as error:
                self.told = str(error)
                return False

    def _strike(self, connection: Any) -> bool:
        found = connection.execute(f"SELECT * FROM {self.table}")
        names = [column[0] for column in found.description]
        rows = sorted(found.fetchall(), key=str)
        keys = _keys(connection, self.table)
        one = self.dice.choice(rows)
        if self.kind == "delete":
            return self._run(connection, f"DELETE FROM {self.table}", names, one, keys) == 1
        if self.kind == "swap":
            other = self.dice.choice(rows)
            moved = [name for name in names if name not in keys]
            if one == other or not moved:
                return False
            for row, by in ((one, other), (other, one)):
                self._set(connection, names, row, keys, {n: by[names.index(n)] for n in moved})
            return True
        column = self.dice.choice(names)
        cell = one[names.index(column)]
        value = _spoilt(cell, self.kind, self.dice)
        self.told = f"{column} of {dict(zip(names, one, strict=True))}"[:300]
        if value == cell:
            return False
        return self._set(connection, names, one, keys, {column: value}) == 1

    def _set(
        self, connection: Any, names: list[str], row: Any, keys: list[str], values: dict[str, Any]
    ) -> int:
        sets = ", ".join(f"{name} = {self.mark}" for name in values)
        query = f"UPDATE {self.table} SET {sets}"
        return self._run(connection, query, names, row, keys, [_json(v) for v in values.values()])

    def _run(
        self, connection: Any, query: str, names: list[str], row: Any, keys: list[str],
        values: list[Any] | None = None,
    ) -> int:  # fmt: skip
        where = " AND ".join(f"{key} = {self.mark}" for key in keys)
        held = [row[names.index(key)] for key in keys]
        found = connection.execute(f"{query} WHERE {where}", [*(values or ()), *held])
        return int(found.rowcount)


def _json(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        from psycopg.types.json import Json

        return Json(value)
    return value


def _keys(connection: Any, table: str) -> list[str]:
    if hasattr(connection, "pgconn"):
        query = (
            "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND"
            " attnum = ANY(indkey) WHERE indisprimary AND indrelid = %s::regclass"
        )
        return [row[0] for row in connection.execute(query, (table,)).fetchall()]
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]


def _spoilt(cell: Any, kind: str, dice: random.Random) -> Any:
    if isinstance(cell, memoryview):
        cell = bytes(cell)
    if isinstance(cell, (bytes, str)) and cell:
        data = bytearray(cell if isinstance(cell, bytes) else cell.encode())
        if kind == "flip":
            for _ in range(dice.choice((1, 1, 1, 3))):
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        elif kind == "cut":
            del data[dice.randrange(len(data)) :]
        else:
            start = dice.randrange(len(data))
            data[start : start + 16] = bytes(len(data[start : start + 16]))
        return bytes(data) if isinstance(cell, bytes) else _text(bytes(data))
    if isinstance(cell, bool):
        return not cell
    if isinstance(cell, int):
        if kind == "flip":
            return cell ^ 1 << dice.randrange(31)
        return 0 if kind == "zero" else cell // 10
    if isinstance(cell, dict):
        return {"else": 1}
    if isinstance(cell, list):
        return ["else"]
    return None


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\0", "?")


# ---- one fault, looked at


def look(url: str, fault: Fault, sound: dict[str, dict[str, Any]]) -> tuple[str, list[str]]:
    """What came of it, and what went wrong."""
    wrong: list[str] = []
    worst = -1
    with WyrdSaver.from_conn_string(url) as saver:
        try:
            found = saver.verify()
        except Exception as error:
            return "?", [f"verify() raised {type(error).__name__}: {error}"]
        for thread in THREADS:
            try:
                now = seen(saver, thread)
                whole = explicit(saver, thread, sound[thread])
            except Exception as error:
                wrong.append(f"{thread}: a load raised {type(error).__name__}: {error}")
                continue
            try:
                heals = saver.thread(thread).heals()
            except errors.ThreadNotFound:
                heals = []
            worst = max([worst, *(ORDER.index(heal.kind) for heal in heals)])
            differs = [name for name, held in sound[thread].items() if now[name] != held]
            # What is missing from a list, or its thread's row, only verify() can tell.
            rest = {"list"} if _only_missing(now["list"], sound[thread]["list"]) else set()
            told: Any = heals or any(
                each.thread_id is None or each.table == "wyrd_threads" for each in found.damages
            )
            if not ({*differs} - rest) and whole:
                told = told or found.damages
            if (differs or not whole) and not told:
                what = differs or "an explicit id"
                wrong.append(f"{thread}: {what} differ, and nothing was told")
        if fault.table in TABLES[5:] and not found.damages:
            wrong.append("a public table differs, and verify() finds nothing")
        for thread in THREADS:
            try:
                go_on(saver, thread)
            except Exception as error:
                wrong.append(f"{thread}: can't go on: {type(error).__name__}: {error}")
        try:
            saver.verify(repair=True)
        except Exception as error:
            wrong.append(f"a repair raised {type(error).__name__}: {error}")
    if worst >= 0:
        return ORDER[worst], wrong
    return ("found by verify" if found.damages else "no difference"), wrong


def _only_missing(now: dict[str, Any], sound: dict[str, Any]) -> bool:
    return all(sound.get(id) == held for id, held in now.items())


def go_on(saver: Any, thread: str) -> None:
    graph = Agent().build(saver)
    if thread == "u":
        graph.invoke(Command(resume="yes"), at(thread))
    before = saver.get_tuple(at(thread))
    graph.invoke({"messages": [HumanMessage("and now", id="new")]}, at(thread))
    after = saver.get_tuple(at(thread))
    assert after.checkpoint["id"] > (before.checkpoint["id"] if before else "")
    assert "new" in [m.id for m in after.checkpoint["channel_values"]["messages"]]


def campaign(
    fresh: Callable[[], contextlib.AbstractContextManager[str]],
    n: int,
    first: int,
    *,
    aloud: bool = False,
) -> tuple[Counter[tuple[str, str]], list[str]]:
    """`fresh` gives addresses of new copies of the database."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    with fresh() as url, WyrdSaver.from_conn_string(url) as saver:
        sound = {thread: seen(saver, thread) for thread in THREADS}
        assert saver.verify().ok, str(saver.verify())
    seed = first
    while sum(counts.values()) < n:
        with fresh() as url:
            fault = Fault(url, seed)
            if fault.strike():
                outcome, bad = look(url, fault, sound)
                counts[fault.table, outcome] += 1
                wrong += [f"seed {seed}, {fault.kind} in {fault.table} ({fault.told}): {each}"
                          for each in bad]  # fmt: skip
                if bad and aloud:
                    print(*wrong[-len(bad) :], sep="\n", flush=True)
        seed += 1
        if aloud and not seed % 50:
            print(f"seed {seed}: {sum(counts.values())} faults", flush=True)
    return counts, wrong


# ---- databases


@contextlib.contextmanager
def sqlite_copies() -> Iterator[Callable[[], contextlib.AbstractContextManager[str]]]:
    with tempfile.TemporaryDirectory(prefix="wyrd-faults-") as folder:
        original = Path(folder) / "sound.db"
        build(f"sqlite:///{original}")

        @contextlib.contextmanager
        def fresh() -> Iterator[str]:
            path = Path(folder) / "copy.db"
            shutil.copy(original, path)
            try:
                yield f"sqlite:///{path}"
            finally:
                for each in Path(folder).glob("copy.db*"):
                    each.unlink()

        yield fresh


@contextlib.contextmanager
def postgres_copies(server: str) -> Iterator[Callable[[], contextlib.AbstractContextManager[str]]]:
    import psycopg

    from tests.conftest import fresh_postgres, postgres_url

    with fresh_postgres(server) as original:
        build(original)
        template = psycopg.conninfo.conninfo_to_dict(original)["dbname"]

        @contextlib.contextmanager
        def fresh() -> Iterator[str]:
            with psycopg.connect(server, autocommit=True) as admin:
                admin.execute(f'CREATE DATABASE wyrd_copy TEMPLATE "{template}" STRATEGY file_copy')
                try:
                    yield postgres_url(server, "wyrd_copy")
                finally:
                    admin.execute("DROP DATABASE wyrd_copy WITH (FORCE)")

        yield fresh


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--backend", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--first", type=int, default=1)
    given = parser.parse_args()
    logging.getLogger("langgraph_wyrd").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if given.backend == "sqlite":
            fresh = stack.enter_context(sqlite_copies())
        else:
            server = stack.enter_context(own_server())
            fresh = stack.enter_context(postgres_copies(server.get_uri()))
        counts, wrong = campaign(fresh, given.n, given.first, aloud=True)
    for (table, outcome), count in sorted(counts.items()):
        print(f"{table:20} {outcome:16} {count}")
    total: Counter[str] = Counter()
    for (_, outcome), count in counts.items():
        total[outcome] += count
    print(", ".join(f"{outcome} {count}" for outcome, count in total.most_common()))
    print(f"{given.n} faults, {len(wrong)} times something went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
