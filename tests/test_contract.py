"""What LangGraph's conformance kit leaves out of the contract of a checkpointer."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import inspect
import itertools
import operator
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple, writes_sort_key
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_wyrd import WyrdSaver, errors
from tests.conftest import Backend
from tests.handmade import checkpoint, config, ids, new_id, put, version

Call = Callable[..., Any]


def content(found: CheckpointTuple | None) -> Any:
    """What a tuple says, without the thread it was asked under."""
    if found is None:
        return None
    here = dict(found.config["configurable"])
    parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
    return (
        (here.get("checkpoint_ns", ""), here["checkpoint_id"], parent),
        found.checkpoint,
        found.metadata,
        found.pending_writes or [],
    )


def contents(saver: Any, thread: str) -> list[Any]:
    """All of a thread, in every namespace."""
    where: Any = {"configurable": {"thread_id": thread}}
    return sorted((content(row) for row in saver.list(where)), key=lambda row: row[0][:2])


# ---- pending writes


async def test_pending_writes_are_in_the_order_of_a_run(saver: WyrdSaver, call: Call) -> None:
    """Whatever order they arrive in, they come back by task path, task and place."""
    rng = random.Random(1)
    made = put(saver, "t")
    stored = []
    for n in range(40):
        path = rng.choice(
            ("", "~__pregel_pull, a", "~__pregel_pull, b", "~__pregel_push, 0000000002")
        )
        task = f"task-{rng.randrange(10**6):06}"
        channels = rng.sample(("log", "facts", "__error__", "__interrupt__", "__resume__"), 3)
        await call(saver, "put_writes", made, [(c, f"{n} {c}") for c in channels], task, path)
        for place, channel in enumerate(channels):
            index = WRITES_IDX_MAP.get(channel, place)
            stored.append((writes_sort_key(path, task, index), (task, channel, f"{n} {channel}")))
    expected = [write for _, write in sorted(stored)]
    assert (await call(saver, "get_tuple", config("t"))).pending_writes == expected
    [row] = await call(saver, "list", config("t"))
    assert row.pending_writes == expected


def test_task_path_is_a_parameter(saver: WyrdSaver) -> None:
    """LangGraph passes the task path only to a saver whose signature names it."""
    for method in (saver.put_writes, saver.aput_writes):
        parameter = inspect.signature(method).parameters["task_path"]
        assert parameter.default == ""
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


async def test_writes_before_their_checkpoint_and_after_its_child(
    saver: WyrdSaver, call: Call
) -> None:
    """Writes are found under their checkpoint, however early or late they were saved."""
    early, child = new_id(), new_id()
    await call(saver, "put_writes", config("t", early), [("log", "early")], "task-1", "~a")
    assert await call(saver, "get_tuple", config("t")) is None
    assert await call(saver, "get_tuple", config("t", early)) is None
    put(saver, "t", {"log": ["x"]}, id=early)
    found = await call(saver, "get_tuple", config("t"))
    assert found.pending_writes == [("task-1", "log", "early")]
    put(saver, "t", {"log": ["y"]}, parent=early, id=child)
    await call(saver, "put_writes", config("t", early), [("log", "late")], "task-2", "~b")
    found = await call(saver, "get_tuple", config("t", early))
    assert found.pending_writes == [("task-1", "log", "early"), ("task-2", "log", "late")]
    found = await call(saver, "get_tuple", config("t"))
    assert (found.checkpoint["id"], found.pending_writes) == (child, [])


# ---- versions, allow-lists, specs


def test_versions_go_on_from_another_savers(saver: WyrdSaver) -> None:
    """Our versions are later than an official saver's, and its than ours."""
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        now: Any = None
        for n in range(300):
            maker: Any = (sqlite, InMemorySaver(), saver, saver)[n % 4]
            later = maker.get_next_version(now, None)
            assert isinstance(later, str)
            assert now is None or later > now
            now = later


@dataclasses.dataclass
class Point:
    """A class that strict msgpack does not know."""

    x: int


