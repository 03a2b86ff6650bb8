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

from langgraph_wyrd import configs, operations
from langgraph_wyrd.admin import Admin, Keeper
from langgraph_wyrd.checkpoints import changes, delta_channels, read
from langgraph_wyrd.checkpoints.cache import Cache
from langgraph_wyrd.checkpoints.changes import Change
from langgraph_wyrd.checkpoints.put import Put
from langgraph_wyrd.checkpoints.put_writes import PutWrites
from langgraph_wyrd.checkpoints.working import Reader
from langgraph_wyrd.checkpoints.writing import Writing
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.configs import config_of, place, several, stored_place
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.policy import DEFAULT, Channels
from langgraph_wyrd.hooks import Happening, Hook, HookMethods, Hooks, afire, fire
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.operations import Call, Fire, Operation, ask, asynchronous, operation
from langgraph_wyrd.options import Redact, Redaction, check_options, redaction
from langgraph_wyrd.queries import Queries
from langgraph_wyrd.recovery.healer import Healer
from langgraph_wyrd.storage import schema as schemas
from langgraph_wyrd.storage import url
from langgraph_wyrd.storage.access import Access
from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.names import check_size, given, stored
from langgraph_wyrd.types.migrations import Classes, Migration
from langgraph_wyrd.users.data import Users
from langgraph_wyrd.users.ownership import Ownership, permit

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from typing_extensions import Self

    from langgraph_wyrd import runs
    from langgraph_wyrd import thread as threads
    from langgraph_wyrd.checkpoints import auto_labels
    from langgraph_wyrd.checkpoints.auto_labels import AutoLabels
    from langgraph_wyrd.checkpoints.leases import Run
    from langgraph_wyrd.checkpoints.retention import Retention
    from langgraph_wyrd.extraction import registry
    from langgraph_wyrd.extraction.registry import Extractor, Extractors
    from langgraph_wyrd.storage.encryption import KeyRing
    from langgraph_wyrd.thread import Thread
else:
    runs = lazy("runs")
    threads = lazy("thread")
    auto_labels = lazy("checkpoints.auto_labels")
    registry = lazy("extraction.registry")


Reading = Callable[..., Any]  # a script; with a `recovery.load.Lenient`, it reads around damage


