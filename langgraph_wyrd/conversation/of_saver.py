"""The part of a saver that lists what waits for a person."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from langgraph_wyrd.conversation.calls import ASYNC, run
from langgraph_wyrd.later import later

if TYPE_CHECKING:
    from langgraph_wyrd.conversation import inbox as waiting
    from langgraph_wyrd.state.inbox import InboxEntry
    from langgraph_wyrd.state.listed import Page
else:
    waiting = later("conversation.inbox")

Some = str | Iterable[str] | None  # one value or several; None: whatever it is


class Inbox:
    """What waits for a person, in all threads."""

    def inbox(
        self,
        *,
        kind: Some = None,
        user: Some = None,
        thread_id: Some = None,
        node: Some = None,
        agent: str | None = None,
        assigned_to: str | None = None,
        older_than: timedelta | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[InboxEntry]:
        """What waits for a person: interrupts, approvals and questions, newest first.

        ```python
        for entry in saver.inbox(older_than=timedelta(hours=1)):
            print(entry.thread_id, entry.question, entry.allowed)
        ```

        Args:
            kind: "approval" (of actions, as langchain and Agent Inbox ask for it), "interrupt"
                (any other), "question" (asked in a message: answer it with a message); one or
                several. "breakpoint" lists threads that stand before a node; a run that was killed
                there, or is at work there, looks the same, so it is only listed when asked for.
            user: In the threads of these users.
            thread_id: In these threads.
            node: Asked by these nodes.
            agent: Asked by the agent of this name (`create_agent(name=…)`).
            assigned_to: Assigned to this person, see `thread.assign`.
            older_than: Waiting for longer than this.
            limit: At most so many on a page, 1 to 1000.
            after: The `next` of the page before, asked for with the same filters.

        Raises:
            InvalidInput: A filter can't be used.
        """
        return run(
            waiting.inbox, self, kind=kind, user=user, thread_id=thread_id, node=node, agent=agent,
            assigned_to=assigned_to, older_than=older_than, limit=limit, after=after,
        )  # fmt: skip

    async def ainbox(
        self,
        *,
        kind: Some = None,
        user: Some = None,
        thread_id: Some = None,
        node: Some = None,
        agent: str | None = None,
        assigned_to: str | None = None,
        older_than: timedelta | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[InboxEntry]:
        """Async version of `inbox`."""
        return await waiting.inbox(
            ASYNC, self, kind=kind, user=user, thread_id=thread_id, node=node, agent=agent,
            assigned_to=assigned_to, older_than=older_than, limit=limit, after=after,
        )  # fmt: skip
