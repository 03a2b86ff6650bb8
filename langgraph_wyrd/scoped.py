"""A saver that is one user's: it sees and writes only that user's threads.

It is no WyrdSaver, so that nothing of one is reached past it: each method stands here, or refuses.
A thread is a user's if its newest checkpoints are of their runs. Another's thread is not there for
who reads; who writes to it is refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)

from langgraph_wyrd.configs import config_of, place, several, thread
from langgraph_wyrd.conversation.of_saver import Inbox
from langgraph_wyrd.errors import ThreadNotFound, UserMissing, WrongUser
from langgraph_wyrd.owned import user_of
from langgraph_wyrd.parts import watching
from langgraph_wyrd.parts.users import UserData, of_user
from langgraph_wyrd.plans.owners import MINE, NEW, Mine, Standing, standing
from langgraph_wyrd.scoped_thread import OneUsers, UserThread
from langgraph_wyrd.store.names import given

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.healing.report import Progress, Report
    from langgraph_wyrd.parts.resuming import Resumed
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.plans.task_writes import PutWrites
    from langgraph_wyrd.plans.write import Put
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.state.listed import Page, ThreadInfo
    from langgraph_wyrd.state.model import Intention, OpenLoop, Todo
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.thread import Thread

T = TypeVar("T")

# What goes across users, or belongs to who owns the database: refused by name, so that whatever a
# saver learns to do is refused until it is written here.
REFUSED = frozenset(
    (
        "aclose", "adelete_for_runs", "aerase_user", "aimport_thread", "arotate_keys", "asetup",
        "asize_report", "asweep", "close", "ddl", "delete_for_runs", "erase_user", "for_user",
        "from_conn_string", "import_thread", "on", "register_migration", "rotate_keys", "setup",
        "size_report", "sweep",
    )
)  # fmt: skip


class UserSaver(Inbox, BaseCheckpointSaver[str]):
    """Made by `saver.for_user`: a checkpointer for the runs of one user.

    A run must say in its config that it is this user's; one that does not, or says otherwise, is
    refused before anything of it is read or stored.
    """

    def __init__(self, saver: WyrdSaver, user: str) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._core = saver._core
        self._user = user

    def __repr__(self) -> str:
        return f"UserSaver({given(self._user)!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(type(self._saver), name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._refusal(name)

    def _refusal(self, name: str) -> Callable[..., Any]:
        def refused(*args: Any, **kwargs: Any) -> Any:
            raise WrongUser(
                f"{name} goes beyond user {given(self._user)!r}, whose saver this is: call it on "
                "the saver that for_user was called on"
            )

        return refused

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> UserSaver:
        saver: Any = self._saver.with_allowlist(extra_allowlist)
        return self if saver is self._saver else UserSaver(saver, self._user)

    def get_next_version(self, current: str | None, channel: None) -> str:
        return self._saver.get_next_version(current, channel)

    # ---- storing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As WyrdSaver's; the run must be this user's, and its thread."""
        made = self._incoming(config, checkpoint, metadata, new_versions)
        write = self._mine(made, config, self._core.run(self._of(made.thread_id)))
        watching.store(self._core, made, write, alone=True)
        self._saver._wrote(made)
        return self._theirs(config_of(place(config), checkpoint["id"]))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        made = self._incoming(config, checkpoint, metadata, new_versions)
        write = self._mine(made, config, await self._core.arun(self._of(made.thread_id)))
        await watching.astore(self._core, made, write, alone=True)
        self._saver._wrote(made)
        return self._theirs(config_of(place(config), checkpoint["id"]))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._refuse_others(config)
        made = self._saver._written(config, writes, task_id, task_path)
        write = self._mine(made, config, self._core.run(self._of(made.thread_id)))
        watching.store(self._core, made, write, alone=made.says)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._refuse_others(config)
        made = self._saver._written(config, writes, task_id, task_path)
        write = self._mine(made, config, await self._core.arun(self._of(made.thread_id)))
        await watching.astore(self._core, made, write, alone=made.says)

    # ---- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        self._refuse_others(config)
        mine = self._core.run(self._of(self._named(config))).whose == MINE
        return self._told(self._saver.get_tuple(config)) if mine else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        self._refuse_others(config)
        mine = (await self._core.arun(self._of(self._named(config)))).whose == MINE
        return self._told(await self._saver.aget_tuple(config)) if mine else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        self._refuse_others(config)
        pages = self._saver._pages(config, filter, before, limit, user=self._user)
        while not pages.done:
            for found in self._core.run(pages.next):
                yield self._told(found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        self._refuse_others(config)
        pages = self._saver._pages(config, filter, before, limit, user=self._user)
        while not pages.done:
            for found in await self._core.arun(pages.next):
                yield self._told(found)

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Any:
        self._refuse_others(config)
        if self._core.run(self._of(self._named(config))).whose != MINE:
            return _nothing(channels)
        return self._saver.get_delta_channel_history(config=config, channels=channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Any:
        self._refuse_others(config)
        if (await self._core.arun(self._of(self._named(config)))).whose != MINE:
            return _nothing(channels)
        return await self._saver.aget_delta_channel_history(config=config, channels=channels)

    # ---- one thread

    def thread(self, thread_id: str | RunnableConfig) -> Thread:
        """The handle on one of the user's threads; another's is not found."""
        saver, id = self._saver, thread(thread_id)
        core: Any = OneUsers(self._core, partial(self._must_be_mine, id))
        return UserThread(self, core, saver, id)

    def delete_thread(self, thread_id: str) -> None:
        if self._core.run(self._of(thread(thread_id))).whose == MINE:
            self._saver.delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        if (await self._core.arun(self._of(thread(thread_id)))).whose == MINE:
            await self._saver.adelete_thread(thread_id)

    def copy_thread(
        self, source_thread_id: str, target_thread_id: str, *, latest_only: bool = False
    ) -> None:
        if self._core.run(partial(self._may_copy, source_thread_id, target_thread_id)):
            self._saver.copy_thread(source_thread_id, target_thread_id, latest_only=latest_only)

    async def acopy_thread(
        self, source_thread_id: str, target_thread_id: str, *, latest_only: bool = False
    ) -> None:
        if await self._core.arun(partial(self._may_copy, source_thread_id, target_thread_id)):
            await self._saver.acopy_thread(
                source_thread_id, target_thread_id, latest_only=latest_only
            )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        mine = self._core.run(partial(self._only_mine, several(thread_ids, "thread_ids")))
        self._saver.prune(mine, strategy=strategy)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        mine = await self._core.arun(partial(self._only_mine, several(thread_ids, "thread_ids")))
        await self._saver.aprune(mine, strategy=strategy)

    def delete_for_runs(self, run_ids: Sequence[str] = ()) -> None:
        self._refusal("delete_for_runs")()

    async def adelete_for_runs(self, run_ids: Sequence[str] = ()) -> None:
        self._refusal("adelete_for_runs")()

    def reweave(self, thread_id: str, *, progress: Progress | None = None) -> None:
        self._core.run(partial(self._must_be_mine, thread(thread_id)))
        self._saver.reweave(thread_id, progress=progress)

    async def areweave(self, thread_id: str, *, progress: Progress | None = None) -> None:
        await self._core.arun(partial(self._must_be_mine, thread(thread_id)))
        await self._saver.areweave(thread_id, progress=progress)

    def verify(
        self, thread_id: str, *, repair: bool = False, progress: Progress | None = None
    ) -> Report:
        self._core.run(partial(self._must_be_mine, thread(thread_id)))
        return self._saver.verify(thread_id, repair=repair, progress=progress)

    async def averify(
        self, thread_id: str, *, repair: bool = False, progress: Progress | None = None
    ) -> Report:
        await self._core.arun(partial(self._must_be_mine, thread(thread_id)))
        return await self._saver.averify(thread_id, repair=repair, progress=progress)

    # ---- all of the user's threads

    def threads(self, **asked: Any) -> Page[ThreadInfo]:
        return self._saver.threads(**self._asked(asked))

    async def athreads(self, **asked: Any) -> Page[ThreadInfo]:
        return await self._saver.athreads(**self._asked(asked))

    def todos(self, **asked: Any) -> Page[Todo]:
        return self._saver.todos(**self._asked(asked))

    async def atodos(self, **asked: Any) -> Page[Todo]:
        return await self._saver.atodos(**self._asked(asked))

    def open_loops(self, **asked: Any) -> Page[OpenLoop]:
        return self._saver.open_loops(**self._asked(asked))

    async def aopen_loops(self, **asked: Any) -> Page[OpenLoop]:
        return await self._saver.aopen_loops(**self._asked(asked))

    def intentions(self, **asked: Any) -> Page[Intention]:
        return self._saver.intentions(**self._asked(asked))

    async def aintentions(self, **asked: Any) -> Page[Intention]:
        return await self._saver.aintentions(**self._asked(asked))

    def latest(self, **asked: Any) -> Resumed | None:
        return self._picked(self._saver.latest(**self._asked(asked)))

    async def alatest(self, **asked: Any) -> Resumed | None:
        return self._picked(await self._saver.alatest(**self._asked(asked)))

    def resume(self, thread_id: str | None = None, **asked: Any) -> Resumed:
        if thread_id is None:
            return self._picked(self._saver.resume(**self._asked(asked)))
        self._core.run(partial(self._must_be_mine, thread(thread_id)))
        return self._picked(self._saver.resume(thread_id, **asked))

    async def aresume(self, thread_id: str | None = None, **asked: Any) -> Resumed:
        if thread_id is None:
            return self._picked(await self._saver.aresume(**self._asked(asked)))
        await self._core.arun(partial(self._must_be_mine, thread(thread_id)))
        return self._picked(await self._saver.aresume(thread_id, **asked))

    def user(self, user_id: str | None = None) -> UserData:
        """What is kept for this user beside all threads."""
        if user_id is not None and of_user(user_id) != self._user:
            raise self._wrong(user_id)
        return self._saver.user(given(self._user))

    # ---- whose it is

    def _wrong(self, user_id: Any) -> WrongUser:
        return WrongUser(
            f"this saver is user {given(self._user)!r}'s, and was asked for user {user_id!r}"
        )

    def _theirs(self, config: RunnableConfig) -> RunnableConfig:
        """A config that says whose it is: who goes on from a snapshot's does not say it again."""
        said = {**config.get("configurable", {}), "user_id": given(self._user)}
        return {**config, "configurable": said}

    @overload
    def _told(self, found: CheckpointTuple) -> CheckpointTuple: ...
    @overload
    def _told(self, found: CheckpointTuple | None) -> CheckpointTuple | None: ...

    def _told(self, found: CheckpointTuple | None) -> CheckpointTuple | None:
        if found is None:
            return None
        parent = None if found.parent_config is None else self._theirs(found.parent_config)
        return found._replace(config=self._theirs(found.config), parent_config=parent)

    @overload
    def _picked(self, found: Resumed) -> Resumed: ...
    @overload
    def _picked(self, found: Resumed | None) -> Resumed | None: ...

    def _picked(self, found: Resumed | None) -> Resumed | None:
        return None if found is None else replace(found, config=self._theirs(found.config))

    def _missing(self) -> UserMissing:
        user = given(self._user)
        return UserMissing(
            f"this saver is user {user!r}'s, and the run does not say that it is: pass "
            f"{{'configurable': {{'thread_id': …, 'user_id': {user!r}}}}}. Nothing was stored."
        )

    def _refuse_others(self, config: RunnableConfig | None) -> None:
        """Raise if a config says it is another's; or if it is a run's, and says nothing."""
        if config is None:
            return
        said = user_of(get_checkpoint_metadata(config, {}))
        if said is not None and said != self._user:
            raise self._wrong(given(said))
        if said is None and "__pregel_runtime" in (config.get("configurable") or {}):
            raise self._missing()

    def _incoming(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Put:
        self._refuse_others(config)
        made = self._saver._incoming(config, checkpoint, metadata, new_versions)
        if made.user is None:
            raise self._missing()
        if made.user != self._user:
            raise self._wrong(given(made.user))
        return made

    def _mine(self, made: Put | PutWrites, config: RunnableConfig, found: Standing) -> Mine:
        return Mine(self._saver._guarded(made, config), self._user, found)

    def _of(self, thread_id: str) -> Callable[[Running[Memory]], Coroutine[Any, Any, Standing]]:
        return lambda core: core.read(partial(standing, thread_id, self._user))

    @staticmethod
    def _named(config: RunnableConfig) -> str:
        return thread(place(config)[0])

    async def _must_be_mine(self, thread_id: str, core: Running[Memory]) -> None:
        if (await self._of(thread_id)(core)).whose != MINE:
            raise ThreadNotFound(f"thread {given(thread_id)!r} has no checkpoints")

    async def _only_mine(self, ids: Sequence[str], core: Running[Memory]) -> Sequence[str]:
        return [id for id in ids if (await self._of(thread(id))(core)).whose == MINE]

    async def _may_copy(self, source: str, target: str, core: Running[Memory]) -> bool:
        if (await self._of(thread(target))(core)).whose not in (MINE, NEW):
            raise WrongUser(f"thread {target!r} is not user {given(self._user)!r}'s")
        return (await self._of(thread(source))(core)).whose == MINE

    def _asked(self, asked: dict[str, Any]) -> dict[str, Any]:
        user = asked.get("user_id")
        if user is not None and user != given(self._user):
            raise self._wrong(user)
        return {**asked, "user_id": given(self._user)}


def _nothing(channels: Sequence[str]) -> dict[str, DeltaChannelHistory]:
    return {name: {"writes": []} for name in channels}
