"""What of a database concerns no thread that is there: its file, its ledger of migrations, threads
whose row is lost, and rows that belong to nobody.

A thread's row is made again where its number still has checkpoints, and the public tables still
call it by one name that no other thread has.
"""

from __future__ import annotations

from langgraph_wyrd.healing import flips
from langgraph_wyrd.healing.report import Finding, Space, count
from langgraph_wyrd.plans import users
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store import proofs
from langgraph_wyrd.store.keys import SERDE
from langgraph_wyrd.store.migrate import MIGRATIONS, is_newer, unlike
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.values import Codec

RIGHT = "can be put right"
BACKUP = "restore the file from a backup, or `.recover` it"
NOTHING = "stays: nothing proves whose it was"
_ALIKE = 8  # bytes of a key that are as they should be: by chance once in 10^13


def of_file(what: str, thread_id: str | None = None) -> Finding:
    """Damage below the rows, that nothing here can mend."""
    return Finding("the file", thread_id, "pages", what, BACKUP)


def findings(codec: Codec) -> Plan[list[Finding]]:
    found = [
        Finding("wyrd_keys", None, f"the key {id!r}", what, RIGHT)
        for id, what in (yield from _wrong_proofs(codec))
    ]
    for what in unlike((yield Ask("applied"))):
        found.append(Finding("wyrd_migrations", None, "rows", what, RIGHT))
    lost: dict[int, str | None] = {}
    for table, number, rows in (yield Ask("homeless")):
        if number not in lost:
            lost[number] = yield from _name(number)
        name = lost[number]
        what = f"{count(rows, 'row')} of a thread that is not there"
        if name is not None:
            what += f": {given(name)!r}"
        remedy = NOTHING if name is None else "the thread's row can be made again"
        found.append(Finding(table, None, f"thread number {number}", what, remedy))
    for number, thread_id in (yield Ask("undead")):
        what = "it is marked as deleted, and its checkpoints are there"
        remedy = RIGHT if (yield from _is_free(thread_id)) else NOTHING
        place = f"thread number {number}"
        found.append(Finding("wyrd_threads", given(thread_id), place, what, remedy))
    for key in (yield from users.damaged()):
        what = f"the value {given(key)!r} of a user is not what was written"
        found.append(Finding("wyrd_user_data", None, "values", what, NOTHING))
    return [*found, *(yield from names(None))]


def names(thread_id: str | None) -> Plan[list[Finding]]:
    """The threads, or one, whose id and key differ."""
    found = []
    for number, name, key in (yield from _misnamed(thread_id)):
        right, proven = yield from _right_name(number, name, key)
        what = "it is not found by its id" if right == name else "its id is another one"
        remedy = RIGHT if proven else NOTHING
        found.append(Finding("wyrd_threads", given(name), "key", what, remedy))
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
    for number in dict.fromkeys([row[1] for row in (yield Ask("homeless"))]):
        name = yield from _name(number)
        if name is not None:
            first, last = (yield Ask("first_and_last", (number,)))[0]
            strands = (yield Ask("newest_strand", (number,)))[0][0]
            moment = now()
            row = (number, name, thread_key(name), first or moment, last or moment, strands)
            yield Tell("add_thread_again", [row])
            yield Tell("touch", [(strands, last or moment, number)])
    for number, thread_id in (yield Ask("undead")):
        if (yield from _is_free(thread_id)):
            yield Tell("not_deleted", [(number,)])
    yield from names_repaired(None)


def names_repaired(thread_id: str | None) -> Plan[None]:
    for number, name, key in (yield from _misnamed(thread_id)):
        right, proven = yield from _right_name(number, name, key)
        if proven and right == name:
            yield Tell("fix_key", [(thread_key(name), number)])
        elif proven:
            yield Tell("fix_thread_id", [(right, number)])


def _misnamed(thread_id: str | None) -> Plan[list[tuple[int, str, bytes]]]:
    asked = Ask("all_threads") if thread_id is None else Ask("one_thread", (thread_id,))
    return [
        (number, name, bytes(key))
        for number, name, key, *_ in (yield asked)
        if bytes(key) != key_of(name)
    ]


def key_of(thread_id: str) -> bytes:
    """A thread's key; of what is no text, none."""
    try:
        return thread_key(thread_id)
    except UnicodeEncodeError:
        return b""


def _is_free(thread_id: str) -> Plan[bool]:
    """Whether no other thread has this name."""
    key = key_of(thread_id)
    return key != b"" and not (yield Ask("find_thread", (key,)))


def _name(number: int) -> Plan[str | None]:
    """What the lost thread of a number was called, if that is sure, and the name still free."""
    if not (yield Ask("has_checkpoints", (number,))):
        return None
    names = yield Ask("names_of", (number,) * 4)
    if not names or names[0][1] * 2 <= sum(count for _, count in names):
        return None
    name: str = names[0][0]
    return name if (yield from _is_free(name)) else None


def _right_name(number: int, thread_id: str, key: bytes) -> Plan[tuple[str, bool]]:
    """A thread whose id and key differ: what it is called, and whether that is proven."""
    called = [row[0] for row in (yield Ask("names_of", (number,) * 4))]
    for name in called:
        if key_of(name) == key:
            return name, True
    found = flips.text_put_right(thread_id, lambda text: thread_key(text) == key)
    if found is not None:
        return found, True
    wanted = key_of(thread_id)
    alike = sum(one == other for one, other in zip(key, wanted, strict=False))
    proven = thread_id in called or alike >= _ALIKE
    return thread_id, proven and (yield from _is_free(thread_id))


def space(wal: int | None) -> Plan[Space]:
    total, free, dead = (yield Ask("room"))[0]
    return Space(int(total), free, wal, dead)


def pages() -> Plan[list[Finding]]:
    """The file itself, looked through by the database."""
    return [of_file(str(said)) for (said,) in (yield Ask("file_check")) if said != "ok"]
