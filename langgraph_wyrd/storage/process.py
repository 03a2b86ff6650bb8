"""This process, as others can know it again: so that a lock whose owner died is seen to be free."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """`place` is where `pid` means something: a machine since its start, and a container in it.
    `born` tells a process from a later one with the same number."""

    host: str
    place: str
    pid: int
    born: str

    def is_dead(self) -> bool:
        """Whether it is known to be gone. Of a process elsewhere nothing is known."""
        here = me()
        if self.place != here.place or sys.platform == "win32":  # there, os.kill would end it
            return False
        if self.pid == here.pid:
            return self.born != here.born
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:  # it is there, and somebody else's
            pass
        now = _born(self.pid)
        return now is not None and now != self.born


def me() -> Process:
    return _of(os.getpid())


@lru_cache(1)  # a forked child is another process
def _of(pid: int) -> Process:
    return Process(socket.gethostname(), _place(), pid, _born(pid) or "")


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{socket.gethostname()} {uuid.getnode():x}"


def _born(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None where that can't be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    if fields[0] in "ZX":  # dead, and nobody has asked how it ended
        return "dead"
    return fields[19]
