"""Operations of the public face, written once and driven twice: by sync and by async callers.

An operation is a generator method. It yields what has to be waited for (a script to run, hooks to
call, a function of the caller's that has a sync and an async form) and receives the result.
`operation` makes the sync method of it, `asynchronous` the async one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from langgraph_wyrd.errors import DatabaseBusy
from langgraph_wyrd.storage.scripts import Script, Stale

if TYPE_CHECKING:
    from typing import Concatenate

    from typing_extensions import ParamSpec

    from langgraph_wyrd.hooks import Happening, HasHooks
    from langgraph_wyrd.storage.engine import Engine

    P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

_TRIES = 40


class Read(NamedTuple):
    """A script to run on one snapshot of the database."""

    engine: Engine
    script: Callable[[], Script[Any]]


class Write(NamedTuple):
    """A script to run in a transaction; run again where another writer was quicker. `after` is
    called when it ended, however it ended."""

    engine: Engine
    script: Callable[[], Script[Any]]
    after: Callable[[], object] = tuple


class Fire(NamedTuple):
    """Hooks to call."""

    hooks: HasHooks
    happenings: tuple[Happening, ...]


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
    if isinstance(wait, Read):
        return wait.engine.run(wait.script)
    if isinstance(wait, Write):
        for _ in range(_TRIES):
            try:
                return wait.engine.run(wait.script, writes=True)
            except Stale:
                continue
            finally:
                wait.after()
        raise _busy()
    if isinstance(wait, Fire):
        from langgraph_wyrd.hooks import fire

        return fire(wait.hooks, *wait.happenings)
    return wait.sync()


async def _awaited(wait: Wait) -> Any:
    if isinstance(wait, Read):
        return await wait.engine.arun(wait.script)
    if isinstance(wait, Write):
        for _ in range(_TRIES):
            try:
                return await wait.engine.arun(wait.script, writes=True)
            except Stale:
                continue
            finally:
                wait.after()
        raise _busy()
    if isinstance(wait, Fire):
        from langgraph_wyrd.hooks import afire

        return await afire(wait.hooks, *wait.happenings)
    return await wait.asynchronous()


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
