"""A saver that is one user's: it sees and writes only that user's threads.

A thread is the user's whose run began it. Another's thread is not there for who reads; who writes
to it is refused. Whose a thread is, is looked up in the transaction that reads or writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from langgraph.checkpoint.base import get_checkpoint_metadata

from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.put import refuse_others
from langgraph_wyrd.errors import ThreadNotFound, UserMissing, WrongUser
from langgraph_wyrd.operations import Bound, Operation, asynchronous, operation
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Command
from langgraph_wyrd.users.ownership import UserData, of_user, user_of

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from typing_extensions import Self

    from langgraph_wyrd.checkpoints.cache import Thread
    from langgraph_wyrd.storage.scripts import Script

T = TypeVar("T")

# What goes across users, or belongs to who owns the database.
REFUSED = frozenset(
    (
        "aclose", "adelete_for_runs", "aerase_user", "aimport_thread", "arotate_keys", "asetup",
        "asize_report", "asweep", "close", "ddl", "delete_for_runs", "erase_user", "for_user",
        "from_conn_string", "import_thread", "on", "register_migration", "rotate_keys", "setup",
        "size_report", "sweep",
    )
)  # fmt: skip


_TAKEN = "UPDATE wyrd_threads SET user_id = ? WHERE key = ? AND user_id IS NULL"


class UserSaver(WyrdSaver):
    """Made by `saver.for_user`: a checkpointer for the runs of one user.

    A run must say in its config that it is this user's; one that does not, or says otherwise, is
    refused before anything of it is read or stored.
    """

    _user: str

    @classmethod
    def _of(cls, saver: Any, user: str) -> Self:
        made = cls.__new__(cls)
        made.__dict__.update(saver.__dict__)
        made._user = user
        return made

    @property
    def _user_id(self) -> str:
        return given(self._user)

    def __repr__(self) -> str:
        return f"UserSaver({self._user_id!r})"

    def __getattribute__(self, name: str) -> Any:
        if name in REFUSED:
            return partial(_refused, name, self._user_id)
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
            f"this saver is user {self._user_id!r}'s, and was asked for user {user_id!r}"
        )

    def _missing(self) -> UserMissing:
        user = self._user_id
        return UserMissing(
            f"this saver is user {user!r}'s, and the run does not say that it is: pass "
            f"{{'configurable': {{'thread_id': …, 'user_id': {user!r}}}}}. Nothing was stored."
        )

    def _is_mine(self, name: str) -> Script[bool]:
        thread = yield from thread_row(self._dialect, name)
        return thread.user == self._user and not thread.deleted

    def _if_mine(
        self, name: str, script: Callable[..., Any], otherwise: Any, *lenient: Any
    ) -> Script[Any]:
        return (yield from script(*lenient)) if (yield from self._is_mine(name)) else otherwise

    # ---- reading

    def _get(self, config: RunnableConfig) -> tuple[Any, str]:
        self._permit(config)
        script, name = super()._get(config)
        return partial(self._if_mine, name, script, None), name

    def _delta(self, config: RunnableConfig, channels: Sequence[str]) -> tuple[Any, str]:
        self._permit(config)
        script, name = super()._delta(config, channels)
        nothing: Any = {name: ([], []) for name in channels}
        return partial(self._if_mine, name, script, nothing), name

    # ---- one thread

    def _of_thread(
        self, thread_id: str, script: Callable[[], Script[T]]
    ) -> Callable[[], Script[T]]:
        return partial(self._checked, thread_id, script)

    def _checked(self, name: str, script: Bound[T]) -> Script[T]:
        if not (yield from self._is_mine(name)):
            raise self._not_there(name)
        return (yield from script())

    def _to_declare(
        self, thread_id: str, script: Callable[[], Script[T]], *, writes: bool = False
    ) -> Callable[[], Script[T]]:
        return partial(self._declared, thread_id, script, writes)

    def _declared(self, name: str, script: Bound[T], writes: bool) -> Script[T]:
        """Run a script on a thread of this user, or on one that no run began yet: to declare
        something there makes it this user's."""
        yield from self._mine_to_declare(name)
        found = yield from script()
        if writes:  # its row is locked by now: another user may have been quicker
            thread = yield from self._mine_to_declare(name)
            yield Command(_TAKEN, [(self._user, thread.key)])
        return found

    def _mine_to_declare(self, name: str) -> Script[Thread]:
        thread = yield from thread_row(self._dialect, name)
        free = thread.user is None and thread.head is None and not thread.lost
        if thread.deleted or not (thread.user == self._user or free):
            raise self._not_there(name)
        return thread

    def _admit(self, thread_id: str | None) -> Operation[None]:
        if thread_id is None:
            _refused("what looks at all threads", self._user_id)
        elif not (yield from self._read(partial(self._is_mine, thread_id), thread_id)):
            raise self._not_there(thread_id)

    def _not_there(self, name: str) -> ThreadNotFound:
        return ThreadNotFound(f"thread {given(name)!r} has no checkpoints")

    def _may_begin(self, thread_id: str) -> Operation[None]:
        thread = yield from self._read(partial(thread_row, self._dialect, thread_id), thread_id)
        refuse_others(thread, self._user)

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
        source = stored(str(source_thread_id), "thread_id")
        copied: Any = WyrdSaver.copy_thread.__wrapped__  # type: ignore[attr-defined]
        if (yield from self._read(partial(self._is_mine, source), source)):
            yield from copied(self, source_thread_id, target_thread_id, latest_only=latest_only)

    acopy_thread = asynchronous(copy_thread)

    # ---- all of the user's threads

    def _asked(self, of: Any, given: Mapping[str, Any], known: Any, names: Any, **own: Any) -> Any:
        user = given.get("user_id")
        if user is not None and user != self._user_id:
            raise self._wrong(user)
        return super()._asked(of, {**given, "user_id": self._user_id}, known, names, **own)

    def user(self, user_id: str | None = None) -> UserData:
        """What is kept for this user beside all threads."""
        if user_id is not None and of_user(user_id) != self._user:
            raise self._wrong(user_id)
        return super().user(self._user_id)


def _refused(name: str, user: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise WrongUser(
        f"{name} goes beyond user {user!r}, whose saver this is: call it on the saver that "
        "for_user was called on"
    )
