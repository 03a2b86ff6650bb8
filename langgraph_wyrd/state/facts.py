"""What an extractor may say: facts that a checkpoint or a task's write gives evidence of.

Facts know nothing of what was known before; `fold` makes events of those that change something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from langgraph_wyrd.state.model import Aim, Confidence, LoopKind, Source, TodoStatus, plain_data


@plain_data
class Opens:
    """Something waits. The same `kind` and `ref` again is the same loop, not another one."""

    kind: LoopKind
    description: str
    source: Source
    ref: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence = "structural"


@plain_data
class Settles:
    """Loops of these kinds are over: the one with this `ref`, or (None) every one of them.

    `item` names one loop by its own id, for one that has no ref.
    """

    kinds: tuple[LoopKind, ...]
    outcome: str
    source: Source
    ref: str | None = None
    item: str | None = None


@plain_data
class Reopens:
    """A closed loop waits again: what closed it was not the end of it. `item` is its id."""

    item: str
    source: Source


@plain_data
class Listed:
    """One entry of a tracker's list."""

    content: str
    status: TodoStatus = "pending"
    priority: str = "medium"
    ref: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@plain_data
class Todos:
    """A tracker's whole list, as it stands now."""

    tracker: str
    items: tuple[Listed, ...]
    source: Source
    confidence: Confidence = "structural"


@plain_data
class Wants:
    """What the agent is to be after from now on."""

    text: str
    aim: Aim
    source: Source
    confidence: Confidence = "structural"


@plain_data
class Drops:
    """What was wanted is over: taken back, answered, refused, called off."""

    aim: Aim
    source: Source
    outcome: str = "taken back"


@plain_data
class Resumes:
    """What was wanted last is wanted again."""

    aim: Aim
    source: Source


@plain_data
class Holds:
    """A context entry: plain JSON data, bounded."""

    key: str
    value: Any
    source: Source
    metadata: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence = "structural"


@plain_data
class Forgets:
    """A context entry is gone."""

    key: str
    source: Source


Fact = Opens | Settles | Reopens | Todos | Wants | Drops | Resumes | Holds | Forgets

# Loops by these rules belong to the leaf of a namespace: whatever comes after closes them.
PASSING = frozenset(("interrupt", "task_error"))
