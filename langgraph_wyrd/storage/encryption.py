"""Encrypts the columns that a table declares as `encrypted`, and opens them again.

One `Sealer` walks the declarations, with a cipher of `storage.ciphers`. What is sealed opens in its
own place only: its table and column, the row's key and the row's other plain columns under the same
checksum. So a row that was moved, exchanged or forged does not open. Checksums cover rows as they
are stored, so rows can be verified and repaired without keys.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import ormsgpack

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing
from langgraph_wyrd.storage.ciphers import Cipher, NotOpened, as_text, of_text
from langgraph_wyrd.storage.tables import Table

logger = logging.getLogger("langgraph_wyrd")

R = TypeVar("R")

HIDDEN = "(sealed)"  # is shown for a text whose key was not given
UNREADABLE = "(can't be read)"  # is shown for a text that is damaged or forged
_pack = ormsgpack.packb


class _Sealed(NamedTuple):
    """One encrypted column: where it stands in a row, and what it is bound to."""

    name: str
    at: int
    kind: str
    label: bytes
    bound: Callable[[Any], Any]


@lru_cache
def _plan(table: Table) -> list[_Sealed]:
    fields = table.names
    plan = []
    for column in table.columns:
        if column.name in table.encrypted:
            held = (held for held in table.sums.values() if column.name in held)
            covered = next(held, table.key)
            bound = [fields.index(each) for each in covered if each not in table.encrypted]
            label = f"{table.name}.{column.name}\0".encode()
            at = fields.index(column.name)
            plan.append(_Sealed(column.name, at, column.kind, label, itemgetter(*bound)))
    return plan


@lru_cache
def _owner(table: Table) -> int:
    """Where in a row its first key column stands: what the row's subkey is made for."""
    return table.names.index(table.key[0])


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
        owner = held[_owner(table)]
        for column in plan:
            value = held[column.at]
            if value is not None:
                place = column.label + _pack(column.bound(held))
                made[column.name] = self._sealed(column.kind, owner, place, value)
        return held._replace(**made) if made else row

    def open(self, table: Table, row: R) -> R:
        """The row as it was before `seal`."""
        made = {c.name: self._opened(table, c, row) for c in _plan(table)}
        return row._replace(**made) if made else row  # type: ignore[attr-defined]

    def opened(self, table: Table, row: Any, column: str) -> Any:
        """One column of a row as it was before `seal`."""
        for each in _plan(table):
            if each.name == column:
                return self._opened(table, each, row)
        return getattr(row, column)

    def shown(self, table: Table, row: R) -> R:
        """The row for a listing: what can't be opened is "(sealed)" or "(can't be read)"."""
        made: dict[str, Any] = {}
        for column in _plan(table):
            try:
                made[column.name] = self._opened(table, column, row)
            except KeyMissing:
                made[column.name] = HIDDEN if column.kind == "text" else None
            except CheckpointDamaged as error:
                logger.warning("%s, and is shown as %s: verify() tells more", error, UNREADABLE)
                made[column.name] = UNREADABLE if column.kind == "text" else None
        return row._replace(**made)  # type: ignore[attr-defined,no-any-return]

    def is_newest(self, table: Table, row: Any) -> bool:
        """Whether all of a row is sealed under the newest key. Raises NotSealed."""
        return all(
            self.cipher.is_newest(_raw(column.kind, row[column.at]))
            for column in _plan(table)
            if row[column.at] is not None and (row[column.at] != "" or table.sums)
        )

    def _seal_value(self, table: Table, column: str, key: tuple[Any, ...], value: Any) -> Any:
        """A column's value, sealed for the row with this key; an empty text stays empty.

        For statements that set one column of a table without checksums: `seal` gives the same.
        """
        if table.sums:
            raise ValueError(f"{table.name} has checksums: seal and store its rows whole")
        each = next(each for each in _plan(table) if each.name == column)
        if value is None or value == "":
            return value
        place = each.label + _pack(key[0] if len(key) == 1 else tuple(key))
        return self._sealed(each.kind, key[0], place, value)

    # ---- parts

    def _sealed(self, kind: str, owner: Any, place: bytes, value: Any) -> Any:
        data = value if kind == "bytes" else value.encode("utf-8", "surrogatepass")
        return _stored(kind, self.cipher.seal(owner, place, data))

    def _opened(self, table: Table, column: _Sealed, row: Any) -> Any:
        value = row[column.at]
        if value is None or (value == "" and not table.sums):
            return value
        try:
            place = column.label + _pack(column.bound(row))
            plain = self.cipher.open(row[_owner(table)], place, _raw(column.kind, value))
            return plain if column.kind == "bytes" else plain.decode("utf-8", "surrogatepass")
        except KeyMissing as error:
            if not error.place:
                key = [getattr(row, name) for name in table.key[1:]]
                error.place = f"{table.name} {tuple(key)}"
                error.owner = row[_owner(table)]
            raise
        except NotOpened as error:
            raise type(error)(f"a row of {table.name} can't be opened: {error}") from error
        except (TypeError, ValueError) as error:  # columns of other types than they had
            raise NotOpened(f"a row of {table.name} can't be opened: {error}") from error


def _stored(kind: str, sealed: bytes) -> Any:
    if kind == "bytes":
        return sealed
    return f'"{as_text(sealed)}"' if kind == "json" else as_text(sealed)


def _raw(kind: str, value: Any) -> Any:
    return value if kind == "bytes" else of_text(value)
