"""Gives the models the views that notebooks and `print` look for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph_wyrd.pillars.diff import StateDiff
from langgraph_wyrd.pillars.listed import Page
from langgraph_wyrd.pillars.model import ContextItem, Intention, OpenLoop, Todo, WorkingState
from langgraph_wyrd.pillars.past import Tree
from langgraph_wyrd.show.changes import diff_html, diff_text
from langgraph_wyrd.show.lists import page_html, page_text
from langgraph_wyrd.show.markup import tag
from langgraph_wyrd.show.parts import entry
from langgraph_wyrd.show.past import tree_html
from langgraph_wyrd.show.state import state_html, state_text
from langgraph_wyrd.show.style import framed


def attach() -> None:
    """`__repr__` stays as it is, for debugging; IPython's terminal shows the text as well."""
    _give(WorkingState, state_html, state_text)
    _give(StateDiff, diff_html, diff_text)
    _give(Page, page_html, page_text)
    _give(Tree, tree_html, None)
    for cls in (Todo, ContextItem, OpenLoop, Intention):
        _give(cls, lambda item: framed(tag("ul", entry(item))), None)


def _give(cls: type[Any], html: Callable[[Any], str], text: Callable[[Any], str] | None) -> None:
    cls._repr_html_ = html
    if text is not None:
        setattr(cls, "__str__", text)  # noqa: B010
        cls._repr_pretty_ = lambda self, printer, cycle: printer.text(text(self))
