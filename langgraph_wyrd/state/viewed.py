"""Models that notebooks and `print` show. What they show is given by `show`, which knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=type[Any])

_models: list[type[Any]] = []
_giver: list[Callable[[type[Any]], None]] = []


def viewed(cls: T) -> T:
    """Marks a model that has views: it gets them as soon as somebody gives them."""
    _models.append(cls)
    for give in _giver:
        give(cls)
    return cls


def given_by(give: Callable[[type[Any]], None]) -> None:
    """Have every such model given its views, those that are imported later too."""
    _giver[:] = [give]
    for cls in _models:
        give(cls)
