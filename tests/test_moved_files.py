"""An SQLite file that is deleted, moved or replaced under an open saver: what was acknowledged is
in the file that lies there, or the call says that it was not stored."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import WyrdSaver, errors
from tests.damage import at, talk
from tests.handmade import append, config, head_tokens, next_step, tokens, tree
from tests.outside import run

pytestmark = pytest.mark.timeout(300, method="thread")

ENDS = ("", "-wal", "-shm")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder / "wyrd.db"


def opened(path: Path, **options: Any) -> WyrdSaver:
    return WyrdSaver.from_conn_string(f"sqlite:///{path}", **options)


def begun(saver: WyrdSaver) -> Any:
    append(saver, "t", "a")
    return saver.get_tuple(append(saver, "t", "b"))


def delete(path: Path) -> None:
    for end in ENDS:
        Path(f"{path}{end}").unlink(missing_ok=True)


def move(path: Path) -> None:
    for end in ENDS:
        Path(f"{path}{end}").rename(path.with_name(f"moved.db{end}"))


def delete_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("how", [delete, Path.unlink, delete_folder, move])
async def test_a_file_that_is_gone(path: Path, how: Callable[[Path], None], call: Any) -> None:
    """No call passes for done, none makes a new file; another saver may, and goes on there."""
    with opened(path) as saver:
        head = begun(saver)
        how(path)
        for _ in range(2):
            with pytest.raises(errors.DatabaseGone, match=r"wyrd\.db.*deleted.*new saver"):
                await call(saver, "put", *next_step(saver, head, "t", "lost"))
            with pytest.raises(errors.DatabaseGone):
                await call(saver, "put_writes", head.config, [("log", 1)], "task")
            with pytest.raises(errors.DatabaseGone):
                await call(saver, "get_tuple", config("t"))
            with pytest.raises(errors.DatabaseGone):
                await call(saver, "verify")
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        for end in ENDS:
            Path(f"{path}{end}").unlink(missing_ok=True)
        with opened(path) as other:
            append(other, "t", "new")
        with pytest.raises(errors.DatabaseGone, match="replaced"):
            append(saver, "t", "lost")
    with saver:  # begun anew
        assert head_tokens(saver, "t") == ["new"]


def test_moved_away_and_back(path: Path) -> None:
    """What was stored before is there again, as if nothing had been."""
    with opened(path) as saver:
        begun(saver)
        move(path)
        with pytest.raises(errors.DatabaseGone):
            append(saver, "t", "lost")
        for end in ENDS:
            path.with_name(f"moved.db{end}").rename(f"{path}{end}")
        append(saver, "t", "c")
        assert head_tokens(saver, "t") == [*"abc"]
        assert saver.verify().ok


@pytest.mark.parametrize("beside", ["deleted", "left"])
async def test_a_backup_put_in_its_place(path: Path, beside: str, call: Any) -> None:
    """A run would go on in it, so it is refused; a new saver reads it, without the first's WAL."""
    other = path.with_name("backup.db")
    with opened(other) as saver:
        for token in "xyz":
            append(saver, "t", token)
    with opened(path) as saver:
        head = begun(saver)
        if beside == "deleted":
            delete(path)
        os.replace(other, path)
        for _ in range(2):
            with pytest.raises(errors.DatabaseGone, match="replaced"):
                await call(saver, "put", *next_step(saver, head, "t", "lost"))
            with pytest.raises(errors.DatabaseGone):
                await call(saver, "get_tuple", config("t"))
        with opened(path) as new:
            assert head_tokens(new, "t") == [*"xyz"]
            append(new, "t", "c")
            tree(new, "t")
            assert new.verify().ok
        with pytest.raises(errors.DatabaseGone):
            saver.thread("t").working_state()
    with opened(path) as saver:
        assert head_tokens(saver, "t") == [*"xyzc"]
        assert saver.verify().ok


@pytest.mark.parametrize("end", ["-wal", "-shm"])
async def test_a_file_next_to_it_that_is_deleted(path: Path, end: str, call: Any) -> None:
    """Its content is not lost: it is moved into the file, and the next call goes on."""
    with opened(path) as saver:
        head = begun(saver)
        Path(f"{path}{end}").unlink()
        with pytest.raises(errors.DatabaseGone, match=end):
            await call(saver, "put", *next_step(saver, head, "t", "lost"))
        assert tokens(await call(saver, "get_tuple", config("t"))) == [*"ab"]
        await call(saver, "put", *next_step(saver, head, "t", "c"))
    with opened(path) as saver:
        assert head_tokens(saver, "t") == [*"abc"]
        assert saver.verify().ok


def test_an_agent_whose_database_is_swapped(path: Path) -> None:
    """The run ends with the error, and has stored nothing in the database that lies there now."""
    other = path.with_name("backup.db")
    with opened(other) as saver:
        talk(saver, "t", 1)
    with opened(path) as saver:
        graph = talk(saver, "t", 2).build(saver)
        stream = graph.stream({"messages": [HumanMessage("three", id="human-2")]}, at("t"))
        next(stream)
        os.replace(other, path)
        with pytest.raises(errors.DatabaseGone):
            list(stream)
    with opened(path) as saver:
        graph = talk(saver, "u", 1).build(saver)
        begun = [each.id for each in graph.get_state(at("u")).values["messages"]]
        assert [each.id for each in graph.get_state(at("t")).values["messages"]] == begun
        graph.invoke({"messages": [HumanMessage("two", id="human-1")]}, at("t"))
        said = [each.id for each in graph.get_state(at("t")).values["messages"]]
        assert said == [*begun, "human-1", "ai-5", "tool-call-5", "end-7"]
        assert saver.verify().ok


def test_a_process_that_goes_elsewhere(tmp_path: Path) -> None:
    """A relative path means the folder where the saver was made, in a child as well."""
    done = run(
        "-c",
        """
import os, sys
from langgraph_wyrd import WyrdSaver
from tests.handmade import append, head_tokens
os.chdir(sys.argv[1])
saver = WyrdSaver.from_conn_string("sqlite:///wyrd.db")
os.mkdir("elsewhere")
os.chdir("elsewhere")
append(saver, "t", "a")
os.chdir("/")
assert head_tokens(saver, "t") == ["a"]
pid = os.fork()
if not pid:
    append(saver, "t", "b")
    saver.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert head_tokens(saver, "t") == ["a", "b"]
saver.close()
""",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["elsewhere", "wyrd.db"]
