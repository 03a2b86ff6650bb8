"""What else is done with threads does right by the values of users in them."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from conftest import Backend
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from test_user_data import MARK, USERS, graph, places, run, seen, story

from langgraph_wyrd import Channels, Retention, WyrdSaver
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.port import copy
from tests.outside import raw
from tests.rows import put


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
    saver.copy_thread("t", "latest", latest_only=True)
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


def test_diff_and_first_change(durable: Backend) -> None:
    """A diff of channels shows values of users while they are there."""
    saver = durable.open(channels=USERS)
    story(saver)
    thread = saver.thread("t")
    first = thread.history()[-1]
    found = thread.diff(first, None).channels
    assert found.added["inner"] == f"{MARK} inside"
    assert f"{MARK} Ann" in str(found.added)
    assert thread.first_change('profile["name"]') is not None
    saver.erase_user("ann")
    assert MARK not in str(thread.diff(first, None).channels)
    assert "log" in str(thread.diff(first, None))


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


def test_reweaving_says_the_same(durable: Backend) -> None:
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


# ---- values beside the threads


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
