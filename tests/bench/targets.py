"""The figures that must be reached, each next to what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .figures import Figures
from .run import Scale
from .savers import DATABASES, NAMES
from .workloads import short, state

Measured = Callable[[Figures], float | None]


@dataclass(frozen=True)
class Target:
    workload: str
    words: str
    measured: Measured
    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Outcome:
    words: str
    wanted: str
    value: float | None
    met: bool | None  # None: not measured in this run, or it does not apply on this machine


def outcomes(figures: Figures, scale: Scale) -> list[Outcome]:
    """The targets of the workloads that ran."""
    found = []
    for target in targets(figures, scale):
        if target.workload not in figures.samples:
            continue
        value = target.measured(figures)
        wanted = f"{'at least' if target.at_least else 'at most'} {target.limit:.3g}"
        met = None if value is None else target.met(value)
        found.append(Outcome(target.words, wanted, value, met))
    return found


def targets(figures: Figures, scale: Scale) -> list[Target]:
    return [target for database in DATABASES for target in _of(database, figures, scale)]


def _of(database: str, figures: Figures, scale: Scale) -> list[Target]:
    """Ours with the working state on."""
    made: list[Target] = []
    ours, plain = f"wyrd-{database}", f"plain-{database}"
    name = "SQLite" if database == "sqlite" else "Postgres"
    sqlite = database == "sqlite"
    _, end, longest = scale.turns
    late = f"time a turn at {end} turns, ms"
    cheap_fsync = figures.fsync_ms.get("chat", figures.machine["fsync_ms"]) < 0.3

    def add(
        workload: str,
        words: str,
        measured: Measured | str,
        limits: tuple[float, float],  # on SQLite, on Postgres
        *,
        at_least: bool = False,
    ) -> None:
        # A measure's name alone: its ratio to the official saver's.
        if isinstance(measured, str):
            words, measured = (
                f"{words}, of {NAMES[database]}",
                _ratio(workload, measured, ours, database),
            )
        limit = limits[0] if sqlite else limits[1]
        made.append(Target(workload, f"{name}: {words}", measured, limit, at_least))

    for threads, turns, limits in (
        (1, scale.short, (0.85, 0.75)),
        (scale.short_threads, scale.short, (0.4, 0.6)),
        (1, scale.middle, (0.55, 0.55)),
    ):
        measure = short.cpu_of(threads, turns)
        add("short", measure.removesuffix(", ms"), measure, limits)
    measure = short.wall_of(scale.first)
    add("short", measure.removesuffix(", ms"), measure, (0.75, 0.7))
    for chat in state.CHATS:
        for threads in (1, scale.state_threads):
            measure = state.cpu_of(chat, threads)
            words = f"{measure}, added by the working state"
            add("state", words, _more("state", measure, ours, plain), (0.5, 0.5))
    measure = "import on top of langgraph, ms"
    add("start", measure, _only("start", measure, ours), (60, 60))
    measure = "import, open and first turn, ms"
    add("start", measure.removesuffix(", ms"), measure, (2, 2))
    add("chat", f"time a turn at {end} turns", late, (0.3, 0.25))
    of_memory = _ratio("chat", late, ours, "memory") if cheap_fsync else _none
    words = f"time a turn at {end} turns, of InMemorySaver (where an fsync is under 0.3 ms)"
    add("chat", words, of_memory, (0.5, 0.5))
    words = f"slope from {end} to {longest} turns, of InMemorySaver's"
    add("chat", words, _slopes(ours, scale.turns), (0.5, 0.5))
    rest = f"bytes at rest after {end} turns"
    add("chat", rest, rest, (1 / 120, 1 / 30))
    words = f"bytes a turn, {end} to {longest} over {scale.turns[0]} to {end} (linear: 1)"
    add("chat", words, _linear(ours, scale.turns), (1.15, 1.15))
    head = "get_tuple of the head, CPU ms"
    add("history", f"get_tuple of {end * 4:,} messages, CPU", head, (0.35, 0.35))
    add("history", "alist(limit=10) there", "alist(limit=10), ms", (0.05, 0.05))
    words = f"turns a second with {scale.threads} threads"
    add("threads", words, "turns a second", (2.5, 2), at_least=True)
    measure = f"time a turn after {scale.file_turns} turns, ms"
    add("deepagents", "deepagents with files, time a turn", measure, (0.9, 0.9))
    add("forks", "first turn of a fork", "first turn of a fork, ms", (1, 1))
    words = f"peak of memory while {longest} turns are listed, of one page of 50"
    peak = f"listing {longest} turns, peak to that of one page"
    add("memory", words, _only("memory", peak, ours), (3, 3))
    return made


def slope(figures: Figures, saver: str, turns: tuple[int, int, int]) -> float | None:
    """Milliseconds that a turn grows by in 100 turns."""
    _, end, longest = turns
    early = figures.median("chat", f"time a turn at {end} turns, ms", saver)
    late = figures.median("chat", f"time a turn at {longest} turns, ms", saver)
    if early is None or late is None:
        return None
    return (late - early) / (longest - end) * 100


def _slopes(saver: str, turns: tuple[int, int, int]) -> Measured:
    def measured(figures: Figures) -> float | None:
        ours, memory = slope(figures, saver, turns), slope(figures, "memory", turns)
        return ours / memory if ours is not None and memory else None

    return measured


def _linear(saver: str, turns: tuple[int, int, int]) -> Measured:
    def measured(figures: Figures) -> float | None:
        sizes = [figures.median("chat", f"bytes at rest after {n} turns", saver) for n in turns]
        short, end, longest = sizes
        if short is None or end is None or longest is None:
            return None
        early = (end - short) / (turns[1] - turns[0])
        return (longest - end) / (turns[2] - turns[1]) / early if early else None

    return measured


def _ratio(workload: str, measure: str, saver: str, to: str) -> Measured:
    return lambda figures: figures.ratio(workload, measure, saver, to)


def _more(workload: str, measure: str, saver: str, than: str) -> Measured:
    def measured(figures: Figures) -> float | None:
        mine = figures.median(workload, measure, saver)
        other = figures.median(workload, measure, than)
        return mine - other if mine is not None and other is not None else None

    return measured


def _only(workload: str, measure: str, saver: str) -> Measured:
    return lambda figures: figures.median(workload, measure, saver)


def _none(figures: Figures) -> None:
    return None
