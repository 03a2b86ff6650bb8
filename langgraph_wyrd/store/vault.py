"""A database whose values a key ring seals: what is read is opened, what is written is sealed.

Without keys ids, statuses and counts can still be looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from langgraph_wyrd.errors import KeyMissing, PlainStore, ReadOnlyDatabase, WyrdError
from langgraph_wyrd.storage.keyring import KeyRing
from langgraph_wyrd.store import keys, proofs
from langgraph_wyrd.store.keys import HIDDEN, Found, NotOpened, NotSealed, Sealer
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.sealed_rows import INSTEAD, OPEN, PLAIN, SEAL
from langgraph_wyrd.store.sealed_tables import AFTER, COPIED, TABLES, ends
from langgraph_wyrd.store.sealed_texts import Keys, Place
from langgraph_wyrd.store.statements import Ask, Plan, Row, Statement, Tell, WriteSet

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")

_PROOF = ("langgraph-wyrd",)  # the place of a key's proof
_SPECIAL = frozenset((*COPIED, "reseal", "begin_sealing", "proofs"))
_PAGE = 100  # rows that are sealed anew, or copied, in one go


@dataclass(frozen=True, slots=True)
class Resealed:
    """What became of a page of rows. `after`: where the next one begins; None: it was the last."""

    rows: int = 0
    left: int = 0  # that could not be opened, and stay as they are
    after: Row | None = None


class Ring(Sealer):
    """A ring as rows are sealed with it."""

    def masks_of_text(self, thread: int, text: str) -> tuple[int, int]:
        return self.masks(thread, keys.of_text(text))

    def shown(self, text: str) -> str | None:
        return None


class NoKeys:
    """What is sealed stays so."""

    def seal(self, thread: int, place: Place, data: bytes) -> tuple[bytes, int, int]:
        raise KeyMissing("the store is encrypted: open it with keys= to write to it")

    def seal_text(self, thread: int, place: Place, text: str) -> str:
        raise KeyMissing("the store is encrypted: open it with keys= to write to it")

    def seal_text_masked(self, thread: int, place: Place, text: str) -> tuple[str, int, int]:
        raise KeyMissing("the store is encrypted: open it with keys= to write to it")

    def masks(self, thread: int, sealed: bytes) -> tuple[int, int]:
        raise keys.missing(keys.head_of(sealed), ())

    def open(self, thread: int, place: Place, sealed: bytes) -> bytes:
        raise keys.missing(keys.head_of(sealed), ())

    def masks_of_text(self, thread: int, text: str) -> tuple[int, int]:
        return self.masks(thread, keys.of_text(text))

    def open_text(self, thread: int, place: Place, text: str) -> str:
        raise keys.missing(keys.head_of(keys.of_text(text)), ())

    def shown(self, text: str) -> str | None:
        return HIDDEN


class Room(Protocol):
    """What of a `store.running.Driver` deals with rows."""

    async def read(self, plan: Callable[[], Plan[T]]) -> T: ...
    async def read_all(self, plans: list[Callable[[], Plan[Any]]]) -> list[Any]: ...
    async def write(self, plan: Callable[[], Plan[T]]) -> T: ...
    async def merge(self, sets: list[WriteSet]) -> set[int]: ...


class Unwritable:
    """A store that an encrypting serde wrote, without that serde: threads can be deleted."""

    def __init__(self, inner: Room) -> None:
        self._inner = inner
        self.read = inner.read
        self.read_all = inner.read_all

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._inner.write(lambda: proofs.without_values(plan(), SEAL.keys()))

    async def merge(self, sets: list[WriteSet]) -> set[int]:
        raise proofs.no_serde()


class Vault:
    """A sealed store. Without a ring it is looked at from outside."""

    def __init__(self, inner: Room, ring: KeyRing | None) -> None:
        self._inner = inner
        self._keys: Keys = NoKeys() if ring is None else Ring(ring)
        self._plain = False  # the store is: nothing but sealing all of it is allowed

    async def admit(self, found: Found) -> None:
        """See whether these keys are the store's. A new store is marked as sealed."""
        assert isinstance(self._keys, Ring)
        ring, known = self._keys.ring, found.known
        proven, others = self._proven(found)
        self._plain = bool(found.begun) and not proven and not others
        if self._plain:
            return
        if others and not proven:
            raise KeyMissing(
                f"the store is encrypted with the keys {', '.join(sorted(others))}, and the ring "
                f"has only {', '.join(ring.ids)}",
                key_id=max(others),
            )
        if ring.newest not in known:
            with suppress(ReadOnlyDatabase):  # then nothing is written with it either
                await self._inner.write(self._marked)

    def _proven(self, found: Found) -> tuple[set[str], set[str]]:
        """The keys of the ring that the store is sealed with, and others. Where no proof tells,
        what is stored does: the proofs may be lost."""
        assert isinstance(self._keys, Ring)
        proven, others = set(), set()
        for id, proof in found.known.items():
            try:
                proven.add(self._proof(proof))
            except NotOpened:
                logger.warning(
                    "the store's proof of the key %r is damaged: verify() tells more", id
                )
            except KeyMissing as error:
                if error.key_id == id and id in self._keys.ring.ids:
                    raise KeyMissing(
                        f"the key {id!r} is another one than the key {id!r} of this store",
                        key_id=id,
                    ) from error
                others.add(id)
        for held in () if proven else found.begun:
            try:
                proven.add(self._keys.whose(held))
            except NotOpened:
                pass
            except KeyMissing as error:
                others.add(error.key_id or "")
        return proven, others

    def _proof(self, proof: Any) -> str:
        """The key that it proves. Raises as `Sealer.open` does."""
        assert isinstance(self._keys, Ring)
        if not isinstance(proof, str):
            raise NotOpened("it is no text")
        self._keys.open_text(0, _PROOF, proof)
        return self._keys.whose(keys.of_text(proof))

    def _marked(self) -> Plan[None]:
        assert isinstance(self._keys, Ring)
        proof = self._keys.seal_text(0, _PROOF, proofs.TEXT)
        yield from proofs.mark(self._keys.ring.newest, proof)

    # ---- what a driver does

    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        try:
            return await self._inner.read(lambda: self._through(plan()))
        except KeyMissing as error:
            raise await self._named(error) from None

    async def read_all(self, plans: list[Callable[[], Plan[Any]]]) -> list[Any]:
        def wrapped(plan: Callable[[], Plan[Any]]) -> Callable[[], Plan[Any]]:
            return lambda: self._through(plan())

        found = await self._inner.read_all([wrapped(plan) for plan in plans])
        return [await self._named(e) if isinstance(e, KeyMissing) else e for e in found]

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        plain = self._plain
        try:
            return await self._inner.write(lambda: self._through(plan()))
        except KeyMissing as error:
            raise await self._named(error) from None
        except BaseException:
            self._plain = plain
            raise

    async def merge(self, sets: list[WriteSet]) -> set[int]:
        self._refuse_plain()
        return await self._inner.merge([self._sealed_set(each) for each in sets])

    def _sealed_set(self, rows: WriteSet) -> WriteSet:
        advance = SEAL["advance"]
        return WriteSet(
            rows.alive,
            [advance(self._keys, row) for row in rows.advance],
            {name: self._sealed(name, some) for name, some in rows.rows.items()},
            rows.leases,
        )

    def _sealed(self, name: str, rows: Iterable[Sequence[Any]]) -> list[Row]:
        seal = SEAL.get(name)
        if seal is not None:
            return [seal(self._keys, tuple(row)) for row in rows]
        if name in PLAIN:
            return [tuple(row) for row in rows]
        raise WyrdError(f"{name} is not known to the vault: it might store plain text")

    def _refuse_plain(self) -> None:
        if self._plain:
            raise PlainStore(
                "keys= was given, and the threads of this store are not encrypted: copy them into "
                "a new store (`port.copy`), or seal them here with `rotate_keys(plain=True)`"
            )

    async def _named(self, error: KeyMissing) -> KeyMissing:
        """With the thread's own id."""
        number = error.number
        if not error.thread_id and isinstance(number, int):
            rows = await self._inner.read(lambda: _thread_of(number))
            error.thread_id = given(rows[0][0]) if rows else ""
            error.args = (f"thread {error.thread_id!r}, {error.place}: {error.args[0]}",)
        return error

    # ---- plans

    def _through(self, plan: Plan[T]) -> Plan[T]:
        """A plan that sees everything opened, and tells nothing that is not sealed."""
        try:
            step = next(plan)
            while True:
                several = not isinstance(step, (Ask, Tell))
                steps = [step] if isinstance(step, (Ask, Tell)) else step
                if any(each.name in _SPECIAL for each in steps):
                    answers = []
                    for each in steps:
                        answers.append((yield from self._special(each)))
                else:
                    found = yield [self._out(each) for each in steps]
                    answers = [self._in(*each) for each in zip(steps, found, strict=True)]
                step = plan.send(answers if several else answers[0])
        except StopIteration as end:
            result: T = end.value
            return result

    def _out(self, statement: Statement) -> Statement:
        self._refuse_plain()
        name = statement.name
        if isinstance(statement, Tell):
            return Tell(INSTEAD.get(name, name), self._sealed(name, statement.rows))
        return Ask(INSTEAD.get(name, name), statement.params)

    def _in(self, statement: Statement, answer: Any) -> Any:
        if isinstance(statement, Tell) or not answer:
            return answer
        name = statement.name.partition(" ")[0]
        open_ = OPEN.get(name)
        if open_ is None:
            return answer
        made = []
        for row in answer:
            try:
                made.append(open_(self._keys, statement.params, row))
            except KeyMissing as error:
                _of_what(error, name, statement.params, row)
                raise
        return made

    def _special(self, statement: Statement) -> Plan[Any]:
        if statement.name == "reseal":
            assert isinstance(statement, Ask)
            return (yield from self._reseal(*statement.params))
        if statement.name == "begin_sealing":
            yield from self._begin_sealing()
            return None
        if statement.name == "proofs":
            return [self._judged(row) for row in (yield statement)]
        if statement.name in COPIED:
            assert isinstance(statement, Tell)
            self._refuse_plain()
            for row in statement.rows:
                yield from self._copied(statement.name, row)
            return None
        found = yield self._out(statement)
        return self._in(statement, found)

    def _judged(self, row: Row) -> Row:
        """A proof with what is wrong with it; None: nothing, or that can't be told."""
        id, proof, what = row
        if isinstance(self._keys, Ring):
            try:
                what = None if self._proof(proof) == id else "it is the proof of another key"
            except NotOpened:
                what = "it was damaged"
            except KeyMissing:
                pass
        return (id, proof, what)

    # ---- rows that come to stand elsewhere, or under another key

    def _copied(self, name: str, params: Sequence[Any]) -> Plan[None]:
        """The rows of one thread in another, sealed for it."""
        table = TABLES[COPIED[name]]
        old, new, id = ends(name, params)
        if name in AFTER:
            yield Tell(name, [tuple(params)])
        after = table.start
        while True:
            rows = yield Ask(table.page, (old, *after, _PAGE))
            if rows:
                opened = [table.open(self._keys, tuple(row)) for row in rows]
                yield table.told(self._keys, [table.moved(row, new, id) for row in opened])
            if len(rows) < _PAGE:
                return
            after = table.key(rows[-1])

    def _reseal(self, name: str, thread: int, after: Row, plain: bool) -> Plan[Resealed]:
        """A page of a thread's rows of one table, under the newest key. What is damaged goes along
        as it is, unless nothing tells of which key it was."""
        table, ring = TABLES[name], self._keys
        assert isinstance(ring, Ring)
        rows = [tuple(row) for row in (yield Ask(table.page, (thread, *after, _PAGE)))]
        made, left = [], 0
        for row in rows:
            try:
                held = table.held(row)
                if not all(map(ring.is_newest, held)):
                    for each in held:
                        keys.head_of(each)
                    made.append(table.open(ring, row))
            except NotSealed:
                if plain:
                    made.append(row)
                else:
                    left += 1
            except NotOpened:
                left += 1
            except KeyMissing as error:
                error.number, error.place = thread, f"wyrd_{name} {table.key(row)}"
                raise
        if made:
            yield table.told(ring, made)
        end = None if len(rows) < _PAGE else table.key(rows[-1])
        return Resealed(len(made), left, end)

    def _begin_sealing(self) -> Plan[None]:
        """The store knows that it is sealed: from here on whatever is plain in it is refused."""
        self._plain = False
        yield from self._marked()


