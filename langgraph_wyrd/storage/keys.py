"""What a thread's rows are placed by, and random numbers that tell one row from another.

On Postgres it is made of the thread's id, so that any server can tell where a thread's rows lie.
On SQLite it is a number that grows with time: new threads go to the end of every index.
"""

from __future__ import annotations

import os
import random
import time
from hashlib import blake2b

from langgraph_wyrd.storage.tables import Key

_EPOCH = 1_700_000_000

# Seeded by the operating system, which is not asked again for each number: that takes 10 us.
_random = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def random_bits(count: int) -> int:
    """A number that no other process draws, nor this one again. It protects no secret."""
    return _random.getrandbits(count)


def thread_key(thread_id: str) -> bytes:
    """The key of a thread on Postgres."""
    return blake2b(thread_id.encode(), digest_size=16).digest()


def new_key(dialect: str, thread_id: str) -> Key:
    """The key of a thread that is stored for the first time."""
    if dialect == "postgres":
        return thread_key(thread_id)
    return (int((time.time() - _EPOCH) * 1000) << 20) | random_bits(20)


def found_by(dialect: str, thread_id: str) -> Key | str:
    """What a thread's row is looked up by."""
    return thread_key(thread_id) if dialect == "postgres" else thread_id


LOOKED_UP = {"postgres": "key", "sqlite": "thread_id"}  # the column of that
