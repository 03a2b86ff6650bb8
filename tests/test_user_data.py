"""Channels whose values belong to a user: stored apart, given back exactly, and erased."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from langgraph_wyrd import Channels, Retention, WyrdSaver
from langgraph_wyrd.errors import InvalidInput, UserMissing
from langgraph_wyrd.port import copy
from tests.conftest import Backend
from tests.damage import Rows
from tests.handmade import put
from tests.outside import is_postgres, path_of, raw, tables

MARK = "planted-marker"
USERS = Channels(user={"profile", "notes", "inner"})


def places(url: str) -> set[str]:
    """The tables in which a marker stands; and of SQLite, whether it is anywhere in the files."""
    found = set()
    with raw(url) as connection:
        for table in tables(connection):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                held = b" ".join(
                    bytes(c) if isinstance(c, (bytes, memoryview)) else str(c).encode() for c in row
                )
                if MARK.encode() in held:
                    found.add(table.rpartition(".")[2])
    if not is_postgres(url):
        path = path_of(url)
        if any(MARK.encode() in f.read_bytes() for f in path.parent.glob(f"{path.name}*")):
            found.add("file")
    return found


class Inner(TypedDict, total=False):
    inner: str
    log: Annotated[list, operator.add]


class State(TypedDict, total=False):
    profile: dict
    notes: Annotated[list, operator.add]
    messages: Annotated[list[AnyMessage], add_messages]
    inner: str
    log: Annotated[list, operator.add]


def graph(saver: Any, calls: list[str] | None = None) -> Any:
    """A graph with user channels everywhere: input, nodes, a subgraph, a Send, pending writes."""
    calls = [] if calls is None else calls

    def learn(state: State) -> Any:
        calls.append("learn")
        found = {"profile": {"name": f"{MARK} Ann", "likes": [f"{MARK} tea"]}, "log": ["learn"]}
        return Command(update=found, goto=[Send("visit", {"profile": found["profile"]}), "ask"])

    def visit(state: State) -> Any:
        calls.append("visit")
        return {"notes": [{"seen": state["profile"]["name"]}]}

    def ask(state: State) -> Any:
        said = interrupt({"question": "go on?", "profile": state["profile"]})
        calls.append("ask")
        return {"log": [said], "messages": [AIMessage("done", id="ai")]}

    def think(state: Inner) -> Any:
        return {"inner": f"{MARK} inside", "log": ["think"]}

    inside = StateGraph(Inner).add_node("think", think).add_edge(START, "think").compile()
    builder = StateGraph(State)
    for node in (learn, visit, ask):
        builder.add_node(node.__name__, node)
    builder.add_node("inside", inside)
    builder.add_edge(START, "inside")
    builder.add_edge("inside", "learn")
    return builder.compile(checkpointer=saver)


def run(user: str | None, thread: str = "t", **more: Any) -> Any:
    held = {"thread_id": thread, **more}
    return {"configurable": held if user is None else {**held, "user_id": user}}


INPUT = {"notes": [f"{MARK} first"], "messages": [HumanMessage("hello", id="h")], "log": ["in"]}


def story(saver: Any, user: str = "ann", thread: str = "t") -> Any:
    """Two runs, the first left at a question."""
    made = graph(saver)
    made.invoke(INPUT, run(user, thread))
    return made.invoke(Command(resume="yes"), run(user, thread))


def seen(saver: Any, thread: str = "t") -> list[Any]:
    """All that a saver gives of a thread, without ids."""
    rows = [
        (
            each.config["configurable"]["checkpoint_ns"].partition(":")[0],
            each.metadata["source"],
            each.metadata["step"],
            {n: v for n, v in each.checkpoint["channel_values"].items() if n[:6] != "branch"},
            sorted((name, str(value)) for _, name, value in each.pending_writes or []),
        )
        for each in saver.list({"configurable": {"thread_id": thread}})
    ]
    return sorted(rows, key=lambda row: (row[0], row[2]))


# ---- stored apart


def test_what_is_given_back(durable: Backend) -> None:
    """Every checkpoint and every write comes back as InMemorySaver gives it; user values stand in
    one table, and nothing that derives from them stands anywhere."""
    saver, plain = durable.open(channels=USERS), InMemorySaver()
    assert story(saver) == story(plain)

    def ids_away(rows: list[Any]) -> list[Any]:
        return [(*row[:4], [w for w in row[4] if "Interrupt" not in w[1]]) for row in rows]

    assert ids_away(seen(saver)) == ids_away(seen(plain))
    assert ids_away(seen(durable.open())) == ids_away(seen(plain))  # whoever reads, however opened
    assert places(durable.url) - {"file"} == {"wyrd_user_data"}
    state = saver.thread("t").working_state()
    assert {item.key for item in state.context} == {"log"}
    assert MARK not in state.brief()
    assert saver.verify().ok


async def test_async_and_sync(backend: Backend, call: Callable[..., Any]) -> None:
    """Puts, tasks' writes, loads and erasures either way."""
    saver = backend.open(channels=USERS)
    made = graph(saver)
    await call(made, "invoke", INPUT, run("ann"))
    found = await call(saver, "get_tuple", run(None))
    assert found.checkpoint["channel_values"]["profile"]["name"] == f"{MARK} Ann"
    assert ("notes", [{"seen": f"{MARK} Ann"}]) in [w[1:] for w in found.pending_writes]
    assert (await call(saver, "erase_user", "ann"))["wyrd_user_data"] > 0
    found = await call(saver, "get_tuple", run(None))
    assert not {"profile", "notes", "inner"} & found.checkpoint["channel_values"].keys()
    assert "notes" not in [w[1] for w in found.pending_writes]


