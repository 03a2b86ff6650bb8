"""The tree keeps its rooms: imports go one way, modules can be read in a sitting."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "langgraph_wyrd").rglob("*.py"))


def test_imports_go_one_way() -> None:
    """The contracts in .importlinter hold."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_is_read_in_a_sitting(module: Path) -> None:
    """None is much above 400 lines."""
    assert len(module.read_text().splitlines()) <= 450


def test_postgres_is_imported_only_when_used() -> None:
    """Without the extra, importing and using SQLite does not touch psycopg."""
    script = (
        "import sys\n"
        "from langgraph_wyrd import WyrdSaver\n"
        "with WyrdSaver.from_conn_string('sqlite://') as saver: saver.setup()\n"
        "assert not [m for m in sys.modules if m.startswith('psycopg')]\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_the_demo_goes_on_after_the_kill(tmp_path: Path) -> None:
    """The demo is killed in a tool call, is told so, resumes, and does nothing twice."""
    command = [sys.executable, "-m", "langgraph_wyrd", "demo", str(tmp_path / "demo.db")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.count("add_up_hours('March'): ") == 1
    assert "tool call without a recorded result, verify before redoing: mail_in" in ended.stdout
    assert "it is in the outbox, not mailed again" in ended.stdout
    assert "~ todo mail the invoice to Ada: in_progress -> completed" in ended.stdout
    assert "~ status due -> done" in ended.stdout
    (shown,) = re.findall(r"```\n(Another process.*?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert steady(shown) in steady(ended.stdout), "the README says so"


def steady(text: str) -> str:
    """Without ids and times, which are others each time."""
    return re.sub(r"[a-z]-[0-9a-f]{12}|\d{4}-\d\d-\d\d \d\d:\d\d", "…", text)
