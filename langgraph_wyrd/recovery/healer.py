"""Heals damaged threads when a read or a write meets the damage.

Each heal is logged, recorded once in wyrd_heals, and passed to the hooks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.hooks import Fire, Happening, Hooks
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import insert, now, select
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import HEALS, HealRow, Key

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints import points
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.recovery import load, mend
    from langgraph_wyrd.state import results
    from langgraph_wyrd.state.results import HealKind
    from langgraph_wyrd.storage.engine import Engine
    from langgraph_wyrd.storage.worker import Job
else:  # most processes never meet damage
    load, mend = lazy("recovery.load", "recovery.mend")
    points, results = lazy("checkpoints.points", "state.results")

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")
Flow = Generator[Any, Any, Any]


# ---- what was healed

_RECORD = f"{insert(HEALS)} ON CONFLICT (thread, id) DO NOTHING"
_DONE = {
    "exact": "restored to the byte",
    "left_out": "left out",
    "ancestor": "an earlier checkpoint was taken",
    "empty": "nothing could be read",
}


class Heal(NamedTuple):
    """One thing that was damaged, and what was made of it."""

    kind: HealKind
    ns: str
    checkpoint: str
    channel: str
    what: str

    @classmethod
    def of(cls, kind: HealKind, *texts: Any) -> Heal:
        """The same of texts from damaged rows, which may be no UTF-8 any more."""
        return cls(kind, *(str(text).encode(errors="replace").decode() for text in texts))


_LOSSES = (
    "SELECT kind, channel, checkpoint FROM wyrd_heals WHERE thread = ? AND acknowledged_at IS NULL "
    "AND kind <> 'exact' ORDER BY healed_at, id"
)
_MOST_SAID = 3
_SEEN = "UPDATE wyrd_heals SET acknowledged_at = ? WHERE thread = ? AND id = ?"


def losses(dialect: str, thread_id: str) -> Script[list[str]]:
    """What a thread lost to damage, in words, as far as nobody has acknowledged it."""
    thread = yield from thread_row(dialect, thread_id)
    found: dict[str, None] = {}
    for kind, channel, checkpoint in (yield Query(_LOSSES, (thread.key,))):
        what = f" of {given(channel)}" if channel else ""
        found[f"checkpoint {given(checkpoint)}{what}: {_DONE.get(kind, kind)}"] = None
    more = len(found) - _MOST_SAID
    return [*found][:_MOST_SAID] + ([f"{more} more"] if more > 0 else [])


def heals(dialect: str, codec: Codec, thread_id: str) -> Script[list[results.Heal]]:
    """What was found damaged of a thread, oldest first."""
    thread = yield from points.known(dialect, thread_id)
    rows = yield Query(select(HEALS, "thread", order="healed_at, id"), (thread.key,))
    return [
        results.Heal(
            row.id, cast("HealKind", row.kind), given(thread_id), given(row.ns),
            given(row.checkpoint), row.channel, row.what, row.healed_at, row.acknowledged_at,
        )
        for row in map(HealRow._make, rows)
    ]  # fmt: skip


def acknowledge(dialect: str, codec: Codec, thread_id: str, id: str | None) -> Script[int]:
    """Note that a heal was seen (None: all of them); how many there were."""
    thread = yield from points.known(dialect, thread_id)
    rows = yield Query("SELECT id FROM wyrd_heals WHERE thread = ?", (thread.key,))
    ids = [row[0] for row in rows if id in (None, row[0])]
    moment = now()
    yield Command(_SEEN, [(moment, thread.key, each) for each in ids])
    return len(ids)


def record(key: Key, heals: Sequence[Heal]) -> Command:
    """The statement that records heals, each once."""
    moment = now()
    return Command(_RECORD, [
        HealRow(key, _id(each), each.ns, each.checkpoint, each.channel, each.kind, moment, None,
                each.what)
        for each in heals
    ])  # fmt: skip


def _id(heal: Heal) -> str:
    return blake2b("\0".join(map(str, heal)).encode(errors="replace"), digest_size=12).hexdigest()


def log(thread_id: str, heals: Sequence[Heal]) -> None:
    for each in heals:
        where = f", checkpoint {given(each.checkpoint)}" if each.checkpoint else ""
        logger.warning("thread %r%s: %s (%s)", given(thread_id), where, each.what, _DONE[each.kind])


# ---- healing


class Healer:
    """Heals the threads of one database; logs that, and calls the hooks."""

    def __init__(self, engine: Engine, codec: Callable[[], Codec], hooks: Hooks) -> None:
        self._engine = engine
        self._codec = codec
        self.hooks = hooks
        dialect = engine.driver.dialect
        engine.healer = self
        engine.mend = lambda key: mend.restore_by_key(dialect, key)

    def script(
        self, thread_ids: Sequence[str], gives_up: bool
    ) -> Script[list[tuple[str, list[Heal]]]]:
        """Restore rows of threads; with `gives_up`, drop those that can't be, as a repair does."""
        dialect, found = self._engine.driver.dialect, []
        for thread_id in dict.fromkeys(thread_ids):
            mended = mend.salvaged if gives_up else mend.restore
            heals = yield from mended(dialect, thread_id, self._codec())
            if heals:
                found.append((thread_id, heals))
        return found

    def report(self, found: Sequence[tuple[str, list[Heal]]]) -> Fire:
        """Log heals; the hooks to call with them."""
        for thread_id, heals in found:
            log(thread_id, heals)
        return self._fire(found)

    def _fire(self, found: Sequence[tuple[str, list[Heal]]]) -> Fire:
        return Fire(self, tuple(
            Happening(
                "heal", given(thread_id), given(heal.checkpoint) or None, given(heal.ns),
                detail={
                    "id": _id(heal), "kind": heal.kind, "channel": heal.channel, "what": heal.what,
                },
            )
            for thread_id, heals in (found if self.hooks.has("heal") else ())
            for heal in heals
        ))  # fmt: skip

    def write(self, make: Callable[..., Job], thread_id: str, gives_up: bool) -> Flow:
        """Heal a thread for a write that met damage: see `checkpoints.writing`."""
        found = yield self._engine.post(make("mend", partial(self.script, [thread_id], gives_up)))
        yield self.report(found)

    def read(
        self,
        do: Callable[[str, Callable[[], Script[Any]]], Any],
        thread_ids: Sequence[str],
        lenient: Callable[[load.Lenient], Script[T]],
        codec: Codec,
        first: BaseException,
    ) -> Flow:
        """Mend the threads, read again leniently, record and report what that had to do. Yields
        hooks to call, and what `do` makes of each script to run."""
        done: list[tuple[str, list[Heal]]] = []
        for thread_id in thread_ids:
            with suppress(WyrdError):  # it can't be written: the damage is read around
                done += yield do("mend", partial(self.script, [thread_id], False))
        reading = load.Lenient(self._engine.driver.dialect, codec)
        found = yield do("read", partial(reading.run, lenient))
        yield self.report(done)
        for thread_id, (key, heals) in reading.found.items():
            log(thread_id, heals)
            with suppress(WyrdError):
                new = yield do("mend", partial(_recorded, key, heals))
                yield self._fire([(thread_id, new)])
        said = done or any(heals for _, heals in reading.found.values())
        if not said and not isinstance(first, CheckpointDamaged):
            raise first  # nothing is damaged: it was another error
        return found


def _recorded(key: Key, heals: Sequence[Heal]) -> Script[list[Heal]]:
    """Record heals; those that were not recorded before."""
    known = {row[0] for row in (yield Query("SELECT id FROM wyrd_heals WHERE thread = ?", (key,)))}
    made = [each for each in heals if _id(each) not in known]
    if made:
        yield record(key, made)
    return made
