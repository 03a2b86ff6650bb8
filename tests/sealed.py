"""The ways to encrypt a store, and rows as an encrypted store holds them."""

from __future__ import annotations

import random
from typing import Any

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd import KeyRing
from langgraph_wyrd.storage.access import serde_sealer
from langgraph_wyrd.storage.encryption import RingCipher, Sealer
from langgraph_wyrd.storage.tables import TABLES, Table
from tests.damage import at
from tests.outside import raw

OLD, NEW = b"o" * 32, b"n" * 32


class Own(JsonPlusSerializer):
    """A serde of the user's own that hides what it packs, as far as anybody can tell."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        tag, data = super().dumps_typed(obj)
        return f"{tag}+own", bytes((byte + 90) % 256 for byte in data)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        tag, held = data
        return super().loads_typed((tag[:-4], bytes((byte - 90) % 256 for byte in held)))


def ring(*names: str) -> dict[str, Any]:
    return {"keys": {name: {"old": OLD, "new": NEW}[name] for name in names}}


def aes(key: bytes = b"sixteen bytes ok") -> dict[str, Any]:
    return {"serde": EncryptedSerializer.from_pycryptodome_aes(key=key)}


WAYS = {"ring": ring("old"), "serde": aes(), "own": {"serde": Own()}}


def sealer_of(options: dict[str, Any]) -> Sealer:
    if "keys" in options:
        return Sealer(RingCipher(KeyRing(options["keys"])))
    return serde_sealer(options["serde"])


def whole(saver: Any, thread: str) -> list[Any]:
    """All that can be read of a thread."""
    return [
        (item.config, item.checkpoint, item.metadata, item.pending_writes, item.parent_config)
        for item in saver.list(at(thread))
    ]


def checkpoint_id(n: int) -> str:
    return f"1f0c0000-0000-6000-8000-{n:012}"


def made_up(table: Table, seed: int, text: str = "Zq_cell") -> Any:
    """A row with something in every column."""
    chance = random.Random(seed)
    values: list[Any] = []
    for name, kind, _ in table.columns:
        if name in table.checks:
            values.append(table.checks[name][seed % len(table.checks[name])])
        elif name in table.encrypted:
            plain = f"{text} {name} {chance.random()}"
            values.append({"bytes": plain.encode(), "json": f'"{plain}"'}.get(kind, plain))
        elif kind in ("key", "int", "real", "bool"):
            values.append(chance.randrange(1 << 40) if kind != "bool" else True)
        elif kind == "bytes":
            values.append(b"x%d" % seed)
        elif kind == "time":
            values.append("2026-01-01T00:00:00+00:00")
        else:
            values.append(f"{name}-{chance.randrange(1 << 30)}")
    return table.row._make(values)


ENCRYPTED = [table for table in TABLES.values() if table.encrypted]


def run(url: str, statement: str) -> None:
    with raw(url) as connection:
        connection.execute(statement)
