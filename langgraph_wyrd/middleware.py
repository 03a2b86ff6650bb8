"""The working state for `langchain.agents.create_agent` and deepagents, without writing nodes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from langgraph_wyrd.agents.message_repair import sent_to
from langgraph_wyrd.agents.once import begin_call
from langgraph_wyrd.agents.place import Place, before_input, place_of, served_ago, serves, state_at
from langgraph_wyrd.agents.repair_node import differ, now, repaired_at, replacing
from langgraph_wyrd.agents.tools import loop_tools
from langgraph_wyrd.errors import InvalidInput, MissingExtra
from langgraph_wyrd.extraction.owed import BOOKKEEPING
from langgraph_wyrd.operations import Operation, arun, ask, asynchronous, operation, run
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.brief import entry
from langgraph_wyrd.state.model import WorkingState

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        ToolCallRequest,
    )
except ImportError as error:
    raise MissingExtra(
        "WyrdMiddleware is for langchain's agents: pip install 'langgraph-wyrd[agents]'"
    ) from error

_MOST = 10_000  # threads and calls that are kept in mind
Answer = ToolMessage | Command[Any]


class WyrdMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Tells the model where a thread stood, lets it note what is open, and repairs its history.

    ```python
    agent = create_agent(model, tools, middleware=[WyrdMiddleware()], checkpointer=saver)
    ```

    - A thread that is picked up again (by another process, or after `idle`) begins with the brief
      of what stood open, behind the system prompt of its first model call; it is not stored.
    - The tools `open_loop`, `close_loop`, `set_intention` and `note_decision` make declared items.
    - The history is repaired before the model sees it: see `repair_messages`.
    - Standing orders (pinned context) are read at every model call, behind the system prompt.
    - A tool call that a killed process had begun is not begun again: the model reads that.

    Args:
        saver: The checkpointer; without it, the one that the agent runs with.
        idle: How long nothing happened before a thread counts as picked up again; None: only in
            another process.
        max_chars: The most that the model reads at once; 0: nothing.
        tools: Whether the agent gets the four tools.
        repair: Whether the history is repaired.
        once: Whether, or for which tools by name, a call that was begun and left no result is
            reported rather than run again when a run goes on.
    """

    def __init__(
        self,
        saver: WyrdSaver | None = None,
        *,
        idle: timedelta | None = timedelta(minutes=30),
        max_chars: int = 6000,
        tools: bool = True,
        repair: bool = True,
        once: bool | Collection[str] = True,
    ) -> None:
        super().__init__()
        for name, value, fits, wanted in (
            ("saver", saver, isinstance(saver, WyrdSaver | None), "a WyrdSaver, or none"),
            ("idle", idle, isinstance(idle, timedelta | None), "a timedelta, or None"),
            ("once", once, not isinstance(once, str), "a list of tool names, True or False"),
            ("max_chars", max_chars, max_chars >= 0, "a number of characters, 0 or more"),
        ):  # fmt: skip
            if not fits:
                raise InvalidInput(f"{name}={value!r}: pass {wanted}")
        self._saver = saver
        self._idle = idle
        self._max_chars = max_chars
        self._repair = repair
        self._once = once
        self._pending: OrderedDict[str, str] = OrderedDict()  # for the next model call
        self._asked_for: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._running: OrderedDict[tuple[str, str, float | None], None] = OrderedDict()
        self.tools = loop_tools(saver) if tools else []

    # ---- a run begins with new input

    @operation
    def before_agent(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> Operation[dict[str, Any] | None]:
        """Repair what earlier runs left broken, and find out what the model must read."""
        config = _config()
        place = place_of(self._saver, config, runtime.execution_info)
        text = ""
        if self._picked_up(place):
            before = yield from before_input(place, "", place.root_id)
            if before is not None:
                text = yield from self._standing(place, before.checkpoint["id"])
        _keep(self._pending, place.thread_id, text)
        if not self._repair:
            return None
        messages = state["messages"]
        return replacing(messages, (yield from repaired_at(place, messages))) or None

    abefore_agent = asynchronous(before_agent)  # type: ignore[arg-type]

    # ---- a model call

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add to the prompt where the thread stood, once; repair the history that is sent."""
        place = self._place(request)
        response = handler(run(self._asks(place, request)))
        self._answered(place, response)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Async version of `wrap_model_call`."""
        place = self._place(request)
        response = await handler(await arun(self._asks(place, request)))
        self._answered(place, response)
        return response

    def _place(self, request: ModelRequest[Any]) -> Place:
        return place_of(self._saver, _config(), request.runtime.execution_info)

    def _asks(self, place: Place, request: ModelRequest[Any]) -> Operation[ModelRequest[Any]]:
        text = self._pending.get(place.thread_id)
        if text is None:
            text = yield from self._goes_on(place)
        pillars = place.saver._reader is not None
        if pillars and self._max_chars and not text:  # else they are in the brief
            orders = yield ask(place.saver.thread(place.thread_id), "standing_orders")
            text = listed(_ORDERS, [*map(entry, orders)], self._max_chars)
        if text:
            request = request.override(system_message=with_block(request.system_message, text))
        if self._repair:
            repaired = sent_to(request.model, request.messages)
            if differ(request.messages, repaired):
                request = request.override(messages=cast("list[AnyMessage]", repaired))
        return request

    def _answered(self, place: Place, response: ModelResponse[Any]) -> None:
        self._pending.pop(place.thread_id, None)
        serves(place.saver, place.thread_id)
        for message in response.result:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                if call["id"]:
                    _keep(self._asked_for, (place.thread_id, call["id"]), None)

    # ---- a tool call

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]
    ) -> Answer:
        """Note that the call begins; one that a killed process had begun is reported instead."""
        said = run(self._starts(request))
        return handler(request) if said is None else said

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """Async version of `wrap_tool_call`."""
        said = await arun(self._starts(request))
        return await handler(request) if said is None else said

    def _starts(self, request: ToolCallRequest) -> Operation[ToolMessage | None]:
        name, id = request.tool_call["name"], request.tool_call["id"]
        place = place_of(self._saver, request.runtime.config, request.runtime.execution_info)
        running = (place.task_id, id or "", place.node_began)
        if running in self._running:  # tried again, by a policy or another middleware
            return None
        # What the model asked for in this process was begun nowhere before.
        is_new = self._asked_for.pop((place.thread_id, id or ""), ()) is None
        if not is_new and place.thread_id not in self._pending:
            # The run before goes on, and what stood open is about to be settled.
            yield from self._goes_on(place)
        chosen = self._once if isinstance(self._once, bool) else name in self._once
        if not chosen or not id or name in BOOKKEEPING:
            return None
        said = yield from begin_call(place, name, id, is_new=is_new, now=now())
        if said is None:
            _keep(self._running, running, None)
        return said

    # ---- what the model reads

    def _picked_up(self, place: Place) -> bool:
        """Whether this process did not go on with the thread lately."""
        last = served_ago(place.saver, place.thread_id)
        return last is None or (self._idle is not None and last >= self._idle.total_seconds())

    def _goes_on(self, place: Place) -> Operation[str]:
        """What the model reads where no input began the run."""
        text = (yield from self._standing(place, None)) if self._picked_up(place) else ""
        _keep(self._pending, place.thread_id, text)
        return text

    def _standing(self, place: Place, checkpoint_id: str | None) -> Operation[str]:
        if not self._max_chars:
            return ""
        state = yield from state_at(place, checkpoint_id)
        text = standing(state, self._max_chars, now(), tools=bool(self.tools))
        begun = yield ask(place.saver.thread(place.thread_id), "begun_ahead")
        return "\n\n".join(
            filter(None, (text, listed(_BEGUN, [f"- {each}" for each in begun], self._max_chars)))
        )


