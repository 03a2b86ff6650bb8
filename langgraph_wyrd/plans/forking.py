"""A new thread that has another one's path up to a point, and no more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.plans import copy, moments, prune, states
from langgraph_wyrd.plans.keeping import edited, show_again
from langgraph_wyrd.plans.prune import remembers
from langgraph_wyrd.plans.settling import Key, Light
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.weaving import event_rows
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.overlay import EDIT
from langgraph_wyrd.state.status import with_status
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.values import Codec


def state_to_give(
    codec: Codec, thread_id: str, at: moments.Point
) -> Plan[tuple[str, WorkingState] | None]:
    """A point's checkpoint, and the state there, without what its own tasks asked and said."""
    found = yield Ask("find_thread", (thread_key(thread_id),))
    if not found:
        return None
    number = found[0][0]
    id = yield from moments.checkpoint_at(number, at)
    if id is None:
        return None
    woven = yield from states.load_woven(codec, number, thread_id, "", id)
    if woven is None:
        return None
    return id, with_status(edited(woven), due=woven.due)


@dataclass(slots=True)
class Fork:
    """The whole thread is copied; what is not on the path then goes from the copy."""

    codec: Codec
    source: str
    target: str
    at: moments.Point
    given_state: Event | None = None  # takes the place of what the ledger says at the point
    made: str | None = None  # by a first try, whose commit's answer may have been lost

    def plan(self) -> Plan[bool]:
        """Whether there is such a point."""
        if self.source == self.target:
            raise InvalidInput(f"thread {given(self.source)!r} can't be copied onto itself")
        found = yield Ask("lock_thread", (thread_key(self.source),))
        if not found:
            return False
        number = found[0][0]
        top = yield from moments.checkpoint_at(number, None)
        at = yield from moments.checkpoint_at(number, self.at)
        if at is None:
            return False
        if self.made is not None and (yield from self._is_there(self.made)):
            return True
        self.made = at
        yield from copy.copied(self.codec, self.source, self.target, found[0], False)
        yield from self._cut(at, whole=at == top)
        return True

    def _is_there(self, made: str) -> Plan[bool]:
        found = yield Ask("find_thread", (thread_key(self.target),))
        if not found:
            return False
        top = yield from moments.checkpoint_at(found[0][0], None)
        return top == made

    def _cut(self, at: str, *, whole: bool) -> Plan[None]:
        """Leave the path to a checkpoint; `whole`: with what its own tasks wrote."""
        thread, all_of_it = yield from prune.locked(self.target)
        assert thread is not None
        number = thread.number
        path = _path(all_of_it, at)
        kept = yield from self._kept(number, all_of_it, path, None if whole else at)
        gone = {light.key for light in all_of_it} - kept
        gone -= yield from prune.needed_by_deltas(self.codec, number, all_of_it, gone)
        if not whole:
            yield Tell("drop_writes", [(number, "", at)])
        yield from self._say(number, at, whole=whole)
        if gone:
            yield from prune.drop(self.codec, thread, self.target, all_of_it, gone)
            return
        yield Tell("touch", [(thread.strands, now(), number)])
        if (yield Ask("thread_status", (number,)))[0][0] is not None:
            yield from show_again(self.codec, number, self.target)

    def _kept(
        self, number: int, all_of_it: Sequence[Light], path: Collection[str], end: str | None
    ) -> Plan[set[Key]]:
        """The path, with the subgraphs that ran on it, but not at its `end`."""
        kept: set[Key] = {("", id) for id in path}
        rows = yield Ask("roots_of_subgraphs", (number,))
        for ns, id, root in rows:
            ran = root in path and root != end if root is not None else True
            if ran and (end is None or id < end):
                kept.add((ns, id))
        memories = {
            light.ns: light.key
            for light in all_of_it
            if remembers(light.ns) and (end is None or light.id < end)
        }
        return kept | set(memories.values())

    def _say(self, number: int, at: str, *, whole: bool) -> Plan[None]:
        """The ledger at the end of the path."""
        rows = yield Ask("events", (number, "", at, at))
        over = {
            task
            for _, task, *_ in rows
            if task and (self.given_state is not None if task.startswith(EDIT) else not whole)
        }
        if over:
            yield Tell("drop_events", [(number, "", at, task) for task in sorted(over)])
        if self.given_state is not None:
            first = max((n + 1 for _, task, n, *_ in rows if not task), default=0)
            yield Tell(
                "put_event",
                event_rows(self.codec, number, Moment(at), [self.given_state], first),
            )


def _path(all_of_it: Sequence[Light], at: str) -> set[str]:
    parents = {light.id: light.parent for light in all_of_it if light.ns == ""}
    path: set[str] = set()
    current: str | None = at
    while current in parents and current not in path:
        path.add(current)
        current = parents[current]
    return path
