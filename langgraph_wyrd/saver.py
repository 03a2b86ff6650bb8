"""LangGraph's contract, and the way to everything else."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import maybe_add_typed_methods

from langgraph_wyrd import operations
from langgraph_wyrd.admin import Admin, Keeper
from langgraph_wyrd.checkpoints import boundaries, changes, delta_channels, read
from langgraph_wyrd.checkpoints.cache import Cache
from langgraph_wyrd.checkpoints.changes import Change
from langgraph_wyrd.checkpoints.put import Put, PutWrites
from langgraph_wyrd.checkpoints.working import Reader
from langgraph_wyrd.checkpoints.writing import Writing
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.configs import (
    Pages,
    addressed,
    config_of,
    history,
    named,
    place,
    stored_place,
    tuple_of,
)
from langgraph_wyrd.declaring import of_loops
from langgraph_wyrd.discarding import Discarding
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.policy import DEFAULT, Channels
from langgraph_wyrd.extraction.registry import Extractor, Extractors
from langgraph_wyrd.hooks import Hook, Hooks, afire, fire
from langgraph_wyrd.hooks import given as given_hooks
from langgraph_wyrd.later import later
from langgraph_wyrd.operations import Fire, Operation, Read, Write, asynchronous, operation
from langgraph_wyrd.queries import Queries
from langgraph_wyrd.recovery import load, mend, verify
from langgraph_wyrd.recovery.report import Progress, Report
from langgraph_wyrd.retention import Retention
from langgraph_wyrd.rotating import Rotating
from langgraph_wyrd.showing import Shown
from langgraph_wyrd.state.labels import AutoLabels
from langgraph_wyrd.storage import schema as schemas
from langgraph_wyrd.storage import url
from langgraph_wyrd.storage.access import Access
from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.names import check_size, stored
from langgraph_wyrd.transfer.handles import Importing
from langgraph_wyrd.types.migrations import Classes, Migration
from langgraph_wyrd.users.ownership import Ownership, Users
from langgraph_wyrd.watching import Watching

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from typing_extensions import Self

    from langgraph_wyrd import redaction
    from langgraph_wyrd import single_writer as single_writers
    from langgraph_wyrd import thread as threads
    from langgraph_wyrd.checkpoints import once
    from langgraph_wyrd.checkpoints.leases import Run
    from langgraph_wyrd.operations import Operation
    from langgraph_wyrd.redaction import Redact, Redaction
    from langgraph_wyrd.single_writer import Leases
    from langgraph_wyrd.storage.keyring import KeyRing
    from langgraph_wyrd.thread import Thread
else:
    redaction, single_writers, threads = later("redaction", "single_writer", "thread")
    once = later("checkpoints.once")


class WyrdSaver(
    Admin,
    Queries,
    Discarding,
    Importing,
    Watching,
    Rotating,
    Users,
    Shown,
    BaseCheckpointSaver[str],
):
    """A LangGraph checkpointer on SQLite or Postgres."""

    _user: str | None = None  # whose threads alone this saver sees; None: all

    def __init__(
        self, engine: Engine, *, serde: SerializerProtocol | None = None,
        classes: Classes | None = None, cache: Cache | None = None, reader: Reader | None = None,
        access: Access | None = None, hooks: Hooks | None = None, heals: bool = True,
        ownership: Ownership | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(engine, Engine):
            raise InvalidInput(
                f"a WyrdSaver is not made of a {type(engine).__name__}: it opens its connections "
                'itself. Use WyrdSaver.from_conn_string("sqlite:///agents.db") or '
                '("postgresql://…"); connect= takes a callable that makes connections'
            )
        super().__init__(serde=serde)
        self._access = Access(self.serde) if access is None else access
        self._engine = engine
        self._cache = Cache() if cache is None else cache
        self._classes = Classes() if classes is None else classes
        self._reader = reader
        self._writing = Writing(engine, self._cache, reader)
        self.hooks = Hooks() if hooks is None else hooks
        self._healer: load.Healer | None = None
        if heals:
            engine.mend = partial(mend.mended_by_key, engine.driver.dialect)
            engine.healer = self._healer = load.Healer(engine, lambda: self._codec, self.hooks)
            self._writing.heal = self._healer.write
        self._heals = heals
        self._ownership = ownership
        self._made: Codec | None = None
        self._keeper: Keeper | None = None
        self._redaction: Redaction | None = None
        self._leases: Leases | None = None

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str | os.PathLike[str],
        *,
        serde: SerializerProtocol | None = None,
        keys: KeyRing | Mapping[str, bytes] | None = None,
        schema: str | None = None,
        setup: Literal["auto", "never"] = "auto",
        connect: Callable[[], Any] | None = None,
        timeout: float = 60.0,
        pillars: bool = True,
        channels: Channels = DEFAULT,
        extractors: Extractors | Iterable[Extractor] = (),
        hooks: Mapping[str, Hook | Iterable[Hook]] | None = None,
        labels: AutoLabels | None = None,
        on_damage: Literal["heal", "raise"] = "heal",
        aliases: Mapping[str, str] | None = None,
        migrations: Iterable[Migration] = (),
        retention: Retention | None = None,
        redact: Redact = (),
        single_writer: bool = False,
        **options: Any,
    ) -> Self:
        """A saver for the database that `conn_string` names.

        Args:
            keys: Keys by their ids, or a `KeyRing`: everything of value is encrypted with the
                last one. See docs/encryption.md.
            redact: Names whose values never reach the database with a checkpoint's metadata, into
                which LangGraph copies what a run's config holds; or a function that says what is
                stored of it.
            single_writer: While a run goes on in a thread, in whichever process, another one there
                is refused with `ConcurrentRun` before any of its nodes runs. See docs/hooks.md.
        """
        if on_damage not in ("heal", "raise"):
            raise InvalidInput(f'on_damage={on_damage!r}: use "heal" or "raise"')
        heals = on_damage == "heal"
        ownership = Ownership.of(channels)
        classes = Classes.of(aliases, migrations, heals=heals, users=channels.user, serde=serde)
        chosen = extractors if isinstance(extractors, Extractors) else Extractors(extractors)
        watched = boundaries.watched(labels, pillars)
        reader = Reader(chosen, channels, watched) if pillars else None
        called = Hooks()
        for event, hook in given_hooks(hooks):
            called.add(event, hook)
        address = url.parse(conn_string)
        if address.dialect == "sqlite" and schema is not None:
            raise InvalidInput("schema= is for Postgres: SQLite has none")
        serde = maybe_add_typed_methods(serde or cls.serde)
        access = Access(serde, keys)
        common: dict[str, Any] = {"setup": setup, "timeout": timeout, "connect": connect, **options}
        if address.dialect == "postgres":
            from langgraph_wyrd.storage.postgres import PostgresDriver

            driver: Any = PostgresDriver(address, schema=schema, **common)
        else:
            from langgraph_wyrd.storage.sqlite import SqliteDriver

            driver = SqliteDriver(address, **common)
        engine = Engine(access.guard(driver))
        saver = cls(
            engine, serde=serde, reader=reader, classes=classes, access=access, heals=heals,
            hooks=called, ownership=ownership,
        )  # fmt: skip
        if single_writer:
            saver._leases = single_writers.Leases(engine)
        if redact:
            saver._redaction = redaction.Redaction(redact)
        saver._where = url.described(address)
        if retention is not None:
            saver._keeper = Keeper(saver, retention)
        return saver

    @staticmethod
    def ddl(dialect: schemas.Dialect = "postgres", *, schema: str | None = None) -> str:
        """The statements that set up an empty database, for a role that may run them."""
        if dialect not in ("postgres", "sqlite"):
            raise InvalidInput(f'dialect {dialect!r}: use "postgres" or "sqlite"')
        return schemas.ddl(dialect, schema)

    # ---- life

    def setup(self) -> Any:
        """Open the database and make what is missing. Happens by itself on first use."""
        self._engine.open()
        return _READY

    async def asetup(self) -> None:
        """Async version of `setup`."""
        await self._engine.aopen()

    def close(self) -> None:
        """Wait for what is under way and close every connection."""
        if self._leases is not None:
            operations.run(self._leases.farewell())
        self._engine.close()

    async def aclose(self) -> None:
        """Async version of `close`."""
        if self._leases is not None:
            await operations.arun(self._leases.farewell())
        await self._engine.aclose()

    def __enter__(self) -> Self:
        self._engine.reopen()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._engine.reopen()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def register_migration(
        self, target: str | type, from_version: int, migrate: Callable[[Any], Any]
    ) -> None:
        """Say how older data of a class, or of a channel, becomes newer: see `Migration`."""
        self._classes.register(Migration(target, from_version, migrate))

    # ---- one thread

    def thread(self, thread_id: str | RunnableConfig) -> Thread:
        """The handle on one conversation, by its id or a config that names it."""
        return threads.Thread(self, named(thread_id))

    # ---- storing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; the config that names it."""
        put = self._incoming(config, checkpoint, metadata, new_versions)
        self._changed(put, self._writing.store(self._writing.put(self._codec, put)))
        if self._keeper is not None:
            fire(self, *self._keeper.wrote(put.thread_id, put.ns))
        return config_of(place(config), checkpoint["id"], self._user)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async version of `put`."""
        put = self._incoming(config, checkpoint, metadata, new_versions)
        await self._achanged(put, await self._writing.astore(self._writing.put(self._codec, put)))
        if self._keeper is not None:
            await afire(self, *self._keeper.wrote(put.thread_id, put.ns))
        return config_of(place(config), checkpoint["id"], self._user)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote at a checkpoint."""
        made = self._written(config, writes, task_id, task_path)
        self._changed(made, self._writing.store(self._writing.put_writes(self._codec, made)))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async version of `put_writes`."""
        made = self._written(config, writes, task_id, task_path)
        flow = self._writing.put_writes(self._codec, made)
        await self._achanged(made, await self._writing.astore(flow))

    def _changed(self, made: Put | PutWrites, change: Change | None) -> None:
        """Call the hooks with what a write changed."""
        if change is not None and (self.hooks or change.fork is not None):
            fire(self, *changes.of(made, change, self.hooks))

    async def _achanged(self, made: Put | PutWrites, change: Change | None) -> None:
        """Async version of `_changed`."""
        if change is not None and (self.hooks or change.fork is not None):
            await afire(self, *changes.of(made, change, self.hooks))

    @operation
    def put_once(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        *more: tuple[RunnableConfig, Sequence[tuple[str, Any]], str],
    ) -> Operation[bool]:
        """Store what a task wrote at the thread's head, and `more` (config, writes, task) with it,
        in one transaction; False, and nothing is stored, where the task wrote there before, or
        where the thread has gone on."""
        calls = [self._written(*each, "") for each in ((config, writes, task_id), *more)]
        script = partial(once.store, self._writing, self._codec, calls)
        found = yield Write(self._engine, script, threads=(calls[0].thread_id,))
        self._cache.drop(calls[0].thread_id)
        if found is None:
            return False
        yield Fire(self, tuple(of_loops(found.before, found.after, {"by": "answer"})))
        return True

    aput_once = asynchronous(put_once)

    # ---- reading

    @operation
    def has_checkpoint(self, config: RunnableConfig) -> Operation[bool]:
        """Whether the checkpoint that `config` names is stored. Nothing of it is read."""
        thread_id, ns, id = stored_place(config)
        script = partial(once.has_checkpoint, self._dialect, thread_id, ns, id or "", self._user)
        found: bool = yield Read(self._engine, script, (thread_id,))
        return found

    ahas_checkpoint = asynchronous(has_checkpoint)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or its thread's latest; None if there is none."""
        wanted = self._get(config)
        run = None if self._leases is None else operations.run(self._entering(config))
        try:
            found = self._engine.run(wanted)
        except Exception as error:
            found = self._writing.store(self._get_again(config, error))
        return self._tuple(config, found, run)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async version of `get_tuple`."""
        wanted = self._get(config)
        run = None if self._leases is None else await operations.arun(self._entering(config))
        try:
            found = await self._engine.arun(wanted)
        except Exception as error:
            found = await self._writing.astore(self._get_again(config, error))
        return self._tuple(config, found, run)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first, a page at a time: nothing is held open between two of them."""
        pages = Pages(self, config, filter, before, limit)
        while not pages.done:
            try:
                page = self._engine.run(pages.script)
            except Exception as error:
                page = self._writing.store(pages.again(error))
            yield from pages.take(page)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async version of `list`."""
        pages = Pages(self, config, filter, before, limit)
        while not pages.done:
            try:
                page = await self._engine.arun(pages.script)
            except Exception as error:
                page = await self._writing.astore(pages.again(error))
            for found in pages.take(page):
                yield found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What rebuilds delta channels at a checkpoint: a seed, and the writes since then."""
        try:
            return history(self._engine.run(self._delta(config, channels)))
        except Exception as error:
            return history(self._writing.store(self._delta_again(config, channels, error)))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async version of `get_delta_channel_history`."""
        try:
            return history(await self._engine.arun(self._delta(config, channels)))
        except Exception as error:
            return history(await self._writing.astore(self._delta_again(config, channels, error)))

    # ---- damage

    def verify(
        self,
        thread_id: str | None = None,
        *,
        repair: bool = False,
        progress: Progress | None = None,
        pages: bool = True,
    ) -> Report:
        """Look through what is stored: checksums, missing rows, tables unlike their events.

        A repair writes what is proven to have been there, makes derived rows again, and has tasks
        run again whose writes are lost. It can be run again: it then does nothing. Each thread is a
        transaction of its own.

        Args:
            thread_id: One thread; None: all of them, and what belongs to none.
            repair: Put right what can be.
            progress: Called with how many threads are done, of how many, after each.
            pages: Have SQLite look through its file, too, if all threads are looked at.

        Raises:
            ThreadNotFound: No such thread.
        """
        report: Report = self._writing.store(self._verifying(thread_id, repair, progress, pages))
        return report

    async def averify(
        self,
        thread_id: str | None = None,
        *,
        repair: bool = False,
        progress: Progress | None = None,
        pages: bool = True,
    ) -> Report:
        """Async version of `verify`."""
        report: Report = await self._writing.astore(
            self._verifying(thread_id, repair, progress, pages)
        )
        return report

    def _verifying(
        self, thread_id: str | None, repair: bool, progress: Progress | None, pages: bool
    ) -> Any:
        return verify.verifying(
            self._engine,
            self._codec,
            None if thread_id is None else stored(str(thread_id), "thread_id"),
            repair=repair,
            progress=progress,
            pages=pages,
            forget=self._cache.drop,
        )

    # ---- versions

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The next version of a channel; it sorts behind those of the official savers."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.getrandbits(64):016x}"

    # ---- what the methods share

    @property
    def _dialect(self) -> str:
        return self._engine.driver.dialect

    @property
    def _codec(self) -> Codec:
        """For the serde of now: `with_allowlist` gives clones another one."""
        if self._made is None or self._made.serde is not self.serde:
            self._made = self._access.attach(Codec(self.serde, self._classes))
        return self._made

    def _permit(self, config: RunnableConfig | None) -> None:
        """Raise if this saver is not for what a config names. This one is for everything."""

    def _incoming(
        self, config: Any, checkpoint: Any, metadata: Any, new_versions: ChannelVersions
    ) -> Put:
        self._permit(config)
        thread_id, ns, parent = stored_place(config)
        check_size(ns, "checkpoint_ns")
        meta = dict(get_checkpoint_metadata(config, metadata))
        if self._redaction is not None:
            meta = self._redaction(meta)
        text, exact = self._codec.metadata(meta)
        step, source, run_id = meta.get("step"), meta.get("source"), meta.get("run_id")
        held: dict[str, Any] = dict(checkpoint)
        ts = held.pop("ts", None)
        id = check_size(stored(held.pop("id"), "checkpoint_id"), "checkpoint_id")
        parents, user = meta.get("parents"), meta.get("user_id")
        values = held.pop("channel_values", {})
        owned: dict[str, Any] = {}
        if self._ownership is not None:
            values, owned, _ = self._ownership.values(values, meta)
        root = parents.get("") if ns and isinstance(parents, Mapping) else None
        return Put(
            thread_id=thread_id,
            ns=ns,
            id=id,
            parent=parent,
            ts=None if ts is None else stored(ts, "ts"),
            step=int(step) if isinstance(step, int) and abs(step) < 1 << 62 else None,
            source=stored(source, "source") if isinstance(source, str) else None,
            run_id=stored(run_id, "run_id") if isinstance(run_id, str) else None,
            meta=meta,
            metadata=text,
            exact=exact,
            root=stored(root, "a parent") if isinstance(root, str) else None,
            user=stored(user, "user_id") if isinstance(user, str) else None,
            values=values,
            owned=owned,
            owner=self._user,
            run=self._run_of(config, thread_id, ns),
            versions=held.pop("channel_versions", {}),
            new_versions=new_versions,
            seen=held.pop("versions_seen", {}),
            rest=held,
            addressed=parent is not None and addressed(config) == parent,
        )

    def _written(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> PutWrites:
        self._permit(config)
        thread_id, ns, checkpoint = stored_place(config)
        check_size(ns, "checkpoint_ns")
        if checkpoint is None:
            raise InvalidInput("config['configurable'] has no checkpoint_id: writes belong to one")
        owned: dict[int, Any] = {}
        user = None
        if self._ownership is not None:
            writes, owned, user = self._ownership.writes(writes, config, thread_id)
        return PutWrites(
            thread_id,
            ns,
            check_size(checkpoint, "checkpoint_id"),
            check_size(stored(task_id, "task_id"), "task_id"),
            stored(task_path, "the task path"),
            list(writes),
            user=user,
            owned=owned,
            owner=self._user,
            run=self._run_of(config, thread_id, ns),
        )

    def _get(self, config: RunnableConfig) -> Callable[[], Any]:
        thread_id, ns, id = stored_place(config)
        codec, dialect = self._codec, self._dialect
        return lambda: read.get(dialect, codec, thread_id, ns, id)

    def _again(self, thread_ids: Sequence[str], error: Exception, script: Any) -> Any:
        """The flow that reads once more, round the damage that `error` may come from."""
        if self._healer is None or not read.is_damage(error):
            raise error
        return self._healer.read(thread_ids, script, self._codec, error)

    def _get_again(self, config: RunnableConfig, error: Exception) -> Any:
        thread_id, ns, id = stored_place(config)
        return self._again([thread_id], error, lambda lenient: lenient.get(thread_id, ns, id))

    def _delta_again(
        self, config: RunnableConfig, channels: Sequence[str], error: Exception
    ) -> Any:
        thread_id, ns, id = stored_place(config)
        codec, dialect, names = self._codec, self._dialect, [*channels]
        return self._again([thread_id], error, lambda lenient: delta_channels.history(
            dialect, codec, thread_id, ns, id, names, lenient
        ))  # fmt: skip

    def _entering(self, config: RunnableConfig) -> Operation[Run | None]:
        """Claim the thread for the run that reads it, if it is one that begins."""
        assert self._leases is not None
        thread_id, ns, _ = stored_place(config)
        return self._leases.entering(config, thread_id, ns)

    def _run_of(self, config: RunnableConfig, thread_id: str, ns: str) -> Run | None:
        return None if self._leases is None else self._leases.run_of(config, thread_id, ns)

    def _tuple(
        self, config: RunnableConfig, found: read.Read | None, run: Run | None = None
    ) -> CheckpointTuple | None:
        if found is None:
            return None
        if run is not None:
            run.loaded = stored(found.id, "checkpoint_id")
        asked = config["configurable"].get("checkpoint_id")
        return tuple_of(found, place(config)[0], config if asked else None, self._user)

    def _delta(self, config: RunnableConfig, channels: Sequence[str]) -> Callable[[], Any]:
        thread_id, ns, id = stored_place(config)
        codec, dialect, names = self._codec, self._dialect, [*channels]
        return lambda: delta_channels.history(dialect, codec, thread_id, ns, id, names)


class _Ready:
    """What `setup` gives: nothing, which may also be awaited, as the official savers' can."""

    def __await__(self) -> Iterator[None]:
        return iter(())


_READY = _Ready()
