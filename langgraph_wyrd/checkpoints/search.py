"""Full-text search over messages: which threads say something.

A put writes nothing for it. A search first brings the index up to date for the threads that were
written to since: it reads the checkpoints that are new in them (`wyrd_search` has one row for each
text, and one without text that says up to which version its thread was read). Whatever deletes or
replaces a checkpoint deletes its thread's rows: the next search reads the thread again.

Both databases are given words, not prose: folded, without accents and punctuation, and every
character of a script that is written without spaces is a word. So both find the same. Postgres
looks them up through a GIN index, SQLite through an FTS5 table that holds no text of its own and is
made with the first search. FTS5 keeps the words of a deleted row until it merges, so a trigger
empties it where a row goes; the next search fills it again from `wyrd_search`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import read
from langgraph_wyrd.checkpoints.restore import metadata_of
from langgraph_wyrd.codec.payload import Delta, unpack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import ReadOnlyDatabase
from langgraph_wyrd.extraction import messages
from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.storage.rows import delete, fetch, insert, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    SEARCH,
    WRITES,
    CheckpointRow,
    Key,
    SearchRow,
    WriteRow,
)

AT_ONCE = 20  # threads in one transaction: others write between two
_FILLED = 5000  # rows that SQLite's table of words takes over in one transaction
_WORDS = 10_000  # in one row: Postgres counts places up to 16,383
_LONGEST = 64  # characters of a word that are kept
_DEEPEST = 6  # levels of a tool call's arguments
_MARK = ""  # the id of the row that says how far a thread was read

# ---- words

# Thai, Lao, Burmese, Khmer, Kana, Han: no spaces between words.
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = late(f"[{_SPACELESS}]|[^\\W_{_SPACELESS}]+")
_ASCII = re.compile("[a-z0-9]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_ASKED = re.compile(r'"([^"]*)"|(\S+)')


def words(text: str) -> list[str]:
    """The words of a text, as they are stored and looked for."""
    if text.isascii():
        found = _ASCII.findall(text.lower())
    else:
        text = unicodedata.normalize("NFKC", text).casefold()
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
        found = [word for word in _TOKEN.findall(text) if "\0" not in word]
    return [word[:_LONGEST] for word in found]


class Wanted(NamedTuple):
    """Words that stand side by side; not `whole`: the last one may go on."""

    words: Sequence[str]
    whole: bool


def wanted(text: str) -> list[Wanted]:
    """What a person looks for: all of it has to be in one message."""
    made = [Wanted(words(quoted or bare), not bare) for quoted, bare in _ASKED.findall(text)]
    return [each for each in made if each.words]


def _says(text: str, asked: Sequence[Wanted]) -> bool:
    held = f" {text} "
    return all(f" {' '.join(each.words)}{' ' * each.whole}" in held for each in asked)


def _match(asked: Sequence[Wanted]) -> str:
    """The same as FTS5 asks for it."""
    return " ".join(f'"{" ".join(each.words)}"{"" if each.whole else "*"}' for each in asked)


def _tsquery(asked: Sequence[Wanted]) -> str:
    """The same as Postgres asks for it."""
    made = []
    for each in asked:
        quoted = [f"'{word}'" for word in each.words]
        quoted[-1] += "" if each.whole else ":*"
        made.append(f"({' <-> '.join(quoted)})")
    return " & ".join(made)


# ---- what is said


def _said(message: messages.Message) -> Iterator[str]:
    yield message.text
    for call in message.calls:
        yield call.name
        yield from _strings(call.args, _DEEPEST)
    for result in message.results:
        if message.role != "tool" or not message.text:
            yield result.text


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each, depth - 1)
    elif type(value) in (int, float):
        yield str(value)


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """The words of each message among some values."""
    for value in values:
        message = messages.read(value)
        if message is not None:
            held = words("\n".join(_said(message)))
            for start in range(0, len(held), _WORDS):
                yield " ".join(held[start : start + _WORDS])


def _of_change(codec: Codec, change: Any) -> Iterator[Any]:
    """The messages that one channel's change brings."""
    kind = change[0]
    if kind == "l":
        yield from codec.load_parts(change[2])
    elif kind == "s":
        for _, _, parts in change[2]:
            yield from codec.load_parts(parts)
    elif kind in "wdp":
        if kind == "w":
            held = codec.load(change[2], change[3])
        else:
            held = codec.load_entries(change[-1], change[-2])
        if isinstance(held, dict):  # a functional graph's, or an input that was not read yet
            held = held.get("messages")
        yield from messages.listed(held) or messages.written(held)


def _of_row(codec: Codec, delta: Delta, wrote: Iterable[WriteRow]) -> Iterator[str]:
    """What is said in a checkpoint and was not in the one that it builds on."""
    for change in delta.changes.values():
        with suppress(Exception):  # a value that can't be read says nothing
            yield from _texts(_of_change(codec, change))
    for each in wrote:
        with suppress(Exception):
            for written in read.in_call(codec, each):
                if written.channel not in delta.changes and written.form not in "un":
                    value = messages.written(codec.load_written(written.form, written.data))
                    yield from _texts(("human", v) if isinstance(v, str) else v for v in value)


def _has_delta_channels(codec: Codec, row: CheckpointRow, delta: Delta) -> bool:
    """Whether there are channels whose values are not in the checkpoint, but in what tasks wrote
    at its parent."""
    with suppress(Exception):
        return bool(metadata_of(codec, row, delta.metadata).get("counters_since_delta_snapshot"))
    return False


# ---- the index

