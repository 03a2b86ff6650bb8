"""A saver that is one user's: it sees and writes only that user's threads.

A thread is the user's whose run began it. Another's thread is not there for who reads; who writes
to it is refused. Whose a thread is, is looked up in the transaction that reads or writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NoReturn

from langgraph.checkpoint.base import get_checkpoint_metadata

from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.put import refuse_others
from langgraph_wyrd.configs import named, stored_place
from langgraph_wyrd.configs import of_user as config_of_user
from langgraph_wyrd.errors import ThreadNotFound, UserMissing, WrongUser
from langgraph_wyrd.operations import Operation, Read, asynchronous, operation
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.thread import Thread
from langgraph_wyrd.users.ownership import UserData, of_user, user_of

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple
    from typing_extensions import Self

    from langgraph_wyrd.checkpoints.read import Read as Found
    from langgraph_wyrd.storage.scripts import Script

# What goes across users, or belongs to who owns the database.
REFUSED = frozenset(
    (
        "aclose", "adelete_for_runs", "aerase_user", "aimport_thread", "arotate_keys", "asetup",
        "asize_report", "asweep", "close", "ddl", "delete_for_runs", "erase_user", "for_user",
        "from_conn_string", "import_thread", "on", "register_migration", "rotate_keys", "setup",
        "size_report", "sweep",
    )
)  # fmt: skip


def _of_mine(method: Any) -> Any:
    """A method of a saver for one thread, which must be the user's."""

    @wraps(method)
    def checked(self: UserSaver, thread_id: str, **how: Any) -> Operation[Any]:
        name = stored(str(thread_id), "thread_id")
        yield Read(self._engine, partial(self._must_be_mine, name), (name,))
        return (yield from method.__wrapped__(self, thread_id, **how))

    return operation(checked)


class UserSaver(WyrdSaver):
    """Made by `saver.for_user`: a checkpointer for the runs of one user.

    A run must say in its config that it is this user's; one that does not, or says otherwise, is
    refused before anything of it is read or stored.
    """

    _user: str
    _whole: WyrdSaver

    @classmethod
    def _of(cls, saver: Any, user: str) -> Self:
        made = cls.__new__(cls)
        made.__dict__.update(saver.__dict__)
        made._whole, made._user = saver, user
        return made

    def __repr__(self) -> str:
        return f"UserSaver({given(self._user)!r})"

    def __getattribute__(self, name: str) -> Any:
        if name in REFUSED:
            return partial(_refused, name, given(self._user))
        return super().__getattribute__(name)

    # ---- whose it is

    def _permit(self, config: RunnableConfig | None) -> None:
        """Raise if a config says it is another's; or if it is a run's, and says nothing."""
        if config is None:
            return
        said = user_of(get_checkpoint_metadata(config, {}))
        if said is not None and said != self._user:
            raise self._wrong(given(said))
        if said is None and "__pregel_runtime" in (config.get("configurable") or {}):
            raise self._missing()

    def _incoming(self, config: Any, *args: Any) -> Any:
        made = super()._incoming(config, *args)
        if made.user is None:
            raise self._missing()
        if made.user != self._user:
            raise self._wrong(given(made.user))
        return made

    def _wrong(self, user_id: Any) -> WrongUser:
        return WrongUser(
            f"this saver is user {given(self._user)!r}'s, and was asked for user {user_id!r}"
        )

    def _missing(self) -> UserMissing:
        user = given(self._user)
        return UserMissing(
            f"this saver is user {user!r}'s, and the run does not say that it is: pass "
            f"{{'configurable': {{'thread_id': …, 'user_id': {user!r}}}}}. Nothing was stored."
        )

    def _is_mine(self, name: str) -> Script[bool]:
        thread = yield from thread_row(self._dialect, name)
        return thread.user == self._user and not thread.deleted

    def _must_be_mine(self, name: str) -> Script[None]:
        if not (yield from self._is_mine(name)):
            raise ThreadNotFound(f"thread {given(name)!r} has no checkpoints")

    def _if_mine(self, name: str, script: Callable[[], Any], otherwise: Any) -> Script[Any]:
        return (yield from script()) if (yield from self._is_mine(name)) else otherwise

    def _may_begin(self, name: str) -> Script[None]:
        """Raise if a thread is there already, and another's."""
        refuse_others((yield from thread_row(self._dialect, name)), self._user)

    # ---- reading

    def _get(self, config: RunnableConfig) -> Callable[[], Any]:
        self._permit(config)
        return partial(self._if_mine, stored_place(config)[0], super()._get(config), None)

    def _delta(self, config: RunnableConfig, channels: Sequence[str]) -> Callable[[], Any]:
        self._permit(config)
        nothing: Any = {name: ([], []) for name in channels}
        return partial(
            self._if_mine, stored_place(config)[0], super()._delta(config, channels), nothing
        )

    def _tuple(
        self, config: RunnableConfig, found: Found | None, run: Any = None
    ) -> CheckpointTuple | None:
        made = super()._tuple(config, found, run)
        return made and made._replace(config=config_of_user(made.config, self._user))

    # ---- one thread

    def thread(self, thread_id: str | RunnableConfig) -> Thread:
        """The handle on one of the user's threads; another's is not found."""
        return UserThread(self, named(thread_id))

    def _each(
        self, names: Iterable[str], script: Callable[[str], Any], how: str, **detail: Any
    ) -> Operation[None]:
        def mine(name: str) -> Any:
            return self._if_mine(name, partial(script, name), 0)

        return super()._each(names, mine, how, **detail)

    @operation
    def copy_thread(
        self, source_thread_id: str, target_thread_id: str, *, latest_only: bool = False
    ) -> Operation[None]:
        """Copy one of the user's threads to an id that has no checkpoints yet."""
        source, target = (stored(str(e), "id") for e in (source_thread_id, target_thread_id))
        yield Read(self._engine, partial(self._may_begin, target), (target,))
        if (yield Read(self._engine, partial(self._is_mine, source), (source,))):
            copied: Any = WyrdSaver.copy_thread
            yield from copied.__wrapped__(
                self, source_thread_id, target_thread_id, latest_only=latest_only
            )

    acopy_thread = asynchronous(copy_thread)

    verify = _of_mine(WyrdSaver.verify)
    averify = asynchronous(verify)
    reextract = _of_mine(WyrdSaver.reextract)
    areextract = asynchronous(reextract)

    # ---- all of the user's threads

    def _asked(self, what: Any, known: Any, wanted: Any, **more: Any) -> Any:
        user = more.get("user_id")
        if user is not None and user != given(self._user):
            raise self._wrong(user)
        return super()._asked(what, known, wanted, **{**more, "user_id": given(self._user)})

    @operation
    def latest(self, /, **asked: Any) -> Operation[Any]:
        """The user's thread with the newest activity, ready to go on with."""
        found: Any = WyrdSaver.latest
        return self._picked((yield from found.__wrapped__(self, **asked)))

    alatest = asynchronous(latest)  # type: ignore[arg-type]

    @operation
    def resume(
        self, /, thread_id: str | RunnableConfig | None = None, **asked: Any
    ) -> Operation[Any]:
        """One of the user's threads, ready to go on with: this one, or the latest."""
        found: Any = WyrdSaver.resume
        if thread_id is None:
            return self._picked((yield from found.__wrapped__(self, **asked)))
        name = named(thread_id)
        yield Read(self._engine, partial(self._must_be_mine, name), (name,))
        return self._picked((yield from found.__wrapped__(self._whole, thread_id, **asked)))

    aresume = asynchronous(resume)  # type: ignore[arg-type]

    def _picked(self, found: Any) -> Any:
        return found and replace(found, config=config_of_user(found.config, self._user))

    def user(self, user_id: str | None = None) -> UserData:
        """What is kept for this user beside all threads."""
        if user_id is not None and of_user(user_id) != self._user:
            raise self._wrong(user_id)
        return super().user(given(self._user))


