"""Data that belong to a user: values of theirs, and erasing all there is."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.alone import alone
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import Happening, afire, fire
from langgraph_wyrd.later import later
from langgraph_wyrd.parts.watching import discarded
from langgraph_wyrd.store.names import check_size, given, stored
from langgraph_wyrd.store.refs import ABSENT

if TYPE_CHECKING:
    from langgraph_wyrd.plans import users
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    users = later("plans.users")

T = TypeVar("T")

_TRIES = 5  # looks for what runs that go on have written meanwhile


class UserData:
    """Values that are kept for one user, beside all threads. Made by `saver.user`."""

    def __init__(
        self, core: Core[Memory], codec: Callable[[], Codec], user: str, heals: bool
    ) -> None:
        self._core = core
        self._codec = codec
        self._user = user
        self._heals = heals

    @property
    def id(self) -> str:
        return given(self._user)

    def __repr__(self) -> str:
        return f"UserData({self.id!r})"

    def set(self, key: str, value: Any) -> None:
        """Keep a value, in the place of what had this key."""
        self._core.run(_change(users.set_value, self._codec(), self._user, _key(key), value))

    async def aset(self, key: str, value: Any) -> None:
        """Async version of `set`."""
        await self._core.arun(_change(users.set_value, self._codec(), self._user, _key(key), value))

    def get(self, key: str, default: Any = None) -> Any:
        """The value of this key, or the default.

        Raises:
            CheckpointDamaged: It is not what was written.
        """
        found = self._core.run(_look(users.get_value, self._codec(), self._user, _key(key)))
        return default if found is ABSENT else found

    async def aget(self, key: str, default: Any = None) -> Any:
        """Async version of `get`."""
        found = await self._core.arun(_look(users.get_value, self._codec(), self._user, _key(key)))
        return default if found is ABSENT else found

    def delete(self, key: str) -> bool:
        """Delete a value; whether there was one."""
        return self._core.run(_change(users.drop_value, self._user, _key(key)))

    async def adelete(self, key: str) -> bool:
        """Async version of `delete`."""
        return await self._core.arun(_change(users.drop_value, self._user, _key(key)))

    def items(self) -> dict[str, Any]:
        """All keys and values, sorted by key. A damaged one is left out, with a warning."""
        return self._core.run(_look(users.items, self._codec(), self._user, self._heals))

    async def aitems(self) -> dict[str, Any]:
        """Async version of `items`."""
        return await self._core.arun(_look(users.items, self._codec(), self._user, self._heals))

    def list(self) -> builtins.list[str]:
        """The keys, sorted. No value is read."""
        return self._core.run(_look(users.keys, self._user))

    async def alist(self) -> builtins.list[str]:
        """Async version of `list`."""
        return await self._core.arun(_look(users.keys, self._user))


class Users:
    """The part of a saver that knows whose data it holds."""

    if TYPE_CHECKING:
        _core: Core[Memory]
        _heals: bool

        @property
        def _codec(self) -> Codec: ...

    def user(self, user_id: str) -> UserData:
        """What is kept for a user beside all threads: `set`, `get`, `delete`, `list`, `items`."""
        return UserData(self._core, lambda: self._codec, of_user(user_id), self._heals)

    def erase_user(
        self, user_id: str, *, threads: bool = False, vacuum: bool = True
    ) -> dict[str, int]:
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
        job = partial(self._erase, user=of_user(user_id), threads=threads, vacuum=vacuum)
        counts, happened = self._core.run(lambda core: job(core))
        fire(self._core, *happened)
        return counts

    async def aerase_user(
        self, user_id: str, *, threads: bool = False, vacuum: bool = True
    ) -> dict[str, int]:
        """Async version of `erase_user`."""
        job = partial(self._erase, user=of_user(user_id), threads=threads, vacuum=vacuum)
        counts, happened = await self._core.arun(lambda core: job(core))
        await afire(self._core, *happened)
        return counts

    async def _erase(
        self, core: Running[Memory], *, user: str, threads: bool, vacuum: bool
    ) -> tuple[dict[str, int], list[Happening]]:
        counts: Counter[str] = Counter({users.TABLE: 0})
        deleted: list[tuple[str, int]] = []
        for _ in range(_TRIES):
            before = counts.total()
            for number, id in await core.read(partial(users.threads_of, user)) if threads else ():
                gone = await alone(core, id, partial(users.delete, number, id, user))
                counts.update(gone.rows)
                deleted.append((id, gone.checkpoints))
            for number, id in await core.read(partial(users.threads_with, user)):
                job = partial(users.erase_in, number, id, user)
                counts[users.TABLE] += await alone(core, id, job)
            counts[users.TABLE] += await core.write(partial(users.erase_outside, user))
            if counts.total() == before:
                break
        if vacuum:
            await core.scrub(everything=threads)
        return dict(counts), discarded(deleted, "erase_user")


def of_user(user_id: str) -> str:
    """A user's id in stored form."""
    if not isinstance(user_id, str) or not user_id:
        raise InvalidInput(f"user_id {user_id!r} is no text: pass a string that is not empty")
    return check_size(stored(user_id, "user_id"), "user_id")


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"key {key!r} is no text")
    return check_size(stored(key, "a key"), "key")


Job = Callable[["Running[Memory]"], Coroutine[Any, Any, T]]


def _look(plan: Callable[..., Plan[T]], *told: Any) -> Job[T]:
    return lambda core: core.read(partial(plan, *told))


def _change(plan: Callable[..., Plan[T]], *told: Any) -> Job[T]:
    return lambda core: core.write(partial(plan, *told))
