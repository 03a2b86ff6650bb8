"""What the pages show: pictures, and the notebooks' outputs. `python -m tests.pictures`.

Pictures are taken of the real thing by Chromium: what a cell shows, and what the commands print.
The notebooks are run, and committed with what they gave.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Annotated, Any, TypedDict

import nbformat
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver, ui
from tests import inspected
from tests.chromium import Chromium
from tests.test_notebooks import NOTEBOOKS, executed

ROOT = Path(__file__).parent.parent
COLOURS = {"1": "font-weight:600", "2": "color:#7d8590", "31": "color:#f47067",
           "32": "color:#8ddb8c", "33": "color:#f0bd5a", "34": "color:#6cb6ff",
           "35": "color:#dcbdfb"}  # fmt: skip
CODE = re.compile(r"\x1b\[(\d+)m")
COMMANDS = ("threads", "show paris", "loops --kind interrupt --kind error")


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    todos: list[Any]
    city: str
    offers: dict[str, Any]


def plan(state: State) -> State:
    steps = [{"content": "find a flight", "status": "in_progress"}, {"content": "book it"},
             {"content": "mail the ticket to Ada"}]  # fmt: skip
    return {"todos": steps, "city": str(state["messages"][0].content).split()[-1]}


def search(state: State) -> State:
    if state["city"] == "Atlantis":
        raise LookupError("no airport in Atlantis")
    offers = {"AF1235": {"at": "9:40", "euros": 120}, "LH1040": {"at": "13:05", "euros": 96}}
    first, second, third = state["todos"]
    todos = [{**first, "status": "completed"}, {**second, "status": "in_progress"}, third]
    return {"offers": offers, "todos": todos}


def book(state: State) -> State:
    interrupt({"question": "Book the 9:40 for 120 euros?"})
    todos = [{**each, "status": "completed"} for each in state["todos"]]
    return {"messages": [("ai", f"Booked: {state['city']}.")], "todos": todos}


def filled(url: str) -> str:
    """A database with a few threads; the cell of one."""
    builder = StateGraph(State)
    for node in (plan, search, book):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "search")
    builder.add_edge("search", "book")
    with WyrdSaver.from_conn_string(url) as saver:
        graph = builder.compile(checkpointer=saver)
        for city in ("Rome", "Atlantis", "Paris"):
            config: Any = {"configurable": {"thread_id": city.lower()}}
            asked: Any = {"messages": [("human", f"Book me a flight to {city}")]}
            try:
                graph.invoke(asked, config)
            except LookupError:
                continue
            if city == "Rome":
                graph.invoke(Command(resume="yes"), config)
        saver.thread("paris").label("first offers")
        past = [each.config for each in graph.get_state_history(config)]
        graph.invoke(None, past[-3])  # once more from an older point: a fork
        return saver.thread("paris")._repr_html_()


def session(url: str) -> str:
    """What the commands print, as HTML."""
    said = []
    env = {**os.environ, "COLUMNS": "96", "FORCE_COLOR": "1", "PYTHONPATH": str(ROOT),
           "WYRD_URL": url}  # fmt: skip
    for command in COMMANDS:
        run = [sys.executable, "-m", "langgraph_wyrd", *command.split()]
        ended = subprocess.run(run, env=env, capture_output=True, text=True, check=True, cwd=ROOT)
        said.append(f"\x1b[1m$ langgraph-wyrd {command}\x1b[0m\n{ended.stdout}")
    text = escape("\n".join(said))
    text = CODE.sub(lambda m: f'<b style="{COLOURS[m[1]]}">' if m[1] != "0" else "</b>", text)
    return (
        f"<style>body{{margin:0;background:#0d1117}}pre{{margin:0;padding:18px 22px;color:#d7dde4;"
        f"font:14px/1.45 'DejaVu Sans Mono',monospace}}b{{font-weight:400}}</style>"
        f"<pre>{text}</pre>"
    )


def shoot(folder: Path, name: str, html: str, width: int) -> None:
    """A picture that is as high as the page."""
    page, made = folder / f"{name}.html", ROOT / "docs" / f"{name}.png"
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{html}")
    with Chromium(folder / f"{name}-profile") as browser:
        tab = browser.tab(width, 100)
        tab.go(page.as_uri())
        high = tab.wait("document.readyState === 'complete' && document.body.offsetHeight + 16")
        tab.size(width, high)
        tab.shot(made)
    print(f"{made.relative_to(ROOT)}: {width} x {high}, {made.stat().st_size / 1e3:.0f} kB")


def inspect(folder: Path) -> None:
    """The web inspector's threads, and one of them."""
    views = {
        "ui": ("#/threads", "document.querySelectorAll('.thread-row').length === 6", 680, False),
        "ui-thread": (
            "#/thread/refund-4821",
            "document.querySelector('.card.waits') && document.querySelector('.todo')",
            860,
            True,
        ),
    }
    with WyrdSaver.from_conn_string(f"sqlite:///{folder / 'inspected.db'}") as saver:
        inspected.fill(saver)
        app = ui.app(saver, read_only=False)
        with inspected.served(app) as url, Chromium(folder / "inspector") as browser:
            for name, (view, seen, high, dark) in views.items():
                tab = browser.tab(1280, high, dark=dark)
                tab.go(url + view)
                tab.wait(f"{seen} && document.querySelector('#waiting:not([hidden])')")
                tab.js("document.querySelector('.talk')?.scrollTo(0, 1e6)")
                made = ROOT / "docs" / f"{name}.png"
                tab.shot(made)
                print(f"{made.relative_to(ROOT)}: 1280 x {high}")


def rerun(notebook: Path, folder: Path) -> None:
    """Run a notebook again, and keep what it gives; but nothing of when, or on which machine."""
    folder.mkdir()
    run = executed(notebook, folder)
    for cell in run.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = output.text.replace(str(folder), ".")
    nbformat.write(run, notebook)
    print(f"{notebook.relative_to(ROOT)}: {notebook.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'agents.db'}"
        shoot(folder, "notebook", f"<style>body{{margin:8px}}</style>{filled(url)}", 860)
        shoot(folder, "terminal", session(url), 880)
        inspect(folder)
        os.environ["PYTHONPATH"] = str(ROOT)
        for notebook in NOTEBOOKS:
            rerun(notebook, folder / notebook.stem)


if __name__ == "__main__":
    main()