def _config() -> RunnableConfig | None:
    try:
        return get_config()
    except RuntimeError:  # async code before Python 3.11
        return None


def _keep(held: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    held[key] = value
    if len(held) > _MOST:
        held.popitem(last=False)


# ---- texts for the model

_LEAD = (
    "## Picked up again\n"
    "This thread goes on after a pause. Below is where it stood, as its checkpoints recorded it: "
    "no message of the user, and older than the newest messages. What has no recorded result may "
    "have happened: verify before redoing it."
)
_ORDERS = "## Standing orders\nThey hold for as long as this thread goes on."
_BEGUN = "## Begun, and not stored"  # tool calls whose checkpoint is not stored
_CLOSING = "Ids in brackets are what `close_loop` takes."


def standing(state: WorkingState, max_chars: int, now: datetime, *, tools: bool) -> str:
    """Where a thread stood, within so many characters; empty where there is nothing to say."""
    if not (state.open_loops or state.open_todos or state.intentions or state.context):
        return ""
    lead = f"{_LEAD} {_CLOSING}" if tools else _LEAD
    room = max_chars - len(lead) - 2
    return f"{lead}\n\n{state.brief(max_chars=max(room, 0), now=now)}" if room > 0 else ""


def listed(lead: str, lines: Sequence[str], most: int) -> str:
    """As many lines as there is room for under a heading; empty where there are none."""
    text = "\n".join([lead, *lines])
    kept = len(lines)
    while len(text) > most and kept:
        kept -= 1
        text = "\n".join([lead, *lines[:kept], f"… and {len(lines) - kept} more."])
    return text[: max(most, 0)] if lines else ""


def with_block(system: SystemMessage | None, text: str) -> SystemMessage:
    """The system prompt with this behind it, as a block of its own: what stands before it is what
    it was, so that a provider's prompt cache still has it."""
    if system is None:
        return SystemMessage([{"type": "text", "text": text}])
    content = system.content
    before: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [*(b for b in before if b != {"type": "text", "text": ""})]
    return system.model_copy(update={"content": [*blocks, {"type": "text", "text": f"\n\n{text}"}]})
