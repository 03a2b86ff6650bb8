"""The parts of a thread's handle that show its conversation and answer its questions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from langgraph_wyrd.conversation.calls import ASYNC, run
from langgraph_wyrd.later import later
from langgraph_wyrd.points import When, checked

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from langgraph_wyrd.conversation import answers
    from langgraph_wyrd.conversation import messages as reading
    from langgraph_wyrd.state.inbox import InboxEntry
    from langgraph_wyrd.state.model import OpenLoop

    Asked = str | OpenLoop | InboxEntry | None  # a question, or its id; None: the only one
else:
    answers, reading = later("conversation.answers", "conversation.messages")


class Conversing:
    """What was said in a thread, and what it waits for."""

    if TYPE_CHECKING:
        _saver: Any

    @overload
    def messages(
        self,
        at: When = None,
        *,
        all: bool = False,
        as_dicts: Literal[False] = False,
        channel: str | None = None,
        ns: str = "",
        limit: int | None = None,
    ) -> list[BaseMessage]: ...
    @overload
    def messages(
        self,
        at: When = None,
        *,
        all: bool = False,
        as_dicts: Literal[True],
        channel: str | None = None,
        ns: str = "",
        limit: int | None = None,
    ) -> list[dict[str, Any]]: ...
    def messages(
        self,
        at: When = None,
        *,
        all: bool = False,
        as_dicts: bool = False,
        channel: str | None = None,
        ns: str = "",
        limit: int | None = None,
    ) -> list[BaseMessage] | list[dict[str, Any]]:
        """The conversation, oldest message first.

        ```python
        for message in thread.messages(as_dicts=True):
            print(message["role"], message["content"])
        ```

        At the head, the results of tools that have finished are included before LangGraph stores
        the checkpoint that holds them. A `DeltaChannel` is rebuilt.

        Args:
            at: A point in the thread's past. None: the head.
            all: Every message on the way to that point, also those that summarising or trimming
                removed, each once and in the order in which they appeared. A removed one has
                `in_state` False: in its dict, or in its `response_metadata`. This walks the
                history.
            as_dicts: Dicts of plain data instead of LangChain's messages: `role` ("user",
                "assistant", "tool", "system", …), `content`, `id`, `name`, `tool_calls`,
                `tool_call_id`, `status`, `usage`, `in_state`, `pending` (not yet in a checkpoint);
                and with `all` the `ts` and `checkpoint_id` where it first appeared.
            channel: The channel that holds them. None: `messages`, else the first one that holds
                messages.
            ns: The namespace of a subgraph, as `"researcher:5e1b…"`. Points there are checkpoint
                ids.
            limit: At most so many, the newest ones.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
            InvalidInput: The thread has no such channel.
        """
        asked = (self._saver, self, _point(at))
        found = run(reading.read, *asked, all=all, channel=channel, ns=ns, limit=limit)
        return [each.as_dict() if as_dicts else each.as_message() for each in found]  # type: ignore[return-value]

    @overload
    async def amessages(
        self,
        at: When = None,
        *,
        all: bool = False,
        as_dicts: Literal[False] = False,
        channel: str | None = None,
        ns: str = "",
        limit: int | None = None,
    ) -> list[BaseMessage]: ...
    @overload
    async def amessages(
        self,
        at: When = None,
        *,
        all: bool = False,
        as_dicts: Literal[True],
        channel: str | None = None,
        ns: str = "",
        limit: int | None = None,
    ) -> list[dict[str, Any]]: ...
    async def amessages(
        self,
        at: When = None,
        *,
        all: bool = False,
        as_dicts: bool = False,
        channel: str | None = None,
        ns: str = "",
        limit: int | None = None,
    ) -> list[BaseMessage] | list[dict[str, Any]]:
        """Async version of `messages`."""
        asked = (self._saver, self, _point(at))
        found = await reading.read(ASYNC, *asked, all=all, channel=channel, ns=ns, limit=limit)
        return [each.as_dict() if as_dicts else each.as_message() for each in found]  # type: ignore[return-value]

    def answer(
        self, value: Any, loop: Asked = None, by: str | None = None, *, replace: bool = False
    ) -> dict[str, Any]:
        """Answer an interrupt, without the graph: the next `invoke(None, config)` goes on.

        ```python
        for entry in saver.inbox():
            saver.thread(entry.thread_id).answer("approve", loop=entry, by="ann")
        ```

        Of two answers at once, from whichever process, one is stored and the other is refused.

        Args:
            value: The answer. For an approval a decision (`"approve"`, `{"type": "edit", …}`), or
                a list of one for each action; langchain's and Agent Inbox's words are understood,
                and the answer is stored in the form that the node expects. For several
                interrupts, a dict of answers by interrupt id.
            loop: An entry of the inbox, an open loop, its id, or an interrupt's id. None: the only
                one that waits.
            by: Who answers.
            replace: Take the place of an answer that no run has taken up yet.

        Returns:
            What was stored, by interrupt id.

        Raises:
            AnswerNotAllowed: The interrupt does not take such an answer.
            AlreadyAnswered: Somebody answered before.
            QuestionExpired: Its `expires_at` has passed.
            ItemNotFound: Nothing waits, or there is no such loop.
            ThreadNotFound: No such thread.
        """
        return run(answers.answer, self._saver, self, value, loop, by, replace)

    async def aanswer(
        self, value: Any, loop: Asked = None, by: str | None = None, *, replace: bool = False
    ) -> dict[str, Any]:
        """Async version of `answer`."""
        return await answers.answer(ASYNC, self._saver, self, value, loop, by, replace)

    def assign(
        self,
        loop: Asked = None,
        *,
        to: str | None = None,
        expires_at: datetime | str | None = None,
        by: str | None = None,
    ) -> None:
        """Say whose question an interrupt is, and until when it can be answered.

        `saver.inbox(assigned_to=…)` lists one person's; anybody may still answer.

        Args:
            loop: As for `answer`.
            to: Whose it is; None: as before.
            expires_at: After that, answers are refused; None: as before. A graph may say so
                itself: `interrupt({"question": …, "expires_at": "2026-12-01T12:00:00+00:00"})`.
            by: Who says so.

        Raises:
            ItemNotFound: Nothing waits, or there is no such loop.
            ThreadNotFound: No such thread.
        """
        run(answers.assign, self._saver, self, loop, to, expires_at, by)

    async def aassign(
        self,
        loop: Asked = None,
        *,
        to: str | None = None,
        expires_at: datetime | str | None = None,
        by: str | None = None,
    ) -> None:
        """Async version of `assign`."""
        await answers.assign(ASYNC, self._saver, self, loop, to, expires_at, by)


def _point(at: When) -> When:
    """A point, refused here if it is none."""
    checked(at)
    return at
