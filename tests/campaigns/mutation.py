"""Small faults put into the code, one at a time: which of them does no test notice?

    python -m tests.campaigns.mutation --n 20                      20 faults in each module
    python -m tests.campaigns.mutation --module codec.delta --all
    python -m tests.campaigns.mutation --module state.fold --only 17 --show

A fault turns a comparison, a constant, `and` and `or` or a condition into its opposite, or takes a
statement away. Prints the faults that pass every test, and the share of the others.

The tests of a module run without a fault first: they have to pass, and which of them reach which
statement is recorded. A fault then runs those that reach its statement, the quickest first, on
SQLite, in a process forked from one that has imported all but this package. What tests do in
processes of their own is not seen. A run that takes many times as long is killed, and its fault
counts as noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "langgraph_wyrd"
# The tests that are run for a module; without an entry here: for what its name begins with.
_STATE = """
    pillars todos provenance diff due signals edit journal who_owes conversation rewind
"""
_ROWS = """
    damage beyond_repair verify lost_tables changed_rows sealed_rows export hooks user_data
    encryption encryption_keys labels delta_channels migrations journal across types_verified
    moved_files
"""
_VALUES = """
    deltas messages delta_channels payloads types_back contract migrations in_place storage_cost
"""
TESTS = {
    module: [f"tests/test_{name}.py" for name in names.split()]
    for module, names in (
        ("codec.delta", _VALUES), ("state.fold", _STATE), ("state.draft", _STATE),
        ("recovery", _ROWS), ("storage.parity", _ROWS),
    )
}  # fmt: skip
# A run with a fault may take this many times what its tests take without one, and as many seconds.
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


def faults_at(node: ast.AST) -> Iterator[tuple[str, Any, int | None]]:
    """What may be done to one node: a word for it, a function that does it in place, and the line
    of the statement inside of it that is concerned."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (_OPPOSITES, _NEAR):
            if (other := table.get(type(node.ops[0]))) is not None:  # type: ignore[attr-defined]
                yield f"comparison -> {other.__name__}", _setting("ops", [other()]), None
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"-> {type(other).__name__.lower()}", _setting("op", other), None
    elif isinstance(node, ast.BinOp) and (sign := _ARITHMETIC.get(type(node.op))):
        yield f"-> {sign.__name__}", _setting("op", sign()), None
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", _setting("test", ast.UnaryOp(ast.Not(), node.test)), None
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        value = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value!r} -> {value!r}", _setting("value", value), None
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
                yield f"without `{words}`", _without(name, place), statement.lineno


def _setting(name: str, value: Any) -> Any:
    return lambda node: setattr(node, name, value)


def _without(name: str, place: int) -> Any:
    def take(node: ast.AST) -> None:
        held = getattr(node, name)
        held[place] = ast.copy_location(ast.Pass(), held[place])

    return take


class Place(NamedTuple):
    """A node inside of a function, and the line of the statement that has to run to reach it."""

    node: ast.AST
    line: int


def in_functions(tree: ast.Module) -> list[Place]:
    """Every node inside of a function, without what makes no difference: annotations, `strict=`."""
    found: list[Place] = []

    def walk(node: ast.AST, line: int | None) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue  # of `zip`: says what is so anyway
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                at = line
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                    at = _first(child).lineno  # its defaults count as used when it is called
                elif at is not None and isinstance(child, ast.stmt):
                    at = child.lineno
                if at is not None:
                    found.append(Place(child, at))
                walk(child, at)

    walk(tree, None)
    return found


