"""Opening a database there and then: with `with`, or by `setup`."""

from __future__ import annotations

from typing import Any

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.scripts import Script


def refuse(setup: Any, timeout: Any, connect: Any, **counts: Any) -> None:
    """Raise InvalidInput for options that no driver can use."""
    if setup not in ("auto", "never"):
        raise InvalidInput(f'setup={setup!r}: use "auto" or "never"')
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:
        raise InvalidInput(f"timeout={timeout!r}: use a number of seconds")
    if connect is not None and not callable(connect):
        raise InvalidInput(f"connect={connect!r}: use a function that makes a connection")
    for name, value in counts.items():
        if value is not None and (type(value) is not int or value < 1):
            raise InvalidInput(f"{name}={value!r}: use a whole number, 1 or more")


def meet(engine: Engine) -> None:
    """Connect, and make what is missing. Nobody's lock is waited for."""
    engine.wait(engine.post(engine.job("open", _nothing)))


async def ameet(engine: Engine) -> None:
    """Async version of `meet`."""
    await engine.await_(engine.post(engine.ajob("open", _nothing)))


def _nothing() -> Script[None]:
    return
    yield


def enter(engine: Engine) -> None:
    """Open, also after a close; what can't be opened is left closed."""
    fresh = engine.reopened()
    try:
        meet(engine)
    except BaseException:
        if fresh:
            engine.close()
        raise


async def aenter(engine: Engine) -> None:
    """Async version of `enter`."""
    fresh = engine.reopened()
    try:
        await ameet(engine)
    except BaseException:
        if fresh:
            await engine.aclose()
        raise
