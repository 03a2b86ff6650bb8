"""The handle on one thread: what it was doing, now or at any point of its past."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import StateSnapshot

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import compare, history, leases, points, retention
from langgraph_wyrd.checkpoints import labels as stored_labels
from langgraph_wyrd.checkpoints.points import Point
from langgraph_wyrd.conversation import answers
from langgraph_wyrd.conversation import messages as reading
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.extraction.extracting import extract
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import Fire, Operation, asynchronous, in_thread, operation
from langgraph_wyrd.recovery import healer
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.editing import said_of_diff
from langgraph_wyrd.state.merge import Merged
from langgraph_wyrd.state.model import OpenLoop, WorkingState, viewed
from langgraph_wyrd.state.results import Heal, HistoryEntry, Label, Page, Tree, checked_name
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.thread.base import When, checked
from langgraph_wyrd.thread.edit import PERSON, EditMethods
from langgraph_wyrd.thread.rewind import RewindMethods
from langgraph_wyrd.transfer import files

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from typing_extensions import Unpack

    from langgraph_wyrd.state.model import OpenLoop
    from langgraph_wyrd.state.results import InboxEntry

    class Which(TypedDict, total=False):
        """Which messages: see `messages`."""

        all: bool
        channel: str | None
        ns: str
        limit: int | None

    Asked = str | OpenLoop | InboxEntry | None  # a question, or its id; None: the only one


logger = logging.getLogger("langgraph_wyrd")

_MOST = 1_000_000  # checkpoints of a tree
_LONGEST = 1 << 40  # seconds: for ever


@viewed("state", "cell_html", "cell_text", prints=False)
class Thread(RewindMethods, EditMethods):
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`.

    A point in its past is a checkpoint id, else a label, else a run id (the run's newest
    checkpoint), else a time (`datetime` or ISO text: the newest checkpoint until then), or an entry
    of `history`, a `Label`, a checkpoint's config. None is the head. A thread or a point that is
    not there raises `ThreadNotFound`.
    """

    # ---- reading

    @operation
    def working_state(self, at: When = None) -> Operation[WorkingState]:
        """What the agent was doing at a point; None: the head."""
        return (yield from self._reads_state(points.state_at, checked(at)))

    aworking_state = asynchronous(working_state)

    @operation
    def history(
        self, limit: int = 50, before: When = None, changed_only: bool = False
    ) -> Operation[Page[HistoryEntry]]:
        """The checkpoints in short, newest first, forks included: what each changed, in a line.

        No channel value is decoded. What subgraphs did is not in the line of the checkpoint at
        which they ran; `working_state(entry)` has it.

        Args:
            limit: At most so many, 1 to 1000.
            before: Only those that are older than this point: the last entry of the page before.
            changed_only: Leave out those that changed nothing. Labelled ones, forks and the head
                stay.
        """
        most, point = filters.count(limit), checked(before)
        page = Page[HistoryEntry]()
        while True:
            found = yield from self._reads_state(history.history, most, point)
            for entry in found:
                if len(page) < most and not (changed_only and entry.idle):
                    page.append(entry)
            if len(found) < most or not changed_only or len(page) >= most:
                return page
            point = checked(found[-1])

    ahistory = asynchronous(history)

    @operation
    def tree(self, limit: int = 10_000) -> Operation[Tree]:
        """How the newest checkpoints, at most so many, hang together; `print` shows it."""
        if type(limit) is not int or not 0 < limit <= _MOST:
            raise InvalidInput(f"limit={limit!r}: use a number from 1 to {_MOST}")
        script = partial(history.tree, self._saver._dialect, self._stored, limit)
        return (yield from self._reads(script))

    atree = asynchronous(tree)

    # ---- comparing

    @operation
    def diff(self, a: Compared, b: Compared = None, channels: bool = True) -> Operation[StateDiff]:
        """What changed from `a` to `b`: `thread.diff((other_thread, "before-deploy"), thread)`.

        Args:
            a: A point in the thread's past, another thread (its head), a pair of a thread and a
                point; or a state itself: a `WorkingState` (whose channels are not compared), a
                dict of channels, a `CheckpointTuple`, or what a graph's `get_state` returned.
            b: The same. None: this thread's head.
            channels: Also compare the values of the channels. A `DeltaChannel` without a value on
                either side can't be compared: if it was written to, `channels.unread` names it.

        Raises:
            CheckpointDamaged: A point can't be read.
        """
        try:
            return (yield from self._compared(a, b, channels))
        except CheckpointDamaged as error:
            if a is not None and b is not None:
                raise
            head = yield from self._intact(error)
            a, b = (given(head) if side is None else side for side in (a, b))
            return (yield from self._compared(a, b, channels))

    adiff = asynchronous(diff)

    def _compared(self, a: Compared, b: Compared, channels: bool) -> Operation[StateDiff]:
        sides = [(yield from self._of_here(a)), (yield from self._of_here(b))]
        states = [_as_side(each, channels) for each in sides]
        channels = channels and all(each is None or each.values is not None for each in states)
        groups: list[tuple[Thread, list[Point]]] = []  # points of one thread are read together
        for side, state in zip(sides, states, strict=True):
            if state is None:
                handle, at = self._point(side)
                same = groups and groups[0][0]._saver._engine is handle._saver._engine
                if same and groups[0][0]._stored == handle._stored:
                    groups[0][1].append(at)
                else:
                    groups.append((handle, [at]))
        read: list[compare.Side] = []
        for handle, places in groups:
            read += yield from handle._reads_state(compare.sides, places, channels)
        return compare.compared(*(read.pop(0) if each is None else each for each in states))

    def _of_here(self, what: Compared) -> Operation[Compared]:
        """The point that a snapshot of this thread was taken at, where it is stored: its values
        alone know nothing of what came before. Anything else as it is."""
        if not isinstance(what, StateSnapshot):
            return what
        where = (what.config or {}).get("configurable") or {}
        ns, id = where.get("checkpoint_ns") or "", where.get("checkpoint_id")
        if str(where.get("thread_id")) != self.id or ns or not id:
            return what
        there = yield from self._reads_state(compare.is_stored, stored(str(id), "an id"))
        return str(id) if there else what

    def _point(self, given: Compared) -> tuple[Thread, Point]:
        handle: Any = self
        at: Any = given
        if isinstance(given, tuple) and len(given) == 2:
            handle, at = given
        elif isinstance(given, Thread):
            handle, at = given, None
        if not isinstance(handle, Thread):
            raise InvalidInput(f"{given!r}: use a point, a thread, or a pair of these")
        return handle, checked(at)

    @operation
    def apply(self, diff: StateDiff, *, by: str = PERSON) -> Operation[Merged]:
        """Say of this thread what a diff says: the verbs of an edit that come to the same.

        Items are found by their ids, else by what they say; what is so already is passed over, and
        what could not be said here is in the `conflicts` of what is returned. No channel changes.

        Raises:
            EditConflict: Somebody else changed the same things at the same time.
        """
        if not isinstance(diff, StateDiff):
            raise InvalidInput(f"{diff!r:.80} is no StateDiff: pass what thread.diff(a, b) gives")
        draft = self.edit(by)
        draft._begin((yield from self._state_to_edit()))
        left = said_of_diff(draft, diff)
        editing = draft._loaded()
        state = editing.base
        if editing.verbs:
            state = yield from self._save(editing)
        return Merged(state, left)

    aapply = asynchronous(apply)

    # ---- what was said, and what waits for an answer

    @overload
    def messages(
        self, at: When = None, *, as_dicts: Literal[False] = False, **which: Unpack[Which]
    ) -> list[BaseMessage]: ...
    @overload
    def messages(
        self, at: When = None, *, as_dicts: Literal[True], **which: Unpack[Which]
    ) -> list[dict[str, Any]]: ...
    @operation  # type: ignore[misc]
    def messages(
        self, at: When = None, *, as_dicts: bool = False, all: bool = False,
        channel: str | None = None, ns: str = "", limit: int | None = None,
    ) -> Operation[list[Any]]:  # fmt: skip
        """The conversation, oldest message first.

        At the head, the results of tools that have finished are included before LangGraph stores
        the checkpoint that holds them. A `DeltaChannel` is rebuilt.

        Args:
            at: A point in the thread's past. None: the head.
            all: Every message on the way to that point, also those that summarising or trimming
                removed; these have `in_state` False. This walks the history.
            as_dicts: Dicts of plain data (`role`, `content`, `id`, `tool_calls`, …) instead of
                LangChain's messages. docs/messages.md lists their fields.
            channel: The channel that holds them. None: `messages`, else the first one that holds
                messages.
            ns: The namespace of a subgraph, as `"researcher:5e1b…"`. Points there are checkpoint
                ids.
            limit: At most so many, the newest ones.
        """
        checked(at)  # it is refused here if it is no point
        found = yield from reading.read(
            self._saver, self, at, all=all, channel=channel, ns=ns, limit=limit
        )
        return [each.as_dict() if as_dicts else each.as_message() for each in found]

    amessages = asynchronous(messages)

    @operation
    def answer(
        self, value: Any, loop: Asked = None, by: str | None = None, *, replace: bool = False
    ) -> Operation[dict[str, Any]]:
        """Answer an interrupt, without the graph: the next `invoke(None, config)` goes on.

        Of two answers at once, from whichever process, one is stored and the other is refused.

        Args:
            value: The answer. For an approval a decision (`"approve"`, `{"type": "edit", …}`), or
                a list of one for each action, in langchain's or Agent Inbox's words. For several
                interrupts, a dict of answers by interrupt id.
            loop: An entry of the inbox, an open loop, its id, or an interrupt's id. None: the only
                one that waits.
            replace: Take the place of an answer that no run has taken up yet.

        Returns:
            What was stored, by interrupt id, in the form that the node expects.

        Raises:
            AnswerNotAllowed: The interrupt does not take such an answer.
            AlreadyAnswered: Somebody answered before.
            QuestionExpired: Its `expires_at` has passed.
            ItemNotFound: Nothing waits, or there is no such loop.
        """
        asked = (self._saver, self, value, loop, by, replace)
        return (yield from answers.answer(*asked))

    aanswer = asynchronous(answer)

    @operation
    def assign(
        self,
        loop: Asked = None,
        *,
        to: str | None = None,
        expires_at: datetime | str | None = None,
        by: str | None = None,
    ) -> Operation[None]:
        """Say whose question an interrupt is, and until when it can be answered.

        `saver.inbox(assigned_to=…)` lists one person's; anybody may still answer.

        Args:
            loop: As for `answer`.
            to: Whose it is; None: as before.
            expires_at: After that, answers are refused; None: as before. A time without a zone is
                local.
        """
        yield from answers.assign(self._saver, self, loop, to, expires_at, by)

    aassign = asynchronous(assign)

    # ---- labels

    @operation
    def label(
        self, name: str, at: When = None, keys: Sequence[str] | None = None
    ) -> Operation[Label]:
        """Name a checkpoint. No prune takes it, and its working state stays readable.

        A name may stand at several checkpoints: the newest one is meant by it. Set again at the
        same checkpoint, it takes the place of what was there. See docs/heads.md.

        Args:
            name: What it is called, anywhere a point may be given: at most 200 characters.
            at: A checkpoint id, another label, or a time; None: the head.
            keys: Which channels and context items are promoted: `label.values()` has them as they
                are there. None: all context items, []: none.
        """
        wanted, point = _name(name), checked(at)
        if isinstance(keys, str) or any(not isinstance(key, str) for key in keys or ()):
            raise InvalidInput(f"keys={keys!r}: use a list of context keys, or None for all")
        for key in keys or ():
            stored(key, "a key")  # what no database can hold is refused here
        try:
            made = yield from self._writes(self._bound(stored_labels.put, wanted, point, keys))
        except CheckpointDamaged as error:
            if at is not None:
                raise
            point = yield from self._intact(error)
            made = yield from self._writes(self._bound(stored_labels.put, wanted, point, keys))
        if made is None:
            raise self._not_there(at)
        detail = {"name": made.name, "keys": made.keys, "missing": made.missing}
        yield Fire(self._saver, (Happening("label", self.id, made.checkpoint_id, detail=detail),))
        return self._own(made)

    alabel = asynchronous(label)

    @operation
    def labels(self) -> Operation[Page[Label]]:
        """Every label, oldest checkpoint first, without what was promoted (`get_label` has it).

        Damaged ones that can't be restored are left out, with a warning.
        """
        every = stored_labels.every
        try:
            found = yield from self._reads(self._bound(every))
        except CheckpointDamaged:
            if not self._saver._heals:
                raise
            found = yield from self._reads(self._bound(every, True))
        return Page(map(self._own, found))

    alabels = asynchronous(labels)

    @operation
    def get_label(self, name: str) -> Operation[Label | None]:
        """The label of that name at the newest checkpoint that has it; None if there is none."""
        found = yield from self._reads(self._bound(stored_labels.newest, _name(name)))
        return None if found is None else self._own(found)

    aget_label = asynchronous(get_label)

    @operation
    def values_of_label(self, label: Label) -> Operation[dict[str, Any]]:
        """What a label promoted, whole: `label.values()`."""
        where = _name(label.name), stored(label.checkpoint_id, "a checkpoint")
        found = yield from self._reads(self._bound(stored_labels.values, *where))
        if found is None:
            raise ThreadNotFound(f"thread {self.id!r} has no label {label.name!r} there any more")
        return found

    avalues_of_label = asynchronous(values_of_label)

    @operation
    def unlabel(self, name: str, at: When = None) -> Operation[bool]:
        """Take a label off a point; None: off the newest checkpoint that has it.

        Whether there was one. The checkpoint stays, until something prunes it.
        """
        return (
            yield from self._writes(self._bound(stored_labels.remove, _name(name), checked(at)))
        )

    aunlabel = asynchronous(unlabel)

    def _own(self, label: Label) -> Label:
        return replace(label, thread_id=self.id, _thread=self)

    # ---- how long it is kept

    @operation
    def set_ttl(self, ttl: timedelta | None) -> Operation[None]:
        """How long nobody may write to it before it goes altogether; None: as the retention says.

        `get_ttl` gives it back, and `saver.threads()` with each thread. The thread goes with the
        next `saver.sweep(…)`, or by itself where a saver has a `retention=`.
        """
        if ttl is not None and not (isinstance(ttl, timedelta) and ttl > timedelta()):
            raise InvalidInput(f"ttl={ttl!r}: use a timedelta above zero, or None")
        seconds = None if ttl is None else min(ceil(ttl.total_seconds()), _LONGEST)
        script = partial(retention.set_ttl, self._saver._dialect, self._stored, seconds)
        if not (yield from self._writes(script)):
            raise self._not_there()

    aset_ttl = asynchronous(set_ttl)

    @operation
    def get_ttl(self) -> Operation[timedelta | None]:
        """What `set_ttl` gave this thread; None: nothing, a saver's `Retention` holds."""
        return (yield from self._reads(self._bound(retention.ttl)))

    aget_ttl = asynchronous(get_ttl)

    # ---- files

    @operation
    def export(self, path: str | os.PathLike[str], payloads: bool = False) -> Operation[None]:
        """Write the thread to a JSON file for reading and comparing: working state, labels,
        messages, history.

        The file appears whole or not at all. All but the payloads of an encrypting store is in the
        clear; the file's `in_the_clear` says what.

        Args:
            path: The file; one that is there is replaced.
            payloads: Also write every row, which `saver.import_thread` needs.

        Raises:
            CheckpointDamaged: Rows are damaged or missing, and can't be restored.
        """
        codec = self._saver._codec
        found = yield from self._reads(self._bound(files.export))
        if found is None:
            raise self._not_there()
        if codec.sealer is not None:
            logger.warning(
                "thread %r of an encrypted store is written to %r: working state, messages and "
                "history are in the clear there",
                self.id,
                os.fspath(path),
            )
        yield in_thread(partial(files.write, path, codec, found, payloads=payloads))

    aexport = asynchronous(export)

    # ---- damage

    @operation
    def heals(self) -> Operation[Page[Heal]]:
        """What was found damaged while the thread was loaded, and what was done, oldest first."""
        return Page((yield from self._reads(self._bound(healer.heals))))

    aheals = asynchronous(heals)

    @operation
    def acknowledge(self, heal: Heal | str | None = None) -> Operation[None]:
        """Say that a heal was seen (None: all of them). One that is not there is `InvalidInput`."""
        id = heal.id if isinstance(heal, Heal) else heal
        if not (yield from self._writes(self._bound(healer.acknowledge, id))) and heal is not None:
            raise InvalidInput(f"thread {self.id!r} has no heal {heal!r}: see heals()")

    aacknowledge = asynchronous(acknowledge)

    @operation
    def begun_ahead(self) -> Operation[list[str]]:
        """Tool calls that were begun, as `WyrdMiddleware` noted, and whose checkpoint is not there.

        In words, the newest first. They may have happened, and nothing else tells of them.
        """
        found = yield from self._reads(self._bound(leases.begun_ahead))
        for each in found:
            logger.warning("thread %r: %s", self.id, each)
        return found

    abegun_ahead = asynchronous(begun_ahead)


def _name(name: str) -> str:
    return stored(checked_name(name), "a label")


# A point, a thread (its head), a thread and a point; or a state itself: a working state, a dict of
# channels, what a graph's `get_state` returned.
Compared = (
    When | Thread | tuple[Thread, When] | WorkingState | Mapping[str, Any] | StateSnapshot
    | CheckpointTuple
)  # fmt: skip


def _as_side(what: Any, channels: bool) -> compare.Side | None:
    """A state that needs not be read; None for a point."""
    values: Any
    if isinstance(what, WorkingState):
        return compare.Side(what)
    if isinstance(what, CheckpointTuple):
        values = what.checkpoint["channel_values"]
    elif isinstance(what, StateSnapshot):
        values = what.values if isinstance(what.values, Mapping) else {}
    elif isinstance(what, Mapping) and "configurable" not in what:
        values = what
    else:
        return None
    return compare.Side(extract(what), values if channels else None)
