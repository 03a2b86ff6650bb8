"""Faults in single rows of every table, one at a time, and what a saver makes of them.

    python -m tests.campaigns.faults --n 2000 --backend sqlite --first 1 [--sealed]

Two channels belong to a user; `--sealed`: the database is encrypted with a key ring. Every fault is
drawn from its seed: a flipped bit, a cut or zeroed cell, a deleted row, two rows swapped. After
each: what loads is as it was, or the damage was told; every thread goes on; verify() finds what no
load looks at. Counted by table, by kind of fault and by what came of it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import math
import random
import shutil
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from langgraph_wyrd import Channels, WyrdSaver, errors
from langgraph_wyrd.healing.report import Report
from langgraph_wyrd.plans.sums import moved_row
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.sql import TABLE_NAMES
from langgraph_wyrd.store.statements import Plan, Tell
from tests.damage import Agent, Rows, at, flipped, splices_of, spoil_splice, talk
from tests.outside import is_postgres, own_server, raw

WEIGHTS = {
    "splices": 12, "checkpoints": 8, "writes": 8, "events": 6, "threads": 4, "names": 2, "todos": 2,
    "context": 2, "open_loops": 2, "intentions": 2, "labels": 2, "heals": 1, "quarantine": 1,
    "leases": 1, "migrations": 1, "user_data": 4, "keys": 2,  # without a key ring it has no rows
}  # fmt: skip
TABLES = tuple(f"wyrd_{name}" for name in TABLE_NAMES)
PUBLIC = ("wyrd_todos", "wyrd_context", "wyrd_open_loops", "wyrd_intentions")
# What these cells say nobody can know otherwise, and no load rests on it: see docs/healing.md.
UNTOLD = {
    "wyrd_threads": ("created", "updated", "buried", "tick", "strands", "writer", "user_id"),
    "wyrd_migrations": ("applied_at",),
    "wyrd_heals": ("acknowledged_at",),
    "wyrd_keys": ("since",),
    "wyrd_user_data": ("count",),  # of what is kept beside the threads
}
KINDS = ("flip", "cut", "zero", "delete", "swap")
ORDER = ("exact", "placeholder", "left_out", "ancestor", "empty")
OUTCOMES = (*ORDER, "found by verify", "no difference", "unknowable", "?")
THREADS = ("t", "u")
Opened = Callable[..., contextlib.AbstractContextManager[WyrdSaver]]
Fresh = Callable[[], contextlib.AbstractContextManager[str]]
Counts = Counter[tuple[str, str, str]]  # table, kind of fault, what came of it


def opened(url: str, **options: Any) -> contextlib.AbstractContextManager[WyrdSaver]:
    return WyrdSaver.from_conn_string(url, channels=Channels(user={"log", "report"}), **options)


sealed = partial(opened, keys={"k": bytes(range(32))})


def build(url: str, opened: Opened = opened) -> None:
    """Thread t has three turns behind it; u waits for a person. Each table has some rows."""
    with opened(url) as saver:
        talk(saver, "t", 2, user="ann")
        saver.thread("t").set_context("budget", {"euros": 500})
        saver.thread("t").label("half-way")
        talk(saver, "t", 1, user="ann")
        talk(saver, "u", 2, last="approve this", user="bob")
        for thread in map(saver.thread, THREADS):
            thread.add_todo("write it down")
            thread.complete_todo(thread.add_todo("look it up").id)
            thread.label("now")
        saver.user("ann").set("city", "Ghent")
        saver.user("bob").set("city", ["Bath"])
    row = max(splices_of(url, "u", b""), key=lambda row: len(row["data"]))
    spoil_splice(url, row, data=flipped(row["data"]))
    with opened(url) as saver:
        assert saver.get_tuple(at("u"))
        assert saver.thread("u").heals()
        saver.thread("u").acknowledge()
    spoil_splice(url, row, data=row["data"])
    with opened(url) as saver:
        moved = [
            moved_row(1, "wyrd_writes", place, '[1, {"base64": "AAAA"}]', now())
            for place in ("[1]", "[2]")
        ]
        saver._core.run(lambda core: core.write(lambda: _told("put_quarantine", moved)))
    lease = Rows(url, "wyrd_leases")
    for thread in THREADS:  # whose process is long gone
        values = (thread_key(thread), thread, f"run of {thread}", "elsewhere", "there", 77, "then")
        lease.run("INSERT INTO {} VALUES (?, ?, ?, ?, ?, ?, ?, 1.6e9, 1.6e9, 0)", *values)


def _told(name: str, rows: list[Any]) -> Plan[None]:
    yield Tell(name, rows)


# ---- what is seen of a database


def seen(saver: Any, thread: str) -> dict[str, Any]:
    """All that loads of a thread."""
    graph = Agent().build(saver)
    found = saver.get_tuple(at(thread))
    made: dict[str, Any] = {"head": found and (found.checkpoint, found.pending_writes)}
    made["kept"] = {user: saver.user(user).items() for user in ("ann", "bob")}
    made["values"] = graph.get_state(at(thread)).values
    made["list"] = {
        each.checkpoint["id"]: (each.checkpoint, each.metadata, each.parent_config)
        for each in saver.list(at(thread))
    }
    try:
        state = saver.thread(thread).working_state()
        loops = [loop for loop in state.loops if loop.source.rule != "healed"]
        made["state"] = state.to_dict() | {"loops": [(x.id, x.description) for x in loops]}
        made["history"] = list(saver.thread(thread).history())
        labels = saver.thread(thread).labels()
        made["labels"] = [  # of a name that was cut to nothing nobody can ask
            (each, each.name and saver.thread(thread).get_label(each.name)) for each in labels
        ]
    except errors.ThreadNotFound:
        made |= {"state": None, "history": None, "labels": []}
    try:
        made["heals"] = saver.thread(thread).heals()
    except errors.ThreadNotFound:
        made["heals"] = []
    return made


def explicit(saver: Any, thread: str, sound: dict[str, Any], silent: set[str]) -> bool:
    """Whether each checkpoint, asked for by its id, is as it was or refused; `silent`: or none, as
    nothing tells that it was there."""
    for id, (checkpoint, _, _) in sound["list"].items():
        with contextlib.suppress(errors.CheckpointDamaged):
            found = saver.get_tuple(at(thread, id))
            if found.checkpoint != checkpoint if found is not None else id not in silent:
                return False
    return True


# ---- faults


class Fault:
    """One fault, drawn from a seed."""

    def __init__(self, url: str, seed: int) -> None:
        self.seed, self.dice = seed, random.Random(seed)
        self.url = url
        self.mark = "%s" if is_postgres(url) else "?"
        self.table = self.dice.choices(TABLES, [*map(WEIGHTS.get, TABLE_NAMES)])[0]
        self.kind = self.dice.choice(KINDS)
        self.column = ""
        self.told = ""
        self.beside = False  # in what is kept for a user beside the threads
        self.silent: set[str] = set()  # a checkpoint that left nothing

    @property
    def moves(self) -> bool:
        """Whether a row is not where it was."""
        return self.kind == "delete" or self.column in ("thread", "ns", "checkpoint", "task")

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
        if not rows:
            return False
        one = self.dice.choice(rows)
        self.beside = self.table == "wyrd_user_data" and one[names.index("thread")] == 0
        if self.kind == "delete":
            if self.table == "wyrd_checkpoints" and self._left_nothing(connection, names, one):
                self.silent = {one[names.index("id")]}
            return self._run(connection, f"DELETE FROM {self.table}", names, one, keys) == 1
        if self.kind == "swap":
            other = self.dice.choice(rows)
            moved = [name for name in names if name not in keys]
            if one == other or not moved:
                return False
            for row, by in ((one, other), (other, one)):
                self._set(connection, names, row, keys, {n: by[names.index(n)] for n in moved})
            return True
        column = self.column = self.dice.choice(names)
        cell = one[names.index(column)]
        value = _spoilt(cell, self.kind, self.dice)
        self.told = f"{column} of {dict(zip(names, one, strict=True))}"[:300]
        if value == cell:
            return False
        return self._set(connection, names, one, keys, {column: value}) == 1

    def _left_nothing(self, connection: Any, names: list[str], row: Any) -> bool:
        """Whether a checkpoint said and was written nothing, and none's frame stands behind its."""
        thread, ns, id, strand, seq = (
            row[names.index(name)] for name in ("thread", "ns", "id", "strand", "seq")
        )
        found = connection.execute(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM wyrd_events WHERE thread = ? AND ns = ? AND"
            " checkpoint = ?) OR EXISTS (SELECT 1 FROM wyrd_writes WHERE thread = ? AND ns = ? AND"
            " checkpoint = ?) OR EXISTS (SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND"
            " strand = ? AND seq = ?)".replace("?", self.mark),
            (thread, ns, id, thread, ns, id, thread, strand, seq + 1),
        )
        return not found.fetchall()

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
    if isinstance(cell, float):
        bits = int.from_bytes(struct.pack(">d", cell), "big") ^ 1 << dice.randrange(64)
        flipped = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
        return {"flip": flipped, "cut": cell // 10}.get(kind, 0.0)
    if isinstance(cell, datetime):
        seconds = 1 << dice.randrange(30)
        return {"flip": cell + timedelta(seconds=seconds)}.get(kind, datetime(2000, 1, 1))
    if isinstance(cell, dict):
        return {"else": 1}
    if isinstance(cell, list):
        return ["else"]
    # Nothing, or an empty text: another one.
    return {"flip": "x", "cut": "2020-01-01T00:00:00+00:00"}.get(kind)


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\0", "?")


# ---- one fault, looked at


def look(
    url: str, fault: Fault, sound: dict[str, dict[str, Any]], opened: Opened = opened
) -> tuple[str, list[str]]:
    """What came of it, and what went wrong."""
    try:
        with opened(url, single_writer=fault.table == "wyrd_leases") as saver:
            return _Look(saver, fault, sound).all()
    except Exception as error:
        return "?", [f"the database can't be opened: {_said(error)}"]


class _Look:
    def __init__(self, saver: Any, fault: Fault, sound: dict[str, dict[str, Any]]) -> None:
        self.saver, self.fault, self.sound = saver, fault, sound
        self.wrong: list[str] = []
        self.worst = -1
        self.found: Any = None
        self.differs = False

    def all(self) -> tuple[str, list[str]]:
        try:
            self.found = looked(self.saver)
        except Exception as error:
            return "?", [f"verify() raised {_said(error)}"]
        for thread in THREADS:
            try:
                self._loads(thread)
            except Exception as error:
                self.wrong.append(f"{thread}: a load raised {_said(error)}")
        if self._tellable() and not self.found.damages:
            self.wrong.append(f"{self.fault.column} is wrong, and verify() finds nothing")
        if self.fault.seed % 3 == 0:  # of the others, what is written next stands on the damage
            self._repaired()
        for thread in THREADS:
            try:
                go_on(self.saver, thread)
            except Exception as error:
                self.wrong.append(f"{thread}: can't go on: {_said(error)}")
        if self.fault.seed % 3:
            self._repaired()
        if self.worst >= 0:
            return ORDER[self.worst], self.wrong
        if self.found.damages:
            return "found by verify", self.wrong
        return "unknowable" if self.differs else "no difference", self.wrong

    def _loads(self, thread: str) -> None:
        held = self.sound[thread]
        made = seen(self.saver, thread)
        whole = explicit(self.saver, thread, held, self.fault.silent)
        heals = {heal.id: heal for heal in made["heals"]}
        new = [heal for heal in heals.values() if heal not in held["heals"]]
        self.worst = max([self.worst, *(ORDER.index(heal.kind) for heal in new)])
        differs = {name for name, was in held.items() if made[name] != was} - {"heals"}
        self.differs |= bool(differs)
        # What is missing, only verify() can tell; of some rows, nobody can.
        only = {"list"} if _only_missing(made["list"], held["list"], self.fault.silent) else set()
        if self.fault.table == "wyrd_events" and self.fault.moves:
            only |= {"state", "history", "labels"}  # what a person said, or a task
        if self.fault.table == "wyrd_writes" and self.fault.moves:
            only.add("head")  # all that a task wrote: it did not run yet, for all that loads know
        if self.fault.table == "wyrd_labels" and self.fault.moves:
            only |= {"labels", "history"}
        if self.fault.table == "wyrd_user_data":
            only.add("kept")
        unknowable = self.fault.kind == "delete" and (
            self.fault.table == "wyrd_labels" or self.fault.beside
        )
        told: Any = new
        if whole and not differs - only:
            told = told or self.found.damages
        if unknowable and differs <= {"labels", "history", "kept"}:
            told = True
        if (differs or not whole) and not told:
            what = sorted(differs) or "an explicit id"
            self.wrong.append(f"{thread}: {what} differ, and nothing was told")

    def _tellable(self) -> bool:
        """Whether verify() must find it."""
        table, kind = self.fault.table, self.fault.kind
        if kind == "delete":
            return table in (*PUBLIC, "wyrd_threads", "wyrd_names", "wyrd_migrations")
        if table in ("wyrd_leases", "wyrd_splices"):  # nobody may name it; loads tell of the rest
            return False
        return kind == "swap" or self.fault.column not in UNTOLD.get(table, ())

    def _repaired(self) -> None:
        """A repair lowers nothing that could be read, and the next one has nothing to do."""
        closely = self.fault.seed % 4 == 0
        before = {thread: readable(self.saver, thread) for thread in THREADS if closely}
        try:
            looked(self.saver, repair=True)
            again = looked(self.saver, repair=True) if closely else Report(0)
        except Exception as error:
            self.wrong.append(f"a repair raised {_said(error)}")
            return
        if done := not_done(again):
            self.wrong.append(f"a second repair had something to do: {done}")
        for thread in before:
            after = readable(self.saver, thread)
            if lost := [id for id in before[thread] if id not in after]:
                self.wrong.append(f"{thread}: a repair lost {lost}")


def looked(saver: Any, **how: Any) -> Report:
    """What `verify` says, if it came to the end of each thread."""
    report: Report = saver.verify(**how)
    ended = [str(each) for each in report.findings if each.place == "the look"]
    assert not ended, ended
    return report


def not_done(report: Report) -> list[str]:
    """What a second repair must not find."""
    return [str(each) for each in report.findings if each.repaired or each.repairable]


def readable(saver: Any, thread: str) -> dict[str, Any]:
    return {found.checkpoint["id"]: found for found in saver.list(at(thread))}


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _only_missing(now: dict[str, Any], sound: dict[str, Any], silent: set[str]) -> bool:
    return {id: held for id, held in sound.items() if id not in silent} == now


def go_on(saver: Any, thread: str) -> None:
    graph, run = Agent().build(saver), at(thread, user={"t": "ann", "u": "bob"}[thread])
    if thread == "u":
        try:
            graph.invoke(Command(resume="yes"), run)
        except errors.ConcurrentRun:  # a lease of nobody: a person frees the thread
            saver.thread(thread).release()
            graph.invoke(Command(resume="yes"), run)
    before = saver.get_tuple(at(thread))
    graph.invoke({"messages": [HumanMessage("and now", id="new")]}, run)
    after = saver.get_tuple(at(thread))
    assert after.checkpoint["id"] > (before.checkpoint["id"] if before else "")
    assert "new" in [m.id for m in after.checkpoint["channel_values"]["messages"]]


def campaign(
    fresh: Fresh,
    n: int,
    first: int,
    *,
    opened: Opened = opened,
    aloud: bool = False,
    until: float = math.inf,
) -> tuple[Counts, list[str]]:
    """`fresh` gives addresses of new copies of the database."""
    counts: Counts = Counter()
    wrong: list[str] = []
    with fresh() as url, opened(url) as saver:
        sound = {thread: seen(saver, thread) for thread in THREADS}
        assert saver.verify().ok, str(saver.verify())
    seed = first
    while sum(counts.values()) < n and time.monotonic() < until:
        with fresh() as url:
            fault = Fault(url, seed)
            if fault.strike():
                outcome, bad = look(url, fault, sound, opened)
                counts[fault.table, fault.kind, outcome] += 1
                wrong += [f"seed {seed}, {fault.kind} in {fault.table} ({fault.told}): {each}"
                          for each in bad]  # fmt: skip
                if bad and aloud:
                    print(*wrong[-len(bad) :], sep="\n", flush=True)
        seed += 1
        if aloud and not seed % 50:
            print(f"seed {seed}: {sum(counts.values())} faults", flush=True)
    return counts, wrong


def tabled(counts: Counts) -> str:
    """What came of the faults, by table and by kind."""
    lines = []
    for part in (0, 1):
        rows: dict[str, Counter[str]] = {}
        for key, count in counts.items():
            rows.setdefault(key[part], Counter())[key[2]] += count
        rows["all"] = sum(rows.values(), Counter())
        names = [each for each in OUTCOMES if rows["all"][each]]
        lines.append(" | ".join([f"{'':18}", *names, "faults"]))
        for name, held in sorted(rows.items(), key=lambda row: (row[0] == "all", row[0])):
            cells = [f"{held[each] or '':>{len(each)}}" for each in names]
            lines.append(" | ".join([f"{name:18}", *cells, f"{sum(held.values()):>6}"]))
        lines.append("")
    return "\n".join(lines)


# ---- databases


@contextlib.contextmanager
def sqlite_copies(
    opened: Opened = opened,
) -> Iterator[Callable[[], contextlib.AbstractContextManager[str]]]:
    with tempfile.TemporaryDirectory(prefix="wyrd-faults-") as folder:
        original = Path(folder) / "sound.db"
        build(f"sqlite:///{original}", opened)

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
def postgres_copies(server: str, opened: Opened = opened) -> Iterator[Fresh]:
    import psycopg

    from tests.conftest import fresh_postgres, postgres_url

    with fresh_postgres(server) as original:
        build(original, opened)
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
    parser.add_argument("--sealed", action="store_true", help="encrypted with a key ring")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--sum", type=Path, help="a file in which slices are added up")
    given = parser.parse_args()
    logging.getLogger("langgraph_wyrd").setLevel(logging.CRITICAL)
    opener = sealed if given.sealed else opened
    with contextlib.ExitStack() as stack:
        if given.backend == "sqlite":
            fresh = stack.enter_context(sqlite_copies(opener))
        else:
            server = stack.enter_context(own_server())
            fresh = stack.enter_context(postgres_copies(server.get_uri(), opener))
        counts, wrong = campaign(fresh, given.n, given.first, opened=opener, aloud=True,
                                 until=time.monotonic() + 60 * given.minutes)  # fmt: skip
    ended = sum(counts.values())
    if given.sum is not None:
        before = json.loads(given.sum.read_text()) if given.sum.exists() else []
        counts.update({(*key,): count for *key, count in before})
        given.sum.write_text(json.dumps([(*key, count) for key, count in counts.items()]))
    print(tabled(counts))
    print(f"{ended} faults, {len(wrong)} times something went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
