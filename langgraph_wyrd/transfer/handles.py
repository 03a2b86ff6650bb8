"""The parts of a thread's handle and of a saver that write files, and read them."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.later import later
from langgraph_wyrd.operations import Call, Operation, Read, Write, asynchronous, operation
from langgraph_wyrd.storage.names import given, stored

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints import copy
    from langgraph_wyrd.checkpoints.copy import Arrived, Carried
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.transfer import export as files
    from langgraph_wyrd.transfer.export import Export
else:
    files, copy = later("transfer.export", "checkpoints.copy")

logger = logging.getLogger("langgraph_wyrd")


class Exporting:
    """The part of a thread's handle that writes it to a file."""

    if TYPE_CHECKING:
        _saver: WyrdSaver
        _stored: str

        @property
        def id(self) -> str: ...

    @operation
    def export(self, path: str | os.PathLike[str], payloads: bool = False) -> Operation[None]:
        """Write the thread to a JSON file for reading and comparing: working state, labels,
        messages, history.

        The file appears whole or not at all. What an encrypting store holds is written in the
        clear, except for the payloads, which stay encrypted; the file's `in_the_clear` says so.

        Args:
            path: The file; one that is there is replaced.
            payloads: Also write what it takes to bring the thread back with
                `saver.import_thread`: every row of it.

        Raises:
            ThreadNotFound: No such thread.
            CheckpointDamaged: Rows are damaged or missing, and can't be restored.
        """
        saver, codec = self._saver, self._saver._codec
        found: Export | None = yield Read(
            saver._engine,
            partial(files.export, saver._dialect, codec, self._stored),
            (self._stored,),
        )
        if found is None:
            raise ThreadNotFound(f"thread {self.id!r} has no checkpoints")
        if codec.sealer is not None:
            logger.warning(
                "thread %r of an encrypted store is written to %r: working state, messages and "
                "history are in the clear there",
                self.id,
                os.fspath(path),
            )
        write = partial(files.write, path, codec, found, payloads=payloads)
        yield Call(write, partial(asyncio.to_thread, write))

    aexport = asynchronous(export)


class Importing:
    """The part of a saver that reads what `thread.export` wrote."""

    @operation
    def import_thread(
        self, path: str | os.PathLike[str], thread_id: str | None = None
    ) -> Operation[str]:
        """Bring back a thread that was exported with `payloads=True`; its id.

        The file is checked first. All of the thread is stored in one transaction, or nothing.

        Args:
            path: The file.
            thread_id: Another id for the thread; None: the one that it had.

        Raises:
            FileDamaged: The file was cut off or changed.
            PayloadTooNew: A newer release wrote it.
            InvalidInput: It holds no payloads, or another thread has that id here.
        """
        saver: Any = self
        read = partial(files.read, path, saver._codec)
        carried: Carried = yield Call(read, partial(asyncio.to_thread, read))
        id = given(carried.thread.thread_id) if thread_id is None else thread_id
        name = stored(str(id), "thread_id")
        made: Arrived = yield Write(
            saver._engine,
            partial(copy.arrive, saver._dialect, saver._codec, saver._engine.nonce, name, carried),
        )
        saver._cache.drop(name)
        if made.why is not None:
            raise InvalidInput(
                f"thread {id!r} is here already, and is not the one in the file: import it under "
                "another thread_id"
            )
        if carried.thread.status is None and saver._reader and hasattr(saver, "reweave"):
            yield Call(partial(saver.reweave, id), partial(saver.areweave, id))
        return id

    aimport_thread = asynchronous(import_thread)
