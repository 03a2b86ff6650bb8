"""Questions across all threads: which there are, and what is open in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, get_args

from langgraph_wyrd.conversation.of_saver import Inbox
from langgraph_wyrd.later import later
from langgraph_wyrd.state.model import (
    Aim,
    Intention,
    LoopKind,
    OpenLoop,
    Status,
    Todo,
    TodoStatus,
)

if TYPE_CHECKING:
    from langgraph_wyrd.plans import filters, query
    from langgraph_wyrd.plans.filters import Asked, Values
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.state.listed import Page, ThreadInfo
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    filters, query = later("plans.filters", "plans.query")

T = TypeVar("T")
When = str | datetime | None
Some = str | Iterable[str] | None  # one value or several; None: whatever it is


class Across(Inbox):
    """The part of a saver that asks across threads."""

    if TYPE_CHECKING:
        _core: Core[Memory]

        @property
        def _codec(self) -> Codec: ...

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
    ) -> Page[ThreadInfo]:
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
        return self._listed(
            query.threads, self._threads(status, user_id, since, until, text, limit, after)
        )

    async def athreads(
        self,
        *,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ThreadInfo]:
        """Async version of `threads`."""
        return await self._alisted(
            query.threads, self._threads(status, user_id, since, until, text, limit, after)
        )

    def open_loops(
        self,
        *,
        kind: Some = None,
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        confidence: Some = None,
        status: str = "open",
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[OpenLoop]:
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
            confidence: "declared", "structural", "model" or "heuristic", one or several, or "any".
                Without it, all but what was guessed from prose ("heuristic").
            status: "open", "closed" or "any".
            since: Opened at this time or later: a `datetime`, or ISO text. A time without a zone
                is local.
            until: … at this time or before.
            text: Only those with this in their description, in upper or lower case.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before, asked for with the same filters. What is opened
                meanwhile belongs before the first page: nothing is shown twice or left out.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._items(
            filters.over(status),
            thread_id,
            user_id,
            node,
            confidence,
            since,
            until,
            text,
            limit,
            after,
            kind=kind,
        )
        return self._listed(query.loops, asked)

    async def aopen_loops(
        self,
        *,
        kind: Some = None,
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        confidence: Some = None,
        status: str = "open",
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[OpenLoop]:
        """Async version of `open_loops`."""
        asked = self._items(
            filters.over(status),
            thread_id,
            user_id,
            node,
            confidence,
            since,
            until,
            text,
            limit,
            after,
            kind=kind,
        )
        return await self._alisted(query.loops, asked)

    def todos(
        self,
        *,
        status: Some = "open",
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        confidence: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Todo]:
        """The steps of all threads' plans, newest first; each todo says its `thread_id`.

        On a page, what was put on a list together stands in the list's order.

        Args:
            status: "open" ("pending" and "in_progress"), "pending", "in_progress", "completed",
                "cancelled", one or several, or "any".
            thread_id: As for `open_loops`, like all that follow.
            user_id: In the threads of these users.
            node: Of these nodes.
            confidence: "declared", "structural", "model", "heuristic" or "any".
            since: Opened at this time or later.
            until: Opened at this time or before.
            text: Only those with this in their content.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._items(
            _steps(status), thread_id, user_id, node, confidence, since, until, text, limit, after
        )
        return self._listed(query.todos, asked)

    async def atodos(
        self,
        *,
        status: Some = "open",
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        confidence: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Todo]:
        """Async version of `todos`."""
        asked = self._items(
            _steps(status), thread_id, user_id, node, confidence, since, until, text, limit, after
        )
        return await self._alisted(query.todos, asked)

    def intentions(
        self,
        *,
        aim: Some = None,
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        confidence: Some = None,
        status: str = "open",
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Intention]:
        """What the threads are after, newest first; each intention says its `thread_id`.

        Args:
            aim: "explicit", "request" or "task"; one or several. A thread may have one of each.
            thread_id: As for `open_loops`, like all that follow.
            user_id: In the threads of these users.
            node: Of these nodes.
            confidence: "declared", "structural", "model", "heuristic" or "any".
            status: "open" (what it is after now), "closed" (what it was after) or "any".
            since: Opened at this time or later.
            until: Opened at this time or before.
            text: Only those with this in their text.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before.

        Raises:
            InvalidInput: A filter can't be used; or `text` on a store that encrypts.
        """
        asked = self._items(
            filters.over(status),
            thread_id,
            user_id,
            node,
            confidence,
            since,
            until,
            text,
            limit,
            after,
            aim=aim,
        )
        return self._listed(query.intentions, asked)

    async def aintentions(
        self,
        *,
        aim: Some = None,
        thread_id: Some = None,
        user_id: Some = None,
        node: Some = None,
        confidence: Some = None,
        status: str = "open",
        since: When = None,
        until: When = None,
        text: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Intention]:
        """Async version of `intentions`."""
        asked = self._items(
            filters.over(status),
            thread_id,
            user_id,
            node,
            confidence,
            since,
            until,
            text,
            limit,
            after,
            aim=aim,
        )
        return await self._alisted(query.intentions, asked)

    # ---- what the methods share

    def _threads(
        self,
        status: Some,
        user_id: Some,
        since: When,
        until: When,
        text: str | None,
        limit: int,
        after: str | None,
    ) -> Asked:
        return filters.Asked(
            limit=filters.count(limit),
            after=after,
            status=filters.words(status, "status", get_args(Status)),
            user_id=filters.ids(user_id, "user_id"),
            since=filters.moment(since, "since"),
            until=filters.moment(until, "until"),
            text=filters.wording(text, self._codec.sealed),
        )

    def _items(
        self,
        status: Values,
        thread_id: Some,
        user_id: Some,
        node: Some,
        confidence: Some,
        since: When,
        until: When,
        text: str | None,
        limit: int,
        after: str | None,
        *,
        kind: Some = None,
        aim: Some = None,
    ) -> Asked:
        return filters.Asked(
            limit=filters.count(limit),
            after=after,
            status=status,
            kind=filters.words(kind, "kind", get_args(LoopKind)),
            aim=filters.words(aim, "aim", get_args(Aim)),
            confidence=filters.trust(confidence),
            sure=confidence is None,
            thread_id=filters.ids(thread_id, "thread_id"),
            user_id=filters.ids(user_id, "user_id"),
            node=filters.values(node, "node"),
            since=filters.moment(since, "since"),
            until=filters.moment(until, "until"),
            text=filters.wording(text, self._codec.sealed),
        )

    def _listed(self, plan: Callable[[Codec, Asked], Plan[Page[T]]], asked: Asked) -> Page[T]:
        return self._core.run(lambda core: self._found(core, plan, asked))

    async def _alisted(
        self, plan: Callable[[Codec, Asked], Plan[Page[T]]], asked: Asked
    ) -> Page[T]:
        return await self._core.arun(lambda core: self._found(core, plan, asked))

    async def _found(
        self,
        core: Running[Memory],
        plan: Callable[[Codec, Asked], Plan[Page[T]]],
        asked: Asked,
    ) -> Page[T]:
        codec = self._codec
        return await core.read(lambda: plan(codec, asked))


def _steps(status: Some) -> Values:
    """Which todos are asked for."""
    found = filters.words(status, "status", (*get_args(TodoStatus), "open", "any"))
    if found is None or "any" in found:
        return None
    if "open" in found:
        found = (*(each for each in found if each != "open"), *query.OPEN_TODOS)
    return tuple(sorted(set(found)))