def test_a_list_that_grows_costs_its_new_elements(sqlite: Backend) -> None:
    """Messages may be a user channel: each put then stores what is new, not the whole history."""
    saver = sqlite.open(channels=Channels(user={"messages"}))
    messages, head, sizes = [], None, []
    for n in range(120):
        messages = [*messages, HumanMessage(f"{n} {'x' * 200}", id=f"m{n}")]
        head = put(saver, "t", {"messages": messages}, parent=head, metadata={"user_id": "ann"})
        sizes.append(saver.size_report().tables["user_data"].bytes)
    assert saver.get_tuple(head).checkpoint["channel_values"]["messages"] == messages
    assert sizes[-1] - sizes[-2] < 3 * sizes[0]
    assert sqlite.open().get_tuple(head).checkpoint["channel_values"]["messages"] == messages
    state = saver.thread("t").working_state()
    assert (state.loops, state.intentions, state.title) == ((), (), None)


def test_a_thread_of_two_users(durable: Backend) -> None:
    """Each value is its writer's; a value that another user only keeps stays the first one's."""
    saver = durable.open(channels=USERS)
    head = put(saver, "t", {"notes": ["a"], "inner": "ann's"}, metadata={"user_id": "ann"})
    kept = saver.get_tuple(head).checkpoint["channel_versions"]
    head = put(
        saver, "t", {"notes": ["a", "b"], "inner": "ann's"}, parent=head,
        versions={**kept, "notes": "2"}, new={"notes": "2"}, metadata={"user_id": "bob"},
    )  # fmt: skip
    saver.erase_user("ann")
    assert saver.get_tuple(head).checkpoint["channel_values"] == {"notes": ["a", "b"]}
    saver.erase_user("bob")
    assert saver.get_tuple(head).checkpoint["channel_values"] == {}
    assert saver.verify().ok


# ---- whose it is


def test_a_run_without_a_user(backend: Backend) -> None:
    """It is refused as soon as it would store something for a user, and told what to do; what says
    nothing of anybody is stored."""
    saver = backend.open(channels=USERS)
    with pytest.raises(UserMissing, match="'user_id': …"):
        graph(saver).invoke(INPUT, run(None))
    with pytest.raises(UserMissing, match="'notes'"):
        saver.put_writes(run(None, checkpoint_id="c"), [("notes", ["x"])], "task")
    with pytest.raises(InvalidInput, match="no text"):
        put(saver, "u", {"notes": ["x"]}, metadata={"user_id": 7})
    head = put(saver, "v", {"notes": [], "log": [1]})
    assert saver.get_tuple(head).checkpoint["channel_values"] == {"notes": [], "log": [1]}
    story(saver, "ann", "w")
    kept = graph(saver).update_state(run(None, "w"), {"log": ["by hand"]}, as_node="ask")
    assert saver.get_tuple(kept).checkpoint["channel_values"]["profile"]["name"] == f"{MARK} Ann"


def test_a_saver_that_does_not_know_the_channels(durable: Backend) -> None:
    """It reads users' values; it may not store others in their place, where no erasure finds
    them. A channel that is a user's from now on is kept apart from its next value on."""
    saver, other = durable.open(channels=USERS), durable.open()
    head = put(saver, "t", {"notes": [MARK], "log": [1]}, metadata={"user_id": "ann"})
    versions = other.get_tuple(head).checkpoint["channel_versions"]
    assert other.get_tuple(head).checkpoint["channel_values"]["notes"] == [MARK]
    kept = {"notes": [MARK], "log": [2]}
    told = {**versions, "log": "2"}
    after = put(other, "t", kept, parent=head, versions=told, new={"log": "2"})
    with pytest.raises(InvalidInput, match="same channels"):
        put(other, "t", {"notes": [MARK, MARK]}, parent=after)
    put(other, "u", {"notes": [MARK]})
    head = put(saver, "u", {"notes": [MARK, "more"]}, metadata={"user_id": "ann"})
    saver.erase_user("ann")
    assert saver.get_tuple(head).checkpoint["channel_values"] == {}
    assert saver.get_tuple(after).checkpoint["channel_values"] == {"log": [2]}


