"""Small faults put into the code, one at a time: which of them does no test notice?

    python -m tests.campaigns.mutation --n 20                      20 faults in each module
    python -m tests.campaigns.mutation --module codec.delta --all
    python -m tests.campaigns.mutation --module state.fold --only 17 --show

A fault turns a comparison, a constant, `and` and `or` or a condition into its opposite, or takes a
statement away. Each runs the tests of its module, on SQLite, in a process forked from one that has
imported all but this package. Prints the faults that pass every test, and the share of the others.

The tests run without a fault first: they have to pass, and their CPU and wall time set the limits
of the runs that follow. A run that passes a limit is killed, and its fault counts as noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "langgraph_wyrd"
# The tests that are run for a module; without an entry here: for what its name begins with. Those
# that notice most come first: a run ends with the first failure.
_STATE = [
    "tests/test_pillars.py", "tests/test_todos.py", "tests/test_diff.py", "tests/test_due.py",
    "tests/test_signals.py", "tests/test_edit.py", "tests/test_journal.py",
]  # fmt: skip
_ROWS = [
    "tests/test_damage.py", "tests/test_verify.py", "tests/test_doctor.py",
    "tests/test_encryption.py", "tests/test_encryption_keys.py", "tests/test_gone.py",
    "tests/test_lost_tables.py", "tests/test_changed_rows.py",
]  # fmt: skip
_VALUES = [
    "tests/test_deltas.py", "tests/test_messages.py", "tests/test_types_back.py",
    "tests/test_contract.py", "tests/test_migrations.py",
]  # fmt: skip
TESTS = {"codec.delta": _VALUES, "state.fold": _STATE, "state.draft": _STATE, "recovery": _ROWS}
# A run with a fault may take this many times what the tests take without one, and as many seconds.
CPU, WALL = (3, 20), (10, 60)
MEMORY = 6 << 30  # bytes

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_NEAR: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


def faults_at(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """What may be done to one node: a word for it, and a function that does it in place."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (_OPPOSITES, _NEAR):
            if (other := table.get(type(node.ops[0]))) is not None:  # type: ignore[attr-defined]
                yield f"comparison -> {other.__name__}", _setting("ops", [other()])
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"-> {type(other).__name__.lower()}", _setting("op", other)
    elif isinstance(node, ast.BinOp) and (sign := _ARITHMETIC.get(type(node.op))):
        yield f"-> {sign.__name__}", _setting("op", sign())
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", _setting("test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        value = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value!r} -> {value!r}", _setting("value", value)
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        if not isinstance(body, list) or isinstance(node, ast.Module | ast.ClassDef):
            continue
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            if isinstance(statement, ast.Return) and ast.unparse(statement) == "return None":
                continue  # as is done without it
            if isinstance(
                statement,
                ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Raise | ast.Continue,
            ):
                words = ast.unparse(statement).partition("\n")[0][:60]
                yield f"without `{words}`", _without(name, place)


def _setting(name: str, value: Any) -> Any:
    return lambda node: setattr(node, name, value)


def _without(name: str, place: int) -> Any:
    def take(node: ast.AST) -> None:
        held = getattr(node, name)
        held[place] = ast.copy_location(ast.Pass(), held[place])

    return take


def in_functions(tree: ast.Module) -> list[ast.AST]:
    """Every node inside of a function, without annotations, which no code looks at."""
    found: list[ast.AST] = []

    def walk(node: ast.AST, inside: bool) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    within = inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                    if within:
                        found.append(child)
                    walk(child, within)

    walk(tree, False)
    return found


def faults(source: str) -> list[tuple[int, str, int, int]]:
    """Each fault: its line, what it is, the node's place and the fault's place at the node."""
    return [
        (getattr(node, "lineno", 0), what, place, kind)
        for place, node in enumerate(in_functions(ast.parse(source)))
        for kind, (what, _) in enumerate(faults_at(node))
    ]


def with_fault(source: str, place: int, kind: int) -> ast.Module:
    tree = ast.parse(source)
    node = in_functions(tree)[place]
    [*faults_at(node)][kind][1](node)
    return ast.fix_missing_locations(tree)


class _Changed(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> Any:
        return compile(self._tree, self.path, "exec", dont_inherit=True)


class _Finder:
    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        self._name, self._loader, self._path = name, _Changed(name, path, tree), path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self._loader)


class Run(NamedTuple):
    """How the tests of a module ended: `failed`, `passed` or `ran away`, and what they took."""

    ended: str
    cpu: float
    wall: float


