"""The feed: every event of every thread once, in commit order, also with several writers."""

from __future__ import annotations

import subprocess
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd.errors import InvalidInput
from tests.conftest import Backend
from tests.outside import python
from tests.test_across import office, say

Call = Callable[..., Any]


async def every(call: Call, saver: Any, **filters: Any) -> list[Any]:
    """All that there is, page by page."""
    found: list[Any] = []
    since = filters.pop("since", None)
    while True:
        page = await call(saver, "events", since=since, **filters)
        found += page
        since = page.next
        if not page:
            return found


async def test_each_event_once_in_order(backend: Backend, call: Call) -> None:
    """Pages of any size give the same events in the same order; the cursor goes on when more
    happens."""
    saver = backend.open()
    office(saver)
    whole = await every(call, saver, limit=1000)
    assert {e.thread_id for e in whole} == {"a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2"}
    assert {"loop.open", "todo.open", "intention.open"} <= {e.kind for e in whole}
    for limit in (1, 2, 7, 50):
        assert await every(call, saver, limit=limit) == whole
    threads = list(dict.fromkeys(e.thread_id for e in whole))
    assert threads == ["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2"]

    last = await call(saver, "events", limit=1000)
    assert last.next
    now = await call(saver, "events", since="now")
    assert now == []
    assert await call(saver, "events", since=now.next) == []
    assert await call(saver, "events", since=last.next) == []
    loop = await call(saver.thread("a1"), "decide", "refund it", by="ann")
    (event,) = await every(call, saver, since=last.next)
    assert await every(call, saver, since=now.next) == [event]
    assert (event.kind, event.item, event.author, event.declared) == (
        "loop.open", loop.id, "ann", True,
    )  # fmt: skip
    await call(saver.thread("a1"), "record_outcome", loop.id, "done")
    more = await every(call, saver, since=last.next)
    assert [e.kind for e in more] == ["loop.open", "loop.close"]
    assert more[1].body["outcome"] == "done"


async def test_filters(backend: Backend, call: Call) -> None:
    """By kind, pillar, thread and author; a filter never moves the cursor past other events."""
    saver = backend.open()
    office(saver)
    await call(saver.thread("a1"), "add_todo", "call", by="bob")
    whole = await every(call, saver, limit=1000)
    for kind in ("loop", "loop.open", "todo.open"):
        found = await every(call, saver, kind=kind, limit=2)
        wanted = [e for e in whole if e.kind == kind or e.kind.split(".")[0] == kind]
        assert found == wanted
    assert await every(call, saver, thread_id=["a1", "nobody"]) == [
        e for e in whole if e.thread_id == "a1"
    ]
    assert [e.kind for e in await every(call, saver, author="bob")] == ["todo.open"]
    for wrong in ({"kind": "loops"}, {"since": "x"}, {"since": "WyJ4Il0"}, {"limit": 0}):
        with pytest.raises(InvalidInput):
            await call(saver, "events", **wrong)


async def test_after_a_deletion(backend: Backend, call: Call) -> None:
    """What is stored after the newest thread was deleted is reported, though rows' numbers come
    again; nothing is reported twice."""
    saver = backend.open()
    office(saver)
    seen = await call(saver, "events", limit=1000)
    say(saver, "x1", "approve it")
    saver.delete_thread("x1")
    saver.delete_thread("c2")
    saver.delete_thread("c1")
    say(saver, "x2", "approve that")
    found = await every(call, saver, since=seen.next, limit=2)
    assert {e.thread_id for e in found} == {"x2"}
    assert len(found) == len(set(found)) >= 2


WRITER = """
import sys
from langgraph_wyrd import WyrdSaver
from tests.test_across import say
url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = {"synchronous": "OFF"} if url.startswith("sqlite") else {}
with WyrdSaver.from_conn_string(url, **options) as saver:
    for n in range(count):
        say(saver, f"{name}-{n % 3}", f"approve {name} {n}")
        saver.thread(f"{name}-{n % 3}").add_todo(f"{name} {n}")
"""


def test_several_processes(durable: Backend, tmp_path: Path) -> None:
    """A reader that follows three writing processes gets each event once, and all of them."""
    saver = durable.open()
    saver.setup()
    script = tmp_path / "writer.py"
    script.write_text(textwrap.dedent(WRITER))
    writers = [
        subprocess.Popen(python(str(script), durable.url, name, "8"))
        for name in ("one", "two", "three")
    ]
    followed: list[Any] = []
    since = None
    while True:
        running = any(each.poll() is None for each in writers)
        page = saver.events(since=since, limit=17)
        followed += page
        since = page.next
        if not running and not page:
            break
    assert all(each.returncode == 0 for each in writers)
    told = Counter((e.thread_id, e.kind, e.item, e.checkpoint_id, e.task_id) for e in followed)
    whole: list[Any] = []
    since = None
    while page := saver.events(since=since, limit=1000):
        whole += page
        since = page.next
    assert told == Counter((e.thread_id, e.kind, e.item, e.checkpoint_id, e.task_id) for e in whole)
    todos = [e for e in followed if e.kind == "todo.open" and e.declared]
    assert len(todos) == 24
    for name in ("one", "two", "three"):
        for n in range(3):
            mine = [e.body["content"] for e in todos if e.thread_id == f"{name}-{n}"]
            assert mine == [f"{name} {k}" for k in range(8) if k % 3 == n]


def test_a_slow_transaction_holds_the_feed_back(postgres: Backend) -> None:
    """On Postgres nothing is reported while an older transaction, which may hold events, runs."""
    import psycopg

    saver = postgres.open()
    say(saver, "t1", "approve it")
    seen = saver.events(limit=1000)
    with psycopg.connect(postgres.url) as slow:
        slow.execute("SELECT pg_current_xact_id()")
        saver.thread("t1").add_todo("while it runs")
        assert saver.events(since=seen.next) == []
        slow.commit()
    (event,) = saver.events(since=seen.next)
    assert event.body["content"] == "while it runs"