def test_the_user_in_the_metadata(durable: Backend) -> None:
    """`metadata` in the config says whose run it is as well; subgraphs and tasks inherit it."""
    saver = durable.open(channels=USERS, pillars=False)
    told = {**run(None), "metadata": {"user_id": "ann"}}
    graph(saver).invoke(INPUT, told)
    assert saver.erase_user("ann")["wyrd_user_data"] > 8
    assert places(durable.url) == set()


@pytest.mark.parametrize(
    "channels",
    [Channels(user="profile"), Channels(user={"__interrupt__"}),
     Channels(user={"a"}, ephemeral={"a"})],
)  # fmt: skip
def test_what_can_not_be_a_user_channel(channels: Channels) -> None:
    """One string, a control channel of LangGraph's, one that is never stored."""
    with pytest.raises(InvalidInput):
        WyrdSaver.from_conn_string("sqlite://", channels=channels)


# ---- damaged


@pytest.mark.parametrize("what", ["a checkpoint", "one bit of a value"])
def test_damage_next_to_a_users_values(durable: Backend, what: str) -> None:
    """They are read around damage, and one flipped bit of theirs is turned back, also where
    nothing can be written."""
    with durable.open(channels=USERS) as saver:
        story(saver)
        head, before = list(saver.list(run("ann")))[:2]
    if what == "a checkpoint":
        id = head.checkpoint["id"]
        Rows(durable.url, "wyrd_checkpoints").run("UPDATE {} SET step = -7 WHERE id = ?", id)
        Rows(durable.url, "wyrd_parity").run("DELETE FROM {}")
    else:
        rows, which = Rows(durable.url, "wyrd_user_data"), "WHERE n = ? AND name = ?"
        for row in rows.all():
            rows.run(f"UPDATE {{}} SET sum = ? {which}", row["sum"] ^ 4, row["n"], row["name"])
    expected = (before if what == "a checkpoint" else head).checkpoint
    options = {} if is_postgres(durable.url) else {"mode": "ro"}
    url = durable.url + "".join(f"?{name}={value}" for name, value in options.items())
    for each in (url, durable.url):
        with WyrdSaver.from_conn_string(each, channels=USERS) as saver:
            found = saver.get_tuple(run("ann"))
            assert found is not None
            assert found.checkpoint == expected
            assert MARK in str(found.checkpoint["channel_values"]["profile"])


# ---- erased


def test_erased_everywhere(durable: Backend) -> None:
    """After an erasure no marker is left, in tables or files; every checkpoint is there, without
    the channels; nobody else's values are touched; it is neither damage nor healed."""
    saver = durable.open(channels=USERS, labels=None)
    for user, thread in (("ann", "t"), ("bob", "b")):
        story(saver, user, thread)
    saver.thread("t").label("before")
    saver.thread("t").fork("f", "before")
    saver.copy_thread("t", "c")
    graph(saver).update_state(run("ann"), {"profile": {"name": f"{MARK} edited"}}, as_node="learn")
    saver.user("ann").set("card", f"{MARK} 4111")
    rows = {thread: seen(saver, thread) for thread in "tbcf"}
    counts = saver.erase_user("ann")
    assert counts["wyrd_user_data"] > 20
    for thread in "tcf":
        now = seen(saver, thread)
        assert len(now) == len(rows[thread])
        for _, _, _, values, writes in now:
            assert not {"profile", "notes", "inner"} & values.keys()
            assert MARK not in str((values, writes))
    assert seen(saver, "b") == rows["b"]
    assert saver.user("ann").items() == {}
    report = saver.verify()
    assert report.ok, report
    assert not saver.thread("t").heals()
    assert seen(durable.open(), "t") == seen(saver, "t")
    saver.erase_user("bob")
    assert places(durable.url) == set()
    assert saver.erase_user("ann") == {"wyrd_user_data": 0}