def run(tests: list[str], finder: Any, limits: tuple[float, float] | None, show: bool) -> Run:
    """Runs the tests in a forked process, with the module that `finder` gives."""
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        if not show:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        if limits is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limits[0]), int(limits[0]) + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        code = 70
        try:
            if finder is not None:
                sys.meta_path.insert(0, finder)
            import hypothesis
            import pytest

            # An example that fails is enough: it need not be made small.
            made = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
            hypothesis.settings.register_profile("mutation", phases=made, database=None)
            hypothesis.settings.load_profile("mutation")
            options = ["-x", "-q", "-p", "no:cacheprovider", "-k", "not postgres and not memory"]
            code = int(pytest.main([*options, *tests]))
        finally:
            os._exit(code)
    late = float("inf") if limits is None else start + limits[1]
    while not (done := os.wait4(pid, os.WNOHANG))[0]:
        if time.monotonic() > late:
            os.killpg(pid, signal.SIGKILL)
            done = os.wait4(pid, 0)
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what it has started
    code, used = os.waitstatus_to_exitcode(done[1]), done[2]
    ended = "ran away" if code < 0 else "failed" if code else "passed"
    return Run(ended, used.ru_utime + used.ru_stime, time.monotonic() - start)


def limits_of(tests: list[str], show: bool) -> tuple[float, float]:
    """The seconds of CPU and of wall time that these tests may take with a fault."""
    sound = run(tests, None, None, show)
    if sound.ended != "passed":
        sys.exit(f"the tests fail without any fault: {' '.join(tests)} (--show says why)")
    return CPU[0] * sound.cpu + CPU[1], WALL[0] * sound.wall + WALL[1]


def tests_of(module: str) -> list[str]:
    return next(TESTS[each] for each in sorted(TESTS, reverse=True) if module.startswith(each))


def modules() -> list[str]:
    """All that have tests here, as they are named below the package."""
    found = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / PACKAGE).with_suffix("").parts)
        if any(name == each or name.startswith(f"{each}.") for each in TESTS):
            found.append(name)
    return [each for each in found if not each.endswith("__init__")]


def main() -> None:
    parse = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parse.add_argument("--n", type=int, default=20, help="faults of each module, by chance")
    parse.add_argument("--all", action="store_true", help="every fault")
    parse.add_argument("--module", nargs="*", help="modules below the package")
    parse.add_argument("--only", type=int, nargs="*", help="faults by number")
    parse.add_argument("--show", action="store_true", help="what pytest says")
    parse.add_argument("--seed", type=int, default=1)
    asked = parse.parse_args()
    for each in ("hypothesis", "langchain.agents", "langgraph.prebuilt", "psycopg", "pytest"):
        importlib.import_module(each)
    ours = [each for each in sys.modules if each.partition(".")[0] == PACKAGE]
    assert not ours, f"imported already: {ours}"
    tried = survived = 0
    limits: dict[tuple[str, ...], tuple[float, float]] = {}
    for module in asked.module or modules():
        path = ROOT / PACKAGE / f"{module.replace('.', '/')}.py"
        source = path.read_text("utf-8")
        found = [*enumerate(faults(source))]
        if asked.only:
            chosen = [found[n] for n in asked.only]
        else:
            dice = random.Random(asked.seed)
            chosen = found if asked.all else sorted(
                dice.sample(found, min(asked.n, len(found))), key=lambda each: each[0]
            )  # fmt: skip
        tests = tests_of(module)
        if chosen and tuple(tests) not in limits:
            limits[tuple(tests)] = limits_of(tests, asked.show)
        alive = away = 0
        for number, (line, what, place, kind) in chosen:
            finder = _Finder(f"{PACKAGE}.{module}", str(path), with_fault(source, place, kind))
            ended = run(tests, finder, limits[tuple(tests)], asked.show).ended
            alive += ended == "passed"
            away += ended == "ran away"
            if ended != "failed":
                word = "not noticed" if ended == "passed" else ended
                print(f"  {word}: {module} line {line}, fault {number}: {what}", flush=True)
        tried, survived = tried + len(chosen), survived + alive
        print(
            f"{module}: {len(chosen) - alive} of {len(chosen)} noticed, {away} of them by a limit"
            f" ({len(found)} in all)",
            flush=True,
        )
    print(f"{tried - survived} of {tried} faults noticed: {(tried - survived) / max(tried, 1):.0%}")


if __name__ == "__main__":
    main()
