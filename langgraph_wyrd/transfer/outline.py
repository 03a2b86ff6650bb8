"""Which checkpoints a thread has, and where each pending write stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Key = tuple[str, str]  # namespace, checkpoint id: as they were given


class Spot(NamedTuple):
    """Where a write stands: what orders the writes of a checkpoint."""

    path: str
    task: str
    idx: int


@dataclass(frozen=True, slots=True)
class Outline:
    """Which checkpoints a thread has, under which parents, and how many writes each.

    The lowest number of a write is below zero where there are control writes, which may be
    replaced; all others stay as they are.
    """

    parents: dict[Key, str | None]
    writes: dict[Key, tuple[int, int]]  # how many, the lowest number

    def fixed(self, key: Key) -> bool:
        """Whether the writes of a checkpoint may only grow in number."""
        return self.writes.get(key, (0, 0))[1] >= 0


def in_order(outline: Outline) -> list[Key]:
    """Parents before children, else by their ids."""
    parents = outline.parents
    order: dict[Key, None] = {}
    for first in sorted(parents, key=lambda key: (key[1], key[0])):
        path, key = [], first
        while key in parents and key not in order and key not in path:
            path.append(key)
            key = (key[0], parents[key] or "")
        order.update(dict.fromkeys(reversed(path)))
    return list(order)
