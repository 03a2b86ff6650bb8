"""Operations of the public face, written once and driven twice: by sync and by async callers.

An operation is a generator method. It yields what has to be waited for (a script to run, hooks to
call, a function of the caller's that has a sync and an async form) and receives the result.
`operation` makes the sync method of it, `asynchronous` the async one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from langgraph_wyrd.checkpoints.read import is_damage
from langgraph_wyrd.errors import DatabaseBusy, ThreadNotFound, WyrdError
from langgraph_wyrd.hooks import Fire as Fire
from langgraph_wyrd.hooks import afire, fire
from langgraph_wyrd.storage.scripts import Script, Stale

if TYPE_CHECKING:
    from typing import Concatenate

    from typing_extensions import ParamSpec

    from langgraph_wyrd.storage.engine import Engine

    P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

_TRIES = 40


class Read(NamedTuple):
    """A script to run on one snapshot of the database. `threads`: those that it reads, by their
    stored ids; where it meets damage they are healed, and it runs again."""

    engine: Engine
    script: Callable[[], Script[Any]]
    threads: tuple[str, ...] = ()


class Write(NamedTuple):
    """A script to run in a transaction; run again where another writer was quicker. `after` is
    called when it ended, however it ended. `threads` as for `Read`."""

    engine: Engine
    script: Callable[[], Script[Any]]
    after: Callable[[], object] = tuple
    threads: tuple[str, ...] = ()


class Call(NamedTuple):
    """A function that has a sync and an async form."""

    sync: Callable[[], Any]
    asynchronous: Callable[[], Awaitable[Any]]


Wait = Read | Write | Fire | Call
Operation = Generator[Wait, Any, T]


def run(made: Operation[T]) -> T:
    """Drive an operation from sync code."""
    send: Callable[[Any], Wait] = made.send
    value: Any = None
    while True:
        try:
            wait = send(value)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            value = None  # an error has this frame in its traceback: no circle is to be left
        try:
            send, value = made.send, _waited(wait)
        except BaseException as error:
            send, value = made.throw, error


async def arun(made: Operation[T]) -> T:
    """Drive an operation from async code."""
    send: Callable[[Any], Wait] = made.send
    value: Any = None
    while True:
        try:
            wait = send(value)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            value = None  # an error has this frame in its traceback: no circle is to be left
        try:
            send, value = made.send, await _awaited(wait)
        except BaseException as error:
            send, value = made.throw, error


def _waited(wait: Wait) -> Any:
    if isinstance(wait, Fire):
        return fire(wait.hooks, *wait.happenings)
    if isinstance(wait, Call):
        return wait.sync()
    for gives_up in _TWICE:
        try:
            return _tried(wait)
        except Exception as error:
            if not _may_heal(wait, error, gives_up):
                raise
            engine = wait.engine
            job = engine.job("mend", partial(engine.healer.script, wait.threads, gives_up))
            try:
                engine.post(job)
                told = engine.healer.told(engine.wait(job))
            except WyrdError as other:  # it can't be written, for one
                raise error from other
        fire(told.hooks, *told.happenings)
    return _tried(wait)


async def _awaited(wait: Wait) -> Any:
    if isinstance(wait, Fire):
        return await afire(wait.hooks, *wait.happenings)
    if isinstance(wait, Call):
        return await wait.asynchronous()
    for gives_up in _TWICE:
        try:
            return await _atried(wait)
        except Exception as error:
            if not _may_heal(wait, error, gives_up):
                raise
            engine = wait.engine
            job = engine.ajob("mend", partial(engine.healer.script, wait.threads, gives_up))
            try:
                engine.post(job)
                told = engine.healer.told(await engine.await_(job))
            except WyrdError as other:  # it can't be written, for one
                raise error from other
        await afire(told.hooks, *told.happenings)
    return await _atried(wait)


# Damaged rows are restored first; if that was not enough, what can't be restored is given up, as
# by a repair.
_TWICE = (False, True)


def _may_heal(wait: Read | Write, error: Exception, gives_up: bool) -> bool:
    """Whether an error may come from damaged or missing rows of the threads of a script."""
    if wait.engine.healer is None or not wait.threads:
        return False
    return is_damage(error) or (isinstance(error, ThreadNotFound) and not gives_up)


def _tried(wait: Read | Write) -> Any:
    if isinstance(wait, Read):
        return wait.engine.run(wait.script)
    for _ in range(_TRIES):
        try:
            return wait.engine.run(wait.script, writes=True)
        except Stale:
            continue
        finally:
            wait.after()
    raise _busy()


async def _atried(wait: Read | Write) -> Any:
    if isinstance(wait, Read):
        return await wait.engine.arun(wait.script)
    for _ in range(_TRIES):
        try:
            return await wait.engine.arun(wait.script, writes=True)
        except Stale:
            continue
        finally:
            wait.after()
    raise _busy()


def _busy() -> DatabaseBusy:
    return DatabaseBusy(
        f"the thread was changed by other writers {_TRIES} times meanwhile: nothing was stored. "
        "Try again"
    )


# ---- methods


def operation(
    method: Callable[Concatenate[S, P], Operation[T]],
) -> Callable[Concatenate[S, P], T]:
    """The sync method of an operation."""

    @functools.wraps(method)
    def made(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(method(self, *args, **kwargs))

    made.__signature__ = _signature(method)  # type: ignore[attr-defined]
    return cast("Callable[Concatenate[S, P], T]", made)


def asynchronous(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async method of an operation, from its sync one."""
    flow: Callable[Concatenate[S, P], Operation[T]] = method.__wrapped__  # type: ignore[attr-defined]

    @functools.wraps(method)
    async def made(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await arun(flow(self, *args, **kwargs))

    name = method.__name__
    made.__name__ = f"a{name}"
    made.__qualname__ = made.__qualname__.replace(name, f"a{name}")
    made.__doc__ = f"Async version of `{name}`."
    made.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return cast("Callable[Concatenate[S, P], Coroutine[Any, Any, T]]", made)


def _signature(method: Callable[..., Any]) -> inspect.Signature:
    """The method's signature; what it returns is the operation's result."""
    found = inspect.signature(method)
    said = found.return_annotation
    if isinstance(said, str) and said.startswith("Operation["):
        said = said[len("Operation[") : -1]
    return found.replace(return_annotation=said)
