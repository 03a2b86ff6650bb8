"""What verifying a database found, for a person to act on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

RIGHT = "can be restored to the byte"
ANEW = "a repair makes it again from what it is derived of"
DROPPED = "a repair drops it; it is made again"
AGAIN = "a repair removes the task's writes: it runs again"
AGAIN_MISSING = "a repair gives them up: their tasks run again"
EVENTS = "a repair gives up what it said"
EARLIER = "stays: loads take an earlier checkpoint"
STAYS = "stays: what it held is lost"
AWAY = "a repair removes it: it is stored elsewhere, or none of this thread's"
UNNAMED = "stays: nothing says whose they were"
NONE = "nothing to do"
_NOT_A_REPAIRS = ("stays", "restore")  # how a remedy begins that is none of a repair's

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was written, or (`damage` False) that is worth knowing.

    `remedy` says what a repair can do, or did: `repaired`.
    """

    table: str
    thread_id: str | None
    place: str
    what: str
    remedy: str
    damage: bool = True
    repaired: bool = False

    @property
    def repairable(self) -> bool:
        """Whether a repair would do something about it."""
        return self.damage and not self.repaired and not self.remedy.startswith(_NOT_A_REPAIRS)

    def __str__(self) -> str:
        where = "" if self.thread_id is None else f" thread {self.thread_id!r},"
        end = "repaired" if self.repaired else self.remedy
        return f"{self.table},{where} {self.place}: {self.what} ({end})"


@dataclass(frozen=True, slots=True)
class Space:
    """How much room the database takes, in bytes. None: this database can't say.

    `free` is inside an SQLite file (`VACUUM` gives it back); `wal` is the file of what was not yet
    moved into it. `dead` are rows that a Postgres `VACUUM` will take away.
    """

    total: int
    free: int | None = None
    wal: int | None = None
    dead: int | None = None

    def __str__(self) -> str:
        said = [f"{self.total / 1e6:,.1f} MB"]
        if self.free is not None:
            said.append(f"{self.free / 1e6:,.1f} MB of it free")
        if self.wal is not None:
            said.append(f"{self.wal / 1e6:,.1f} MB in the WAL")
        if self.dead is not None:
            said.append(f"{self.dead:,} dead rows")
        return ", ".join(said)


@dataclass(frozen=True, slots=True)
class Report:
    """All findings. `ok`: there is no damage, or none any more. `space`: of the whole database."""

    threads: int
    findings: tuple[Finding, ...] = ()
    space: Space | None = None

    @property
    def ok(self) -> bool:
        return not any(each.damage and not each.repaired for each in self.findings)

    @property
    def damages(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.damage)

    def __str__(self) -> str:
        left = [each for each in self.damages if not each.repaired]
        done = [each for each in self.damages if each.repaired]
        notes = [each for each in self.findings if not each.damage]
        head = f"{count(self.threads, 'thread')} verified: "
        head += "no damage" if not left else count(len(left), "damage")
        if done:
            head += f", {len(done)} repaired"
        return "\n".join([head, *(f"- {each}" for each in (*left, *done, *notes))])


def count(n: int, one: str) -> str:
    return f"{n:,} {one}" if n == 1 else f"{n:,} {one}s"
