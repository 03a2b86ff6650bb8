"""Python's garbage collector, held back while many objects are made at once."""

from __future__ import annotations

import gc
from types import TracebackType


class Held:
    """Not collecting for a moment: for making thousands of objects of which none is garbage.

    A long list of messages sets the collector off a dozen times while it is loaded, each time to
    walk over what has only just been made; that was half of what loading cost. Where the program
    has turned collecting off, it stays off.
    """

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._was_on:
            gc.enable()