class WyrdSaver(Admin, Queries, HookMethods, Users, BaseCheckpointSaver[str]):
    """A LangGraph checkpointer on SQLite or Postgres."""

    def __init__(
        self, engine: Engine, *, serde: SerializerProtocol | None = None,
        classes: Classes | None = None, reader: Reader | None = None, access: Access | None = None,
        hooks: Hooks | None = None, heals: bool = True, ownership: Ownership | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(engine, Engine):
            raise InvalidInput(
                f"a WyrdSaver is not made of a {type(engine).__name__}: it opens its connections "
                'itself. Use WyrdSaver.from_conn_string("sqlite:///agents.db") or '
                '("postgresql://…"); connect= takes a callable that makes connections'
            )
        super().__init__(serde=serde)
        self._access = access or Access(self.serde)
        self._engine = engine
        self._cache = Cache()
        self._classes = classes or Classes()
        self._reader = reader
        self._writing = Writing(engine, self._cache, reader)
        self.hooks = Hooks() if hooks is None else hooks  # these are false where there are none
        self._healer: Healer | None = None
        if heals:
            self._healer = Healer(engine, lambda: self._codec, self.hooks)
            self._writing.heal = self._healer.write
        self._heals = heals
        self._ownership = ownership
        self._made: Codec | None = None
        self._keeper: Keeper | None = None
        self._redaction: Redaction | None = None
        self._leases: runs.Leases | None = None
        self._resumed_by_run: set[str] = set()  # threads on which runs of this saver began

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
        read_url: str | None = None,
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
            read_url: Postgres: a replica, of which listings across threads and `events()` are
                asked; they may be late by what it is behind. See docs/scale.md.
        """
        check_options(
            {"setup": setup, "timeout": timeout, "connect": connect, "on_damage": on_damage,
             "serde": serde, "extractors": extractors, "hooks": hooks, "migrations": migrations,
             "redact": redact, **options}
        )  # fmt: skip
        heals = on_damage == "heal"
        ownership = Ownership.of(channels)
        classes = Classes.of(aliases, migrations, heals=heals, serde=serde)
        watched = None if labels is None else auto_labels.watched(labels, pillars)
        reader = Reader(registry.chosen(extractors), channels, watched) if pillars else None
        called = Hooks()
        called.listen = lambda: runs.listen()
        called.add_all(hooks)
        address = url.parse(conn_string)
        replica = None if read_url is None else url.replica(read_url, address)
        if address.dialect == "sqlite" and schema is not None:
            raise InvalidInput("schema= is for Postgres: SQLite has none")
        serde = maybe_add_typed_methods(serde or cls.serde)
        access = Access(serde, keys)
        common: dict[str, Any] = {"setup": setup, "timeout": timeout, "connect": connect, **options}
        if address.dialect == "postgres":
            from langgraph_wyrd.storage.postgres import PostgresDriver

            driver: Any = PostgresDriver(address, schema=schema, **common)
            common |= {"setup": "never", "connect": None}  # of a replica
        else:
            from langgraph_wyrd.storage.sqlite import SqliteDriver

            driver = SqliteDriver(address, **common)
        engine = Engine(access.guard(driver))
        if replica is not None:
            standby = PostgresDriver(replica, schema=schema, **common)
            engine.replica = Engine(access.guard(standby))
        saver = cls(
            engine, serde=serde, reader=reader, classes=classes, access=access, heals=heals,
            hooks=called, ownership=ownership,
        )  # fmt: skip
        if single_writer:
            saver._leases = runs.Leases(engine)
            runs.listen()
        if redact:
            saver._redaction = redaction(redact)
        saver._where = url.described(address)
        if retention is not None:
            saver._keeper = Keeper(saver, retention)
        return saver

    @staticmethod
    def ddl(
        dialect: schemas.Dialect = "postgres",
        *,
        schema: str | None = None,
        placement: str | None = None,
    ) -> str:
        """The statements that set up an empty database, for a role that may run them.

        `placement` (Postgres): "hash:16" for hash partitions by thread, "citus" for distributed
        tables, "portable" for servers that only speak as Postgres does. See docs/scale.md.
        """
        if dialect not in ("postgres", "sqlite"):
            raise InvalidInput(f'dialect {dialect!r}: use "postgres" or "sqlite"')
        return schemas.ddl(dialect, schema, placement)

    # ---- life

    def setup(self) -> Any:
        """Open the database and make what is missing. Happens by itself on first use."""
        operations.run(self._open())
        return _Ready()

    async def asetup(self) -> None:
        """Async version of `setup`."""
        await operations.arun(self._open())

    def _open(self, *, enters: bool = False) -> Operation[None]:
        """Connect, and make what is missing, without waiting for locks. `enters`: as a context
        manager, which opens a closed saver again, and closes what can't be opened."""
        fresh = enters and self._engine.reopened()
        try:
            yield operations.job(self._engine, "open", operations.nothing)
        except BaseException:
            if fresh:
                yield ask(self._engine, "close")
            raise

    @operation
    def close(self) -> Operation[None]:
        """Wait for what is under way and close every connection."""
        if self._leases is not None:
            yield from self._leases.give_back()
        yield ask(self._engine, "close")

    aclose = asynchronous(close)

    def __enter__(self) -> Self:
        operations.run(self._open(enters=True))
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await operations.arun(self._open(enters=True))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def register_migration(
        self, target: str | type, from_version: int, migrate: Callable[[Any], Any]
    ) -> None:
        """Register how older data of a class is brought up to date: see `Migration`."""
        self._classes.register(Migration(target, from_version, migrate))

    # ---- one thread

    def thread(self, thread_id: str | RunnableConfig) -> Thread:
        """The handle on one conversation, by its id or a config that names it."""
        return threads.Thread(self, configs.named(thread_id))

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
        change = self._writing.store(self._writing.put, self._codec, put)
        if happened := self._happened(put, change):
            fire(self, *happened)
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
        change = await self._writing.astore(self._writing.put, self._codec, put)
        if happened := self._happened(put, change):
            await afire(self, *happened)
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
        change = self._writing.store(self._writing.put_writes, self._codec, made)
        if happened := self._happened(made, change):
            fire(self, *happened)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async version of `put_writes`."""
        made = self._written(config, writes, task_id, task_path)
        change = await self._writing.astore(self._writing.put_writes, self._codec, made)
        if happened := self._happened(made, change):
            await afire(self, *happened)

    # ---- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or its thread's latest; None if there is none."""
        wanted = self._get(config)
        run = None if self._leases is None else operations.run(self._entering(config))
        found = self._loaded(*wanted)
        if self.hooks or run is not None:
            operations.run(self._begins(config, found, run))
        return self._tuple(config, found)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async version of `get_tuple`."""
        wanted = self._get(config)
        run = None if self._leases is None else await operations.arun(self._entering(config))
        found = await self._aloaded(*wanted)
        if self.hooks or run is not None:
            await operations.arun(self._begins(config, found, run))
        return self._tuple(config, found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first, a page at a time: nothing is held open between two of them."""
        pages = configs.Pages(self, config, filter, before, limit)
        while not pages.done:
            yield from pages.take(self._loaded(pages.script, pages.thread_id))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async version of `list`."""
        pages = configs.Pages(self, config, filter, before, limit)
        while not pages.done:
            for found in pages.take(await self._aloaded(pages.script, pages.thread_id)):
                yield found

    @operation
    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Operation[Mapping[str, DeltaChannelHistory]]:
        """What rebuilds delta channels at a checkpoint: a seed, and the writes since then."""
        self._permit(config)
        thread_id, ns, id = stored_place(config)
        script = partial(
            delta_channels.history,
            self._dialect,
            self._codec,
            thread_id,
            ns,
            id,
            [*several(channels, "channels")],
        )
        nothing: Any = {name: ([], []) for name in channels}
        wanted = self._of_thread(thread_id, script, nothing), thread_id
        found = yield Call(partial(self._loaded, *wanted), partial(self._aloaded, *wanted))
        return configs.history(found)

    aget_delta_channel_history = asynchronous(get_delta_channel_history)  # type: ignore[arg-type]

    # ---- versions

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The next version of a channel; it sorts behind those of the official savers."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.getrandbits(64):016x}"

    # ---- what the methods share

    @property
    def _codec(self) -> Codec:
        """For the serde of now: `with_allowlist` gives clones another one."""
        if self._made is None or self._made.serde is not self.serde:
            self._made = self._access.attach(Codec(self.serde, self._classes))
        return self._made

    def _permit(self, config: RunnableConfig | None) -> None:
        """Raise if this saver is not for what a config names."""
        if self._user is not None and config is not None:
            is_run = "__pregel_runtime" in configs.configurable(config)
            permit(self._user, get_checkpoint_metadata(config, {}), is_run=is_run)

    def _incoming(
        self, config: Any, checkpoint: Any, metadata: Any, new_versions: ChannelVersions
    ) -> Put:
        self._permit(config)
        thread_id, ns, parent = stored_place(config)
        check_size(ns, "checkpoint_ns")
        try:
            meta = dict(get_checkpoint_metadata(config, metadata))
            held: dict[str, Any] = dict(checkpoint)
            given_id = held.pop("id")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                "put() takes a checkpoint with an id, and metadata: both dicts. Given are "
                f"{checkpoint!r:.80} and {metadata!r:.80}"
            ) from error
        if self._redaction is not None:
            meta = self._redaction(meta)
        if self._user is not None:
            permit(self._user, meta, is_run=True)
        text, exact = self._codec.metadata(meta)
        step, source, run_id = meta.get("step"), meta.get("source"), meta.get("run_id")
        id = check_size(stored(given_id, "checkpoint_id"), "checkpoint_id")
        ts = held.pop("ts", None)
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
            addressed=parent is not None and configs.addressed(config) == parent,
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
        writes = configs.pairs(writes)
        if self._ownership is not None:
            writes, owned, user = self._ownership.writes(writes, config, thread_id)
        return PutWrites(
            thread_id,
            ns,
            check_size(checkpoint, "checkpoint_id"),
            check_size(stored(task_id, "task_id"), "task_id"),
            stored(task_path, "the task path"),
            writes,
            user=user,
            owned=owned,
            owner=self._user,
            run=self._run_of(config, thread_id, ns),
            meta=self._meta_of(config),
        )

    def _meta_of(self, config: Any) -> Mapping[str, Any]:
        """A config's metadata, which say whose writes these are."""
        meta = config.get("metadata")
        if meta is None:
            return {}
        return meta if self._redaction is None else self._redaction(dict(meta))

    def _get(self, config: RunnableConfig) -> tuple[Reading, str]:
        self._permit(config)
        thread_id, ns, id = stored_place(config)
        codec, dialect, start = self._codec, self._dialect, configs.start_of_call(config, ns)

        def script(lenient: Any = None) -> Any:
            if lenient is not None:
                return lenient.get(thread_id, ns, id)
            return read.get(dialect, codec, thread_id, ns, id, self._writing.absent, start)

        return self._of_thread(thread_id, script, None), thread_id

    def _loaded(self, script: Reading, thread_id: str | None) -> Any:
        """What a script reads; where that is damaged, what can be healed, or read around it."""
        try:
            return self._engine.run(script)
        except Exception as error:
            return operations.run(self._again(script, thread_id, error))

    async def _aloaded(self, script: Reading, thread_id: str | None) -> Any:
        """Async version of `_loaded`."""
        try:
            return await self._engine.arun(script)
        except Exception as error:
            return await operations.arun(self._again(script, thread_id, error))

    def _again(self, script: Reading, thread_id: str | None, error: Exception) -> Operation[Any]:
        """Read once more, around the damage that `error` may come from."""
        damaged = getattr(error, "wyrd_thread", None) or thread_id
        do, threads = partial(operations.job, self._engine), [damaged] if damaged else []
        if self._healer is None or not read.is_damage(error):
            yield from operations.refuse_damaged(self._engine, threads, error)
            raise error
        return (yield from self._healer.read(do, threads, script, self._codec, error))

    def _happened(self, made: Put | PutWrites, change: Change | None) -> Sequence[Happening]:
        """What a write changed, and what a retention deleted meanwhile: for the hooks."""
        found: list[Happening] = []
        if change is not None and (self.hooks or change.fork is not None):
            found += changes.of(made, change, self.hooks)
        if self._keeper is not None and isinstance(made, Put):
            found += self._keeper.wrote(made.thread_id, made.ns)
        return found

    def _entering(self, config: RunnableConfig) -> Operation[Run | None]:
        """Claim the thread for the run that reads it, if it is one that begins."""
        assert self._leases is not None
        thread_id, ns, _ = stored_place(config)
        return self._leases.entering(config, thread_id, ns)

    def _begins(
        self, config: RunnableConfig, found: read.Read | None, run: Run | None
    ) -> Operation[None]:
        """What is done where a run begins: not where somebody looks, or a subgraph starts."""
        thread_id, ns, _ = stored_place(config)
        inside = config["configurable"]
        if ns or "__pregel_runtime" not in inside or "__pregel_task_id" in inside:
            return
        if run is not None or self.hooks.has("run_end"):
            runs.begins(self, thread_id, run)
        if self.hooks.has("resume") and thread_id not in self._resumed_by_run:
            self._resumed_by_run.add(thread_id)
            if found is not None:
                state = None
                if self._reader is not None:
                    state = yield from self._state(thread_id, None)
                id, detail = given(found.id), {"by": "run"}
                what = Happening("resume", given(thread_id), id, state=state, detail=detail)
                yield Fire(self, (what,))

    def _run_of(self, config: RunnableConfig, thread_id: str, ns: str) -> Run | None:
        return None if self._leases is None else self._leases.run_of(config, thread_id, ns)

    def _tuple(self, config: RunnableConfig, found: read.Read | None) -> CheckpointTuple | None:
        if found is None:
            return None
        asked = config["configurable"].get("checkpoint_id")
        return configs.tuple_of(found, place(config)[0], config if asked else None, self._user)


class _Ready:
    """What `setup` returns: it may be awaited, as that of the async official savers."""

    def __await__(self) -> Iterator[None]:
        return iter(())
