"""Events: what a put or a task's writes changed, as small plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from hashlib import blake2b
from math import isfinite
from operator import attrgetter
from typing import Any, Literal

from langgraph_wyrd.state import codec
from langgraph_wyrd.state.model import Source, WorkingState, plain_data

Pillar = Literal["todo", "context", "loop", "intention", "thread"]
Op = Literal["open", "change", "close", "drop", "base", "failed", "fork"]

DEEPEST = 32  # levels of nested data; extractors stay far below


@plain_data
class Moment:
    """When and where something was seen: at a put, or (`task`) in a task's writes."""

    checkpoint_id: str
    ns: str = ""
    ts: str | None = None
    task: str = ""


@plain_data
class Event:
    """One change of one item. Says nothing twice: what the moment tells is not repeated.

    `open` has the item without what its fields are by default, `change` the fields that changed,
    `close` how it ended, `drop` nothing; `base` holds a whole state, `failed` what an extractor
    raised, `fork` which head a checkpoint left behind. `source` is where it was
    seen, without a checkpoint and namespace that are the moment's.
    """

    pillar: Pillar
    op: Op
    item: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"pillar": self.pillar, "op": self.op}
        if self.item:
            out["item"] = self.item
        if self.body:
            out["body"] = dict(self.body)
        if self.source:
            out["source"] = dict(self.source)
        return out

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Event:
        return Event(
            data["pillar"],
            data["op"],
            data.get("item", ""),
            data.get("body") or {},
            data.get("source") or {},
        )


def base(state: WorkingState) -> Event:
    """A whole state in one event: a replay can start from it, whatever was before."""
    body = codec.to_dict(state, compact=True)
    for told in ("thread_id", "checkpoint_id", "ts", "ns"):  # the row it is stored in knows
        body.pop(told, None)
    return Event("thread", "base", "", body)


# The rules of bases that can't be read out of a checkpoint.
PRUNED = "pruned"  # stands for a path that is gone
REWOUND = "rewound"  # the state of the checkpoint that was made the head again
DECLARED = "declared"  # what a fork's transform made of the state


def is_pruned(event: Event) -> bool:
    return event.op == "base" and event.source.get("rule") == PRUNED


def is_kept(event: Event) -> bool:
    """Whether a base says what no checkpoint does."""
    return event.op == "base" and event.source.get("rule") in (PRUNED, REWOUND, DECLARED)


# ---- sources


_WHERE = ("node", "channel", "message_id", "task_id", "tool_call_id", "rule", "author")
_WHOSE = (*_WHERE, "agent", "run_id")
_where, _whose = attrgetter(*_WHERE), attrgetter(*_WHOSE)


def packed(source: Source, at: Moment, opening: bool = False) -> dict[str, Any]:
    """A source without what the moment says. Only what is opened tells whose it is."""
    out: dict[str, Any] = {}
    elsewhere = source.checkpoint_id
    if elsewhere is not None and elsewhere != at.checkpoint_id:
        out["checkpoint_id"] = elsewhere
        if source.ns != at.ns:
            out["ns"] = source.ns
    elif source.ns and source.ns != at.ns:
        out["ns"] = source.ns
    named = zip(_WHOSE, _whose(source), strict=True)
    if not opening:
        named = zip(_WHERE, _where(source), strict=True)
    for name, value in named:
        if value is not None:  # nothing is called for what is plain ASCII, as nearly all of it is
            is_plain = type(value) is str and value.isascii() and "\0" not in value
            out[name] = value if is_plain else word(value)
    if source.extra:
        out.update((name, value) for name, value in plain(source.extra).items() if name not in out)
    return out


def is_exact(source: Source, told: Mapping[str, Any], at: Moment) -> bool:
    """Whether what is told of a source gives the very same source back."""
    if source.checkpoint_id != at.checkpoint_id or source.ns != at.ns or source.extra:
        return False
    for name, value in told.items():  # noqa: SIM110 - at every put: `all` takes twice as long
        if getattr(source, name) is not value:
            return False
    return True


def unpacked(source: Mapping[str, Any], at: Moment) -> Source:
    return codec.read(Source, source, {"checkpoint_id": at.checkpoint_id, "ns": at.ns})


# ---- ids and values


def item_id(letter: str, at: Moment, rule: str, ordinal: int) -> str:
    """An item's id, from where it was opened. Not from its text: ids are stored in the clear."""
    place = "\0".join((at.checkpoint_id, at.ns, at.task, letter, rule, str(ordinal)))
    return (
        f"{letter}-{blake2b(place.encode('utf-8', 'backslashreplace'), digest_size=6).hexdigest()}"
    )


def bounded(text: Any, most: int) -> str:
    """Text of at most that many characters, as it was written where it fits."""
    if type(text) is not str:
        text = word(text)
    held: str = text.strip()
    if len(held) <= most:
        return _storable(held)
    cut = _storable(held[: most - 1])
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 0.6 else cut).rstrip() + "…"


def word(value: Any) -> str:
    """Exact text: the value of an enumeration of words, anything else as str shows it."""
    if type(value) is not str:
        value = str.__str__(value) if isinstance(value, str) else str(value)
    return _storable(value)


def _storable(text: str) -> str:
    """Text that every database takes: Postgres has no NUL, UTF-8 no half surrogate pairs."""
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON gives it back, so that what is stored and what is known can't differ."""
    kind = type(value)
    if kind is str:
        return _storable(value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is float:
        return value if isfinite(value) else str(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return plain(float.__float__(value))
    if depth < DEEPEST:
        if isinstance(value, Mapping):
            return {word(key): plain(held, depth + 1) for key, held in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(held, depth + 1) for held in value]
        if isinstance(value, (set, frozenset)):  # whose order differs from process to process
            return sorted((plain(held, depth + 1) for held in value), key=repr)
    if isinstance(value, str):
        return word(value)
    return f"<{kind.__name__}>"  # a repr could differ from process to process, or raise


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: to Python 1, 1.0 and True are equal."""
    if type(one) is not type(other) or one != other:
        return False
    if type(one) is dict:
        return all(same(value, other[key]) for key, value in one.items())
    if type(one) is list:
        return all(map(same, one, other))
    return True
