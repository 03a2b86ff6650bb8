"""What of a database concerns no thread that is there: its file, its ledger of migrations, threads
whose row is lost, and rows that belong to nobody.

A thread that its row does not lead to is led back by its row in wyrd_names. Where that is lost as
well, its row is made again if its number still has checkpoints, and the public tables still call it
by one name that no other thread has.
"""

from __future__ import annotations

from langgraph_wyrd.errors import DatabaseDamaged
from langgraph_wyrd.healing import leading
from langgraph_wyrd.healing.reading import is_foreign
from langgraph_wyrd.healing.report import Finding, Space, count
from langgraph_wyrd.plans import naming, users
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store import proofs
from langgraph_wyrd.store.keys import SERDE
from langgraph_wyrd.store.migrate import MIGRATIONS, is_newer, unlike
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

RIGHT = "can be put right"
NO_FURTHER = "stays: what else is wrong with this thread is not known"
NOTHING = "stays: nothing proves whose it was"


def of_pages(error: DatabaseDamaged, thread_id: str | None = None) -> Finding:
    """Damage below the rows, that nothing here can mend."""
    return Finding(error.of, thread_id, "pages", error.said or str(error), error.remedy)


def of_look(error: Exception, thread_id: str | None) -> Finding:
    """What a look at a thread, or its repair, ended with: the other threads are looked at all the
    same. Raises it if it is none of the thread's: the database's, a key that is missing."""
    if is_foreign(error) or isinstance(error, MemoryError):
        raise error
    what = f"what is stored made the look end early: {type(error).__name__}: {error}"
    return Finding("wyrd_threads", thread_id, "the look", what, NO_FURTHER)


def findings(codec: Codec) -> Plan[list[Finding]]:
    found = [
        Finding("wyrd_keys", None, f"the key {id!r}", what, RIGHT)
        for id, what in (yield from _wrong_proofs(codec))
    ]
    for what in unlike((yield Ask("applied"))):
        found.append(Finding("wyrd_migrations", None, "rows", what, RIGHT))
    lost: dict[int, str | None] = {}
    for table, number, rows in (yield Ask("homeless")):
        if (yield from _leads_back(number)):
            continue
        if number not in lost:
            lost[number] = yield from _name(number)
        name = lost[number]
        what = f"{count(rows, 'row')} of a thread that is not there"
        if name is not None:
            what += f": {given(name)!r}"
        remedy = NOTHING if name is None else "the thread's row can be made again"
        found.append(Finding(table, None, f"thread number {number}", what, remedy))
    for number, thread_id in (yield Ask("undead")):
        if (yield from _leads_back(number)):
            continue
        what = "it is marked as deleted, and its checkpoints are there"
        remedy = RIGHT if (yield from _is_free(thread_id)) else NOTHING
        place = f"thread number {number}"
        found.append(Finding("wyrd_threads", given(thread_id), place, what, remedy))
    for key in (yield from users.damaged()):
        what = f"the value {given(key)!r} of a user is not what was written"
        found.append(Finding("wyrd_user_data", None, "values", what, NOTHING))
    return [*found, *(yield from names(None))]


def names(thread_id: str | None) -> Plan[list[Finding]]:
    """The threads, or one, that are not found by their ids, or are called otherwise."""
    found = []
    for key in (yield from _strays(thread_id)):
        claims = yield from naming.claims(key)
        name = yield from leading.called(key, claims)
        what = "its row, or that in wyrd_names, is not its own: it is not found by its id"
        remedy = NOTHING if name is None else RIGHT
        found.append(Finding("wyrd_threads", name and given(name), "key", what, remedy))
    for _, name, _, number in (yield from _wrong_names(thread_id)):
        what = "the row is not what was written"
        found.append(Finding("wyrd_names", given(name), f"thread number {number}", what, RIGHT))
    return found


