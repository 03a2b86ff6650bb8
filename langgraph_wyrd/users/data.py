"""Values that are kept for users apart from threads, and erasing all that belongs to one user."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.operations import Bound, Fire, Operation, ask, asynchronous, operation
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.storage.names import check_size, given, stored
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import TABLES, USER_DATA
from langgraph_wyrd.users.ownership import REFUSED, OfUser, of_user, refused

if TYPE_CHECKING:
    from typing_extensions import Self

    from langgraph_wyrd.checkpoints import erase
else:
    erase = lazy("checkpoints.erase")

T = TypeVar("T")
_TRIES = 5  # times that what runs have written meanwhile is erased, too


class UserData:
    """Values that are kept for one user, apart from threads. Made by `saver.user`."""

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
    remains: dict[str, dict[str, int]]

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
    return count(n, what.removesuffix("s"))


class Users(OfUser):
    """The part of a saver that knows whose data it holds."""

    def user(self, user_id: str | None = None) -> UserData:
        """What is kept for a user apart from threads: `set`, `get`, `delete`, `list`, `items`.
        Of a saver that `for_user` gives, its own user is the default, and the only one."""
        return UserData(self, of_user(self._own_user(user_id)))

    def for_user(self, user_id: str) -> Self:
        """A saver that sees and writes only this user's threads: for the runs of one user.

        Their configs must say whose they are: `{"configurable": {…, "user_id": …}}`. A thread is
        the user's whose run began it. Another's is not there for who reads; who writes to it is
        refused.
        """
        made = copy(self)
        made._user = of_user(user_id)
        for name in REFUSED:
            setattr(made, name, partial(refused, name, user_id))
        return made

    @operation
    def erase_user(
        self, user_id: str, *, threads: bool = False, redact: bool = False, vacuum: bool = True
    ) -> Operation[Erased]:
        """Erase all values that belong to a user, everywhere; how many rows went, by table.

        These are the values of the channels in `Channels(user=…)` that runs with this `user_id`
        wrote, and what `user` keeps. Their checkpoints stay and can be resumed: the channels are
        absent. What a run that is still going writes afterwards is stored anew.

        Args:
            threads: Also delete the user's threads (those that `threads(user_id=…)` lists).
            redact: Also take the text out of what was read of the user's threads: the working
                state, its events, the journal, what labels promoted. That it was open stays known.
            vacuum: Have the database forget the bytes, too. SQLite writes its file anew, which
                takes as long as copying it. False: leave that for later.

        Returns:
            A dict of counts; its `remains` says where text of the user's threads still is.

        Raises:
            DatabaseBusy: All was erased, but somebody who reads kept SQLite's file from being
                cleaned: erase again.
        """
        user, dialect = of_user(user_id), self._dialect
        counts: Counter[str] = Counter({USER_DATA.name: 0})
        erased = Erased()
        erased.values_erased, erased.threads = yield from self._read(
            partial(erase.counted, self._codec, user)
        )
        theirs = partial(erase.threads_of, user)
        deleted: list[Happening] = []
        for _ in range(_TRIES):
            before = counts.total()
            for id in (yield from self._read(theirs)) if threads else ():
                gone = yield from self._write(partial(erase.delete_thread, dialect, id, user), id)
                counts.update(gone)
                if gone:
                    how = {"how": "erase_user", "checkpoints": gone["wyrd_checkpoints"]}
                    deleted.append(Happening("discard", given(id), detail=how))
            for id in (yield from self._read(partial(erase.threads_with, user))):
                script = partial(erase.erase_in, dialect, id, user)
                counts[USER_DATA.name] += yield from self._write(script, id)
            counts[USER_DATA.name] += yield from self._write(partial(erase.erase_outside, user))
            if counts.total() == before:
                break
        erased.remains = {}
        for id in () if threads else (yield from self._read(theirs)):
            if redact:
                hide = partial(erase.redact, dialect, self._codec, id, user)
                yield from self._write_strictly(hide, id)
            found = yield from self._read(partial(erase.remaining, dialect, id))
            left = {k: n for k, n in found.items() if not redact or k == "checkpoints"}
            if found:
                erased.remains[given(id)] = left
        if vacuum:
            tables = [*TABLES] if threads or redact else [USER_DATA.name]
            yield ask(self._engine, "clean", tables)
        yield Fire(self, tuple(deleted))
        erased.update((n, count) for n, count in counts.items() if count or n == USER_DATA.name)
        return erased

    aerase_user = asynchronous(erase_user)
