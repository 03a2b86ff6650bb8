"""A saver that is one user's sees and writes only that user's threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import ThreadNotFound, UserMissing, WrongUser, WyrdError
from langgraph_wyrd.middleware import WyrdMiddleware
from langgraph_wyrd.users.ownership import REFUSED
from tests.conftest import Backend
from tests.handmade import put
from tests.outside import raw
from tests.providers import Strict
from tests.scripted_agents import asks, plan
from tests.test_user_data import INPUT, USERS, State, graph, run, seen, story

Call = Callable[..., Any]

WHERE = {"configurable": {"thread_id": "b"}}  # bob's
ANYWHERE = {"configurable": {"thread_id": "b", "user_id": "ann"}}


# What ann's saver answers when it is asked about bob's thread: a value, or what it raises.
ANSWERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "copy_thread": (lambda mine: mine.copy_thread("b", "new"), None),
    "delete_thread": (lambda mine: mine.delete_thread("b"), None),
    "events": (lambda mine: list(mine.events()), []),
    "get": (lambda mine: mine.get(WHERE), None),
    "get_delta_channel_history": (
        lambda mine: mine.get_delta_channel_history(config=WHERE, channels=["notes"]),
        {"notes": {"writes": []}},
    ),
    "get_tuple": (lambda mine: mine.get_tuple(WHERE), None),
    "intentions": (lambda mine: list(mine.intentions(thread_id="b", status="any")), []),
    "inbox": (lambda mine: list(mine.inbox(thread_id="b")), []),
    "latest": (lambda mine: mine.latest(), None),
    "list": (lambda mine: list(mine.list(WHERE)), []),
    "open_loops": (lambda mine: list(mine.open_loops(thread_id="b")), []),
    "prune": (lambda mine: mine.prune(["b"], strategy="delete"), None),
    "put": (lambda mine: put(mine, "b", {"x": 1}, metadata={"user_id": "ann"}), WrongUser),
    "put_writes": (
        lambda mine: mine.put_writes(
            {"configurable": {**ANYWHERE["configurable"], "checkpoint_id": "c"}}, [("x", 1)], "t"
        ),
        WrongUser,
    ),
    "resume": (lambda mine: mine.resume("b"), ThreadNotFound),
    "reextract": (lambda mine: mine.reextract("b"), ThreadNotFound),
    "thread": (lambda mine: mine.thread("b").working_state(), ThreadNotFound),
    "thread: messages": (lambda mine: mine.thread("b").messages(), ThreadNotFound),
    "thread: answer": (lambda mine: mine.thread("b").answer("x"), ThreadNotFound),
    "threads": (lambda mine: list(mine.threads()), []),
    "todos": (lambda mine: list(mine.todos(status="any")), []),
    "user": (lambda mine: mine.user("bob"), WrongUser),
    "verify": (lambda mine: mine.verify("b"), ThreadNotFound),
}
# What touches no thread.
HARMLESS = {"config_specs", "get_next_version", "serde", "with_allowlist"}


def twin(name: str) -> str:
    """The sync name of an async method."""
    return name[1:] if name[1:] in {*ANSWERS, *REFUSED, *dir(WyrdSaver)} else name


def test_no_method_is_forgotten() -> None:
    """Each public method of a saver is scoped, and tried here on another's thread; or refused."""
    public = {name for name in dir(WyrdSaver) if not name.startswith("_")}
    known = {*ANSWERS, *REFUSED, *HARMLESS}
    assert {name for name in public if twin(name) not in known and name not in known} == set()


@pytest.fixture
def theirs(saver: WyrdSaver) -> WyrdSaver:
    """A saver that holds a thread of bob's."""
    story(saver, "bob", "b")
    return saver


def test_anothers_thread_is_not_there(theirs: WyrdSaver) -> None:
    """Reading finds nothing, writing is refused; bob's thread is as it was."""
    before = seen(theirs, "b")
    mine = theirs.for_user("ann")
    for name, (call, wanted) in ANSWERS.items():
        try:
            found = call(mine)
        except WyrdError as error:
            found = type(error)
        assert found == wanted, name
        assert seen(theirs, "b") == before, name
    assert [each.thread_id for each in theirs.threads()] == ["b"]


