"""`langgraph-wyrd erase-user`: what belongs to a user goes, from a terminal and from a script."""

from __future__ import annotations

import base64
import builtins
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

from langgraph_wyrd import Channels, KeyRing, WyrdSaver
from langgraph_wyrd.cli import main as cli
from langgraph_wyrd.errors import DatabaseBusy
from tests.conftest import Backend

KEY = base64.b64encode(b"k" * 32).decode()
Ran = tuple[int, str, str]


class State(TypedDict, total=False):
    profile: dict[str, str]
    steps: int


def of(user: str, thread: str) -> Any:
    return {"configurable": {"thread_id": thread, "user_id": user}}


def two_users(saver: WyrdSaver) -> Any:
    """A graph, and a thread of Ann's and one of Bob's, each with something of theirs."""
    builder = StateGraph(State)
    builder.add_node("greet", lambda state: {"steps": 1})
    builder.add_edge(START, "greet")
    graph = builder.compile(checkpointer=saver)
    for user in ("ann", "bob"):
        graph.invoke({"profile": {"name": user}}, of(user, f"{user}s"))
        saver.user(user).set("language", "de")
    return graph


def opened(backend: Backend, **options: Any) -> WyrdSaver:
    return backend.open(channels=Channels(user={"profile"}), **options)


@pytest.fixture
def run(
    durable: Backend, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    with opened(durable) as saver:
        two_users(saver)
    monkeypatch.setenv("WYRD_URL", durable.url)
    return command


def held(backend: Backend) -> dict[str, Any]:
    """What is left of each user."""
    with opened(backend) as saver:
        builder = StateGraph(State).add_node("greet", lambda state: {"steps": 1})
        graph = builder.add_edge(START, "greet").compile(checkpointer=saver)
        return {
            user: (graph.get_state(of(user, f"{user}s")).values, saver.user(user).items())
            for user in ("ann", "bob")
        }


BOBS = ({"profile": {"name": "bob"}, "steps": 1}, {"language": "de"})


def test_values_go(run: Callable[..., Ran], durable: Backend) -> None:
    """The user's rows go and are counted, the work stays; a second time nothing is found."""
    code, out, err = run("erase-user", "ann", "--yes")
    assert (code, err) == (0, "")
    told, _, more = out.partition("; ")
    assert told == "erased rows of user ann: 4 of wyrd_user_data"
    assert more.startswith("2 values in 1 thread erased. Text of this user's threads remains: anns")
    assert held(durable) == {"ann": ({"steps": 1}, {}), "bob": BOBS}
    said = "nothing that belongs to user ann was there\n"
    assert run("erase-user", "ann", "--yes")[:2] == (1, said)
    assert run("erase-user", "an\u202en", "--yes")[1] == said.replace("ann", "an\\u202en")


def test_threads_go_as_well(run: Callable[..., Ran], durable: Backend) -> None:
    """With `--threads`; as data it is what the method gives."""
    code, out, err = run("erase-user", "ann", "--threads", "--no-vacuum", "-y", "--json")
    told = json.loads(out)
    assert (code, err, told["user_id"]) == (0, "", "ann")
    assert told["rows"]["wyrd_threads"] == 1
    assert told["rows"]["wyrd_checkpoints"] > 0
    assert held(durable) == {"ann": ({}, {}), "bob": BOBS}
    assert json.loads(run("erase-user", "ann", "-y", "--json")[1])["rows"] == {"wyrd_user_data": 0}


def test_it_asks(
    run: Callable[..., Ran], durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on after a yes only; where nobody can answer, that is an error."""
    before = held(durable)
    code, out, err = run("erase-user", "ann")
    assert (code, out) == (2, "")
    assert "give --yes" in err
    monkeypatch.setattr(os, "isatty", lambda end: True)
    monkeypatch.setattr(builtins, "input", lambda: "n")
    code, out, err = run("erase-user", "ann", "--threads")
    assert (code, out) == (1, "")
    assert err == "Erase all that belongs to user ann, and delete 1 thread of theirs? [y/N] "
    assert held(durable) == before
    monkeypatch.setattr(builtins, "input", lambda: "y")
    assert run("erase-user", "ann")[0] == 0
    assert held(durable)["ann"] == ({"steps": 1}, {})


def test_somebody_reads(
    run: Callable[..., Ran], durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the method raises is one line, and an error: the bytes may be there yet."""

    def busy(self: WyrdSaver, user_id: str, **options: Any) -> dict[str, int]:
        assert options == {"threads": False, "redact": False, "vacuum": True}
        raise DatabaseBusy("somebody reads: erase again")

    monkeypatch.setattr(WyrdSaver, "erase_user", busy)
    assert run("erase-user", "ann", "-y") == (
        2,
        "",
        "langgraph-wyrd: somebody reads: erase again\n",
    )


def test_an_encrypted_store(
    durable: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes the store's keys; with the wrong ones nothing is erased."""
    files = {name: str(tmp_path / name) for name in ("keys", "wrong")}
    Path(files["keys"]).write_text(f"one={KEY}\n")
    Path(files["wrong"]).write_text(f"two={base64.b64encode(b'w' * 32).decode()}\n")
    keys = KeyRing.from_file(files["keys"])
    with opened(durable, keys=keys) as saver:
        two_users(saver)
    command = ["erase-user", "ann", "--yes", "--url", durable.url, "--key-file"]
    assert cli.main([*command, files["wrong"]]) == 2
    assert cli.main([*command, files["keys"]]) == 0
    assert "4 of wyrd_user_data" in capsys.readouterr().out
    with opened(durable, keys=keys) as saver:
        assert saver.user("ann").items() == {}
        assert saver.user("bob").items() == {"language": "de"}
