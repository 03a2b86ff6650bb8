"""Every branch that heals, taken out one at a time: some test must fail without it.

    python -m tests.campaigns.mutants [--only a word] [--jobs 2]

Each mutant is a textual change to a copy of the package; its tests are run against the copy, on
SQLite. A mutant that no test notices survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.campaigns.mutant import M
from tests.campaigns.mutants_around import AROUND
from tests.campaigns.mutants_gone import LOST
from tests.campaigns.mutants_loads import LOADS
from tests.campaigns.mutants_rare import HARDLY
from tests.campaigns.mutants_repairs import REPAIRS
from tests.campaigns.mutants_rows import ROWS_RIGHT
from tests.campaigns.mutants_sealed import SEALED_AND_KEPT
from tests.campaigns.mutants_splices import SPLICES
from tests.campaigns.mutants_writes import WRITES

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = (
    *ROWS_RIGHT,
    *LOADS,
    *REPAIRS,
    *AROUND,
    *SEALED_AND_KEPT,
    *LOST,
    *WRITES,
    *SPLICES,
    *HARDLY,
)


def source(mutant: M, root: Path = ROOT) -> Path:
    """The file that it changes."""
    module = mutant.module if mutant.module.endswith(".sql") else f"{mutant.module}.py"
    return root / "langgraph_wyrd" / module


def survives(mutant: M) -> str | None:
    """What is wrong: no test failed, or there was none to fail."""
    with tempfile.TemporaryDirectory(prefix="wyrd-mutant-") as folder:
        place = Path(folder)
        shutil.copytree(ROOT / "langgraph_wyrd", place / "langgraph_wyrd")
        shutil.copytree(ROOT / "tests", place / "tests")
        shutil.copy(ROOT / "pyproject.toml", place)
        path = source(mutant, place)
        text = path.read_text()
        if text.count(mutant.old) < 1:
            return "its text is not there any more"
        path.write_text(text.replace(mutant.old, mutant.new))
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header",
            f"tests/{mutant.test}", "-k", f"({mutant.which}) and not postgres", "--rootdir", folder,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=folder, text=True, errors="replace", capture_output=True, timeout=200,
                env={**os.environ, "PYTHONPATH": folder, "WYRD_MORE": "1"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "its tests hang without it"
    if done.returncode == 1:
        return None
    if done.returncode == 0:
        return "no test fails without it"
    return f"its tests can't be run: {done.stdout[-300:]}{done.stderr[-300:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="those whose name or test has this word")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    chosen = [each for each in MUTANTS if given.only in f"{each.name} {each.test} {each.module}"]
    survivors = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for mutant, said in zip(chosen, pool.map(survives, chosen), strict=True):
            survivors += said is not None
            print("survives" if said else "dies    ", mutant.name, said or "", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survivors")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
