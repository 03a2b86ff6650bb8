"""Labels, records of heals and what is in quarantine: put right where a checksum proves it.

Else nothing of them is believed but their keys: a label stands, and promotes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.healing.flips import unless_vain
from langgraph_wyrd.healing.rows import flipped_back
from langgraph_wyrd.plans import moments
from langgraph_wyrd.plans.labels import label_row
from langgraph_wyrd.plans.shown import to_json
from langgraph_wyrd.plans.sums import (
    heal_sum,
    is_sound_heal,
    is_sound_label,
    is_sound_moved,
    moved_row,
)
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.state import codec as plain
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

LOST = "its record is damaged: what was healed is not known any more"
NOWHERE = "is not what was written, and its checkpoint is not there"
UNKNOWN = "1970-01-01T00:00:00+00:00"  # when something was, that nothing tells any more
Away = Callable[[str, Sequence[object], Row, Tell], list[Tell]]


class Wrong(NamedTuple):
    """A row that is not what was written; `proven`: whether the fixes are. Without any it stays."""

    table: str
    place: str
    what: str
    proven: bool
    fixes: list[Tell]


# ---- labels


def label(codec: Codec, thread_id: str, row: Row) -> Plan[Row | None]:
    """A row of `all_labels` as it was written; None: it can't be had back."""
    found = unless_vain(row, lambda: flipped_back(row, (5, 4, 7, 2, 1, 0), 6, is_sound_label))
    if found is None:
        other = (*row[:3], not row[3], *row[4:])
        found = other if is_sound_label(other) else None
    if found is None and not codec.sealed:
        found = yield from _promoted_again(codec, thread_id, row)
    return found


def _promoted_again(codec: Codec, thread_id: str, row: Row) -> Plan[Row | None]:
    """The same items, out of the state at the checkpoint."""
    try:
        state = yield from moments.state_at(codec, thread_id, row[1])
    except WyrdError:
        return None
    held = {item.key: item for item in state.context}
    wanted = [[], [*held]]
    with suppress(ValueError, TypeError):
        wanted.append([key for key in json.loads(row[4]) if key in held])
    for keys in wanted:
        text = to_json([plain.to_dict(held[key], compact=True) for key in keys])
        for names in (row[4], to_json(keys)):
            tried = (*row[:4], names, *row[5:7], text)
            if is_sound_label(tried):
                return tried
    return None


def hollow_label(row: Row) -> Row:
    """What is left of a label that can't be had back: its name, where it stands, and the time, if
    it is one: no two looks make up different ones."""
    made = label_row(0, row[0], row[1], _time(row[2]), False)[1:]
    return (*made[:6], made[7], made[6])


def labels_right(codec: Codec, number: int, thread_id: str) -> Plan[dict[Row, tuple[Row, bool]]]:
    """What stands for each damaged label, by name and checkpoint; and whether that is proven."""
    found: dict[Row, tuple[Row, bool]] = {}
    for row in (yield Ask("all_labels", (number,))):
        if not is_sound_label(row):
            right = yield from label(codec, thread_id, row)
            found[row[:2]] = (hollow_label(row) if right is None else right, right is not None)
    return found


def _time(held: object) -> str:
    """A time that a damaged row says, if it is one."""
    if isinstance(held, datetime):
        return held.isoformat()
    try:
        return datetime.fromisoformat(str(held).replace("Z", "+00:00")).isoformat()
    except ValueError:
        return UNKNOWN


# ---- records of heals


def heal(row: Row) -> Row | None:
    """A row of `heals` as it was written; None: it can't be had back."""
    return unless_vain(row, lambda: flipped_back(row, (5, 1, 4, 3, 2, 0, 6), 8, is_sound_heal))


def hollow_heal(codec: Codec, row: Row) -> Row:
    """What stands for one that can't be had back."""
    held = (str(row[0]), "left_out", "", "", "", codec.seal_text(LOST), _time(row[6]))
    return (*held, None, heal_sum(*held))


# ---- all of a thread


def wrong(codec: Codec, number: int, thread_id: str, away: Away) -> Plan[list[Wrong]]:
    """What is wrong beside a thread's checkpoints, and what puts it right."""
    found: list[Wrong] = []
    rights = yield from labels_right(codec, number, thread_id)
    ids = (yield Ask("checkpoint_ids", (number,))) if rights else ()
    checkpoints = {row[1] for row in ids if row[0] == ""}
    for row in (yield Ask("all_labels", (number,))):
        if row[:2] in rights:
            right, proven = rights[row[:2]]
            if not proven and row[1] not in checkpoints:
                # Made sound it would be as one of a pruned checkpoint, which is not shown.
                found.append(Wrong("labels", str(row[0]), NOWHERE, False, []))
                continue
            drop = Tell("drop_label", [(number, row[0], row[1])])
            put = Tell("put_label", [(number, *right[:6], right[7], right[6])])
            fixes = [drop, put] if proven else [*away("wyrd_labels", row[:2], row, drop), put]
            found.append(Wrong("labels", str(row[0]), "is not what was written", proven, fixes))
    for row in (yield Ask("heals", (number,))):
        if not is_sound_heal(row):
            right_heal = heal(row)
            proven = right_heal is not None
            made = hollow_heal(codec, row) if right_heal is None else right_heal
            drop = Tell("drop_heal", [(number, row[0])])
            id, kind, ns, checkpoint, channel, what, at, _, total = made
            put = Tell("put_heal", [(number, id, ns, checkpoint, channel, kind, what, at, total)])
            fixes = [drop, put] if proven else [*away("wyrd_heals", row[:1], row, drop), put]
            found.append(Wrong("heals", str(row[0]), "is not what was written", proven, fixes))
    for row in (yield Ask("in_quarantine", (number,))):
        if not is_sound_moved(row):
            right_row = flipped_back(row, (2, 1, 0, 3), 4, is_sound_moved)
            proven = right_row is not None
            if right_row is None:  # kept as it is, and marked
                held = json.dumps({"damaged": str(row[2]).encode(errors="replace").decode()})
                made = moved_row(number, str(row[0]), str(row[1]), held, now())
            else:
                made = moved_row(number, *right_row[:4])
            drop = Tell("drop_moved", [(number, row[0], row[1])])
            fixes = [drop, Tell("put_quarantine", [made])]
            found.append(Wrong("quarantine", str(row[1]), "is not what was moved", proven, fixes))
    return found
