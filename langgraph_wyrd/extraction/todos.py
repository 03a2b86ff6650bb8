"""Plans that an agent keeps: the `todos` channel, calls of common trackers, background tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langgraph_wyrd.extraction.messages import Message, digest
from langgraph_wyrd.extraction.plain import bounded, unwrapped
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.state.facts import Fact, Listed, Opens, Settles, Todos
from langgraph_wyrd.state.model import Todo, TodoStatus, shortened

CHANNEL = "todos"
BACKGROUND = "async_tasks"
_CONTENT = 500  # characters of an entry
_EXTRA = 300
_MOST = 200  # entries of a list

# Trackers that are tools: what their list is called among the arguments.
_TRACKERS = {
    "write_todos": ("todos",),
    "TodoWrite": ("todos",),
    "todo_write": ("todos",),
    "todowrite": ("todos",),
    "update_plan": ("plan", "steps"),
}
_OTHER_LISTS = ("todos", "plan", "items", "tasks", "steps")

_PENDING = "pending todo to_do open new not_started planned queued waiting"
_BLOCKED = "blocked on_hold paused deferred"  # not begun again, and the word says why
_DOING = "in_progress doing active started running wip ongoing current"
_DONE = "completed complete done finished closed success resolved"
_DROPPED = "cancelled canceled dropped skipped abandoned removed deleted"
_WORDS: tuple[tuple[TodoStatus, str], ...] = (
    ("pending", f"{_PENDING} {_BLOCKED}"),
    ("in_progress", _DOING),
    ("completed", _DONE),
    ("cancelled", _DROPPED),
)
_STATUS: dict[str, TodoStatus] = {
    word: status for status, words in _WORDS for word in words.split()
}
_PRIORITY = {
    **dict.fromkeys(("low", "minor", "p3", "p4"), "low"),
    **dict.fromkeys(("medium", "normal", "default", "p2"), "medium"),
    **dict.fromkeys(("high", "important", "major", "p1"), "high"),
    **dict.fromkeys(("critical", "urgent", "blocker", "highest", "p0"), "critical"),
}
_TEXT = ("content", "step", "title", "task", "subject", "description", "text", "name", "goal")
_REF = ("id", "ref", "task_id", "todo_id", "key")
_OVER = {"cancelled", "success", "error", "timeout", "interrupted", "completed", "failed", "done"}


def todos(view: View) -> Iterable[Fact]:
    """The `todos` channel's list; without one, the list that a tracker's newest call gives."""
    if view.channels.left_out(CHANNEL):
        return ()
    if view.putting:
        if CHANNEL in view.changed and CHANNEL in view.values:
            return (_channel(view, CHANNEL, unwrapped(view.values[CHANNEL])),)
        if CHANNEL in view.gone:
            return (_channel(view, CHANNEL, ()),)
        if CHANNEL in view.versions or digest(view).calls.isdisjoint(_TRACKERS):
            return ()
        return _called(view)
    return _written(view) if view.writes else ()


def background(view: View) -> Iterable[Fact]:
    """Subagents that work elsewhere: a loop while they do, or while they wait for a person."""
    if view.channels.left_out(BACKGROUND):
        return ()
    if view.putting:
        if BACKGROUND not in view.changed:
            return ()
        return _background(view, unwrapped(view.values.get(BACKGROUND)))
    found = [write.value for write in view.writes if write.channel == BACKGROUND]
    return (fact for each in found for fact in _background(view, each))


# ---- the channel


def _channel(view: View, channel: str, value: Any) -> Todos:
    return Todos(channel, entries(value), view.at("todos", channel=channel))


def _written(view: View) -> Iterator[Fact]:
    """The list in a task's writes, where it is sure to be the whole one."""
    calls = () if digest(view).calls.isdisjoint(_TRACKERS) else digest(view).written
    for write in view.writes:
        if write.channel == CHANNEL:
            if _whole(view, write.task):
                yield Todos(
                    CHANNEL,
                    entries(write.value),
                    view.at("todos", channel=CHANNEL, task_id=write.task),
                )
        elif messages := [message for whose, message in calls if whose is write]:
            yield from _calls(view, write.channel, messages, write.task)


def _whole(view: View, task: str) -> bool:
    """A node may write entries that a reducer adds; the tool that writes the list also says so."""
    if not any(todo.tracker == CHANNEL for todo in view.previous.todos):
        return True
    return any(
        write.channel == "messages"
        and write.task == task
        and isinstance(write.value, list)
        and any(str(getattr(m, "content", ""))[:20] == "Updated todo list to" for m in write.value)
        for write in view.writes
    )


# ---- calls of a tracker


def _called(view: View) -> Iterator[Fact]:
    for news in digest(view).news:
        messages = (message for _, message in news.messages() if message.calls)
        yield from _calls(view, news.channel, messages, None)


def _calls(
    view: View, channel: str, messages: Iterable[Message], task: str | None
) -> Iterator[Fact]:
    """The lists in the tool calls of new messages."""
    lists: dict[str, tuple[Listed, ...]] = {}
    for message in messages:
        known = [call for call in message.calls if call.name in _TRACKERS and not call.malformed]
        if not known or CHANNEL in view.versions:
            continue
        if sum(call.name == "write_todos" for call in known) > 1:
            continue  # langchain's tool refuses two lists in one turn
        for call in known:
            args = call.args
            if not isinstance(args, Mapping):
                continue
            keys = (*_TRACKERS[call.name], *_OTHER_LISTS)
            held = next((args[key] for key in keys if args.get(key) is not None), None)
            if held is None:
                continue
            # Its tool keeps the list in the channel, which is there only from the next step on.
            tracker = CHANNEL if call.name == "write_todos" else f"tool:{call.name}"
            items = entries(held)
            if args.get("merge") is True:
                items = _merged(lists.get(tracker) or _listed(view.previous.todos, tracker), items)
            lists[tracker] = items
            where = view.at(
                "todos", channel=channel, message_id=message.id, tool_call_id=call.id, task_id=task
            )
            yield Todos(tracker, items, where, "declared")


