"""A block after whose failure a thread stands where it stood before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running

    Head = Callable[[Running[Memory]], Coroutine[Any, Any, str | None]]
    PutBack = Callable[[Running[Memory], str | None], Coroutine[Any, Any, str | None]]

logger = logging.getLogger("langgraph_wyrd")


class Rollback:
    """What `thread.rollback()` gives: for one block, sync or async."""

    def __init__(self, thread_id: str, core: Core[Memory], head: Head, put_back: PutBack) -> None:
        self._thread_id = thread_id
        self._core = core
        self._head = head
        self._put_back = put_back
        self._was: str | None = None

    def __enter__(self) -> None:
        self._was = self._core.run(self._head)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            try:
                self._core.run(lambda core: self._put_back(core, self._was))
            except Exception as failed:
                self._tell(error, failed)

    async def __aenter__(self) -> None:
        self._was = await self._core.arun(self._head)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            try:
                await self._core.arun(lambda core: self._put_back(core, self._was))
            except Exception as failed:
                self._tell(error, failed)

    def _tell(self, error: BaseException, failed: Exception) -> None:
        """The block's own exception is the one to be raised; the other must not be lost."""
        stands = "before the first one" if self._was is None else f"at {self._was}"
        said = (
            f"the head of thread {self._thread_id!r} could not be put back to where it stood, "
            f"{stands}: {failed}"
        )
        logger.error(said, exc_info=failed)
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(said)
