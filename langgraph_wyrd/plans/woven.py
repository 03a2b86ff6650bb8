"""What is known of a thread's pillars: enough to fold the next checkpoint without reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph_wyrd.extraction.due import CONTROL, SENDS, remaining
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.join import join
from langgraph_wyrd.state.model import Due, WorkingState
from langgraph_wyrd.state.overlay import overlaid
from langgraph_wyrd.state.status import with_status

UNREAD: Any = object()  # the value of a write that was found in the database, and not looked at
MOST_EARLY = 32  # checkpoints that are awaited
BASE_EVERY = 64  # checkpoints between two bases: a fold reads no more of the ledger than that


class Notes(list[TaskWrite]):
    """What tasks of a checkpoint wrote; it only grows, so each is looked at once."""

    __slots__ = ("_control", "_looked_at")

    def __init__(self, notes: Iterable[TaskWrite] = ()) -> None:
        super().__init__(notes)
        self._control, self._looked_at = False, 0

    @property
    def has_control(self) -> bool:
        """Whether any of them says what happened to its task."""
        while self._looked_at < len(self) and not self._control:
            self._control = self[self._looked_at].channel in CONTROL
            self._looked_at += 1
        return self._control


def is_unread(notes: Sequence[TaskWrite]) -> bool:
    return any(note.value is UNREAD for note in notes)


@dataclass(frozen=True, slots=True)
class Woven:
    """A namespace at its newest checkpoint.

    `state` is what puts made of it, `overlay` what the checkpoint's own tasks said since. `notes`
    are these tasks' writes: of channels kept as deltas with their values, of others that there was
    one. They are added as they come, by whoever writes: all copies of a Woven share the list.
    """

    checkpoint: str
    state: WorkingState
    due: tuple[Due, ...] = ()
    root: str | None = None  # a subgraph's: the root checkpoint that its run belongs to
    depth: int = 0  # checkpoints since the last base
    overlay: tuple[tuple[Moment, tuple[Event, ...]], ...] = ()
    notes: Notes = field(default_factory=Notes, compare=False)

    @property
    def sends(self) -> Mapping[str, Sequence[Due]]:
        """The Sends that are due, where extractors look for them."""
        sent = [each for each in self.due if each.index is not None]
        return {SENDS: sent} if sent else {}

    def seen(self) -> WorkingState:
        """Its state as it is now, with what its tasks said."""
        return overlaid(self.state, self.overlay)

    @property
    def unread(self) -> bool:
        """Whether the next checkpoint may have to know a value that was not looked at."""
        return is_unread(self.notes)

    def ahead(self) -> tuple[Due, ...]:
        """What is due and has not finished yet; all of it where only the next step is missing."""
        return remaining(self.due, self.notes) or self.due


@dataclass(frozen=True, slots=True)
class Weave:
    """A thread: its root's newest checkpoint, its namespaces, and what its tables hold.

    `early` are the writes that came before their checkpoint. All copies share it, as with notes.
    """

    top: str | None
    spaces: Mapping[str, Woven]
    shown: WorkingState
    early: dict[tuple[str, str], Notes] = field(default_factory=dict, compare=False)
    loaded: bool = False  # of what is early, only what is of its own namespaces is known
    unlabelled: int | None = None  # root checkpoints since the last "every-N" label, if counted

    @property
    def weight(self) -> int:
        states = [self.shown, *(woven.state for woven in self.spaces.values())]
        return sum(
            400 * (len(s.loops) + len(s.todos) + len(s.intentions) + len(s.context)) + 1000
            for s in states
        )

    def at(self, ns: str, checkpoint: str | None) -> Woven | None:
        """A namespace, if it stands at this checkpoint."""
        woven = self.spaces.get(ns)
        return woven if woven is not None and woven.checkpoint == checkpoint else None

    def heard(self, ns: str, checkpoint: str, writes: Iterable[tuple[str, str, Any]]) -> bool:
        """Whether these writes of a checkpoint's tasks are known, if the checkpoint is."""
        woven = self.at(ns, checkpoint)
        if woven is None:
            return True
        noted = {(note.task, note.channel) for note in woven.notes}
        return all((task, channel) in noted for task, channel, _ in writes)

    def aside(self, ns: str, woven: Woven) -> Weave:
        """With what is known of a namespace, the root staying where it is."""
        if ns == "" and woven.checkpoint != self.top:
            return self
        return replace(self, spaces={**self.spaces, ns: woven})

    def moved(self, ns: str, woven: Woven) -> Weave:
        """With a namespace at another checkpoint; the root's move ends its subgraphs' runs."""
        spaces = dict(self.spaces)
        if ns == "":
            # A call of a subgraph has its task's id in its namespace, which never comes again; one
            # that is of this root came before it.
            spaces = {
                name: held
                for name, held in spaces.items()
                if ":" not in name or (held.root is not None and held.root >= woven.checkpoint)
            }
        spaces[ns] = woven
        top = woven.checkpoint if ns == "" else self.top
        return replace(self, top=top, spaces=spaces)

    def is_ahead(self, ns: str, checkpoint: str) -> bool:
        """Whether a checkpoint is newer than what its namespace stands at."""
        woven = self.spaces.get(ns)
        if woven is None and ns and self.loaded:
            return False  # a subgraph that keeps its own state may stand there since long
        newest = self.top if ns == "" else None if woven is None else woven.checkpoint
        return newest is None or checkpoint > newest

    def expects(self, ns: str, checkpoint: str, notes: Sequence[TaskWrite]) -> None:
        """Keep what tasks of a checkpoint wrote that is not there yet."""
        self.early.setdefault((ns, checkpoint), Notes()).extend(notes)
        while len(self.early) > MOST_EARLY:
            self.early.pop(next(iter(self.early)))

    def knows(self, ns: str, parent: str | None, checkpoint: str) -> bool:
        """Whether all is known that a put rests on: its namespace stands at the parent."""
        woven = self.spaces.get(ns)
        if (None if woven is None else woven.checkpoint) != parent:
            return False
        if woven is None and ns and self.loaded:
            return False
        if (woven is not None and woven.unread) or is_unread(self.early.get((ns, checkpoint), ())):
            return False
        return ns != "" or self.top is None or checkpoint > self.top

    def awaited(self, ns: str, parent: str | None, checkpoint: str) -> Notes:
        """What came before a checkpoint that is being stored, and will come while it is."""
        if parent is not None:
            self.early.pop((ns, parent), None)
        return self.early.setdefault((ns, checkpoint), Notes())

    def visible(self) -> WorkingState:
        """The thread's state: its root's, with the subgraphs that run."""
        root = self.spaces.get("")
        if root is None:
            return WorkingState()
        children = [
            replace(woven.seen(), due=woven.ahead())
            for ns, woven in sorted(self.spaces.items())
            if ns and woven.root == root.checkpoint
        ]
        if not children:
            return with_status(root.seen(), due=root.ahead())
        state = join(replace(root.seen(), due=root.ahead()), children)
        return with_status(state, due=state.due)
