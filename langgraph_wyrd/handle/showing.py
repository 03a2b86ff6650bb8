"""The part of a thread's handle that notebooks look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.handle.healed import Healed
from langgraph_wyrd.handle.reading import Reading
from langgraph_wyrd.plans import query
from langgraph_wyrd.plans.filters import MOST_LISTED, Asked

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.show.plot import Plot
    from langgraph_wyrd.store.running import Running


class Showing(Reading, Healed):
    """A thread in a cell: its state, its checkpoints, and how it went.

    What renders them is imported when somebody looks: most processes never do.
    """

    def plot(self) -> Plot:
        """Todos done and loops open over time, as a picture: `plot.svg`, or a cell's value.

        Of more than 1,000 todos, or loops, the newest count.
        """
        return self._core.run(self._plot)

    async def aplot(self) -> Plot:
        """Async version of `plot`."""
        return await self._core.arun(self._plot)

    async def _plot(self, core: Running[Memory]) -> Plot:
        from langgraph_wyrd.show.plot import plot

        codec = self._codec
        asked = Asked(limit=MOST_LISTED, thread_id=(self._stored,))
        todos = await core.read(lambda: query.todos(codec, asked))
        loops = await core.read(lambda: query.loops(codec, asked))
        return plot(todos, loops)

    def _repr_html_(self) -> str:
        from langgraph_wyrd.show.thread import MOST, note_html, thread_html

        try:
            state = self.working_state()
            return thread_html(state, self.history(limit=MOST + 1), self.plot(), self.heals())
        except WyrdError as error:  # a cell must show something
            return note_html(self.id, str(error))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from langgraph_wyrd.show.plain import plain
        from langgraph_wyrd.show.state import state_text

        try:
            printer.text(state_text(self.working_state()))
        except WyrdError as error:
            printer.text(plain(str(error)))
