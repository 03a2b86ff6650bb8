"""Values of a wrong type in each column of each table, and what every verb makes of them.

    python -m tests.campaigns.columns [--every] [TABLE …]

A thread has something of everything. One of its rows gets a value that its column can't have held,
and there is no parity to restore it from; `--every`: all its rows of that table. Then every verb is
called, each time in another order. It gives an answer, or an error with a name of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from langgraph_wyrd import Retention, WyrdSaver, errors
from langgraph_wyrd.storage.tables import TABLES, Table
from tests.damage import Agent, at, talk
from tests.outside import is_postgres, raw

WRONG = (b"\xff\x00", 7, "a text", None, b"", 1.5)
_LAST = 6  # verbs that nothing comes after


def program(saver: Any) -> list[str]:
    """A thread with something of everything, and another one; the ids of its checkpoints."""
    for name in ("u", "t"):
        thread = saver.thread(name)
        talk(saver, name, 2, last="approve this", user="ann")
        thread.add_todo("one")
        thread.set_context("k", {"a": 1.5})
        thread.decide("do it", "because")
        thread.set_intention("win")
        thread.label("here")
        talk(saver, name, 1, last="more", user="ann")
    assert [*saver.threads(text="looking")]
    return [entry.checkpoint_id for entry in saver.thread("t").history()]


def strike(url: str, table: Table, column: str, value: Any, dice: random.Random | None) -> bool:
    """Put a value into a column of one row of the thread (`dice` None: of all); whether it could be
    done."""
    mark, key_of = "%s" if is_postgres(url) else "?", table.key
    if table.rowid and not is_postgres(url):
        key_of = ("row",)
    where = " AND ".join(f"{name} = {mark}" for name in key_of)
    with raw(url) as connection:
        if not is_postgres(url):
            connection.execute("PRAGMA ignore_check_constraints = ON")
        ((key,),) = connection.execute("SELECT key FROM wyrd_threads WHERE thread_id = 't'")
        connection.execute("DELETE FROM wyrd_parity")
        found = f"FROM {table.name} WHERE {table.placed_by} = {mark}"
        with contextlib.suppress(Exception):  # the database would not have it
            places = connection.execute(f"SELECT {', '.join(key_of)} {found}", (key,)).fetchall()
            some = places if dice is None else [dice.choice(places)]
            change = f"UPDATE {table.name} SET {column} = {mark} WHERE {where}"
            for place in some:
                connection.execute(change, (value, *place))
            return bool(some)
    return False


def verbs(saver: Any, ids: Sequence[str], folder: Path) -> dict[str, Callable[[], Any]]:
    """Every verb, and its answer as text; the last ones change the thread for good."""
    thread, graph = saver.thread("t"), Agent().build(saver)
    rule = Retention(keep_last=2, thread_ttl=timedelta(days=900))
    new = f"new {time.monotonic_ns()}"
    return {
        "get_tuple": lambda: saver.get_tuple(at("t")),
        "get_tuple by id": lambda: saver.get_tuple(at("t", ids[3])),
        "list": lambda: [*saver.list(at("t"))],
        "list of all": lambda: [*saver.list(None)],
        "deltas": lambda: saver.get_delta_channel_history(config=at("t"), channels=["trace"]),
        "get_state": lambda: graph.get_state(at("t")),
        "history": lambda: [str(each) for each in thread.history()],
        "tree": lambda: str(thread.tree()),
        "threads": lambda: str(saver.threads()),
        "threads by text": lambda: str(saver.threads(text="looking")),
        "inbox": lambda: str(saver.inbox()),
        "open_loops": lambda: str(saver.open_loops(confidence="any", status="any")),
        "todos": lambda: str(saver.todos(status="any")),
        "intentions": lambda: str(saver.intentions(status="any")),
        "events": lambda: [str(each) for each in saver.events(limit=1000)],
        "latest": lambda: str(saver.latest()),
        "resume": lambda: str(saver.resume("t")),
        "working_state": lambda: str(thread.working_state()),
        "working_state of then": lambda: str(thread.working_state(ids[3])),
        "diff": lambda: str(thread.diff(ids[-1], ids[0])),
        "messages": lambda: thread.messages(),
        "all messages": lambda: thread.messages(all=True),
        "labels": lambda: str(thread.labels()),
        "get_label": lambda: str(thread.get_label("here")),
        "heals": lambda: str(thread.heals()),
        "get_ttl": lambda: thread.get_ttl(),
        "verify": lambda: str(saver.verify()),
        "export": lambda: thread.export(folder / "t.json"),
        "export of all": lambda: thread.export(folder / "t.wyrd", payloads=True),
        "size_report": lambda: str(saver.size_report()),
        "dry sweep": lambda: str(saver.sweep(rule)),
        "copy_thread": lambda: saver.copy_thread("t", new),
        "fork": lambda: thread.fork(f"{new}, a fork"),
        "rewind": lambda: thread.rewind(ids[5]),
        "label": lambda: str(thread.label("again")),
        "edit": lambda: str(thread.add_todo("other")),
        "run": lambda: talk(saver, "t", 1, last="again", user="ann"),
        "sweep": lambda: str(saver.sweep(rule, dry_run=False)),
        "erase_user": lambda: str(saver.erase_user("bob", vacuum=False)),
        "prune": lambda: saver.prune(["t"]),
        "reextract": lambda: saver.reextract("t"),
        "repair": lambda: str(saver.verify(repair=True)),
        "delete_thread": lambda: saver.delete_thread("t"),
    }


def looked(saver: Any, ids: Sequence[str], folder: Path, dice: random.Random) -> list[str]:
    """What of all verbs raised something that has no name of ours."""
    every = [*verbs(saver, ids, folder).items()]
    first = every[:-_LAST]
    dice.shuffle(first)
    wrong = []
    for name, verb in [*first, *every[-_LAST:]]:
        try:
            verb()
        except errors.WyrdError:
            pass
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    return wrong


def cases(names: Sequence[str]) -> Iterator[tuple[Table, str, Any]]:
    for table in TABLES.values():
        if table.placed_by and (not names or table.name in names):
            for column in table.names:
                for value in WRONG:
                    yield table, column, value


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("tables", nargs="*", help="only these")
    parse.add_argument("--every", action="store_true", help="damage all of the thread's rows")
    asked = parse.parse_args()
    done, found = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound, struck = folder / "sound.db", folder / "struck.db"
        with WyrdSaver.from_conn_string(f"sqlite:///{sound}", synchronous="OFF") as saver:
            ids = program(saver)
        for number, (table, column, value) in enumerate(cases(asked.tables)):
            for each in folder.glob("struck.db*"):
                each.unlink()
            struck.write_bytes(sound.read_bytes())
            dice, url = random.Random(number), f"sqlite:///{struck}"
            if not strike(url, table, column, value, None if asked.every else dice):
                continue
            with WyrdSaver.from_conn_string(url, synchronous="OFF") as saver:
                wrong = looked(saver, ids, folder, dice)
            done, found = done + 1, found + len(wrong)
            for each in wrong:
                print(f"{table.name}.{column} = {value!r}: {each}", flush=True)
            print(f"\r{done} done, {table.name}", end="", file=sys.stderr, flush=True)
    print(f"{done} columns damaged; {found} errors without a name")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
