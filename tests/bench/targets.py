"""The figures that must be reached, each beside what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .figures import Figures
from .savers import DATABASES, NAMES

Measured = Callable[[Figures], float | None]


@dataclass(frozen=True)
class Target:
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


def outcomes(figures: Figures, turns: tuple[int, int, int]) -> list[Outcome]:
    found = []
    for target in targets(figures, turns):
        value = target.measured(figures)
        wanted = f"{'at least' if target.at_least else 'at most'} {target.limit:.3g}"
        met = None if value is None else target.met(value)
        found.append(Outcome(target.words, wanted, value, met))
    return found


def targets(figures: Figures, turns: tuple[int, int, int]) -> list[Target]:
    _, end, _ = turns
    cheap_fsync = figures.fsync_ms.get("chat", figures.machine["fsync_ms"]) < 0.3
    made = []
    for database in DATABASES:
        # What the checkpoints cost is asked of a saver without pillars; what these add, below.
        ours, name = f"plain-{database}", "SQLite" if database == "sqlite" else "Postgres"
        woven = f"wyrd-{database}"
        theirs = NAMES[database]
        late = f"time a turn at {end} turns, ms"
        rest = f"bytes at rest after {end} turns"
        sqlite = database == "sqlite"

        def against(workload: str, measure: str, saver: str = ours, to: str = database) -> Measured:
            return lambda found: found.ratio(workload, measure, saver, to)

        made += [
            Target(f"{name}: time a turn at {end} turns, of {theirs}", against("chat", late), 0.3),
            Target(
                f"{name}: time a turn at {end} turns, of InMemorySaver (where an fsync costs "
                "under 0.3 ms)",
                against("chat", late, to="memory") if cheap_fsync else _none,
                1.0,
            ),
            Target(
                f"{name}: slope from {end} to {turns[2]} turns, of InMemorySaver's",
                _slopes(ours, turns),
                0.5,
            ),
            Target(
                f"{name}: bytes at rest after {end} turns, of {theirs}",
                against("chat", rest),
                1 / 120 if sqlite else 1 / 30,
            ),
            Target(
                f"{name}: bytes a turn, {end} to {turns[2]} turns over {turns[0]} to {end} "
                "(linear: 1)",
                _linear(ours, turns),
                1.15,
            ),
            Target(
                f"{name}: get_tuple of {end * 4:,} messages, of {theirs}",
                against("history", "get_tuple of the head, ms"),
                0.6,
            ),
            Target(
                f"{name}: alist(limit=10) there, of {theirs}",
                against("history", "alist(limit=10), ms"),
                0.1 if sqlite else 0.3,
            ),
            Target(
                f"{name}: turns a second with many threads, of {theirs}",
                against("threads", "turns a second"),
                2.0 if sqlite else 1.5,
                at_least=True,
            ),
            Target(
                f"{name}: peak of memory while {turns[2]} turns are listed, of one page of 50",
                _only(ours, "memory", f"listing {turns[2]} turns, peak to that of one page"),
                3.0,
            ),
            Target(
                f"{name}: time a turn at {end} turns with pillars, of the same without",
                against("chat", late, woven, ours),
                1.15,
            ),
            Target(
                f"{name}: bytes at rest after {end} turns with pillars, of {theirs}",
                against("chat", rest, woven),
                1 / 100 if sqlite else 1 / 24,
            ),
        ]
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


def _only(saver: str, workload: str, measure: str) -> Measured:
    return lambda figures: figures.median(workload, measure, saver)


def _none(figures: Figures) -> None:
    return None
