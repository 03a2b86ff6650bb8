"""The schema: which versions there are, and what a database must look like before it is used.

Each migration is applied in its own transaction, under a lock, so any number of processes may set
a database up at once. `min_reader` is the oldest schema that a library must know to use this one;
during a rolling deploy the old processes go on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from langgraph_wyrd.errors import ForeignDatabase, SchemaMissing, SchemaTooNew
from langgraph_wyrd.store.sql import TABLE_NAMES, Sql


class Migration(NamedTuple):
    version: int
    name: str
    min_reader: int


MIGRATIONS = (Migration(1, "checkpoints and pillars", 1),)
KNOWN = MIGRATIONS[-1].version
OURS = frozenset(f"wyrd_{name}" for name in TABLE_NAMES) - {"wyrd_migrations"}
LEDGER = "wyrd_migrations"


def refuse_foreign(tables: dict[str, set[str]], where: str) -> None:
    """Raise if tables of our names are not ours. `tables`: their columns, of every wyrd_ table."""
    found = OURS & tables.keys()
    ledger = tables.get(LEDGER)
    if ledger is not None and not {"version", "min_reader"} <= ledger:
        raise ForeignDatabase(
            f"{where} has a table {LEDGER} that is not langgraph-wyrd's; nothing was touched"
        )
    if ledger is None and found:
        raise ForeignDatabase(
            f"{where} has tables of the names {', '.join(sorted(found))} that langgraph-wyrd did "
            "not make; nothing was touched. Use another database or another schema."
        )


def pending(applied: int | None, min_reader: int | None, where: str) -> list[Migration]:
    """What has to be applied still. Raises where the schema is newer than this library reads."""
    if min_reader is not None and min_reader > KNOWN:
        raise SchemaTooNew(
            f"{where} was set up by a newer langgraph-wyrd (schema {applied}, readable from "
            f"{min_reader} on; this release knows {KNOWN}): upgrade langgraph-wyrd"
        )
    return [each for each in MIGRATIONS if applied is None or each.version > applied]


def missing(where: str, why: str) -> SchemaMissing:
    return SchemaMissing(
        f"{where} does not have langgraph-wyrd's tables yet, and {why}: set it up once with a "
        "saver that may write (`saver.setup()`), or apply `WyrdSaver.ddl(...)` by hand"
    )


def ddl(sql: Sql) -> str:
    """Everything that sets up an empty database, for a role that may."""
    parts = []
    for each in MIGRATIONS:
        parts += [f"{statement};" for statement in sql.migration(each.version)]
        parts.append(
            _filled(
                sql["record_migration"],
                (str(each.version), f"'{each.name}'", str(each.min_reader), "CURRENT_TIMESTAMP"),
            )
        )
    return "\n".join(parts) + "\n"


def _filled(text: str, values: tuple[str, ...]) -> str:
    """A statement of ours with our own constants in it, to be read and run by a person."""
    for value in values:
        text = re.sub(r"\?|%s", lambda _, value=value: value, text, count=1)  # type: ignore[misc]
    return f"{text};"
