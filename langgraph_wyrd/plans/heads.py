"""Making an older point the head: a copy of its checkpoint that is newer than all others.

Nothing is deleted, and no value is read or copied: the new row names the frame that the old one
names. It is a sibling of the checkpoint that it is a copy of, so that what that one's own tasks
wrote is not on its path. Their writes are not carried along either: LangGraph makes the ids of
tasks out of the checkpoint's.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langgraph_wyrd.errors import ThreadNotFound
from langgraph_wyrd.plans import arrivals, loading, moments, states
from langgraph_wyrd.plans.keeping import rewound, show_again, was_cut
from langgraph_wyrd.plans.prune import remembers
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.weaving import event_rows
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.frames import EMPTY, Frame
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.strands import Place, splice
from langgraph_wyrd.store.values import Codec

BEFORE_INPUT = -2  # the step that LangGraph has before the first input


@dataclass(frozen=True, slots=True)
class Fresh:
    """What LangGraph knows of new checkpoints: their ids, and what an empty one holds."""

    id: Callable[[], str]
    rest: Mapping[str, Any]  # without id, time, values and versions


@dataclass(slots=True)
class Rewind:
    """`to` is a point, or the id of a message on the head's path."""

    codec: Codec
    thread_id: str
    fresh: Fresh
    to: str | datetime | None
    made: str | None = None  # by a first try, whose commit's answer may have been lost

    def plan(self) -> Plan[str | None]:
        """The new head, or the old one if it stands there already; None: no such point."""
        found = yield Ask("lock_thread", (thread_key(self.thread_id),))
        if not found:
            return None
        number, _, strands, buried = found[0]
        if self.made is not None and (yield Ask("ancestor", (number, "", self.made))):
            return self.made
        top = yield from moments.checkpoint_at(number, None)
        if top is None:
            return None
        target = yield from moments.checkpoint_at(number, self.to)
        if target == top:
            return top
        if target is None:
            if not isinstance(self.to, str):
                return None
            message = given(self.to)
            arrival = yield from arrivals.arrival(self.codec, number, top, message)
            if arrival is None:
                return None
            target = arrival.before
            if target is None and (yield from was_cut(number, arrival.first)):
                raise ThreadNotFound(
                    f"what thread {given(self.thread_id)!r} was before message {message!r} is not "
                    "there any more: it was pruned"
                )
        work = Copies(self.codec, number, self.thread_id, self.fresh, strands, buried)
        self.made = yield from work.head(target)
        return self.made


@dataclass(slots=True)
class PutBack:
    """The head where it was: at a checkpoint, or (None) before the first one."""

    codec: Codec
    thread_id: str
    fresh: Fresh
    was: str | None
    made: str | None = None

    def plan(self) -> Plan[str | None]:
        """The new head; None if the old one stands there still."""
        found = yield Ask("lock_thread", (thread_key(self.thread_id),))
        if not found:
            return None
        number, _, strands, buried = found[0]
        if self.made is not None and (yield Ask("ancestor", (number, "", self.made))):
            return self.made
        top = yield from moments.checkpoint_at(number, None)
        if top is None or top == self.was:
            return None
        work = Copies(self.codec, number, self.thread_id, self.fresh, strands, buried)
        self.made = yield from work.head(self.was)
        return self.made


@dataclass(slots=True)
class Copies:
    """Copies of a thread's checkpoints, each newer than all that is there. The thread is locked."""

    codec: Codec
    number: int
    thread_id: str
    fresh: Fresh
    strands: int
    newest: str | None  # no id that is made may sort before it
    rows: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    _empty: Place | None = None
    _woven: bool = False

    def head(self, target: str | None) -> Plan[str]:
        """A new head: a copy of a checkpoint of the root, or (None) an empty one.

        Subgraphs that remember from call to call are put back to where they stood then.
        """
        ends = yield Ask("newest_of_each", (self.number,))
        status = yield Ask("thread_status", (self.number,))
        self._woven = status[0][0] is not None  # None: the pillars were off
        self.newest = max([id for _, id in ends] + ([self.newest] if self.newest else []))
        for ns, newest in sorted(ends):
            if remembers(ns):
                yield from self._memory(ns, newest, target)
        made = yield from self._one("", target)
        yield Tell("put_checkpoint", self.rows)
        if self.events:
            yield Tell("put_event", self.events)
        yield Tell("touch", [(self.strands, now(), self.number)])
        if self._woven:
            yield from show_again(self.codec, self.number, self.thread_id)
        return made

    def _memory(self, ns: str, newest: str, target: str | None) -> Plan[None]:
        stood = None
        if target is not None:
            stood = (yield Ask("newest_before", (self.number, ns, target)))[0][0]
        if stood != newest:
            yield from self._one(ns, stood)

    def _one(self, ns: str, target: str | None) -> Plan[str]:
        made = self.newest = after(self.newest, self.fresh.id())
        if target is None:
            yield from self._blank(ns, made)
            return made
        checked, found = yield [
            Ask("checkpoint", (thread_key(self.thread_id), ns, target)),
            Ask("checkpoint_row", (self.number, ns, target)),
        ]
        if not found:
            raise ThreadNotFound(
                f"checkpoint {given(target)} of thread {given(self.thread_id)!r} is not there any "
                "more"
            )
        loading.checked(checked[0])  # what is damaged is not to be made to look whole
        _, _, parent, _, step, _, run_id, text, exact, *more = found[0]
        place, (due, root) = Place(*more[:4]), more[4:6]
        metadata = {**self.codec.open_metadata(text, exact), "source": "fork"}
        if step is not None:
            step = metadata["step"] = step + 1
        self._put(ns, made, parent, step, run_id, metadata, place, due, root)
        if self._woven:
            woven = yield from states.load_woven(
                self.codec, self.number, self.thread_id, ns, target
            )
            if woven is not None:
                at = Moment(made, ns)
                self.events += event_rows(self.codec, self.number, at, [rewound(woven)])
        return made

    def _blank(self, ns: str, made: str) -> Plan[None]:
        if self._empty is None:
            rest = {k: self.codec.seal_value(v, k) for k, v in self.fresh.rest.items()}
            frame = Frame({}, {}, rest)
            packed = frames.patch(EMPTY, frame)
            assert packed is not None
            self.strands += 1
            row = splice(self.strands, 0, 0, 0, 0, 1, packed, 0)
            yield Tell("put_splice", [(self.number, *row)])
            self._empty = Place(row.strand, 0, frame.length, row.chain)
        metadata = {"source": "fork", "step": BEFORE_INPUT, "parents": {}}
        self._put(ns, made, None, BEFORE_INPUT, None, metadata, self._empty, None, None)

    def _put(
        self, ns: str, id: str, parent: str | None, step: int | None, run_id: str | None,
        metadata: dict[str, Any], place: Place, due: str | None, root: str | None,
    ) -> None:  # fmt: skip
        ts = now()
        text, exact = self.codec.metadata(metadata)
        row = loading.row_sum(self.number, ns, id, parent, ts, text, exact, place)
        total = loading.with_derived(row, due, root, 0)  # its base is not counted
        self.rows.append(
            (
                self.number, ns, id, parent, ts, step, "fork", run_id, text, exact, *place, total,
                due, root,
            )
        )  # fmt: skip


def after(last: str | None, made: str) -> str:
    """An id that sorts behind another: the one just made, unless clocks differ."""
    if last is None or made > last:
        return made
    try:
        next_one = str(uuid.UUID(int=uuid.UUID(last).int + 1))
    except ValueError:  # not one of LangGraph's
        next_one = ""
    return next_one if next_one > last else last + "+"
