"""What Postgres refused, in our own errors: translated here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
import psycopg.conninfo
from psycopg.pq import Conninfo

from langgraph_wyrd.errors import (
    BadUrl,
    ConnectionLost,
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFull,
    InvalidInput,
    ReadOnlyDatabase,
    SchemaMissing,
    StatementTimeout,
    StoreError,
    WyrdError,
)
from langgraph_wyrd.storage.tables import made_again

_NOT_LIBPQ_S = {"cursor_factory", "context", "prepare_threshold", "autocommit"}


def check_options(conninfo: str, options: Mapping[str, Any]) -> None:
    """Refuse what can't be connected with, before anything is."""
    told = {name: value for name, value in options.items() if name not in _NOT_LIBPQ_S}
    if unknown := told.keys() - {each.keyword.decode() for each in Conninfo.get_defaults()}:
        raise InvalidInput(f"unknown options for Postgres: {', '.join(sorted(unknown))}")
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo, **told)
    except psycopg.ProgrammingError as error:
        raise BadUrl(f"Postgres can't be reached by this address: {said(error)}") from error


def translated(error: psycopg.Error, where: str, timeout: float) -> WyrdError:
    """The error of ours that says what the driver's means."""
    text = said(error)
    state = error.sqlstate or ""
    if state == "55P03":
        return DatabaseBusy(
            f"{where}: somebody else held a lock for longer than the timeout of "
            f"{timeout:g} s ({text})"
        )
    if state == "57014":
        return StatementTimeout(
            f"{where}: it took longer than the server, or the role, allows ({text}). Nothing of "
            "it was stored: raise its statement_timeout, or ask for less at once"
        )
    if state in ("XX001", "XX002"):
        damaged = DatabaseDamaged(
            f"{where}: pages of it are damaged, and what they held can't be read ({text}). Other "
            "threads may be whole: verify() says more. An index can be made anew with REINDEX; "
            "else restore the database from a backup"
        )
        damaged.of, damaged.said = "the database", text
        damaged.remedy = "restore the database from a backup; REINDEX does for an index"
        return damaged
    if state.startswith("53"):
        what = f"{where}: no room left for this write, which was not stored ({text})"
        if state != "53100":
            return DatabaseBusy(what)
        return DatabaseFull(f"{what}. Make room on the server's disk, and the same saver goes on")
    if state == "25006":
        return ReadOnlyDatabase(f"{where} can only be read ({text})")
    if state in ("42P01", "3F000"):
        remedy = made_again(text)
        what = f"{where} does not have langgraph-wyrd's tables ({text})"
        return SchemaMissing(f"{what}. {remedy}" if remedy else what)
    if state == "42501":
        return StoreError(
            f"{where}: this role may not do that ({text}). Tables can be made by another "
            'role: see WyrdSaver.ddl(), and setup="never"'
        )
    if state == "25P03":
        return ConnectionLost(
            f"{where}: the server ends a transaction that waits for us too soon, twice ({text}): "
            "raise its idle_in_transaction_session_timeout"
        )
    if lost(error):
        return ConnectionLost(f"{where}: the connection was lost, twice ({text})")
    return StoreError(f"{where}: {text}")


def lost(error: psycopg.Error) -> bool:
    """Whether the connection, or the server, went away."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state.startswith("08") or state in ("57P01", "57P02", "57P03", "57P05", "25P03")


def said(error: BaseException) -> str:
    """The server's or the driver's words, on one line; without the statement."""
    words = [str(error)]
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        words = [error.diag.message_primary, error.diag.message_detail or ""]
    return " ".join(" ".join(words).split()) or type(error).__name__
