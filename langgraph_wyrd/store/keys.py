"""A ring of keys, and what they seal: bytes and texts that open under their own key, in their own
place, and nowhere else.

AES-256-GCM, a fresh random nonce each time. Every thread has subkeys of its own, so what is sealed
in one does not open in another, and no key comes near the number of nonces that are safe for it.
What is sealed says which key it takes:

    0xC1, length of the id, id, print of the key (4), check of these (4), nonce (12), ciphertext
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import ormsgpack
import xxhash

from langgraph_wyrd.errors import KeyMissing, MissingExtra
from langgraph_wyrd.storage.keyring import ID, KeyRing

_MAGIC = 0xC1  # begins nothing that msgpack, or a block, begins with
_BEGIN = bytes((_MAGIC,))
_PRINT, _CHECK, _NONCE, _TAG = 4, 4, 12, 16
_63 = (1 << 63) - 1
_SEALED = "sealed:"
_TEXT = re.compile(r"sealed:([A-Za-z0-9._@+-]{1,80}):([A-Za-z0-9+/]*={0,2})", re.ASCII)
SERDE = "(serde)"  # among the ids of keys, none of which has parentheses
HIDDEN = "(sealed)"  # stands for a text whose key is not there
UNREADABLE = "(can't be read)"  # stands for one that is damaged, or was planted


class Found(NamedTuple):
    """What a store says of what it is encrypted with. `known`: proofs by the ids of their keys;
    `begun`: the beginnings of what some checkpoints hold, as any one row may be damaged."""

    known: dict[str, Any]
    begun: list[Any]

    def sealed_with(self) -> set[str]:
        """The ids of keys of a ring."""
        ids = {id for id in self.known if isinstance(id, str) and ID.fullmatch(id)}
        for held in self.begun:
            with suppress(NotOpened):
                ids.add(id_of(head_of(held)))
        return ids


class NotOpened(Exception):
    """It is not sealed, or not for this place, or it was changed."""


class NotSealed(NotOpened):
    """It is plain."""


class _Own(NamedTuple):
    """What one key has for one thread."""

    cipher: Any
    mask: bytes
    head: bytes


class Sealer:
    """Seals and opens with a ring."""

    def __init__(self, ring: KeyRing) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtra(
                "keys= needs the cryptography library: pip install 'langgraph-wyrd[encryption]'"
            ) from None
        self.ring = ring
        self._cipher, self._invalid = AESGCM, InvalidTag
        self._heads = {id: _head(id, ring.key(id)) for id in ring.ids}
        self._id_of = {head: id for id, head in self._heads.items()}
        self._head = self._heads[ring.newest]
        self._text_head = f"{_SEALED}{ring.newest}:"
        self._own = lru_cache(4096)(self._derived)

    def _derived(self, id: str, thread: int) -> _Own:
        master, number = self.ring.key(id), thread.to_bytes(8, "big", signed=True)
        seal = blake2b(number, key=master, digest_size=32, person=b"wyrd.seal").digest()
        mask = blake2b(number, key=master, digest_size=32, person=b"wyrd.mask").digest()
        return _Own(self._cipher(seal), mask, self._heads[id])

    # ---- bytes

    def seal(self, thread: int, place: Sequence[Any], data: bytes) -> tuple[bytes, int, int]:
        """The sealed bytes, and two numbers that mask what is stored beside them."""
        own = self._own(self.ring.newest, thread)
        nonce = os.urandom(_NONCE)
        sealed = own.head + nonce + own.cipher.encrypt(nonce, data, ormsgpack.packb(place))
        return sealed, *_masks(own, nonce)

    def masks(self, thread: int, sealed: bytes) -> tuple[int, int]:
        """The numbers that came with what is sealed; its beginning is enough."""
        own, at = self._find(thread, sealed)
        return _masks(own, sealed[at : at + _NONCE])

    def open(self, thread: int, place: Sequence[Any], sealed: bytes) -> bytes:
        """What was sealed in this place.

        Raises:
            NotSealed: It is plain.
            NotOpened: It was changed, or sealed for another place.
            KeyMissing: Its key is not in the ring.
        """
        own, at = self._find(thread, sealed)
        return self._opened(own, place, sealed, at)

    def _opened(self, own: _Own, place: Sequence[Any], sealed: bytes, at: int) -> bytes:
        nonce, body = sealed[at : at + _NONCE], sealed[at + _NONCE :]
        try:
            plain: bytes = own.cipher.decrypt(nonce, body, ormsgpack.packb(place))
        except self._invalid:
            raise NotOpened("it was changed, or does not belong there") from None
        except Exception as error:  # too short, or a place of other types than it had
            raise NotOpened(str(error)) from None
        return plain

    def _find(self, thread: int, sealed: bytes) -> tuple[_Own, int]:
        """Whose it is, and where its nonce begins."""
        at = len(self._head)
        if sealed[:at] == self._head:
            return self._own(self.ring.newest, thread), at
        head = head_of(sealed)
        return self._own(self._known(head), thread), len(head)

    def _known(self, head: bytes) -> str:
        found = self._id_of.get(head)
        if found is None:
            raise missing(head, self.ring.ids)
        return found

    def whose(self, sealed: bytes) -> str:
        """The id of the key that opens it. Raises as `open` does."""
        return self._known(head_of(sealed))

    def is_newest(self, sealed: bytes | str) -> bool:
        """Whether it is sealed with the newest key (or one of its name)."""
        if isinstance(sealed, str):
            return sealed.startswith(self._text_head)
        return sealed[: len(self._head)] == self._head

    # ---- texts

    def seal_text(self, thread: int, place: Sequence[Any], text: str) -> str:
        sealed, *_ = self.seal(thread, place, text.encode("utf-8", "surrogatepass"))
        return self.as_text(sealed)

    def seal_text_masked(
        self, thread: int, place: Sequence[Any], text: str
    ) -> tuple[str, int, int]:
        sealed, *masks = self.seal(thread, place, text.encode("utf-8", "surrogatepass"))
        return self.as_text(sealed), masks[0], masks[1]

    def as_text(self, sealed: bytes) -> str:
        at = 2 + sealed[1]
        return f"{_SEALED}{sealed[2:at].decode()}:{base64.b64encode(sealed[at:]).decode()}"

    def open_text(self, thread: int, place: Sequence[Any], text: str) -> str:
        return self.open(thread, place, of_text(text)).decode("utf-8", "surrogatepass")


def _head(id: str, key: bytes) -> bytes:
    own = blake2b(key=key, digest_size=_PRINT, person=b"wyrd.print").digest()
    told = id.encode() + own
    return bytes((_MAGIC, len(id))) + told + xxhash.xxh32_digest(told)


def _masks(own: _Own, nonce: bytes) -> tuple[int, int]:
    made = blake2b(nonce, key=own.mask, digest_size=16).digest()
    return int.from_bytes(made[:8], "big") & _63, int.from_bytes(made[8:], "big") & _63


def head_of(sealed: bytes) -> bytes:
    """The part of something sealed that says which key it takes.

    A damaged one is told from that of a key that is not there by its check.
    """
    if not isinstance(sealed, bytes) or sealed[:1] != _BEGIN:
        raise NotSealed("it is not sealed")
    end = 2 + (sealed[1] if len(sealed) > 1 else 0) + _PRINT
    if xxhash.xxh32_digest(sealed[2:end]) != sealed[end : end + _CHECK]:
        raise NotOpened("it was changed")
    return sealed[: end + _CHECK]


def id_of(head: bytes) -> str:
    return head[2 : 2 + head[1]].decode()


def of_text(text: str) -> bytes:
    """The sealed bytes of a sealed text."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise NotSealed("it is not sealed")
    try:
        id = found[1].encode()
        return bytes((_MAGIC, len(id))) + id + base64.b64decode(found[2], validate=True)
    except binascii.Error:
        raise NotOpened("it was changed") from None


def is_sealed_text(text: str) -> bool:
    """Whether a text looks like one that is sealed, by a ring or by a serde."""
    return text.startswith(_SEALED) and _TEXT.fullmatch(text) is not None


def missing(head: bytes, there: Sequence[str]) -> KeyMissing:
    id = id_of(head)
    if not there:
        return KeyMissing(f"it is sealed with the key {id!r}: open the store with keys=", key_id=id)
    if id in there:
        what = f"the key {id!r} is another one than the key {id!r} that it was sealed with"
    else:
        what = f"it is sealed with the key {id!r}, and the ring has only {', '.join(there)}"
    return KeyMissing(what, key_id=id)
