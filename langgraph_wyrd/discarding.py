"""The part of a saver that deletes, prunes and copies threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.checkpoints import delete
from langgraph_wyrd.configs import several
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.later import later
from langgraph_wyrd.operations import Fire, Operation, Read, Write, asynchronous, operation
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Script

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.cache import Cache
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.storage.engine import Engine
    from langgraph_wyrd.transfer import rows
else:
    rows = later("transfer.rows")


class Discarding:
    """Deletes, prunes and copies threads."""

    if TYPE_CHECKING:
        _engine: Engine
        _cache: Cache
        hooks: Hooks

        @property
        def _codec(self) -> Codec: ...
        @property
        def _dialect(self) -> str: ...

    @operation
    def delete_thread(self, thread_id: str) -> Operation[None]:
        """Delete everything of a thread. What a run still sends afterwards raises ThreadDeleted."""
        yield from self._delete([thread_id], "delete_thread")

    adelete_thread = asynchronous(delete_thread)

    @operation
    def delete_for_runs(self, run_ids: Sequence[str]) -> Operation[None]:
        """Delete the checkpoints of these runs, and their writes, wherever they are."""
        runs = [stored(run_id, "a run id") for run_id in several(run_ids, "run_ids")]
        if not runs:
            return
        threads = yield Read(self._engine, partial(delete.threads_of_runs, runs))
        yield from self._each(
            threads, partial(self._of_thread, delete.delete_runs, runs), "delete_for_runs",
            run_ids=tuple(run_ids),
        )  # fmt: skip

    adelete_for_runs = asynchronous(delete_for_runs)

    @operation
    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> Operation[None]:
        """Delete all but the latest checkpoint of each namespace, or everything (`"delete"`).

        Checkpoints that a kept one's delta channels are rebuilt from are kept as well.
        """
        wanted = several(thread_ids, "thread_ids")
        if strategy in ("delete", "delete_all"):
            yield from self._delete(wanted, "prune")
        elif strategy == "keep_latest":
            names = [stored(str(each), "thread_id") for each in wanted]
            script = partial(self._of_thread, delete.keep_latest, None)
            yield from self._each(names, script, "prune", strategy=strategy)
        else:
            raise InvalidInput(
                f'unknown prune strategy {strategy!r}: use "keep_latest", "delete" or "delete_all"'
            )

    aprune = asynchronous(prune)

    @operation
    def copy_thread(
        self, source_thread_id: str, target_thread_id: str, *, latest_only: bool = False
    ) -> Operation[None]:
        """Copy a thread to an id that has no checkpoints yet: all of it, or what `prune` keeps."""
        old = stored(str(source_thread_id), "thread_id")
        new = stored(str(target_thread_id), "thread_id")
        codec, dialect, me = self._codec, self._dialect, self._engine.nonce

        def script() -> Script[None]:
            yield from rows.copied(dialect, codec, me, old, new)
            if latest_only:
                yield from delete.keep_latest(dialect, codec, me, new)

        yield Write(self._engine, script, partial(self._forget, old, new), (old, new))

    acopy_thread = asynchronous(copy_thread)

    # ---- what the methods share

    def _delete(self, thread_ids: Sequence[str], how: str) -> Operation[None]:
        names = [stored(str(each), "thread_id") for each in thread_ids]
        yield from self._each(names, self._deletion, how)

    def _deletion(self, name: str) -> Script[int]:
        return delete.delete_thread(self._dialect, self._engine.nonce, name)

    def _of_thread(self, how: Callable[..., Script[int]], more: Any, name: str) -> Script[int]:
        args = () if more is None else (more,)
        return how(self._dialect, self._codec, self._engine.nonce, name, *args)

    def _each(
        self, names: Iterable[str], script: Callable[[str], Script[int]], how: str, **detail: Any
    ) -> Operation[None]:
        """Run a script on each thread; the hooks are called with what went."""
        for name in names:
            self._cache.drop(name)
            forget = partial(self._forget, name)
            count = yield Write(self._engine, partial(script, name), forget, (name,))
            if count:
                what = {"how": how, "checkpoints": count, **detail}
                yield Fire(self, (Happening("discard", given(name), detail=what),))

    def _forget(self, *names: str) -> None:
        for name in names:
            self._cache.drop(name)
