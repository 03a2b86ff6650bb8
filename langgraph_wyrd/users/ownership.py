"""Whose a value and a thread is: what belongs to a run's user, and what one user's saver may.

Whose a thread is, one user's saver asks in each script (`OfUser`); its listings and feed have a
condition on the user.

A channel is known by its name. LangGraph also hands whole states about under names of its own: the
input of a graph or a subgraph, a Send, an interrupt. Where those hold an entry under the channel's
name, they belong to the user whole; what is stored for everybody is the rest without the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from langgraph.checkpoint.base import WRITES_IDX_MAP, get_checkpoint_metadata
from langgraph.types import Interrupt, Send

from langgraph_wyrd.checkpoints.advance import OF_USER, refuse_others
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.user_values import NO_WRITES, is_empty, no_user
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound, UserMissing, WrongUser
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.operations import Bound, Operation, SaverBase
from langgraph_wyrd.storage.names import check_size, given, stored
from langgraph_wyrd.storage.scripts import Command, Script

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.checkpoints.cache import Thread

T = TypeVar("T")
_INPUT, _ROOT = "__start__", "__root__"
_CONTROL = {*WRITES_IDX_MAP, "__pregel_tasks", NO_WRITES, "__error_source_node__"}
NOTHING: Any = object()  # no part of a value belongs to the user, or no other part


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


# ---- whose threads a saver sees: with `for_user`, one user's


class OfUser(SaverBase):
    """The part of a saver that says whose threads it sees."""

    def _owned(self, name: str, *, begins: bool = False) -> Script[Thread]:
        """The thread, if it is this user's, or, where something `begins` in it, nobody's yet."""
        thread = yield from thread_row(self._dialect, name)
        free = begins and thread.user is None and thread.head is None and not thread.lost
        if thread.deleted or not (thread.user == self._user or free):
            raise ThreadNotFound(f"thread {given(name)!r} has no checkpoints")
        return thread

    def _of_thread(
        self, name: str, script: Callable[..., Script[T]], *otherwise: Any
    ) -> Callable[..., Script[T]]:
        """A script on one thread's rows. Of a thread that is not this saver's it gives `otherwise`;
        without that it raises, as where there is no thread."""
        if self._user is None:
            return script

        def owned(*args: Any) -> Script[T]:
            try:
                yield from self._owned(name)
            except ThreadNotFound:
                if not otherwise:
                    raise
                return otherwise[0]  # type: ignore[no-any-return]
            return (yield from script(*args))

        return owned

    def _to_declare(self, name: str, script: Bound[T], *, writes: bool = False) -> Bound[T]:
        """The same of a declaration, for which the thread need not be there yet: to declare
        something in one that no run began makes it this user's."""
        if self._user is None:
            return script

        def declared() -> Script[T]:
            yield from self._owned(name, begins=True)
            found = yield from script()
            if writes:  # its row is locked by now: another user may have been quicker
                thread = yield from self._owned(name, begins=True)
                yield Command(OF_USER, [(self._user, thread.key)])
            return found

        return declared

    def _admit(self, name: str | None) -> Operation[None]:
        """Raise where this saver is not for a thread (None: for all of them)."""
        if self._user is None:
            return
        if name is None:
            raise WrongUser(
                f"what looks at all threads goes beyond user {given(self._user)!r}, whose saver "
                "this is: name a thread, or call it on the saver that for_user was called on"
            )
        yield from self._read(partial(self._owned, name), name)

    def _may_begin(self, name: str) -> Operation[None]:
        """Raise where a thread is there already, and another user's."""
        if self._user is not None:
            thread = yield from self._read(partial(thread_row, self._dialect, name), name)
            refuse_others(thread, self._user)

    def _own_user(self, user_id: Any) -> Any:
        """The user of a listing: one user's saver has its own, and takes no other's id."""
        if self._user is None:
            return user_id
        own = given(self._user)
        if user_id not in (None, own):
            raise WrongUser(f"this saver is user {own!r}'s, and was asked for user {user_id!r}")
        return own


# ---- a saver that is one user's

# What goes across users, or belongs to who owns the database.
_REFUSED = (
    "close", "delete_for_runs", "erase_user", "import_thread", "rotate_keys", "setup",
    "size_report", "sweep",
)  # fmt: skip
REFUSED = (
    *_REFUSED, *(f"a{name}" for name in _REFUSED),
    "ddl", "for_user", "from_conn_string", "on", "register_migration",
)  # fmt: skip


def refused(name: str, user: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise WrongUser(
        f"{name} goes beyond user {user!r}, whose saver this is: call it on the saver that "
        "for_user was called on"
    )


def permit(owner: str, metadata: Mapping[str, Any], *, is_run: bool) -> None:
    """Raise if this says that it is another user's; or if it is a run's, and says nothing."""
    said, own = user_of(metadata), given(owner)
    if said is not None and said != owner:
        raise WrongUser(f"this saver is user {own!r}'s, and was asked for user {given(said)!r}")
    if said is None and is_run:
        raise UserMissing(
            f"this saver is user {own!r}'s, and the run does not say that it is: pass "
            f"{{'configurable': {{'thread_id': …, 'user_id': {own!r}}}}}. Nothing was stored."
        )