def _first(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The first statement of a function behind its docstring."""
    return function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]


def recorded(source: str) -> ast.Module:
    """The module, with a call of `_reached(line)` before each statement of its functions."""
    tree = ast.parse(source)
    for node, _ in in_functions(tree):
        for name in ("body", "orelse", "finalbody"):
            held = getattr(node, name, None)
            if not isinstance(held, list) or isinstance(node, ast.ClassDef):
                continue
            made: list[ast.stmt] = []
            for statement in held:
                if not (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                ):
                    made.append(ast.parse(f"_reached({statement.lineno})").body[0])
                made.append(statement)
            setattr(node, name, made)
    return ast.fix_missing_locations(tree)


class Fault(NamedTuple):
    """A fault: where it is, what it is, and which statement has to run to meet it."""

    line: int
    what: str
    place: int
    kind: int
    statement: int


def faults(source: str) -> list[Fault]:
    found = []
    for place, (node, line) in enumerate(in_functions(ast.parse(source))):
        for kind, (what, _, inner) in enumerate(faults_at(node)):
            found.append(Fault(getattr(node, "lineno", line), what, place, kind, inner or line))
    return found


def with_fault(source: str, place: int, kind: int) -> ast.Module:
    tree = ast.parse(source)
    node = in_functions(tree)[place].node
    [*faults_at(node)][kind][1](node)
    return ast.fix_missing_locations(tree)


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads a module from another tree than that of its source."""

    def __init__(self, name: str, path: str, tree: ast.Module, reached: Any) -> None:
        super().__init__(name, path)
        self._tree, self._reached = tree, reached

    def get_code(self, fullname: str) -> Any:
        return compile(self._tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: Any) -> None:
        module._reached = self._reached
        super().exec_module(module)


class _Finder:
    def __init__(self, module: str, tree: ast.Module, reached: Any = None) -> None:
        self._name, self._path = f"{PACKAGE}.{module}", str(path_of(module))
        self._loader = _Changed(self._name, self._path, tree, reached)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self._loader)


class Test(NamedTuple):
    """A test, and how long it takes."""

    id: str
    seconds: float


# Of each module and line, the tests that reach the statement there.
Reach = dict[tuple[str, int], list[Test]]


class _Recorder:
    """A plugin of pytest: writes down which statements each test reaches."""

    def __init__(self, modules: Sequence[str], out: Path) -> None:
        self._lines: set[tuple[str, int]] = set()
        self._out = out
        for module in modules:
            tree = recorded(path_of(module).read_text("utf-8"))
            sys.meta_path.insert(0, _Finder(module, tree, self._noting(module)))

    def _noting(self, module: str) -> Callable[[int], None]:
        return lambda line: self._lines.add((module, line))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        took = time.monotonic() - self._start
        with self._out.open("a", encoding="utf-8") as file:
            file.write(json.dumps([nodeid, took, sorted(self._lines)]) + "\n")
        self._lines.clear()

    def pytest_runtest_logstart(self) -> None:
        self._start = time.monotonic()


class _Chosen:
    """A plugin of pytest: runs only these tests, in their order."""

    def __init__(self, tests: Sequence[Test]) -> None:
        self._order = {test.id: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (each for each in items if each.nodeid in self._order),
            key=lambda each: self._order[each.nodeid],
        )


def run(
    files: Sequence[str], plugin: Callable[[], Any], limits: tuple[float, float] | None, show: bool
) -> str:
    """Runs tests in a forked process; how that ended: `failed`, `passed` or `ran away`."""
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
            import hypothesis
            import pytest

            # An example that fails is enough: it need not be made small.
            made = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
            hypothesis.settings.register_profile("mutation", phases=made, database=None)
            hypothesis.settings.load_profile("mutation")
            options = ["-x", "-q", "-p", "no:cacheprovider", "-k", "not postgres and not memory"]
            code = int(pytest.main([*options, *files], plugins=[plugin()]))
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
    code = os.waitstatus_to_exitcode(done[1])
    return "ran away" if code < 0 else "failed" if code else "passed"


def record(modules: Sequence[str], files: Sequence[str], out: Path, show: bool) -> None:
    """Run tests without a fault, and write down what they reach."""
    if run(files, lambda: _Recorder(modules, out), None, show) != "passed":
        sys.exit(f"the tests fail without any fault: {' '.join(files)} (--show says why)")


def reach(record: Path) -> Reach:
    """What the tests of a record reach, the quickest first."""
    found: Reach = defaultdict(list)
    for line in record.read_text("utf-8").splitlines():
        id, seconds, lines = json.loads(line)
        for module, at in lines:
            found[module, at].append(Test(id, seconds))
    for tests in found.values():
        tests.sort(key=lambda test: test.seconds)
    return found


