"""The part of a thread's handle that lists what was found damaged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from langgraph_wyrd.checkpoints.points import known
from langgraph_wyrd.checkpoints.put import now
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.operations import Operation, Read, Write, asynchronous, operation
from langgraph_wyrd.state.heals import Heal, Kind
from langgraph_wyrd.storage.ciphers import NotSealed
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import select
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import HEALS, HealRow

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver

_SEEN = "UPDATE wyrd_heals SET acknowledged_at = ? WHERE thread = ? AND id = ?"


class Healed:
    """What was found damaged, and that somebody has seen it."""

    if TYPE_CHECKING:
        _saver: WyrdSaver
        _stored: str

        @property
        def id(self) -> str: ...

    @operation
    def heals(self) -> Operation[list[Heal]]:
        """What was found damaged while the thread was loaded, and what was done, oldest first.

        Raises:
            ThreadNotFound: No such thread.
        """
        saver = self._saver
        script = partial(_heals, saver._dialect, saver._codec, self._stored)
        found: list[Heal] = yield Read(saver._engine, script, (self._stored,))
        return found

    aheals = asynchronous(heals)

    @operation
    def acknowledge(self, heal: Heal | str | None = None) -> Operation[None]:
        """Say that a heal was seen (None: all of them).

        Raises:
            InvalidInput: The thread has no such heal.
            ThreadNotFound: No such thread.
        """
        saver, id = self._saver, heal.id if isinstance(heal, Heal) else heal
        script = partial(_acknowledge, saver._dialect, self._stored, id)
        if not (yield Write(saver._engine, script, threads=(self._stored,))) and heal is not None:
            raise InvalidInput(f"thread {self.id!r} has no heal {heal!r}: see heals()")

    aacknowledge = asynchronous(acknowledge)


def opened(codec: Codec, row: HealRow) -> HealRow:
    """The row of a heal; one that was recorded without the keys was not sealed."""
    try:
        return codec.open(HEALS, row)
    except NotSealed:
        return row


def _heals(dialect: str, codec: Codec, thread_id: str) -> Script[list[Heal]]:
    thread = yield from known(dialect, thread_id)
    rows = yield Query(select(HEALS, "thread", order="healed_at, id"), (thread.key,))
    made = []
    for each in rows:
        row = opened(codec, HealRow._make(each))
        made.append(
            Heal(
                row.id, cast(Kind, row.kind), given(thread_id), given(row.ns),
                given(row.checkpoint), row.channel, row.what, row.healed_at, row.acknowledged_at,
            )
        )  # fmt: skip
    return made


def _acknowledge(dialect: str, thread_id: str, id: str | None) -> Script[int]:
    thread = yield from known(dialect, thread_id)
    rows = yield Query("SELECT id FROM wyrd_heals WHERE thread = ?", (thread.key,))
    ids = [row[0] for row in rows if id in (None, row[0])]
    moment = now()
    yield Command(_SEEN, [(moment, thread.key, each) for each in ids])
    return len(ids)
