"""Which database a connection string names, and what drives it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.store import migrate, url
from langgraph_wyrd.store.core import Core
from langgraph_wyrd.store.door import Door
from langgraph_wyrd.store.roles import Driver
from langgraph_wyrd.store.sql import Sql
from langgraph_wyrd.store.sqlite import SqliteDriver
from langgraph_wyrd.store.url import Address
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from langgraph_wyrd.state.labels import AutoLabels
    from langgraph_wyrd.storage.keyring import KeyRing


Dialect = Literal["postgres", "sqlite"]


class Ready:
    """What `setup` gives: nothing. It may be awaited, as the official async savers' `setup` is."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def __repr__(self) -> str:
        return "ready"


READY = Ready()


def refuse_connection(core: object) -> None:
    """Say how a saver is made to whoever makes an official one of a connection or a pool."""
    if not isinstance(core, Core):
        raise InvalidInput(
            f"a WyrdSaver is not made of a {type(core).__name__}: it opens its connections itself. "
            'Use WyrdSaver.from_conn_string("sqlite:///agents.db") or ("postgresql://…"); connect= '
            "takes a callable that makes connections"
        )


def watched(labels: AutoLabels | None, pillars: bool) -> AutoLabels | None:
    """What is labelled by itself, if anything is."""
    if labels is None:
        return None
    from langgraph_wyrd.state.labels import AutoLabels

    if not isinstance(labels, AutoLabels):
        raise InvalidInput(f"labels={labels!r}: use an AutoLabels, as AutoLabels(run_end=True)")
    if not labels.any:
        return None
    if not pillars:
        raise InvalidInput("labels= needs the pillars, which say where the boundaries are")
    return labels


def driver(
    conn_string: str | os.PathLike[str],
    keys: KeyRing | Mapping[str, bytes] | None,
    serde: SerializerProtocol | None,
    schema: str | None,
    options: dict[str, Any],
) -> Callable[[], Driver]:
    """What makes the database's driver. Options that can't be used are refused here, not on first
    use."""
    address = url.parse(conn_string)
    made: Callable[[], Driver]
    if address.dialect == "postgres":
        from langgraph_wyrd.store.postgres import PostgresDriver

        made = partial(PostgresDriver, address, schema=schema, **options)
    else:
        if schema is not None:
            raise InvalidInput("schema= is for Postgres: SQLite has none")
        made = partial(SqliteDriver, _lasting(address), **options)
    texts = None
    if isinstance(serde, EncryptedSerializer):
        if keys is not None:
            raise InvalidInput("keys= encrypts everything already: leave EncryptedSerializer out")
        texts = Codec(serde)
    door = partial(Door, made, _ring(keys), texts)
    door()
    setattr(door, "where", url.described(address))  # noqa: B010
    return door


def _lasting(address: Address) -> Address:
    """The same file wherever the process, or a child of it, goes from here."""
    if address.in_memory:
        return address
    with suppress(OSError):  # there is no folder to start from
        return replace(address, target=os.path.abspath(address.target))
    return address


def _ring(keys: KeyRing | Mapping[str, bytes] | None) -> KeyRing | None:
    if keys is None:
        return None
    from langgraph_wyrd.storage.keyring import KeyRing

    return keys if isinstance(keys, KeyRing) else KeyRing(keys)


def ddl(dialect: str, schema: str | None) -> str:
    """The statements that set up an empty database."""
    if dialect == "sqlite":
        return migrate.ddl(Sql("sqlite"))
    if dialect != "postgres":
        raise InvalidInput(f'dialect {dialect!r}: use "postgres" or "sqlite"')
    from langgraph_wyrd.store.postgres import sql_for

    return migrate.ddl(sql_for(schema))
