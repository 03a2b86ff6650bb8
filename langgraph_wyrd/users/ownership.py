"""Data that belongs to users: which of a run's values do, values of their own, and erasing it all.

A channel is known by its name. LangGraph also hands whole states about under names of its own: the
input of a graph or a subgraph, a Send, an interrupt. Where those hold an entry under the channel's
name, they belong to the user whole; what is stored for everybody is the rest without the entry.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.base import WRITES_IDX_MAP, get_checkpoint_metadata
from langgraph.types import Interrupt, Send

from langgraph_wyrd.checkpoints.user_values import NO_WRITES, is_empty, no_user
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.operations import (
    Bound,
    Fire,
    Operation,
    SaverBase,
    ask,
    asynchronous,
    operation,
)
from langgraph_wyrd.state.wording import counted
from langgraph_wyrd.storage.names import check_size, given, stored
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import TABLES, USER_DATA

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.checkpoints import erase
    from langgraph_wyrd.users.scoped import UserSaver
else:
    erase = lazy("checkpoints.erase")

T = TypeVar("T")
_TRIES = 5  # looks for what runs that go on have written meanwhile
_INPUT, _ROOT = "__start__", "__root__"
_CONTROL = {*WRITES_IDX_MAP, "__pregel_tasks", NO_WRITES, "__error_source_node__"}


class _Nothing:
    """No value: there is no part that belongs to the user, or no other part."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Any = _Nothing()


# ---- whose a value is


class Ownership:
    """Takes out of a run's values what belongs to its user, and what is never stored."""

    def __init__(self, users: frozenset[str], ephemeral: frozenset[str]) -> None:
        self._users = users
        self._ephemeral = ephemeral

    @classmethod
    def of(cls, channels: Channels) -> Ownership | None:
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

    def values(
        self, values: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], str | None]:
        """A checkpoint's values: those that belong to no user, the user's, and who that is."""
        left: dict[str, Any] = {}
        owned: dict[str, Any] = {}
        user = user_of(metadata)
        for name, value in values.items():
            theirs, rest = self._parted(given(name), value)
            if theirs is not NOTHING and (user is not None or not is_empty(theirs)):
                owned[name] = theirs
            elif theirs is not NOTHING:
                rest = theirs
            if rest is not NOTHING:
                left[name] = rest
        return left, owned, user

    def writes(
        self, writes: Sequence[tuple[str, Any]], config: RunnableConfig, thread_id: str
    ) -> tuple[list[tuple[str, Any]], dict[int, Any], str | None]:
        """The same of a task's writes. One that is never stored leaves its place."""
        left: list[tuple[str, Any]] = []
        owned: dict[int, Any] = {}
        user: str | None = None
        for at, (channel, value) in enumerate(writes):
            theirs, rest = self._parted(given(channel), value)
            if theirs is not NOTHING:
                user = user or user_of(get_checkpoint_metadata(config, {}))
                if user is not None:
                    owned[at] = theirs
                elif is_empty(theirs):
                    rest = theirs
                else:
                    raise no_user(channel, thread_id)
            elif rest is NOTHING:
                channel = NO_WRITES
            left.append((channel, None if rest is NOTHING else rest))
        return left, owned, user

    def _parted(self, name: str, value: Any) -> tuple[Any, Any]:
        """The user's part of a value and the rest; NOTHING where there is none."""
        if name == _INPUT and _ROOT in self._users | self._ephemeral:
            name = _ROOT  # the input of a graph whose state is one value is that value
        if name in self._users:
            return value, NOTHING
        if name in self._ephemeral:
            return NOTHING, NOTHING
        if not name.startswith("__"):
            return NOTHING, value
        if self._ephemeral:
            value = without(value, self._ephemeral)
        rest = without(value, self._users)
        return (NOTHING, value) if rest is value else (value, rest)


def user_of(metadata: Mapping[str, Any]) -> str | None:
    """Whose run it is, in stored form."""
    user = metadata.get("user_id")
    return None if user is None else of_user(user)


def of_user(user_id: str) -> str:
    """A user's id in stored form."""
    if not isinstance(user_id, str) or not user_id:
        raise InvalidInput(f"user_id {user_id!r} is no text: pass a string that is not empty")
    return check_size(stored(user_id, "user_id"), "user_id")


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
    kind = type(value)  # a Pydantic model or a dataclass has fields
    fields: Any = getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", ())
    return NOTHING if is_state and not names.isdisjoint(fields) else value


def _with(held: Any, name: str, inside: Any) -> Any:
    """A Send or an interrupt with something else inside."""
    if inside is getattr(held, name):
        return held
    other = copy(held)
    setattr(other, name, None if inside is NOTHING else inside)
    return other


# ---- values beside the threads


class UserData:
    """Values that are kept for one user, beside all threads. Made by `saver.user`."""

    def __init__(self, saver: Users, user: str) -> None:
        self._saver = saver
        self._user = user

    @property
    def id(self) -> str:
        return given(self._user)

    def __repr__(self) -> str:
        return f"UserData({self.id!r})"

    def _bound(self, script: Callable[..., Script[T]], *args: Any) -> Bound[T]:
        return partial(script, self._saver._dialect, self._saver._codec, self._user, *args)

    @operation
    def set(self, key: str, value: Any) -> Operation[None]:
        """Keep a value, in the place of what had this key."""
        data = erase.packed_value(self._saver._codec, value, key)
        yield from self._saver._write(self._bound(erase.set_value, _key(key), data))

    aset = asynchronous(set)

    @operation
    def get(self, key: str, default: Any = None) -> Operation[Any]:
        """The value of this key, or the default.

        Raises:
            CheckpointDamaged: It is not what was written.
        """
        found = yield from self._saver._read(self._bound(erase.values, False, _key(key)))
        return found.get(key, default)

    aget = asynchronous(get)

    @operation
    def delete(self, key: str) -> Operation[bool]:
        """Delete a value; whether there was one."""
        return (yield from self._saver._write(self._bound(erase.drop_value, _key(key))))

    adelete = asynchronous(delete)

    @operation
    def items(self) -> Operation[dict[str, Any]]:
        """All keys and values, sorted by key. A damaged one is left out, with a warning."""
        saver = self._saver
        return (yield from saver._read(self._bound(erase.values, saver._heals, None)))

    aitems = asynchronous(items)

    @operation
    def list(self) -> Operation[builtins.list[str]]:
        """The keys, sorted. No value is read."""
        return (yield from self._saver._read(self._bound(erase.keys)))

    alist = asynchronous(list)


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"key {key!r} is no text")
    return check_size(stored(key, "a key"), "key")


