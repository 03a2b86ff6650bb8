"""Encrypts the columns that a table declares as `encrypted`: keys, ciphers, rows, another key.

One `Sealer` walks the declarations, with the cipher of a key ring or of a serde. What is sealed
opens in its own place only: its table and column, the row's key and the row's other plain columns
under the same checksum. So a row that was moved, exchanged or forged does not open. Checksums cover
rows as they are stored, so rows can be verified and repaired without keys.

Something sealed is `0xC1`, the length of the key's id, the id, and what the cipher makes. A serde's
key has no id. As text it is `sealed:` and base64.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
import re
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

import ormsgpack
import xxhash

from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, KeyMissing, MissingExtra
from langgraph_wyrd.storage.rows import SEALED, summed, unsound, upsert, with_texts
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import TABLES, Table

logger = logging.getLogger("langgraph_wyrd")

R = TypeVar("R")
_pack = ormsgpack.packb


# ---- keys

BYTES = 32
ID = re.compile(r"[A-Za-z0-9._@-]{1,40}", re.ASCII)
ENV = "WYRD_KEYS"


class KeyRing:
    """Keys by their ids. What is stored is sealed with the newest, and read with any of them.

    ```python
    keys = KeyRing({"2025": old, "2026": new})          # the last one is the newest
    keys = KeyRing({"2025": old, "2026": new}, newest="2025")
    ```
    """

    def __init__(self, keys: Mapping[str, bytes], *, newest: str | None = None) -> None:
        """Args:
            keys: 32 random bytes each (`KeyRing.new_key()`).
            newest: The id of the key that new values are sealed with; None: the last one.

        Raises:
            InvalidInput: No keys, an id that can't be one, or a key of another length.
        """
        if not isinstance(keys, Mapping) or not keys:
            raise InvalidInput("a key ring needs at least one key: KeyRing({'2026': 32 bytes})")
        for id, key in keys.items():
            if not isinstance(id, str) or not ID.fullmatch(id):
                raise InvalidInput(
                    f"{id!r} can't be a key's id: use 1 to 40 of A-Z, a-z, 0-9, '.', '_', '@', '-'"
                )
            if not isinstance(key, bytes) or len(key) != BYTES:
                raise InvalidInput(f"key {id!r} must be {BYTES} bytes")
        if newest is not None and newest not in keys:
            raise InvalidInput(f"newest={newest!r} is not among the keys: {', '.join(keys)}")
        self._keys = dict(keys)
        self.newest = [*keys][-1] if newest is None else newest

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._keys)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(map(repr, self._keys))}, newest={self.newest!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a key ring is not to be pickled or copied: its keys would go along")

    def key(self, id: str) -> bytes:
        return self._keys[id]

    # ---- from where secrets are kept

    @staticmethod
    def new_key() -> bytes:
        """32 random bytes."""
        return secrets.token_bytes(BYTES)

    @classmethod
    def from_text(cls, text: str) -> KeyRing:
        """`id=base64` a line (or with commas between), the newest last; `#` begins a comment."""
        found: dict[str, bytes] = {}
        for line in re.split(r"[,\n]", text):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            id, _, held = line.partition("=")
            try:
                key = base64.b64decode(held.strip(), validate=True)
            except binascii.Error:
                key = b""
            if len(key) != BYTES:  # what stands there is not repeated: it may be a key
                raise InvalidInput(f"the key {id.strip()!r} is not {BYTES} bytes in base64")
            found[id.strip()] = key
        return cls(found)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> KeyRing:
        """As `from_text`, from a file."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls.from_text(file.read())
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"the keys can't be read from {os.fspath(path)!r}: {error}"
            ) from None

    @classmethod
    def from_env(cls, name: str = ENV) -> KeyRing:
        """As `from_text`, from an environment variable."""
        if not os.environ.get(name):
            raise InvalidInput(f"the environment has no {name}")
        return cls.from_text(os.environ[name])


# ---- ciphers

_BEGIN = bytes((SEALED,))
TEXT = "sealed:"
_PRINT, _CHECK, _NONCE, _DIGEST = 4, 4, 12, 16


class NotOpened(CheckpointDamaged):
    """Something sealed was changed, or does not belong where it stands."""


class NotSealed(NotOpened):
    """Something is plain where all is encrypted."""


class Cipher(Protocol):
    """Seals bytes for an owner (the row's first key column) and a place in it."""

    def seal(self, owner: Any, place: bytes, data: bytes) -> bytes: ...

    def open(self, owner: Any, place: bytes, sealed: bytes) -> bytes:
        """The bytes. Raises NotSealed, NotOpened, or KeyMissing, which is never damage."""


