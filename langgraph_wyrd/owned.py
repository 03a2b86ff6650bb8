"""What of a run's values belongs to its user, and what is not stored at all.

A channel is known by its name. LangGraph also hands whole states about under names of its own: the
input of a graph or a subgraph, a Send, an interrupt. Where those hold an entry under the channel's
name, they belong to the user as they are, and what is nobody's is what is left without the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, get_checkpoint_metadata
from langgraph.types import Interrupt, Send

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.store.names import check_size, given, stored
from langgraph_wyrd.store.refs import ABSENT
from langgraph_wyrd.store.users import Owned, is_empty, no_user

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

NO_WRITES = "__no_writes__"
_INPUT, _ROOT = "__start__", "__root__"
_CONTROL = {*WRITES_IDX_MAP, "__pregel_tasks", NO_WRITES, "__error_source_node__"}

Write = tuple[int, str, Any]  # number, channel, value


class Apart:
    """Takes out of a write what belongs to its user, and what is never stored."""

    def __init__(self, users: frozenset[str], ephemeral: frozenset[str]) -> None:
        self._users = users
        self._ephemeral = ephemeral

    @classmethod
    def of(cls, channels: Channels) -> Apart | None:
        """None: there is nothing to take out."""
        if not isinstance(channels, Channels):
            raise InvalidInput(f"channels={channels!r}: use a Channels, as Channels(user={{…}})")
        for what in ("user", "ephemeral", "context", "exclude", "aims"):
            if isinstance(getattr(channels, what), str):
                raise InvalidInput(f"Channels({what}=…) is one string: pass a set of names")
        for what, names in (("user", channels.user), ("ephemeral", channels.ephemeral)):
            if control := _CONTROL.intersection(names):
                raise InvalidInput(
                    f"Channels({what}={sorted(control)}): LangGraph needs these to go on"
                )
        users, ephemeral = frozenset(channels.user), frozenset(channels.ephemeral)
        if both := users & ephemeral:
            raise InvalidInput(f"channels {sorted(both)} are both user and ephemeral: choose one")
        return cls(users, ephemeral) if users or ephemeral else None

    def put(
        self, values: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Owned | None]:
        """What is nobody's of a checkpoint's values, and what is the user's."""
        left: dict[str, Any] = {}
        owned: dict[str, Any] = {}
        user = user_of(metadata)
        for name, value in values.items():
            stays, rest = self._parted(given(name), value)
            if stays is not ABSENT and (user is not None or not is_empty(stays)):
                owned[name] = stays
            elif stays is not ABSENT:
                rest = stays
            if rest is not ABSENT:
                left[name] = rest
        return left, Owned(user, owned) if owned else None

    def writes(
        self, writes: Sequence[Write], config: RunnableConfig, thread_id: str
    ) -> tuple[list[Write], Owned | None]:
        """The same of a task's writes. One that is never stored leaves its number."""
        left: list[Write] = []
        owned: dict[int, Any] = {}
        user: str | None = None
        for at, (idx, channel, value) in enumerate(writes):
            stays, rest = self._parted(given(channel), value)
            if stays is not ABSENT:
                user = user or user_of(get_checkpoint_metadata(config, {}))
                if user is not None:
                    owned[at] = stays
                elif is_empty(stays):
                    rest = stays
                else:
                    raise no_user(channel, thread_id)
            elif rest is ABSENT:
                channel, rest = NO_WRITES, None
            left.append((idx, channel, rest))
        return left, Owned(user, owned) if owned else None

    def _parted(self, name: str, value: Any) -> tuple[Any, Any]:
        """(what is the user's, what is nobody's) of a value; ABSENT for nothing."""
        if name == _INPUT and _ROOT in self._users | self._ephemeral:
            name = _ROOT  # the input of a graph whose state is one value is that value
        if name in self._users:
            return value, ABSENT
        if name in self._ephemeral:
            return ABSENT, ABSENT
        if not name.startswith("__"):
            return ABSENT, value
        if self._ephemeral:
            value = without(value, self._ephemeral)
        rest = without(value, self._users)
        return (ABSENT, value) if rest is value else (value, rest)


def user_of(metadata: Mapping[str, Any]) -> str | None:
    """Whose run it is, in stored form."""
    user = metadata.get("user_id")
    if user is None:
        return None
    if not isinstance(user, str) or not user:
        raise InvalidInput(f"user_id {user!r} is no text: pass a string that is not empty")
    return check_size(stored(user, "user_id"), "user_id")


def without(value: Any, names: frozenset[str], *, is_state: bool = True) -> Any:
    """A value as LangGraph hands it about, without what stands under these names in it.

    The same object if there is none. A state that is an object, with one of them as a field, can't
    go on without it: nothing of it is left.
    """
    if isinstance(value, Send):
        return _with(value, "arg", without(value.arg, names))
    if isinstance(value, Interrupt):
        return _with(value, "value", without(value.value, names))
    if type(value) is dict:
        kept = {k: without(v, names, is_state=False) for k, v in value.items() if k not in names}
        same = len(kept) == len(value) and all(kept[key] is value[key] for key in kept)
        return value if same else kept
    if type(value) in (list, tuple):
        some = [without(each, names, is_state=False) for each in value]
        same = all(a is b for a, b in zip(some, value, strict=True))
        return value if same else type(value)(some)
    if is_state and not names.isdisjoint(_fields(value)):
        return ABSENT
    return value


def _fields(value: Any) -> Iterable[str]:
    """The fields of a Pydantic model or a dataclass."""
    kind = type(value)
    found: Iterable[str] = getattr(kind, "model_fields", None) or ()
    return found or getattr(kind, "__dataclass_fields__", ())


def _with(held: Any, name: str, inside: Any) -> Any:
    """A Send or an interrupt with something else inside."""
    if inside is getattr(held, name):
        return held
    other = copy(held)
    setattr(other, name, None if inside is ABSENT else inside)
    return other
