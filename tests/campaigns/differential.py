"""Many random programs, each played on InMemorySaver and on another saver, which must agree.

    python -m tests.campaigns.differential --n 2000 --backend sqlite

Backends: memory, sqlite, postgres; `reference` plays InMemorySaver against itself, and
`official-sqlite` LangGraph's own SQLite savers, to know what the instrument is worth.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd import WyrdSaver
from tests.outside import fresh_databases
from tests.story import first_difference, move_to_copy, prune, tell, without_loop

BETWEEN = {"copy": move_to_copy, "prune": prune}
PER_DATABASE = 100  # programs that share one


def story(seed: int, savers: list[Any], asynchronous: bool, **options: Any) -> Any:
    telling = tell(seed, *savers, asynchronous=asynchronous, **options)
    return asyncio.run(telling) if asynchronous else without_loop(telling)


def official_story(seed: int, asynchronous: bool, turns: int) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    if not asynchronous:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            return story(seed, [saver], False, turns=turns)

    async def run() -> Any:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            return await tell(seed, saver, asynchronous=True, turns=turns)

    return asyncio.run(run())


@contextlib.contextmanager
def databases(backend: str) -> Iterator[Any]:
    if backend in ("sqlite", "postgres"):
        with fresh_databases(backend) as fresh:
            yield fresh
    else:
        yield lambda: contextlib.nullcontext("sqlite://")


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--n", type=int, default=2000, help="programs")
    parse.add_argument("--first", type=int, default=0, help="the first seed")
    parse.add_argument("--turns", type=int, default=6, help="what a person does in each")
    parse.add_argument("--between", choices=[*BETWEEN], help="done to the thread after every turn")
    parse.add_argument("--savers", type=int, default=1, help="how many take turns on one database")
    parse.add_argument(
        "--backend",
        choices=["memory", "sqlite", "postgres", "reference", "official-sqlite"],
        default="sqlite",
    )
    asked = parse.parse_args()
    seeds = range(asked.first, asked.first + asked.n)
    wrong: list[str] = []
    began = time.perf_counter()
    with databases(asked.backend) as fresh:
        for start in range(seeds.start, seeds.stop, PER_DATABASE):
            with fresh() as url, contextlib.ExitStack() as stack:
                savers: list[Any] = [InMemorySaver()]
                if not asked.backend.startswith(("reference", "official")):
                    count = 1 if asked.backend == "memory" else asked.savers
                    savers = [
                        stack.enter_context(WyrdSaver.from_conn_string(url)) for _ in range(count)
                    ]
                for seed in range(start, min(start + PER_DATABASE, seeds.stop)):
                    wrong += compared(seed, savers, asked)
                    spent = time.perf_counter() - began
                    print(
                        f"\r{seed - seeds.start + 1} of {asked.n} programs, {len(wrong)} differ,"
                        f" {spent:.0f} s",
                        end="",
                        flush=True,
                    )
    print()
    for line in wrong[:20]:
        print(line)
    sys.exit(bool(wrong))


def compared(seed: int, savers: list[Any], asked: argparse.Namespace) -> list[str]:
    """Both worlds of a seed; what differs, in words."""
    found = []
    official = asked.backend.startswith("official")
    options: dict[str, Any] = {
        "cross": not official, "turns": asked.turns, "history": asked.between != "prune",
    }  # fmt: skip
    for asynchronous in (False, True):
        expected = story(seed, [InMemorySaver()], asynchronous, **options)
        if official:
            told = official_story(seed, asynchronous, asked.turns)
        else:
            between = BETWEEN.get(asked.between)
            told = story(seed, savers, asynchronous, between=between, **options)
        if parted := first_difference(expected, told):
            world = "async" if asynchronous else "sync"
            found.append(f"seed {seed} {world}, expected first, then found, {parted}")
    return found


if __name__ == "__main__":
    main()
