"""Data that belongs to users: which of a run's values do, values of their own, and erasing it all.

A channel is known by its name. LangGraph also hands whole states about under names of its own: the
input of a graph or a subgraph, a Send, an interrupt. Where those hold an entry under the channel's
name, they belong to the user as they are, and what is nobody's is what is left without the entry.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, get_checkpoint_metadata
from langgraph.types import Interrupt, Send

from langgraph_wyrd.checkpoints import erase
from langgraph_wyrd.checkpoints.owned import NO_WRITES, is_empty, no_user
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import Call, Fire, Operation, Read, Write, asynchronous, operation
from langgraph_wyrd.storage.names import check_size, given, stored
from langgraph_wyrd.storage.tables import TABLES, USER_DATA

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.checkpoints.cache import Cache
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.storage.engine import Engine
    from langgraph_wyrd.users.scoped import UserSaver

_TRIES = 5  # looks for what runs that go on have written meanwhile
_INPUT, _ROOT = "__start__", "__root__"
_CONTROL = {*WRITES_IDX_MAP, "__pregel_tasks", NO_WRITES, "__error_source_node__"}


class _Nothing:
    """No value: of what has no part that is nobody's, or none that is a user's."""

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
        """What is nobody's of a checkpoint's values, what is the user's, and the user."""
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
        """(what is the user's, what is nobody's) of a value; NOTHING where there is none."""
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
    if user is None:
        return None
    if not isinstance(user, str) or not user:
        raise InvalidInput(f"user_id {user!r} is no text: pass a string that is not empty")
    return check_size(stored(user, "user_id"), "user_id")


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
    if is_state and not names.isdisjoint(_fields(value)):
        return NOTHING
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

    def _asked(self, script: Any, *args: Any) -> Any:
        return partial(script, self._saver._dialect, self._saver._codec, self._user, *args)

    @operation
    def set(self, key: str, value: Any) -> Operation[None]:
        """Keep a value, in the place of what had this key."""
        codec = self._saver._codec
        data = erase.packed_value(codec, value, key)
        yield Write(self._saver._engine, self._asked(erase.set_value, _key(key), data))

    aset = asynchronous(set)

    @operation
    def get(self, key: str, default: Any = None) -> Operation[Any]:
        """The value of this key, or the default.

        Raises:
            CheckpointDamaged: It is not what was written.
        """
        found = yield Read(self._saver._engine, self._asked(erase.values, False, _key(key)))
        return found.get(key, default)

    aget = asynchronous(get)

    @operation
    def delete(self, key: str) -> Operation[bool]:
        """Delete a value; whether there was one."""
        found: bool = yield Write(self._saver._engine, self._asked(erase.drop_value, _key(key)))
        return found

    adelete = asynchronous(delete)

    @operation
    def items(self) -> Operation[dict[str, Any]]:
        """All keys and values, sorted by key. A damaged one is left out, with a warning."""
        saver = self._saver
        found: dict[str, Any] = yield Read(
            saver._engine, self._asked(erase.values, saver._heals, None)
        )
        return found

    aitems = asynchronous(items)

    @operation
    def list(self) -> Operation[builtins.list[str]]:
        """The keys, sorted. No value is read."""
        found: builtins.list[str] = yield Read(self._saver._engine, self._asked(erase.keys))
        return found

    alist = asynchronous(list)


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"key {key!r} is no text")
    return check_size(stored(key, "a key"), "key")


# ---- erasing


class Users:
    """The part of a saver that knows whose data it holds."""

    if TYPE_CHECKING:
        _engine: Engine
        _cache: Cache
        _heals: bool
        hooks: Hooks

        @property
        def _codec(self) -> Codec: ...
        @property
        def _dialect(self) -> str: ...

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
        self, user_id: str, *, threads: bool = False, vacuum: bool = True
    ) -> Operation[dict[str, int]]:
        """Erase all values that belong to a user, everywhere; how many rows went, by table.

        These are the values of the channels in `Channels(user=…)` that runs with this `user_id`
        wrote, and what `user` keeps. Their checkpoints stay and can be resumed: the channels are
        absent. Nobody else's values are touched. What a run that is still going writes afterwards
        is stored anew.

        Args:
            user_id: The user.
            threads: Also delete the user's threads (those that `threads(user_id=…)` lists), as
                `delete_thread` does.
            vacuum: Have the database forget the bytes, too. SQLite writes its file anew and empties
                its WAL, which takes as long as copying it; Postgres vacuums the tables. False:
                leave that for later.

        Raises:
            DatabaseBusy: All was erased, but somebody who reads kept SQLite's file from being
                cleaned: erase again.
        """
        user, engine = of_user(user_id), self._engine
        dialect, me = self._dialect, engine.nonce
        counts: Counter[str] = Counter({USER_DATA.name: 0})
        deleted: list[tuple[str, int]] = []
        for _ in range(_TRIES):
            before = counts.total()
            for id in (yield Read(engine, partial(erase.threads_of, user))) if threads else ():
                gone = yield Write(
                    engine, partial(erase.delete_thread, dialect, me, id, user), threads=(id,)
                )
                self._cache.drop(id)
                counts.update(gone)
                if gone:
                    deleted.append((id, gone["wyrd_checkpoints"]))
            for id in (yield Read(engine, partial(erase.threads_with, user))):
                script = partial(erase.erase_in, dialect, me, id, user)
                counts[USER_DATA.name] += yield Write(engine, script, threads=(id,))
                self._cache.drop(id)
            script = partial(erase.erase_outside, user)
            counts[USER_DATA.name] += yield Write(engine, script)
            if counts.total() == before:
                break
        if vacuum:
            tables = [*TABLES] if threads else [USER_DATA.name]
            yield Call(partial(engine.clean, tables), partial(engine.aclean, tables))
        yield Fire(self, tuple(_discarded(id, count) for id, count in deleted))
        return {name: count for name, count in counts.items() if count or name == USER_DATA.name}

    aerase_user = asynchronous(erase_user)


def _discarded(thread_id: str, count: int) -> Happening:
    detail = {"how": "erase_user", "checkpoints": count}
    return Happening("discard", given(thread_id), detail=detail)