def test_what_is_read_around_damage_is_the_users_too(durable: Backend) -> None:
    """Where the row of bob's thread is gone, ann's saver does not read around that either."""
    with durable.open() as saver:
        story(saver, "bob", "b")
        head = saver.get_tuple(WHERE)
    with raw(durable.url) as connection:
        connection.execute("DELETE FROM wyrd_threads WHERE thread_id = 'b'")
    with durable.open() as saver:
        mine = saver.for_user("ann")
        assert mine.get_tuple(WHERE) is None
        assert list(mine.list(WHERE)) == []
        assert mine.get_delta_channel_history(config=WHERE, channels=["n"]) == {"n": {"writes": []}}
        assert saver.get_tuple(WHERE) == head


async def test_async_twins(theirs: WyrdSaver) -> None:
    """The async methods answer as the sync ones."""
    mine = theirs.for_user("ann")
    assert await mine.aget_tuple(WHERE) is None
    assert await mine.aget(WHERE) is None
    assert [each async for each in mine.alist(None)] == []
    assert await mine.aget_delta_channel_history(config=WHERE, channels=["n"]) == {
        "n": {"writes": []}
    }
    for found in (mine.athreads(), mine.atodos(), mine.aopen_loops(), mine.aintentions()):
        assert list(await found) == []
    assert await mine.alatest() is None
    for refused in (mine.aresume("b"), mine.areextract("b"), mine.averify("b"),
                    mine.thread("b").aworking_state()):  # fmt: skip
        with pytest.raises(ThreadNotFound):
            await refused
    await mine.adelete_thread("b")
    await mine.aprune(["b"], strategy="delete")
    await mine.acopy_thread("b", "new")
    with pytest.raises(WrongUser):
        await graph(mine).ainvoke(INPUT, run("ann", "b"))
    assert [each.thread_id for each in await theirs.athreads()] == ["b"]


def test_what_goes_across_users_is_refused() -> None:
    """Whatever is not one user's is refused by name, and says where to call it."""
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        mine = saver.for_user("ann")
        for name in sorted(REFUSED):
            refused = getattr(mine, name)
            with pytest.raises(WrongUser, match=name):
                asyncio.run(refused()) if name == "adelete_for_runs" else refused()
    with pytest.raises(AttributeError):
        _ = mine.nonsense


def test_a_whole_story(durable: Backend) -> None:
    """Ann's and bob's savers give each their own, on one database; all as from a whole saver."""
    whole = durable.open(channels=USERS)
    for user, thread in (("ann", "a"), ("bob", "b"), ("ann", "a2")):
        mine = whole.for_user(user)
        assert story(mine, user, thread) == story(whole, user, f"{thread}!")
        assert seen(mine, thread)[0][3].keys() == seen(whole, f"{thread}!")[0][3].keys()
    ann = whole.for_user("ann")
    assert {each.thread_id for each in ann.threads()} == {"a", "a2", "a!", "a2!"}
    assert {each.config["configurable"]["thread_id"] for each in ann.list(None)} == {
        "a", "a2", "a!", "a2!"
    }  # fmt: skip
    assert ann.thread("a").working_state().status == "done"
    fork = ann.thread("a").fork("f")
    assert fork.working_state().thread_id == "f"
    with pytest.raises(WrongUser):
        ann.thread("a").fork("b")
    with pytest.raises(WrongUser):
        ann.copy_thread("a", "b")
    ann.copy_thread("a", "c")
    assert ann.latest().thread_id in {"a", "a2", "a!", "a2!", "c", "f"}
    assert ann.verify("c").ok
    ann.user().set("k", 1)
    assert whole.user("ann").get("k") == 1
    ann.prune(["a", "b"], strategy="delete")
    assert whole.get_tuple(run(None, "a")) is None
    assert whole.get_tuple(run(None, "b")) is not None


def test_a_run_that_is_not_the_users(saver: WyrdSaver) -> None:
    """A run without the user id, or with another's, is refused before any of its nodes ran."""
    calls: list[str] = []
    made = graph(saver.for_user("ann"), calls)
    with pytest.raises(UserMissing, match="'user_id': 'ann'"):
        made.invoke(INPUT, run(None))
    with pytest.raises(WrongUser, match="'bob'"):
        made.invoke(INPUT, run("bob"))
    assert calls == []
    assert list(saver.list(None)) == []
    made.invoke(INPUT, run("ann"))
    assert made.get_state(run(None)).values["log"]  # a look needs no user id
    # Neither does an update of what is ann's, by ann's saver: it is stored as hers.
    made.update_state(run(None), {"log": ["x"]}, as_node="ask")
    assert {each.metadata.get("user_id") for each in saver.list(None)} == {"ann"}
    new = {"configurable": {"thread_id": "new"}}
    with pytest.raises(UserMissing):
        made.update_state(new, {"log": ["x"]}, as_node="ask")
    with pytest.raises(WrongUser):
        saver.for_user("ann").list({"configurable": {"user_id": "bob"}}).__next__()
    with pytest.raises(WrongUser):
        saver.for_user("ann").threads(user_id="bob")


