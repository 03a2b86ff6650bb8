"""What is written once, as a coroutine, driven from sync code as well."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for a loop."""
    try:
        work.send(None)
    except StopIteration as end:
        made: T = end.value
        return made
    work.close()
    raise AssertionError("sync code was about to wait for a loop")
