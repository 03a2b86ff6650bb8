"""What extractors look at: one checkpoint, or one task's writes, and what changed with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from langgraph_wyrd.extraction.policy import DEFAULT, Channels
from langgraph_wyrd.state.model import LEFT, Due, Source, WorkingState, plain_data

AGENT = "lc_agent_name"  # in the metadata: LangChain's name of an agent


@plain_data
class TaskWrite:
    """A pending write, with the path that only the saver sees (`~__pregel_pull, node`)."""

    task: str
    path: str
    channel: str
    value: Any


@plain_data
class Fresh:
    """What is new in a list: `places` are indices into `values`, rising.

    Where the whole list is not at hand (a DeltaChannel), `values` are the new ones only, and
    `complete` is False.
    """

    values: Sequence[Any]
    places: Sequence[int]
    complete: bool = True


@plain_data
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
    ran: Sequence[Due] = ()  # what was due at the parent, where one step led from there
    sealed: bool = False  # whether values are encrypted: then nothing of them may be told by ids
    # What several extractors look for is found once.
    found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def at(self, rule: str, **where: Any) -> Source:
        """The source of a fact found here."""
        if "node" not in where:
            where["node"] = self.node() if self.ran else None
        agent, run = self.whose()
        return Source(
            checkpoint_id=self.checkpoint_id,
            ns=self.ns,
            rule=rule,
            agent=agent,
            run_id=run,
            **where,
        )

    def whose(self) -> tuple[str | None, str | None]:
        """The agent and the run that the metadata name."""
        found: tuple[str | None, str | None] | None = self.found.get("whose")
        if found is None:
            agent, run = self.metadata.get(AGENT), self.metadata.get("run_id")
            found = (
                agent if isinstance(agent, str) and agent else None,
                run if isinstance(run, str) and run else None,
            )
            self.found["whose"] = found
        return found

    def node(self) -> str | None:
        """The node that made this checkpoint, where one alone ran in its step."""
        if not self.putting or self.source != "loop":
            return None
        nodes = {each.node for each in self.ran}
        return None if len(nodes) != 1 or "__start__" in nodes else nodes.pop()


def without_left(previous: WorkingState) -> tuple[WorkingState, dict[str, Any]]:
    """The state before a view, without what happened on branches that were left; and what goes
    into the view's `found`: those loops, as `left`."""
    left = [loop for loop in previous.loops if loop.source.rule == LEFT and loop.elsewhere]
    if not left:
        return previous, {}
    loops = tuple([loop for loop in previous.loops if not loop.left])
    return replace(previous, loops=loops), {"left": left}
