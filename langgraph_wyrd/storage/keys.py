"""What a thread's rows are placed by.

On Postgres it is made of the thread's id, so that any server can tell where a thread's rows lie.
On SQLite it is a number that grows with time: new threads go to the end of every index.
"""

from __future__ import annotations

import secrets
import time
from hashlib import blake2b

from langgraph_wyrd.storage.tables import Key

_EPOCH = 1_700_000_000


def thread_key(thread_id: str) -> bytes:
    """The key of a thread on Postgres."""
    return blake2b(thread_id.encode(), digest_size=16).digest()


def new_key(dialect: str, thread_id: str) -> Key:
    """The key of a thread that is stored for the first time."""
    if dialect == "postgres":
        return thread_key(thread_id)
    return (int((time.time() - _EPOCH) * 1000) << 20) | secrets.randbits(20)


def found_by(dialect: str, thread_id: str) -> Key | str:
    """What a thread's row is looked up by."""
    return thread_key(thread_id) if dialect == "postgres" else thread_id