async def test_text_that_remains_is_reported_and_redacted(durable: Backend, call: Any) -> None:
    """`erase_user` counts values as a person would, and reports each thread where text remains;
    `redact=True` takes it out of everything but the checkpoints, and nothing is damaged by that."""
    saver = durable.open(channels=USERS)
    fails = [True]

    def greet(state: State) -> State:
        if fails[0]:
            raise RuntimeError(f"{MARK} is not at home")
        return {"messages": [AIMessage(f"Hello {MARK}")]}

    made = StateGraph(State).add_node("greet", greet).add_edge(START, "greet").compile(saver)
    asked = {"messages": [HumanMessage(f"please ring {MARK}")], "profile": {"name": MARK}}
    with pytest.raises(RuntimeError):
        await call(made, "invoke", asked, run("ann"))
    fails[0] = False
    thread = saver.thread("t")
    (first,) = [e for e in await call(thread, "history") if e.parent_id is None]
    left = {"configurable": {**first.config["configurable"], "user_id": "ann"}}
    await call(made, "invoke", {"messages": [HumanMessage("hello")]}, left)
    await call(thread, "add_todo", f"ring {MARK}")
    await call(thread, "decide", f"{MARK} is right", f"{MARK} said so")
    await call(thread, "set_context", "who", MARK)
    await call(thread, "set_intention", f"find {MARK}")
    await call(thread, "label", "here")
    before = {loop.id for loop in await call(saver, "open_loops", branch="any")}
    found = await call(saver, "erase_user", "ann")
    assert (found.values_erased, found.threads) == (1, 1)
    remains = found.remains["t"]
    assert {"todos", "loops", "context", "intentions", "labels", "checkpoints"} <= remains.keys()
    assert remains["todos"] == remains["context"] == remains["labels"] == 1
    assert "Text of this user's threads remains: t (" in str(found)
    found = await call(saver, "erase_user", "ann", redact=True)
    assert set(found.remains["t"]) == {"checkpoints"}
    (decision,) = await call(saver, "open_loops", kind="decision")
    assert decision.description == "(erased)"
    assert [each.content for each in await call(saver, "todos")] == ["(erased)"]
    assert {loop.id for loop in await call(saver, "open_loops", branch="any")} == before
    for reader in (saver, durable.open(channels=USERS)):
        state = await call(reader.thread("t"), "working_state")
        assert MARK not in str(state.to_dict() if hasattr(state, "to_dict") else state)
        assert (await call(reader, "verify")).ok
    assert not places(durable.url) & {
        "wyrd_todos", "wyrd_open_loops", "wyrd_context", "wyrd_intentions", "wyrd_journal",
        "wyrd_labels", "wyrd_user_data", "wyrd_threads",
    }  # fmt: skip


def test_every_checkpoint_can_be_resumed(durable: Backend) -> None:
    """From each of them a graph goes on: tasks that were done are not done again."""
    saver = durable.open(channels=USERS)
    calls: list[str] = []
    made = graph(saver, calls)
    made.invoke(INPUT, run("ann"))
    points = [each.config for each in made.get_state_history(run(None))]
    saver.erase_user("ann")
    del calls[:]
    for at, point in enumerate(reversed(points)):
        found = made.get_state(point).values
        assert not any(found.get(name) for name in ("profile", "inner", "notes"))
        config = run("ann", **{k: v for k, v in point["configurable"].items() if k != "thread_id"})
        if at < len(points) - 1:
            ended = made.invoke(None, config)
            assert ended["profile"]["name"] == f"{MARK} Ann"  # learnt anew
    assert calls.count("learn") == len(points) - 1


def test_a_task_that_was_done_stays_done(durable: Backend) -> None:
    """Pending writes whose value is erased still say that their task ended."""
    saver = durable.open(channels=USERS)
    calls: list[str] = []

    def node(state: State) -> Any:
        calls.append("done")
        return {"notes": [f"{MARK} x"]}

    def wait(state: State) -> Any:
        return {"log": [interrupt("?")]}

    builder = StateGraph(State).add_node("node", node).add_node("wait", wait)
    made = builder.add_edge(START, "node").add_edge(START, "wait").compile(checkpointer=saver)
    made.invoke({"log": []}, run("ann"))
    saver.erase_user("ann")
    assert made.invoke(Command(resume="yes"), run("ann"))["log"] == ["yes"]
    assert calls == ["done"]


