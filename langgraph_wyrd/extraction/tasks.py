"""What happened to the tasks of a checkpoint: who waits for an answer, what failed.

Read from pending writes, either of one task as they are saved, or of all of a checkpoint's tasks
at once. These facts belong to the leaf: a child checkpoint closes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xxhash import xxh3_128_hexdigest

from langgraph_wyrd.extraction.due import (
    CONTROL,
    ERROR,
    ERROR_SOURCE,
    HANDLER,
    INTERRUPT,
    NULL_TASK,
    RESUME,
    SENDS,
    is_call,
    node_of,
    place_of,
)
from langgraph_wyrd.extraction.interrupts import asked, parts_of
from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.plain import bounded
from langgraph_wyrd.extraction.view import TaskWrite, View
from langgraph_wyrd.state.facts import Fact, Opens, Settles
from langgraph_wyrd.state.model import HOLDS_UP, OpenLoop, shortened

_QUESTION = 500  # characters of a description
_ERROR_REPR = late(r"^([A-Za-z_][\w.]*)\((.*)\)$", re.DOTALL)
_MAP_KEY = late(r"^[0-9a-f]{32}$")


@dataclass(slots=True)
class _Task:
    """The writes of one task, sorted."""

    id: str
    path: str = ""
    interrupts: list[Any] = field(default_factory=list)
    error: Any = None
    failed: bool = False
    routed: bool = False
    finished: bool = False
    answers: int = 0


def tasks(view: View) -> Iterable[Fact]:
    """Interrupts, errors and answers among a task's writes."""
    if view.putting or not view.writes:
        return ()
    return _of_writes(view)


def _of_writes(view: View) -> Iterator[Fact]:
    found: dict[str, _Task] = {}
    answers: list[Any] = []
    for write in view.writes:
        if write.task == NULL_TASK:
            if write.channel == RESUME:
                answers.append(write.value)
            continue
        task = found.get(write.task)
        if task is None:
            task = found[write.task] = _Task(write.task, write.path)
        _sort(task, write)
    asking = any(task.interrupts for task in found.values())
    if answers and not asking:
        # An answer that stands beside a question may be to an earlier one of the same task.
        for answer in answers:
            yield from _answered(view, answer)
    handled = {task.path.partition(HANDLER)[0] for task in found.values() if _handles(task)}
    seen: set[str] = set()
    failed: list[tuple[str, Opens]] = []
    for task in found.values():
        if task.failed and not (task.routed and task.path in handled):
            opened = _error(view, task)
            if not _known_of_a_call(view, task, opened, failed):
                failed.append((task.path, opened))
                yield opened
        if not view.previous.loops and not task.interrupts:
            continue  # nothing that could be over
        yield from _over(view, task)
        if not task.finished:
            for interrupt in task.interrupts:
                if task.failed and _was_answered(view, task, interrupt):
                    continue
                opened = _interrupt(view, task, interrupt)
                if opened.ref not in seen:  # a call and its caller report the same one
                    seen.add(opened.ref or "")
                    yield opened


def _sort(task: _Task, write: TaskWrite) -> None:
    channel = write.channel
    if channel not in CONTROL:
        task.finished = True
    elif channel == INTERRUPT:
        value = write.value
        task.interrupts += value if isinstance(value, list | tuple) else [value]
    elif channel == ERROR:
        task.failed, task.error = True, write.value
    elif channel == RESUME:
        task.answers = len(write.value) if isinstance(write.value, list | tuple) else 1
    elif channel == ERROR_SOURCE:
        task.routed = True


def _handles(task: _Task) -> bool:
    return task.finished and not task.failed and HANDLER in task.path


# ---- what is over


def _answered(view: View, answer: Any) -> Iterator[Fact]:
    source = view.at("interrupt", task_id=NULL_TASK, channel=RESUME)
    if isinstance(answer, dict) and answer and all(map(_is_id, answer)):
        for id in answer:
            yield Settles(("interrupt",), "answered", source, id)
    else:
        yield Settles(("interrupt",), "answered", source)


def _is_id(key: Any) -> bool:
    return isinstance(key, str) and _MAP_KEY.match(key) is not None


def _over(view: View, task: _Task) -> Iterator[Fact]:
    """What this task, or the one whose error it handles, waited for or failed with before."""
    again = {parts_of(each)[0] for each in task.interrupts} if not task.finished else set()
    handles = _handles(task)
    for loop in view.previous.loops:
        if loop.kind not in ("interrupt", "error") or loop.resolved:
            continue
        source = loop.source
        if source.task_id == task.id:
            if loop.kind == "interrupt" and loop.ref not in again:
                answered = task.finished or task.answers
                yield _settled(view, task, loop, "answered" if answered else "it ran again")
            elif source.rule == "task_error" and not task.failed:
                how = "it ran again" if task.finished else "it ran again, and asks"
                yield _settled(view, task, loop, how)
        elif (
            handles
            and source.rule == "task_error"
            and source.node is not None
            and source.node == node_of(task.path, view.values)
        ):
            yield _settled(view, task, loop, "handled by the graph")


