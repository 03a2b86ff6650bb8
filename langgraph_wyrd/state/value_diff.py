"""What differs between two checkpoints' values, channel by channel."""

from __future__ import annotations

import ast
import json
import pickle
from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.state.model import shortened
from langgraph_wyrd.state.wording import LINE, counted, value_text

_SHORT_ID = 12  # characters: a longer id helps nobody on a line
_DEEPEST = 4  # levels of dicts whose keys are compared one by one
NOTHING = object()


@dataclass(frozen=True, slots=True)
class MessagesDiff:
    """What differs between two lists of messages."""

    appended: tuple[Any, ...] = ()
    edited: tuple[tuple[Any, Any], ...] = ()  # old and new
    removed: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ChannelsDiff:
    """What differs between two checkpoints' values, by path: `files["/notes.md"]`."""

    added: Mapping[str, Any] = field(default_factory=dict)
    removed: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # old and new
    messages: Mapping[str, MessagesDiff] = field(default_factory=dict)
    unread: tuple[str, ...] = ()  # changed too; but kept as deltas, without a value to compare
    damaged: tuple[str, ...] = ()  # channels of which something could not be read

    @property
    def empty(self) -> bool:
        values = (self.added, self.removed, self.changed, self.messages)
        return not any((*values, self.unread, self.damaged))

    def summary(self) -> str:
        """One line: `+2 messages, ~1 value`."""
        lists = self.messages.values()
        count = (
            ("+", "message", sum(len(each.appended) for each in lists)),
            ("-", "message", sum(len(each.removed) for each in lists)),
            ("~", "message", sum(len(each.edited) for each in lists)),
            ("+", "value", len(self.added)),
            ("-", "value", len(self.removed)),
            ("~", "value", len(self.changed)),
            ("~", "delta", len(self.unread)),
        )
        said = [f"{sign}{counted(n, what)}" for sign, what, n in count if n]
        said += [f"{len(self.damaged)} damaged"] if self.damaged else []
        return ", ".join(said) or "no changes"

    def lines(self) -> list[str]:
        """A line for each difference, long values shortened."""
        said = []
        for path, each in self.messages.items():
            said += [f"+ {path}: {_message(one)}" for one in each.appended]
            said += [f"~ {path}: {_message(a)} -> {value_text(b.content)}" for a, b in each.edited]
            said += [f"- {path}: {_message(one)}" for one in each.removed]
        said += [f"+ {path}: {value_text(value)}" for path, value in self.added.items()]
        said += [f"~ {p}: {_change(a, b)}" for p, (a, b) in self.changed.items()]
        said += [f"- {path}: {value_text(value)}" for path, value in self.removed.items()]
        said += [f"~ {path}: written to; kept as deltas, no value" for path in self.unread]
        return said + [f"~ {path}: damaged; only what can be read is told" for path in self.damaged]


def is_users(channel: str) -> bool:
    """Whether a channel is a graph's own; LangGraph's bookkeeping is of no interest."""
    if channel.startswith("__"):
        return channel in ("__previous__", "__end__")  # what a functional graph saved and gave
    return not channel.startswith(("branch:to:", "join:"))


def diff_values(a: Mapping[str, Any], b: Mapping[str, Any]) -> ChannelsDiff:
    """What differs between two checkpoints' values. 1, 1.0 and True are three values.

    Dicts are compared by their keys, lists of messages by their ids, anything else as a whole.
    """
    found: tuple[dict[str, Any], ...] = ({}, {}, {}, {})
    _compare(found, "", a, b, 0)
    added, removed, changed, messages = found
    return ChannelsDiff(added, removed, changed, messages)


def _compare(found: tuple[dict[str, Any], ...], path: str, a: Any, b: Any, depth: int) -> None:
    added, removed, changed, messages = found
    for key in sorted({**a, **b}, key=str):
        shown = json.dumps(key, ensure_ascii=False) if isinstance(key, str) else repr(key)
        here = f"{path}[{shown}]" if depth else str(key)
        old, new = a.get(key, NOTHING), b.get(key, NOTHING)
        if _alike(old, new):
            continue
        if (said := _messages(old, new)) is not None:
            messages[here] = said
        elif old is NOTHING:
            added[here] = new
        elif new is NOTHING:
            removed[here] = old
        elif depth < _DEEPEST and isinstance(old, dict) and isinstance(new, dict):
            _compare(found, here, old, new, depth + 1)
        else:
            changed[here] = (old, new)


