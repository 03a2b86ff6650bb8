"""What extractors look at: one checkpoint, or one task's writes, and what changed with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.extraction.policy import DEFAULT, Channels
from langgraph_wyrd.state.model import Source, WorkingState
from langgraph_wyrd.state.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class TaskWrite:
    """A pending write, with the path that only the saver sees (`~__pregel_pull, node`)."""

    task: str
    path: str
    channel: str
    value: Any


@quick
@dataclass(frozen=True, slots=True)
class Fresh:
    """What is new in a list: `places` are indices into `values`, rising.

    Where the whole list is not at hand (a DeltaChannel), `values` are the new ones only, and
    `complete` is False.
    """

    values: Sequence[Any]
    places: Sequence[int]
    complete: bool = True


@quick
@dataclass(frozen=True, slots=True)
class View:
    """A checkpoint that is being stored (`writes` are its parent's), or the writes of a task.

    `changed` names the channels that this put gives another value, `fresh` says what is new in
    those that are lists. For a task's writes both are empty, and `writes` are its own.
    """

    checkpoint_id: str
    ns: str = ""
    parent_id: str | None = None
    ts: str | None = None
    source: str | None = None  # metadata: input, loop, update, fork
    step: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()  # channels that held a value before and hold none now
    fresh: Mapping[str, Fresh] = field(default_factory=dict)
    writes: Sequence[TaskWrite] = ()
    putting: bool = True  # False: only `writes` are new
    previous: WorkingState = field(default_factory=WorkingState)
    channels: Channels = DEFAULT
    sealed: bool = False  # whether values are encrypted: then nothing of them may be told by ids
    # What several extractors look for is found once.
    found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def at(self, rule: str, **where: Any) -> Source:
        """The source of a fact found here."""
        return Source(checkpoint_id=self.checkpoint_id, ns=self.ns, rule=rule, **where)

    def after(self, previous: WorkingState, channels: Channels) -> View:
        """The same, with the state before it. Written out, as it is made at every put."""
        return View(
            self.checkpoint_id, self.ns, self.parent_id, self.ts, self.source, self.step,
            self.metadata, self.values, self.versions, self.seen, self.changed, self.gone,
            self.fresh, self.writes, self.putting, previous, channels, self.sealed,
        )  # fmt: skip
