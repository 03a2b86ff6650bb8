"""Every workload on every saver, in turns, in one run; a table and the raw figures.

python -m tests.bench                everything (20 minutes, 10 GB of disk)
python -m tests.bench --quick        that it works; figures of no worth
python -m tests.bench short          CPU of a turn in short chats (under 2 minutes)
python -m tests.bench state          what the working state adds to it (under 2 minutes)
python -m tests.bench put start      one cached put in calls, and what a new process waits for
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from . import machine, places, report, targets
from .figures import Figures
from .run import Bench, Scale
from .savers import DATABASES, NAMES
from .workloads import WORKLOADS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("workload", nargs="*", choices=[[], *WORKLOADS], metavar="workload", help="default: all")
    add("--backend", action="append", choices=list(DATABASES), help="default: both")
    add("--saver", action="append", choices=list(NAMES), help="default: all of the backends")
    add("--turns", type=_turns, metavar="A,B,C", help="short, end and long chat: 50,300,1000")
    add("--quick", action="store_true", help="everything small")
    add("--out", type=Path, metavar="FOLDER", help="where bench.md and bench.json go")
    add("--folder", type=Path, help="where databases are made (the disk that is measured)")
    return parser.parse_args()


def _turns(text: str) -> tuple[int, int, int]:
    short, end, longest = (int(number) for number in text.split(","))
    if not 0 < short < end < longest:
        raise argparse.ArgumentTypeError("three numbers, each greater than the one before")
    return short, end, longest


def chosen(options: argparse.Namespace) -> list[str]:
    backends = options.backend or DATABASES
    wanted = options.saver or NAMES
    return [
        key
        for key in NAMES
        if key in wanted and (key == "memory" or places.database_of(key) in backends)
    ]


async def measure(bench: Bench, workloads: list[str]) -> None:
    try:
        for name in workloads:
            print(f"{name} …", flush=True)
            # The disk may be shared: its price is asked for again before each workload.
            bench.figures.fsync_ms[name] = machine.fsync_cost(bench.databases.folder, times=50)
            start = time.perf_counter()
            await WORKLOADS[name](bench)
            bench.figures.seconds[name] = round(time.perf_counter() - start, 1)
            print(f"{name}: {bench.figures.seconds[name]} s", flush=True)
    finally:
        await bench.release()


def main() -> None:
    options = arguments()
    savers = chosen(options)
    scale = Scale.quick() if options.quick else Scale()
    if options.turns:
        scale = Scale.quick(options.turns) if options.quick else Scale(turns=options.turns)
    workloads = [name for name in WORKLOADS if name in (options.workload or WORKLOADS)]
    postgres = any(places.database_of(key) == "postgres" for key in savers)
    with places.databases(options.folder, postgres=postgres) as databases:
        figures = Figures(machine.describe(databases.folder))
        if postgres:
            figures.machine["postgres"] = databases.postgres_words()
        figures.settings = {"savers": savers, **vars(scale)}
        print(machine.words(figures.machine), flush=True)
        bench = Bench(databases, savers, scale, figures)
        asyncio.run(measure(bench, workloads))
    found = targets.outcomes(figures, scale)
    text = report.markdown(figures, found, scale.turns)
    print("\n" + text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "bench.md").write_text(text, encoding="utf-8")
        figures.save(options.out / "bench.json", targets=[vars(outcome) for outcome in found])


if __name__ == "__main__":
    main()
