"""Damage below the rows of an SQLite file, one at a time, and what a saver makes of it.

    python -m tests.campaigns.pages --n 400 --first 1

Every damage is drawn from its seed: pages flipped, zeroed, garbled or swapped anywhere in the file
(its header, the freelist and interior pages too), a file that is cut short, grown, empty or none,
a WAL that is cut, garbled or gone. After each, every call ends in time; it works, or raises an
error of ours that names the file; no value is silently wrong; verify() says in words what is.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import random
import shutil
import struct
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver, errors
from tests.damage import Agent, at, talk

PAGE = 4096
THREADS = ("t", "u")
SECONDS = 120.0  # in which a case must end, on however busy a machine
KINDS = {
    "flip": 6, "zero": 4, "garble": 4, "swap": 2, "header": 4, "interior": 3, "freelist": 2,
    "cut": 3, "grown": 1, "empty": 1, "none": 1, "wal cut": 3, "wal garbled": 3, "wal gone": 1,
    "wal alone": 1, "shm gone": 1, "shm garbled": 2,
}  # fmt: skip
EARLIER = ("wal cut", "wal garbled", "wal gone")  # a WAL is used as far as it is whole
OUTCOMES = ("healed", "found by verify", "clear error", "earlier state", "no difference", "?")


def go_on(saver: Any, thread: str) -> None:
    graph, run = Agent().build(saver), at(thread, user={"t": "ann", "u": "bob"}[thread])
    if thread == "u":
        try:
            graph.invoke(Command(resume="yes"), run)
        except errors.ConcurrentRun:  # a lease of nobody: a person frees the thread
            saver.thread(thread).release()
            graph.invoke(Command(resume="yes"), run)
    before = saver.get_tuple(at(thread))
    graph.invoke({"messages": [HumanMessage("and now", id="new")]}, run)
    after = saver.get_tuple(at(thread))
    assert after.checkpoint["id"] > (before.checkpoint["id"] if before else "")
    assert "new" in [m.id for m in after.checkpoint["channel_values"]["messages"]]


class Sound:
    """A database in a folder, as it lies there closed, and as it lies there with a WAL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / "sound.db"
        url = f"sqlite:///{path}"
        with WyrdSaver.from_conn_string(url) as saver:
            talk(saver, "gone", 3)
            talk(saver, "t", 3)
            saver.thread("t").label("three")
            talk(saver, "u", 2, last="approve this")
            saver.delete_thread("gone")  # its pages are free now
        shutil.copy(path, folder / "closed.db")
        with WyrdSaver.from_conn_string(url) as saver:
            self.earlier = _known(saver)
            for thread in THREADS:  # what is behind this is in the WAL
                for text in ("one more", "and one more"):
                    saver.thread(thread).add_todo(text)
            talk(saver, "t", 1)
            self.known = _known(saver)
            for end in ("", "-wal", "-shm"):
                shutil.copy(f"{path}{end}", f"{folder}/open.db{end}")

    @contextlib.contextmanager
    def copy(self, *, wal: bool) -> Any:
        path = self.folder / "copy.db"
        name = "open" if wal else "closed"
        for end in ("", "-wal", "-shm") if wal else ("",):
            shutil.copy(f"{self.folder}/{name}.db{end}", f"{path}{end}")
        try:
            yield path
        finally:
            for each in self.folder.glob("copy.db*"):
                each.unlink()


def _known(saver: Any) -> dict[str, Any]:
    """Each thread's checkpoints by their ids, its head, its state."""
    made: dict[str, Any] = {}
    for thread in THREADS:
        steps = {each.checkpoint["id"]: each for each in saver.list(at(thread))}
        made[thread] = (steps, max(steps), _state(saver, thread))
    return made


def _state(saver: Any, thread: str) -> Any:
    state = saver.thread(thread).working_state()
    loops = [loop for loop in state.loops if loop.source.rule != "healed"]
    return state.to_dict() | {"loops": [loop.id for loop in loops]}


# ---- damage