def test_a_run_that_is_still_going(durable: Backend) -> None:
    """What it has in memory comes back by no put: only what it writes anew is stored."""
    one, other = durable.open(channels=USERS), durable.open(channels=USERS)
    user = {"user_id": "ann"}
    values = {"profile": {"name": MARK}, "notes": [f"{MARK} 1"], "log": [1]}
    head = put(one, "t", values, metadata=user)
    versions = one.get_tuple(head).checkpoint["channel_versions"]
    other.erase_user("ann")
    for n in (2, 3):  # `one` still knows the thread as it was
        versions = {**versions, "log": str(n)}
        head = put(
            one, "t", {**values, "log": [n]}, parent=head, versions=versions,
            new={"log": str(n)}, metadata=user,
        )  # fmt: skip
    assert one.get_tuple(head).checkpoint["channel_values"] == {"log": [3]}
    assert places(durable.url) == set()
    one.put_writes(
        {"configurable": {**head["configurable"], "user_id": "ann"}}, [("notes", [MARK])], "task"
    )
    assert places(durable.url) - {"file"} == {"wyrd_user_data"}  # anew
    assert one.erase_user("ann") == {"wyrd_user_data": 1}
    assert places(durable.url) == set()


def test_threads_as_well(durable: Backend) -> None:
    """`threads=True` deletes the user's threads, with a count of each table's rows; late writes of
    theirs are refused; others' stay."""
    saver = durable.open(channels=USERS)
    story(saver, "ann", "t")
    story(saver, "bob", "b")
    last = saver.get_tuple(run(None)).config
    told: list[Any] = []
    saver.on("discard", lambda event: told.append((event.thread_id, event.detail["how"])))
    counts = saver.erase_user("ann", threads=True)
    assert counts["wyrd_threads"] == 1
    assert min(counts["wyrd_checkpoints"], counts["wyrd_user_data"]) > 5
    assert [each.thread_id for each in saver.threads()] == ["b"]
    assert told == [("t", "erase_user")]
    with pytest.raises(Exception, match="was deleted"):
        put(saver, "t", {"log": ["late"]}, parent=last)
    with raw(durable.url) as connection:
        (left,) = connection.execute(
            "SELECT count(*) FROM wyrd_user_data WHERE user_id = 'ann'"
        ).fetchone()
    assert left == 0
    saver.erase_user("bob", threads=True)
    assert places(durable.url) == set()


def test_in_a_schema(postgres: Backend) -> None:
    """The tables are counted by their names, wherever they are."""
    saver = postgres.open(channels=USERS, schema="Odd one")
    story(saver)
    counts = saver.erase_user("ann", threads=True)
    assert {"wyrd_threads", "wyrd_checkpoints", "wyrd_writes", "wyrd_user_data"} <= counts.keys()
    assert all(name.startswith("wyrd_") for name in counts)
    assert places(postgres.url) == set()


async def test_erased_while_a_run_goes_on(durable: Backend) -> None:
    """Erasing again and again while a run writes: no put of it fails, the thread is sound,
    and once it is over nothing is left."""
    saver, other = durable.open(channels=USERS), durable.open(channels=USERS)
    times = 0

    async def step(state: State) -> Any:
        n = len(state["log"])
        while n == 12 and times < 2:
            await asyncio.sleep(0.01)
        return {"notes": [f"{MARK} {n}"], "log": [n], "profile": {"n": f"{MARK} {n}"}}

    def more(state: State) -> str:
        return "step" if len(state["log"]) < 25 else "__end__"

    builder = StateGraph(State).add_node("step", step).add_edge(START, "step")
    made = builder.add_conditional_edges("step", more).compile(checkpointer=saver)
    going = asyncio.create_task(made.ainvoke({"log": [], "notes": [MARK]}, run("ann")))
    while not going.done():
        await other.aerase_user("ann", vacuum=False)
        times += 1
    assert len((await going)["log"]) == 25
    assert saver.verify().ok
    other.erase_user("ann")
    assert made.get_state(run(None)).values["log"] == [*range(25)]
    assert places(durable.url) == set()


def test_bytes_of_earlier_deletions(sqlite: Backend) -> None:
    """An erasure also clears what prunes and deletions left in pages of the file; without
    `vacuum` the rows alone are gone."""
    saver = sqlite.open(channels=USERS)
    head = None
    for n in range(40):
        text = f"{MARK} {n} {'.' * 900}"  # not so long that it would be compressed
        head = put(saver, "t", {"inner": text}, parent=head, metadata={"user_id": "ann"})
    saver.prune(["t"])
    saver.erase_user("ann", vacuum=False)
    assert places(sqlite.url) <= {"file"}
    saver.erase_user("ann")
    assert places(sqlite.url) == set()


