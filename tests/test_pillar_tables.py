"""The pillar tables, the ledger and the past agree, whatever a graph and its people do.

`WYRD_MORE=20` plays that many times more programs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import pytest
from conftest import Backend, fresh_backend

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import ThreadNotFound
from langgraph_wyrd.plans import states
from langgraph_wyrd.plans.weaving import columns
from langgraph_wyrd.state.model import WorkingState
from tests.outside import raw
from tests.story import Teller, without_loop

MORE = int(os.environ.get("WYRD_MORE", "1"))

TABLES = {
    "put_todo": "wyrd_todos",
    "put_context": "wyrd_context",
    "put_loop": "wyrd_open_loops",
    "put_intention": "wyrd_intentions",
}
JSON = {"value", "metadata", "context", "extra", "body", "due"}
SHOWN = ("status", "reason", "due", "title", "open_loops", "open_todos")


# ---- what is in the database


def plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds")
    if name in JSON and value is not None:
        return json.dumps(json.loads(value) if isinstance(value, str) else value, sort_keys=True)
    return value


def rows_of(url: str, table: str, where: str = "") -> list[dict[str, Any]]:
    with raw(url) as connection:
        cursor = connection.execute(f"SELECT * FROM {table} {where}")
        names = [each[0] for each in cursor.description]
        if table == "wyrd_context":  # jsonb that is a text comes as that text
            made = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            if not url.startswith("sqlite"):
                for row in made:
                    row["value"] = json.dumps(row["value"])
        else:
            made = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [{name: plain(name, value) for name, value in row.items()} for row in made]


def shown_tables(url: str) -> dict[str, dict[Any, dict[str, Any]]]:
    """The public tables, without which checkpoint wrote a row last."""
    found = {}
    for table in TABLES.values():
        rows = rows_of(url, table)
        for row in rows:
            row.pop("changed_in")
        found[table] = {(row["thread"], row["id"]): row for row in rows}
    return found


def ledger(url: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in rows_of(url, "wyrd_events"))


def derived(url: str) -> dict[str, Any]:
    """Everything that is read out of checkpoints."""
    return {
        **shown_tables(url),
        "ledger": {row[:5]: row for row in ledger(url)},
        "due": {
            (row["thread"], row["ns"], row["id"]): (row["due"], row["root"])
            for row in rows_of(url, "wyrd_checkpoints")
        },
        "threads": {
            row["id"]: {name: row[name] for name in (*SHOWN, "user_id")}
            for row in rows_of(url, "wyrd_threads", "WHERE deleted_at IS NULL")
        },
    }


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> list[Any]:
    made = []
    for part, rows in wanted.items():
        here = found[part]
        for key in sorted({*rows, *here}, key=str):
            if rows.get(key) != here.get(key):
                made.append((part, key, {"wanted": rows.get(key), "found": here.get(key)}))
    return made


def read(saver: WyrdSaver, plan: Callable[[], Any]) -> Any:
    return saver._core.run(lambda core: core.read(plan))


def projection(saver: WyrdSaver, url: str) -> dict[str, Any]:
    """The tables, and the threads' columns, as the ledger has them."""
    codec = saver._codec
    names: dict[str, list[str]] = {}
    with raw(url) as connection:
        for table in TABLES.values():
            described = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
            names[table] = [each[0] for each in described]
    found: dict[str, Any] = {table: {} for table in TABLES.values()}
    found["threads"] = {}

    def plan(number: int, thread_id: str) -> Any:
        weave = yield from states.load_weave(codec, number, thread_id)
        rows = yield from states.projected(codec, number, thread_id, weave)
        return weave, rows

    for thread in rows_of(url, "wyrd_threads", "WHERE deleted_at IS NULL AND status IS NOT NULL"):
        number, thread_id = thread["id"], thread["thread_id"]
        weave, rows = read(saver, lambda n=number, t=thread_id: plan(n, t))
        for statement, held in rows.items():
            table = TABLES[statement]
            for row in held:
                made = dict(zip(names[table], row, strict=True))
                made = {name: plain(name, value) for name, value in made.items()}
                made.pop("changed_in")
                found[table][made["thread"], made["id"]] = made
        status, reason, due, title, _, loops, todos = columns(codec, weave.visible(), None)
        found["threads"][number] = {
            "status": status, "reason": reason, "due": plain("due", due), "title": title or None,
            "open_loops": loops, "open_todos": todos,
        }  # fmt: skip
    return found