# ---- erasing


class Erased(dict[str, int]):
    """How many rows went, by table; and in words a person would use.

    `values`: how many values went; `threads`: in how many threads. `remains`: where text of this
    user's threads is still stored: by thread, how many of what (`titles`, `loops`, `checkpoints`,
    …). `redact=True` takes it out of all but the checkpoints, `threads=True` deletes the threads.
    """

    values_erased: int = 0
    threads: int = 0
    remains: Mapping[str, Mapping[str, int]] = {}

    def __str__(self) -> str:
        said = f"{_many(self.values_erased, 'value')} in {_many(self.threads, 'thread')} erased"
        if not self.remains:
            return said
        left = "; ".join(
            f"{id} ({', '.join(_many(n, what) for what, n in held.items())})"
            for id, held in self.remains.items()
        )
        return f"{said}. Text of this user's threads remains: {left}"


def _many(n: int, what: str) -> str:
    if what == "context":
        return f"{n} context {'entry' if n == 1 else 'entries'}"
    return counted(n, what.removesuffix("s"))


class Users(SaverBase):
    """The part of a saver that knows whose data it holds."""

    def user(self, user_id: str) -> UserData:
        """What is kept for a user beside all threads: `set`, `get`, `delete`, `list`, `items`."""
        return UserData(self, of_user(user_id))

    def for_user(self, user_id: str) -> UserSaver:
        """A saver that sees and writes only this user's threads: for the runs of one user.

        Their configs must say whose they are: `{"configurable": {…, "user_id": …}}`.
        """
        from langgraph_wyrd.users.scoped import UserSaver

        return UserSaver._of(self, of_user(user_id))

    @operation
    def erase_user(
        self, user_id: str, *, threads: bool = False, redact: bool = False, vacuum: bool = True
    ) -> Operation[Erased]:
        """Erase all values that belong to a user, everywhere; how many rows went, by table.

        These are the values of the channels in `Channels(user=…)` that runs with this `user_id`
        wrote, and what `user` keeps. Their checkpoints stay and can be resumed: the channels are
        absent. Nobody else's values are touched. What a run that is still going writes afterwards
        is stored anew.

        Args:
            threads: Also delete the user's threads (those that `threads(user_id=…)` lists), as
                `delete_thread` does.
            redact: Also take the text out of what was read of the user's threads: titles, todos,
                context, loops, intentions, the events that tell of them, what labels promoted and
                the journal. That what was open stays known. The checkpoints stay as they are.
            vacuum: Have the database forget the bytes, too. SQLite writes its file anew and empties
                its WAL, which takes as long as copying it; Postgres vacuums the tables. False:
                leave that for later.

        Returns:
            A dict of counts; its `remains` says where text of the user's threads still is.

        Raises:
            DatabaseBusy: All was erased, but somebody who reads kept SQLite's file from being
                cleaned: erase again.
        """
        user, dialect = of_user(user_id), self._dialect
        counts: Counter[str] = Counter({USER_DATA.name: 0})
        deleted: list[tuple[str, int]] = []
        erased = Erased()
        erased.values_erased, erased.threads = yield from self._read(
            partial(erase.counted, self._codec, user)
        )
        theirs = partial(erase.threads_of, user)
        for _ in range(_TRIES):
            before = counts.total()
            for id in (yield from self._read(theirs)) if threads else ():
                gone = yield from self._write(partial(erase.delete_thread, dialect, id, user), id)
                counts.update(gone)
                if gone:
                    deleted.append((id, gone["wyrd_checkpoints"]))
            for id in (yield from self._read(partial(erase.threads_with, user))):
                script = partial(erase.erase_in, dialect, id, user)
                counts[USER_DATA.name] += yield from self._write(script, id)
            counts[USER_DATA.name] += yield from self._write(partial(erase.erase_outside, user))
            if counts.total() == before:
                break
        remains = {}
        for id in () if threads else (yield from self._read(theirs)):
            if redact:
                hide = partial(erase.redact, dialect, self._codec, id, user)
                yield from self._write(hide, id)
            found = yield from self._read(partial(erase.remaining, dialect, id))
            if found:
                remains[given(id)] = found
        if vacuum:
            tables = [*TABLES] if threads or redact else [USER_DATA.name]
            yield ask(self._engine, "clean", tables)
        for id, count in deleted:
            how = {"how": "erase_user", "checkpoints": count}
            yield Fire(self, (Happening("discard", given(id), detail=how),))
        erased.update((n, count) for n, count in counts.items() if count or n == USER_DATA.name)
        erased.remains = {
            id: {what: n for what, n in held.items() if not redact or what == "checkpoints"}
            for id, held in remains.items()
        }
        return erased

    aerase_user = asynchronous(erase_user)
