"""What a connection string names."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import parse_qs

from langgraph_wyrd.errors import BadUrl

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_KEYWORDS = re.compile(
    r"\s*(host|hostaddr|dbname|user|port|password|service|sslmode|options)\s*=", re.ASCII
)
_FORMS = (
    "sqlite:///relative.db, sqlite:////absolute.db, sqlite:// (in memory), a path, "
    "postgresql://user@host/database, or host=… dbname=…"
)


@dataclass(frozen=True)
class Address:
    """`dialect` is sqlite or postgres; `target` a path (":memory:") or a conninfo."""

    dialect: str
    target: str
    mode: str | None = None  # of an SQLite file: "ro", "rw", "rwc"

    @property
    def in_memory(self) -> bool:
        return self.dialect == "sqlite" and self.target == ":memory:"


def parse(url: str | os.PathLike[str]) -> Address:
    """The database that a connection string names."""
    if isinstance(url, os.PathLike):
        return Address("sqlite", os.fspath(url))
    if not isinstance(url, str) or not url.strip():
        raise BadUrl(f"{url!r} names no database; use one of {_FORMS}")
    scheme = _SCHEME.match(url)
    if scheme is None:
        if _KEYWORDS.match(url):
            return Address("postgres", url)
        if url.startswith("file:"):
            return _file(url[len("file:") :], url)
        return Address("sqlite", url)
    name = scheme[1].lower().partition("+")[0]
    if name in ("postgres", "postgresql"):
        return Address("postgres", "postgresql" + url[len(scheme[1]) :])
    if name == "sqlite":
        rest = url[scheme.end() :]
        if rest in ("", "/", "/:memory:"):
            return Address("sqlite", ":memory:")
        if not rest.startswith("/"):
            raise BadUrl(
                f"{url!r}: an SQLite path follows three slashes (sqlite:///{rest}), four if it is "
                "absolute"
            )
        return _file(rest[1:], url)
    raise BadUrl(f"{url!r}: no database of the kind {scheme[1]!r} is known; use one of {_FORMS}")


def replica(url: str, primary: Address) -> Address:
    """The replica that `read_url=` names."""
    found = parse(url)
    if "sqlite" in (found.dialect, primary.dialect):
        raise BadUrl("read_url= names a replica of a Postgres server: SQLite has none")
    return found


def described(address: Address) -> str:
    """An address to be shown: no password, no options."""
    if address.dialect == "sqlite":
        return "SQLite in memory" if address.in_memory else f"SQLite {address.target!r}"
    from psycopg.conninfo import conninfo_to_dict

    try:
        held = conninfo_to_dict(address.target)
    except Exception:  # it is refused when it is used
        return "Postgres"
    parts = [f"{name}={held[name]}" for name in ("host", "dbname") if held.get(name)]
    return " ".join(("Postgres", *parts))


def _file(path: str, url: str) -> Address:
    path, _, query = path.partition("?")
    options = parse_qs(query, keep_blank_values=True)
    mode = options.pop("mode", ["rwc"])[-1]
    if mode == "memory" or path == ":memory:":
        return Address("sqlite", ":memory:")
    if options or mode not in ("ro", "rw", "rwc"):
        known = "?mode=ro, ?mode=rw or ?mode=rwc"
        raise BadUrl(f"{url!r}: behind an SQLite path only {known} is understood")
    return Address("sqlite", path, mode)