async def test_an_allow_list_makes_a_clone(backend: Backend, call: Call) -> None:
    """with_allowlist gives a saver on the same database that reads the classes that are named."""
    strict = backend.open(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    clone = strict.with_allowlist([(Point.__module__, "Point")])
    assert isinstance(clone, WyrdSaver)
    assert clone is not strict
    put(strict, "t", {"at": Point(1)})
    found = await call(clone, "get_tuple", config("t"))
    assert found.checkpoint["channel_values"] == {"at": Point(1)}
    found = await call(strict, "get_tuple", config("t"))
    assert found.checkpoint["channel_values"] != {"at": Point(1)}
    # Either goes on where the other left off, and one close is enough for both.
    put(clone, "t", {"at": Point(2)}, parent=found.config)
    rows = await call(strict, "list", config("t"))
    assert len(rows) == 2
    await call(clone, "put_writes", rows[0].config, [("at", Point(3))], "task", "")
    found = await call(clone, "get_tuple", config("t"))
    assert found.pending_writes == [("task", "at", Point(3))]
    strict.close()
    with pytest.raises(errors.SaverClosed):
        await call(clone, "get_tuple", config("t"))


def test_an_allow_list_that_changes_nothing(saver: WyrdSaver) -> None:
    """The default serde allows every class already, so there is nothing to clone."""
    assert saver.with_allowlist([("somewhere", "Something")]) is saver


# ---- list


def some_threads(rng: random.Random, *savers: Any) -> list[str]:
    """Three threads with three namespaces; the same checkpoints on every saver."""
    names = []
    heads: dict[tuple[str, str], Any] = {}
    for n in range(60):
        thread, ns = rng.choice(("a", "b", "c")), rng.choice(("", "", "sub", "sub:1|x:2"))
        name = new_id()
        metadata = {
            "source": rng.choice(("input", "loop", "update")),
            "step": n % 7,
            "run_id": f"run-{n % 3}",
        }
        versions = {"log": version()}
        for saver in savers:
            put(saver, thread, {"log": [n]}, id=name, ns=ns, parent=heads.get((thread, ns)),
                versions=versions, metadata=metadata)  # fmt: skip
            saver.put_writes(config(thread, name, ns), [("log", n)], f"task-{n}", "")
        heads[thread, ns] = name
        names.append(name)
    return names


async def test_every_way_to_list(saver: WyrdSaver, call: Call) -> None:
    """Any mix of thread, namespace, id, filter, before and limit: newest first, to the limit."""
    reference = InMemorySaver()
    names = some_threads(random.Random(5), saver, reference)
    one = next(iter(reference.list({"configurable": {"thread_id": "b"}}))).config
    wheres: list[Any] = [None]
    for thread in ("a", "b", "no such thread"):
        wheres.append({"configurable": {"thread_id": thread}})
        wheres += [config(thread, None, ns) for ns in ("", "sub", "sub:1|x:2", "elsewhere")]
    wheres += [one, config("b", names[0]), config("a", new_id())]
    wheres += [{"configurable": {"thread_id": t, "checkpoint_id": names[3]}} for t in ("a", "b")]
    filters: list[Any] = [None, {}, {"source": "loop"}, {"source": "loop", "step": 3}, {"step": -1}]
    befores: list[Any] = [None, config("a", names[30]), config("zzz", names[45])]
    for n, (where, chosen, before) in enumerate(itertools.product(wheres, filters, befores)):
        query = {"filter": chosen, "before": before}
        expected = sorted(ids(list(reference.list(where, **query))), reverse=True)
        limit = (0, 1, 3, 1000, None)[n % 5]
        found = await call(saver, "list", where, limit=limit, **query)
        assert ids(found) == expected[:limit], (where, query, limit)
    listed = {row.config["configurable"]["checkpoint_id"]: row for row in saver.list(None)}
    for row in reference.list(None):
        assert content(listed[row.config["configurable"]["checkpoint_id"]]) == content(row)


async def test_paging_through_many(saver: WyrdSaver, call: Call) -> None:
    """More checkpoints than are held at once come whole, in one list and page by page."""
    parent, names, log = None, [], []
    for n in range(150):
        log = [*log[-30:], f"message {n}"]
        name = new_id()
        put(saver, "t", {"log": log}, id=name, parent=parent, metadata={"step": n})
        if n % 50 == 0:
            saver.put_writes(config("t", name), [("log", n)], "task")
        parent = name
        names.append(name)
    whole = await call(saver, "list", config("t"))
    assert ids(whole) == names[::-1]
    for n, row in enumerate(reversed(whole)):
        assert row.checkpoint["channel_values"]["log"][-1] == f"message {n}"
        assert len(row.checkpoint["channel_values"]["log"]) == min(n + 1, 31)
        assert row.pending_writes == ([("task", "log", n)] if n % 50 == 0 else [])
    paged: list[CheckpointTuple] = []
    while page := await call(
        saver, "list", config("t"), limit=48, before=paged[-1].config if paged else None
    ):
        paged += page
    assert [content(row) for row in paged] == [content(row) for row in whole]
    for step in (0, 100, 149):
        [row] = await call(saver, "list", config("t"), filter={"step": step})
        assert row.checkpoint["id"] == names[step]


def test_a_list_abandoned_half_way(backend: Backend) -> None:
    """A list that nobody reads to its end holds nothing up, and what was there keeps coming."""
    saver = backend.open()
    other = saver if backend.name == "memory" else backend.open()
    names = [put(saver, "t", {"log": [n]})["configurable"]["checkpoint_id"] for n in range(110)]
    halves = [saver.list(config("t")) for _ in range(3)]
    begun = [[next(half) for _ in range(n)] for n, half in enumerate(halves, start=1)]
    newest = put(other, "t", {"log": ["new"]})
    saver.put_writes(newest, [("log", "pending")], "task")
    other.delete_thread("someone else")
    assert saver.get_tuple(config("t")).checkpoint["id"] > names[-1]
    for start, half in zip(begun, halves, strict=True):
        assert ids([*start, *half]) == names[::-1]
    saver.list(config("t"))  # never begun
    next(saver.list(config("t")))  # dropped after one
    saver.delete_thread("t")
    assert list(other.list(config("t"))) == []


async def test_an_async_list_abandoned_half_way(backend: Backend) -> None:
    """The same for an asynchronous list, which may be closed, dropped or read on later."""
    saver = backend.open()
    other = saver if backend.name == "memory" else backend.open()
    names = [put(saver, "t", {"log": [n]})["configurable"]["checkpoint_id"] for n in range(110)]
    half = saver.alist(config("t"))
    begun = [await anext(half) for _ in range(5)]
    closed = saver.alist(config("t"))
    await anext(closed)
    await closed.aclose()
    await other.aput(config("t"), checkpoint({"log": ["new"]}), {"source": "loop", "step": 1}, {})
    put(other, "t", {"log": ["newer"]})
    assert ids([*begun, *[row async for row in half]]) == names[::-1]


# ---- metadata filters

KEYS = (
    "plain", "with space", "with'quote", 'with"quote', "a.b", "$", "$.a[0]", "' OR 1=1 --", "ünï",
    "%", "_", "back\\slash", "", "a" * 300, "{}", "?", ":name", "%s", "@>", "0",
)  # fmt: skip
COMMON: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1.0, 1.5, 0.0, 10**15, 2**53 + 1, 1e300, "", "1", "true",
    "null", "None", "two", "ünï 🙂", "it's", 'say "hi"', "a.b", "%", "x" * 5000, [], [1], [1, 2],
    [2, 1], [True], [None], ["1"], {}, {"a": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": None},
    {"a": {"b": [1, {"c": None}]}}, [{"a": 1}], {"a": True}, {"1": 1},
)  # fmt: skip
UNUSUAL: tuple[Any, ...] = (
    (1, 2), b"bytes", 2**60, datetime.date(2026, 1, 2), {"t": (1, 2)}, -0.0, float("inf"),
    {1, 2}, uuid.UUID(int=7),
)  # fmt: skip


async def expect_filters(saver: Any, call: Call, stored: Any, asked: Any) -> None:
    """Every question about every stored value has InMemorySaver's answer."""
    reference = InMemorySaver()
    for n, metadata in enumerate(stored):
        name = new_id()
        for each in (saver, reference):
            put(each, "t", id=name, metadata={"step": n, **metadata})
    for n, question in enumerate(asked):
        expected = ids(list(reference.list(config("t"), filter=question)))
        found = await call(saver, "list", config("t"), filter=question)
        assert ids(found) == expected, question
        if n % 4 == 0:
            first = await call(saver, "list", config("t"), filter=question, limit=1)
            assert ids(first) == expected[:1], question


@pytest.mark.parametrize("values", [COMMON, COMMON[::4] + UNUSUAL], ids=["common", "unusual"])
async def test_filters_by_value(saver: WyrdSaver, call: Call, values: Any) -> None:
    """Nested values, None, booleans, numbers, lists, text: equal is what Python calls equal."""
    stored = [{}, *({"key": value} for value in values)]
    asked = [*stored, *({"key": value, "step": n} for n, value in enumerate(values, start=1))]
    await expect_filters(saver, call, stored, asked)


async def test_filters_by_key(saver: WyrdSaver, call: Call) -> None:
    """A key is a name and nothing more, whatever it would mean in SQL or in a JSON path."""
    stored = [
        *({key: "here", "other": n} for n, key in enumerate(KEYS)),
        {"a": {"b": "nested"}},
        {"a": ["listed"]},
    ]
    asked = [
        *({key: "here"} for key in KEYS),
        *({key: None} for key in KEYS),
        *({key: "here", "other": n} for n, key in enumerate(KEYS)),
        {"a.b": "nested"},
        {"a": {"b": "nested"}},
        {"$.a": "nested"},
        {"no such key": "here"},
    ]
    await expect_filters(saver, call, stored, asked)


# ---- putting again


async def test_a_checkpoint_put_again(backend: Backend, call: Call) -> None:
    """The same id with other content replaces it; its writes stay, and it is listed once."""
    saver, reference = backend.open(), InMemorySaver()
    first, again, after = new_id(), new_id(), new_id()
    shared = version()
    steps: list[Any] = [
        (first, None, {"log": [1], "same": "kept"}, {"log": version(), "same": shared}, 1),
        (again, first, {"log": [1, 2], "same": "kept"}, {"log": version(), "same": shared}, 2),
        (again, first, {"log": [9], "more": 1}, {"log": version(), "more": version()}, 3),
        (after, again, {"log": [9, 10]}, {"log": version()}, 4),
        (again, None, {"log": [0], "same": "kept"}, {"log": version(), "same": shared}, 5),
    ]
    for name, parent, values, versions, step in steps:
        made = checkpoint(values, id=name, versions=versions)
        for each in (saver, reference):
            where = config("t", parent)
            metadata: Any = {"source": "loop", "step": step, f"only{step}": True}
            if each is saver:
                await call(saver, "put", where, made, metadata, versions)
                assert saver.verify().ok
            else:
                each.put(where, made, metadata, versions)
            each.put_writes(config("t", name), [("log", step)], f"task-{step}")
        assert contents(saver, "t") == contents(reference, "t")
    if backend.name != "memory":
        assert contents(backend.open(), "t") == contents(reference, "t")


async def test_other_content_at_the_same_version(backend: Backend, call: Call) -> None:
    """A repeated put whose values changed while their versions did not: the last one counts."""
    saver, reference = backend.open(), InMemorySaver()
    name, at = new_id(), {"log": version(), "gone": version()}
    for values in ({"log": [1, 2], "gone": 1}, {"log": [1, "two"]}, {"log": [], "gone": {"a": 1}}):
        made = checkpoint(values, id=name, versions=at)
        await call(saver, "put", config("t"), made, {"source": "loop", "step": 1}, at)
        reference.put(config("t"), made, {"source": "loop", "step": 1}, at)
        assert contents(saver, "t") == contents(reference, "t")
        if backend.name != "memory":
            assert contents(backend.open(), "t") == contents(reference, "t")


async def test_values_are_the_callers_own(saver: WyrdSaver, call: Call) -> None:
    """What is given out or was put may be changed in place; nobody else sees the change."""
    values: dict[str, Any] = {
        "list": [1, [2]],
        "dict": {"a": {"b": [1]}},
        "set": {1},
        "said": [HumanMessage("as it was", id="1")],
        "snap": _DeltaSnapshot([1]),
    }
    expected = copy.deepcopy(values)
    at = {name: version() for name in values}
    made = None
    for n in range(3):
        made = put(saver, "t", values, parent=made, versions=at, new={} if n else at)
    saver.put_writes(made, list(values.items()), "task")
    spoil(values)
    for _ in range(2):
        rows = await call(saver, "list", config("t"))
        rows.append(await call(saver, "get_tuple", config("t")))
        for row in rows:
            assert row.checkpoint["channel_values"] == expected
            spoil(row.checkpoint["channel_values"])
            row.checkpoint["channel_versions"].clear()
            row.metadata.clear()
        for row in rows[::3]:
            assert {name: value for _, name, value in row.pending_writes} == expected
            spoil({name: value for _, name, value in row.pending_writes})


def spoil(values: dict[str, Any]) -> None:
    """Change everything in place."""
    values["list"][1].append(3)
    values["dict"]["a"]["b"].append(2)
    values["set"].add(2)
    values["said"][0].content = "changed"
    values["snap"].value.append(2)


async def test_a_page_of_a_tree(backend: Backend, call: Call) -> None:
    """A page of checkpoints that build on each other, on several branches, is what each of them is
    by itself; what can be changed in one is in no other."""
    rng = random.Random(7)
    saver, reference = backend.open(), InMemorySaver()
    start: dict[str, Any] = {"log": [], "files": {}, "said": []}
    made = [(None, start)]
    for n in range(60):
        parent, before = rng.choice(made[-8:])
        held = copy.deepcopy(before)
        held["log"].append({"step": [n]})
        held["said"].append(HumanMessage(f"message {n}", id=str(n)))
        held["files"][f"file {n % 5}"] = {"lines": [str(n)]}
        if n % 3 == 0:
            del held["said"][rng.randrange(len(held["said"]))]
            held["log"][rng.randrange(len(held["log"]))]["step"].append("edited")
        if n % 4 == 0:
            held["files"].pop(rng.choice([*held["files"]]))
        if n % 7 < 2:
            held["flash"] = [n]
        else:
            held.pop("flash", None)
        at = {name: version() for name in held}
        name = new_id()
        for each in (saver, reference):
            put(each, "t", held, parent=parent, id=name, versions=at)
        made.append((name, held))
    for each in {id(s): s for s in (saver, reopened(backend, saver))}.values():
        rows = await call(each, "list", config("t"))
        expected = sorted(contents(reference, "t"), key=lambda row: row[0][1], reverse=True)
        assert [content(row) for row in rows] == expected
        seen: set[int] = set()
        for row in rows:
            parts = set(changeable(row))
            assert seen.isdisjoint(parts)
            seen |= parts


def changeable(value: Any) -> Iterator[int]:
    """The identities of all that can be changed in place in a value."""
    if isinstance(value, HumanMessage):
        yield id(value)
        yield from changeable((value.__dict__, value.model_fields_set, value.model_extra))
    elif isinstance(value, dict | list | set):
        yield id(value)
        for each in value.values() if isinstance(value, dict) else value:
            yield from changeable(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from changeable(each)


# ---- deleting


def chain(saver: Any, thread: str, runs: list[str], ns: str = "") -> list[str]:
    """A checkpoint a run. Each changes one channel and keeps the others at their versions."""
    parent: str | None = None
    values: dict[str, Any] = {"kept": {"since": "the first"}, "log": []}
    versions: dict[str, Any] = {name: version() for name in values}
    names = []
    for n, run in enumerate(runs):
        values = {**values, "log": [*values["log"], f"{run} {n}"], f"of {n}": n}
        changed = {"log": version(), f"of {n}": version()}
        new = changed if parent else {**versions, **changed}
        versions = {**versions, **changed}
        made = put(saver, thread, values, parent=parent, ns=ns, versions=versions, new=new,
                   metadata={"run_id": run, "step": n})  # fmt: skip
        saver.put_writes(made, [("log", n)], f"task-{n}", "~a")
        parent = made["configurable"]["checkpoint_id"]
        names.append(parent)
    return names


async def test_deleting_a_thread(saver: WyrdSaver, call: Call) -> None:
    """All of it goes, in every namespace; other threads stay; deleting nothing is no error."""
    for thread in ("t", "other"):
        for ns in ("", "sub:1"):
            chain(saver, thread, ["r1", "r2"], ns)
    other = contents(saver, "other")
    for thread in ("t", "t", "never there"):
        await call(saver, "delete_thread", thread)
        assert contents(saver, thread) == []
        assert await call(saver, "get_tuple", config(thread, None, "sub:1")) is None
    assert contents(saver, "other") == other
    assert len(await call(saver, "list", None)) == 4


async def test_deleting_runs(backend: Backend, call: Call) -> None:
    """The checkpoints of the runs go, with their writes; what the others share with them stays."""
    saver = backend.open()
    for thread, ns in (("t", ""), ("t", "sub"), ("other", "")):
        chain(saver, thread, ["r1", "r2", "r1", "r3", "r2", "r4"], ns)
    keep = {"r3", "r4"}
    expected = {t: [row for row in contents(saver, t) if row[2]["run_id"] in keep] for t in THREADS}
    await call(saver, "delete_for_runs", ["r1", "no such run", "r2"])
    for each in {id(s): s for s in (saver, reopened(backend, saver))}.values():
        for thread in THREADS:
            rows = contents(each, thread)
            assert [row[1:] for row in rows] == [row[1:] for row in expected[thread]]
    await call(saver, "delete_for_runs", ["r3", "r4"])
    assert await call(saver, "list", None) == []
    assert await call(saver, "get_tuple", config("t")) is None


THREADS = ("t", "other")


def reopened(backend: Backend, saver: WyrdSaver) -> WyrdSaver:
    """A saver that remembers nothing, where the database outlives one."""
    return saver if backend.name == "memory" else backend.open()


async def test_going_on_after_deleted_runs(saver: WyrdSaver, call: Call) -> None:
    """The newest run rolled back: the thread goes on from the checkpoint before it."""
    names = chain(saver, "t", ["r1", "r2"])
    before = content(saver.get_tuple(config("t", names[0])))
    await call(saver, "delete_for_runs", ["r2"])
    head = await call(saver, "get_tuple", config("t"))
    assert content(head) == before
    put(saver, "t", {"log": [*head.checkpoint["channel_values"]["log"], "on"]}, parent=head.config)
    found = await call(saver, "get_tuple", config("t"))
    assert found.checkpoint["channel_values"] == {"log": ["r1 0", "on"]}
    assert [row.metadata.get("run_id") for row in saver.list(config("t"))] == [None, "r1"]


# ---- copying


async def test_a_copy_is_whole_and_alone(backend: Backend, call: Call) -> None:
    """Values, writes, metadata and namespaces are copied, and neither thread feels the other."""
    saver = backend.open()
    for ns in ("", "sub", "sub:1|x:2"):
        chain(saver, "t", ["r1", "r2", "r3"], ns)
    source = contents(saver, "t")
    await call(saver, "copy_thread", "t", "copy")
    assert contents(saver, "copy") == source
    for row in await call(saver, "list", {"configurable": {"thread_id": "copy"}}):
        for where in (row.config, row.parent_config):
            assert where is None or where["configurable"]["thread_id"] == "copy"
    head = await call(saver, "get_tuple", config("copy"))
    put(saver, "copy", {"log": ["of the copy"]}, parent=head.config)
    saver.put_writes(head.config, [("log", "of the copy")], "task-copy")
    assert contents(saver, "t") == source
    put(saver, "t", {"log": ["of the source"]}, parent=head.config)
    copy = contents(saver, "copy")
    assert len(copy) == len(source) + 1
    await call(saver, "delete_thread", "t")
    assert contents(saver, "copy") == copy
    assert contents(reopened(backend, saver), "copy") == copy
    await call(saver, "copy_thread", "copy", "t")
    assert contents(saver, "t") == copy


async def test_copying_nothing(saver: WyrdSaver, call: Call) -> None:
    """A thread that is not there leaves nothing under the target's id."""
    await call(saver, "copy_thread", "never there", "copy")
    assert contents(saver, "copy") == []


# ---- pruning


async def test_pruning_keeps_the_newest(backend: Backend, call: Call) -> None:
    """keep_latest keeps the newest checkpoint of each namespace with all its values and writes."""
    saver = backend.open()
    for thread, ns in (("t", ""), ("t", "sub"), ("other", "")):
        chain(saver, thread, ["r1", "r2", "r3"], ns)
    heads = {ns: saver.get_tuple(config("t", None, ns)) for ns in ("", "sub")}
    other = contents(saver, "other")
    await call(saver, "prune", ["t", "never there"])
    for each in {id(s): s for s in (saver, reopened(backend, saver))}.values():
        for ns, head in heads.items():
            [row] = await call(each, "list", config("t", None, ns))
            assert content(row)[1:] == content(head)[1:]
            assert row.parent_config is None
        assert contents(each, "other") == other
    await call(saver, "prune", ["t"], strategy="keep_latest")
    assert len(contents(saver, "t")) == 2
    on = put(saver, "t", {"log": ["on"]}, parent=heads[""].config)
    assert (await call(saver, "get_tuple", config("t"))).config == on


@pytest.mark.parametrize("strategy", ["delete", "delete_all"])
async def test_pruning_everything(saver: WyrdSaver, call: Call, strategy: str) -> None:
    """Both names of the strategy remove the threads, and only those."""
    for thread in ("t", "u", "other"):
        chain(saver, thread, ["r1", "r2"])
    other = contents(saver, "other")
    await call(saver, "prune", ["t", "u", "never there"], strategy=strategy)
    assert contents(saver, "t") == contents(saver, "u") == []
    assert contents(saver, "other") == other
    put(saver, "t", {"log": ["fresh"]})
    assert len(contents(saver, "t")) == 1


async def test_pruning_with_wrong_arguments(saver: WyrdSaver, call: Call) -> None:
    """An unknown strategy, or a string where threads are listed, is refused and nothing is lost."""
    for thread in ("t", "h", "e"):
        chain(saver, thread, ["r1", "r2"])
    for threads in (["t"], []):
        with pytest.raises(ValueError, match="keep_everything"):
            await call(saver, "prune", threads, strategy="keep_everything")
    with pytest.raises((TypeError, errors.InvalidInput)):
        await call(saver, "prune", "the")
    with pytest.raises((TypeError, errors.InvalidInput)):
        await call(saver, "prune", "the", strategy="delete")
    with pytest.raises((TypeError, errors.InvalidInput)):
        await call(saver, "delete_for_runs", "the")
    assert [len(contents(saver, thread)) for thread in ("t", "h", "e")] == [2, 2, 2]


class Steps(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def nested_graph(saver: Any) -> Any:
    """Subgraphs of both kinds, one of which stops to ask."""

    def sub(name: str, checkpointer: Any, ask: bool) -> Any:
        def work(state: Steps) -> Any:
            said = interrupt("go on?") if ask else "worked"
            return {"log": [f"{name} {said}"]}

        builder: Any = StateGraph(Steps)
        builder.add_node("work", work)
        builder.add_edge(START, "work")
        return builder.compile(checkpointer=checkpointer)

    builder: Any = StateGraph(Steps)
    for name, checkpointer, ask in (("calls", None, False), ("keeps", True, False),
                                    ("asks", None, True)):  # fmt: skip
        builder.add_node(name, sub(name, checkpointer, ask))
    builder.add_edge(START, "calls")
    builder.add_edge("calls", "keeps")
    builder.add_edge("keeps", "asks")
    return builder.compile(checkpointer=saver)


class Tee(PostgresSaver):
    """The official saver, whose every write goes to ours too."""

    ours: WyrdSaver

    def put(self, *arguments: Any) -> Any:
        self.ours.put(*arguments)
        return super().put(*arguments)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.ours.put_writes(config, writes, task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)


def test_pruning_subgraphs_as_the_official_saver_does(postgres: Backend) -> None:
    """The same rows in both savers: keep_latest leaves the same checkpoints and the same values."""
    ours = postgres.open()
    with Tee.from_conn_string(postgres.url) as official:
        official.setup()
        official.ours = ours
        graph = nested_graph(official)
        for n in range(2):
            graph.invoke({"log": [f"turn {n}"]}, config("t"), durability="sync")
        # A call whose root checkpoint is not saved yet, as a run in the background leaves it.
        put(official, "t", {"log": ["early"]}, ns="calls:early",
            metadata={"parents": {"": new_id()}})  # fmt: skip
        before = contents(official, "t")
        assert contents(ours, "t") == before
        for each in (ours, official):
            each.prune(["t"], strategy="keep_latest")
        kept = contents(official, "t")
        assert contents(ours, "t") == kept
        assert 3 < len({row[0][0] for row in kept}) < len({row[0][0] for row in before})


def test_pruning_drops_subgraph_calls(saver: WyrdSaver) -> None:
    """A call goes with the root checkpoint it started from; a kept subgraph's state stays."""
    graph = nested_graph(saver)
    where: Any = config("t")
    for n in range(2):
        graph.invoke({"log": [f"turn {n}"]}, where, durability="sync")
    before = graph.get_state(where, subgraphs=True)
    saver.prune(["t"])
    after = graph.get_state(where, subgraphs=True)
    assert (after.values, after.next, after.interrupts) == (
        before.values, before.next, before.interrupts,
    )  # fmt: skip
    assert after.tasks[0].state.values == before.tasks[0].state.values
    left = {row[0][0].split(":")[0] for row in contents(saver, "t")}
    assert left == {"", "keeps", "asks"}
    assert len(contents(saver, "t")) == 3


# ---- after the end


async def test_a_deleted_id_begins_anew(saver: WyrdSaver, call: Call) -> None:
    """A put without a parent opens the id again, and nothing of the old thread is in it."""
    names = chain(saver, "t", ["r1", "r2"])
    await call(saver, "delete_thread", "t")
    made = checkpoint({"log": ["fresh"]})
    await call(
        saver, "put", config("t"), made, {"source": "input", "step": -1}, made["channel_versions"]
    )
    [row] = await call(saver, "list", config("t"))
    assert row.checkpoint["channel_values"] == {"log": ["fresh"]}
    assert (row.parent_config, row.pending_writes) == (None, [])
    for name in names:
        assert await call(saver, "get_tuple", config("t", name)) is None


async def refuses_late_writes(call: Call, saver: Any, names: list[str]) -> None:
    """What a deleted thread's run still sends for its checkpoints is refused."""
    for name in names:
        made = checkpoint({"log": ["late"]})
        late = (made, {"source": "loop", "step": 3}, made["channel_versions"])
        with pytest.raises(errors.ThreadDeleted):
            await call(saver, "put", config("t", name), *late)
        with pytest.raises(errors.ThreadDeleted):
            await call(saver, "put_writes", config("t", name), [("log", "late")], "task", "")


@pytest.mark.parametrize("how", ["delete_thread", "prune"])
async def test_too_late_for_a_deleted_thread(backend: Backend, call: Call, how: str) -> None:
    """A run that still writes to a thread that was deleted gets an error, and revives nothing."""
    saver = backend.open()
    names = chain(saver, "t", ["r1", "r2"])
    remover = reopened(backend, saver)  # another process may have deleted it
    if how == "prune":
        await call(remover, "prune", ["t"], strategy="delete")
    else:
        await call(remover, "delete_thread", "t")
    await refuses_late_writes(call, saver, names)
    assert await call(saver, "get_tuple", config("t")) is None
    assert await call(saver, "list", None) == []


async def test_too_late_when_the_id_is_used_again(saver: WyrdSaver, call: Call) -> None:
    """The old run gets it too when the id was opened anew, and the new thread is untouched."""
    names = chain(saver, "t", ["r1", "r2"])
    await call(saver, "delete_thread", "t")
    put(saver, "t", {"log": ["fresh"]})
    fresh = contents(saver, "t")
    await refuses_late_writes(call, saver, names)
    assert contents(saver, "t") == fresh
