"""Operations of the public face, written once and driven twice: by sync and by async callers.

An operation is a generator method. It yields what has to be waited for (a script to run, hooks to
call, a function of the caller's that has a sync and an async form) and receives the result.
`operation` makes the sync method of it, `asynchronous` the async one.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from langgraph_wyrd.checkpoints.read import is_damage
from langgraph_wyrd.drive import drive, finish
from langgraph_wyrd.errors import CheckpointDamaged, ThreadNotFound, WyrdError
from langgraph_wyrd.hooks import Fire as Fire
from langgraph_wyrd.hooks import afire, fire
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.storage.scripts import Script

if TYPE_CHECKING:
    from typing import Concatenate

    from typing_extensions import ParamSpec

    from langgraph_wyrd.checkpoints.cache import Cache
    from langgraph_wyrd.checkpoints.working import Reader
    from langgraph_wyrd.checkpoints.writing import Writing
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.recovery import mend
    from langgraph_wyrd.storage.access import Access
    from langgraph_wyrd.storage.engine import Engine

    P = ParamSpec("P")
else:  # most processes never meet damage
    mend = lazy("recovery.mend")


S = TypeVar("S")
T = TypeVar("T")
Bound = Callable[[], Script[T]]  # a script with its arguments


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
Steps = Generator[Call | Fire, Any, T]


def run(made: Operation[T]) -> T:
    """Drive an operation from sync code."""
    return finish(drive(made, partial(_answered, _call)))


async def arun(made: Operation[T]) -> T:
    """Drive an operation from async code."""
    return await drive(made, partial(_answered, _acall))


async def _answered(call: Callable[[Any], Awaitable[Any]], wait: Wait) -> Any:
    """The result of what an operation waits for."""
    if isinstance(wait, Read | Write):
        return await drive(_named(wait), call)
    return await call(wait)


async def _call(step: Call | Fire) -> Any:
    return fire(step.hooks, *step.happenings) if isinstance(step, Fire) else step.sync()


def _acall(step: Call | Fire) -> Awaitable[Any]:
    return afire(step.hooks, *step.happenings) if isinstance(step, Fire) else step.asynchronous()


def _named(wait: Read | Write) -> Steps[Any]:
    """Run a script. Whatever it raises where its threads are damaged beyond repair is
    CheckpointDamaged, which names a row."""
    try:
        return (yield from _healed(wait))
    except Exception as error:
        yield from refuse_damaged(wait.engine, wait.threads, error)
        raise


def refuse_damaged(engine: Engine, threads: Sequence[str], error: Exception) -> Steps[None]:
    """Raise CheckpointDamaged in the place of an error that has no name, where these threads are
    damaged."""
    if threads and is_damage(error) and not isinstance(error, WyrdError):
        damage = yield job(engine, "read", partial(mend.damaged, engine.driver.dialect, threads))
        if damage:
            raise CheckpointDamaged(damage) from error


def _healed(wait: Read | Write) -> Steps[Any]:
    """Run a script. If it meets damage, its threads are healed and it runs again. The second time
    what can't be restored is given up, as by a repair."""
    engine = wait.engine
    for gives_up in (False, True):
        try:
            return (yield from _tried(wait))
        except Exception as error:
            is_gone = isinstance(error, ThreadNotFound) and not gives_up
            if engine.healer is None or not wait.threads or not (is_damage(error) or is_gone):
                raise
            script = partial(engine.healer.script, wait.threads, gives_up)
            try:
                fire_ = engine.healer.report((yield job(engine, "mend", script)))
            except WyrdError as other:  # it can't be written, for one
                raise error from other
        yield fire_
    return (yield from _tried(wait))


def _tried(wait: Read | Write) -> Steps[Any]:
    how = {"writes": isinstance(wait, Write)}
    call = Call(*(partial(run, wait.script, **how) for run in (wait.engine.run, wait.engine.arun)))
    if isinstance(wait, Read):
        return (yield call)
    try:
        return (yield call)
    finally:
        wait.after()


# ---- methods


