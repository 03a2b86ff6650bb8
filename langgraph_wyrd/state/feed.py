"""What happened, across threads, as a list that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One change of a thread's working state.

    `kind` is the pillar and what was done, as "loop.open" or "todo.close". `body` has the item's
    fields as they were set, `source` where it was seen.
    """

    thread_id: str
    kind: str
    item: str = ""
    at: str | None = None
    checkpoint_id: str | None = None
    ns: str = ""
    body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: Mapping[str, Any] = field(default_factory=dict, hash=False)
    author: str | None = None  # who declared it
    run_id: str | None = None
    task_id: str | None = None  # the task that said it, before the next checkpoint did
    declared: bool = False  # said by a person or an agent, not read out of a checkpoint