class UserThread(Thread):
    """The handle on a thread of a user: each of its scripts looks first whose the thread is."""

    def __init__(self, saver: Any, stored_id: str) -> None:
        view = copy(saver)
        view._engine = _Guarded(saver._engine, partial(saver._must_be_mine, stored_id))
        super().__init__(view, stored_id)
        self._mine: UserSaver = saver

    @operation
    def rewind(self, to: Any) -> Operation[RunnableConfig]:
        """Make an older point the head again; see `Thread.rewind`."""
        moved: Any = Thread.rewind
        return config_of_user((yield from moved.__wrapped__(self, to)), self._mine._user)

    arewind = asynchronous(rewind)  # type: ignore[arg-type]

    @operation
    def fork(self, new_thread_id: str, at: Any = None, transform: Any = None) -> Operation[Any]:
        """A new thread of the same user; see `Thread.fork`."""
        name = stored(str(new_thread_id), "thread_id")
        yield Read(self._mine._engine, partial(self._mine._may_begin, name), (name,))
        forked: Any = Thread.fork
        made = yield from forked.__wrapped__(self, new_thread_id, at, transform)
        return UserThread(self._mine, made._stored)

    afork = asynchronous(fork)


class _Guarded:
    """An engine for one thread's handle: what it runs begins with a look at whose the thread is."""

    def __init__(self, engine: Any, check: Callable[[], Any]) -> None:
        self._engine = getattr(engine, "_engine", engine)
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def _checked(self, script: Callable[[], Any]) -> Script[Any]:
        yield from self._check()
        return (yield from script())

    def run(self, script: Callable[[], Any], *, writes: bool = False) -> Any:
        return self._engine.run(partial(self._checked, script), writes=writes)

    async def arun(self, script: Callable[[], Any], *, writes: bool = False) -> Any:
        return await self._engine.arun(partial(self._checked, script), writes=writes)


def _refused(name: str, user: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise WrongUser(
        f"{name} goes beyond user {user!r}, whose saver this is: call it on the saver that "
        "for_user was called on"
    )