class Damage:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.kind = self.dice.choices([*KINDS], [*KINDS.values()])[0]
        self.wal = "wal" in self.kind or "shm" in self.kind
        self.told = ""

    def strike(self, path: Path) -> None:
        name = self.kind.replace(" ", "_")
        end = "-wal" if self.kind.startswith("wal") else "-shm" if self.wal else ""
        side = Path(f"{path}{end}")
        data = bytearray(side.read_bytes())
        made = getattr(self, f"_{name}", self._pages)(data)
        if self.kind == "wal alone":
            path.write_bytes(b"")
        elif made is None:
            side.unlink()
        else:
            side.write_bytes(bytes(made))

    def _pages(self, data: bytearray) -> bytearray:
        pages = self._choose(data)
        for page in pages:
            start = page * PAGE
            if self.kind == "zero":
                data[start : start + PAGE] = bytes(PAGE)
            elif self.kind == "garble":
                data[start : start + PAGE] = self.dice.randbytes(PAGE)
            else:  # mostly where the page says what is in it
                most = 40 if self.dice.random() < 0.7 else PAGE
                for _ in range(self.dice.choice((1, 1, 2, 8))):
                    place = start + (100 if page == 0 else 0) + self.dice.randrange(most)
                    data[min(place, start + PAGE - 1)] ^= 1 << self.dice.randrange(8)
        self.told = f"pages {pages}"
        return data

    def _choose(self, data: bytearray) -> list[int]:
        count = len(data) // PAGE
        if self.kind == "interior":
            wanted = [n for n in range(1, count) if data[n * PAGE] in (2, 5)]
        elif self.kind == "freelist":
            wanted = [struct.unpack(">I", data[32:36])[0] - 1]
        else:
            wanted = [*range(count)]
        return self.dice.sample(wanted, min(len(wanted), self.dice.choice((1, 1, 2))))

    def _swap(self, data: bytearray) -> bytearray:
        one, other = self.dice.sample(range(1, len(data) // PAGE), 2)
        a, b = slice(one * PAGE, (one + 1) * PAGE), slice(other * PAGE, (other + 1) * PAGE)
        data[a], data[b] = data[b], data[a]
        self.told = f"pages {one} and {other}"
        return data

    def _header(self, data: bytearray) -> bytearray:
        place = self.dice.randrange(100)
        data[place] ^= 1 << self.dice.randrange(8)
        self.told = f"byte {place}"
        return data

    def _cut(self, data: bytearray) -> bytearray:
        size = self.dice.randrange(1, len(data))
        self.told = f"at {size} of {len(data)}"
        return data[: size // PAGE * PAGE if self.dice.random() < 0.5 else size]

    def _grown(self, data: bytearray) -> bytearray:
        return data + self.dice.randbytes(3 * PAGE + 17)

    def _empty(self, data: bytearray) -> bytearray:
        return bytearray()

    def _none(self, data: bytearray) -> bytearray:
        return bytearray(b"a letter to a friend\n" * 500)

    def _wal_cut(self, data: bytearray) -> bytearray:
        return data[: self.dice.randrange(len(data))]

    def _wal_garbled(self, data: bytearray) -> bytearray:
        for _ in range(self.dice.choice((1, 2, 20))):
            data[self.dice.randrange(len(data))] ^= 1 << self.dice.randrange(8)
        return data

    def _wal_gone(self, data: bytearray) -> None:
        return None

    def _wal_alone(self, data: bytearray) -> bytearray:
        return data

    _shm_gone = _wal_gone
    _shm_garbled = _wal_garbled


# ---- one case, looked at


class Look:
    """What came of it: `outcomes`, and what went wrong."""

    def __init__(self, path: Path, damage: Damage, sound: Sound) -> None:
        self.path, self.damage, self.sound = path, damage, sound
        self.wrong: list[str] = []
        self.outcomes: set[str] = set()
        self.findings: list[Any] = []

    def all(self) -> None:
        saver = WyrdSaver.from_conn_string(f"sqlite:///{self.path}")
        self._try("opening", lambda: saver.setup())
        self._calls(saver)
        self._try("closing", saver.close)

    def _calls(self, saver: Any) -> None:
        report = self._try("verify()", saver.verify)
        self.findings = [*report.damages] if report else []
        self.opened = report is not None
        for each in self.findings:
            if len(each.what.split()) < 2:
                self.wrong.append(f"verify() says no more than {each.what!r}")
        for thread in THREADS:
            self._thread(saver, thread)
        for thread in THREADS:
            self._try(f"going on with {thread}", lambda thread=thread: go_on(saver, thread))
        if self.findings:
            self.outcomes.add("found by verify")
            self._try("a repair", lambda: saver.verify(repair=True))

    def _thread(self, saver: Any, thread: str) -> None:
        steps, head, state = (self.sound.known if self.damage.wal else self.sound.earlier)[thread]
        told = {"get": False}

        def heals() -> list[Any]:
            with contextlib.suppress(errors.ThreadNotFound):
                return saver.thread(thread).heals()
            return []

        found = self._try("get_tuple", lambda: saver.get_tuple(at(thread)), told)
        listed = self._try("list", lambda: list(saver.list(at(thread))), told) or []
        now = self._try("working_state", lambda: self._state(saver, thread), told)
        values = self._try("get_state", lambda: Agent().build(saver).get_state(at(thread)), told)
        healed = self._try("heals", heals, told)
        if told["get"]:
            return  # an error was raised: nobody takes that for a value
        if healed:
            self.outcomes.add("healed")
        for each in [*listed, *([found] if found else [])]:
            was = steps.get(each.checkpoint["id"])
            if was is None or (each.checkpoint != was.checkpoint and not healed):
                self.wrong.append(f"{thread}: {each.checkpoint['id']} is silently another one")
        top = found and found.checkpoint["id"]
        same = top == head and len(listed) == len(steps) and now == state
        if values is None or same:
            return
        if self.damage.kind in EARLIER and top in steps:
            self.outcomes.add("earlier state")
        elif not (healed or self.findings or self.damage.kind == "empty"):
            self.wrong.append(f"{thread}: something is missing, and nothing was told")

    @staticmethod
    def _state(saver: Any, thread: str) -> Any:
        try:
            return _state(saver, thread)
        except errors.ThreadNotFound:
            return None

    def _try(self, name: str, call: Callable[[], Any], told: dict[str, bool] | None = None) -> Any:
        try:
            return call()
        except errors.WyrdError as error:
            self.outcomes.add("clear error")
            if told is not None:
                told["get"] = True
            by_rows = isinstance(error, (errors.CheckpointDamaged, errors.ThreadNotFound))
            if not by_rows and self.path.name not in str(error):
                self.wrong.append(f"{name}: the error names no file: {error}")
        except Exception as error:
            self.wrong.append(f"{name} raised {type(error).__name__}: {error}")
        return None


def look(path: Path, damage: Damage, sound: Sound) -> tuple[str, list[str]]:
    """One case, in a thread of its own: it must end."""
    made = Look(path, damage, sound)
    thread = threading.Thread(target=made.all, daemon=True)
    thread.start()
    thread.join(SECONDS)
    if thread.is_alive():
        return "?", [f"it hangs: not over after {SECONDS:.0f} s"]
    outcome = next((each for each in OUTCOMES if each in made.outcomes), "no difference")
    return outcome, made.wrong


def campaign(
    folder: Path, n: int, first: int, *, aloud: bool = False
) -> tuple[Counter[tuple[str, str]], list[str]]:
    sound = Sound(folder)
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    for seed in range(first, first + n):
        damage = Damage(seed)
        with sound.copy(wal=damage.wal) as path:
            damage.strike(path)
            outcome, bad = look(path, damage, sound)
        counts[damage.kind, outcome] += 1
        said = [f"seed {seed}, {damage.kind} ({damage.told}): {each}" for each in bad]
        wrong += said
        if aloud and said:
            print(*said, sep="\n", flush=True)
    return counts, wrong


def tabled(counts: Counter[tuple[str, str]]) -> str:
    names = [each for each in OUTCOMES if any(outcome == each for _, outcome in counts)]
    lines = [" | ".join([f"{'':12}", *names, "cases"])]
    for kind in [*KINDS, "all"]:
        held = {each: sum(n for (k, o), n in counts.items() if o == each and kind in (k, "all"))
                for each in names}  # fmt: skip
        cells = [f"{held[each] or '':>{len(each)}}" for each in names]
        lines.append(" | ".join([f"{kind:12}", *cells, f"{sum(held.values()):>5}"]))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--first", type=int, default=1)
    given = parser.parse_args()
    logging.getLogger("langgraph_wyrd").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="wyrd-pages-") as folder:
        counts, wrong = campaign(Path(folder), given.n, given.first, aloud=True)
    print(tabled(counts))
    print(f"{given.n} damages, {len(wrong)} times something went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
