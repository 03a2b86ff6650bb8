"""What was found damaged in a thread, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "placeholder", "ancestor", "left_out", "empty"]


@dataclass(frozen=True, slots=True)
class Heal:
    """Something damaged that was met while a thread was loaded, and what was done about it.

    `kind` says how far it went: "exact" (restored to the byte, and proven), "placeholder" (a
    message says that it could not be read), "left_out" (a task's writes, so that it runs again; an
    entry of a list), "ancestor" (an earlier checkpoint was taken), "empty" (nothing was readable).
    """

    id: str
    kind: Kind
    thread_id: str
    ns: str
    checkpoint_id: str
    channel: str
    what: str
    at: str
    acknowledged_at: str | None = None
