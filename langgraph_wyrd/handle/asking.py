"""Asking a model what a thread's conversation left open."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from langgraph_wyrd.alone import alone
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.handle.editing import Editable, told_of_loops
from langgraph_wyrd.handle.reading import Reading
from langgraph_wyrd.healing import asked
from langgraph_wyrd.hooks import afire, fire
from langgraph_wyrd.plans import reports
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.reported import Findings, Report

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.values import Codec


class Reader(Protocol):
    """What reads a conversation: `ModelExtractor`, or something like it."""

    author: str

    def read(
        self, messages: Sequence[Any], state: WorkingState, before: str | None = None
    ) -> Report: ...

    async def aread(
        self, messages: Sequence[Any], state: WorkingState, before: str | None = None
    ) -> Report: ...


class Asking(Reading, Editable):
    """The part of a thread's handle that asks a model."""

    def extract_with_model(self, extractor: Reader, *, again: bool = False) -> Findings:
        """Ask a model what the conversation left open, and store what it can quote.

        ```python
        found = thread.extract_with_model(ModelExtractor(model))
        ```

        What is found has confidence `model` and the quoted words in its context, lies on top of the
        head as an edit does, and lasts as that does. What was declared, or seen without a model,
        stands as it is; what a model said before is not said twice. If nothing was said since the
        last time, no model is asked.

        Args:
            extractor: A `ModelExtractor`.
            again: Ask even if nothing was said since.

        Raises:
            ThreadNotFound: No such thread.
            UnusableAnswer: The model gave no report; nothing is stored.
            EditConflict: The thread was taken back while the model read it; nothing is stored.
        """
        codec = self._able(extractor)
        given = self._read(partial(reports.to_read, codec, self._stored), asked.healed)
        before = None if again else given.before(extractor.author)
        report = extractor.read(given.messages, given.state, before)
        if not report.calls:
            return Findings(given.state)
        was, found = self._core.run(lambda core: self._report(core, report))
        fire(self._core, *told_of_loops(was, found.state, _by(report)))
        return found

    async def aextract_with_model(self, extractor: Reader, *, again: bool = False) -> Findings:
        """Async version of `extract_with_model`."""
        codec = self._able(extractor)
        given = await self._aread(partial(reports.to_read, codec, self._stored), asked.healed)
        before = None if again else given.before(extractor.author)
        report = await extractor.aread(given.messages, given.state, before)
        if not report.calls:
            return Findings(given.state)
        was, found = await self._core.arun(lambda core: self._report(core, report))
        await afire(self._core, *told_of_loops(was, found.state, _by(report)))
        return found

    def _able(self, extractor: Reader) -> Codec:
        """Before a model is paid for, that what it finds can be stored."""
        if not hasattr(extractor, "aread"):
            raise InvalidInput(
                f"{type(extractor).__name__} is no extractor: pass ModelExtractor(model), which is "
                "in langgraph_wyrd.agents.model_extractor"
            )
        codec: Codec = self._refuse()
        return codec

    async def _report(self, core: Running[Memory], report: Report) -> tuple[WorkingState, Findings]:
        codec, token = self._codec, secrets.token_hex(6)
        return await alone(
            core, self._stored, lambda: reports.save(codec, self._stored, report, token)
        )


def _by(report: Report) -> dict[str, str]:
    return {"by": "model", "author": report.author}
