"""The conversation of a thread, and the answers to what it asks."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from langgraph_wyrd.conversation import answers
from langgraph_wyrd.conversation import messages as reading
from langgraph_wyrd.operations import Operation, asynchronous, operation
from langgraph_wyrd.thread.base import ThreadBase, When, checked

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


class MessageMethods(ThreadBase):
    """What was said in a thread, and what it waits for."""

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
            replace: Take the place of an answer that no run has taken up yet.

        Returns:
            What was stored, by interrupt id.

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
            expires_at: After that, answers are refused; None: as before. A graph may say so
                itself: `interrupt({"question": …, "expires_at": "2026-12-01T12:00:00+00:00"})`.
        """
        yield from answers.assign(self._saver, self, loop, to, expires_at, by)

    aassign = asynchronous(assign)
