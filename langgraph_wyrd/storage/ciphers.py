"""What turns bytes into sealed bytes: the key ring, a serde's cipher, a serde itself.

Something sealed is `0xC1`, the length of the key's id, the id, and what the cipher makes. A serde's
key has no id. As text it is `sealed:` and base64.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Protocol

import ormsgpack
import xxhash

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing, MissingExtra
from langgraph_wyrd.storage.keyring import KeyRing
from langgraph_wyrd.storage.rows import SEALED

_BEGIN = bytes((SEALED,))
TEXT = "sealed:"
_PRINT, _CHECK, _NONCE, _DIGEST = 4, 4, 12, 16
_pack = ormsgpack.packb


class NotOpened(CheckpointDamaged):
    """Something sealed was changed, or does not belong where it stands."""


class NotSealed(NotOpened):
    """Something is plain where all is encrypted."""


class Cipher(Protocol):
    """Seals bytes for an owner (the row's first key column) and a place in it."""

    def seal(self, owner: Any, place: bytes, data: bytes) -> bytes: ...

    def open(self, owner: Any, place: bytes, sealed: bytes) -> bytes:
        """The bytes. Raises NotSealed, NotOpened, or KeyMissing, which is never damage."""

    def is_newest(self, sealed: bytes) -> bool:
        """Whether a key rotation may pass it over."""


# ---- ciphers


class RingCipher:
    """AES-256-GCM under the newest key of a ring; opens with any of its keys.

    Each owner (thread or user) has a subkey, so no key comes near the number of random nonces that
    are safe for it. What is sealed begins with a head: key id, fingerprint of the key, checksum of
    both; then nonce and ciphertext.
    """

    def __init__(self, ring: KeyRing) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtra(
                "keys= needs the cryptography library: pip install 'langgraph-wyrd[encryption]'"
            ) from None
        self.ring = ring
        self._aes, self._invalid = AESGCM, InvalidTag
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
        except self._invalid:
            raise NotOpened("it was changed, or does not belong there") from None
        except Exception as error:  # too short
            raise NotOpened(str(error)) from None
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
        self,
        encrypt: Callable[[bytes], tuple[str, bytes]],
        decrypt: Callable[[str, bytes], Any],
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

    def is_newest(self, sealed: bytes) -> bool:
        return True


class Locked:
    """An encrypted store that was opened without its keys: nothing is sealed, nothing opened."""

    def __init__(self, what: str) -> None:
        self._what = what

    def seal(self, owner: Any, place: bytes, data: bytes) -> bytes:
        raise KeyMissing(f"the store is encrypted: open it with {self._what} to write to it")

    def open(self, owner: Any, place: bytes, sealed: bytes) -> bytes:
        raise missing(head_of(sealed), ())

    def is_newest(self, sealed: bytes) -> bool:
        return True


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