def test_erasing_beside_another_program_that_writes(sqlite: Backend) -> None:
    """Where others empty the WAL just then, an erasure waits for them."""
    saver, over = sqlite.open(channels=USERS), threading.Event()
    put(saver, "t", {"inner": MARK}, metadata={"user_id": "ann"})

    def write() -> None:
        with raw(sqlite.url) as connection:
            connection.execute("CREATE TABLE others(held)")
            while not over.is_set():
                connection.execute("INSERT INTO others VALUES (zeroblob(4000000))")
                connection.execute("DELETE FROM others")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                time.sleep(0.005)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for _ in range(8):
                saver.user("ann").set("k", MARK)
                saver.erase_user("ann")
        finally:
            over.set()
        writing.result()
    assert places(sqlite.url) == set()


# Copies, forks, exports, retention, key rings: what else is done with threads that hold them.


def joined(held: list[Any], new: list[list[Any]]) -> list[Any]:
    return [*held, *(each for some in new for each in some)]


class Chat(TypedDict, total=False):
    said: Annotated[list, DeltaChannel(joined, snapshot_frequency=3)]
    log: Annotated[list, operator.add]


def left_in(url: str) -> int:
    with raw(url) as connection:
        return int(connection.execute("SELECT count(*) FROM wyrd_user_data").fetchone()[0])


def test_copies_forks_and_rewinds(durable: Backend) -> None:
    """They hold the same values, under the same user."""
    saver = durable.open(channels=USERS)
    story(saver)
    saver.copy_thread("t", "c")
    assert seen(saver, "c") == seen(saver)
    saver.copy_thread("t", "latest")
    saver.prune(["latest"])
    at = graph(saver).get_state(run(None)).values
    assert graph(saver).get_state(run(None, "latest")).values == at
    fork = saver.thread("t").fork("f")
    assert graph(saver).get_state(run(None, fork.id)).values == at
    first = saver.thread("t").history()[-2]
    config = saver.thread("t").rewind(first)
    values = graph(saver).get_state({"configurable": dict(config["configurable"])}).values
    assert values["notes"] == [f"{MARK} first"]
    assert saver.verify().ok
    saver.erase_user("ann")
    assert places(durable.url) == set()


def test_diff_of_users_values(durable: Backend) -> None:
    """A diff of channels shows values of users while they are there."""
    saver = durable.open(channels=USERS)
    story(saver)
    thread = saver.thread("t")
    first = thread.history()[-1]
    found = thread.diff(first, None).channels
    assert found.added["inner"] == f"{MARK} inside"
    assert f"{MARK} Ann" in str(found.added)
    saver.erase_user("ann")
    assert MARK not in str(thread.diff(first, None).channels)
    assert "log" in str(thread.diff(first, None))


@pytest.mark.parametrize("own", ["profile", "messages"])
def test_back_to_before_a_message(durable: Backend, own: str) -> None:
    """A message is found on the way to the head next to users' values, and among them."""
    saver = durable.open(channels=Channels(user={own}))
    builder = StateGraph(State).add_node("n", lambda state: {"profile": {"n": len(state)}})
    made = builder.add_edge(START, "n").compile(checkpointer=saver)
    for n in range(3):
        made.invoke({"messages": [HumanMessage("hi", id=f"m{n}")]}, run("ann"))
    saver.thread("t").rewind("m1")
    assert [each.id for each in made.get_state(run("ann")).values["messages"]] == ["m0"]


