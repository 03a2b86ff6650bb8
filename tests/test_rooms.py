"""The tree keeps its rooms: imports go one way, modules can be read in a sitting."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import langgraph_wyrd

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "langgraph_wyrd").rglob("*.py"))


def test_imports_go_one_way() -> None:
    """The contracts in .importlinter hold."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_is_read_in_a_sitting(module: Path) -> None:
    """One subject a file, of at most 700 lines."""
    assert len(module.read_text().splitlines()) <= 700


def test_what_is_imported_later_is_there() -> None:
    """Every public name is found, and every module that is named for later is the one that the type
    checker reads in its place."""
    for name in langgraph_wyrd.__all__:
        assert getattr(langgraph_wyrd, name) is not None
        assert name in dir(langgraph_wyrd)
    seen = 0
    for module in MODULES:
        text = module.read_text()
        for names, given in re.findall(r"^    ([\w, ]+) = lazy\(([^)]*)\)", text, re.M):
            for name, home in zip(names.split(", "), re.findall(r'"([^"]+)"', given), strict=True):
                found = import_module(f"langgraph_wyrd.{home}")
                room, _, last = found.__name__.rpartition(".")
                read = rf"from {room} import .*\b{last}\b(?: as {name}\b)?"
                assert re.search(read, text), f"{module.name}: {name} is not {home}"
                seen += 1
    assert seen > 10


# What a run that only stores and loads checkpoints never loads: rooms, and modules in rooms.
ON_DEMAND = (
    "agents checkpoints.compare checkpoints.copy checkpoints.declare"
    " checkpoints.erase checkpoints.feed checkpoints.history checkpoints.labels"
    " checkpoints.listing checkpoints.reextract"
    " checkpoints.retention checkpoints.rewind cli conversation middleware otel port"
    " recovery.damaged_rows recovery.flipped_bits recovery.load recovery.mend recovery.verify"
    " runs state.brief state.diff state.results"
    " storage.encryption storage.postgres thread transfer ui views"
)


def test_a_plain_run_loads_no_more_than_it_needs() -> None:
    """Storing and loading checkpoints loads no encryption, transfer, views or terminal code."""
    script = (
        "import sys\n"
        "from langgraph_wyrd import WyrdSaver\n"
        "from tests.bench.graphs import Script, chat\n"
        "at = {'configurable': {'thread_id': 't'}}\n"
        "with WyrdSaver.from_conn_string('sqlite://') as saver:\n"
        "    graph = chat(saver, Script(2))\n"
        "    for n in (0, 4): graph.invoke({'messages': [Script(2).human(n)]}, at)\n"
        "    assert saver.get_tuple(at).metadata['step'] > 4\n"
        "    list(saver.list(None))\n"
        "print(*(m.partition('.')[2] for m in sys.modules if m.startswith('langgraph_wyrd.')))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    loaded = ended.stdout.split()
    assert "checkpoints.put" in loaded, ended.stderr
    assert not [
        m for m in loaded for room in ON_DEMAND.split() if m == room or m.startswith(f"{room}.")
    ]