def test_a_thread_of_nobody(saver: WyrdSaver) -> None:
    """A thread that was begun without a user is nobody's to see."""
    put(saver, "t", {"log": [1]})
    mine = saver.for_user("ann")
    assert mine.get_tuple(run("ann")) is None
    with pytest.raises(WrongUser):
        put(mine, "t", {"log": [2]}, metadata={"user_id": "ann"})


async def test_two_users_begin_one_thread(durable: Backend) -> None:
    """At once, from two processes' savers: one of them has it, the other is refused."""
    for n in range(3):
        told = []
        for user in ("ann", "bob"):
            mine = durable.open(pillars=bool(n % 2)).for_user(user)
            told.append((user, mine, graph(mine)))

        async def begin(user: str, made: Any, thread: str = f"t{n}") -> str:
            try:
                await made.ainvoke(INPUT, run(user, thread))
            except WrongUser:
                return "refused"
            return user

        ended = await asyncio.gather(*(begin(user, made) for user, _, made in told))
        assert sorted(ended).count("refused") == 1, ended
        (winner,) = set(ended) - {"refused"}
        whole = durable.opened[-1]
        assert {each.metadata["user_id"] for each in whole.list(run(None, f"t{n}"))} == {winner}
        for user, mine, made in told:
            if user == winner:
                done = await made.ainvoke(Command(resume="yes"), run(user, f"t{n}"))
                assert done["log"][-1] == "yes"
            else:
                assert await mine.aget_tuple(run(user, f"t{n}")) is None


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_user_declares_before_the_first_checkpoint(
    durable: Backend, call: Call, durability: Any
) -> None:
    """In the first node of a new thread, and before any run: it makes the thread the user's."""
    saver = durable.open()
    mine = saver.for_user("ann")

    def decides(state: State, config: RunnableConfig) -> State:
        mine.thread(config["configurable"]["thread_id"]).decide("begin", key="begin")
        return {"log": ["decided"]}

    made = StateGraph(State).add_node("node", decides).add_edge(START, "node").compile(mine)
    for n in range(4):
        await call(made, "invoke", {"log": []}, run("ann", f"t{n}"), durability=durability)
        (found,) = await call(mine, "open_loops", thread_id=f"t{n}")
        assert (found.kind, found.description) == ("decision", "begin")
    await call(mine.thread("unborn"), "add_todo", "think")
    with pytest.raises(ThreadNotFound):
        await call(saver.for_user("bob").thread("unborn"), "add_todo", "peek")
    with pytest.raises(ThreadNotFound):
        await call(saver.for_user("bob").thread("unborn"), "get_context", "x")
    assert "unborn" in {each.thread_id for each in await call(mine, "threads")}
    assert [*await call(saver.for_user("bob"), "threads")] == []
    with pytest.raises(WrongUser):
        await call(graph(saver.for_user("bob")), "invoke", INPUT, run("bob", "unborn"))
    await call(graph(mine), "invoke", INPUT, run("ann", "unborn"))
    state = await call(mine.thread("unborn"), "working_state")
    assert "think" in [todo.content for todo in state.todos]


def test_without_pillars(durable: Backend) -> None:
    """Whose a thread is does not need the pillars."""
    whole = durable.open(pillars=False)
    mine = whole.for_user("ann")
    story(mine)
    assert [each.thread_id for each in mine.threads()] == ["t"]
    assert whole.for_user("bob").get_tuple(run(None)) is None
    assert whole.erase_user("ann", threads=True)["wyrd_threads"] == 1


async def test_an_agent_of_one_user(durable: Backend) -> None:
    """The middleware works with a user's saver: it reads what is open in the user's threads."""
    whole = durable.open()

    @tool
    def search(query: str = "") -> str:
        """Look something up."""
        return f"found {query}"

    model = Strict(rule=plan(asks(("c1", "search", {"query": "x"}))))
    mine = whole.for_user("ann")
    agent = create_agent(model, [search], middleware=[WyrdMiddleware()], checkpointer=mine)
    for _ in range(2):
        found = agent.invoke({"messages": [("user", "look it up")]}, run("ann"))
    found = await agent.ainvoke({"messages": [("user", "again")]}, run("ann"))
    assert [m.type for m in found["messages"]].count("tool") == 1
    assert mine.thread("t").working_state().status == "done"
    assert [each.user_id for each in whole.threads()] == ["ann"]
