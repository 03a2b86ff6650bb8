"""The part of a saver that changes keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_wyrd.storage.access import Access
    from langgraph_wyrd.storage.engine import Engine
    from langgraph_wyrd.storage.rotation import Progress, Rotation


class Rotating:
    """`rotate_keys` and its async version."""

    if TYPE_CHECKING:
        _access: Access
        _engine: Engine

    def rotate_keys(self, *, plain: bool = False, progress: Progress | None = None) -> Rotation:
        """Encrypt everything that is stored anew, under the newest key of the ring.

        Afterwards no other key is needed. It goes on in short transactions, while others read and
        write; stopped, it can be run again, and does what is left to do.

        Args:
            plain: Also encrypt what is not encrypted at all, so that a plain store becomes an
                encrypted one. Only while nobody else uses it; what was deleted or written over
                before may still stand in the file (`VACUUM` it), in logs and in backups.
            progress: Called with how many threads are done, of how many, after each.

        Raises:
            InvalidInput: This saver was opened without `keys=`.
            KeyMissing: A row is encrypted with a key that the ring does not have.
        """
        steps = self._rotation(plain, progress)
        try:
            script = next(steps)
            while True:
                script = steps.send(self._engine.run(script, writes=True))
        except StopIteration as end:
            done: Rotation = end.value
            return done

    async def arotate_keys(
        self, *, plain: bool = False, progress: Progress | None = None
    ) -> Rotation:
        """Async version of `rotate_keys`."""
        steps = self._rotation(plain, progress)
        try:
            script = next(steps)
            while True:
                script = steps.send(await self._engine.arun(script, writes=True))
        except StopIteration as end:
            done: Rotation = end.value
            return done

    def _rotation(self, plain: bool, progress: Progress | None) -> Any:
        sealer = self._access.ring
        if sealer is None:
            raise InvalidInput("this saver was opened without keys=: there are none to rotate")
        from langgraph_wyrd.storage.rotation import rotation

        engine = self._engine
        return rotation(engine.driver.dialect, self._access, sealer, plain, progress, engine.mend)