def _listed(held: Sequence[Todo], tracker: str) -> tuple[Listed, ...]:
    return tuple(
        Listed(todo.content, todo.status, todo.priority, todo.ref, todo.extra)
        for todo in held
        if todo.tracker == tracker
    )


def _merged(before: tuple[Listed, ...], update: tuple[Listed, ...]) -> tuple[Listed, ...]:
    """A list with some of its entries changed, by the tracker's own ids."""
    found = {each.ref or each.content: each for each in before}
    for each in update:
        key = each.ref or each.content
        old = found.get(key)
        if old is not None:  # what the update leaves unsaid stays
            content = old.content if each.content == each.ref else each.content
            priority = old.priority if each.priority == "medium" else each.priority
            extra = {**old.extra, **each.extra}
            each = Listed(content, each.status, priority, each.ref, extra)
        found[key] = each
    return tuple(found.values())


# ---- entries


def entries(value: Any) -> tuple[Listed, ...]:
    """A tracker's list, whatever it calls its fields; what says nothing is left out."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, Mapping):
        held = next((value[key] for key in _OTHER_LISTS if isinstance(value.get(key), list)), None)
        value = list(value.values()) if held is None else held
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    found = (entry(each) for each in value[:_MOST])
    return tuple(each for each in found if each is not None)


def _parsed(text: str) -> Any:
    """Some models send the list as JSON text, or as lines."""
    start = text.lstrip()[:1]
    if start in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return ()
    return [line for line in text[:20_000].splitlines() if line.strip()]


def entry(value: Any) -> Listed | None:
    """One entry of a list: text, a dict, or an object with fields."""
    if isinstance(value, str):
        return _line(value)
    if not isinstance(value, Mapping):
        value = getattr(value, "__dict__", None)
        if not isinstance(value, Mapping):
            return None
    used = {"status", "priority"}
    content = ref = None
    for key in _TEXT:
        if isinstance(text := value.get(key), str) and text.strip():
            content = text
            used.add(key)
            break
    for key in _REF:
        if isinstance(id := value.get(key), str | int) and not isinstance(id, bool):
            ref = str(id)[:_EXTRA]
            used.add(key)
            break
    if content is None:
        if ref is None:
            return None
        content = ref
    said = value.get("status", value.get("state"))
    if said is None and isinstance(done := value.get("done", value.get("completed")), bool):
        said = "done" if done else "pending"
    status, odd = _status(said)
    priority = value.get("priority")
    extra = {
        str(key): bounded(held, _EXTRA)[0]
        for key, held in value.items()
        if key not in used and not str(key).startswith("_") and held is not None
    }
    if odd is not None:
        extra["status"] = odd
    return Listed(shortened(content, _CONTENT), status, _priority(priority), ref, extra)


def _line(text: str) -> Listed | None:
    """A line of a list, with or without a bullet and a box."""
    line = text.strip()
    if line[:2] in ("- ", "* ", "• "):
        line = line[2:].lstrip()
    status: TodoStatus = "pending"
    if len(line) > 3 and line[0] == "[" and line[2] == "]":
        status = {"x": "completed", "X": "completed", "~": "in_progress", "-": "cancelled"}.get(
            line[1], "pending"
        )  # type: ignore[assignment]
        line = line[3:].strip()
    return Listed(shortened(line, _CONTENT), status) if line else None


def _status(said: Any) -> tuple[TodoStatus, str | None]:
    """Our word for a tracker's, and the tracker's own where that says more."""
    if said is None:
        return "pending", None
    word = str(getattr(said, "value", said))[:60]
    key = word.strip().lower().replace("-", "_").replace(" ", "_")
    status = _STATUS.get(key)
    if status is None:
        return "pending", word
    return status, word if key in _BLOCKED.split() else None


def _priority(said: Any) -> str:
    if said is None:
        return "medium"
    word = str(getattr(said, "value", said))[:60]
    return _PRIORITY.get(word.strip().lower(), word)


# ---- tasks in the background


def _background(view: View, value: Any) -> Iterator[Fact]:
    if not isinstance(value, Mapping):
        return
    for key, held in value.items():
        if not isinstance(held, Mapping):
            continue
        task = str(held.get("task_id") or key)
        again = f"{task} {held.get('run_id')}"  # a task that was over may be sent on
        status = str(held.get("status") or "running")
        source = view.at("async_tasks", channel=BACKGROUND)
        if status in _OVER:
            yield Settles(("task",), status, source, task)
            yield Settles(("task",), status, source, again)
            continue
        over = any(loop.ref == task and loop.resolved for loop in view.previous.loops)
        agent = str(held.get("agent_name") or "a subagent")
        does = "waits for a person" if status == "waiting" else "works in the background"
        context = {
            name: bounded(held[name], _EXTRA)[0]
            for name in ("agent_name", "status", "thread_id", "run_id", "created_at")
            if held.get(name) is not None
        }
        ref = again if over else task
        yield Opens("task", f"{shortened(agent, 100)} {does}", source, ref, context)
