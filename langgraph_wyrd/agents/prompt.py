"""What a model reads when it picks a thread up: a block of text behind the system prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_wyrd.agents.place import Place
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.operations import Operation, ask
from langgraph_wyrd.state.brief import entry
from langgraph_wyrd.state.model import ContextItem, OpenLoop, Todo, WorkingState, shortened
from langgraph_wyrd.state.wording import ago, moment

Earlier = str | Mapping[str, Any] | None
CarryFrom = Earlier | Callable[[RunnableConfig], Earlier]

_LOOKED_AT = 20  # threads, to find one that has something to carry
AUTHOR = "carried"


def open_before(
    given: CarryFrom, place: Place, config: RunnableConfig | None
) -> Operation[Carried | None]:
    """What the earlier thread left open and has pinned; None if there is nothing."""
    if callable(given):
        given = given(config or {})
    if given is None:
        return None
    if isinstance(given, str):
        ids = [given]
    elif isinstance(given, Mapping):
        page = yield ask(place.saver, "threads", **{"limit": _LOOKED_AT, **given})
        ids = [info.thread_id for info in page]
    else:
        raise InvalidInput(
            f"carry_from gave {given!r}: use a thread id, filters of saver.threads, or None"
        )
    for id in ids:
        if id == place.thread_id:
            continue
        try:
            state: WorkingState = yield ask(place.saver.thread(id), "working_state")
        except ThreadNotFound:  # this is the first session
            continue
        todos = tuple(todo for todo in state.open_todos if todo.confidence != "heuristic")
        decisions = tuple(loop for loop in state.open_loops if loop.kind == "decision")
        orders = tuple(item for item in state.context if item.pinned)
        if todos or decisions or orders:
            return Carried(id, todos, decisions, orders)
    return None


def take_over(place: Place, found: Carried) -> Operation[None]:
    """Declare an earlier thread's standing orders and open decisions in the new one.

    Under a key of their own, so that a run that begins again says nothing twice.
    """
    here = place.saver.thread(place.thread_id)
    source = {"carried_from": found.thread_id}
    for item in found.orders:
        notes = {**item.metadata, **source}
        yield ask(here, "set_context", item.key, item.value, notes, by=AUTHOR)
    for loop in found.decisions:
        said = [loop.context.get(name) for name in ("rationale", "action")]
        words = (loop.description, *(str(each) if each else None for each in said))
        yield ask(here, "decide", *words, by=AUTHOR, key=f"carried {loop.id}")


_LEAD = (
    "## Picked up again\n"
    "This thread goes on after a pause. Below is where it stood, as its checkpoints recorded it: "
    "no message of the user, and older than the newest messages. What has no recorded result may "
    "have happened: verify before redoing it."
)
_CARRIED = "## Left open in an earlier session"
_ORDERS = "## Standing orders\nThey hold for as long as this thread goes on."
_CLOSING = "Ids in brackets are what `close_loop` takes."
_TEXT = 300


@dataclass(frozen=True, slots=True)
class Carried:
    """What an earlier thread left open: todos and decisions; and its standing orders."""

    thread_id: str
    todos: tuple[Todo, ...]
    decisions: tuple[OpenLoop, ...] = ()
    orders: tuple[ContextItem, ...] = ()

    def channel(self) -> list[dict[str, Any]]:
        """As the `todos` channel has them, with where they come from and since when."""
        return [
            {"content": todo.content, "status": todo.status, "since": since(todo),
             "carried_from": todo.extra.get("carried_from") or self.thread_id}
            for todo in self.todos
        ]  # fmt: skip


def since(todo: Todo) -> str | None:
    """When it was first opened, in whichever session that was."""
    first = todo.extra.get("since")
    return first if isinstance(first, str) else todo.opened_at


def standing(state: WorkingState, max_chars: int, now: datetime, *, tools: bool) -> str:
    """Where a thread stood, within so many characters; empty where there is nothing to say."""
    if not (state.open_loops or state.open_todos or state.intentions or state.context):
        return ""
    lead = f"{_LEAD} {_CLOSING}" if tools else _LEAD
    room = max_chars - len(lead) - 2
    return f"{lead}\n\n{state.brief(max_chars=max(room, 0), now=now)}" if room > 0 else ""


def carried(found: Carried, max_chars: int, now: datetime, *, listed: bool) -> str:
    """The todos and decisions of an earlier session with their age, and how many there was no room
    for. Its standing orders are this thread's now, and told as such."""
    where = "They are on the todo list now." if listed else "They are on no list of this thread."
    whose = f"of thread {shortened(found.thread_id, 100)}."
    said = [f"{len(found.todos)} open todos {whose} {where}"] if found.todos else []
    if found.decisions:
        said.append(f"{len(found.decisions)} decisions {whose} Their outcome is not recorded.")
    if not said:
        return ""
    lines = [
        f"- {todo.status}: {shortened(todo.content, _TEXT)}{_age(since(todo), now)}"
        for todo in found.todos
    ]
    lines += [_decided(loop, now) for loop in found.decisions]
    return _fitted("\n".join([_CARRIED, *said]), lines, max_chars)


def orders_text(orders: Sequence[ContextItem], max_chars: int) -> str:
    """The standing orders of a thread; empty where it has none."""
    return _fitted(_ORDERS, [entry(item) for item in orders], max_chars) if orders else ""


def begun_text(begun: Sequence[str], max_chars: int) -> str:
    """Tool calls whose checkpoint is not stored; empty where there are none."""
    lead = "## Begun, and not stored"
    return _fitted(lead, [f"- {each}" for each in begun], max_chars) if begun else ""


def _decided(loop: OpenLoop, now: datetime) -> str:
    why = loop.context.get("rationale")
    said = f"- decided: {shortened(loop.description, _TEXT)}"
    said += f", because {shortened(str(why), _TEXT)}" if why else ""
    return said + _age(loop.opened_at, now)


def _age(opened: str | None, now: datetime) -> str:
    at = moment(opened)
    return "" if at is None else f" ({ago(max(now - at, timedelta()))})"


def _fitted(lead: str, lines: Sequence[str], most: int) -> str:
    text = "\n".join([lead, *lines])
    kept = len(lines)
    while len(text) > most and kept:
        kept -= 1
        text = "\n".join([lead, *lines[:kept], f"… and {len(lines) - kept} more."])
    return text[: max(most, 0)]


def with_block(system: SystemMessage | None, text: str) -> SystemMessage:
    """The system prompt with this behind it, as a block of its own: what stands before it is what
    it was, so that a provider's prompt cache still has it."""
    if system is None:
        return SystemMessage([{"type": "text", "text": text}])
    content = system.content
    before: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [*(b for b in before if b != {"type": "text", "text": ""})]
    return system.model_copy(update={"content": [*blocks, {"type": "text", "text": f"\n\n{text}"}]})
