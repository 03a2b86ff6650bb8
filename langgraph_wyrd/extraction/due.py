"""Which nodes a checkpoint is about to run, read from its channels alone.

A node is due when a channel that triggers it holds a value newer than the one it has seen. The
names of the trigger channels say which node that is (`branch:to:<node>`, `join:<a>+<b>:<node>`),
and Sends wait in a channel of their own, so no graph is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph_wyrd.extraction.view import TaskWrite, View
from langgraph_wyrd.state.model import Due

START = "__start__"
SENDS = "__pregel_tasks"
INTERRUPT = "__interrupt__"
RESUME = "__resume__"
ERROR = "__error__"
ERROR_SOURCE = "__error_source_node__"
NULL_TASK = "00000000-0000-0000-0000-000000000000"
# Writes that say what happened to a task, not what came out of it.
CONTROL = frozenset((INTERRUPT, RESUME, ERROR, ERROR_SOURCE))

_PULL = "~__pregel_pull, "
_PUSH = "~__pregel_push, "
HANDLER = ", node_error_handler"
_BRANCH = "branch:to:"
JOIN = "join:"


def due(view: View) -> list[Due]:
    """What runs next, Sends first as LangGraph runs them; tasks that finished are not looked at."""
    found: list[Due] = []
    nodes: set[str] = set()
    sends: Any = None
    for name, value in view.values.items():
        if name.startswith(_BRANCH):
            node = name[10:]
            if _finished(value) and _newer(view, node, name):
                nodes.add(node)
        elif name.startswith(JOIN):
            node = name[name.rfind(":") + 1 :]
            if _all_there(name, value) and _newer(view, node, name):
                nodes.add(node)
        elif name == SENDS:
            sends = value
        elif name == START:
            node = entry(view.seen)
            if _newer(view, node, name):
                nodes.add(node)
    if sends and isinstance(sends, Sequence):
        found += [
            Due(send.node, index) for index, send in enumerate(sends) if hasattr(send, "node")
        ]
    if nodes:
        found += map(Due, sorted(nodes))
    return found


def finished(writes: Iterable[TaskWrite]) -> frozenset[str | int]:
    """The nodes, and the places among the Sends, whose task has output: it won't run again.

    A task that failed after it wrote counts too: LangGraph takes it as done when it resumes.
    """
    found: set[str | int] = set()
    for write in writes:
        if write.channel in CONTROL or write.task == NULL_TASK:
            continue
        place = place_of(write.path)
        if place is not None:
            found.add(place)
    return frozenset(found)


def remaining(due: Iterable[Due], writes: Sequence[TaskWrite]) -> tuple[Due, ...]:
    """What is due without what finished, given the checkpoint's pending writes with their paths."""
    due = tuple(due)
    if not writes or not due:
        return due
    done = finished(writes)
    left: list[Due] = []
    for each in due:
        if len(due) == 1 and each.node == START and each.index is None and START not in done:
            # A functional graph runs its entrypoint for it, which has another name.
            name = next((w.path for w in writes if w.path.startswith(_PULL)), "")
            place = place_of(name)
            if isinstance(place, str) and place != START:
                each = Due(place)
        if (each.node if each.index is None else each.index) not in done:
            left.append(each)
    return tuple(left)


def paused_before(view: View) -> tuple[str, ...]:
    """The nodes that a breakpoint may have stopped the run at.

    Where the breakpoints are is compiled into the graph, not stored: this rules out what can't be
    one, namely an input that nothing has read yet, and a checkpoint that a run went past already.
    """
    nodes = tuple(dict.fromkeys(each.node for each in due(view)))
    if not nodes or START in view.values:
        return ()
    passed = view.seen.get(INTERRUPT, {})
    if all(not _after(version, passed.get(name)) for name, version in view.versions.items()):
        return ()
    return nodes


def place_of(path: str) -> str | int | None:
    """The node that a task path names, or its place among the Sends; None for any other task.

    Calls of the functional API, and error handlers, have a path that begins with another's.
    """
    if HANDLER in path:
        return None
    if path.startswith(_PULL):
        return path[len(_PULL) :].partition(", ")[0]
    if path.startswith(_PUSH):
        index = path[len(_PUSH) :].partition(", ")[0]
        return int(index) if index.isdigit() else None
    return None


def is_call(path: str) -> bool:
    """Whether a task was called by another one (`@task`), which waits for it."""
    return path.startswith(_PUSH) and _PULL in path and HANDLER not in path


def node_of(path: str, values: Mapping[str, Any]) -> str | None:
    """The node that a task path belongs to, as far as the path and the Sends say it."""
    place = place_of(path)
    if isinstance(place, str):
        return place
    if place is not None:
        sends = values.get(SENDS)
        if isinstance(sends, Sequence) and place < len(sends):
            node = getattr(sends[place], "node", None)
            return node if isinstance(node, str) else None
        return None
    at = path.find(_PULL)  # whose call it was, or whose error is handled
    return path[at + len(_PULL) :].partition(", ")[0] if at >= 0 else None


def entry(seen: Mapping[str, Mapping[str, Any]]) -> str:
    """Who reads the input: `__start__`, or the entrypoint of a functional graph that ran before."""
    if START in seen:
        return START
    for node, channels in seen.items():
        if START in channels and not node.startswith("__"):
            return node
    return START


def _finished(value: Any) -> bool:
    """A deferred node's trigger says whether everything else is over."""
    return not (
        type(value) in (tuple, list)
        and len(value) == 2
        and isinstance(value[1], bool)
        and not value[1]
    )


def _all_there(name: str, value: Any) -> bool:
    """Whether a join has heard of everyone it is named after; names may hold a `+` themselves."""
    if type(value) in (tuple, list) and len(value) == 2 and isinstance(value[1], bool):
        value, over = value
        if not over:
            return False
    if not isinstance(value, set | frozenset | list | tuple) or not value:
        return False
    if not all(isinstance(each, str) for each in value):
        return False
    awaited = name[len(JOIN) : name.rfind(":")]
    return sum(map(len, value)) + len(value) - 1 == len(awaited) or set(awaited.split("+")) == set(
        value
    )


def _newer(view: View, node: str, channel: str) -> bool:
    seen = view.seen.get(node)
    if seen is None:
        return True
    return _after(view.versions.get(channel), seen.get(channel))


def _after(version: Any, seen: Any) -> bool:
    """Versions are numbers or strings, and what was never seen is before all of them."""
    if version is None:
        return False
    if seen is None:
        return bool(version)
    try:
        return bool(version > seen)
    except TypeError:
        return bool(version != seen)
