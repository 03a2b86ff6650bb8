"""The SQL of this library, by name: all data access can be read in this folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import resources


@lru_cache
def _read(file: str) -> str:
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


def _queries(file: str) -> dict[str, str]:
    found = {}
    for block in _read(file).split("-- name: ")[1:]:
        name, _, text = block.partition("\n")
        lines = (line.partition("--")[0].strip() for line in text.splitlines())
        found[name.strip()] = " ".join(line for line in lines if line)
    return found


class Sql:
    """The statements of a dialect. `adapt` turns the common form into the driver's."""

    def __init__(self, dialect: str, adapt: Callable[[str], str] = str) -> None:
        self.dialect = dialect
        kinds = ("", "_carry", "_keys", "_users", f"_{dialect}")
        files = [f"queries{kind}.sql" for kind in kinds]
        self._texts = {name: text for file in files for name, text in _queries(file).items()}
        self._adapt = adapt
        self._ready: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        ready = self._ready.get(name)
        if ready is None:
            text = " ".join(self._texts[part] for part in name.split())
            ready = self._ready[name] = self._adapt(text)
        return ready

    def migration(self, number: int) -> list[str]:
        """The statements of a migration, one by one."""
        text = re.sub(r"--[^\n]*", "", _read(f"{number:03}_{self.dialect}.sql"))
        return [self._adapt(part.strip()) for part in text.split(";") if part.strip()]


TABLE_NAMES = (
    "threads",
    "names",
    "checkpoints",
    "splices",
    "writes",
    "events",
    "todos",
    "context",
    "open_loops",
    "intentions",
    "labels",
    "leases",
    "heals",
    "quarantine",
    "keys",
    "user_data",
    "migrations",
)
TABLES = re.compile(rf"\bwyrd_({'|'.join(TABLE_NAMES)})\b(?!_)")
