"""Python's garbage collector, held back while many objects are made at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Hold Python's garbage collector back while thousands of objects are made.

    A long list of messages sets it off a dozen times while it is loaded, each time to walk over
    what has only just been made; that was half of what loading cost.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
