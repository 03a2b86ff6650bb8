"""What a notebook shows of a saver: its threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import WyrdError

if TYPE_CHECKING:
    from langgraph_wyrd.state.listed import Page, ThreadInfo


class Shown:
    """The part of a saver that notebooks look at."""

    if TYPE_CHECKING:
        threads: Callable[..., Page[ThreadInfo]]

    def __repr__(self) -> str:
        core: Any = self.__dict__.get("_core")
        where = getattr(getattr(core, "_driver", None), "where", None)
        return f"<{type(self).__name__}: {where or 'a database'}>"

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.lists import page_html
        from langgraph_wyrd.views.thread import note_html

        try:
            return page_html(self.threads(), type(self).__name__, "newest activity first")
        except WyrdError as error:  # a cell must show something
            return note_html(type(self).__name__, str(error))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from langgraph_wyrd.views.lists import page_text
        from langgraph_wyrd.views.plain import plain

        try:
            printer.text(page_text(self.threads()))
        except WyrdError as error:
            printer.text(plain(str(error)))