def check_tables(saver: WyrdSaver, url: str, where: str) -> None:
    wanted = projection(saver, url)
    found: dict[str, Any] = shown_tables(url)
    found["threads"] = {
        row["id"]: {name: row[name] for name in SHOWN}
        for row in rows_of(url, "wyrd_threads", "WHERE deleted_at IS NULL AND status IS NOT NULL")
    }
    for number, row in wanted["threads"].items():  # while it runs, the column lags behind
        if row["status"] == "due" == found["threads"][number]["status"]:
            assert set(map(str, json.loads(row["due"]))) <= set(
                map(str, json.loads(found["threads"][number]["due"]))
            )
            found["threads"][number].update(due=row["due"], reason=row["reason"])
    parted = differences(found, wanted)
    assert not parted, f"{where}: {len(parted)} rows differ, first {parted[0]}"


# ---- savers that note what they see, and tell others


class Watching(WyrdSaver):
    """Notes what was seen live at each root checkpoint; tells other databases what it is told.

    One call at a time, so that every database sees the same order of things.
    """

    watch: bool
    seen: dict[tuple[str, str], WorkingState]
    others: list[list[WyrdSaver]]
    lock: threading.RLock
    calls: list[int]

    def begin(self, others: Iterable[list[WyrdSaver]] = (), *, watch: bool = True) -> Watching:
        self.seen, self.others, self.lock, self.calls = {}, list(others), threading.RLock(), [0]
        self.watch = watch
        return self

    def told(self, name: str, *args: Any) -> Any:
        for savers in self.others:
            getattr(savers[self.calls[0] % len(savers)], name)(*args)
        return getattr(super(), name)(*args)

    def note(self, thread_id: str) -> None:
        """What is seen at the head now."""
        if self.watch:
            try:
                state = self.thread(thread_id).working_state()
            except ThreadNotFound:
                return
            assert state.checkpoint_id is not None
            self.seen[thread_id, state.checkpoint_id] = state

    def put(self, config: Any, *args: Any) -> Any:
        with self.lock:
            thread_id = config["configurable"]["thread_id"]
            self.note(thread_id)
            answer = self.told("put", config, *args)
            self.seen.pop((thread_id, args[1].get("parents", {}).get("")), None)
            self.note(thread_id)
            return answer

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        with self.lock:
            self.told("put_writes", config, writes, task_id, task_path)
            where = config["configurable"]
            ns, root = where.get("checkpoint_ns") or "", where["checkpoint_id"]
            if ns:
                root = self.root_of(where["thread_id"], ns, root)
            # History that grows is seen from now on as it is now: it was not seen live so.
            self.seen.pop((where["thread_id"], root), None)
            self.note(where["thread_id"])

    def root_of(self, thread_id: str, ns: str, id: str) -> Any:
        config = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": id}
        found = self.get_tuple({"configurable": config})
        return found and found.metadata.get("parents", {}).get("")

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        with self.lock:
            self.told("delete_thread", thread_id)
            self.seen = {key: state for key, state in self.seen.items() if key[0] != thread_id}

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    def copy_thread(self, source: str, target: str) -> None:
        with self.lock:
            self.told("copy_thread", source, target)

    async def acopy_thread(self, source: str, target: str) -> None:
        self.copy_thread(source, target)

    def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        with self.lock:
            self.told("prune", thread_ids)

    async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids)

    def delete_for_runs(self, run_ids: Any) -> None:
        with self.lock:
            self.told("delete_for_runs", run_ids)


def played(
    seed: int,
    savers: list[Any],
    *,
    asynchronous: bool,
    turns: int = 5,
    past: bool = True,
    between: Callable[[Teller, int], None] | None = None,
) -> Teller:
    """A random program, of which only what it leaves in the database matters."""

    async def play() -> Teller:
        teller = Teller(seed, savers, asynchronous, True, past)
        for teller.turn in range(turns):
            await teller.record("act", teller.act())
            if between is not None:
                between(teller, teller.turn)
        return teller

    return asyncio.run(play()) if asynchronous else without_loop(play())


def seeds(first: int, count: int) -> range:
    return range(first, first + count * MORE)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return request.param


# ---- the properties


def watching(backend: Backend, **options: Any) -> Any:
    saver = Watching.from_conn_string(backend.url, **options)
    backend.opened.append(saver)
    return saver


