"""Reading the pillars out of what is stored, as they are read out of what is being stored.

One thread at a time, a page of checkpoints at a time, parents before children. What a checkpoint
says is compared with what the ledger has, and only what differs is written.

Three things that the ledger has can't be read out of checkpoints, and stay: what a person declared
(`edit:` tasks), the states that stand for a pruned path or were given to a fork, and what a task
asked or failed with before the slot of that write was used again. A rewound head has the state of
the checkpoint that it is a copy of.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.plans import gone, loading, states
from langgraph_wyrd.plans.catching_up import notes_of
from langgraph_wyrd.plans.forks import fork_then, is_fork
from langgraph_wyrd.plans.keeping import edited, is_rewound, rewound, show_again
from langgraph_wyrd.plans.loading import LoadedStrand
from langgraph_wyrd.plans.retelling import retold
from langgraph_wyrd.plans.shown import due_json
from langgraph_wyrd.plans.states import Said
from langgraph_wyrd.plans.weaving import Weaver, belongs_to, event_rows, put_view
from langgraph_wyrd.plans.woven import Notes, Woven
from langgraph_wyrd.state.events import Event, Moment, is_kept
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.refs import ABSENT, public
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.strands import Place, edits
from langgraph_wyrd.store.values import Codec, mark

logger = logging.getLogger("langgraph_wyrd")

_PAGE = 32  # checkpoints whose values are held at once
_HELD = 64  # checkpoints that others may go on from without looking them up


def threads(thread_id: str | None) -> Plan[list[tuple[str, int]]]:
    """The threads to reweave, and how many checkpoints each has."""
    if thread_id is None:
        rows = yield Ask("threads_to_weave")
        return [(thread, count) for thread, count in rows]
    rows = yield Ask("count_checkpoints", (thread_key(thread_id),))
    return [(thread_id, rows[0][0])] if rows[0][0] else []


def reweave(codec: Codec, weaver: Weaver, thread_id: str, *, aloud: bool = True) -> Plan[None]:
    """All that is derived of one thread. `aloud`: what can't be read is told in the log."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found:
        return
    number, _, strands, _ = found[0]
    work = _Reweaving(codec, weaver, number, thread_id, aloud)
    yield from work.all()
    yield Tell("tidy", [(strands, number)])
    yield from show_again(codec, number, thread_id, work.user)


class _Row(NamedTuple):
    """A checkpoint, as it is stored."""

    ns: str
    id: str
    parent: str | None
    ts: str | None
    step: int | None
    source: str | None
    run_id: str | None
    metadata: str
    exact: bytes | None
    strand: int
    seq: int
    length: int
    chain: int
    due: Any
    root: str | None
    sum: int

    @property
    def key(self) -> tuple[str, str]:
        return self.ns, self.id

    @property
    def place(self) -> Place:
        return Place(self.strand, self.seq, self.length, self.chain)


@dataclass(slots=True)
class _Loaded:
    """The frames and values of some checkpoints."""

    frames: dict[Place, Frame] = field(default_factory=dict)
    values: dict[Place, Any] = field(default_factory=dict)
    strands: dict[int, LoadedStrand] = field(default_factory=dict)


