"""What was healed: one record a damage, told in the log and kept beside the thread."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from langgraph_wyrd.state.heals import Heal, Kind
from langgraph_wyrd.store.names import given

__all__ = ["LOST", "Found", "Heal", "Kind", "told"]

logger = logging.getLogger("langgraph_wyrd")

LOST = "its row is missing: that it was there is sure, what it held is not known"


@dataclass(frozen=True, slots=True)
class Found:
    """A damage as a load met it. Ids are in stored form; `place` is what is damaged."""

    kind: Kind
    thread: int
    thread_id: str
    ns: str
    checkpoint: str
    channel: str
    what: str
    place: str

    @property
    def id(self) -> str:
        """The same damage has the same id, whichever checkpoint it is met at."""
        named = "\0".join((self.kind, self.ns, self.channel, self.place))
        return f"h-{blake2b(named.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def told(heals: Iterable[Found]) -> None:
    """Say in the log what was done."""
    for heal in heals:
        where = f", checkpoint {given(heal.checkpoint)}" if heal.checkpoint else ""
        where += f" of channel {given(heal.channel)!r}" if heal.channel else ""
        logger.warning(
            "damage in thread %r%s, healed (%s): %s",
            given(heal.thread_id), where, heal.kind, heal.what,
        )  # fmt: skip