def operation(method: Callable[Concatenate[S, P], Operation[T]]) -> Callable[Concatenate[S, P], T]:
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
    """The method's signature: what it returns is the operation's result, and keyword arguments
    that are declared once (`**filters: Unpack[Filters]`) stand in it one by one."""
    found = inspect.signature(method)
    said = found.return_annotation
    if isinstance(said, str) and said.startswith("Operation["):
        said = said[len("Operation[") : -1]
    parameters: list[inspect.Parameter] = []
    for each in found.parameters.values():
        declared = str(each.annotation).partition("Unpack[")[2].removesuffix("]")
        if each.kind is each.VAR_KEYWORD and declared:
            hints = method.__globals__[declared].__annotations__
            parameters += [
                each.replace(
                    name=name,
                    kind=each.KEYWORD_ONLY,
                    annotation=hint.__origin__,
                    default=hint.__metadata__[0].default,
                )
                for name, hint in hints.items()
            ]
        else:
            parameters.append(each)
    return found.replace(parameters=parameters, return_annotation=said)


# ---- calls that an operation may wait for


def ask(on: Any, name: str, /, *args: Any, **kwargs: Any) -> Call:
    """A method that has an async twin, named with an `a` in front:
    `found = yield ask(saver, "get_tuple", config)`."""
    return Call(
        lambda: getattr(on, name)(*args, **kwargs), lambda: getattr(on, f"a{name}")(*args, **kwargs)
    )


def job(engine: Engine, kind: str, script: Callable[[], Script[Any]]) -> Call:
    """Run a script as a job of this kind: see `storage.engine.Job`."""

    async def asked() -> Any:
        return await engine.post(engine.ajob(kind, script)).waiting

    return Call(lambda: engine.wait(engine.post(engine.job(kind, script))), asked)


def nothing() -> Script[None]:
    """A script without statements: whoever runs it opens the database."""
    yield from ()


def listed(on: Any, *args: Any, **kwargs: Any) -> Call:
    """All that `on.list` (or `on.alist`) yields."""

    async def alisted() -> list[Any]:
        return [each async for each in on.alist(*args, **kwargs)]

    return Call(lambda: list(on.list(*args, **kwargs)), alisted)


def in_thread(work: Callable[[], Any]) -> Call:
    """Work that takes long: async callers leave it to a worker thread."""
    return Call(work, partial(asyncio.to_thread, work))


def pause(seconds: float) -> Call:
    return Call(partial(time.sleep, seconds), partial(asyncio.sleep, seconds))


# ---- whose operations they are


class SaverBase:
    """What the parts of a saver share: an opened database, its cache, its hooks, and how scripts
    are run. `WyrdSaver` makes what is declared here."""

    _user: str | None = None  # whose threads alone this saver sees; None: all
    _where: str | None = None  # which database it is, without passwords
    if TYPE_CHECKING:
        hooks: Hooks
        _access: Access
        _cache: Cache
        _engine: Engine
        _heals: bool
        _reader: Reader | None
        _writing: Writing

        @property
        def _codec(self) -> Codec: ...

    @property
    def _dialect(self) -> str:
        return self._engine.driver.dialect

    def _read(self, script: Bound[T], *threads: str) -> Operation[T]:
        """What a script reads. Damage in these threads (stored ids) is healed, if it is met."""
        found: T = yield Read(self._engine, script, threads)
        return found

    def _write(self, script: Bound[T], *threads: str) -> Operation[T]:
        """Run a script that changes these threads; the cache forgets them."""
        found: T = yield Write(self._engine, script, partial(self._forget, *threads), threads)
        return found

    def _write_strictly(self, script: Callable[..., Script[T]], thread: str) -> Operation[T]:
        """Run a script with `strict=True`. Where it meets damage, what can be restored of the
        thread is, and it runs without."""
        try:
            found: T = yield Write(
                self._engine, partial(script, strict=True), partial(self._forget, thread)
            )
            return found
        except Exception as error:
            if not is_damage(error):
                raise
        yield from self._restored(thread)
        return (yield from self._write(script, thread))

    def _restored(self, thread: str) -> Operation[None]:
        """Restore what can be of a damaged thread. Where nothing can be written it stays as it is:
        what needs it says so."""
        if (healer := self._engine.healer) is not None:
            with suppress(WyrdError):
                mend = partial(healer.script, [thread], False)
                yield healer.report((yield job(self._engine, "mend", mend)))

    def _forget(self, *threads: str) -> None:
        for thread_id in threads:
            self._cache.drop(thread_id)
