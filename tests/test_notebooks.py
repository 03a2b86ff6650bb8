"""The notebooks run, in kernels of their own, and show what they are committed with."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def kinds(cell: Any) -> list[str]:
    """What a cell gives: text, a picture, a table."""
    found = []
    for each in cell.get("outputs", []):
        assert each["output_type"] != "error", each
        html = "text/html" in each.get("data", {})
        found.append("html" if html else each["output_type"])
    return found


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """A kernel that one notebook after the other is run in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def executed(notebook: Path, folder: Path, kernel: KernelManager | None = None) -> Any:
    """Run a notebook from top to bottom, in a folder of its own and with no names of others; in a
    kernel of its own, unless one is given."""
    run = nbformat.read(notebook, as_version=4)
    begin = nbformat.v4.new_code_cell(f"import os\nos.chdir({str(folder)!r})\n%reset -f")
    run.cells.insert(0, begin)
    NotebookClient(run, km=kernel, timeout=200, kernel_name="python3").execute(reset_kc=True)
    del run.cells[0]
    return run


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path, kernel: KernelManager) -> None:
    """From top to bottom without an error; each cell gives what the committed one gave."""
    committed = nbformat.read(notebook, as_version=4)
    run = executed(notebook, tmp_path, kernel)
    for was, now in zip(committed.cells, run.cells, strict=True):
        assert kinds(now) == kinds(was), was["source"]


def test_what_is_committed() -> None:
    """Four, run in order, with outputs, and nothing of the machine they were run on."""
    assert [each.stem for each in NOTEBOOKS] == ["across", "agents", "inspect", "resume"]
    for notebook in NOTEBOOKS:
        held = nbformat.read(notebook, as_version=4)
        code = [cell for cell in held.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        assert any("html" in kinds(cell) for cell in code)
        text = notebook.read_text()
        assert "/tmp/" not in text
        assert "/work/" not in text
        assert str(Path.home()) not in text
        assert "<script" not in text


# Jupyter's client leaves a loop of its own to the collector, which is sent for in the test.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_kernel_that_is_interrupted_and_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A saver that nobody closes: cells, sync and async, go on after an interrupt within a run;
    after the kernel's end, kind or not, the database is whole."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()

    def cell(code: str) -> str:
        said: list[str] = []

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            said.append(content.get("ename") or content.get("text") or "")
            said.append(content.get("data", {}).get("text/plain", ""))
            if content.get("text") == "begun\n":
                said.clear()
                manager.interrupt_kernel()

        client.execute_interactive(code, output_hook=take, timeout=200)
        return "".join(said).strip()

    opened = (
        "from langgraph_wyrd import WyrdSaver\n"
        "from tests.test_show import booked\n"
        "saver = WyrdSaver.from_conn_string('sqlite:///kernel.db')\n"
    )
    try:
        client.wait_for_ready(timeout=200)
        assert cell(opened + "booked(saver, 't1')\nsaver.thread('t1').working_state().status") == (
            "'interrupted'"
        )
        assert cell("(await saver.thread('t1').aworking_state()).status") == "'interrupted'"
        assert (
            cell(
                "booked(saver, 'n')\nprint('begun', flush=True)\n"
                "for n in range(10**6): booked(saver, f'n{n}')"
            )
            == "KeyboardInterrupt"
        )
        assert cell(
            "booked(saver, 't2', done=True)\nsaver.thread('t2').working_state().status"
        ) == ("'idle'")
        for now in (False, True):
            manager.restart_kernel(now=now)
            client.wait_for_ready(timeout=200)
            assert cell(
                opened + "saver.verify().ok, saver.thread('t2').working_state().status"
            ) == ("(True, 'idle')")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        gc.collect()
