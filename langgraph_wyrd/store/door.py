"""The way into a database: whether a saver has what the store was encrypted with.

The store itself knows that it is sealed (`wyrd_keys`): a saver without keys, or with others, is
told so, and never takes what it can't open for damage. On a store that is not encrypted, nothing
of what seals and opens is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from langgraph_wyrd.later import later
from langgraph_wyrd.storage.keyring import KeyRing
from langgraph_wyrd.store.keys import HIDDEN, SERDE, Found
from langgraph_wyrd.store.roles import Driver
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langgraph_wyrd.store import proofs, vault
else:
    proofs, vault = later("store.proofs", "store.vault")

logger = logging.getLogger("langgraph_wyrd")


class Door:
    """See `store.running.Driver`. It is the driver inside, or that one behind a vault."""

    def __init__(
        self, inner: Callable[[], Driver], ring: KeyRing | None, serde: Codec | None
    ) -> None:
        self._inner = inner()
        self._serde = serde  # it encrypts, and the store is its own
        self._vault = None if ring is None else vault.Vault(self._inner, ring)
        self._lead_to(self._vault or self._inner)
        self.give_back = self._inner.give_back
        self.close = self._inner.close
        self.writers = self._inner.writers
        self.wal_bytes = self._inner.wal_bytes
        self.scrub = self._inner.scrub
        self.closes_to_fork = self._inner.closes_to_fork

    def _lead_to(self, room: vault.Room) -> None:
        self.read, self.read_all = room.read, room.read_all
        self.write, self.merge = room.write, room.merge

    async def open(self) -> None:
        await self._inner.open()
        self.closes_to_fork = self._inner.closes_to_fork  # known once it is open
        try:
            await self._admit()
        except BaseException:
            await self._inner.close()
            raise

    async def _admit(self) -> None:
        found = await self._inner.read(_look)
        if self._vault is not None:
            await self._vault.admit(found)
        elif sealed := found.sealed_with():
            self._lead_to(vault.Vault(self._inner, None))
            logger.warning(
                "the store is encrypted (with the keys %s) and no keys were given: texts are "
                "shown as %s, and nothing can be loaded or stored. Open it with keys=",
                ", ".join(sorted(sealed)), HIDDEN,
            )  # fmt: skip
        elif self._serde is not None:
            await proofs.admit_serde(self._inner, self._serde, found)
        elif SERDE in found.known:
            self._lead_to(vault.Unwritable(self._inner))


def _look() -> Plan[Found]:
    known, begun = yield [Ask("keys"), Ask("first_checkpoints")]
    return Found(dict(known), [row[0] for row in begun])
