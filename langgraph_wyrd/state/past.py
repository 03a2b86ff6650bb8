"""A thread's past in short: its checkpoints, and how they hang together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.state.model import config_at
from langgraph_wyrd.state.viewed import viewed


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A checkpoint, its place among the others, and what it changed.

    In a tree nothing is looked at that takes more than a checkpoint's own row: `nodes`, `changed`
    and `summary` are empty there.
    """

    checkpoint_id: str
    parent_id: str | None = None
    ts: str | None = None
    step: int | None = None
    source: str | None = None  # input, loop, update, fork
    run_id: str | None = None
    labels: tuple[str, ...] = ()
    children: tuple[str, ...] = ()  # more than one: a fork starts here
    head: bool = False  # the thread goes on from here
    nodes: tuple[str, ...] = ()  # those that ran for it
    changed: tuple[str, ...] = ()  # channels that hold something else than at its parent
    summary: str = ""  # `+1 todos, 1 loop resolved, +2 messages`
    thread_id: str | None = field(default=None, compare=False)

    @property
    def config(self) -> dict[str, Any]:
        """The config of this checkpoint: `graph.invoke(inputs, entry.config)` goes on from here."""
        return config_at(self.thread_id, self.checkpoint_id)

    @property
    def idle(self) -> bool:
        """Whether it changed nothing that a person would look at, and nothing hangs on it."""
        quiet = self.summary in ("no changes", "new input") and not self.changed
        return quiet and not self.labels and not self.forks and not self.head

    @property
    def forks(self) -> bool:
        """Whether the thread went on in more than one way from here."""
        return len(self.children) > 1

    def __str__(self) -> str:
        return f"{_title(self)}  {self.summary}".rstrip()


@viewed
@dataclass(frozen=True, slots=True)
class Tree:
    """All checkpoints of a thread's root, newest first in `entries`.

    `complete` is False if there were more than asked for: then the oldest were left out, and
    `roots` are the oldest ones that are there.
    """

    thread_id: str
    entries: Mapping[str, HistoryEntry] = field(default_factory=dict)
    roots: tuple[str, ...] = ()  # those whose parent is not there
    head: str | None = None
    complete: bool = True

    def path(self, to: str | None = None) -> tuple[str, ...]:
        """The ids that lead to a checkpoint, oldest first; None: to the head."""
        found: dict[str, None] = {}
        at = self.head if to is None else to
        while at is not None and at in self.entries and at not in found:
            found[at] = None
            at = self.entries[at].parent_id
        return tuple(reversed(found))

    @property
    def newest(self) -> tuple[str, ...]:
        """The ids that lead to the head, oldest first."""
        return self.path()

    def __str__(self) -> str:
        """As `git log --graph` shows commits: newest first, a column for each line."""
        return "\n".join(self._drawn())

    def _drawn(self) -> Iterator[str]:
        lines: list[str | None] = []  # which checkpoint each column leads down to
        for id, entry in self.entries.items():
            here = [at for at, wanted in enumerate(lines) if wanted == id]
            if len(here) > 1:  # lines that meet
                yield _row(["/" if at in here[1:] else "|" for at in range(len(lines))])
                lines = [each for at, each in enumerate(lines) if at not in here[1:]]
            if not here:
                lines.append(id)
            at = here[0] if here else len(lines) - 1
            yield _row(["*" if n == at else "|" for n in range(len(lines))], _title(entry))
            if entry.parent_id in self.entries:
                lines[at] = entry.parent_id
            else:
                del lines[at]
        if not self.complete:
            yield "…"


def _row(marks: list[str], text: str = "") -> str:
    return f"{' '.join(marks)}  {text}".rstrip()


def _title(entry: HistoryEntry) -> str:
    step = "" if entry.step is None else f"step {entry.step}"
    names = (*(["head"] if entry.head else []), *entry.labels)
    marks = f"({', '.join(names)})" if names else ""
    said = (entry.checkpoint_id, step, entry.source, ", ".join(entry.nodes), marks)
    return " ".join(filter(None, said))
