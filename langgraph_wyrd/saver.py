"""LangGraph's contract. Every method builds a plan and posts it; the async ones do the same."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from langgraph_wyrd import incoming, opening
from langgraph_wyrd.configs import (
    Pages,
    config_of,
    place,
    stored_place,
    thread,
    tuple_of,
)
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.policy import DEFAULT, Channels
from langgraph_wyrd.extraction.registry import Extractor, Extractors
from langgraph_wyrd.healing import reading as healing
from langgraph_wyrd.healing.guide import Guide
from langgraph_wyrd.hooks import Hook, given
from langgraph_wyrd.later import later
from langgraph_wyrd.owned import Apart
from langgraph_wyrd.parts import watching
from langgraph_wyrd.parts.discarding import Discarding
from langgraph_wyrd.parts.importing import Importing
from langgraph_wyrd.parts.keep import Keeper, Keeping
from langgraph_wyrd.parts.resuming import Resuming
from langgraph_wyrd.parts.rotating import Rotating
from langgraph_wyrd.parts.shown import Shown
from langgraph_wyrd.parts.upkeep import Upkeep
from langgraph_wyrd.parts.users import Users, of_user
from langgraph_wyrd.parts.verified import Verified
from langgraph_wyrd.parts.watching import Watching
from langgraph_wyrd.plans.known import Known, Memory
from langgraph_wyrd.plans.task_writes import PutWrites
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.plans.write import Put
from langgraph_wyrd.store.core import Core
from langgraph_wyrd.store.names import stored
from langgraph_wyrd.store.roles import Hot
from langgraph_wyrd.store.running import Running
from langgraph_wyrd.store.values import Codec
from langgraph_wyrd.types.migrations import Classes, Migration

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from typing_extensions import Self

    from langgraph_wyrd import leases, redaction, scoped
    from langgraph_wyrd import thread as threads
    from langgraph_wyrd.healing import telling
    from langgraph_wyrd.redaction import Redact
    from langgraph_wyrd.retention import Retention
    from langgraph_wyrd.scoped import UserSaver
    from langgraph_wyrd.state.labels import AutoLabels
    from langgraph_wyrd.storage.keyring import KeyRing
    from langgraph_wyrd.thread import Thread
else:
    leases, redaction, scoped = later("leases", "redaction", "scoped")
    telling, threads = later("healing.telling", "thread")

T = TypeVar("T")


class WyrdSaver(
    Discarding, Resuming, Rotating, Upkeep, Verified, Watching, Importing, Shown, Keeping, Users,
    BaseCheckpointSaver[str],
):  # fmt: skip
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
        retention: Retention | None = None,
        redact: Redact = (),
        single_writer: bool = False,
        on_damage: str = "heal",
        vaulted: bool = False,
        classes: Classes | None = None,
        apart: Apart | None = None,
    ) -> None:
        opening.refuse_connection(core)
        super().__init__(serde=serde)
        self._vaulted = vaulted
        self._leases = leases.Leases(core) if single_writer else None
        self._core = core
        self._heals = on_damage == "heal"
        self._classes = Classes(heals=self._heals) if classes is None else classes
        self._weaver = weaver
        self._redaction = redaction.Redaction(redact) if redact else None
        self._apart = apart
        self._keeper = None if retention is None else Keeper(core, retention)
        core.guide = Guide(lambda: self._codec, heals=self._heals)
        self._made: Codec | None = None

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
        retention: Retention | None = None,
        redact: Redact = (),
        single_writer: bool = False,
        on_damage: Literal["heal", "raise"] = "heal",
        aliases: Mapping[str, str] | None = None,
        migrations: Iterable[Migration] = (),
        **options: Any,
    ) -> Self:
        """A saver for the database that `conn_string` names.

        Args:
            conn_string: `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite://` (in memory),
                a path, `postgresql://…`, or a keyword DSN (`host=… dbname=…`).
            serde: How values become bytes; `EncryptedSerializer` keeps its advantages.
            keys: Encrypts all that is stored of values: `{"2025": old, "2026": new}`, the newest
                last, or a `KeyRing`. Only ids, kinds, statuses, names and times stay readable.
            schema: The Postgres schema to use (made by `setup`).
            setup: `"auto"` makes missing tables on first use, `"never"` refuses to.
            connect: Makes a connection (a `sqlite3` or an async `psycopg` one, or, for Postgres, a
                fresh conninfo), for credentials that change.
            timeout: Seconds to wait for a lock or a free connection before `DatabaseBusy`.
            pillars: False: store checkpoints only, and read nothing out of them.
            channels: Which channels make the context, stay out of the pillars, belong to the run's
                user, or are never stored.
            extractors: Your own, run after the default ones; or an `Extractors`.
            hooks: What to call on which event, as `on` takes it: `{"save": fn}`, or several.
            labels: Which boundaries are labelled by themselves; None: none of them.
            retention: Which checkpoints and threads are kept: applied in the background as threads
                are written.
            redact: Names whose values never reach the database with a checkpoint's metadata, into
                which LangGraph copies a run's `configurable`; or a callable that is given the
                metadata, and returns what is stored.
            single_writer: True: while a run goes on in a thread, in whichever process, another one
                is refused with `ConcurrentRun`.
            on_damage: `"heal"`: what is damaged is had back, stood in for or passed over, and said
                so aloud; `"raise"`: it raises CheckpointDamaged.
            aliases: Of renamed or moved classes: `{"old.module:Name": "new.module:Name"}`.
            migrations: How data of older versions of your classes becomes that of newer ones.
            options: SQLite: `synchronous` ("FULL"), `readers` (4), and of `sqlite3.connect` its
                `factory` and `cached_statements`.
                Postgres: `min_size`, `max_size` and other pool options, `prepare` (False behind
                PgBouncer), and `psycopg.connect`'s.

        Raises:
            BadUrl: The string names no database that is understood.
            MissingExtra: It names Postgres, and psycopg is not installed; or `keys` are given
                without the cryptography library.
        """
        if setup not in ("auto", "never"):
            raise InvalidInput(f'setup={setup!r}: use "auto" or "never"')
        if on_damage not in ("heal", "raise"):
            raise InvalidInput(f'on_damage={on_damage!r}: use "heal" or "raise"')
        heals, apart = on_damage == "heal", Apart.of(channels)
        classes = Classes.of(aliases, migrations, heals=heals, users=channels.user, serde=serde)
        common: dict[str, Any] = {"setup": setup, "timeout": timeout, "connect": connect, **options}
        core = Core(opening.driver(conn_string, keys, serde, schema, common), Memory)
        chosen = extractors if isinstance(extractors, Extractors) else Extractors(extractors)
        watched = opening.watched(labels, pillars)
        weaver = Weaver(chosen, channels, watched) if pillars else None
        for event, hook in given(hooks):
            core.hooks.add(event, hook)
        return cls(
            core, serde=serde, weaver=weaver, retention=retention, redact=redact,
            single_writer=single_writer, on_damage=on_damage, vaulted=keys is not None,
            classes=classes, apart=apart,
        )  # fmt: skip

    @staticmethod
    def ddl(dialect: opening.Dialect = "postgres", *, schema: str | None = None) -> str:
        """The statements that set up an empty database, for a role that may run them."""
        return opening.ddl(dialect, schema)

    # ---- life

    def setup(self) -> opening.Ready:
        """Open the database and make what is missing. Happens by itself on first use."""
        self._core.run(Running.ready)
        return opening.READY

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

    def thread(self, thread_id: str | RunnableConfig) -> Thread:
        """The handle on one conversation, by its id or a config that names it."""
        return threads.Thread(
            self._core, lambda: self._codec, self._weaver, thread(thread_id),
            heals_damage=self._heals, saver=self,
        )  # fmt: skip

    def register_migration(
        self, target: str | type, from_version: int, migrate: Callable[[Any], Any]
    ) -> None:
        """Say how older data of a class, or of a channel, becomes newer: see `Migration`."""
        self._classes.register(Migration(target, from_version, migrate))

    def for_user(self, user_id: str) -> UserSaver:
        """A checkpointer for one user's runs: it sees and writes only threads of theirs.

        A run whose config does not say `user_id`, or another one, is refused.
        """
        return scoped.UserSaver(self, of_user(user_id))

    # ---- storing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; the config that names it."""
        made = self._incoming(config, checkpoint, metadata, new_versions)
        watching.store(self._core, made, self._guarded(made, config), alone=True)
        self._wrote(made)
        return config_of(place(config), checkpoint["id"])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async version of `put`."""
        made = self._incoming(config, checkpoint, metadata, new_versions)
        await watching.astore(self._core, made, self._guarded(made, config), alone=True)
        self._wrote(made)
        return config_of(place(config), checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote at a checkpoint."""
        made = self._written(config, writes, task_id, task_path)
        watching.store(self._core, made, self._guarded(made, config), alone=made.says)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async version of `put_writes`."""
        made = self._written(config, writes, task_id, task_path)
        await watching.astore(self._core, made, self._guarded(made, config), alone=made.says)

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
        pages = self._pages(config, filter, before, limit)
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
        pages = self._pages(config, filter, before, limit)
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
            self._made = Codec(self.serde, self._classes, vaulted=self._vaulted)
        return self._made

    def _incoming(
        self, config: Any, checkpoint: Any, metadata: Any, new_versions: ChannelVersions
    ) -> Put:
        told = (config, checkpoint, metadata, new_versions)
        return incoming.put(
            self._codec, self._weaver, *told, redact=self._redaction, apart=self._apart
        )

    def _pages(self, *asked: Any, user: str | None = None) -> Pages:
        return Pages(lambda: self._codec, *asked, heals=self._heals, user=user)

    def _written(self, config: Any, writes: Any, task_id: str, task_path: str) -> PutWrites:
        told = (config, writes, task_id, task_path, self._apart, self._core.memory)
        return incoming.put_writes(self._codec, self._weaver, *told)

    def _wrote(self, put: Put) -> None:
        if self._keeper is not None:
            self._keeper.wrote(self._codec, put.thread_id, put.ns)

    def _guarded(self, made: Put | PutWrites, config: RunnableConfig) -> Hot[Known]:
        """How a write is stored: as it is, or only while its run holds the thread."""
        return made if self._leases is None else self._leases.guarded(made, config)

    async def _get(self, core: Running[Memory], config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, ns, id = stored_place(config)
        run = None
        if self._leases is not None:
            run = await self._leases.enter(core, config, thread_id, ns)
        known = core.memory.get(thread_id)
        codec = self._codec
        get = healing.get if self._heals else healing.just_get
        found, learnt, heals = await core.read_soon(lambda: get(codec, thread_id, ns, id, known))
        if run is not None and found is not None:
            run.loaded = stored(found.id, "checkpoint_id")
        if heals:
            await telling.tell(core, codec, heals)
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
            await telling.tell(core, codec, heals)
        history: dict[str, DeltaChannelHistory] = {}
        for name, (writes, seed) in found.items():
            history[names[name]] = {"writes": writes}
            if seed:
                history[names[name]]["seed"] = seed[0]
        return history