def _thread_of(number: int) -> Plan[list[Row]]:
    found: list[Row] = yield Ask("thread_of", (number,))
    return found


# Which rows an answer has: their table, and how many columns tell them apart.
_ROWS = {
    "strand": ("wyrd_splices", 3),
    "lineage_frames": ("wyrd_splices", 3),
    "splices_of_thread": ("wyrd_splices", 3),
    "all_splices": ("wyrd_splices", 3),
    "writes": ("wyrd_writes", 2),
    "writes_between": ("wyrd_writes", 3),
    "writes_beside": ("wyrd_writes", 3),
    "writes_of_thread": ("wyrd_writes", 4),
    "all_writes": ("wyrd_writes", 4),
    "events": ("wyrd_events", 3),
    "events_of_steps": ("wyrd_events", 3),
    "all_events": ("wyrd_events", 4),
}


def _of_what(error: KeyMissing, name: str, params: Sequence[Any], row: Row) -> None:
    """Note in which thread, and where in it."""
    if name.startswith("list_"):
        error.number, error.place = row[1], f"wyrd_{name[5:]}"
    elif name in _STORED:
        error.number, error.place = row[0], f"wyrd_checkpoints {row[5:7]}"
    else:
        table, count = _ROWS.get(name, ("wyrd_checkpoints", 1))
        error.number, error.place = params[0], f"{table} {tuple(row[:count])}"


_STORED = ("checkpoint", "latest", "page", "rows_of_thread")
