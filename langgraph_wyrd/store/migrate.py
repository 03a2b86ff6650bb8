"""The schema: which versions there are, and what a database must look like before it is used.

Each migration is applied in its own transaction, under a lock, so any number of processes may set
a database up at once. `min_reader` is the oldest schema that a library must know to use this one;
during a rolling deploy the old processes go on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from langgraph_wyrd.errors import ForeignDatabase, SchemaMissing, SchemaTooNew
from langgraph_wyrd.store.sql import TABLE_NAMES, Sql

logger = logging.getLogger("langgraph_wyrd")


class Migration(NamedTuple):
    version: int
    name: str
    min_reader: int


MIGRATIONS = (Migration(1, "checkpoints and pillars", 1),)
KNOWN = MIGRATIONS[-1].version
OURS = frozenset(f"wyrd_{name}" for name in TABLE_NAMES) - {"wyrd_migrations"}
LEDGER = "wyrd_migrations"
NEVER = 'none are made here (setup="never")'


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


def pending(
    rows: Sequence[tuple[Any, ...]], tables: Collection[str], where: str
) -> list[Migration]:
    """What has to be applied still. Raises where the schema is newer than this library reads.

    Args:
        rows: The ledger: version, name and oldest reader of each migration.
        tables: Those of our tables that are there.
        where: The database, in words.
    """
    if lost := unlike(rows):
        if not rows and not tables:
            return list(MIGRATIONS)
        logger.warning(
            "%s: %s is damaged (%s); its tables tell what was applied, verify(repair=True) puts it "
            "right", where, LEDGER, "; ".join(lost),
        )  # fmt: skip
        if tables:
            rows = [*MIGRATIONS, *(row for row in rows if is_newer(row))]
    applied = max((row[0] for row in rows), default=0)
    reader = max((row[2] for row in rows), default=0)
    if reader > KNOWN:
        raise SchemaTooNew(
            f"{where} was set up by a newer langgraph-wyrd (schema {applied}, readable from "
            f"{reader} on; this release knows {KNOWN}): upgrade langgraph-wyrd"
        )
    return [each for each in MIGRATIONS if each.version > applied]


def unlike(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """What is wrong with a ledger, in words: a migration of ours that is not told of as it is.

    A first migration that is not applied yet is no damage, one that others follow is.
    """
    told = [tuple(row[:3]) for row in rows]
    last = max((row[0] for row in told if type(row[0]) is int), default=0)
    wanted = [tuple(each) for each in MIGRATIONS if each.version <= max(last, 1)]
    lost = [f"version {each[0]} is not told of" for each in wanted if each not in told]
    odd = [row for row in told if row not in wanted and not is_newer(row)]
    return [*lost, *(f"{row} was never written" for row in odd)]


def is_newer(row: Sequence[Any]) -> bool:
    """Whether a row of the ledger may be of a newer release."""
    version, name, reader = row[:3]
    if type(version) is not int or type(reader) is not int:
        return False
    ours = {each.name for each in MIGRATIONS}
    return version > KNOWN and 0 < reader <= version and bool(name) and name not in ours


def missing(where: str, why: str, *, theirs: bool) -> SchemaMissing:
    """`theirs`: it has a table of LangGraph's own savers."""
    if theirs:
        return SchemaMissing(
            f"{where} seems to be of LangGraph's own saver, and has none of langgraph-wyrd's "
            "tables: `langgraph-wyrd adopt` takes its threads over"
        )
    return SchemaMissing(
        f"{where} does not have langgraph-wyrd's tables yet, and {why}. If it is the right one, "
        "set it up once with a saver that may write (`saver.setup()`), or apply "
        "`WyrdSaver.ddl(...)` by hand"
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
