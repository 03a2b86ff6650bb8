"""The command line: every command on both databases, for people and for programs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import main as cli
from langgraph_wyrd.cli import parser
from langgraph_wyrd.views.text import fitted, width
from tests.conftest import Backend
from tests.outside import not_ignored, python
from tests.test_show import UNSEEN, booked

ROOT = Path(__file__).parent.parent
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
Ran = tuple[int, str, str]


@pytest.fixture
def run(
    durable: Backend, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """A command on a database with two threads."""
    with durable.open() as saver:
        booked(saver, "t1")
        booked(saver, "t2", done=True)
    monkeypatch.setenv("WYRD_URL", durable.url)
    return command


def opened(url: str) -> WyrdSaver:
    return WyrdSaver.from_conn_string(url)


# ---- for people


def test_threads_and_what_is_open(run: Callable[..., Ran]) -> None:
    """Tables of threads, loops and todos; filters are those of the saver."""
    code, out, _ = run("threads")
    assert code == 0
    assert [each.split()[0] for each in out.splitlines()] == ["thread", "t2", "t1"]
    assert "interrupted" in out
    assert run("threads", "--status", "interrupted")[1].count("\n") == 2
    code, out, _ = run("loops", "--kind", "interrupt")
    assert "Book the <b>9:40</b>?" in out
    assert "t2" not in out
    assert "t2" in run("loops", "--status", "any")[1]
    assert run("todos", "--thread", "t1")[1].splitlines()[1].startswith("t1      ☐ pending")
    assert "☑ completed" in run("todos", "--status", "any")[1]
    assert run("loops", "-n", "1")[1].endswith("… and more\n")


def test_a_thread(run: Callable[..., Ran]) -> None:
    """Without an id, `show` and `brief` show the newest thread."""
    _, out, _ = run("show", "t1")
    for said in ("t1  interrupted", "Open loops (2)", "Todos (1 of 2 done)", "☑  find"):
        assert said in out
    assert run("show")[1].startswith("t2  ")
    assert run("brief", "t1")[1].startswith("Where things stand in thread t1")
    assert len(run("brief", "t1", "--max-chars", "80")[1]) <= 81


def test_what_changed(run: Callable[..., Ran]) -> None:
    """Between two points, or up to the head; no difference is exit code 1."""
    with opened(os.environ["WYRD_URL"]) as saver:
        points = [each.config["configurable"]["checkpoint_id"] for each in saver.list(
            {"configurable": {"thread_id": "t1"}})]  # fmt: skip
    code, out, _ = run("diff", "t1", points[-1])
    assert code == 0
    assert "+ todo book: pending" in out
    assert run("diff", "t1", points[0], points[0])[:2] == (1, "no changes\n")


def test_changing(run: Callable[..., Ran]) -> None:
    """Copy, re-extract and prune do what the saver's verbs do; pruning asks first."""
    assert run("copy", "t1", "t3")[:2] == (0, "copied t1 to t3\n")
    code, out, _ = run("re-extract")
    assert (code, out.startswith("read ")) == (0, True)
    assert run("prune", "t1")[0] == 2
    assert run("prune", "t1", "--yes")[:2] == (0, "pruned 1 thread\n")
    assert run("prune", "t3", "--delete", "-y")[0] == 0
    with opened(os.environ["WYRD_URL"]) as saver:
        assert {each.thread_id for each in saver.threads()} == {"t1", "t2"}
        assert len(list(saver.list({"configurable": {"thread_id": "t1"}}))) == 1


def test_the_statements(run: Callable[..., Ran]) -> None:
    """`ddl` needs no database, and prints what makes one."""
    assert run("ddl", "sqlite")[1].strip() == WyrdSaver.ddl("sqlite").strip()
    assert '"agents"' in run("ddl", "--schema", "agents")[1]


# ---- for programs


