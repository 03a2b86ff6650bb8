"""Models that notebooks and `print` show: what renders them is imported when somebody looks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T", bound=type[Any])


def viewed(
    module: str, html: str, text: str | None = None, *, prints: bool = True
) -> Callable[[T], T]:
    """Have a model shown by functions of `views.module`; `__repr__` stays, for debugging.

    `prints`: `print` shows the text, too, not only IPython.
    """

    def given(cls: T) -> T:
        cls._repr_html_ = _view(module, html)
        if text is not None:
            shown = _view(module, text)
            if prints:
                setattr(cls, "__str__", shown)  # noqa: B010
            cls._repr_pretty_ = lambda self, printer, cycle: printer.text(shown(self))
        return cls

    return given


def _view(module: str, name: str) -> Callable[[Any], str]:
    def shown(item: Any) -> str:
        made: str = getattr(import_module(f"langgraph_wyrd.views.{module}"), name)(item)
        return made

    return shown