_STALE = (
    "SELECT t.key FROM wyrd_threads t WHERE t.deleted_at IS NULL AND t.head IS NOT NULL AND NOT "
    "EXISTS (SELECT 1 FROM wyrd_search s WHERE s.thread = t.key AND s.id = '' "
    "AND s.seq = t.version) ORDER BY t.key"
)
_READ = "SELECT thread, seq FROM wyrd_search WHERE id = '' AND thread IN ({})"
_ADD = f"{insert(SEARCH)} ON CONFLICT (thread, id) DO NOTHING"
_MARKED = (
    f"{insert(SEARCH)} ON CONFLICT (thread, id) DO UPDATE SET seq = excluded.seq, "
    "sum = excluded.sum"
)
_MAKE = (
    "CREATE VIRTUAL TABLE wyrd_words USING fts5(text, content='', "
    "tokenize='unicode61 remove_diacritics 0')",
    "CREATE TRIGGER wyrd_search_gone AFTER DELETE ON wyrd_search WHEN old.id <> '' AND "
    "EXISTS (SELECT 1 FROM wyrd_words_docsize) BEGIN "
    "INSERT INTO wyrd_words(wyrd_words) VALUES ('delete-all'); END",
)
_CAN_MAKE = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
_IS_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'wyrd_words'"
_END = "SELECT coalesce(max(id), 0) FROM wyrd_words_docsize"
_BEHIND = "FROM wyrd_search WHERE row > ? AND id <> ''"
_FILL = (
    f"INSERT INTO wyrd_words(rowid, text) SELECT row, text {_BEHIND} ORDER BY row LIMIT {_FILLED}"
)


def stale() -> Script[list[Key]]:
    """The threads that were written to since they were read for the index."""
    return [row[0] for row in (yield Query(_STALE))]


def forget(key: Key) -> Command:
    """Take a thread out of the index: its checkpoints are others now."""
    return Command(delete(SEARCH, "thread"), [(key,)])


def indexed(dialect: str, codec: Codec, keys: Sequence[Key]) -> Script[None]:
    """Bring the index up to date for some threads, whose rows are locked meanwhile."""
    lock, marks = " FOR UPDATE" if dialect == "postgres" else "", ", ".join("?" * len(keys))
    versions = yield Query(
        f"SELECT key, version FROM wyrd_threads WHERE key IN ({marks}) AND deleted_at IS NULL "
        f"ORDER BY key{lock}", keys,
    )  # fmt: skip
    known: dict[Key, int] = dict((yield Query(_READ.format(marks), keys)))
    rows, ends = [], []
    for key, version in versions:
        for text in (yield from _new(codec, key, known.get(key, -1))):
            id = blake2b(text.encode(), digest_size=12).hexdigest()
            rows.append(summed(SEARCH, SearchRow(key, id, 0, 0, text)))
        ends.append(summed(SEARCH, SearchRow(key, _MARK, version, 0, "")))
    if rows:
        yield Command(_ADD, rows)
    if ends:
        yield Command(_MARKED, ends)


def _new(codec: Codec, key: Key, after: int) -> Script[set[str]]:
    """What is said in a thread's checkpoints behind a version."""
    texts: set[str] = set()
    for row in (yield from fetch(CHECKPOINTS, "AND seq > ?", after, thread=key)):
        if "sum" not in unsound(CHECKPOINTS, row):
            delta, wrote = unpack_delta(row.delta), []
            if row.parent is not None and _has_delta_channels(codec, row, delta):
                wrote = yield from fetch(WRITES, thread=key, ns=row.ns, checkpoint=row.parent)
            texts.update(_of_row(codec, delta, wrote))
    return texts


def filled(dialect: str) -> Script[bool]:
    """Bring SQLite's table of words up to date; whether more is to be done.

    Raises ReadOnlyDatabase where this SQLite can't have one.
    """
    if dialect == "postgres":
        return False
    if not (yield Query(_IS_MADE)):
        if not (yield Query(_CAN_MAKE)):
            raise ReadOnlyDatabase("this SQLite was built without FTS5")
        yield [Command(each) for each in _MAKE]
    ((end,),) = yield Query(_END)
    yield Command(_FILL, [(end,)])
    return (yield from behind(dialect))


# ---- asking


def behind(dialect: str) -> Script[bool]:
    """Whether SQLite's table of words lacks some that were read."""
    if dialect == "postgres":
        return False
    end = (yield Query(_END))[0][0] if (yield Query(_IS_MADE)) else 0
    return bool((yield Query(f"SELECT 1 {_BEHIND} LIMIT 1", (end,))))


def said(dialect: str, text: str) -> Script[set[Key]]:
    """The threads with a message that says it, as far as they were read."""
    asked = wanted(text)
    if not asked:
        return set()
    if dialect == "postgres":
        rows = yield Query(
            "SELECT DISTINCT thread FROM wyrd_search WHERE to_tsvector('simple', text) @@ "
            "to_tsquery('simple', ?)", (_tsquery(asked),),
        )  # fmt: skip
        return {row[0] for row in rows}
    found, end = set[Key](), 0
    if (yield Query(_IS_MADE)):
        ((end,),) = yield Query(_END)
        rows = yield Query(
            "SELECT DISTINCT thread FROM wyrd_search WHERE row IN "
            "(SELECT rowid FROM wyrd_words WHERE wyrd_words MATCH ?)", (_match(asked),),
        )  # fmt: skip
        found = {row[0] for row in rows}
    rows = yield Query(f"SELECT thread, text {_BEHIND}", (end,))
    return found | {key for key, held in rows if _says(held, asked)}


def read_through(codec: Codec, text: str, keys: Sequence[Key]) -> Script[set[Key]]:
    """The same for threads that were not read, where the index can't be written."""
    asked, found = wanted(text), set[Key]()
    for key in keys if asked else ():
        if any(_says(each, asked) for each in (yield from _new(codec, key, -1))):
            found.add(key)
    return found