def noticed(module: str, fault: Fault, tests: Sequence[Test], show: bool) -> str:
    """How the tests that reach a fault end with it."""
    tree = with_fault(path_of(module).read_text("utf-8"), fault.place, fault.kind)
    seconds = sum(test.seconds for test in tests)
    limits = CPU[0] * seconds + CPU[1], WALL[0] * seconds + WALL[1]

    def plugin() -> _Chosen:
        sys.meta_path.insert(0, _Finder(module, tree))
        return _Chosen(tests)

    files = dict.fromkeys(test.id.partition("::")[0] for test in tests)
    return run([*files], plugin, limits, show)


def path_of(module: str) -> Path:
    return ROOT / PACKAGE / f"{module.replace('.', '/')}.py"


def group_of(module: str) -> str:
    """The entry of TESTS that is a module's."""
    return next(each for each in sorted(TESTS, reverse=True) if module.startswith(each))


def modules() -> list[str]:
    """All that have tests here, as they are named below the package."""
    found = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / PACKAGE).with_suffix("").parts)
        if any(name == each or name.startswith(f"{each}.") for each in TESTS):
            found.append(name)
    return [each for each in found if not each.endswith("__init__")]


def chosen(module: str, asked: argparse.Namespace) -> list[tuple[int, Fault]]:
    """The faults of a module to try, with their numbers."""
    found = [*enumerate(faults(path_of(module).read_text("utf-8")))]
    if asked.only:
        return [found[number] for number in asked.only]
    if asked.all:
        return found
    return sorted(random.Random(asked.seed).sample(found, min(asked.n, len(found))))


def main() -> None:
    parse = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parse.add_argument("--n", type=int, default=20, help="faults of each module, by chance")
    parse.add_argument("--all", action="store_true", help="every fault")
    parse.add_argument("--module", nargs="*", help="modules below the package")
    parse.add_argument("--only", type=int, nargs="*", help="faults by number")
    parse.add_argument("--tests", nargs="*", help="files of tests, instead of the module's own")
    parse.add_argument("--record", type=Path, help="what tests reach: a file, made if need be")
    parse.add_argument("--show", action="store_true", help="what pytest says")
    parse.add_argument("--seed", type=int, default=1)
    asked = parse.parse_args()
    for each in ("hypothesis", "langchain.agents", "langgraph.prebuilt", "psycopg", "pytest"):
        importlib.import_module(each)
    ours = [each for each in sys.modules if each.partition(".")[0] == PACKAGE]
    assert not ours, f"imported already: {ours}"
    groups: dict[str, list[str]] = defaultdict(list)
    for module in asked.module or modules():
        groups[group_of(module)].append(module)
    tried = survived = 0
    for group, members in groups.items():
        with tempfile.TemporaryDirectory() as folder:
            out = asked.record or Path(folder) / "reached.jsonl"
            if not out.exists():
                record(members, asked.tests or TESTS[group], out, asked.show)
            reached = reach(out)
        for module in members:
            tries = chosen(module, asked)
            ends: Counter[str] = Counter()
            for number, fault in tries:
                tests = reached.get((module, fault.statement), [])
                ended = noticed(module, fault, tests, asked.show) if tests else "not reached"
                ends[ended] += 1
                if ended != "failed":
                    word = f"not noticed by {len(tests)}" if ended == "passed" else ended
                    print(
                        f"  {word}: {module} line {fault.line}, fault {number}: {fault.what}",
                        flush=True,
                    )
            alive = ends["passed"] + ends["not reached"]
            tried, survived = tried + len(tries), survived + alive
            print(
                f"{module}: {len(tries) - alive} of {len(tries)} noticed, {ends['ran away']} of"
                f" them by a limit; {ends['not reached']} that no test reaches",
                flush=True,
            )
    print(f"{tried - survived} of {tried} faults noticed: {(tried - survived) / max(tried, 1):.0%}")


if __name__ == "__main__":
    main()
