"""What is stored, sealed anew under the newest key."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.later import later
from langgraph_wyrd.transfer.driving import finish

if TYPE_CHECKING:
    from langgraph_wyrd.plans import retain, rotation
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
else:
    retain, rotation = later("plans.retain", "plans.rotation")

T = TypeVar("T")
Progress = Callable[[int, int], object]
_THREADS = 500  # that are looked up in one go


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation did: rows that were sealed anew, of how many threads; rows that were not, as
    they are damaged."""

    threads: int
    rows: int
    left: int = 0

    def __str__(self) -> str:
        left = f"; {self.left} damaged rows stay as they are" if self.left else ""
        return f"{self.rows} rows of {self.threads} threads sealed under the newest key{left}"


class Rotating:
    """The part of a saver that changes keys."""

    if TYPE_CHECKING:
        _core: Core[Memory]
        _vaulted: bool

    def rotate_keys(self, *, plain: bool = False, progress: Progress | None = None) -> Rotation:
        """Seal everything that is stored anew, under the newest key of the ring.

        Afterwards no other key is needed. It goes on in small transactions, while others read and
        write; stopped, it can be run again, and does what is left to do.

        Args:
            plain: Also seal what is not encrypted at all, so that a plain store becomes an
                encrypted one. Only while nobody else writes to it; what was deleted or written
                over before may still stand in the file (`VACUUM` it), in logs and in backups.
            progress: Called with how many threads are done, of how many, after each.

        Raises:
            InvalidInput: This saver was opened without `keys=`.
            KeyMissing: A row is sealed with a key that the ring does not have.
        """
        return finish(self._rotate(plain, progress, False))

    async def arotate_keys(
        self, *, plain: bool = False, progress: Progress | None = None
    ) -> Rotation:
        """Async version of `rotate_keys`."""
        return await self._rotate(plain, progress, True)

    async def _rotate(self, plain: bool, progress: Progress | None, asynchronous: bool) -> Rotation:
        if not self._vaulted:
            raise InvalidInput("this saver was opened without keys=: there are none to rotate")

        async def tell(plan: Callable[[], Plan[T]]) -> T:
            def job(core: Running[Memory]) -> Coroutine[Any, Any, T]:
                return core.write(plan)

            return await self._core.arun(job) if asynchronous else self._core.run(job)

        total = await tell(partial(rotation.begun, plain))
        done, rows, left, after = 0, 0, 0, 0
        while page := await tell(partial(retain.page, after, _THREADS)):
            for number, thread_id in page:
                step = rotation.Step()
                while step.table is not None:
                    step = await tell(partial(rotation.on, thread_id, number, step, plain))
                done, rows, left = done + 1, rows + step.rows, left + step.left
                if progress is not None:
                    progress(done, max(done, total))
            after = page[-1][0]
        step = rotation.Step()
        while step.table is not None:
            step = await tell(partial(rotation.beside, step, plain))
        return Rotation(done, rows + step.rows, left + step.left)
