"""What notebooks and `print` show of a saver and of a thread.

What renders is imported when somebody looks: most processes never do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph_wyrd.checkpoints.points import known
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.operations import Operation, Read, asynchronous, operation, run
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.scripts import Query, Script

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.views.plot import Plot

_MOST = 5000  # checkpoints that are weighed
_LISTED = 1000  # todos, and loops
_NEWEST = (
    "SELECT c.ns, c.id, c.ts, length(c.metadata) + length(c.delta) "
    "+ coalesce(length(c.events), 0) + coalesce((SELECT sum(length(w.payload)) FROM wyrd_writes w "
    "WHERE w.thread = c.thread AND w.ns = c.ns AND w.checkpoint = c.id), 0) "
    "FROM wyrd_checkpoints c WHERE c.thread = ? ORDER BY c.id DESC LIMIT ?"
)


class Weight(NamedTuple):
    """A checkpoint, and the bytes that were stored with it: its row, and what its tasks wrote."""

    ns: str
    checkpoint_id: str
    ts: str | None
    bytes: int


def weights(dialect: str, thread_id: str) -> Script[list[Weight]]:
    """The bytes of a thread's newest checkpoints, oldest first. Nothing is decoded."""
    thread = yield from known(dialect, thread_id)
    rows = yield Query(_NEWEST, (thread.key, _MOST))
    return [Weight(given(ns), given(id), ts, int(held)) for ns, id, ts, held in reversed(rows)]


class Shown:
    """The part of a saver that notebooks look at."""

    _where: str | None = None  # which database it is, without passwords

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._where or 'a database'}>"

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.lists import page_html
        from langgraph_wyrd.views.thread import note_html

        saver: Any = self
        try:
            return page_html(saver.threads(), type(self).__name__, "newest activity first")
        except WyrdError as error:  # a cell must show something
            return note_html(type(self).__name__, str(error))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from langgraph_wyrd.views.lists import page_text
        from langgraph_wyrd.views.plain import plain

        saver: Any = self
        try:
            printer.text(page_text(saver.threads()))
        except WyrdError as error:
            printer.text(plain(str(error)))


class Showing:
    """A thread in a cell: its state, its checkpoints, and how it went."""

    if TYPE_CHECKING:
        _saver: WyrdSaver
        _stored: str

        @property
        def id(self) -> str: ...

    @operation
    def plot(self) -> Operation[Plot]:
        """Todos done, loops open and bytes over time, as a picture: `plot.svg`, or a cell's value.

        Of more than 1,000 todos, or loops, the newest count; of more than 5,000 checkpoints, too.
        """
        return (yield from self._plot())[0]

    aplot = asynchronous(plot)

    def _plot(self) -> Operation[tuple[Plot, dict[str, int]]]:
        """The picture, and the bytes that came with each of the root's checkpoints."""
        from langgraph_wyrd.views.plot import plot

        saver: Any = self._saver
        asked: Any = {"thread_id": self.id, "status": "any", "limit": _LISTED}
        todos = yield from type(saver).todos.__wrapped__(saver, **asked)
        loops = yield from type(saver).open_loops.__wrapped__(saver, **asked)
        found: list[Weight] = yield Read(
            saver._engine, partial(weights, saver._dialect, self._stored), (self._stored,)
        )
        made = plot(todos, loops, ((each.ts, each.bytes) for each in found))
        return made, {each.checkpoint_id: each.bytes for each in found if not each.ns}

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.thread import MOST, note_html, thread_html

        thread: Any = self  # its other parts read what is shown
        try:
            state, entries = thread.working_state(), thread.history(limit=MOST + 1)
            plot, sizes = run(self._plot())
            messages = thread.messages(as_dicts=True)
            return thread_html(state, entries, plot, thread.heals(), sizes, messages)
        except WyrdError as error:  # a cell must show something
            return note_html(self.id, str(error))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from langgraph_wyrd.views.plain import plain
        from langgraph_wyrd.views.state import state_text

        thread: Any = self
        try:
            printer.text(state_text(thread.working_state()))
        except WyrdError as error:
            printer.text(plain(str(error)))
