"""Questions across all threads: which there are, what is open in them, who must answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from langgraph_wyrd import filters as filtering
from langgraph_wyrd.checkpoints.missing import LOST_REASON
from langgraph_wyrd.configs import named, of_user
from langgraph_wyrd.errors import (
    CheckpointDamaged,
    InvalidInput,
    KeyMissing,
    ReadOnlyDatabase,
    ThreadNotFound,
)
from langgraph_wyrd.filters import (
    InboxFilters,
    IntentionFilters,
    LoopFilters,
    Some,
    ThreadFilters,
    TodoFilters,
)
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.operations import Fire, Operation, Read, ask, asynchronous, operation
from langgraph_wyrd.state.model import WorkingState, viewed
from langgraph_wyrd.storage.names import stored
from langgraph_wyrd.users.ownership import OfUser

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from typing_extensions import Unpack

    from langgraph_wyrd.checkpoints import feed, listing, points, search
    from langgraph_wyrd.checkpoints.points import Point
    from langgraph_wyrd.conversation import inbox as waiting
    from langgraph_wyrd.recovery import healer
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.state import brief as briefs
    from langgraph_wyrd.state.model import Intention, OpenLoop, Todo, WorkingState
    from langgraph_wyrd.state.results import FeedEvent, InboxEntry, Page, ThreadInfo
    from langgraph_wyrd.thread import base as asked_at
    from langgraph_wyrd.thread.base import When

else:
    feed, listing, points = lazy("checkpoints.feed", "checkpoints.listing", "checkpoints.points")
    asked_at = lazy("thread.base")
    search, waiting = lazy("checkpoints.search", "conversation.inbox")
    briefs, healer = lazy("state.brief", "recovery.healer")


_FEW = 8


@viewed("lists", "saver_html", "saver_text", prints=False)
class Queries(OfUser):
    """The part of a saver that asks across threads.

    Listings come in pages of at most `limit` items, 1 to 1000; `after` is the `next` of the page
    before, asked for with the same filters. A filter that can't be used raises `InvalidInput`, as
    does `text` on a store that encrypts.
    """

    # ---- threads

    @operation
    def threads(
        self, *, limit: int = 50, after: str | None = None, **filters: Unpack[ThreadFilters]
    ) -> Operation[Page[ThreadInfo]]:
        """The threads, those with the newest activity first.

        Args:
            limit: At most so many on a page.
            after: The `next` of the page before. A thread that moves on meanwhile moves to the
                front, before the page.
            status: "idle", "interrupted", "error", "due", "done", "quiet" (nothing seems open) or
                "unread" (not read yet); one or several. Where it is known why a thread is due:
                "running", "killed", "cancelled", "out_of_steps" or "paused" instead.
            user_id: Of these users (`metadata["user_id"]` of their runs).
            since, until: Only those where something was stored at this time or later, or before:
                a `datetime`, or ISO text. A time without a zone is local.
            text: Only those with this in their title or reason, or with all of its words in one
                of their messages: see docs/messages.md. Case and accents do not matter.
        """
        asked = self._asked(listing.LIST_THREADS, filters, limit, after)
        return (yield from self._page((yield from self._also_said(asked))))

    athreads = asynchronous(threads)

    @operation
    def latest(self, **filters: Unpack[ThreadFilters]) -> Operation[Resumed | None]:
        """The thread with the newest activity, ready to go on with; None if there is none.

        The filters are those of `threads`. `graph.invoke(inputs, found.config)` goes on.
        """
        asked = self._asked(listing.LIST_THREADS, filters, _FEW, None, "latest")
        found = self._resumed((yield from self._newest(asked)))
        return None if found is None else (yield from self._looked_at(found))

    alatest = asynchronous(latest)

    @operation
    def resume(
        self,
        thread_id: str | RunnableConfig | None = None,
        *,
        at: When = None,
        **filters: Unpack[ThreadFilters],
    ) -> Operation[Resumed]:
        """A thread, ready to go on with: this one, or the `latest` of these filters.

        Args:
            thread_id: Which, by its id or a config; a config that names a checkpoint says `at`,
                too. None: the `latest` one that the filters let through.
            at: A point of its past, as `thread.working_state` takes it: state and brief are those
                of then, and the config goes on from there, as a branch.
            filters: As for `threads`; not together with a thread.

        Raises:
            ThreadNotFound: There is no such thread.
        """
        asked = self._asked(listing.LIST_THREADS, filters, _FEW, None, "resume")
        if thread_id is None:
            if at is not None:
                raise InvalidInput(f"resume(at={at!r}): say of which thread")
            state = yield from self._newest(asked)
        else:
            if any(each is not None for each in filters.values()):
                raise InvalidInput("resume() takes a thread_id or filters, not both")
            name = named(thread_id)
            if isinstance(thread_id, Mapping) and thread_id["configurable"].get("checkpoint_id"):
                at = thread_id if at is None else at
            state = yield from self._state(name, asked_at.checked(at))
        found = self._resumed(state, at)
        if found is None:
            raise ThreadNotFound("no thread fits: `threads()` lists what there is")
        found = yield from self._looked_at(found)
        what = Happening("resume", found.thread_id, found.state.checkpoint_id, state=found.state)
        yield Fire(self, (what,))
        return found

    aresume = asynchronous(resume)

    def _resumed(self, state: WorkingState | None, at: When = None) -> Resumed | None:
        if state is None or state.thread_id is None:
            return None
        config: RunnableConfig = {"configurable": {"thread_id": state.thread_id}}
        if at is not None and state.checkpoint_id is not None:
            config["configurable"].update(checkpoint_ns="", checkpoint_id=state.checkpoint_id)
        if self._user is not None:
            config = of_user(config, self._user)
        brief = state.brief(now=datetime.now(timezone.utc))
        return Resumed(state.thread_id, config, state, brief)

    def _looked_at(self, found: Resumed) -> Operation[Resumed]:
        """Load what the graph would continue from, and say in the brief what of it is damaged."""
        if found.state.checkpoint_id is None and found.state.reason != LOST_REASON:
            return found
        saver, said = cast("WyrdSaver", self), []
        try:
            held = yield ask(saver, "get_tuple", found.config)
            if held is None or not held.checkpoint["channel_versions"]:
                said.append("nothing of the graph's state can be read: it would start empty")
        except (CheckpointDamaged, KeyMissing) as error:
            said.append(str(error))
        script = partial(healer.losses, self._dialect, stored(found.thread_id, "thread_id"))
        said += yield from self._read(script)
        begun = yield ask(saver.thread(found.thread_id), "begun_ahead")
        return replace(found, brief=briefs.resumed(found.brief, said, begun))

    # ---- what is open

    @operation
    def open_loops(
        self, *, limit: int = 50, after: str | None = None, **filters: Unpack[LoopFilters]
    ) -> Operation[Page[OpenLoop]]:
        """What waits in all threads, newest first; each loop says its `thread_id`.

        Args:
            kind: "interrupt", "error", "tool_call", "question", "request", …; one or several.
            status: "open", "closed" or "any".
            branch: What was declared on other branches of its thread is marked `elsewhere`:
                "any" lists it too, "head" leaves it out, "elsewhere" lists nothing else.
            thread_id, user_id: In these threads; in the threads of these users.
            node, agent, author, run_id: Of these nodes or agents; declared by these; opened in
                these runs.
            ns: Of these namespaces; "" is a graph's own, others are subgraphs'.
            confidence: "declared", "structural", "model" or "heuristic", one or several, or "any".
                Without it, all but what was guessed from prose ("heuristic").
            since, until, closed_since: Opened at this time or later, or before; closed then or
                later: a `datetime`, or ISO text. A time without a zone is local.
            text: Only those with this in what they say, in upper or lower case.
        """
        return (yield from self._page(self._asked(listing.LIST_LOOPS, filters, limit, after)))

    aopen_loops = asynchronous(open_loops)

    @operation
    def todos(
        self, *, limit: int = 50, after: str | None = None, **filters: Unpack[TodoFilters]
    ) -> Operation[Page[Todo]]:
        """The steps of all threads' plans, newest first; each todo says its `thread_id`.

        On a page, what was put on a list together stands in the list's order.

        Args:
            status: "open" (all but "completed" and "cancelled"), "pending", "in_progress",
                "completed", "cancelled", one or several, or "any".
            filters: As for `open_loops`.
        """
        return (yield from self._page(self._asked(listing.LIST_TODOS, filters, limit, after)))

    atodos = asynchronous(todos)

    @operation
    def intentions(
        self, *, limit: int = 50, after: str | None = None, **filters: Unpack[IntentionFilters]
    ) -> Operation[Page[Intention]]:
        """What the threads are after, newest first; each intention says its `thread_id`.

        Args:
            aim: "explicit", "request" or "task"; one or several. A thread may have one of each.
            status: "open" (what it is after now), "closed" (what it was after) or "any".
            filters: As for `open_loops`.
        """
        return (yield from self._page(self._asked(listing.LIST_INTENTIONS, filters, limit, after)))

    aintentions = asynchronous(intentions)

    # ---- what happened

    @operation
    def events(
        self,
        *,
        since: str | None = None,
        kind: Some = None,
        thread_id: Some = None,
        author: Some = None,
        limit: int = 100,
    ) -> Operation[Page[FeedEvent]]:
        """What happened in all threads, oldest first, in commit order: each event once.

        Args:
            since: The `next` of the page before; it is there also when nothing is left to read.
                None: from the beginning. "now": nothing of what there is, only a `next` behind it.
            kind: A pillar ("todo", "context", "loop", "intention", "thread"), or one with what was
                done ("loop.open", "loop.close", "todo.change", "thread.fork", …); one or several.
            thread_id: In these threads.
            author: Declared by these.

        On Postgres an event is returned once no older transaction is running.
        """
        kinds = filtering.words(kind, "kind", feed.KINDS)
        asked = feed.Asked(
            filtering.count(limit), since, None if kinds is None else frozenset(kinds),
            filtering.ids(thread_id, "thread_id"), filtering.values(author, "author"), self._user,
        )  # fmt: skip
        script = partial(feed.page, self._dialect, self._codec, asked)
        found: Page[FeedEvent] = yield Read(self._engine.replica or self._engine, script)
        return found

    aevents = asynchronous(events)

    # ---- what the methods share

    def _asked(
        self, of: Any, given: Mapping[str, Any], limit: int, after: str | None, method: str = ""
    ) -> listing.Asked:
        """A listing with its filters; `method`: who asks, where it has another name."""
        given = {**given, "user_id": self._own_user(given.get("user_id"))}
        how: Any = {"limit": limit, "after": after, "encrypted": self._codec.sealer is not None}
        asked: listing.Asked = listing.asked(of, given, method=method, **how)
        reader = self._reader
        return asked if reader is None else asked._replace(covered=reader.extractors.covered_by)

    def _page(self, asked: listing.Asked) -> Operation[Page[Any]]:
        script = partial(listing.page, self._dialect, self._codec, asked)
        found: Page[Any] = yield Read(self._engine.replica or self._engine, script)
        return found

    def _also_said(self, asked: listing.Asked) -> Operation[listing.Asked]:
        """The same listing, with the threads that have the text in a message."""
        if asked.text is None or asked.nothing or not search.wanted(asked.text):
            return asked
        dialect, codec, text = self._dialect, self._codec, asked.text
        left = yield from self._read(search.stale)
        try:
            while left:
                some = left[: search.AT_ONCE]
                yield from self._write(partial(search.indexed, dialect, codec, some))
                left = left[search.AT_ONCE :]
            more = yield from self._read(partial(search.behind, dialect))
            while more:
                more = yield from self._write(partial(search.filled, dialect))
        except ReadOnlyDatabase:  # then what the index lacks is read each time
            pass
        keys = yield from self._read(partial(search.said, dialect, text))
        if left:
            keys |= yield from self._read(partial(search.read_through, codec, text, left))
        return listing.also(dialect, asked, keys) if keys else asked

    def _newest(self, asked: listing.Asked) -> Operation[WorkingState | None]:
        asked = yield from self._also_said(asked)
        script = partial(listing.page, self._dialect, self._codec, asked)
        lost: WorkingState | None = None
        for info in (yield from self._read(script)):
            try:
                state = yield from self._state(stored(info.thread_id, "thread_id"), None)
            except ThreadNotFound:  # deleted meanwhile
                continue
            if state.reason != LOST_REASON:
                return state
            lost = lost or state
        return lost

    def _state(self, thread_id: str, at: Point) -> Operation[WorkingState]:
        script = partial(points.state_at, self._dialect, self._codec, thread_id, at)
        return (yield from cast("WyrdSaver", self)._read_of(thread_id, script))

    # ---- what waits for a person

    @operation
    def inbox(
        self, *, limit: int = 50, after: str | None = None, **filters: Unpack[InboxFilters]
    ) -> Operation[Page[InboxEntry]]:
        """What waits for a person: interrupts, approvals and questions, newest first.

        Args:
            kind: "approval" (of actions, as langchain and Agent Inbox ask for it), "interrupt"
                (any other), "question" (asked in a message: answer it with a message); one or
                several.
            user, user_id: In the threads of these users; two names of one filter.
            thread_id: In these threads.
            node, agent: Asked by these nodes; by the agent of this name.
            assigned_to: Assigned to this person, see `thread.assign`.
            older_than: Waiting for longer than this: a `timedelta`.
        """
        return (yield from waiting.inbox(self, limit, after, filters))

    ainbox = asynchronous(inbox)

    def __repr__(self) -> str:
        whose = "" if self._user is None else f" of user {self._own_user(None)!r}"
        return f"<WyrdSaver{whose}: {self._where or 'a database'}>"


@viewed("state", "resumed_html", "resumed_text")
@dataclass(frozen=True, slots=True)
class Resumed:
    """A thread to go on with: `graph.invoke(inputs, resumed.config)`.

    `brief` says in words where it stands, with ages counted up to now.
    """

    thread_id: str
    config: RunnableConfig
    state: WorkingState
    brief: str