def _was_answered(view: View, task: _Task, interrupt: Any) -> bool:
    """Whether a task that failed did so after the answer; its question is still in its slot."""
    ids = own_ids(view.ns, node_of(task.path, view.values), task.id, task.answers)
    return parts_of(interrupt)[0] in ids


def own_ids(ns: str, node: str | None, task: str, count: int) -> list[str]:
    """The ids of a task's first interrupts, apart from those of subgraphs that it calls.

    An interrupt's id is made of its task's namespace and of how many answers the task has.
    """
    if node is None:
        return []
    mine = f"{ns}|{node}:{task}" if ns else f"{node}:{task}"
    return [xxh3_128_hexdigest((f"{mine}|{n}" if n else mine).encode()) for n in range(count)]


def _settled(view: View, task: _Task, loop: OpenLoop, outcome: str) -> Settles:
    rule = "interrupt" if loop.kind == "interrupt" else "task_error"
    return Settles((loop.kind,), outcome, view.at(rule, task_id=task.id), loop.ref)


# ---- errors


def _error(view: View, task: _Task) -> Opens:
    context: dict[str, Any] = {}
    if task.routed:
        context["error_handler"] = True  # the graph itself deals with it
    node = node_of(task.path, view.values)
    if node is not None:
        context["node"] = node
    if is_call(task.path):
        context["called"] = True  # by the node, as a task of its own
    return Opens(
        "error",
        error_text(task.error),
        view.at("task_error", task_id=task.id, node=node, channel=ERROR),
        task.id,
        context,
    )


def _known_of_a_call(
    view: View, task: _Task, opened: Opens, failed: list[tuple[str, Opens]]
) -> bool:
    """Whether this is the error of a call that brought its caller down, told of the other one.

    Of the two the first one stands, whichever comes first.
    """
    node, called = opened.source.node, is_call(task.path)
    if node is None:
        return False
    for path, other in failed:
        if other.source.node == node and other.description == opened.description:
            return called != is_call(path)
    for loop in view.previous.loops:
        if (
            not loop.resolved
            and loop.source.rule == "task_error"
            and loop.source.node == node
            and loop.source.task_id != task.id
            and loop.description == opened.description
            and bool(loop.context.get("called")) != called
        ):
            return True
    return False


def error_text(error: Any) -> str:
    """An error in words, the same for the exception and for its repr, which is what is stored."""
    text = error if isinstance(error, str) else repr(error)
    parts = _ERROR_REPR.match(text)
    if parts is None:
        return shortened(text[:4000], _QUESTION)
    name, inside = parts.groups()
    try:
        said = ast.literal_eval(f"({inside[:4000]},)") if inside else ()
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return shortened(text[:4000], _QUESTION)
    if not said:
        return name
    about = said[0] if len(said) == 1 else ", ".join(map(str, said))
    return shortened(f"{name}: {about}", _QUESTION)


# ---- interrupts


def _interrupt(view: View, task: _Task, interrupt: Any) -> Opens:
    id, value, schema = parts_of(interrupt)
    description, context, call = asked(value)
    if schema is not None:
        context["response_schema"] = bounded(schema)[0]
    held = _held_up(view, task, context, call)
    if held:
        context[HOLDS_UP] = held
        call = call or (held[0] if len(held) == 1 else None)
    node = node_of(task.path, view.values)
    source = view.at("interrupt", task_id=task.id, node=node, channel=INTERRUPT, tool_call_id=call)
    return Opens("interrupt", description, source, id or task.id, context)


def _held_up(view: View, task: _Task, context: Mapping[str, Any], call: str | None) -> list[str]:
    """The tool calls that wait for this answer: what is to be approved, or what asks itself."""
    waiting = [
        loop
        for loop in view.previous.loops
        if loop.kind in ("tool_call", "task") and loop.ref is not None and not loop.resolved
    ]
    if call is not None:
        return [call]
    held: list[str] = []
    for action in context.get("actions") or ():
        named = [each for each in waiting if each.context.get("name") == action["name"]]
        alike = [each for each in named if _same_args(each.context.get("args"), action["args"])]
        for each in alike or named[:1]:
            if each.ref is not None and each.ref not in held:
                held.append(each.ref)
                break
    if held or not waiting:
        return held
    # A tool that asks: its task is one of the newest message's calls.
    last = waiting[-1].source.message_id
    made = [
        loop.ref
        for loop in view.previous.loops
        if loop.kind in ("tool_call", "task") and loop.source.message_id == last and loop.ref
    ]
    place = place_of(task.path)
    sends = view.values.get(SENDS)
    if isinstance(place, int) and isinstance(sends, Sequence) and len(sends) == len(made):
        return [made[place]] if place < len(made) else []
    return [made[0]] if len(made) == 1 else []


def _same_args(one: Any, other: Any) -> bool:
    """Whether two calls have the same arguments, each shown as far as there was room."""
    try:
        return bool(one == other) or str(one)[:200] == str(other)[:200]
    except Exception:
        return False
