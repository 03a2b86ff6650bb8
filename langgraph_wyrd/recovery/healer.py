"""Heals damaged threads for whoever met the damage, and reports it to the log and the hooks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.hooks import Fire, Hooks
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.storage.rows import delete
from langgraph_wyrd.storage.scripts import Command, Script
from langgraph_wyrd.storage.tables import SNAPSHOTS, Key

if TYPE_CHECKING:
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.recovery import heals as records
    from langgraph_wyrd.recovery import load, mend
    from langgraph_wyrd.recovery.heals import Heal
    from langgraph_wyrd.storage.engine import Engine, Job
else:  # most processes never meet damage
    records, load, mend = lazy("recovery.heals", "recovery.load", "recovery.mend")

T = TypeVar("T")
Flow = Generator[Any, Any, Any]


class Healer:
    """Heals the threads of one database, and tells the log and the hooks of it."""

    def __init__(self, engine: Engine, codec: Callable[[], Codec], hooks: Hooks) -> None:
        self._engine = engine
        self._codec = codec
        self.hooks = hooks
        dialect = engine.driver.dialect
        engine.healer = self
        engine.mend = lambda key: mend.mended_by_key(dialect, key)

    def script(
        self, thread_ids: Sequence[str], gives_up: bool
    ) -> Script[list[tuple[str, list[Heal]]]]:
        """Restore what can be of threads; with `gives_up`, as a repair does."""
        dialect, found = self._engine.driver.dialect, []
        for thread_id in dict.fromkeys(thread_ids):
            if gives_up:
                heals = yield from mend.salvaged(dialect, thread_id, self._codec())
            else:
                heals = yield from mend.mended(dialect, thread_id)
            if heals:
                found.append((thread_id, heals))
        return found

    def report(self, found: Sequence[tuple[str, list[Heal]]]) -> Fire:
        """Log heals; the hooks to call with them."""
        for thread_id, heals in found:
            records.log(thread_id, heals)
        return self._fire(found)

    def _fire(self, found: Sequence[tuple[str, list[Heal]]]) -> Fire:
        heard = found if self.hooks.hear("heal") else ()
        return Fire(self, tuple(each for held in heard for each in records.happenings(*held)))

    def write(self, make: Callable[..., Job], thread_id: str, gives_up: bool) -> Flow:
        """What a write does that met damage: see `checkpoints.writing`."""
        found = yield self._posted(make("mend", partial(self.script, [thread_id], gives_up)))
        yield self.report(found)

    def read(
        self,
        thread_ids: Sequence[str],
        lenient: Callable[[load.Lenient], Script[T]],
        codec: Codec,
        first: BaseException,
    ) -> Callable[[Callable[..., Job]], Flow]:
        """Mend the threads, read again leniently, record and tell what that had to do."""

        def run(make: Callable[..., Job]) -> Flow:
            done: list[tuple[str, list[Heal]]] = []
            for thread_id in thread_ids:
                with suppress(WyrdError):  # it can't be written: what follows reads round it
                    script = partial(self.script, [thread_id], False)
                    done += yield self._posted(make("mend", script))
            reading = load.Lenient(self._engine.driver.dialect, codec)
            found = yield self._posted(make("read", lambda: reading.run(lenient)))
            yield self.report(done)
            for thread_id, (key, heals, drops) in reading.found.items():
                records.log(thread_id, heals)
                with suppress(WyrdError):
                    record = partial(_recorded, key, heals, drops)
                    new = yield self._posted(make("mend", record))
                    yield self._fire([(thread_id, new)])
            said = done or any(heals for _, heals, _ in reading.found.values())
            if not said and not isinstance(first, CheckpointDamaged):
                raise first  # nothing is damaged: it was another error
            return found

        return run

    def _posted(self, job: Job) -> Job:
        self._engine.post(job)
        return job


def _recorded(
    key: Key, heals: Sequence[Heal], drops: Sequence[tuple[str, str]]
) -> Script[list[Heal]]:
    if drops:
        away = delete(SNAPSHOTS, "thread", "ns", "checkpoint")
        yield Command(away, [(key, *each) for each in drops])
    return (yield from records.new(key, heals))
