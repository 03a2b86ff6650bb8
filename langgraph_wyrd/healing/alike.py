"""Whether rows of the public tables say what the ledger does, as both databases give them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph_wyrd.plans.weaving import columns, shown_since
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.store.statements import Ask, Plan, Row
from langgraph_wyrd.store.values import Codec

_TABLES = {"todo": "todos", "context": "context", "loop": "open_loops", "intention": "intentions"}


def unlike(
    codec: Codec,
    number: int,
    weave: Weave,
    wanted: Mapping[str, Sequence[Row]],
    user: str | None,
    roots: Collection[str],
    *,
    near: bool,
) -> Plan[list[tuple[str, str, str]]]:
    """What of the public tables differs from the ledger: (table, item, what) each.

    `wanted` are the rows that the ledger makes, `user` whose the thread is, if it says so. `near`:
    a checkpoint is lost, of whose time there is only when its id was made.
    """
    found = []
    for name, table in _TABLES.items():
        here = {row[2]: row for row in (yield Ask(f"shown_{name}s", (number,)))}
        there = {row[2]: row for row in wanted.get(f"put_{name}", ())}
        for id in sorted({*map(str, here), *map(str, there)}):
            one, other = here.get(id), there.get(id)
            if one is None or other is None:
                found.append((table, id, "is missing" if one is None else "is not in the ledger"))
            elif not same_item(codec, one, other, roots, near=near):
                found.append((table, id, "is not what the ledger says"))
    shown = (yield Ask("shown_thread", (number,)))[0]
    told = list(columns(codec, shown_since(weave, shown[2]), user))
    told[3] = told[3] or None
    if told[4] is None:  # nobody said whose it is: it may be known from elsewhere
        told[4] = shown[4]
    if weave.top is not None and not same(codec, shown, tuple(told)):
        what = "status, reason, due, title, user or counts differ from the ledger"
        found.append(("threads", "columns", what))
    return found


def same_item(
    codec: Codec, one: Row, other: Row, roots: Collection[str], *, near: bool = False
) -> bool:
    """Whether a row of a pillar's table is the one that the ledger makes.

    A later checkpoint of the root may have written it once more: by `changed_in` it is only found
    when a thread is taken back, so it may be newer than the change was, but never older.
    """
    changed, least = one[-2], other[-2]
    late = changed == least or (changed in roots and changed > least)
    return late and same(codec, (*one[:-2], one[-1]), (*other[:-2], other[-1]), near=near)


def same(codec: Codec, one: Row, other: Row, *, near: bool = False) -> bool:
    values = [(_value(codec, a), _value(codec, b)) for a, b in zip(one, other, strict=True)]
    return all(a == b or (near and _same_moment(a, b)) for a, b in values)


def _same_moment(one: Any, other: Any) -> bool:
    try:
        apart = datetime.fromisoformat(one) - datetime.fromisoformat(other)
    except (TypeError, ValueError):  # they are no times
        return False
    return abs(apart) < timedelta(seconds=1)


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
