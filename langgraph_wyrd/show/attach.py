"""Gives the models the views that notebooks and `print` look for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from langgraph_wyrd.pillars.diff import StateDiff
from langgraph_wyrd.pillars.listed import Page
from langgraph_wyrd.pillars.model import ContextItem, Intention, OpenLoop, Todo, WorkingState
from langgraph_wyrd.pillars.past import Tree


def attach() -> None:
    """`__repr__` stays as it is, for debugging; IPython's terminal shows the text as well."""
    _give(WorkingState, _view("state", "state_html"), _view("state", "state_text"))
    _give(StateDiff, _view("changes", "diff_html"), _view("changes", "diff_text"))
    _give(Page, _view("lists", "page_html"), _view("lists", "page_text"))
    _give(Tree, _view("past", "tree_html"), None)
    for cls in (Todo, ContextItem, OpenLoop, Intention):
        _give(cls, _view("lists", "item_html"), None)


def _view(module: str, name: str) -> Callable[[Any], str]:
    """A renderer, imported when somebody looks: most processes never do."""

    def shown(item: Any) -> str:
        made: str = getattr(import_module(f"langgraph_wyrd.show.{module}"), name)(item)
        return made

    return shown


def _give(cls: type[Any], html: Callable[[Any], str], text: Callable[[Any], str] | None) -> None:
    cls._repr_html_ = html
    if text is not None:
        setattr(cls, "__str__", text)  # noqa: B010
        cls._repr_pretty_ = lambda self, printer, cycle: printer.text(text(self))