@pytest.mark.parametrize(
    "arguments",
    [["threads"], ["show", "t1"], ["brief", "t1"], ["loops"], ["todos"], ["ddl", "sqlite"],
     ["diff", "t1", "2999-01-01"], ["copy", "t1", "t9"], ["re-extract", "t1"],
     ["prune", "t1", "-y"], ["labels", "t1"], ["log", "t1"],
     ["size"], ["doctor"], ["sweep", "--keep-last", "9", "--dry-run"], ["completion", "bash"]],
    ids=lambda each: each[0],
)  # fmt: skip
def test_json_everywhere(run: Callable[..., Ran], arguments: Sequence[str]) -> None:
    """With `--json`, before or after the command, the output is data."""
    code, out, _ = run("--json", *arguments)
    assert code in (0, 1)
    assert json.loads(out) is not None
    if arguments[0] not in ("copy", "prune", "re-extract"):
        dead = re.compile(r'"dead": \d+')  # Postgres counts dead rows when it gets to it
        assert dead.sub("", run(*arguments, "--json")[1]) == dead.sub("", out)


def test_exit_codes(run: Callable[..., Ran], capsys: pytest.CaptureFixture[str]) -> None:
    """0 fine, 1 nothing found, 2 an error; each error is one line that says what to do."""
    assert run("loops", "--text", "no such text")[0] == 1
    code, out, err = run("loops", "--json", "--text", "no such text")
    assert (code, json.loads(out)) == (1, [])
    for arguments, wanted, says in [
        (["show", "nobody"], 1, "nobody"),
        (["loops", "-n", "0"], 2, "--limit"),
        (["copy", "t1", "t2"], 2, "t2"),
        (["copy", "nobody", "t7"], 1, "nobody"),
        (["fork", "nobody", "t7"], 1, "nobody"),
        (["label", "nobody", "x"], 1, "nobody"),
        (["prune", "t1", "nobody", "-y"], 1, "nobody"),
        (["labels", "nobody"], 1, "nobody"),
        (["labels", "t1"], 1, "nothing found"),
        (["export", "t1", "/no/such/folder/t1.json"], 2, "/no/such/folder"),
        (["import", "/no/such/file.json"], 2, "/no/such/file.json"),
        (["demo", "/no/such/folder/demo.db"], 2, "no such folder"),
        (["completion", "tcsh"], 2, "bash, zsh, fish"),
        (["show", "\x1b[2J\u202e"], 1, "\\x1b[2J"),
    ]:
        code, out, err = run(*arguments)
        assert (code, out) == (wanted, "")
        assert says in err
        assert err.count("\n") == 1
        assert not UNSEEN.search(err)
    wrong_values = (["loops", "--kind", "shrug"], ["ddl", "oracle"], ["inbox", "--kind", "x"])
    for wrong in ([], ["nonsense"], ["show", "--nonsense"], *wrong_values):
        with pytest.raises(SystemExit) as ended:
            cli.main(wrong)
        assert ended.value.code == 2


def test_no_database_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped name makes no file; a database without our tables stays as it is."""
    monkeypatch.delenv("WYRD_URL", raising=False)
    assert cli.main(["threads"]) == 2
    assert "WYRD_URL" in capsys.readouterr().err
    assert cli.main(["threads", "-u", str(tmp_path / "typo.db")]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert cli.main(["threads", "-u", "sqlite://"]) == 2
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE mine (x)")
    assert cli.main(["threads", "-u", f"sqlite:///{other}"]) == 2
    assert capsys.readouterr().err.count("\n") == 2
    with contextlib.closing(sqlite3.connect(other)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    assert [each.name for each in tmp_path.iterdir() if "db" in each.name] == ["other.db"]


def test_an_encrypted_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read with LangGraph's own key; without it, an error says so."""
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    file = str(tmp_path / "sealed.db")
    with WyrdSaver.from_conn_string(file, serde=serde) as saver:
        booked(saver, "t1")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "0123456789abcdef")
    assert cli.main(["show", "t1", "-u", file]) == 0
    assert "Book a flight" in capsys.readouterr().out
    monkeypatch.delenv("LANGGRAPH_AES_KEY")
    assert cli.main(["show", "t1", "-u", file]) == 2
    out, err = capsys.readouterr()
    assert "with the serde" in err or "with that serde" in err
    assert "Book a flight" not in out


