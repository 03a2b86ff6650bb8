"""LangGraph's contract. Every method builds a plan and posts it; the async ones do the same."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from langgraph_wyrd import incoming
from langgraph_wyrd.across import Across
from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import (
    Pages,
    config_of,
    place,
    several,
    stored_place,
    thread,
    tuple_of,
)
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.healing import reading as healing
from langgraph_wyrd.healing.telling import tell
from langgraph_wyrd.plans import copy, prune
from langgraph_wyrd.plans.known import Memory
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.signals.policy import DEFAULT, Channels
from langgraph_wyrd.signals.registry import Extractor, Extractors
from langgraph_wyrd.store import migrate, url
from langgraph_wyrd.store.core import Core
from langgraph_wyrd.store.names import stored
from langgraph_wyrd.store.running import Driver, Running
from langgraph_wyrd.store.sql import Sql
from langgraph_wyrd.store.sqlite import SqliteDriver
from langgraph_wyrd.store.values import Codec
from langgraph_wyrd.thread import Thread
from langgraph_wyrd.upkeep import Upkeep
from langgraph_wyrd.verified import Verified

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from typing_extensions import Self

T = TypeVar("T")


class WyrdSaver(Across, Upkeep, Verified, BaseCheckpointSaver[str]):
    """A LangGraph checkpointer on SQLite or Postgres.

    ```python
    with WyrdSaver.from_conn_string("sqlite:///agents.db") as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke(inputs, {"configurable": {"thread_id": "t1"}})
    ```

    One object serves sync and async code, from any thread and any event loop. It opens the database
    on first use; `with`, `async with`, `close` and `aclose` close it.
    """

    def __init__(
        self,
        core: Core[Memory],
        *,
        serde: SerializerProtocol | None = None,
        weaver: Weaver | None = None,
        on_damage: str = "heal",
    ) -> None:
        super().__init__(serde=serde)
        self._core = core
        self._heals = on_damage == "heal"
        self._weaver = weaver
        self._made: Codec | None = None

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str | os.PathLike[str],
        *,
        serde: SerializerProtocol | None = None,
        schema: str | None = None,
        setup: str = "auto",
        connect: Callable[[], Any] | None = None,
        timeout: float = 60.0,
        pillars: bool = True,
        channels: Channels = DEFAULT,
        extractors: Extractors | Iterable[Extractor] = (),
        on_damage: str = "heal",
        **options: Any,
    ) -> Self:
        """A saver for the database that `conn_string` names.

        Args:
            conn_string: `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite://` (in memory),
                a path, `postgresql://…`, or a keyword DSN (`host=… dbname=…`).
            serde: How values become bytes; `EncryptedSerializer` keeps its advantages.
            schema: The Postgres schema to use (made by `setup`).
            setup: `"auto"` makes missing tables on first use, `"never"` refuses to.
            connect: Makes a connection (a `sqlite3` or an async `psycopg` one, or, for Postgres, a
                fresh conninfo), for credentials that change.
            timeout: Seconds to wait for a lock or a free connection before `DatabaseBusy`.
            pillars: False: store checkpoints only, and read nothing out of them.
            channels: Which channels make the context, and which stay out of the pillars.
            extractors: Your own, run after the default ones; or an `Extractors`.
            on_damage: `"heal"`: what is damaged is had back, stood in for or passed over, and said
                so aloud; `"raise"`: it raises CheckpointDamaged.
            options: SQLite: `synchronous` ("FULL"), `readers` (4), and `sqlite3.connect`'s.
                Postgres: `min_size`, `max_size` and other pool options, `prepare` (False behind
                PgBouncer), and `psycopg.connect`'s.

        Raises:
            BadUrl: The string names no database that is understood.
            MissingExtra: It names Postgres, and psycopg is not installed.
        """
        if setup not in ("auto", "never"):
            raise InvalidInput(f'setup={setup!r}: use "auto" or "never"')
        if on_damage not in ("heal", "raise"):
            raise InvalidInput(f'on_damage={on_damage!r}: use "heal" or "raise"')
        address = url.parse(conn_string)
        common: dict[str, Any] = {"setup": setup, "timeout": timeout, "connect": connect, **options}
        if address.dialect == "postgres":
            from langgraph_wyrd.store.postgres import PostgresDriver

            made: Callable[[], Driver]
            made = partial(PostgresDriver, address, schema=schema, **common)
        else:
            if schema is not None:
                raise InvalidInput("schema= is for Postgres: SQLite has none")
            made = partial(SqliteDriver, address, **common)
        made()  # options that can't be used are refused here, not on first use
        chosen = extractors if isinstance(extractors, Extractors) else Extractors(extractors)
        weaver = Weaver(chosen, channels) if pillars else None
        return cls(Core(made, Memory), serde=serde, weaver=weaver, on_damage=on_damage)

    @staticmethod
    def ddl(dialect: str = "postgres", *, schema: str | None = None) -> str:
        """The statements that set up an empty database, for a role that may run them."""
        if dialect == "sqlite":
            return migrate.ddl(Sql("sqlite"))
        if dialect != "postgres":
            raise InvalidInput(f'dialect {dialect!r}: use "postgres" or "sqlite"')
        from langgraph_wyrd.store.postgres import sql_for

        return migrate.ddl(sql_for(schema))

    # ---- life

    def setup(self) -> None:
        """Open the database and make what is missing. Happens by itself on first use."""
        self._core.run(Running.ready)

    async def asetup(self) -> None:
        """Async version of `setup`."""
        await self._core.arun(Running.ready)

    def close(self) -> None:
        """Wait for what is under way and close every connection."""
        self._core.close()

    async def aclose(self) -> None:
        """Async version of `close`."""
        await self._core.aclose()

    def __enter__(self) -> Self:
        self._core.reopen()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._core.reopen()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # ---- one thread

    def thread(self, thread_id: str) -> Thread:
        """The handle on one conversation: what it was doing, now or at any point of its past."""
        return Thread(
            self._core, lambda: self._codec, self._weaver, thread(thread_id),
            heals_damage=self._heals,
        )  # fmt: skip

    # ---- storing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; the config that names it."""
        made = incoming.put(self._codec, self._weaver, config, checkpoint, metadata, new_versions)
        self._core.store(made, alone=True)
        return config_of(place(config), checkpoint["id"])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async version of `put`."""
        made = incoming.put(self._codec, self._weaver, config, checkpoint, metadata, new_versions)
        await self._core.astore(made, alone=True)
        return config_of(place(config), checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote at a checkpoint."""
        made = incoming.put_writes(self._codec, self._weaver, config, writes, task_id, task_path)
        self._core.store(made, alone=made.says)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async version of `put_writes`."""
        made = incoming.put_writes(self._codec, self._weaver, config, writes, task_id, task_path)
        await self._core.astore(made, alone=made.says)

    # ---- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or its thread's latest; None if there is none."""
        return self._core.run(lambda core: self._get(core, config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async version of `get_tuple`."""
        return await self._core.arun(lambda core: self._get(core, config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first, a page at a time: nothing is held open between two of them.

        Args:
            config: Its thread, namespace and checkpoint, as far as it names them; None: all.
            filter: Metadata that must be equal, key by key (a missing key equals None).
            before: Only checkpoints with smaller ids than this one's.
            limit: At most so many.
        """
        pages = Pages(lambda: self._codec, config, filter, before, limit, heals=self._heals)
        while not pages.done:
            yield from self._core.run(pages.next)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async version of `list`."""
        pages = Pages(lambda: self._codec, config, filter, before, limit, heals=self._heals)
        while not pages.done:
            for found in await self._core.arun(pages.next):
                yield found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What rebuilds delta channels at a checkpoint: a seed, and the writes since then."""
        return self._core.run(lambda core: self._delta(core, config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async version of `get_delta_channel_history`."""
        return await self._core.arun(lambda core: self._delta(core, config, channels))

    # ---- deleting and copying

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread. What a run still sends afterwards raises ThreadDeleted."""
        self._core.run(lambda core: self._delete(core, [thread_id]))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async version of `delete_thread`."""
        await self._core.arun(lambda core: self._delete(core, [thread_id]))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, and their writes, wherever they are."""
        self._core.run(lambda core: self._delete_runs(core, run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async version of `delete_for_runs`."""
        await self._core.arun(lambda core: self._delete_runs(core, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all of a thread to an id that has no checkpoints yet."""
        self._core.run(lambda core: self._copy(core, source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async version of `copy_thread`."""
        await self._core.arun(lambda core: self._copy(core, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace, or everything (`"delete"`).

        Checkpoints that a kept one's delta channels are rebuilt from are kept as well.
        """
        self._core.run(lambda core: self._prune(core, thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async version of `prune`."""
        await self._core.arun(lambda core: self._prune(core, thread_ids, strategy))

    # ---- versions

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The next version of a channel; it sorts behind those of the official savers."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{secrets.randbits(64):016x}"

    # ---- what the methods share

    @property
    def _codec(self) -> Codec:
        """For the serde of now: `with_allowlist` gives clones another one."""
        if self._made is None or self._made.serde is not self.serde:
            self._made = Codec(self.serde)
        return self._made

    async def _get(self, core: Running[Memory], config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, ns, id = stored_place(config)
        known = core.memory.get(thread_id)
        codec = self._codec
        get = healing.get if self._heals else healing.just_get
        found, learnt, heals = await core.read_soon(lambda: get(codec, thread_id, ns, id, known))
        if heals:
            await tell(core, codec, heals)
        elif learnt is not None:
            core.memory.learn(thread_id, learnt)
        elif found is not None and known is not None and known.weave is not None:
            heard = known.weave.heard(ns, stored(found.id, "checkpoint_id"), found.writes)
            if not heard and core.memory.get(thread_id) is known:  # another process wrote them
                core.memory.put(thread_id, replace(known, weave=None))
        return None if found is None else tuple_of(found, place(config)[0], config if id else None)

    async def _delta(
        self, core: Running[Memory], config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        if not channels:
            return {}
        thread_id, ns, id = stored_place(config)
        names = {stored(name, "a channel"): name for name in channels}
        codec, wanted = self._codec, [*names]
        history_of = healing.delta_history if self._heals else healing.just_delta_history
        found, heals = await core.read(lambda: history_of(codec, thread_id, ns, id, wanted))
        if heals:
            await tell(core, codec, heals)
        history: dict[str, DeltaChannelHistory] = {}
        for name, (writes, seed) in found.items():
            history[names[name]] = {"writes": writes}
            if seed:
                history[names[name]]["seed"] = seed[0]
        return history

    async def _delete(self, core: Running[Memory], thread_ids: Sequence[str]) -> None:
        for thread_id in map(thread, thread_ids):
            await alone(core, thread_id, partial(prune.delete_thread, thread_id))

    async def _delete_runs(self, core: Running[Memory], run_ids: Sequence[str]) -> None:
        runs = [stored(run_id, "a run id") for run_id in several(run_ids, "run_ids")]
        if not runs:
            return
        codec = self._codec
        for thread_id in await core.read(lambda: prune.threads_of_runs(runs)):
            await alone(core, thread_id, partial(prune.delete_runs, codec, thread_id, runs))

    async def _copy(self, core: Running[Memory], source: str, target: str) -> None:
        pair = (thread(source), thread(target))
        await alone(core, pair[1], copy.CopyThread(self._codec, *pair).plan)

    async def _prune(self, core: Running[Memory], thread_ids: Sequence[str], strategy: str) -> None:
        wanted = several(thread_ids, "thread_ids")
        if strategy in ("delete", "delete_all"):
            await self._delete(core, wanted)
        elif strategy == "keep_latest":
            codec = self._codec
            for thread_id in map(thread, wanted):
                await alone(core, thread_id, partial(prune.keep_latest, codec, thread_id))
        else:
            raise InvalidInput(
                f'unknown prune strategy {strategy!r}: use "keep_latest", "delete" or "delete_all"'
            )
