"""Processes killed at random points around a tool call: nothing is paid twice, or without a trace.

    python -m tests.campaigns.tools --n 200 --backend sqlite

A child runs an agent with `WyrdMiddleware` and LangGraph's default durability. Its tool pays: it
appends a line to a file. A clock starts when the model has asked for the call (or, every other
time, when the tool begins), and kills the process 0 to 30 ms later. Then another process looks at
what the thread says, and goes on with it. The call was paid once at most; where it was paid, the
thread says so before anybody goes on: by its result, or by the open call.
"""

from __future__ import annotations

import argparse
import random
import signal
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

from langgraph_wyrd import WyrdSaver
from tests.outside import forked, fresh_databases
from tests.paying_agent import LONGEST, gone_on, killed


def campaign(url: str, folder: Path, n: int, dice: random.Random, first: int = 0) -> Counter[str]:
    """Kill `n` processes on one database; raises where one paid twice, or without a trace.

    Their threads are numbered from `first`.
    """
    told = forked.SimpleQueue()
    seen: Counter[str] = Counter()
    for number in range(first, first + n):
        thread, journal = f"t{number}", folder / f"journal-{number}"
        kill = (("model", "tool")[number % 2], dice.uniform(0, LONGEST), dice.uniform(0, LONGEST))
        way = ("sync", "async")[number // 2 % 2]
        child = forked.Process(target=killed, args=(url, journal, thread, kill, way))
        child.start()
        child.join(200)
        assert child.exitcode in (-signal.SIGKILL, 0), child.exitcode
        seen["kills" if child.exitcode else "over before"] += 1
        other = forked.Process(target=gone_on, args=(url, journal, thread, told))
        other.start()
        other.join(200)
        assert other.exitcode == 0, f"{thread} can't go on"
        paid, traced, times, results = told.get()
        assert times <= 1, f"{thread}: paid {times} times; {kill}, {way}"
        assert traced or not paid, f"{thread}: paid without a trace; {kill}, {way}"
        assert len(results) == 1, results
        seen["paid before the kill"] += paid
        seen["paid by who went on"] += times - paid
        seen["reported, verify before redoing"] += "no result was recorded" in results[0]
    return seen


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--n", type=int, default=200)
    parse.add_argument("--backend", choices=["sqlite", "postgres"], default="sqlite")
    parse.add_argument("--seed", type=int, default=1)
    asked = parse.parse_args()
    with (
        fresh_databases(asked.backend) as fresh,
        fresh() as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        with WyrdSaver.from_conn_string(url):
            pass
        seen = campaign(url, Path(folder), asked.n, random.Random(asked.seed))
    print(
        f"{asked.backend}, SQLite {sqlite3.sqlite_version}: 0 paid twice, 0 without a trace in "
        f"{dict(seen)}"
    )


if __name__ == "__main__":
    main()
