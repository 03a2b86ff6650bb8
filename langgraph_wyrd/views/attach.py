"""Gives the models the views that notebooks and `print` look for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from langgraph_wyrd.state.viewed import given_by

# Of each model: its module here, what makes its HTML, and its text.
_VIEWS = {
    "WorkingState": ("state", "state_html", "state_text"),
    "StateDiff": ("changes", "diff_html", "diff_text"),
    "Page": ("lists", "page_html", "page_text"),
    "Tree": ("past", "tree_html", None),
    "Todo": ("lists", "item_html", "item_text"),
    "ContextItem": ("lists", "item_html", "item_text"),
    "OpenLoop": ("lists", "item_html", "item_text"),
    "Intention": ("lists", "item_html", "item_text"),
    "Label": ("lists", "label_html", "label_text"),
    "InboxEntry": ("lists", "entry_html", None),
}


def attach() -> None:
    """`__repr__` stays as it is, for debugging; IPython's terminal shows the text as well."""
    given_by(_give)


def _give(cls: type[Any]) -> None:
    module, html, text = _VIEWS[cls.__name__]
    cls._repr_html_ = _view(module, html)
    if text is not None:
        shown = _view(module, text)
        setattr(cls, "__str__", shown)  # noqa: B010
        cls._repr_pretty_ = lambda self, printer, cycle: printer.text(shown(self))


def _view(module: str, name: str) -> Callable[[Any], str]:
    """A renderer, imported when somebody looks: most processes never do."""

    def shown(item: Any) -> str:
        made: str = getattr(import_module(f"langgraph_wyrd.views.{module}"), name)(item)
        return made

    return shown
