"""Deleting and copying threads, as LangGraph's contract has it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import several, thread
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import Happening, afire, fire
from langgraph_wyrd.later import later
from langgraph_wyrd.parts.watching import discarded
from langgraph_wyrd.store.names import stored

if TYPE_CHECKING:
    from langgraph_wyrd.plans import copy, prune
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    copy, prune = later("plans.copy", "plans.prune")


class Discarding:
    """The part of a saver that deletes, prunes and copies threads."""

    if TYPE_CHECKING:
        _core: Core[Memory]

        @property
        def _codec(self) -> Codec: ...

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread. What a run still sends afterwards raises ThreadDeleted."""
        fire(self._core, *self._core.run(lambda core: self._delete(core, [thread_id])))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async version of `delete_thread`."""
        await afire(
            self._core, *await self._core.arun(lambda core: self._delete(core, [thread_id]))
        )

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, and their writes, wherever they are."""
        fire(self._core, *self._core.run(lambda core: self._delete_runs(core, run_ids)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async version of `delete_for_runs`."""
        await afire(
            self._core, *await self._core.arun(lambda core: self._delete_runs(core, run_ids))
        )

    def copy_thread(
        self, source_thread_id: str, target_thread_id: str, *, latest_only: bool = False
    ) -> None:
        """Copy a thread to an id that has no checkpoints yet: all of it, or what `prune` keeps."""
        pair = (source_thread_id, target_thread_id)
        self._core.run(lambda core: self._copy(core, *pair, latest_only))

    async def acopy_thread(
        self, source_thread_id: str, target_thread_id: str, *, latest_only: bool = False
    ) -> None:
        """Async version of `copy_thread`."""
        pair = (source_thread_id, target_thread_id)
        await self._core.arun(lambda core: self._copy(core, *pair, latest_only))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace, or everything (`"delete"`).

        Checkpoints that a kept one's delta channels are rebuilt from are kept as well.
        """
        fire(self._core, *self._core.run(lambda core: self._prune(core, thread_ids, strategy)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async version of `prune`."""
        await afire(
            self._core, *await self._core.arun(lambda core: self._prune(core, thread_ids, strategy))
        )

    # ---- what the methods share

    async def _delete(
        self, core: Running[Memory], thread_ids: Sequence[str], how: str = "delete_thread"
    ) -> Sequence[Happening]:
        found = [
            (thread_id, await alone(core, thread_id, partial(prune.delete_thread, thread_id)))
            for thread_id in map(thread, thread_ids)
        ]
        return discarded(found, how)

    async def _delete_runs(
        self, core: Running[Memory], run_ids: Sequence[str]
    ) -> Sequence[Happening]:
        runs = [stored(run_id, "a run id") for run_id in several(run_ids, "run_ids")]
        if not runs:
            return ()
        codec = self._codec
        found = [
            (each, await alone(core, each, partial(prune.delete_runs, codec, each, runs)))
            for each in await core.read(lambda: prune.threads_of_runs(runs))
        ]
        return discarded(found, "delete_for_runs", run_ids=tuple(run_ids))

    async def _copy(
        self, core: Running[Memory], source: str, target: str, latest_only: bool
    ) -> None:
        codec, pair = self._codec, (thread(source), thread(target))
        made = copy.CopyThread(codec, *pair, latest_only)

        def plan() -> Plan[None]:
            yield from made.plan()
            if latest_only:
                yield from prune.keep_latest(codec, pair[1])

        await alone(core, pair[1], plan)

    async def _prune(
        self, core: Running[Memory], thread_ids: Sequence[str], strategy: str
    ) -> Sequence[Happening]:
        wanted = several(thread_ids, "thread_ids")
        if strategy in ("delete", "delete_all"):
            return await self._delete(core, wanted, "prune")
        if strategy == "keep_latest":
            codec = self._codec
            found = [
                (each, await alone(core, each, partial(prune.keep_latest, codec, each)))
                for each in map(thread, wanted)
            ]
            return discarded(found, "prune", strategy=strategy)
        raise InvalidInput(
            f'unknown prune strategy {strategy!r}: use "keep_latest", "delete" or "delete_all"'
        )
