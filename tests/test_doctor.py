"""`langgraph-wyrd doctor`, for somebody who never saw the code: what is wrong, and what to do."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_wyrd import WyrdSaver
from tests.conftest import Backend
from tests.damage import Rows, talk
from tests.outside import ROOT, environment, not_ignored, python, raw
from tests.outside import run as outside

pytestmark = pytest.mark.timeout(300, method="thread")

Ran = tuple[int, list[str], list[str]]
Run = Callable[..., Ran]


@pytest.fixture
def run(command: Callable[..., tuple[int, str, str]]) -> Run:
    """A command: its exit code, and the lines that it wrote."""

    def ran(*arguments: str) -> Ran:
        code, out, err = command(*arguments)
        return code, out.splitlines(), err.splitlines()

    return ran


def test_what_is_no_database_of_ours(tmp_path: Path, run: Run) -> None:
    """One line that says what is there instead; exit code 2, and nothing is changed."""

    def made(name: str, sql: str = "") -> str:
        with sqlite3.connect(tmp_path / name) as connection:
            connection.executescript(sql)
        connection.close()
        return str(tmp_path / name)

    (tmp_path / "letter.db").write_text("a letter to a friend\n" * 500)
    (tmp_path / "folder.db").mkdir()
    with SqliteSaver.from_conn_string(str(tmp_path / "theirs.db")) as theirs:
        talk(theirs, "t", 1)
    with WyrdSaver.from_conn_string(f"sqlite:///{tmp_path}/newer.db") as saver:
        saver.setup()
    made("newer.db", "INSERT INTO wyrd_migrations VALUES (9, 'more', 9, '2030-01-01')")
    for name, says in [
        (made("empty.db"), "does not have langgraph-wyrd's tables yet"),
        (made("other.db", "CREATE TABLE a (b)"), "does not have langgraph-wyrd's tables yet"),
        (made("named.db", "CREATE TABLE wyrd_threads (b)"), "langgraph-wyrd did not make"),
        ("theirs.db", "langgraph-wyrd adopt"),
        ("newer.db", "upgrade langgraph-wyrd"),
        ("letter.db", "it is none"),
        ("folder.db", "it is no file"),
        ("none.db", "there is no file"),
        ("mysql://x/y", "no database of the kind"),
        ("postgresql://u@127.0.0.1:1/d", "Connection refused"),
    ]:
        path = tmp_path / name
        before = path.read_bytes() if path.is_file() else b""
        code, out, err = run("doctor", name if "://" in name else str(path))
        assert (code, out, len(err)) == (2, [], 1), name
        assert says in err[0]
        assert (path.read_bytes() if path.is_file() else b"") == before
    assert run("doctor", "a.db", "--url", "b.db")[0] == 2
    assert not (tmp_path / "none.db").exists()


AS_ANOTHER_USER = """
import os, sys
from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import main as cli
path = sys.argv[1]

def tried(*arguments):
    sys.stderr.flush()
    print(cli.main(["doctor", *arguments]), flush=True)

tried(path)  # all that it needs is loaded, while it may be
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.chdir("/")
tried(path)
tried(path, "--repair", "--yes")
for url in (f"sqlite:///{path}", f"sqlite:///{path}?mode=ro"):
    try:
        with WyrdSaver.from_conn_string(url) as saver:
            print(len(saver.threads()))
    except Exception as error:
        print(error)
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs another user")
def test_a_file_of_another_user() -> None:
    """It can be looked at; what writes is refused, and says why; the library says what helps."""
    folder = Path(tempfile.mkdtemp(prefix="wyrd-"))
    path = folder / "wyrd.db"
    try:
        with WyrdSaver.from_conn_string(f"sqlite:///{path}") as saver:
            talk(saver, "t", 1)
        Rows(f"sqlite:///{path}", "wyrd_checkpoints").run(
            "UPDATE {} SET parent = '1f' WHERE rowid = 1"
        )
        path.chmod(0o644)
        folder.chmod(0o755)
        done = outside("-c", AS_ANOTHER_USER, str(path))
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    out, err = done.stdout.splitlines(), done.stderr.splitlines()
    end = out.index("1")
    assert out[: end + 1] == out[end + 1 : 2 * end + 2], "looked at as by its owner"
    refused, says, threads = out[2 * end + 2 :]
    assert (refused, threads) == ("2", "1")
    assert "?mode=ro" in says
    assert len(err) == 2
    assert "can only be read" in err[0]
    assert "it is read as it is now" in err[1]


def test_while_an_agent_is_at_work(durable: Backend, run: Run) -> None:
    """A database in use is sound, seen from another saver: looked at and repaired."""
    saver = durable.open()
    talk(saver, "t", 1)
    stop = threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                talk(saver, "t", 1)
                talk(saver, "u", 1)
                saver.delete_thread("u")
        except BaseException as error:
            failed.append(error)

    agent = threading.Thread(target=work)
    agent.start()
    try:
        for flags in ((), ("--repair", "--yes"), ()):
            code, out, _ = run("doctor", durable.url, *flags)
            assert code == 0, out
    finally:
        stop.set()
        agent.join()
    assert not failed