def test_who_reads_may_leave(durable: Backend) -> None:
    """`… | head` is no error."""
    with durable.open() as saver:
        booked(saver, "t1")
    printing = shlex.join(python("-m", "langgraph_wyrd", "ddl", "sqlite"))
    command = f"{printing} | head -1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == "0"
    assert ended.stderr == ""


def test_data_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a message says does nothing to a terminal with `--json`, and reads back as it was."""
    file = str(tmp_path / "odd.db")
    odd = "\x9b31m \u202e \U000e0041 é 日"
    with WyrdSaver.from_conn_string(file) as saver:
        booked(saver, odd)
    assert cli.main(["threads", "--json", "--url", file]) == 0
    out = capsys.readouterr().out
    assert not UNSEEN.search(out)
    assert "日" in out
    assert json.loads(out)[0]["thread_id"] == odd


# ---- in a real terminal


@contextlib.contextmanager
def terminal(
    columns: int, *arguments: str, **env: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose terminal has so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    plain = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    command = python("-m", "langgraph_wyrd", *arguments)
    started = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT,
        env={**plain, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **env},
        start_new_session=True, preexec_fn=not_ignored,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield started, ours
    finally:
        if started.poll() is None:
            started.kill()
        started.wait(120)
        os.close(ours)


def read(end: int, until: str | None = None) -> str:
    """What comes, until a text does or the command ends."""
    got, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if until is not None and until in got.decode(errors="replace"):
            break
        if not select.select([end], [], [], 0.2)[0]:
            continue
        try:
            more = os.read(end, 65536)
        except OSError:  # its end is closed
            break
        if not more:
            break
        got += more
    return got.decode()


def seen(columns: int, *arguments: str, **env: str) -> str:
    with terminal(columns, *arguments, **env) as (_, end):
        return read(end)


@pytest.fixture
def busy(tmp_path: Path) -> str:
    """A database with long names and texts."""
    file = str(tmp_path / "busy.db")
    with WyrdSaver.from_conn_string(file) as saver:
        booked(saver, "0b7d6f1e-5b9c-4f7e-9d56-7cf2a7a2c111")
        booked(saver, "customer/日本語/" + "x" * 80)
        booked(saver, "t1", done=True)
    return file


@pytest.mark.parametrize("columns", [80, 140])
def test_it_fits_the_terminal(busy: str, columns: int) -> None:
    """No line is wider than the terminal, which has colours; ids of ordinary length are whole."""
    commands = [["threads"], ["loops", "--status", "any"], ["todos", "--status", "any"]]
    commands += [["show", "0b7d6f1e-5b9c-4f7e-9d56-7cf2a7a2c111"]]
    for command in commands:
        out = seen(columns, *command, "--url", busy)
        lines = ANSI.sub("", out).splitlines()
        assert len(lines) > 2
        assert "\x1b[" in out
        assert max(map(width, lines)) <= columns
        assert any("0b7d6f1e-5b9c-4f7e-9d56-7cf2a7a2c111" in each for each in lines)


def test_no_color(busy: str) -> None:
    """`NO_COLOR`, `--no-color` and `TERM=dumb` are respected."""
    assert "\x1b" not in seen(80, "threads", "--url", busy, NO_COLOR="1")
    assert "\x1b" not in seen(80, "threads", "--url", busy, "--no-color")
    assert "\x1b" not in seen(80, "threads", "--url", busy, TERM="dumb")


def test_long_work_shows_how_far_it_is(busy: str) -> None:
    """A bar on a terminal; none in a pipe."""
    out = seen(80, "re-extract", "--url", busy)
    assert "█" in out
    assert re.search(r"(\d+) of \1", out)
    command = python("-m", "langgraph_wyrd", "re-extract", "--url", busy)
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stderr == ""


@pytest.mark.parametrize("answer", [b"n\n", b"\x04"], ids=["no", "ctrl-d"])
def test_pruning_asks(busy: str, answer: bytes) -> None:
    """On a terminal one may say no, or nothing."""
    with terminal(80, "prune", "t1", "--delete", "--url", busy) as (started, end):
        assert "[y/N]" in read(end, "[y/N]")
        os.write(end, answer)
        assert started.wait(120) == 1
        assert "Traceback" not in read(end)
    with opened(busy) as saver:
        assert len(saver.threads()) == 3


def test_ids_are_shortened_as_git_does(run: Callable[..., Ran]) -> None:
    """`log` shows starts of ids that are enough; one that is not enough names what it could be."""
    whole = [each["checkpoint_id"] for each in json.loads(run("log", "t1", "--all", "--json")[1])]
    shown = [each.split()[1] for each in run("log", "t1", "--all")[1].splitlines()]
    assert len(whole) == len(shown) > 2
    for short, id in zip(shown, whole, strict=True):
        assert [each for each in whole if each.startswith(short)] == [id]
        assert len(short) < len(id)
        assert run("show", "t1", "--at", short)[:2] == run("show", "t1", "--at", id)[:2]
    starts = (whole[0][:n] for n in range(12, 3, -1))
    common = next(each for each in starts if all(id.startswith(each) for id in whole))
    code, _, err = run("show", "t1", "--at", common)
    assert code == 2
    assert f"is ambiguous: {len(whole)} checkpoints begin so: {whole[0]}" in err
    assert run("label", "t1", "beef", "--at", shown[-1])[0] == 0
    assert whole[-1] in run("show", "t1", "--at", "beef")[1]
    assert run("show", "t")[0] == 2
    assert "'t' is ambiguous: 2 threads begin so: t2; t1" in run("show", "t")[2]


def test_log_leaves_out_what_changed_nothing(run: Callable[..., Ran]) -> None:
    """An input that was only stored is not in the log, unless `--all` asks for it."""
    assert "new input" not in run("log", "t1")[1]
    assert "new input" in run("log", "t1", "--all")[1]


def test_labels_and_rewinding(run: Callable[..., Ran]) -> None:
    """Name a point, go back to it, see both in the log."""
    with opened(os.environ["WYRD_URL"]) as saver:
        points = [each.config["configurable"]["checkpoint_id"] for each in saver.list(
            {"configurable": {"thread_id": "t1"}})]  # fmt: skip
    assert run("label", "t1", "before", "--at", points[-1])[0] == 0
    code, out, _ = run("labels", "t1")
    assert (code, points[-1] in out, "before" in out) == (0, True, True)
    assert run("rewind", "t1", "before")[0] == 0
    assert "[before]" in run("log", "t1")[1]
    assert run("fork", "t1", "t7", "--at", "before")[0] == 0
    assert "t7" in run("threads")[1]
    assert run("rewind", "t1", "nowhere")[0] == 1


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` lists them, with the exit codes; each has help of its own."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for command in parser.COMMANDS:
        assert f"\n  {command.name} " in out
    assert "exit codes" in out


def test_the_installed_command() -> None:
    """The package names the command `langgraph-wyrd`."""
    assert (
        'langgraph-wyrd = "langgraph_wyrd.cli.main:main"' in (ROOT / "pyproject.toml").read_text()
    )


def test_into_a_file_and_back(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A thread that was exported is imported under another id, or into a new database."""
    file = str(tmp_path / "t1.json")
    assert run("export", "t1", file, "--payloads")[0] == 0
    assert run("import", file, "--as", "t8")[:2] == (0, "t8 is here\n")
    assert run("show", "t8")[1].startswith("t8  interrupted")
    fresh = str(tmp_path / "fresh.db")
    assert run("import", file, "--url", fresh)[0] == 0
    assert run("threads", "--url", fresh)[1].splitlines()[1].startswith("t1 ")


