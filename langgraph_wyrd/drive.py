"""One loop for sync and async code: a generator says what it waits for, its driver waits.

`drive` sends each thing that a generator yields to a function, and what that gives, or raises, back
into the generator. Where the function never waits for an event loop, `finish` runs it all from sync
code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


async def drive(made: Generator[Any, Any, T], answer: Callable[[Any], Awaitable[Any]]) -> T:
    """Run a generator to its end; what it returns."""
    send: Callable[[Any], Any] = made.send
    value: Any = None
    while True:
        try:
            asked = send(value)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            value = None  # an error has this frame in its traceback: no circle is to be left
        try:
            send, value = made.send, await answer(asked)
        except BaseException as error:
            send, value = made.throw, error


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for a loop."""
    try:
        work.send(None)
    except StopIteration as end:
        made: T = end.value
        return made
    work.close()
    raise AssertionError("sync code was about to wait for a loop")