def test_exports_and_other_savers(durable: Backend, tmp_path: Path) -> None:
    """An export with payloads comes back; to and from other savers all values go along, and in one
    of ours they are the user's again. What was erased is not carried."""
    saver = durable.open(channels=USERS)
    story(saver)
    path = tmp_path / "thread.json"
    saver.thread("t").export(path, payloads=True)
    saver.import_thread(path, "back")
    assert seen(saver, "back") == seen(saver)
    plain, other = InMemorySaver(), WyrdSaver.from_conn_string("sqlite://", channels=USERS)
    with other:
        copy(saver, plain, ["t"])
        assert seen(plain) == seen(saver)
        copy(plain, other)
        copy(saver, other, ["back"])
        assert seen(other) == seen(saver)
        assert other.erase_user("ann")["wyrd_user_data"] >= 2 * (left_in(durable.url) // 2 - 2)
        assert MARK not in str(seen(other)) + str(seen(other, "back"))
    saver.erase_user("ann")
    saver.thread("t").export(path, payloads=True)
    assert MARK not in path.read_text()
    saver.import_thread(path, "again")
    assert seen(saver, "again") == seen(saver)


def test_pruning_and_retention(durable: Backend) -> None:
    """The rows of what goes go; what is kept loads as before. Nothing that was cut from a list is
    left behind."""
    saver = durable.open(channels=Channels(user={"notes", "inner"}))
    head, told = None, {"user_id": "ann"}
    for n in range(30):
        notes = [f"{MARK} {n}"] if n == 20 else [f"note {k}" for k in range(n)]
        values = {"notes": notes, "inner": f"at {n}"}
        head = put(saver, "t", values, parent=head, metadata=told)
    assert "wyrd_user_data" in places(durable.url)
    before = left_in(durable.url)
    kept = seen(saver)[:3]  # all are of one step: the newest come first
    report = saver.sweep(Retention(keep_last=3), dry_run=False)
    assert report.checkpoints == 27
    assert [row[3] for row in seen(durable.open())] == [row[3] for row in kept]
    assert left_in(durable.url) < before - 25
    assert "wyrd_user_data" not in places(durable.url)
    saver.prune(["t"])
    assert seen(saver)[0][3] == kept[0][3]
    head = put(saver, "t", {"notes": ["x"], "inner": "y"}, parent=head, metadata=told)
    assert saver.verify().ok
    assert "user_data" in saver.size_report().threads["t"]
    saver.delete_thread("t")
    assert left_in(durable.url) == 0


def test_retention_keeps_the_strands_of_writes(durable: Backend) -> None:
    """A question that waits keeps what stands among its writes."""
    saver = durable.open(channels=USERS)
    graph(saver).invoke({"notes": ["n"], "log": ["in"]}, run("ann"))
    before = graph(saver).get_state(run(None))
    saver.prune(["t"])
    assert graph(saver).get_state(run(None)).interrupts == before.interrupts
    writes = saver.get_tuple(run(None)).pending_writes
    assert ("notes", [{"seen": f"{MARK} Ann"}]) in [each[1:] for each in writes]


def test_reextracting_says_the_same(durable: Backend) -> None:
    """The pillars read anew hold as little of users as those that were made with each put."""
    saver = durable.open(channels=USERS)
    story(saver)
    thread = saver.thread("t")
    before = [thread.working_state(each) for each in thread.history()]
    saver.reextract()
    assert [thread.working_state(each) for each in thread.history()] == before
    assert places(durable.url) - {"file"} == {"wyrd_user_data"}


def test_delta_channels(durable: Backend) -> None:
    """A channel that is kept as deltas may be a user's, too: what was erased rebuilds nothing."""

    saver = durable.open(channels=Channels(user={"said"}))
    builder = StateGraph(Chat).add_node("n", lambda s: {"said": [f"{MARK} x"], "log": [1]})
    made = builder.add_edge(START, "n").compile(checkpointer=saver)
    for n in range(4):
        made.invoke({"said": [f"{MARK} {n}"]}, run("ann"))
    assert len(made.get_state(run(None)).values["said"]) == 8
    assert places(durable.url) - {"file"} == {"wyrd_user_data"}
    saver.erase_user("ann")
    assert MARK not in str([each.values for each in made.get_state_history(run(None))])
    assert not made.get_state(run(None)).values.get("said")
    assert made.invoke({"said": ["new"]}, run("ann"))["said"] == ["new", f"{MARK} x"]


def test_state_that_is_an_object(durable: Backend) -> None:
    """An input that is a model goes whole with the user: nothing of it is stored elsewhere."""
    from pydantic import BaseModel

    class Model(BaseModel):
        profile: str = ""
        log: Annotated[list, operator.add] = []

    saver = durable.open(channels=Channels(user={"profile"}))
    builder = StateGraph(Model).add_node("n", lambda s: {"log": ["n"]})
    made = builder.add_edge(START, "n").compile(checkpointer=saver)
    made.invoke(Model(profile=MARK, log=["in"]), run("ann"))
    assert places(durable.url) - {"file"} == {"wyrd_user_data"}
    saver.erase_user("ann")
    assert places(durable.url) == set()
    assert made.get_state(run(None)).values["log"] == ["in", "n"]


def test_graphs_of_one_value(durable: Backend) -> None:
    """A graph whose state is one value, and a functional one: inputs, results and what tasks
    return belong to the user, too."""
    saver = durable.open(channels=Channels(user={"__root__", "__previous__", "profile"}))
    builder = StateGraph(Annotated[list, operator.add]).add_node("n", lambda s: [f"{MARK} out"])
    made = builder.add_edge(START, "n").compile(checkpointer=saver)
    made.invoke([f"{MARK} in"], run("ann"))
    assert made.get_state(run(None)).values == [f"{MARK} in", f"{MARK} out"]

    @task
    def look(name: str) -> dict[str, Any]:
        return {"profile": f"{MARK} {name}", "log": "seen"}

    @entrypoint(checkpointer=saver)
    def flow(given: dict[str, Any], *, previous: Any = None) -> dict[str, Any]:
        found = look(given["profile"]).result()
        return {"profile": found["profile"], "before": previous}

    flow.invoke({"profile": MARK}, run("ann", "f"))
    flow.invoke({"profile": MARK}, run("ann", "f"))
    assert places(durable.url) - {"file"} == {"wyrd_user_data"}
    saver.erase_user("ann")
    assert places(durable.url) == set()
    assert not made.get_state(run(None)).values
    assert flow.invoke({"profile": "x"}, run("ann", "f")) == {
        "profile": f"{MARK} x", "before": None,
    }  # fmt: skip


def test_what_is_never_stored(durable: Backend) -> None:
    """The values of ephemeral channels never reach the disk: not their own, not in an input, not
    in what tasks wrote. Runs see them as long as they go on."""
    saver = durable.open(channels=Channels(ephemeral={"profile", "notes"}))
    made = graph(saver)
    found = made.invoke({"notes": [MARK], "log": ["in"]}, run(None))
    assert found["profile"]["name"] == f"{MARK} Ann"
    assert found["notes"][0] == MARK
    stored = {"wyrd_context", "wyrd_checkpoints", "wyrd_splices", "wyrd_events", "wyrd_writes"}
    assert places(durable.url) <= {*stored, "file"}  # of `inner`
    values = saver.get_tuple(run(None)).checkpoint["channel_values"]
    assert not {"profile", "notes"} & values.keys()
    saver.delete_thread("t")

    class Only(TypedDict, total=False):
        notes: Annotated[list, operator.add]
        log: Annotated[list, operator.add]

    builder = StateGraph(Only).add_node("n", lambda s: {"notes": [MARK], "log": ["n"]})
    builder.add_edge(START, "n").compile(checkpointer=saver).invoke({"notes": [MARK]}, run("ann"))
    saver.erase_user("nobody")  # the first thread's marks go from the file
    assert places(durable.url) == set()


# ---- values next to the threads


async def test_a_users_own_values(durable: Backend) -> None:
    """set, get, list, items and delete, sync and async; each user has their own; erased like the
    rest."""
    saver = durable.open()
    ann, bob = saver.user("ann"), saver.user("bob")
    ann.set("name", f"{MARK} Ann")
    await ann.aset("chat", [HumanMessage("hi", id="1")])
    ann.set("name", f"{MARK} Anna")
    bob.set("name", "Bob")
    assert ann.get("name") == await ann.aget("name") == f"{MARK} Anna"
    assert ann.get("age") is None
    assert await ann.aget("age", 7) == 7
    assert ann.list() == await ann.alist() == ["chat", "name"]
    assert ann.items() == await ann.aitems()
    assert ann.items()["chat"] == [HumanMessage("hi", id="1")]
    assert (ann.delete("chat"), await ann.adelete("chat")) == (True, False)
    assert saver.verify().ok
    assert "wyrd_user_data" in places(durable.url)
    assert await saver.aerase_user("ann") == {"wyrd_user_data": 1}
    assert ann.items() == {}
    assert durable.open().user("bob").items() == {"name": "Bob"}
    assert places(durable.url) == set()


@pytest.mark.parametrize("user", ["", None, 7, "x" * 700])
def test_what_is_no_user(user: Any) -> None:
    """An id that can't be stored is refused at once."""
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        for call in (saver.user, saver.erase_user):
            with pytest.raises(InvalidInput):
                call(user)


def test_sealed(durable: Backend) -> None:
    """A store that encrypts holds no plain text of users' values, while they are there."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = durable.open(serde=serde, channels=USERS)
    plain = InMemorySaver()
    assert story(saver) == story(plain)
    saver.user("ann").set("card", MARK)
    assert saver.user("ann").get("card") == MARK
    assert places(durable.url) == set()
    assert saver.verify().ok
    saver.erase_user("ann")
    assert MARK not in str(seen(saver))
    assert left_in(durable.url) > 0


# ---- any program


def test_values_are_the_callers_own(durable: Backend) -> None:
    """What is given out may be changed in place; nobody else sees the change."""
    saver = durable.open(channels=USERS)
    told = {"user_id": "ann"}
    first = put(saver, "t", {"notes": [{"a": [1]}]}, metadata=told)
    versions = saver.get_tuple(first).checkpoint["channel_versions"]
    put(saver, "t", {"notes": [{"a": [1]}]}, parent=first, versions=versions, new={}, metadata=told)
    one, other = saver.list({"configurable": {"thread_id": "t"}})
    one.checkpoint["channel_values"]["notes"][0]["a"].append(2)
    assert other.checkpoint["channel_values"]["notes"] == [{"a": [1]}]
    assert saver.get_tuple(first).checkpoint["channel_values"]["notes"] == [{"a": [1]}]
