"""Work written once as a coroutine, which calls a saver's sync or async methods."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from langgraph_wyrd.transfer.driving import finish

T = TypeVar("T")


class Calls:
    """Calls methods by their sync name: `await calls(saver, "get_tuple", config)`.

    With `asynchronous`, the method of that name with an `a` in front is awaited.
    """

    def __init__(self, *, asynchronous: bool) -> None:
        self._asynchronous = asynchronous

    async def __call__(self, on: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        if self._asynchronous:
            return await getattr(on, f"a{name}")(*args, **kwargs)
        return getattr(on, name)(*args, **kwargs)

    async def listed(self, on: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """What `on.list` (or `on.alist`) yields."""
        if self._asynchronous:
            return [each async for each in on.alist(*args, **kwargs)]
        return list(on.list(*args, **kwargs))


ASYNC = Calls(asynchronous=True)
_SYNC = Calls(asynchronous=False)


def run(work: Callable[..., Coroutine[Any, Any, T]], *args: Any, **kwargs: Any) -> T:
    """Run such a coroutine function from sync code."""
    return finish(work(_SYNC, *args, **kwargs))
