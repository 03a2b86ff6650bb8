"""Faults in single rows of every declared table, and what a saver makes of them.

    python -m tests.campaigns.faults --n 2000 --backend sqlite [--rows 3] [--sealed]

Every fault is drawn from its seed: a flipped bit, another byte, a cut, a null, another type, a
column exchanged with another row's, a deleted row. The oracle is an InMemorySaver that played the
same program. After each fault everything is read that LangGraph reads: what comes is exact, or the
damage was reported. Every third time verify(repair=True) goes first. Then each thread goes on,
and verify finds nothing more that it could repair. `--rows`: that many rows at once.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_wyrd.checkpoints import snapshots
from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.storage.tables import TABLES, Table
from tests.damage import Agent, at, talk
from tests.outside import is_postgres, own_server, raw

KINDS = ("flip", "byte", "cut", "null", "type", "exchange", "delete")
TWO = "exchange two"  # columns, between the same rows: what no repair puts right by itself
# What a fault in one row may come to, from the best to the worst.
EXACT, FOUND, SAID, REFUSED, NOTHING, SILENT = (
    "exact", "exact, found by verify", "lost and said", "lost and refused", "no difference",
    "WRONG, SILENTLY",
)  # fmt: skip
OUTCOMES = (EXACT, FOUND, NOTHING, SAID, REFUSED, SILENT)
WEIGHTS = {
    "wyrd_checkpoints": 10, "wyrd_writes": 8, "wyrd_threads": 4, "wyrd_snapshots": 4,
    "wyrd_journal": 3, "wyrd_parity": 3, "wyrd_labels": 2, "wyrd_user_data": 2,
}  # fmt: skip
THREADS = ("t", "u")
KEYS = {"keys": {"k": bytes(range(32))}}


def program(saver: Any) -> None:
    """Thread t has turns behind it; u waits for a person, after it was answered once.

    Snapshots are made early, so that there are some.
    """
    before = snapshots.SLACK, snapshots.OWN_ROW
    snapshots.SLACK, snapshots.OWN_ROW = 1500, 900
    try:
        _program(saver)
    finally:
        snapshots.SLACK, snapshots.OWN_ROW = before


def _program(saver: Any) -> None:
    talk(saver, "t", 3)
    talk(saver, "u", 2, last="approve this")
    graph = Agent().build(saver)
    graph.invoke(Command(resume="yes"), at("u"))
    talk(saver, "u", 1, last="approve that")


def strike(
    url: str, dice: random.Random, kinds: Sequence[str] = KINDS
) -> tuple[Table, str, str] | None:
    """Damage one row: its table, the kind of fault, and the column. None: it could not be done."""
    table = dice.choices([*TABLES.values()], [WEIGHTS.get(name, 1) for name in TABLES])[0]
    kind = dice.choice(kinds)
    mark, place = ("%s", "ctid") if is_postgres(url) else ("?", "rowid")
    names = table.names
    with raw(url) as connection:
        if not is_postgres(url):
            found = connection.execute(
                "SELECT sql FROM sqlite_master WHERE name = ?", (table.name,)
            ).fetchone()
            if "WITHOUT ROWID" in found[0]:
                place = table.key[-1]
        rows = connection.execute(
            f"SELECT {place}, {', '.join(names)} FROM {table.name} ORDER BY 1, 2, 3"
        ).fetchall()
        if not rows:
            return None
        row = dice.choice(rows)
        if kind == "delete":
            connection.execute(f"DELETE FROM {table.name} WHERE {place} = {mark}", (row[0],))
            return table, kind, ""
        columns = [dice.choice(names) for _ in range(2 if kind == TWO else 1)]
        other = dice.choice(rows) if kind in ("exchange", TWO) else None
        changes: dict[Any, dict[str, Any]] = {}
        for column in columns:
            at_ = 1 + names.index(column)
            cell = _plain(row[at_])
            new = spoilt(cell, kind, dice) if other is None else _plain(other[at_])
            if new == cell and type(new) is type(cell):
                return None
            changes.setdefault(row[0], {})[column] = new
            if other is not None:
                changes.setdefault(other[0], {})[column] = cell
        try:
            if not is_postgres(url):
                connection.execute("PRAGMA ignore_check_constraints = ON")
            with _transaction(connection):
                for where, values in changes.items():
                    new = ", ".join(f"{column} = {mark}" for column in values)
                    connection.execute(
                        f"UPDATE {table.name} SET {new} WHERE {place} = {mark}",
                        (*values.values(), where),
                    )
        except Exception:  # the database itself would not have it
            return None
    return table, kind, " and ".join(columns)


@contextlib.contextmanager
def _transaction(connection: Any) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _plain(cell: Any) -> Any:
    if isinstance(cell, memoryview):
        return bytes(cell)
    if isinstance(cell, (dict, list)):
        from psycopg.types.json import Jsonb

        return Jsonb(cell)
    return cell


def spoilt(cell: Any, kind: str, dice: random.Random) -> Any:
    if kind == "null":
        return None
    if kind == "type":
        return dice.choice([b"\x00\xff", "a text", 7, 1.5])
    if isinstance(cell, bool) or cell is None:
        return "x" if cell is None else not cell
    if isinstance(cell, int):
        return cell ^ 1 << dice.randrange(62) if kind == "flip" else cell // 10
    if isinstance(cell, (bytes, str)) and cell:
        data = bytearray(cell if isinstance(cell, bytes) else cell.encode())
        at = dice.randrange(len(data))
        if kind == "flip":
            data[at] ^= 1 << dice.randrange(8)
        elif kind == "byte":
            data[at] = dice.randrange(256)
        else:
            del data[at:]
        if isinstance(cell, bytes):
            return bytes(data)
        return bytes(data).decode(errors="replace").replace("\0", "?")
    return "x"


# ---- what is seen


def seen(saver: Any, thread: str, ids: Sequence[tuple[str, str]]) -> dict[Any, Any]:
    """Everything that LangGraph reads of a thread, each by its own call."""
    made: dict[Any, Any] = {}

    def ask(name: Any, call: Callable[[], Any]) -> None:
        try:
            made[name] = call()
        except CheckpointDamaged as error:
            made[name] = error

    ask("head", lambda: _tuple(saver.get_tuple(at(thread))))
    for ns, id in ids:
        config = {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}
        ask(("by id", id), lambda c=config: _tuple(saver.get_tuple(c)))
        if ns == "":
            ask(("delta", id), lambda c=config: _delta(saver, c))
    ask("list", lambda: {
        each.checkpoint["id"]: _tuple(each) for each in saver.list(at(thread))
    })  # fmt: skip
    ask("values", lambda: Agent().build(saver).get_state(at(thread)).values)
    return made


def _tuple(found: Any) -> Any:
    if found is None:
        return None
    checkpoint = dict(found.checkpoint)
    parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
    return checkpoint, dict(found.metadata), parent, sorted(map(repr, found.pending_writes or ()))


def _delta(saver: Any, config: Any) -> Any:
    found = saver.get_delta_channel_history(config=config, channels=["trace"])
    return {name: (repr(each["writes"]), repr(each.get("seed"))) for name, each in found.items()}


class Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


class Campaign:
    """One database, struck again and again from the same copy."""

    kinds: Sequence[str] = KINDS

    def __init__(self, open_: Callable[[], Any], rows: int = 1) -> None:
        self.open = open_
        self.rows = rows
        self.oracle: dict[str, dict[Any, Any]] = {}
        self.ids: dict[str, list[tuple[str, str]]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.heads: Counter[str] = Counter()
        self.costs: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.notes: list[str] = []  # what was lost, and said

    def prepare(self, saver: Any) -> None:
        """What the threads look like sound, which an InMemorySaver must agree with."""
        for thread in THREADS:
            self.ids[thread] = [
                (each.config["configurable"]["checkpoint_ns"], each.checkpoint["id"])
                for each in saver.list({"configurable": {"thread_id": thread}})
            ]
            self.oracle[thread] = seen(saver, thread, self.ids[thread])
        twin = InMemorySaver()
        program(twin)
        for thread in THREADS:
            config = at(thread)
            ours, theirs = (Agent().build(each).get_state(config) for each in (saver, twin))
            assert ours.values == theirs.values, "the twin has other values"
            assert [t.name for t in ours.tasks] == [t.name for t in theirs.tasks]
            assert len(self.ids[thread]) == len([*twin.list(config)])

    def look(self, url: str, seed: int) -> str | None:
        """Strike once, and look; the outcome."""
        dice = random.Random(seed)
        struck = (strike(url, dice, self.kinds) for _ in range(self.rows))
        all_ = [found for found in struck if found is not None]
        if not all_:
            return None
        table = all_[0][0]
        of = " and ".join(f"{table.name}.{column} {kind}" for table, kind, column in all_)
        log = Log()
        logger = logging.getLogger("langgraph_wyrd")
        logger.addHandler(log)
        logger.propagate = False
        worst, lost = EXACT, set()
        head = True
        try:
            with self.open() as saver:
                if seed % 3 == 0:
                    report = saver.verify(repair=True)
                    log.said += [str(each) for each in report.damages if not each.repairable]
                for thread in THREADS:
                    made = seen(saver, thread, self.ids[thread])
                    for name, value in self.oracle[thread].items():
                        got = made[name]
                        if _same(got, value):
                            continue
                        if isinstance(got, CheckpointDamaged):
                            outcome = REFUSED
                        elif any("restored to the byte" not in each for each in log.said):
                            outcome = SAID
                        else:
                            outcome = SILENT
                        if name in ("head", "values"):
                            head = False
                        lost |= _lost(name, got, value)
                        worst = max(worst, outcome, key=OUTCOMES.index)
                        if outcome != EXACT:
                            (self.wrong if outcome == SILENT else self.notes).append(
                                f"seed {seed}: {of}: {thread} {name}: "
                                f"{str(got)[:150]} instead of {str(value)[:150]}"
                            )
                for thread in THREADS:
                    talk(saver, thread, 1, last="more")
                saver.verify(repair=True)
                again = saver.verify()
                if any(each.repairable for each in again.findings):
                    self.wrong.append(f"seed {seed}: {of}: a second repair finds {again}")
                if not again.ok:
                    self.costs["left by verify"] += 1
                    self.notes.append(f"seed {seed}: {of}: a repair leaves {again}")
        except Exception as error:
            raised = SILENT if not isinstance(error, WyrdError) else REFUSED
            worst = max(worst, raised, key=OUTCOMES.index)
            self.wrong.append(f"seed {seed}: {of}: {type(error).__name__}: {error}")
            self.costs["raised"] += 1
        finally:
            logger.removeHandler(log)
            logger.propagate = True
        self.counts[table.name, worst] += 1
        self.heads["exact" if head else "not exact"] += 1
        self.costs[f"{len(lost)} checkpoints"] += 1
        return worst


def _lost(name: Any, got: Any, value: Any) -> set[str]:
    """The checkpoints that were not read as they were."""
    if isinstance(name, tuple) and name[0] == "by id":
        return {name[1]}
    return set()


def _same(got: Any, value: Any) -> bool:
    return bool(got == value) and not isinstance(got, CheckpointDamaged)


# ---- the databases


@contextlib.contextmanager
def sqlite_databases(
    rows: int = 1, sealed: bool = False
) -> Iterator[tuple[Campaign, Callable[[], contextlib.AbstractContextManager[str]]]]:
    with tempfile.TemporaryDirectory() as folder:
        first, copy = Path(folder) / "sound.db", Path(folder) / "struck.db"
        url = f"sqlite:///{copy}"
        options: Any = {"synchronous": "OFF", **(KEYS if sealed else {})}
        campaign = Campaign(lambda: WyrdSaver.from_conn_string(url, **options), rows)
        with WyrdSaver.from_conn_string(f"sqlite:///{first}", **options) as saver:
            program(saver)
            campaign.prepare(saver)
        with raw(f"sqlite:///{first}") as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        @contextlib.contextmanager
        def fresh() -> Iterator[str]:
            for each in Path(folder).glob("struck.db*"):
                each.unlink()
            shutil.copy(first, copy)
            yield url

        yield campaign, fresh


@contextlib.contextmanager
def postgres_databases(
    rows: int = 1,
    sealed: bool = False,
    server: str | None = None,
) -> Iterator[tuple[Campaign, Callable[[], contextlib.AbstractContextManager[str]]]]:
    from tests.conftest import fresh_postgres, url_database

    with contextlib.ExitStack() as stack:
        running = server or stack.enter_context(own_server()).get_uri()
        with fresh_postgres(running) as sound:
            urls = [""]
            options: Any = KEYS if sealed else {}
            campaign = Campaign(lambda: WyrdSaver.from_conn_string(urls[0], **options), rows)
            with WyrdSaver.from_conn_string(sound, **options) as saver:
                program(saver)
                campaign.prepare(saver)

            @contextlib.contextmanager
            def fresh() -> Iterator[str]:
                with fresh_postgres(running, url_database(sound)) as url:
                    urls[0] = url
                    yield url

            yield campaign, fresh


DATABASES = {"sqlite": sqlite_databases, "postgres": postgres_databases}


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--n", type=int, default=2000, help="faults that struck")
    parse.add_argument("--first", type=int, default=1, help="the first seed")
    parse.add_argument("--backend", choices=[*DATABASES], default="sqlite")
    parse.add_argument("--sealed", action="store_true", help="encrypted with a key ring")
    parse.add_argument("--rows", type=int, default=1, help="rows that are damaged at once")
    asked = parse.parse_args()
    began = time.perf_counter()
    with DATABASES[asked.backend](asked.rows, asked.sealed) as (campaign, fresh):
        done, seed = 0, asked.first
        while done < asked.n:
            with fresh() as url:
                done += campaign.look(url, seed) is not None
            seed += 1
            if done % 20 == 0:
                spent = time.perf_counter() - began
                print(f"\r{done} of {asked.n}, {spent:.0f} s", end="", flush=True)
    print()
    print(report(campaign))
    sys.exit(any(outcome == SILENT for _, outcome in campaign.counts))


def report(campaign: Campaign) -> str:
    lines = [f"{'table':<20}" + "".join(f"{name:>24}" for name in OUTCOMES)]
    for table in sorted({table for table, _ in campaign.counts}):
        counts = [campaign.counts[table, outcome] for outcome in OUTCOMES]
        lines.append(f"{table:<20}" + "".join(f"{count:>24}" for count in counts))
    lines += [f"head: {dict(campaign.heads)}", f"lost by id: {dict(campaign.costs)}"]
    return "\n".join([*lines, *campaign.wrong[:40], "what is lost and said:", *campaign.notes[:60]])


if __name__ == "__main__":
    main()
