"""Questions across all threads: which there are, and what is open in them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import feed, listing, points
from langgraph_wyrd.checkpoints.listing import ITEMS, TIMES, Filter
from langgraph_wyrd.checkpoints.points import Point
from langgraph_wyrd.conversation.of_saver import Inbox
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import Fire, Operation, Read, asynchronous, operation
from langgraph_wyrd.points import When as At
from langgraph_wyrd.points import checked
from langgraph_wyrd.resumed import Resumed, resumed
from langgraph_wyrd.state.model import (
    Aim,
    Intention,
    LoopKind,
    OpenLoop,
    Status,
    Todo,
    TodoStatus,
    WorkingState,
)
from langgraph_wyrd.storage.names import stored
from langgraph_wyrd.storage.scripts import Script

if TYPE_CHECKING:
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.state.feed import FeedEvent
    from langgraph_wyrd.state.listed import Page, ThreadInfo
    from langgraph_wyrd.storage.engine import Engine

When = str | datetime | None
Some = str | Iterable[str] | None  # one value or several; None: whatever it is

_LOOPS = {
    **ITEMS,
    "kind": Filter(lambda given, name: filters.words(given, name, get_args(LoopKind)), ""),
}
_TODOS = ITEMS
_INTENTIONS = {
    **ITEMS,
    "aim": Filter(
        lambda given, name: filters.words(given, name, get_args(Aim)),
        "CASE WHEN i.aim IN ({}) THEN TRUE ELSE FALSE END",
    ),
}
_THREADS = {
    "status": Filter(
        lambda given, name: filters.words(given, name, get_args(Status)), "i.status IN ({})"
    ),
    "since": Filter(TIMES["since"].check, "i.updated >= {}"),
    "until": Filter(TIMES["until"].check, "i.updated <= {}"),
}
_FEW = 8


class Queries(Inbox):
    """The part of a saver that asks across threads."""

    if TYPE_CHECKING:
        _engine: Engine
        hooks: Hooks
        _user: str | None

        @property
        def _codec(self) -> Codec: ...
        @property
        def _dialect(self) -> str: ...

    # ---- threads

    @operation
    def threads(
        self,
        *,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Operation[Page[ThreadInfo]]:
        """The threads, those with the newest activity first.

        ```python
        page = saver.threads(status="interrupted")
        for info in page:
            print(info.thread_id, info.reason)
        more = saver.threads(status="interrupted", after=page.next) if page.next else []
        ```

        Args:
            status: "idle", "interrupted", "error", "due" or "done"; one or several.
            user_id: Of these users (`metadata["user_id"]` of their runs).
            since: Only those where something was stored at this time or later: a `datetime`, or
                ISO text. A time without a zone is local.
            until: … at this time or before.
            text: Only those with this in their title or reason, in upper or lower case.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before, asked for with the same filters. A thread that
                moves on meanwhile moves to the front, before the page.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._threads_asked(status, user_id, since, until, text, limit, after)
        return (yield from self._page(asked))

    athreads = asynchronous(threads)

    @operation
    def latest(
        self,
        *,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
    ) -> Operation[Resumed | None]:
        """The thread with the newest activity, ready to go on with; None if there is none.

        ```python
        found = saver.latest(user_id="ann", status="interrupted")
        if found is not None:
            print(found.brief)
            graph.invoke(Command(resume="yes"), found.config)
        ```

        Args:
            status: As for `threads`, like all that follow.
            user_id: Of these users.
            since: Where something was stored at this time or later.
            until: … at this time or before.
            text: With this in the title or the reason.

        Raises:
            InvalidInput: A filter can't be used.
        """
        asked = self._threads_asked(status, user_id, since, until, text, _FEW, None)
        return resumed((yield from self._newest(asked)))

    alatest = asynchronous(latest)

    @operation
    def resume(
        self,
        thread_id: str | None = None,
        *,
        at: At = None,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
    ) -> Operation[Resumed]:
        """A thread, ready to go on with: this one, or the `latest` of these filters.

        Args:
            thread_id: Which. None: the `latest` one that the filters let through.
            at: A point of its past, as `thread.working_state` takes it: state and brief are those
                of then, and the config goes on from there, as a branch.
            status: As for `latest`, like all that follow.
            user_id: Of these users.
            since: Where something was stored at this time or later.
            until: … at this time or before.
            text: With this in the title or the reason.

        Raises:
            ThreadNotFound: There is no such thread.
            InvalidInput: A filter can't be used; or a thread and filters at once.
        """
        asked = self._threads_asked(status, user_id, since, until, text, _FEW, None)
        if thread_id is None:
            if at is not None:
                raise InvalidInput(f"resume(at={at!r}): say of which thread")
            state = yield from self._newest(asked)
        else:
            if asked.conditions or asked.user_ids is not None:
                raise InvalidInput("resume() takes a thread_id or filters, not both")
            state = yield from self._state(stored(str(thread_id), "thread_id"), checked(at))
        found = resumed(state, at)
        if found is None:
            raise ThreadNotFound("no thread fits: `threads()` lists what there is")
        what = Happening("resume", found.thread_id, found.state.checkpoint_id, state=found.state)
        yield Fire(self, (what,))
        return found

    aresume = asynchronous(resume)

    # ---- what is open

    @operation
    def open_loops(
        self,
        *,
        kind: Some = None,
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        ns: Some = None,
        agent: Some = None,
        author: Some = None,
        run_id: Some = None,
        confidence: Some = None,
        status: str = "open",
        branch: str = "any",
        since: When = None,
        until: When = None,
        closed_since: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Operation[Page[OpenLoop]]:
        """What waits in all threads, newest first; each loop says its `thread_id`.

        ```python
        for loop in saver.open_loops(kind="interrupt"):
            print(loop.thread_id, loop.description)
        ```

        Args:
            kind: "interrupt", "error", "tool_call", "question", "request", …; one or several.
            thread_id: In these threads.
            user_id: In the threads of these users.
            node: Of these nodes.
            ns: Of these namespaces; "" is a graph's own, others are subgraphs'.
            agent: Of these agents.
            author: Declared by these.
            run_id: Opened in these runs.
            confidence: "declared", "structural", "model" or "heuristic", one or several, or "any".
                Without it, all but what was guessed from prose ("heuristic").
            status: "open", "closed" or "any".
            branch: What was declared on other branches of its thread is marked `elsewhere`:
                "any" lists it too, "head" leaves it out, "elsewhere" lists nothing else.
            since: Opened at this time or later: a `datetime`, or ISO text. A time without a zone
                is local.
            until: Opened at this time or before.
            closed_since: Closed at this time or later.
            text: Only those with this in their description, in upper or lower case.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before, asked for with the same filters.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._asked(
            listing.LIST_LOOPS, _LOOPS,
            {
                "node": node, "ns": ns, "agent": agent, "author": author, "run_id": run_id,
                "confidence": confidence, "since": since, "until": until,
                "closed_since": closed_since,
            },
            status=filters.over(status), thread_id=thread_id, user_id=user_id, text=text,
            limit=limit, after=after, kind=_LOOPS["kind"].check(kind, "kind"), branch=branch,
        )  # fmt: skip
        return (yield from self._page(asked))

    aopen_loops = asynchronous(open_loops)

    @operation
    def todos(
        self,
        *,
        status: Some = "open",
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        ns: Some = None,
        agent: Some = None,
        author: Some = None,
        run_id: Some = None,
        confidence: Some = None,
        since: When = None,
        until: When = None,
        closed_since: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Operation[Page[Todo]]:
        """The steps of all threads' plans, newest first; each todo says its `thread_id`.

        On a page, what was put on a list together stands in the list's order.

        Args:
            status: "open" (all but "completed" and "cancelled"), "pending", "in_progress",
                "completed", "cancelled", one or several, or "any".
            thread_id: As for `open_loops`, like all that follow.
            user_id: In the threads of these users.
            node: Of these nodes.
            ns: Of these namespaces.
            agent: Of these agents.
            author: Declared by these.
            run_id: Opened in these runs.
            confidence: "declared", "structural", "model", "heuristic" or "any".
            since: Opened at this time or later.
            until: Opened at this time or before.
            closed_since: Closed at this time or later.
            text: Only those with this in their content.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._asked(
            listing.LIST_TODOS, _TODOS,
            {
                "node": node, "ns": ns, "agent": agent, "author": author, "run_id": run_id,
                "confidence": confidence, "since": since, "until": until,
                "closed_since": closed_since,
            },
            status=_steps(status), thread_id=thread_id, user_id=user_id, text=text, limit=limit,
            after=after,
        )  # fmt: skip
        return (yield from self._page(asked))

    atodos = asynchronous(todos)

    @operation
    def intentions(
        self,
        *,
        aim: Some = None,
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        ns: Some = None,
        agent: Some = None,
        author: Some = None,
        run_id: Some = None,
        confidence: Some = None,
        status: str = "open",
        since: When = None,
        until: When = None,
        closed_since: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Operation[Page[Intention]]:
        """What the threads are after, newest first; each intention says its `thread_id`.

        Args:
            aim: "explicit", "request" or "task"; one or several. A thread may have one of each.
            thread_id: As for `open_loops`, like all that follow.
            user_id: In the threads of these users.
            node: Of these nodes.
            ns: Of these namespaces.
            agent: Of these agents.
            author: Declared by these.
            run_id: Opened in these runs.
            confidence: "declared", "structural", "model", "heuristic" or "any".
            status: "open" (what it is after now), "closed" (what it was after) or "any".
            since: Opened at this time or later.
            until: Opened at this time or before.
            closed_since: Closed at this time or later.
            text: Only those with this in their text.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._asked(
            listing.LIST_INTENTIONS, _INTENTIONS,
            {
                "aim": aim, "node": node, "ns": ns, "agent": agent, "author": author,
                "run_id": run_id, "confidence": confidence, "since": since, "until": until,
                "closed_since": closed_since,
            },
            status=filters.over(status), thread_id=thread_id, user_id=user_id, text=text,
            limit=limit, after=after,
        )  # fmt: skip
        return (yield from self._page(asked))

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

        ```python
        page = saver.events(kind="loop.open")
        while True:
            for event in page:
                print(event.thread_id, event.kind, event.item)
            page = saver.events(since=page.next, kind="loop.open")   # empty where nothing is new
        ```

        Args:
            since: The `next` of the page before; it is there also when nothing is left to read.
                None: from the beginning.
            kind: A pillar ("todo", "context", "loop", "intention", "thread"), or one with what was
                done ("loop.open", "loop.close", "todo.change", "thread.fork", …); one or several.
            thread_id: In these threads.
            author: Declared by these.
            limit: At most so many, 1 to 1000.

        On Postgres an event is returned once no older transaction is running.

        Raises:
            InvalidInput: A filter, or the cursor, can't be used.
        """
        kinds = filters.words(kind, "kind", feed.KINDS)
        asked = feed.Asked(
            filters.count(limit), since, None if kinds is None else frozenset(kinds),
            filters.ids(thread_id, "thread_id"), filters.values(author, "author"), self._user,
        )  # fmt: skip
        script = partial(feed.page, self._dialect, self._codec, asked)
        found: Page[FeedEvent] = yield Read(self._engine, script)
        return found

    aevents = asynchronous(events)

    # ---- what the methods share

    def _asked(self, what: Any, known: Any, wanted: Any, **more: Any) -> listing.Asked:
        encrypted = self._codec.sealer is not None
        return listing.asked(what, known, wanted, encrypted=encrypted, **more)

    def _threads_asked(
        self, status: Some, user_id: Some, since: When, until: When, text: str | None,
        limit: int, after: str | None,
    ) -> listing.Asked:  # fmt: skip
        return self._asked(
            listing.LIST_THREADS, _THREADS, {"status": status, "since": since, "until": until},
            status=("open",), user_id=user_id, text=text, limit=limit, after=after,
        )  # fmt: skip

    def _page(self, asked: listing.Asked) -> Operation[Page[Any]]:
        found: Page[Any] = yield Read(
            self._engine, partial(listing.page, self._dialect, self._codec, asked)
        )
        return found

    def _newest(self, asked: listing.Asked) -> Operation[WorkingState | None]:
        dialect, codec = self._dialect, self._codec

        def script() -> Script[WorkingState | None]:
            for info in (yield from listing.page(dialect, codec, asked)):
                name = stored(info.thread_id, "thread_id")
                return (yield from points.state_at(dialect, codec, name, None))
            return None

        found: WorkingState | None = yield Read(self._engine, script)
        return found

    def _state(self, thread_id: str, at: Point) -> Operation[WorkingState]:
        script = partial(points.state_at, self._dialect, self._codec, thread_id, at)
        found: WorkingState = yield Read(self._engine, script, (thread_id,))
        return found


def _steps(status: Some) -> tuple[str, ...] | None:
    """Which todos are asked for."""
    found = filters.words(status, "status", (*get_args(TodoStatus), "open", "any"))
    if found is None or "any" in found:
        return None
    return tuple(sorted(set(found)))