def test_tables_are_the_ledgers_projection(durable: Backend, asynchronous: bool) -> None:
    """After every act of a random program the tables hold what the ledger says of the head."""
    saver = durable.open()
    for seed in (*seeds(0, 12), 49):  # 49: a fork from before something was dropped

        def look(teller: Teller, turn: int, seed: int = seed) -> None:
            check_tables(saver, durable.url, f"seed {seed} turn {turn}")

        played(seed, [saver], asynchronous=asynchronous, between=look)


def test_the_past_is_seen_as_it_was(durable: Backend, asynchronous: bool) -> None:
    """The working state at a checkpoint is the one that was seen while it was the head."""
    saver = watching(durable).begin()
    count = 0
    for seed in seeds(1000, 9):
        teller = played(seed, [saver], asynchronous=asynchronous)
        handle = saver.thread(teller.thread)
        for (thread_id, id), seen in saver.seen.items():
            if thread_id == teller.thread:
                assert handle.working_state(at=id) == seen, f"seed {seed}"
                count += 1
    assert count > 50


def test_two_savers_in_turns_are_as_one(
    durable: Backend, asynchronous: bool, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    """What two savers write in turns, neither knowing what the other did, one alone writes too."""
    with other_database(durable.name, request, tmp_path) as other:
        pair = [other.open(), other.open()]
        saver = watching(durable).begin([pair], watch=False)
        for seed in seeds(2000, 6):

            def look(teller: Teller, turn: int, seed: int = seed) -> None:
                with saver.lock:
                    parted = differences(derived(other.url), derived(durable.url))
                    saver.calls[0] += 1
                assert not parted, f"seed {seed} turn {turn}: {len(parted)}, first {parted[0]}"

            played(seed, [saver], asynchronous=asynchronous, between=look)


def say_something(saver: WyrdSaver, thread_id: str, rng: random.Random) -> set[str]:
    """A few random verbs of a person; what must be open from now on, whatever the graph does."""
    said = set()
    try:
        with saver.thread(thread_id).edit(by="person") as draft:
            for _ in range(rng.randint(1, 3)):
                state = draft.state
                words = f"said {rng.random()}"
                match rng.randint(0, 7):
                    case 0:
                        said.add(draft.add_todo(words).id)
                    case 1 if state.open_todos:
                        draft.complete_todo(rng.choice(state.open_todos).id)
                    case 2 if state.open_todos:
                        draft.cancel_todo(rng.choice(state.open_todos).id)
                    case 3 if state.open_loops:
                        draft.resolve_open_loop(rng.choice(state.open_loops).id, "settled")
                    case 4:
                        draft.set_context(rng.choice(["count", "note"]), words)
                    case 5 if state.context:
                        draft.remove_context(rng.choice(state.context).key)
                    case 6:
                        draft.set_intention(words)
                    case _:
                        said.add(draft.add_open_loop(words).id)
    except ThreadNotFound:
        return set()
    state = saver.thread(thread_id).working_state()
    return said & {item.id for item in (*state.open_todos, *state.open_loops)}


def test_what_is_said_between_the_acts(durable: Backend, asynchronous: bool) -> None:
    """Edits and a random program: tables, ledger and past agree, and reweaving changes nothing."""
    saver, other = durable.open(), durable.open()
    for seed in seeds(3000, 9):
        rng = random.Random(f"editor {seed}")

        def edit(teller: Teller, turn: int, seed: int = seed, rng: random.Random = rng) -> None:
            editor = rng.choice([saver, other])  # this process, or as good as another one
            said = say_something(editor, teller.thread, rng)
            check_tables(saver, durable.url, f"seed {seed} turn {turn}")
            shown = {row["id"] for row in rows_of(durable.url, "wyrd_open_loops")}
            shown |= {row["id"] for row in rows_of(durable.url, "wyrd_todos")}
            assert said <= shown, f"seed {seed} turn {turn}"

        teller = played(seed, [saver], asynchronous=asynchronous, between=edit)
        before = derived(durable.url)
        with suppress(ThreadNotFound):
            saver.reweave(teller.thread)
        parted = differences(derived(durable.url), before)
        assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"


def other_database(name: str, request: Any, tmp_path: Any, which: str = "other") -> Any:
    """A second, empty database of the same kind."""
    if name == "postgres":
        return fresh_backend("postgres", request)
    return _OtherFile(f"sqlite:///{tmp_path / which}.db")


class _OtherFile:
    def __init__(self, url: str) -> None:
        self.made = Backend("sqlite", url)

    def __enter__(self) -> Backend:
        return self.made

    def __exit__(self, *exc: object) -> None:
        for saver in self.made.opened:
            saver.close()
