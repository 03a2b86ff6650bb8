"""What is kept of threads, and for how long: the rules, and what they found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from operator import add
from typing import Any, Literal, NamedTuple

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.views.text import size

Key = tuple[str, str]  # namespace, checkpoint id


@dataclass(frozen=True)
class Retention:
    """Which checkpoints and threads are kept.

    ```python
    Retention(keep_last=50, max_age=timedelta(days=30), thread_ttl=timedelta(days=365))
    ```

    A checkpoint goes if any rule says so. The newest of a thread always stays, so a thread can
    always go on; and so does what a kept one's delta channels are rebuilt from.

    Attributes:
        keep_last: So many of a thread's newest checkpoints stay.
        max_age: Checkpoints older than that go.
        thread_ttl: Threads that nobody wrote to for that long go altogether. One that has a time of
            its own (`thread.set_ttl`) goes by that, whatever stands here.
        keep_labels: Labelled checkpoints stay, and so do threads that have some. "manual", or True:
            those that a person or a program labelled; "all": those that `AutoLabels` labelled, too.
        keep_decisions: Decisions with their rationale and outcome, and what failed, stay listed
            when the checkpoints go that tell of them. They go with their thread.
        forget_after: So long is known which threads were deleted, so that what their runs still
            send is refused. None: for ever.
    """

    keep_last: int | None = None
    max_age: timedelta | None = None
    thread_ttl: timedelta | None = None
    keep_labels: bool | Literal["manual", "all"] = True
    keep_decisions: bool = True
    forget_after: timedelta | None = timedelta(days=30)

    def __post_init__(self) -> None:
        if self.keep_last is not None and (type(self.keep_last) is not int or self.keep_last < 1):
            raise InvalidInput(f"keep_last={self.keep_last!r}: use a whole number, 1 or more")
        if self.keep_labels not in (True, False, "manual", "all"):
            raise InvalidInput(
                f'keep_labels={self.keep_labels!r}: use "manual" (or True), "all", or False'
            )
        for name in ("max_age", "thread_ttl", "forget_after"):
            age = getattr(self, name)
            if age is not None and not (isinstance(age, timedelta) and age > timedelta()):
                raise InvalidInput(f"{name}={age!r}: use a timedelta above zero")

    @property
    def by_checkpoint(self) -> bool:
        """Whether it looks at checkpoints, not only at whole threads."""
        return self.keep_last is not None or self.max_age is not None


class Aged(NamedTuple):
    """A checkpoint, as far as retention asks."""

    ns: str
    id: str
    ts: str | None

    @property
    def key(self) -> Key:
        return self.ns, self.id


Starts = Mapping[str, Key]  # of a subgraph's call: the checkpoint that it started from


def doomed(
    rule: Retention, rows: Sequence[Aged], labels: set[Key], now: datetime, starts: Starts
) -> set[Key]:
    """The checkpoints of a thread that a rule lets go.

    A subgraph that lives on has checkpoints that count by themselves. What a subgraph's call left
    goes with the checkpoint that the call started from.
    """
    gone: set[Key] = set()
    for ns, held in _spaces(rows).items():
        if not is_call(ns):
            _, *others = sorted(held, key=lambda row: row.id, reverse=True)
            for place, row in enumerate(others, 1):
                many = rule.keep_last is not None and place >= rule.keep_last
                old = rule.max_age is not None and is_before(row.ts, now - rule.max_age)
                if (many or old) and row.key not in labels:
                    gone.add(row.key)
    return gone | of_calls(rows, gone, starts)


def of_calls(rows: Sequence[Aged], keys: set[Key], starts: Starts) -> set[Key]:
    """What the calls left that started from these checkpoints, and the calls within them."""
    found: set[Key] = set()
    spaces = _spaces(rows)
    for ns in sorted(filter(is_call, spaces)):  # outer ones first
        start = starts.get(ns)
        if start in keys or start in found:
            found |= {row.key for row in spaces[ns]}
    return found


def is_call(ns: str) -> bool:
    """Whether a namespace is of one call of a subgraph, whose task's id stands behind a colon, or
    within one."""
    return ":" in ns


def _spaces(rows: Iterable[Aged]) -> dict[str, list[Aged]]:
    spaces: dict[str, list[Aged]] = {}
    for row in rows:
        spaces.setdefault(row.ns, []).append(row)
    return spaces


def is_before(ts: str | None, moment: datetime) -> bool:
    """Whether a checkpoint's time is known and earlier."""
    try:
        return ts is not None and datetime.fromisoformat(ts) < moment
    except (ValueError, TypeError):
        return False


@dataclass(frozen=True)
class SweepReport:
    """What a sweep deleted, or would delete."""

    dry_run: bool = False
    threads: int = 0  # whole threads
    checkpoints: int = 0  # with those of whole threads
    writes: int = 0
    events: int = 0
    bytes: int = 0  # that their rows hold, at least
    orphans: int = 0  # checkpoints that are not there, but had rows
    tombstones: int = 0
    left: tuple[str, ...] = ()  # damaged threads, which were not touched

    def __add__(self, other: SweepReport) -> SweepReport:
        _, *sums = map(add, astuple(self), astuple(other))
        return SweepReport(self.dry_run, *sums)

    def __str__(self) -> str:
        verb = "would go" if self.dry_run else "are gone"
        text = (
            f"{count(self.checkpoints, 'checkpoint')} ({count(self.threads, 'whole thread')}) "
            f"{verb}, with {count(self.writes, 'write')}: {size(self.bytes)} or more"
        )
        left = count(len(self.left), "damaged thread")
        return f"{text}; {left} left alone" if self.left else text


@dataclass(frozen=True)
class Size:
    """Rows, and the bytes of what they hold."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.rows + other.rows, self.bytes + other.bytes)


@dataclass(frozen=True)
class SizeReport:
    """Where the bytes of a database are."""

    on_disk: int  # all of it; of SQLite the main file, other programs' tables with it
    free: int | None  # of that, unused (SQLite)
    tables: dict[str, Size]
    threads: dict[str, dict[str, Size]]  # by table; the largest threads first

    def __str__(self) -> str:
        lines = [f"{size(self.on_disk)} on disk"]
        lines += [
            f"{name}: {count(each.rows, 'row')}, {size(each.bytes)}"
            for name, each in self.tables.items()
            if each.rows
        ]
        for id, sizes in self.threads.items():
            whole = sum(sizes.values(), Size())
            lines.append(f"thread {id!r}: {count(whole.rows, 'row')}, {size(whole.bytes)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.html import framed, tag
        from langgraph_wyrd.views.html import table as html_table

        rows = [(name, f"{each.rows:,}", size(each.bytes)) for name, each in self.tables.items()]
        for id, sizes in self.threads.items():
            whole = sum(sizes.values(), Size())
            rows.append((f"thread {id}", f"{whole.rows:,}", size(whole.bytes)))
        head = tag("span", f"{size(self.on_disk)} on disk", class_="w-name")
        return framed(tag("div", head, class_="w-head"), html_table(("", "#rows", "#size"), rows))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
