"""Labels, as plans find and set them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans.sums import is_sound_label, label_sum
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.woven import Weave, Woven
from langgraph_wyrd.state.labels import INTERRUPT, RUN_END, TODOS_COMPLETED, AutoLabels
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan, Row

NOT_RUNS = ("update", "fork")  # sources of checkpoints that no run made


def label_at(number: int, name: str) -> Plan[str | None]:
    """The checkpoint that a label names: the newest of that name."""
    rows = yield Ask("label_at", (number, name))
    if rows:
        return str(rows[0][0])
    held = [checked_label(row) for row in (yield from there(number)) if row[0] == name]
    return max((row[1] for row in held), default=None)


def there(number: int) -> Plan[list[Row]]:
    """A thread's labels, but for those of checkpoints that are not there: unless that is damage."""
    rows = yield Ask("labels", (number,))
    return [row[:7] for row in rows if row[7] or not is_sound_label(row[:7])]


def labels_on(number: int, ids: Collection[str]) -> Plan[dict[str, tuple[str, ...]]]:
    """The labels of some checkpoints, by name."""
    found: dict[str, list[str]] = {}
    for row in (yield from there(number)):
        name, checkpoint = checked_label(row)[:2]
        if checkpoint in ids:
            found.setdefault(checkpoint, []).append(given(name))
    return {checkpoint: tuple(names) for checkpoint, names in found.items()}


def checked_label(row: Row) -> Row:
    """A row of `labels` or `get_label`, after its checksum."""
    if not is_sound_label(row):
        raise CheckpointDamaged(f"label {given(row[0])!r} is damaged")
    return row


def label_row(
    number: int, name: str, checkpoint: str, created: str, automatic: bool, keys: str = "[]",
    missing: str = "[]", context: str = "[]",
) -> Row:  # fmt: skip
    """A row of wyrd_labels."""
    held = (name, checkpoint, created, automatic, keys, missing, context)
    return (number, *held, label_sum(*held))


# ---- set on boundaries, in the transaction of the write that meets one


def boundaries(
    policy: AutoLabels, ns: str, source: str | None, before: Woven | None, woven: Woven,
    weave: Weave,
) -> tuple[list[str], Weave]:  # fmt: skip
    """The labels that a put of the head, or of a subgraph that runs there, sets at the head."""
    names = []
    if policy.todos_completed and _completed(before, woven) and not weave.shown.open_todos:
        names.append(TODOS_COMPLETED)
    if ns != "":
        return names, weave
    if policy.run_end and not woven.due and source not in NOT_RUNS:
        names.append(RUN_END)
    if policy.every is not None and weave.unlabelled is not None:
        count = weave.unlabelled + 1
        if count >= policy.every:
            names.append(policy.every_name)
            count = 0
        weave = replace(weave, unlabelled=count)
    return names, weave


def must_count(policy: AutoLabels | None, ns: str, weave: Weave) -> bool:
    """Whether the checkpoints since the last "every-N" have to be counted first."""
    counts = policy is not None and policy.every is not None and ns == ""
    return counts and weave.unlabelled is None


def counted(policy: AutoLabels, number: int, weave: Weave) -> Plan[Weave]:
    rows = yield Ask("roots_since", (number, number, policy.every_name))
    return replace(weave, unlabelled=rows[0][0])


def automatic_rows(number: int, checkpoint: str, names: Iterable[str]) -> list[Row]:
    made = now()
    return [label_row(number, name, checkpoint, made, True) for name in names]


def interrupt_rows(
    policy: AutoLabels | None, number: int, ns: str, checkpoint: str, channels: Iterable[str]
) -> list[Row]:
    """The label that a task's writes set, if they ask something."""
    asks = policy is not None and policy.interrupt and ns == "" and "__interrupt__" in channels
    return automatic_rows(number, checkpoint, [INTERRUPT]) if asks else []


def _completed(before: Woven | None, woven: Woven) -> bool:
    """Whether the last of some open todos was completed, rather than given up."""
    if before is None:
        return False
    open_before = {todo.id for todo in before.state.todos if todo.open}
    if not open_before or any(todo.open for todo in woven.state.todos):
        return False
    return any(t.id in open_before and t.status == "completed" for t in woven.state.todos)
