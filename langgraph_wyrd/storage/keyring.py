"""The keys that a saver is given, by their ids."""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
from collections.abc import Mapping
from typing import Any

from langgraph_wyrd.errors import InvalidInput

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
