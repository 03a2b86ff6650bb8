"""Bytes that are what was written, by their checksum, and yet no value: somebody made them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from langgraph_wyrd.errors import CheckpointDamaged, WyrdError

F = TypeVar("F", bound=Callable[..., Any])


def decoding(load: F) -> F:
    """A codec's method that decodes: what it can't decode is damage, and healed as such.

    Of a serde of the user's own nothing is known: what it raises may be no damage.
    """

    @wraps(load)
    def checked(self: Any, *args: Any) -> Any:
        try:
            return load(self, *args)
        except (WyrdError, MemoryError):
            raise
        except Exception as error:
            if not self.splices:
                raise
            raise CheckpointDamaged(f"a stored value can't be decoded: {error}") from error

    return cast(F, checked)
