"""A thread as a file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.carrying.driving import finish
from langgraph_wyrd.carrying.files import Letter, replacing
from langgraph_wyrd.handle.base import Handle
from langgraph_wyrd.plans import beside as marks
from langgraph_wyrd.plans import carry, moments

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")

_PAGE = 32  # checkpoints that are held at once


class Exporting(Handle):
    """The part of a thread's handle that writes it down."""

    def export(self, path: str | os.PathLike[str], payloads: bool = False) -> None:
        """Write the thread to a JSON file for reading and comparing: working state, labels,
        messages, history.

        The file appears whole or not at all. What an encrypting store holds is written in the
        clear, except for the payloads, which its serde seals; the file's `in_the_clear` says so.

        Args:
            path: The file; one that is there is replaced.
            payloads: Also write what it takes to bring the thread back with
                `saver.import_thread`: every checkpoint, with its writes.

        Raises:
            ThreadNotFound: No such thread.
        """
        finish(self._export(path, payloads, False))

    async def aexport(self, path: str | os.PathLike[str], payloads: bool = False) -> None:
        """Async version of `export`."""
        await self._export(path, payloads, True)

    async def _export(
        self, path: str | os.PathLike[str], payloads: bool, asynchronous: bool
    ) -> None:
        codec, id, core = self._codec, self._stored, self._core

        async def ask(plan: Callable[[], Plan[T]]) -> T:
            def job(core: Running[Memory]) -> Coroutine[Any, Any, T]:
                return core.read(plan)

            return await core.arun(job) if asynchronous else core.run(job)

        state = await ask(partial(moments.state_at, codec, id, None))
        times = await ask(partial(carry.times, id))
        beside = await ask(partial(marks.beside, codec, id))
        messages = await ask(partial(carry.messages, codec, id))
        order = carry.in_order(await ask(partial(carry.outline, id)))
        if codec.sealed:
            logger.warning(
                "thread %r of an encrypted store is written to %r: working state, messages and "
                "history are in the clear there",
                self.id,
                os.fspath(path),
            )
        letter = Letter(codec, payloads)
        with replacing(path) as file:
            file.write(letter.head(self.id, times, state, beside, messages))
            for start in range(0, len(order), _PAGE):
                keys = order[start : start + _PAGE]
                found = await ask(partial(carry.these, codec, id, keys))
                told = await ask(partial(carry.told, codec, id, keys))
                for each, said in zip(found, told, strict=True):
                    if each is not None:  # else deleted meanwhile
                        file.write(letter.checkpoint(each, said))
            file.write(letter.end())