def test_a_thread_that_is_not_there(durable: Backend, run: Run) -> None:
    """No damage, which 1 would mean: it could not look."""
    talk(durable.open(), "t", 1)
    for words in (["doctor", durable.url], ["doctor", "-u", durable.url]):
        code, out, err = run(*words, "--thread", "x")
        assert (code, out, err) == (2, [], ["langgraph-wyrd: there is no thread 'x'"])


def test_a_schema_that_is_not_there(postgres: Backend, run: Run) -> None:
    """The line that says so names it."""
    code, out, err = run("doctor", postgres.url, "--schema", "nosuch")
    assert (code, out, len(err)) == (2, [], 1)
    assert "schema 'nosuch' of the Postgres database" in err[0]


SLOW = "import sys, time; print('loading', flush=True); time.sleep(600)"


@pytest.mark.parametrize("when", ["while it loads", "while it looks"])
def test_interrupted(tmp_path: Path, when: str) -> None:
    """Ctrl-C at any time: one line, exit code 130, no traceback."""
    url = f"sqlite:///{tmp_path}/wyrd.db"
    with WyrdSaver.from_conn_string(url) as saver:
        talk(saver, "t", 1)
    env = environment()
    if when == "while it loads":
        (tmp_path / "ormsgpack.py").write_text(SLOW)
        env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{env['PYTHONPATH']}"
    else:
        (tmp_path / "looking.py").write_text(
            "import sys\nfrom langgraph_wyrd import saver\n"
            "from langgraph_wyrd.cli import main as cli\n"
            "def slow(*_, **__):\n    " + SLOW.replace("; ", "\n    ") + "\n"
            "saver.WyrdSaver.verify = slow\nsys.exit(cli.main(sys.argv[1:]))\n"
        )
    what = ["-m", "langgraph_wyrd"] if "loads" in when else [str(tmp_path / "looking.py")]
    start = python() if when == "while it looks" else [sys.executable]
    process = subprocess.Popen(
        [*start, *what, "doctor", url], cwd=ROOT, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=not_ignored,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=200)
    assert (process.returncode, out, err) == (130, "", "langgraph-wyrd: interrupted\n")


WAITING = """
import sys
from langgraph_wyrd import saver
from langgraph_wyrd.cli import main as cli
look = saver.WyrdSaver.verify
def told(*args, **kwargs):
    print("looking", flush=True)
    return look(*args, **kwargs)
saver.WyrdSaver.verify = told
sys.exit(cli.main())
"""


def test_interrupted_while_it_waits(durable: Backend, tmp_path: Path) -> None:
    """For a lock, or for the server: it ends at once, and the line stands alone on a terminal."""
    with durable.open() as saver:
        talk(saver, "t", 1)
    (tmp_path / "looking.py").write_text(WAITING)
    leader, follower = os.openpty()
    with raw(durable.url) as blocker:
        if durable.name == "sqlite":
            blocker.execute("PRAGMA locking_mode = EXCLUSIVE")
            blocker.execute("BEGIN EXCLUSIVE")
            blocker.execute("UPDATE wyrd_threads SET key = key")
        else:
            blocker.execute("BEGIN; LOCK TABLE wyrd_threads IN ACCESS EXCLUSIVE MODE")
        process = subprocess.Popen(
            python(str(tmp_path / "looking.py"), "doctor", durable.url),
            cwd=ROOT, env=environment(), text=True, stdout=subprocess.PIPE, stderr=follower,
            preexec_fn=not_ignored,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "looking\n"
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=50)  # for the lock it would wait a minute
    assert process.returncode == 130
    os.close(follower)
    assert os.read(leader, 1000) == b"\r\nlanggraph-wyrd: interrupted\r\n"
    os.close(leader)


def test_a_repair_that_is_watched(sqlite: Backend) -> None:
    """Its bar says what it does."""
    with sqlite.open() as saver:
        talk(saver, "t", 1)
    leader, follower = os.openpty()
    done = subprocess.run(
        python("-m", "langgraph_wyrd", "doctor", sqlite.url, "--repair", "--yes"),
        cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    assert (done.returncode, b"repair " in os.read(leader, 1000)) == (0, True)
    os.close(leader)


def test_a_program_that_imports_us_keeps_its_signals() -> None:
    """Only the command itself is ended by Ctrl-C while it loads."""
    code = (
        "import signal; import langgraph_wyrd; "
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    words = [sys.executable, "-c", code, "-m", "langgraph_wyrd"]
    done = subprocess.run(
        words, cwd=ROOT, env=environment(), capture_output=True, preexec_fn=not_ignored
    )
    assert done.returncode == 0, done.stderr