def test_sweeping(run: Callable[..., Ran]) -> None:
    """A dry run deletes nothing; without one it asks. `size` says where the bytes are."""
    before = json.loads(run("size", "--json")[1])
    code, out, _ = run("sweep", "--keep-last", "1", "--dry-run")
    assert (code, "would go" in out) == (0, True)
    assert json.loads(run("size", "--json")[1])["threads"] == before["threads"]
    assert run("sweep", "--keep-last", "1")[0] == 2
    assert "are gone" in run("sweep", "--keep-last", "1", "--yes")[1]
    assert "checkpoints" in run("size")[1]
    assert run("sweep")[0] == 2


def test_verifying(busy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A sound database is 0, a damaged one 1, with a line for each finding; a repair asks first."""
    assert cli.main(["doctor", "--url", busy]) == 0
    assert "3 threads verified: no damage" in capsys.readouterr().out
    with contextlib.closing(sqlite3.connect(busy)) as database:
        database.execute("UPDATE wyrd_checkpoints SET metadata = '{}'")
        database.commit()
    assert cli.main(["doctor", busy]) == 1
    assert "wyrd_checkpoints" in capsys.readouterr().out
    assert cli.main(["doctor", "--json", "--url", busy]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert cli.main(["doctor", "--repair", "--url", busy]) == 2


def test_the_demo_as_data(capfd: pytest.CaptureFixture[str]) -> None:
    """`demo --json` prints nothing but data, its first process neither."""
    assert cli.main(["demo", "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert {each["kind"] for each in data["state"]["loops"]} == {"tool_call", "request"}
    assert "verify before redoing" in data["brief"]
    assert data["changes"]["fields"]["status"] == ["due", "done"]


def test_the_demo_wants_a_file_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a file that is there is taken for its own, nor what an earlier demo left behind."""
    for name in ("demo.db", "demo.db.outbox"):
        (tmp_path / name).write_text("mine")
        assert cli.main(["demo", str(tmp_path / "demo.db")]) == 2
        assert f"{name} exists already" in capsys.readouterr().err
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()


# ---- completion


def completed(script: str, *typed: str) -> list[str]:
    """What bash offers for a line that was typed so far."""
    words = " ".join(map(shlex.quote, ("langgraph-wyrd", *typed)))
    line = f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _shtab_langgraph_wyrd"
    shown = 'printf "%s\\n" "${COMPREPLY[@]}"'
    ended = subprocess.run(
        ["bash", "-c", f"{script}\n{line}\n{shown}"], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["th"], ["threads"]),
        (["--url", "x.db", "loops", "--kind", "q"], ["question"]),
        (["todos", "--status", "c"], ["completed", "cancelled"]),
        (["sweep", "--m"], ["--max-age"]),
        (["ddl", "s"], ["sqlite"]),
        (["show", "x"], []),
    ],
)
def test_bash_completes(
    typed: list[str], offered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, their options, and the values that are known."""
    assert cli.main(["completion", "bash"]) == 0
    assert completed(capsys.readouterr().out, *typed) == offered


def test_other_shells(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each shell has its own, with all commands. Without a name it is that of $SHELL. Where a
    shell is installed, it can read its own."""
    for shell in ("bash", "zsh", "fish"):
        monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
        assert cli.main(["completion"]) == 0
        said = capsys.readouterr().out
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=said, text=True, check=True)
        for command in parser.COMMANDS:
            assert command.name in said


def test_the_version_is_said_at_once() -> None:
    """`--version` imports neither LangGraph nor the saver."""
    script = "import sys; from langgraph_wyrd.cli.main import main; main(['--version'])\n"
    script += "print(*sorted(m for m in sys.modules if m.startswith('lang')))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    version, modules = ended.stdout.splitlines()
    assert re.fullmatch(r"langgraph-wyrd \d+\.\d+\.\d+", version)
    assert "langgraph_wyrd.saver" not in modules.split()
    assert not {"langgraph", "langchain_core"} & set(modules.split())


def test_emoji_are_as_wide_as_they_are_drawn() -> None:
    """One that is put together of several takes two columns, and is cut as a whole or not."""
    family, hand, heart = (
        "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\u2764\ufe0f"
    )  # fmt: skip
    assert [width(each) for each in (family, hand, heart, "\U0001f1eb\U0001f1f7")] == [2, 2, 2, 2]
    assert width("\u0645\u200d\u0645") == 2, "a joiner between letters joins letters"
    assert fitted(f"{family}{family}", 3) == f"{family}…"
    assert fitted(f"ab{family}", 3) == "ab…"
