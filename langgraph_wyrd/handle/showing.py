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
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.views.plot import Plot


class Showing(Reading, Healed):
    """A thread in a cell: its state, its checkpoints, and how it went.

    What renders them is imported when somebody looks: most processes never do.
    """

    def plot(self) -> Plot:
        """Todos done, loops open and bytes over time, as a picture: `plot.svg`, or a cell's value.

        Of more than 1,000 todos, or loops, the newest count. Bytes are those that are there now,
        by the checkpoint that brought them.
        """
        return self._core.run(self._plot)[0]

    async def aplot(self) -> Plot:
        """Async version of `plot`."""
        return (await self._core.arun(self._plot))[0]

    async def _plot(self, core: Running[Memory]) -> tuple[Plot, dict[str, int]]:
        """The picture, and the bytes that came with each of the root's checkpoints."""
        from langgraph_wyrd.plans.weights import weights
        from langgraph_wyrd.views.plot import plot

        codec = self._codec
        asked = Asked(limit=MOST_LISTED, thread_id=(self._stored,))
        todos = await core.read(lambda: query.todos(codec, asked))
        loops = await core.read(lambda: query.loops(codec, asked))
        found = await self._healed(core, lambda: weights(codec, self._stored))
        made = plot(todos, loops, ((each.ts, each.bytes) for each in found.each), found.before)
        return made, {each.checkpoint_id: each.bytes for each in found.each if not each.ns}

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.thread import MOST, note_html, thread_html

        try:
            state, entries = self.working_state(), self.history(limit=MOST + 1)
            plot, sizes = self._core.run(self._plot)
            talk: Any = self  # what was said is another part of the handle
            messages = talk.messages(as_dicts=True)
            return thread_html(state, entries, plot, self.heals(), sizes, messages)
        except WyrdError as error:  # a cell must show something
            return note_html(self.id, str(error))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from langgraph_wyrd.views.plain import plain
        from langgraph_wyrd.views.state import state_text

        try:
            printer.text(state_text(self.working_state()))
        except WyrdError as error:
            printer.text(plain(str(error)))
