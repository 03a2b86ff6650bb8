"""Whether rows of the public tables say what the ledger does, as both databases give them."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timezone
from typing import Any

from langgraph_wyrd.store.statements import Row
from langgraph_wyrd.store.values import Codec


def same_item(codec: Codec, one: Row, other: Row, roots: Collection[str]) -> bool:
    """Whether a row of a pillar's table is the one that the ledger makes.

    A later checkpoint of the root may have written it once more: by `changed_in` it is only found
    when a thread is taken back, so it may be newer than the change was, but never older.
    """
    changed, least = one[-2], other[-2]
    late = changed == least or (changed in roots and changed > least)
    return late and same(codec, (*one[:-2], one[-1]), (*other[:-2], other[-1]))


def same(codec: Codec, one: Row, other: Row) -> bool:
    return all(_value(codec, a) == _value(codec, b) for a, b in zip(one, other, strict=True))


def _value(codec: Codec, held: Any) -> Any:
    if isinstance(held, datetime):
        return held.astimezone(timezone.utc).isoformat(timespec="microseconds")
    if isinstance(held, str):
        text = held
        if codec.sealed and held.startswith('"sealed:'):
            text = json.loads(held)
        try:
            return codec.open_text(text)
        except Exception:
            return held
    return held