def keys_of(path: str) -> tuple[str, tuple[Any, ...]]:
    """The channel and the keys of a path as a diff prints it; one that is none is a channel."""
    channel, bracket, rest = path.partition("[")
    keys: list[Any] = []
    try:
        node = ast.parse(f"_{bracket}{rest}", mode="eval").body
        while isinstance(node, ast.Subscript):
            keys.append(ast.literal_eval(node.slice))
            node = node.value
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return path, ()
    return (channel, tuple(reversed(keys))) if isinstance(node, ast.Name) else (path, ())


def is_same_at(keys: Sequence[Any], a: Any, b: Any) -> bool:
    """Whether two values hold the same, or both nothing, behind these keys."""
    return _alike(_at(a, keys), _at(b, keys))


def _at(value: Any, keys: Sequence[Any]) -> Any:
    for key in keys:
        if isinstance(value, Mapping):
            found = [held for name, held in value.items() if _alike(name, key)]
        elif not isinstance(value, (list, tuple)):
            found = []
        elif type(key) is int:
            found = list(value[key : key + 1]) if key >= 0 else []
        else:  # messages are known by their ids
            found = [held for held in value if _alike(getattr(held, "id", NOTHING), key)]
        if not found:
            return NOTHING
        value = found[0]
    return value


def _messages(old: Any, new: Any) -> MessagesDiff | None:
    """None for anything but lists of messages, and if only their order differs."""
    sides = [() if each is NOTHING else each for each in (old, new)]
    for each in sides:
        if not isinstance(each, (list, tuple)):
            return None
        if not all(hasattr(one, name) for one in each for name in ("id", "content", "type")):
            return None
    waiting: defaultdict[Hashable, deque[Any]] = defaultdict(deque)
    for each in sides[0]:
        waiting[_known_by(each)].append(each)
    appended, edited = [], []
    for each in sides[1]:
        if not (queue := waiting[_known_by(each)]):
            appended.append(each)
        elif not _alike(before := queue.popleft(), each):
            edited.append((before, each))
    removed = tuple(each for queue in waiting.values() for each in queue)
    found = MessagesDiff(tuple(appended), tuple(edited), removed)
    return found if appended or edited or removed else None


def _known_by(message: Any) -> Hashable:
    return message.id or (message.type, repr(message.content))


def _message(message: Any) -> str:
    """A message on a line: who says it, the words, the calls as `refund(order=7)`."""
    said = [value_text(message.content)] if message.content else []
    for call in getattr(message, "tool_calls", None) or ():
        args = ", ".join(f"{name}={value_text(value)}" for name, value in call["args"].items())
        said.append(shortened(f"{call['name']}({args})", 2 * LINE))
    id = message.id or ""
    who = f"{message.type} {id}".rstrip() if len(id) <= _SHORT_ID else message.type
    return f"{who}: {', '.join(said) or 'nothing'}"


def _change(old: Any, new: Any) -> str:
    """A change on a line; of a list of entries, only the entries that differ."""
    if isinstance(old, list) and isinstance(new, list) and old and new:
        if len(old) == len(new) and all(isinstance(each, Mapping) for each in (*old, *new)):
            pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
            more = [f"and {len(pairs) - 3} more"] if len(pairs) > 3 else []
            return "; ".join([*(_entry_change(*pair) for pair in pairs[:3]), *more])
        if new[: len(old)] == old:
            return f"+ {value_text(new[len(old) :])}"
    return f"{value_text(old)} -> {value_text(new)}"


def _entry_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """One entry of a list: what it is known by, and the fields that differ."""
    named = next((new[key] for key in ("content", "title", "name", "id") if new.get(key)), None)
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    said = ", ".join(
        f"{key} {value_text(old.get(key))} -> {value_text(new.get(key))}" for key in keys[:3]
    )
    return f"{value_text(named)}: {said}" if named is not None and said else said


def _alike(one: Any, other: Any) -> bool:
    """Equal in type and value, down to the parts."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(v, other[k]) for k, v in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_alike, one, other))
    parts = getattr(one, "__dict__", None)
    try:
        if getattr(type(one), "__eq__", None) is object.__eq__:
            return bool(parts) and _alike(parts, vars(other))
        is_equal = bool(one == other or (one != one and other != other))  # NaN is itself
        return is_equal and (not parts or _alike(parts, vars(other)))
    except Exception:  # an array has no single answer, others fail
        with suppress(Exception):
            return pickle.dumps(one) == pickle.dumps(other)
        return False