class RingCipher:
    """AES-256-GCM under the newest key of a ring; opens with any of its keys.

    Each owner (thread or user) has a subkey, so no key comes near the number of random nonces that
    are safe for it. What is sealed begins with a head: key id, fingerprint of the key, checksum of
    both; then nonce and ciphertext.
    """

    def __init__(self, ring: KeyRing) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtra(
                "keys= needs the cryptography library: pip install 'langgraph-wyrd[encryption]'"
            ) from None
        self.ring = ring
        self._aes = AESGCM
        heads = {id: _head(id, ring.key(id)) for id in ring.ids}
        self._ids = {head: id for id, head in heads.items()}
        self._head = heads[ring.newest]
        self._of = lru_cache(4096)(self._subkey)

    def _subkey(self, id: str, owner: Any) -> Any:
        made = blake2b(
            _pack(owner), key=self.ring.key(id), digest_size=32, person=b"wyrd.seal"
        ).digest()
        return self._aes(made)

    def seal(self, owner: Any, place: bytes, data: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        sealed: bytes = self._of(self.ring.newest, owner).encrypt(nonce, data, place)
        return self._head + nonce + sealed

    def open(self, owner: Any, place: bytes, sealed: bytes) -> bytes:
        at = len(self._head)
        if sealed[:at] == self._head:
            id = self.ring.newest
        else:
            id = self.whose(sealed)
            at = len(head_of(sealed))
        try:
            plain: bytes = self._of(id, owner).decrypt(
                sealed[at : at + _NONCE], sealed[at + _NONCE :], place
            )
        except Exception as error:  # InvalidTag, or ValueError where it is too short
            raise NotOpened("it was changed, or does not belong there") from error
        return plain

    def whose(self, sealed: bytes) -> str:
        """The id of the ring's key that opens it; its beginning is enough. Raises as `open`."""
        head = head_of(sealed)
        found = self._ids.get(head)
        if found is None:
            raise missing(head, self.ring.ids)
        return found

    def is_newest(self, sealed: bytes) -> bool:
        return sealed[: len(self._head)] == self._head


class SerdeCipher:
    """Seals through `(name, bytes)` functions: a serde's cipher, or a serde itself.

    Such a cipher knows nothing of places, and may not notice changes, so a digest of the place
    and the data goes inside.
    """

    def __init__(
        self, encrypt: Callable[[bytes], tuple[str, bytes]], decrypt: Callable[[str, bytes], Any]
    ) -> None:
        self._encrypt = encrypt
        self._decrypt = decrypt

    def seal(self, owner: Any, place: bytes, data: bytes) -> bytes:
        name, made = self._encrypt(_digest_of(place, data) + data)
        tag = name.encode()
        return b"".join((_BEGIN, b"\0", bytes((len(tag),)), tag, made))

    def open(self, owner: Any, place: bytes, sealed: bytes) -> bytes:
        if id := id_of(head_of(sealed)):
            raise KeyMissing(f"it is encrypted with the key {id!r}: open it with keys=", key_id=id)
        end = 3 + (sealed[2] if len(sealed) > 2 else 0)
        try:
            plain = self._decrypt(sealed[3:end].decode(), sealed[end:])
        except OSError:  # a key service that can't be reached says nothing of the row
            raise
        except Exception as error:  # whatever a user's cipher raises
            raise NotOpened(f"the serde does not decrypt it ({type(error).__name__})") from error
        data = plain[_DIGEST:] if isinstance(plain, bytes) else b""
        if not isinstance(plain, bytes) or plain[:_DIGEST] != _digest_of(place, data):
            raise NotOpened("it was changed, or does not belong there")
        return data


class Locked:
    """An encrypted store that was opened without its keys: nothing is sealed, nothing opened."""

    def __init__(self, what: str) -> None:
        self._what = what

    def seal(self, owner: Any, place: bytes, data: bytes) -> bytes:
        raise KeyMissing(f"the store is encrypted: open it with {self._what} to write to it")

    def open(self, owner: Any, place: bytes, sealed: bytes) -> bytes:
        raise missing(head_of(sealed), ())


def _digest_of(place: bytes, data: bytes) -> bytes:
    made = blake2b(place, digest_size=_DIGEST)
    made.update(data)
    return made.digest()


def _head(id: str, key: bytes) -> bytes:
    head = id.encode() + blake2b(key=key, digest_size=_PRINT, person=b"wyrd.print").digest()
    return bytes((SEALED, len(id))) + head + xxhash.xxh32_digest(head)


def head_of(sealed: Any) -> bytes:
    """The part of something sealed that says which key it takes.

    Its checksum keeps a damaged head from passing for that of another key.
    """
    if not isinstance(sealed, bytes) or sealed[:1] != _BEGIN:
        raise NotSealed("it is plain, and this store is encrypted")
    length = sealed[1] if len(sealed) > 1 else 255
    if not length:
        return sealed[:2]
    end = 2 + length + _PRINT
    if xxhash.xxh32_digest(sealed[2:end]) != sealed[end : end + _CHECK]:
        raise NotOpened("it was changed")
    return sealed[: end + _CHECK]


def id_of(head: bytes) -> str:
    """The id of the key that a head names; empty for a serde's."""
    return head[2 : 2 + head[1]].decode()


def missing(head: bytes, there: Sequence[str]) -> KeyMissing:
    """The error for a key that was not given."""
    id = id_of(head)
    if not id:
        return KeyMissing("it is encrypted by a serde: open the store with that serde=")
    if not there:
        return KeyMissing(
            f"it is encrypted with the key {id!r}: open the store with keys=", key_id=id
        )
    if id in there:
        what = f"the key {id!r} is another one than the key {id!r} that it was encrypted with"
    else:
        what = f"it is encrypted with the key {id!r}, and the ring has only {', '.join(there)}"
    return KeyMissing(what, key_id=id)


# ---- texts


def as_text(sealed: bytes) -> str:
    """Sealed bytes as text."""
    return f"{TEXT}{base64.b64encode(sealed).decode()}"


def of_text(text: Any) -> bytes:
    """The sealed bytes of such a text, with or without the quotes that make JSON of it."""
    held = text.strip('"') if isinstance(text, str) else ""
    if not held.startswith(TEXT):
        raise NotSealed("it is plain, and this store is encrypted")
    try:
        return base64.b64decode(held[len(TEXT) :], validate=True)
    except ValueError:
        raise NotOpened("it was changed") from None


# ---- rows

HIDDEN = "(sealed)"  # is shown for a text whose key was not given
UNREADABLE = "(can't be read)"  # is shown for a text that is damaged or forged


class _Sealed(NamedTuple):
    """One encrypted column: where it stands in a row, and what it is bound to."""

    name: str
    at: int
    kind: str
    label: bytes
    bound: Callable[[Any], Any]


@lru_cache
def _plan(table: Table) -> dict[str, _Sealed]:
    fields = table.names
    plan = {}
    for column in table.columns:
        if column.name in table.encrypted:
            held = (held for held in table.sums.values() if column.name in held)
            covered = next(held, table.key)
            bound = [fields.index(each) for each in covered if each not in table.encrypted]
            label = f"{table.name}.{column.name}\0".encode()
            at = fields.index(column.name)
            plan[column.name] = _Sealed(column.name, at, column.kind, label, itemgetter(*bound))
    return plan


class Sealer:
    """Seals and opens rows of declared tables with one cipher."""

    def __init__(self, cipher: Cipher, row_cost: int = 0) -> None:
        """`row_cost`: bytes of a delta that cost as much to read as to open one more row."""
        self.cipher = cipher
        self.row_cost = row_cost
        # A thread's title and reason are written at every step, and seldom change.
        self.seal_value = lru_cache(4096)(self._seal_value)

    def seal(self, table: Table, row: R) -> R:
        """The row with its `encrypted` columns sealed; a null stays one. Checksums come after."""
        held: Any = row
        plan, made = _plan(table), {}
        owner = getattr(held, table.key[0])
        for column in plan.values():
            value = held[column.at]
            if value is not None:
                place = column.label + _pack(column.bound(held))
                made[column.name] = self._sealed(column.kind, owner, place, value)
        return held._replace(**made) if made else row

    def open(self, table: Table, row: R) -> R:
        """The row as it was before `seal`."""
        made = {c.name: self._opened(table, c, row) for c in _plan(table).values()}
        return row._replace(**made) if made else row  # type: ignore[attr-defined]

    def opened(self, table: Table, row: Any, column: str) -> Any:
        """One column of a row as it was before `seal`."""
        each = _plan(table).get(column)
        return getattr(row, column) if each is None else self._opened(table, each, row)

    def shown(self, table: Table, row: R) -> R:
        """The row for a listing: what can't be opened is "(sealed)" or "(can't be read)"."""
        made: dict[str, Any] = {}
        for column in _plan(table).values():
            try:
                made[column.name] = self._opened(table, column, row)
            except KeyMissing:
                made[column.name] = HIDDEN if column.kind == "text" else None
            except CheckpointDamaged as error:
                logger.warning("%s, and is shown as %s: verify() tells more", error, UNREADABLE)
                made[column.name] = UNREADABLE if column.kind == "text" else None
        return row._replace(**made)  # type: ignore[attr-defined,no-any-return]

    def is_newest(self, table: Table, row: Any) -> bool:
        """Whether all of a row is sealed under the newest key of a ring. Raises NotSealed."""
        cipher: Any = self.cipher
        return all(
            cipher.is_newest(_raw(column.kind, row[column.at]))
            for column in _plan(table).values()
            if row[column.at] is not None and (row[column.at] != "" or table.sums)
        )

    def _seal_value(self, table: Table, column: str, key: tuple[Any, ...], value: Any) -> Any:
        """A column's value, sealed for the row with this key; an empty text stays empty.

        For statements that set one column of a table without checksums: `seal` gives the same.
        """
        if table.sums:
            raise ValueError(f"{table.name} has checksums: seal and store its rows whole")
        each = _plan(table)[column]
        if value is None or value == "":
            return value
        place = each.label + _pack(key[0] if len(key) == 1 else tuple(key))
        return self._sealed(each.kind, key[0], place, value)

    # ---- parts

    def _sealed(self, kind: str, owner: Any, place: bytes, value: Any) -> Any:
        if kind == "bytes":
            return self.cipher.seal(owner, place, value)
        sealed = as_text(self.cipher.seal(owner, place, value.encode("utf-8", "surrogatepass")))
        return f'"{sealed}"' if kind == "json" else sealed

    def _opened(self, table: Table, column: _Sealed, row: Any) -> Any:
        value = row[column.at]
        if value is None or (value == "" and not table.sums):
            return value
        try:
            place = column.label + _pack(column.bound(row))
            plain = self.cipher.open(getattr(row, table.key[0]), place, _raw(column.kind, value))
            return plain if column.kind == "bytes" else plain.decode("utf-8", "surrogatepass")
        except KeyMissing as error:
            if not error.place:
                key = tuple(getattr(row, name) for name in table.key[1:])
                error.place = f"{table.name} {key}"
                error.args = (f"{error.place}: {error.args[0]}",)
            raise
        except NotOpened as error:
            raise type(error)(f"a row of {table.name} can't be opened: {error}") from error
        except (TypeError, ValueError) as error:  # columns of other types than they had
            raise NotOpened(f"a row of {table.name} can't be opened: {error}") from error


def _raw(kind: str, value: Any) -> Any:
    return value if kind == "bytes" else of_text(value)


# ---- another key

Progress = Callable[[int, int], object]
Steps = Generator[Any, Any, Any]
_ENCRYPTED = [table for table in TABLES.values() if table.encrypted]


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation did. `rows` of `threads` were encrypted anew; `left` were not, as they are
    damaged."""

    threads: int
    rows: int
    left: int = 0

    def __str__(self) -> str:
        left = f"; {self.left} damaged rows stay as they are" if self.left else ""
        return f"{self.rows} rows of {self.threads} threads sealed under the newest key{left}"


def rotation(
    write: Callable[[Callable[[], Script[Any]]], Steps], dialect: str, sealer: Sealer,
    progress: Progress | None, mend: Callable[[Any], Script[Any]] | None,
) -> Steps:  # fmt: skip
    """Rotate keys, a thread at a time; `write` runs a script as a write."""
    rows = left = 0
    threads, others = yield from write(_keys)
    for done, key in enumerate([*threads, *others], 1):
        made, damaged = yield from write(partial(_renewed, dialect, sealer, key, mend))
        rows, left = rows + made, left + damaged
        if progress is not None and done <= len(threads):
            progress(done, len(threads))
    return Rotation(len(threads), rows, left)


def _keys() -> Script[tuple[list[Any], list[Any]]]:
    """The keys of all threads, and others under which there are values of users."""
    alive, users = yield [
        Query("SELECT key FROM wyrd_threads WHERE deleted_at IS NULL ORDER BY key"),
        Query("SELECT DISTINCT thread FROM wyrd_user_data"),
    ]
    threads = [row[0] for row in alive]
    return threads, sorted({row[0] for row in users}.difference(threads))


def _renewed(
    dialect: str, sealer: Sealer, key: Any, mend: Callable[[Any], Script[Any]] | None
) -> Script[tuple[int, int]]:
    """Encrypt the rows of a thread anew: how many were, and how many are damaged."""
    lock = " FOR UPDATE" if dialect == "postgres" else ""
    yield Query(f"SELECT 1 FROM wyrd_threads WHERE key = ?{lock}", (key,))
    if mend is not None:  # a damaged row would stay under the old key
        yield from mend(key)
    count = left = 0
    for table in _ENCRYPTED:
        made = []
        for row in map(table.row._make, (yield Query(f"{with_texts(table)}{lock}", (key,)))):
            try:
                if unsound(table, row):
                    left += 1
                elif not sealer.is_newest(table, row):
                    made.append(summed(table, sealer.open(table, row), sealer))
            except NotOpened:
                left += 1
        if made:
            yield Command(upsert(table), made)
        count += len(made)
    return count, left
