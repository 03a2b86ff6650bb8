"""What this machine is, and what a write to its disk costs: without it a ratio says little."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "langchain-core",
    "aiosqlite",
    "psycopg",
)


def fsync_cost(folder: Path, sync: Callable[[int], None] = os.fsync, times: int = 200) -> float:
    """Median milliseconds of a 4 KB append made durable."""
    with tempfile.TemporaryFile(dir=folder) as file:
        took = []
        for _ in range(times):
            os.write(file.fileno(), b"\xa5" * 4096)
            start = time.perf_counter()
            sync(file.fileno())
            took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def describe(folder: Path) -> dict[str, Any]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    return {
        "fsync_ms": fsync_cost(folder),
        "fdatasync_ms": fsync_cost(folder, getattr(os, "fdatasync", os.fsync)),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": f"{sqlite3.sqlite_version} (synchronous {_synchronous(folder)})",
        "packages": versions,
    }


def _synchronous(folder: Path) -> str:
    """What every connection to a file gets here unless it asks for something else."""
    with closing(sqlite3.connect(folder / "probe.db")) as db:
        level = db.execute("PRAGMA synchronous").fetchone()[0]
    return {0: "off", 1: "normal", 2: "full", 3: "extra"}[level]


def words(machine: dict[str, Any]) -> str:
    lines = [
        f"One fsync of 4 KB costs {machine['fsync_ms']:.3f} ms here "
        f"(fdatasync {machine['fdatasync_ms']:.3f} ms).",
        f"{machine['cores']} cores (load {machine['load']} at the start), {machine['system']}, "
        f"Python {machine['python']}, "
        f"SQLite {machine['sqlite']}"
        + (f", {machine['postgres']}" if "postgres" in machine else "")
        + ".",
        ", ".join(f"{name} {number}" for name, number in machine["packages"].items()) + ".",
    ]
    return "\n".join(lines)
