"""The figures as Markdown: what the README shows."""

from __future__ import annotations

from .figures import Figures
from .machine import words
from .places import database_of
from .savers import NAMES, OURS
from .targets import Outcome, slope

TITLES = {
    "short": "Short chats",
    "state": "Working state on and off",
    "start": "A new process",
    "put": "One cached put",
    "chat": "Long chat",
    "memory": "Memory while listing",
    "files": "Agent with files, a plain dict",
    "deepagents": "deepagents with files, delta channels",
    "threads": "Many threads at once",
    "history": "History and time travel",
    "forks": "Forks",
    "resume": "Cold resume in a new process",
}

NOTE = (
    "Medians of one run, the savers taking turns in it. `ratio` is ours to the official saver's on "
    "the same database. Nothing of InMemorySaver rests on a disk: its bytes are those it holds."
)


def markdown(figures: Figures, found: list[Outcome], turns: tuple[int, int, int]) -> str:
    savers = figures.settings["savers"]
    parts = ["## Benchmark", words(figures.machine)]
    if figures.fsync_ms:
        low, high = min(figures.fsync_ms.values()), max(figures.fsync_ms.values())
        parts[-1] += f"\nBefore each workload an fsync cost {low:.3f} to {high:.3f} ms."
    parts += [_table(figures, savers, turns), NOTE]
    if any(key in OURS for key in savers):
        parts += ["### Targets", _targets(found)]
    return "\n\n".join(parts) + "\n"


def _table(figures: Figures, savers: list[str], turns: tuple[int, int, int]) -> str:
    """Medians, and after each of ours its ratio to the official saver on the same database."""
    heads = [""]
    for key in NAMES:
        if key in savers:
            heads.append(NAMES[key].strip())
            if _beside(key, savers):
                heads.append("ratio")
    rows = []
    for workload, measures in figures.samples.items():
        rows.append([f"**{TITLES[workload]}**", *[""] * (len(heads) - 1)])
        for measure in measures:
            values = {key: figures.median(workload, measure, key) for key in savers}
            rows.append([measure, *_cells(values, savers, measure)])
        if workload == "chat":
            slopes = {key: slope(figures, key, turns) for key in savers}
            title = f"growth from {turns[1]} to {turns[2]} turns, ms per 100 turns"
            rows.append([title, *_cells(slopes, savers, title)])
    return _grid(heads, rows)


def _cells(values: dict[str, float | None], savers: list[str], measure: str) -> list[str]:
    cells = []
    for key in NAMES:
        if key not in savers:
            continue
        cells.append(_number(values[key], measure))
        if (database := _beside(key, savers)) is not None:
            ours, theirs = values[key], values[database]
            cells.append(_ratio(ours / theirs) if ours is not None and theirs else "")
    return cells


def _beside(key: str, savers: list[str]) -> str | None:
    """The official saver that one of ours is compared with."""
    database = database_of(key)
    return database if key in OURS and database in savers else None


def _targets(found: list[Outcome]) -> str:
    rows = [
        [
            outcome.words,
            outcome.wanted,
            "" if outcome.value is None else _ratio(outcome.value),
            {True: "met", False: "**not met**", None: "not measured"}[outcome.met],
        ]
        for outcome in found
    ]
    return _grid(["ratio", "wanted", "measured", ""], rows)


def _number(value: float | None, measure: str) -> str:
    if value is None:
        return ""
    if "bytes" in measure:
        return f"{value / 1e6:,.2f} MB" if value >= 1e5 else f"{value / 1e3:,.1f} kB"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _ratio(value: float) -> str:
    """Tiny ratios are read more easily as a part: 1/170."""
    if 0 < value < 0.05:
        return f"1/{1 / value:.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _grid(heads: list[str], rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, rule, *rows])