def _wrong_proofs(codec: Codec) -> Plan[list[tuple[str, str]]]:
    """The keys whose proof is no proof of them, and what it is."""
    found = []
    for id, proof, what in (yield Ask("proofs")):
        if codec.seals and not codec.vaulted:
            if id != SERDE:
                what = "it is no key of this store"
            elif not proofs.opens(codec, proof):
                what = "it was damaged"
        if what is not None:
            found.append((id, what))
    return found


def repaired(codec: Codec) -> Plan[None]:
    if wrong := (yield from _wrong_proofs(codec)):
        yield Tell("drop_key", [(id,) for id, _ in wrong])
        if codec.vaulted:
            yield Tell("begin_sealing", [])
        else:
            yield from proofs.mark(SERDE, codec.seal_text(proofs.TEXT))
    rows = yield Ask("applied")
    if unlike(rows):
        yield Tell("drop_migration", [(row[0],) for row in rows if not is_newer(row)])
        yield Tell("record_migration", [(*each, now()) for each in MIGRATIONS])
    yield from names_repaired(codec, None)
    for number in dict.fromkeys([row[1] for row in (yield Ask("homeless"))]):
        name = yield from _name(number)
        if name is not None:
            yield Tell("put_name", [naming.name_row(name, number)])
            yield from leading.identified(codec, number, name)
    for number, thread_id in (yield Ask("undead")):
        if (yield from _is_free(thread_id)):
            yield Tell("put_name", [naming.name_row(thread_id, number)])
            yield from leading.identified(codec, number, thread_id)


def names_repaired(codec: Codec, thread_id: str | None) -> Plan[None]:
    for key in (yield from _strays(thread_id)):
        if (yield from leading.called(key, (yield from naming.claims(key)))) is not None:
            yield from leading.led_back(codec, key)
    for key, _, _, number in (yield from _wrong_names(thread_id)):
        yield Tell("drop_name", [(key, number)])
        there = yield Ask("numbered_row", (number,))
        if there and there[0][1] == key:
            yield Tell("put_name", [naming.name_row(there[0][0], number)])


def _strays(thread_id: str | None) -> Plan[list[bytes]]:
    """The keys of threads, or of one if it is one, that can't be found."""
    if thread_id is None:
        return (yield from naming.strays())
    key = naming.key_of(thread_id)
    return [key] if naming.is_astray(key, (yield from naming.claims(key))) else []


def _wrong_names(thread_id: str | None) -> Plan[list[Row]]:
    """Rows of wyrd_names that were not written so."""
    key = None if thread_id is None else naming.key_of(thread_id)
    return [
        row
        for row in (yield Ask("all_names"))
        if not naming.is_sound_name(row[:3], row[3]) and (key is None or row[0] == key)
    ]


def _leads_back(number: int) -> Plan[bool]:
    """Whether a number without a row of its own is found by its name."""
    if not (yield Ask("has_checkpoints", (number,))):
        return False
    known = yield Ask("names_of_number", (number,))
    return any(naming.is_sound_name(row, number) for row in known)


def _is_free(thread_id: str) -> Plan[bool]:
    """Whether no other thread has this name."""
    key = naming.key_of(thread_id)
    return key != b"" and not (yield Ask("number_of", (key,)))


def _name(number: int) -> Plan[str | None]:
    """What the lost thread of a number was called by the public tables, if that is sure, and the
    name still free."""
    if not (yield Ask("has_checkpoints", (number,))):
        return None
    names = yield Ask("names_of", (number,) * 4)
    if not names or names[0][1] * 2 <= sum(count for _, count in names):
        return None
    name: str = names[0][0]
    return name if (yield from _is_free(name)) else None


def space(wal: int | None) -> Plan[Space]:
    total, free, dead = (yield Ask("room"))[0]
    return Space(int(total), free, wal, dead)


def pages() -> Plan[list[Finding]]:
    """The file itself, looked through by the database."""
    told = [str(said) for (said,) in (yield Ask("file_check")) if said != "ok"]
    return [of_pages(DatabaseDamaged(said)) for said in told]