class _Reweaving:
    def __init__(
        self, codec: Codec, weaver: Weaver, number: int, thread_id: str, aloud: bool
    ) -> None:
        self.codec = codec
        self.weaver = weaver
        self.number = number
        self.thread_id = thread_id
        self.aloud = aloud
        self.user: str | None = None  # the last one that the root's checkpoints name
        self._newest: dict[str, str] = {}
        self._told = False  # whether anything was, before
        self._done: OrderedDict[tuple[str, str], tuple[Frame, Woven]] = OrderedDict()
        self._waiting: dict[tuple[str, str], list[tuple[str, str]]] = {}  # by their parents
        self._put_off: set[tuple[str, str]] = set()
        self._last: str | None = None  # the checkpoint that was read before

    def all(self) -> Plan[None]:
        self._newest = dict((yield Ask("newest_of_each", (self.number,))))
        self._told = bool((yield Ask("has_events", (self.number,))))
        after = ("", "")
        while True:
            found = yield Ask("checkpoint_rows", (self.number, *after, _PAGE))
            rows = [_Row(*row) for row in found]
            ready = []
            for row in rows:
                if not (yield from self._too_soon(row)):
                    ready.append(row)
            yield from self._page(ready)
            if len(rows) < _PAGE:
                break
            after = rows[-1].key
        while self._put_off:  # parents in a circle, which only damage can make
            yield from self._again(min(self._put_off))

    def _too_soon(self, row: _Row) -> Plan[bool]:
        """Whether its parent comes later: mostly ids follow the parents, but clocks differ."""
        if row.parent is None:
            return False
        parent = (row.ns, row.parent)
        if parent not in self._put_off and (
            row.parent < row.id or not (yield Ask("ancestor", (self.number, *parent)))
        ):
            return False
        self._waiting.setdefault(parent, []).append(row.key)
        self._put_off.add(row.key)
        return True

    def _again(self, key: tuple[str, str]) -> Plan[None]:
        """A checkpoint that was put off."""
        self._put_off.discard(key)
        found = yield Ask("checkpoint_row", (self.number, *key))
        yield from self._page([_Row(*found[0])])

    def _page(self, rows: Sequence[_Row]) -> Plan[None]:
        try:
            for row in rows:
                self._check(row)
            loaded = yield from self._load([row.place for row in rows])
        except CheckpointDamaged as error:
            if len(rows) > 1:
                for row in rows:
                    yield from self._page([row])
                return
            self._silent(rows[0], error)
            loaded = None
        for row in rows:
            if loaded is not None:
                try:
                    yield from self._one(row, loaded)
                except CheckpointDamaged as error:  # of its parent
                    self._silent(row, error)
            for key in self._waiting.pop(row.key, ()):
                if key in self._put_off:
                    yield from self._again(key)

    def _silent(self, row: _Row, error: CheckpointDamaged) -> None:
        level = logging.WARNING if self.aloud else logging.DEBUG
        logger.log(
            level,
            "checkpoint %s of thread %r can't be read, and says what it said before: %s",
            row.id, given(self.thread_id), error,
        )  # fmt: skip

    def _check(self, row: _Row) -> None:
        try:
            total = loading.row_sum(
                self.number, row.ns, row.id, row.parent, row.ts, row.metadata, row.exact, row.place
            )
            good = loading.same_row(total, row.sum)
        except TypeError:  # a column is of another type than it was
            good = False
        if not good:
            raise CheckpointDamaged("its row fails its checksum")

    def _load(self, places: Sequence[Place]) -> Plan[_Loaded]:
        found = yield from loading.read_frames(self.codec, self.number, places)
        values, strands = yield from loading.read_values(
            self.codec, self.number, list(found.values())
        )
        return _Loaded(found, values, strands)

    # ---- one checkpoint

    def _one(self, row: _Row, loaded: _Loaded) -> Plan[None]:
        at = Moment(row.id, row.ns, row.ts)
        metadata = self.codec.open_metadata(row.metadata, row.exact)
        root, user = belongs_to(metadata, row.ns)
        if not row.ns and user is not None:
            self.user = user
        frame = loaded.frames[row.place]
        built_on = yield from self._parent(row)
        held, before = built_on or (EMPTY, None)
        view = yield from self._view(row, metadata, frame, held, before, loaded)
        said = yield from self._said(row)
        woven, events = self.weaver.put(view, before, root, self.thread_id, Notes())
        events = (*(yield from self._fork(row, said)), *events)
        copied_from = is_rewound(said.own)
        target = copied_from and (
            yield from states.load_woven(
                self.codec, self.number, self.thread_id, row.ns, copied_from
            )
        )
        if target:  # it was read anew before, as it is older
            again = rewound(target)
            if (again,) != said.own:
                yield Tell("put_event", event_rows(self.codec, self.number, at, [again]))
            woven = replace(woven, state=edited(target), depth=0)
        elif kept := (yield from self._kept(row, said, lost=built_on is None)):
            woven = replace(kept, due=woven.due, root=root, overlay=())
            events = said.own
        elif events != said.own:
            yield Tell("drop_events", [(self.number, row.ns, row.id, "")])
            yield Tell("put_event", event_rows(self.codec, self.number, at, events))
        due = due_json(woven.due) if woven.due else None
        total = row.sum  # what stands for a pruned path is not told anew, nor counted
        if not any(map(is_kept, said.own)):
            total = loading.with_derived(total, due, root, len(events))
        if (due, root, total) != (row.due, row.root, row.sum):
            yield Tell("set_derived", [(due, root, total, self.number, row.ns, row.id)])
        writes = yield Ask("writes", (self.number, row.ns, row.id))
        woven = replace(woven, notes=notes_of(self.codec, row.ns, row.id, writes, frame))
        woven = yield from retold(
            self.codec, self.weaver, self.number, self.thread_id, at, woven, frame.channels,
            writes, said.overlay, row.id == self._newest[row.ns],
        )  # fmt: skip
        self._done[row.key] = frame, woven
        while len(self._done) > _HELD:
            self._done.popitem(last=False)

    def _kept(self, row: _Row, said: Said, *, lost: bool) -> Plan[Woven | None]:
        """What the ledger has of a checkpoint that can't be told anew: a state that stands for what
        is gone, or one behind a lost checkpoint, as nothing tells what it went on from."""
        if not lost and not any(map(is_kept, said.own)):
            return None
        return (
            yield from states.load_woven(self.codec, self.number, self.thread_id, row.ns, row.id)
        )

    def _fork(self, row: _Row, said: Said) -> Plan[tuple[Event, ...]]:
        """What the ledger has of a fork; else what the checkpoints that are left tell of it."""
        known = tuple(filter(is_fork, said.own))
        follows, self._last = row.parent == self._last, row.id
        if row.ns or known or follows:
            return known
        fork = yield from fork_then(self.number, row.id, row.parent, row.source)
        return () if fork is None else (fork.event(),)

    def _said(self, row: _Row) -> Plan[Said]:
        rows = yield Ask("events", (self.number, row.ns, row.id, row.id))
        return states.said(self.codec, row.ns, row.id, row.ts, rows)

    def _parent(self, row: _Row) -> Plan[tuple[Frame, Woven | None] | None]:
        """What a checkpoint builds on: its frame and its pillars. None: it is lost."""
        if row.parent is None or (row.ns, row.parent) in self._put_off:
            return EMPTY, None
        known = self._done.get((row.ns, row.parent))
        if known is not None:
            return known
        here = (self.number, row.ns, row.parent)
        found = yield Ask("ancestor", here)
        if not found:
            if not (yield gone.asked(*here, whoever=True)):
                return EMPTY, None
            if self._told:
                return None
            # As nothing was said of the lost one either, it is told from the next older one.
            rows = yield Ask("parents", (self.number, row.ns, min(row.id, row.parent), 2))
            older = next((id for id, _ in rows if id != row.id), None)
            return (yield from self._parent(row._replace(parent=older)))
        place = Place(*found[0][2:6])
        try:
            frames = yield from loading.read_frames(self.codec, self.number, [place])
        except CheckpointDamaged:
            frames = {place: EMPTY}
        woven = yield from states.load_woven(
            self.codec, self.number, self.thread_id, row.ns, row.parent
        )
        if woven is not None:
            writes = yield Ask("writes", (self.number, row.ns, row.parent))
            notes = notes_of(self.codec, row.ns, row.parent, writes, frames[place])
            woven = replace(woven, notes=notes)
        return frames[place], woven

    def _view(
        self,
        row: _Row,
        metadata: dict[str, Any],
        frame: Frame,
        held: Frame,
        before: Woven | None,
        loaded: _Loaded,
    ) -> Plan[View]:
        channels, old = frame.channels, held.channels
        values = {
            name: value
            for name, entry in channels.items()
            if entry.has_value
            and (value := public(loading.value_of(self.codec, name, entry, loaded.values)))
            is not ABSENT
        }
        fresh: dict[str, Sequence[int]] = {}
        for name, entry in channels.items():
            if entry.shape == "l":
                places = yield from self._fresh(old.get(name), entry, values[name], loaded)
                if places is not None:
                    fresh[given(name)] = places
        return put_view(
            id=row.id,
            ns=row.ns,
            parent=row.parent,
            ts=row.ts,
            source=row.source,
            step=row.step,
            metadata=metadata,
            values={given(name): value for name, value in values.items()},
            versions={
                given(name): entry.version
                for name, entry in channels.items()
                if entry.version is not None
            },
            seen=frame.seen,
            before=old,
            channels=channels,
            fresh=fresh,
            notes=() if before is None else before.notes,
            sealed=self.codec.sealed,
        )

    # ---- what is new in a list

    def _fresh(
        self, old: Entry | None, new: Entry, value: list[Any], loaded: _Loaded
    ) -> Plan[Sequence[int] | None]:
        """The places of what a write found new in a list; None if it did not look."""
        if old is not None and old.has_value and old.version == new.version:
            return None
        if old is None or old.place is None or old.shape != "l":
            return range(len(value))
        if new.place == old.place:
            return []
        if new.place is not None and new.place[:2] == (old.place.strand, old.place.seq + 1):
            rows = loaded.strands[new.place.strand].rows
            return _added(rows, new.place)
        marks = yield from self._marks(old)
        if new.place is None:
            prints = [self.codec.fingerprint_bytes(item) for item in value]
            made = edits(marks, [mark(each) for each in prints])
        else:
            made = edits(marks, (yield from self._marks(new)))
        return [place for edit in reversed(made) for place in range(edit.start, edit.stop)]

    def _marks(self, entry: Entry) -> Plan[Any]:
        """What the elements of a stored list are compared by."""
        values, strands = yield from loading.read_values(
            self.codec, self.number, [Frame({"": entry}, {}, {})]
        )
        assert entry.place is not None
        strand = strands[entry.place.strand]
        return loading.tip_of(self.codec, entry, strand, values[entry.place]).marks


def _added(rows: Sequence[Any], place: Place) -> list[int]:
    """The places of the elements that the splices of one version put into a list."""
    first = bisect_left(rows, (place.strand, place.seq))
    mine = []
    for row in rows[first:]:
        if row[1] != place.seq:
            break
        mine.append(row)
    found: list[int] = []
    shift = 0
    for _, _, _, keep, cut, added, *_ in reversed(mine):  # the first is the furthest right
        found += range(keep + shift, keep + shift + added)
        shift += added - cut
    return found
