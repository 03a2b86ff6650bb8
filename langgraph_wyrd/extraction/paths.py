"""Which task is which, where only its id is stored: ids follow from what a task is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xxhash import xxh3_128_hexdigest

from langgraph_wyrd.extraction.due import NULL_TASK, START
from langgraph_wyrd.state.model import Due


def task_paths(
    checkpoint_id: str,
    ns: str,
    step: int | None,
    due: Sequence[Due],
    versions: Mapping[str, Any],
    tasks: Sequence[str],
) -> dict[str, str]:
    """The paths of these tasks, as far as what is due tells them. The others are left out."""
    wanted = {task for task in tasks if task != NULL_TASK}
    found: dict[str, str] = {}
    if not wanted:
        return found
    for each in due:
        path = (
            f"~__pregel_pull, {each.node}"
            if each.index is None
            else f"~__pregel_push, {each.index:010d}, False"
        )
        for task in _ids(checkpoint_id, ns, step, each, versions):
            if task in wanted:
                found[task] = path
    left = wanted - found.keys()
    rest = [each for each in due if each.index is None and _path(each) not in found.values()]
    if len(left) == 1 and len(rest) == 1 and rest[0].node != START:
        found[left.pop()] = _path(rest[0])
    return found


def _path(due: Due) -> str:
    return f"~__pregel_pull, {due.node}"


def _ids(
    checkpoint_id: str, ns: str, step: int | None, due: Due, versions: Mapping[str, Any]
) -> list[str]:
    """The ids that the task may have. A node's hangs on all that triggers it."""
    if step is None:
        return []
    try:
        start = bytes.fromhex(checkpoint_id.replace("-", ""))
    except ValueError:
        return []
    node = due.node
    parts = [f"{ns}|{node}" if ns else node, str(step + 1), node]
    if due.index is not None:
        ends = [["__pregel_push", str(due.index)]]
    elif node == START or f"branch:to:{node}" not in versions:
        joins = _joins(node, versions)
        ends = [["__pregel_pull", START], ["__pregel_pull", *joins]]
        ends.append(["__pregel_pull", f"branch:to:{node}", *joins])
    else:
        ends = [["__pregel_pull", f"branch:to:{node}", *_joins(node, versions)]]
    return [_id(start, [*parts, *end]) for end in ends]


def _joins(node: str, versions: Mapping[str, Any]) -> list[str]:
    return sorted(n for n in versions if n.startswith("join:") and n[n.rfind(":") + 1 :] == node)


def _id(start: bytes, parts: list[str]) -> str:
    found = xxh3_128_hexdigest(start + "".join(parts).encode())
    return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:32]}"
