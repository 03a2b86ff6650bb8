"""The part of a thread's handle that shows its conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from langgraph_wyrd.conversation.calls import ASYNC, run
from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.later import later

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from langgraph_wyrd.conversation import messages as reading
else:
    reading = later("conversation.messages")


class Conversing(Handle):
    """What was said in a thread."""

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


def _point(at: When) -> When:
    """A point, refused here if it is none."""
    checked(at)
    return at
