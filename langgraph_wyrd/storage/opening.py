"""Opening a database there and then: with `with`, or by `setup`."""

from __future__ import annotations

from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.scripts import Script


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
