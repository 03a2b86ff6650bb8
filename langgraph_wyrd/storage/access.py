"""Whether a saver may read and write a store's values: looked at when its first connection opens.

`wyrd_keys` holds a proof of each key that the store is encrypted with: a text that the key has
sealed. It tells a wrong key from damage at once. Proofs may be damaged like
anything else: then some stored rows tell.
"""

from __future__ import annotations

import logging
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.errors import InvalidInput, KeyMissing, PlainStore, ReadOnlyDatabase
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.storage.rows import SEALED, fetch, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import KEYS, TABLES, KeyRow
from langgraph_wyrd.storage.worker import Connection, Driver

if TYPE_CHECKING:
    from langgraph_wyrd.storage import encryption
    from langgraph_wyrd.storage.encryption import Cipher, KeyRing, RingCipher, Sealer
else:
    encryption = lazy("storage.encryption")

logger = logging.getLogger("langgraph_wyrd")

SERDE = "(serde)"  # the key id that stands for a serde's own key; no ring has such an id
_OWNER, _PLACE, _TEXT = "wyrd_keys", b"proof", b"langgraph-wyrd"
_ROW_COST = 2048  # of a serde: pycryptodome's AES takes 100 us to set up, whatever the size
_SAMPLE = 3  # rows of each table that are looked at: any one may be damaged


# The tables whose rows tell whether a store is encrypted, and by which column.
_SAMPLES = [(t, t.encrypted[-1]) for t in TABLES.values() if t.role == "source"]
_BEGINNINGS = " UNION ALL ".join(
    f"SELECT * FROM (SELECT substr({name}, 1, 96) FROM {table.name} "
    f"WHERE {name} IS NOT NULL LIMIT {_SAMPLE}) AS begin_{at}"
    for at, (table, name) in enumerate(_SAMPLES)
)


class Access:
    """What one saver, and its clones, may do with the values of a store."""

    def __init__(self, serde: Any, keys: KeyRing | Mapping[str, bytes] | None = None) -> None:
        """Raises:
        InvalidInput: Both a key ring and a serde that encrypts: one of them is enough.
        MissingExtra: A key ring, and no cryptography library.
        """
        self._ring: RingCipher | None = None
        self.ring: Sealer | None = None  # the sealer of a key ring, where there is one
        if keys is not None:
            if isinstance(serde, EncryptedSerializer):
                raise InvalidInput(
                    "keys= and serde=EncryptedSerializer(…) would encrypt twice: pass one of them"
                )
            ring = keys if isinstance(keys, encryption.KeyRing) else encryption.KeyRing(keys)
            self._ring = encryption.RingCipher(ring)
            self.ring = encryption.Sealer(self._ring)
        self._serde = serde
        self._locked: Sealer | None = None  # of an encrypted store that was opened without keys
        self._attached: WeakSet[Any] = WeakSet()
        self._guard = threading.Lock()
        self._looked = False

    def sealer(self, serde: Any) -> Sealer | None:
        """What seals the rows of a saver with this serde; None: they are stored plain."""
        if self.ring is not None:
            return self.ring
        return self._locked if type(serde) is JsonPlusSerializer else serde_sealer(serde)

    def attach(self, codec: Any) -> Any:
        """Give a codec its sealer, also when the store turns out to be encrypted."""
        codec.sealer = self.sealer(codec.serde)
        codec.row_cost = 0 if codec.sealer is None else codec.sealer.row_cost
        self._attached.add(codec)
        return codec

    def guard(self, driver: Any) -> Driver:
        """The driver, whose connections are only used where the keys are right."""
        connect = driver.connect

        def admitted(*, writes: bool) -> Any:
            connection = connect(writes=writes)
            try:
                self.admit(connection, writes=writes)
            except BaseException:
                with suppress(Exception):
                    connection.close()
                raise
            return connection

        driver.connect = admitted
        guarded: Driver = driver
        return guarded

    # ---- looking

    def admit(self, connection: Connection, *, writes: bool) -> None:
        """Look whether the keys are the store's. A new store is marked as encrypted.

        Raises:
            KeyMissing: The store is encrypted with other keys, or by a serde.
            PlainStore: Keys were given, and the store is not encrypted.
        """
        with self._guard:
            if self._looked and not writes:
                return
            proofs = Query("SELECT id, proof FROM wyrd_keys")
            rows, begun = connection.read(_asked([proofs, Query(_BEGINNINGS)]))
            known = {row[0]: row[1] for row in rows}
            beginnings = [bytes(row[0]) for row in begun if isinstance(row[0], bytes | memoryview)]
            sealer = self.sealer(self._serde)
            marked = None
            if self._ring is not None:
                marked = self._admit_ring(self._ring, known, beginnings)
            elif sealer is not None and sealer is not self._locked:
                marked = self._admit_serde(sealer, connection, known, beginnings)
            else:
                if not known and any(map(_is_sealed, beginnings)):  # or damage made it look so
                    beginnings = connection.read(_sound_beginnings()) or beginnings
                self._lock(known, beginnings)
            if marked is not None:
                with suppress(ReadOnlyDatabase):  # then nothing is written with it either
                    connection.write(_asked(Command(upsert(KEYS), [marked])))
            self._looked = True

    def _lock(self, known: Mapping[Any, Any], begun: Sequence[bytes]) -> None:
        """Without keys: ids and statuses of an encrypted store can be looked at, values not."""
        ids = [id for id in known if id != SERDE]
        sealed = [each for each in begun if _is_sealed(each)]
        locked = None
        if known or sealed:
            by_serde = SERDE in known or (not ids and all(each[1:2] == b"\0" for each in sealed))
            what = "the serde that wrote it" if by_serde else "keys="
            logger.warning(
                "the store is encrypted: open it with %s to read or write what is in it", what
            )
            locked = encryption.Sealer(encryption.Locked(what))
        if locked is None and self._locked is None:
            return
        self._locked = locked
        for codec in self._attached:
            codec.sealer = self.sealer(codec.serde)

    def _admit_ring(
        self, cipher: RingCipher, known: Mapping[Any, Any], begun: Sequence[bytes]
    ) -> KeyRow | None:
        ring = cipher.ring
        proven: set[str] = set()  # the ring's keys that the store is encrypted with
        refused: dict[str, KeyMissing] = {}  # others, by their ids
        for id, held in [*known.items(), *((None, each) for each in begun)]:
            try:
                proven.add(cipher.whose(held if id is None else encryption.of_text(held)))
            except encryption.NotOpened:
                if id is not None:
                    _damaged_proof(id)
            except KeyMissing as error:
                if error.key_id in ring.ids:
                    raise
                refused[error.key_id] = error
        if refused and not proven:
            raise refused[max(refused)]
        if begun and not proven:
            raise PlainStore(
                "keys= was given, and the threads of this store are not encrypted: copy them "
                "into a new store (`port.copy`)"
            )
        if ring.newest in known and _opens(cipher, known[ring.newest]):
            return None
        return proof(cipher, ring.newest)

    def _admit_serde(
        self, sealer: Sealer, connection: Connection, known: Mapping[Any, Any],
        begun: Sequence[bytes],
    ) -> KeyRow | None:  # fmt: skip
        cipher, held = sealer.cipher, known.get(SERDE)
        if held is not None and _opens(cipher, held):
            return None
        rings = sorted(id for id in known if isinstance(id, str) and encryption.ID.fullmatch(id))
        sealed = [each for each in begun if _is_sealed(each)]
        if rings or any(each[1:2] != b"\0" for each in sealed):
            raise KeyMissing("the store is encrypted with a key ring: open it with keys=")
        if begun and not sealed:
            raise PlainStore(
                "the serde encrypts, and the threads of this store are not encrypted by it: copy "
                "them into a new store (`port.copy`)"
            )
        # The proof may be damaged, or the saver was given its serde after it was made.
        if (sealed or held is not None) and not connection.read(_opens_any(sealer)):
            raise KeyMissing(
                "the store was encrypted with another key than this serde has, or its proof of "
                "the key was damaged"
            )
        if held is not None:
            _damaged_proof(SERDE)
        return proof(cipher, SERDE)


