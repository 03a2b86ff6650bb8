"""Damage below the rows of an SQLite file: an error that says what to do, or a heal; never a hang.

`python -m tests.campaigns.pages` draws many more.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors
from tests.campaigns import pages
from tests.steps import aappend, append, config, head_tokens

pytestmark = [pytest.mark.inside, pytest.mark.timeout(300, method="thread")]

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a big thread and a small one."""
    found = tmp_path / "wyrd.db"
    with WyrdSaver.from_conn_string(f"sqlite:///{found}") as saver:
        for number in range(12):
            bulk = {"bytes": b"BIG%02d" % number + os.urandom(30_000), "number": number}
            append(saver, "big", f"{number}", extra={"bulk": bulk})
        for token in "abc":
            append(saver, "small", token)
    return found


def open_(path: Path, **options: Any) -> WyrdSaver:
    return WyrdSaver.from_conn_string(f"sqlite:///{path}", **options)


def root_page(path: Path, name: str) -> int:
    connection = sqlite3.connect(path)
    (page,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
    ).fetchone()
    connection.close()
    return int(page)


def zero(path: Path, page: int) -> None:
    """The nth page of a file, counted from 1."""
    with open(path, "r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


def leaf_of(path: Path, text: bytes) -> int:
    """The page of a table's leaf that holds a text."""
    data = path.read_bytes()
    for start in range(0, len(data), PAGE):
        if data[start] == 13 and text in data[start : start + PAGE]:
            return start // PAGE + 1
    raise AssertionError(f"{text!r} stands in no leaf")


def test_some_damages(tmp_path: Path) -> None:
    """No value is silently wrong, every error names the file, every call ends."""
    counts, wrong = pages.campaign(tmp_path, 20, 9001)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 20
    assert {"found by verify"} <= {outcome for _, outcome in counts}


async def test_a_page_of_one_thread(path: Path, call: Any) -> None:
    """Whose pages are whole goes on, at the same time; the other is refused with what to do."""
    zero(path, leaf_of(path, b"BIG05"))
    with open_(path) as saver:
        with pytest.raises(errors.DatabaseDamaged, match=r"wyrd\.db.*verify.*backup"):
            await call(saver, "get_tuple", config("big"))
        for token in "de":
            results = await asyncio.gather(
                saver.aget_tuple(config("big")), aappend(saver, "small", token),
                saver.aget_tuple(config("small")), return_exceptions=True,
            )  # fmt: skip
            assert isinstance(results[0], errors.DatabaseDamaged)
            assert not [each for each in results[1:] if isinstance(each, BaseException)]
        assert head_tokens(saver, "small") == [*"abcde"]
        report = saver.verify()
        found = [each for each in report.damages if each.table == "the file"]
        assert found
        assert all("backup" in each.remedy for each in found)
        assert not saver.verify(repair=True).ok
        assert head_tokens(saver, "small") == [*"abcde"]


def test_a_page_damaged_while_it_is_open(path: Path) -> None:
    """Found when it is read again; what does not stand on it goes on."""
    with open_(path) as saver:
        assert head_tokens(saver, "small") == [*"abc"]
        leaf = leaf_of(path, b"BIG05")
        zero(path, leaf)
        with open_(path) as other, pytest.raises(errors.DatabaseDamaged):
            other.get_tuple(config("big"))
        append(saver, "small", "d")
        append(saver, "new", "a")
        assert head_tokens(saver, "small") == [*"abcd"]


def test_the_root_of_an_index(path: Path) -> None:
    """Nothing is found by it, and nothing passes for not being there."""
    zero(path, root_page(path, "sqlite_autoindex_wyrd_checkpoints_1"))
    with open_(path) as saver:
        with pytest.raises(errors.DatabaseDamaged):
            saver.get_tuple(config("small"))
        with pytest.raises(errors.DatabaseDamaged):
            append(saver, "small", "d")
        assert not saver.verify().ok


@pytest.mark.parametrize("what", [b"CREATE TABLE wyrd_threads", b"wyrd_checkpoints_root"])
def test_a_schema_that_is_no_text(path: Path, what: bytes) -> None:
    """SQLite's own error can't even be read then: it is told as all damage of pages is."""
    data = bytearray(path.read_bytes())
    data[data.find(what) + 15] |= 0x80
    path.write_bytes(data)
    with open_(path) as saver:
        with pytest.raises(errors.DatabaseDamaged):
            append(saver, "small", "d")
        assert not saver.verify().ok


def test_the_page_of_the_migrations(path: Path) -> None:
    """Nobody needs it to read a thread."""
    zero(path, root_page(path, "wyrd_migrations"))
    with open_(path) as saver:
        assert head_tokens(saver, "small") == [*"abc"]
        append(saver, "small", "d")
        assert not saver.verify().ok


def test_the_tables_are_gone(path: Path) -> None:
    """The schema is empty, and the header still says whose file it is: no new one is begun."""
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(bytes((13, 0, 0, 0, 0, 16, 0, 0)))  # a leaf of no cells
    size = path.stat().st_size
    with open_(path) as saver, pytest.raises(errors.DatabaseDamaged, match="not there"):
        append(saver, "small", "d")
    assert path.stat().st_size == size


def test_empty_beside_its_wal(path: Path, tmp_path: Path) -> None:
    """An empty file beside a WAL was no empty database: SQLite would throw the WAL away."""
    copy = tmp_path / "copy.db"
    with open_(path) as saver:
        append(saver, "small", "d")
        shutil.copy(f"{path}-wal", f"{copy}-wal")
    copy.write_bytes(b"")
    before = Path(f"{copy}-wal").read_bytes()
    with open_(copy) as saver:
        for _ in range(2):
            with pytest.raises(errors.DatabaseDamaged, match=r"copy\.db"):
                saver.get_tuple(config("small"))
    assert Path(f"{copy}-wal").read_bytes() == before


def test_a_header_of_another_program(path: Path) -> None:
    """One bit of `application_id`: refused, and the message says how to put it right."""
    with open(path, "r+b") as file:
        file.seek(68)
        file.write(b"\x00")
    with open_(path) as saver, pytest.raises(errors.ForeignDatabase) as caught:
        saver.get_tuple(config("small"))
    assert "application_id = 1465471556" in str(caught.value)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 1465471556")
    connection.close()
    with open_(path) as saver:
        assert head_tokens(saver, "small") == [*"abc"]


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_file_that_is_cut_short(path: Path, part: float) -> None:
    """Never half a thread: a clear error, by each call; and verify() says it in words."""
    with open(path, "r+b") as file:
        file.truncate(int(path.stat().st_size * part))
    with open_(path) as saver:
        found = said(lambda: saver.get_tuple(config("big")))
        assert found is not None
        assert not isinstance(found, str) or "wyrd.db" in found
        report = said(saver.verify)
        assert "backup" in report if isinstance(report, str) else not report.ok


def said(call: Any) -> Any:
    """What a call gives, or the words that it is refused with."""
    try:
        return call()
    except errors.StoreError as error:
        return str(error)


def test_a_wal_that_is_cut(path: Path, tmp_path: Path) -> None:
    """SQLite takes whole transactions until the cut: an earlier state, and a sound one."""
    with open_(path) as saver:
        for token in "defgh":
            append(saver, "small", token)
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{tmp_path}/copy.db{end}")
    wal = tmp_path / "copy.db-wal"
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size * 2 // 3])
    with open_(tmp_path / "copy.db") as saver:
        assert saver.verify().ok
        held = head_tokens(saver, "small")
        assert held == [*"abcdefgh"][: len(held)]
        assert 3 <= len(held) < 8
        append(saver, "small", "z")
        assert head_tokens(saver, "small") == [*held, "z"]
