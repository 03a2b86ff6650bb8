"""Threads that their rows do not lead to, found again: by wyrd_names, or by the row that is left.

What is wrong there is put right at once, unlike all else that loads meet: a put beside it would
begin the thread anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import flips
from langgraph_wyrd.healing.found import Found
from langgraph_wyrd.plans import naming
from langgraph_wyrd.plans.keeping import show_again
from langgraph_wyrd.plans.ledger import without_damage
from langgraph_wyrd.plans.loading import checked
from langgraph_wyrd.plans.naming import Claim
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.weaving import UNSHOWN, belongs_to
from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.values import Codec

LOST = "its row in wyrd_threads was lost, and was made again"
OTHERS = "its row in wyrd_threads was not its own, and was put right"
NAMELESS = "its row in wyrd_names was lost, and was made again"


def led_back(codec: Codec, key: bytes) -> Plan[tuple[Found, ...]]:
    """Have the thread of a key found again; what was done, for it and for who stood in its way."""
    claims = yield from naming.claims(key)
    if not naming.is_astray(key, claims):
        return ()  # somebody else did
    wrong = [claim for claim in claims if claim.sum is not None and not claim.is_sound(key)]
    yield Tell("drop_name", [(key, claim.number) for claim in wrong])
    named = max((c for c in claims if c.holds(key)), key=lambda c: c.number, default=None)
    own = next((claim for claim in claims if claim.sum is None), None)
    if named is None:
        assert own is not None
        return ((yield from _witnessed(codec, own, key, claims)),)
    if own is None or own.number == named.number:
        return ((yield from identified(codec, named.number, named.thread_id)),)
    # Another number's row says that it is this thread's.
    known = yield Ask("names_of_number", (own.number,))
    others = [row for row in known if naming.is_sound_name(row, own.number)]
    if not others and own.used:  # so much speaks for either that what is in use stays so
        return ((yield from _witnessed(codec, own, key, claims)),)
    moment = now()
    yield Tell("set_aside", [(moment, number) for number in sorted((named.number, own.number))])
    found = [(yield from identified(codec, named.number, named.thread_id))]
    for its_key, name, _ in others[:1]:
        if not (yield Ask("number_of", (its_key,))):  # else it is led back when it is asked for
            found.append((yield from identified(codec, own.number, name)))
    return tuple(found)


def _witnessed(codec: Codec, own: Claim, key: bytes, claims: Sequence[Claim]) -> Plan[Found]:
    """A thread that only its row knows."""
    name = yield from called(key, claims)
    if name is None:
        raise CheckpointDamaged(
            f"thread number {own.number} can't be found: neither its row nor wyrd_names says what "
            "it is called"
        )
    yield Tell("put_name", [naming.name_row(name, own.number)])
    if name != own.thread_id or thread_key(name) != key:
        return (yield from identified(codec, own.number, name))
    return _found(own.number, name, NAMELESS)


def called(key: bytes, claims: Sequence[Claim]) -> Plan[str | None]:
    """What a thread is called that some claim to know: the id of this key, or what the public
    tables call it that only its row knows."""
    for claim in claims:
        if naming.key_of(claim.thread_id) == key:
            return claim.thread_id
    for claim in claims:
        if claim.sum is None:
            for name, _ in (yield Ask("names_of", (claim.number,) * 4)):
                its_key = naming.key_of(name)
                free = its_key != b"" and not (yield Ask("number_of", (its_key,)))
                if its_key == key or (name == claim.thread_id and free):
                    return str(name)
            return flips.text_put_right(claim.thread_id, lambda text: thread_key(text) == key)
    return None


def identified(codec: Codec, number: int, thread_id: str) -> Plan[Found]:
    """A number's row, made again or made its own again, with the columns of what it has."""
    key, moment = thread_key(thread_id), now()
    first, last = (yield Ask("first_and_last", (number,)))[0]
    found = yield Ask("thread_status", (number,))
    if found:
        yield Tell("identify", [(thread_id, key, number)])
        yield Tell("clear_thread", [(number,)])
    else:
        row = (number, thread_id, key, first or moment, last or moment, 0)
        yield Tell("add_thread_again", [row])
    strands = (yield Ask("newest_strand", (number,)))[0][0]
    yield Tell("touch", [(strands, last or moment, number)])
    if (yield Ask("has_events", (number,))):
        yield from without_damage(show_again(codec, number, thread_id), thread_id, codec)
    user = yield from _user(codec, number)
    if user is not None:
        yield Tell("show_thread", [(*UNSHOWN[:4], user, *UNSHOWN[5:], number)])
    return _found(number, thread_id, OTHERS if found else LOST)


def _user(codec: Codec, number: int) -> Plan[str | None]:
    """Whose a thread is: the last user that the root's checkpoints name. One that is damaged may
    name anybody."""
    for raw in reversed((yield Ask("rows_of_thread", (number,)))):
        try:
            row = checked(raw)
            user = belongs_to(codec.open_metadata(row.metadata, row.exact), row.ns)[1]
        except CheckpointDamaged:
            continue
        if not row.ns and user is not None:
            return user
    return None


def _found(number: int, thread_id: str, what: str) -> Found:
    return Found("exact", number, thread_id, "", "", "", what, "thread row")
