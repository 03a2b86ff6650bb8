"""What an agent knows or made: the values of its channels, bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Overwrite

from langgraph_wyrd.extraction.aims import aim_text, plan_of
from langgraph_wyrd.extraction.plain import bounded, unwrapped
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.state.facts import Fact, Forgets, Holds

FILES = "files"
_MOST_FILES = 100
# Only the names in these: what they hold can be read where it is.
_NAMES = frozenset(("memory_contents", "skills_metadata"))
WHOLE, BEGINNING = 1000, 200  # characters of JSON

# What a functional graph keeps, under the names that its users know.
_FUNCTIONAL = {"__end__": "result", "__previous__": "previous"}


def context(view: View) -> Iterable[Fact]:
    """An entry for each user channel that changed."""
    if not view.putting or not (view.changed or view.gone):
        return ()
    return _entries(view)


def _entries(view: View) -> Iterator[Fact]:
    policy = view.channels
    for name in sorted(view.changed):
        if name.startswith("__"):
            if name in _FUNCTIONAL and name in view.values and _functional(view, name):
                yield from _entry(view, _FUNCTIONAL[name], name, view.values[name])
        elif policy.is_context(name):
            if name in view.values:
                value = unwrapped(view.values[name])
                if not _elsewhere(view, name, value):
                    yield from _entry(view, name, name, value)
            elif name in view.versions and view.writes:
                yield from _delta(view, name)
    for name in sorted(view.gone):
        if policy.is_context(name):
            yield Forgets(name, view.at("context", channel=name))


def _elsewhere(view: View, name: str, value: Any) -> bool:
    """Aims and plans are in pillars of their own, unless they were asked for here."""
    if view.channels.context is not None or name not in view.channels.aims:
        return False
    return plan_of(name, value) is not None or aim_text(value) is not None or not value


def _functional(view: View, name: str) -> bool:
    """What it returned, and what it saved for the next run unless that is the same."""
    policy = view.channels
    if policy.context is not None:
        return name in policy.context
    if name in policy.exclude:
        return False
    return name == "__end__" or not _alike(view.values[name], view.values.get("__end__"))


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same, though each was loaded on its own."""
    if one is other:
        return True
    try:
        return bool(one == other)
    except Exception:
        return False  # an array, or whatever will not be compared


def _entry(view: View, key: str, channel: str, value: Any) -> Iterator[Fact]:
    if _messages(value):
        return
    if channel == FILES and isinstance(value, Mapping):
        shown, about = _files({str(path): size_of(held) for path, held in value.items()})
    elif channel in _NAMES:
        shown, about = _brief(_names(value))
    else:
        shown, about = _brief(value)
    yield Holds(key, shown, view.at("context", channel=channel), about)


def _brief(value: Any) -> tuple[Any, dict[str, Any]]:
    """A small value whole; of a big one the beginning, as it is written with each change."""
    shown, about = bounded(value, WHOLE)
    return bounded(value, BEGINNING) if about else (shown, about)


def _messages(value: Any) -> bool:
    if isinstance(value, BaseMessage):
        return True
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], BaseMessage)


def _names(value: Any) -> Any:
    if isinstance(value, Mapping):
        return list(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [
            each.get("name", "?") if isinstance(each, Mapping) else getattr(each, "name", str(each))
            for each in value
        ]
    return value


# ---- files


def size_of(held: Any) -> int:
    """The characters in a file: text, lines, or a dict with either."""
    if isinstance(held, Mapping):
        held = held.get("content")
    if isinstance(held, str | bytes):
        return len(held)
    if isinstance(held, list | tuple):
        return sum(len(line) + 1 for line in held if isinstance(line, str))
    return 0


def _files(sizes: Mapping[str, int]) -> tuple[dict[str, int], dict[str, Any]]:
    about: dict[str, Any] = {"count": len(sizes)}
    shown: dict[str, int] = {}
    room = 1900
    for path in sorted(sizes):
        room -= len(path) + 12
        if room < 0 or len(shown) == _MOST_FILES:
            about["shortened"] = True
            break
        shown[path] = sizes[path]
    return shown, about


# ---- channels whose value is not in the checkpoint, only the writes that lead to it


def _delta(view: View, name: str) -> Iterator[Fact]:
    """A dict's entry, from what was known of it and what was written since."""
    writes = [write.value for write in view.writes if write.channel == name]
    if not writes:
        return
    known = next((item for item in view.previous.context if item.key == name), None)
    if known is not None and not isinstance(known.value, Mapping):
        return
    held: dict[str, Any] = dict(known.value) if known is not None else {}
    cut = known is not None and bool(known.metadata.get("shortened"))
    count = known.metadata.get("count", len(held)) if known is not None else 0
    held.pop("…", None)
    for value in writes:
        over, value = _overwritten(value)
        if over:
            held, cut, count = {}, False, 0
        if not isinstance(value, Mapping):
            return  # a list, or a reducer of its own: what it makes of this is not known here
        for key, each in value.items():
            path = str(key)
            if each is None:
                count -= path in held or cut
                held.pop(path, None)
            else:
                count += path not in held
                held[path] = size_of(each) if name == FILES else each
    shown, about = _files(held) if name == FILES else _brief(held)
    if name == FILES or cut:
        about["count"] = max(count, len(shown))
    if cut:
        about["shortened"] = True
    yield Holds(name, shown, view.at("context", channel=name), about)


def _overwritten(value: Any) -> tuple[bool, Any]:
    """Whether a write replaces all that was there, in any of the forms it is stored in."""
    if isinstance(value, Overwrite):
        return True, value.value
    if isinstance(value, dict):
        if len(value) == 1 and "__overwrite__" in value:
            return True, value["__overwrite__"]
        if value.get("type") == "__overwrite__" and "value" in value:
            return True, value["value"]
    return False, value
