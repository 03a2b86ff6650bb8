"""What the parts of a saver share: its database, its cache, its hooks, and how scripts are run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from langgraph_wyrd.operations import Operation, Read, Write
from langgraph_wyrd.storage.scripts import Script

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.cache import Cache
    from langgraph_wyrd.checkpoints.working import Reader
    from langgraph_wyrd.checkpoints.writing import Writing
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.storage.access import Access
    from langgraph_wyrd.storage.engine import Engine

T = TypeVar("T")
Bound = Callable[[], Script[T]]  # a script with its arguments


class SaverBase:
    """An opened database. `WyrdSaver` makes what is declared here."""

    _user: str | None = None  # whose threads alone this saver sees; None: all
    _where: str | None = None  # which database it is, without passwords
    if TYPE_CHECKING:
        hooks: Hooks
        _access: Access
        _cache: Cache
        _engine: Engine
        _heals: bool
        _reader: Reader | None
        _writing: Writing

        @property
        def _codec(self) -> Codec: ...

    @property
    def _dialect(self) -> str:
        return self._engine.driver.dialect

    def _read(self, script: Bound[T], *threads: str) -> Operation[T]:
        """What a script reads. Damage in these threads (stored ids) is healed, if it is met."""
        found: T = yield Read(self._engine, script, threads)
        return found

    def _write(self, script: Bound[T], *threads: str) -> Operation[T]:
        """Run a script that changes these threads; the cache forgets them."""
        found: T = yield Write(self._engine, script, partial(self._forget, *threads), threads)
        return found

    def _forget(self, *threads: str) -> None:
        for thread_id in threads:
            self._cache.drop(thread_id)

    def _of_thread(
        self, thread_id: str, script: Callable[[], Script[T]]
    ) -> Callable[[], Script[T]]:
        """A script on one thread's rows. One user's saver looks first whose the thread is."""
        return script

    def _admit(self, thread_id: str | None) -> Operation[None]:
        """Raise where this saver is not for a thread (None: for all of them)."""
        yield from ()

    def _may_begin(self, thread_id: str) -> Operation[None]:
        """Raise where a thread is there already, and another user's. This saver is for all."""
        yield from ()
