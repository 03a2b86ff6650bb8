"""A thread as a file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.handle.reading import Reading
from langgraph_wyrd.healing import exported, telling
from langgraph_wyrd.healing.exported import Heals
from langgraph_wyrd.plans import beside as marks
from langgraph_wyrd.plans import carry, moments
from langgraph_wyrd.plans.carry import Carried, Key
from langgraph_wyrd.transfer.driving import finish
from langgraph_wyrd.transfer.files import Letter
from langgraph_wyrd.transfer.text import replacing

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")

_PAGE = 32  # checkpoints that are held at once


class Exporting(Reading):
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

        What is damaged is healed as in any load, and told of: a checkpoint that can't be read is
        left out.

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

        async def run(job: Callable[[Running[Memory]], Coroutine[Any, Any, T]]) -> T:
            return await core.arun(job) if asynchronous else core.run(job)

        async def ask(plan: Callable[[], Plan[T]]) -> T:
            return await run(lambda core: self._healed(core, plan))

        async def load(plan: Callable[[], Plan[tuple[T, Heals]]]) -> T:
            return await run(lambda core: self._loaded(core, plan))

        heals = self._heals_damage
        these, messages_of = (exported.these, exported.messages) if heals else (_these, _messages)
        state = await ask(partial(moments.state_at, codec, id, None))
        times = await ask(partial(carry.times, id))
        beside = await ask(partial(marks.beside, codec, id))
        messages = await load(partial(messages_of, codec, id))
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
                found = await load(partial(these, codec, id, keys))
                told = await ask(partial(carry.told, codec, id, keys))
                for each, said in zip(found, told, strict=True):
                    if each is not None:  # else deleted meanwhile
                        file.write(letter.checkpoint(each, said))
            file.write(letter.end())

    async def _loaded(self, core: Running[Memory], plan: Callable[[], Plan[tuple[T, Heals]]]) -> T:
        found, heals = await core.read(plan)
        if heals:
            await telling.tell(core, self._codec, heals)
        return found


def _these(
    codec: Codec, thread_id: str, keys: Sequence[Key]
) -> Plan[tuple[list[Carried | None], Heals]]:
    return (yield from carry.these(codec, thread_id, keys)), ()


def _messages(codec: Codec, thread_id: str) -> Plan[tuple[list[Any] | None, Heals]]:
    return (yield from carry.messages(codec, thread_id)), ()
