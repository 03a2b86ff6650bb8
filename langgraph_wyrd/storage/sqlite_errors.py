"""What SQLite refused, in our own errors: translated here and nowhere else."""

from __future__ import annotations

import os

from langgraph_wyrd.errors import (
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFull,
    NotADatabase,
    ReadOnlyDatabase,
    SchemaMissing,
    StoreError,
    WyrdError,
)
from langgraph_wyrd.storage.tables import made_again

_CORRUPT = 11  # SQLite's own code
_ODD = (
    "malformed",
    "corrupt",
    "unsupported file format",
    "unknown database format",
    "can't decode byte",
)  # the last of Python: SQLite names a piece of the schema, no text
_PAGES = 1 << 17  # what SQLite writes in one go, and more
_BESIDE = (
    "This process may not make, or write, the two files (-wal and -shm) that SQLite keeps beside "
    "it: `?mode=ro` behind the path is for reading alone"
)
REMEDY = "Restore the file from a backup, or have sqlite3 `.recover` it into a new one"


def translated(error: Exception, where: str, path: str, timeout: float) -> WyrdError:
    """The error of ours that says what the driver's means."""
    text = str(error)
    if is_damage(error):
        return damaged(where, f"{text}{_cut(path)}")
    if "locked" in text or "busy" in text:
        return DatabaseBusy(
            f"{where} was locked by another process for longer than the timeout of "
            f"{timeout:g} s ({text})"
        )
    if "full" in text or ("disk I/O error" in text and _no_room(path)):
        return DatabaseFull(
            f"{where}: no room left ({text}); this write was not stored. Make room on the disk, "
            "and the same saver goes on"
        )
    if "readonly" in text or "read-only" in text:
        hint = "" if _may_write_beside(path) else f". {_BESIDE}"
        return ReadOnlyDatabase(f"{where} can only be read ({text}){hint}")
    if "not a database" in text:
        return NotADatabase(
            f"{where} can't be opened as an SQLite database ({text}): it is none, or its first "
            f"page is damaged. {REMEDY}"
        )
    if "unable to open" in text:
        why = _why_not(path)
        return NotADatabase(f"{where} can't be opened as an SQLite database ({text}){why}")
    if "no such table: wyrd_" in text:
        remedy = made_again(text) or REMEDY
        return SchemaMissing(f"{where} lost langgraph-wyrd's tables ({text}). {remedy}")
    if "disk I/O error" in text:
        return StoreError(
            f"{where}: the disk failed ({text}). Nothing of this call was stored: look at the disk"
        )
    return StoreError(f"{where}: {text}")


def _why_not(path: str) -> str:
    """Why a file can't be opened, as far as can be seen."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f": there is no folder {folder!r}, make it first"
    if not os.path.exists(path):
        may = os.access(folder, os.W_OK)
        return ": there is no such file" + ("" if may else f", and none may be made in {folder!r}")
    for each in (path, f"{path}-wal", f"{path}-shm"):
        if os.path.exists(each) and not os.access(each, os.R_OK):
            return f": this process may not read {each!r}"
    return "" if _may_write_beside(path) else f": {_BESIDE}"


def _may_write_beside(path: str) -> bool:
    sides = [f"{path}{end}" for end in ("-wal", "-shm") if os.path.exists(f"{path}{end}")]
    return all(
        os.access(each, os.W_OK) for each in sides or [os.path.dirname(os.path.abspath(path))]
    )


def size(path: str) -> int:
    """The bytes of a file; 0 where it is not seen."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _cut(path: str) -> str:
    """Says so where a file ends before its last page."""
    try:
        with open(path, "rb") as file:
            header = file.read(32)
    except OSError:
        return ""
    page, pages = (int.from_bytes(header[a:b], "big") for a, b in ((16, 18), (28, 32)))
    wanted = (65536 if page == 1 else page) * pages
    if len(header) < 32 or not size(path) < wanted or size(f"{path}-wal"):
        return ""
    return (
        f"; the file ends after {size(path)} of {wanted} bytes: it was cut, or never written whole"
    )


def is_damage(error: Exception) -> bool:
    """Whether pages of the file are not what SQLite wrote."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code == _CORRUPT or any(word in str(error) for word in _ODD)


def damaged(where: str, text: str) -> DatabaseDamaged:
    found = DatabaseDamaged(
        f"{where}: pages of the file are damaged, and what they held can't be read ({text}). "
        f"Other threads may be whole: verify() says more. {REMEDY}"
    )
    found.said = text
    return found


def _no_room(path: str) -> bool:
    """Whether the disk is full, or a file as large as this process may make one."""
    try:
        import resource
    except ImportError:  # Windows
        pass
    else:
        most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if most != resource.RLIM_INFINITY and max(map(size, (path, f"{path}-wal"))) + _PAGES > most:
            return True
    try:
        found = os.statvfs(os.path.dirname(os.path.abspath(path)) or ".")
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < 1 << 20
