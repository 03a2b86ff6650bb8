"""What a package is needed for says so where it is missing; all else does without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from langgraph_wyrd import WorkingState, WyrdSaver, errors, repair_messages, repair_node, ui
from langgraph_wyrd.cli import main, parser
from tests.handmade import append, head_tokens
with WyrdSaver.from_conn_string("sqlite://") as saver:
    append(saver, "t", "a")
    assert head_tokens(saver, "t") == ["a"]
    saver.thread("t")._repr_html_()
    try:
        exec(sys.argv[2])
    except errors.MissingExtra as error:
        assert isinstance(error, ImportError)
        print(error)
"""
EXTRAS = {
    "postgres": ("psycopg", "WyrdSaver.from_conn_string('postgresql://somewhere/db').setup()"),
    "encryption": (
        "cryptography",
        "WyrdSaver.from_conn_string('sqlite://', keys={'a': b'k' * 32})",
    ),
    "notebook": ("pandas", "WorkingState().to_pandas()"),
    "ui": ("starlette", "ui.app(saver)"),
    "ui, its server": ("uvicorn", "ui.serve(saver)"),
    "mcp": ("mcp", "from langgraph_wyrd.agents.mcp import server; server(saver)"),
    "otel": ("opentelemetry", "from langgraph_wyrd import otel; otel.instrument(saver)"),
    "agents": ("langchain", "import langgraph_wyrd.middleware"),
    "terminal": ("shtab", "parser.script(parser.parser(), 'bash')"),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_package_that_is_missing(extra: str) -> None:
    """Importing and using the rest does without it, and the error says what to install."""
    command = [sys.executable, "-c", SCRIPT, *EXTRAS[extra]]
    root = Path(__file__).parent.parent
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert f"langgraph-wyrd[{extra.partition(',')[0]}]" in ended.stdout