def _opens(cipher: Cipher, held: Any) -> bool:
    """Whether a proof is of this cipher's key."""
    with suppress(encryption.NotOpened, KeyMissing):
        return cipher.open(_OWNER, _PLACE, encryption.of_text(held)) == _TEXT
    return False


def serde_sealer(serde: Any) -> Sealer:
    """What seals rows through a serde: by its cipher, or (any other than JsonPlusSerializer, which
    counts as encrypting) by the serde itself."""
    if type(serde) is EncryptedSerializer:
        cipher = encryption.SerdeCipher(serde.cipher.encrypt, serde.cipher.decrypt)
        return encryption.Sealer(cipher, _ROW_COST)
    texts: bool | None = None  # whether it takes bytes only as text, as a serde of JSON does

    def encrypt(data: bytes) -> tuple[str, bytes]:
        nonlocal texts
        if texts is None:
            texts = True
            with suppress(Exception):
                texts = serde.loads_typed(serde.dumps_typed(_TEXT)) != _TEXT
        made: tuple[str, bytes] = serde.dumps_typed(b64encode(data).decode() if texts else data)
        return made

    def decrypt(tag: str, data: bytes) -> Any:
        found = serde.loads_typed((tag, data))
        return b64decode(found, validate=True) if type(found) is str else found

    return encryption.Sealer(encryption.SerdeCipher(encrypt, decrypt), _ROW_COST)


def proof(cipher: Cipher, id: str) -> KeyRow:
    """The row that proves a key."""
    text = encryption.as_text(cipher.seal(_OWNER, _PLACE, _TEXT))
    return KeyRow(id, text, datetime.now(timezone.utc).isoformat())


def _damaged_proof(id: Any) -> None:
    logger.warning("the store's proof of the key %r is damaged: verify() tells more", id)


def _is_sealed(data: bytes) -> bool:
    try:
        encryption.head_of(data)
    except encryption.NotSealed:
        return False
    except encryption.NotOpened:
        return data[:1] == bytes((SEALED,))
    return True


def _asked(step: Any) -> Script[Any]:
    return (yield step)


def _sound_beginnings() -> Script[list[bytes]]:
    """The same of rows that are as they were stored."""
    found = []
    for table, name in _SAMPLES:
        for row in (yield from fetch(table, f"LIMIT {_SAMPLE}")):
            held = getattr(row, name)
            if isinstance(held, bytes) and not unsound(table, row):
                found.append(held)
    return found


def _opens_any(sealer: Sealer) -> Script[bool]:
    """Whether this cipher opens any stored row."""
    for table, name in _SAMPLES:
        for row in (yield from fetch(table, f"LIMIT {_SAMPLE}")):
            if not unsound(table, row):
                with suppress(encryption.NotOpened):
                    if sealer.opened(table, row, name) is not None:
                        return True
    return False
