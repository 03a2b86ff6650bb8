"""What a thread has beside its checkpoints, on its way to another database: labels and heals."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any

from langgraph_wyrd.plans.labels import label_row
from langgraph_wyrd.plans.shown import to_json
from langgraph_wyrd.plans.sums import heal_sum, is_sound_heal, is_sound_label
from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

logger = logging.getLogger("langgraph_wyrd")


@dataclass(frozen=True, slots=True)
class Beside:
    """Labels and heals as plain data: names and ids in stored form, texts opened, times as ISO."""

    labels: list[Row]  # name, checkpoint, created_at, automatic, keys, missing, context
    heals: list[Row]  # id, kind, ns, checkpoint, channel, what, healed_at, acknowledged_at


def beside(codec: Codec, thread_id: str) -> Plan[Beside]:
    """What lies beside a thread."""
    found = yield Ask("find_thread", (thread_key(thread_id),))
    if not found:
        return Beside([], [])
    number = found[0][0]
    labels, heals = yield [Ask("labels_whole", (number,)), Ask("heals", (number,))]
    return Beside(
        [
            (
                name, checkpoint, iso(created), bool(automatic), json.loads(keys),
                json.loads(missing), promoted(codec, context),
            )
            for name, checkpoint, created, automatic, keys, missing, _, context in filter(
                partial(_sound, is_sound_label, "label"), labels
            )
        ],
        [
            (*row[:5], codec.open_text(what), iso(at), None if seen is None else iso(seen))
            for *row, what, at, seen, _ in filter(partial(_sound, is_sound_heal, "heal"), heals)
        ],
    )  # fmt: skip


def _sound(is_sound: Callable[[Row], bool], what: str, row: Row) -> bool:
    if is_sound(row):
        return True
    logger.warning("%s %s is damaged, and stays behind: verify() tells more", what, row[0])
    return False


def put_beside(codec: Codec, thread_id: str, there: Beside) -> Plan[int]:
    """Put them beside the thread here; how many rows were others. Nothing is taken away: what was
    labelled, or seen, here only stays so."""
    here = yield from beside(codec, thread_id)
    labels = [row for row in there.labels if row not in here.labels]
    heals = [row for row in there.heals if row not in here.heals]
    found = yield Ask("lock_thread", (thread_key(thread_id),))
    if not found or not (labels or heals):
        return 0
    number = found[0][0]
    yield Tell(
        "put_label",
        [
            label_row(
                number, name, checkpoint, created, automatic, to_json(keys), to_json(missing),
                packed(codec, items),
            )
            for name, checkpoint, created, automatic, keys, missing, items in labels
        ],
    )  # fmt: skip
    yield Tell(
        "carry_heal",
        [
            (number, *held, text, at, seen, heal_sum(*held, text, at))
            for id, kind, ns, checkpoint, channel, what, at, seen in heals
            for held, text in [((id, kind, ns, checkpoint, channel), codec.seal_text(what))]
        ],
    )
    return len(labels) + len(heals)


def packed(codec: Codec, items: Any) -> str:
    """What a label promoted, as its column holds it: JSON, or sealed JSON in a JSON string."""
    text = to_json(items)
    sealed = codec.seal_text(text)
    return text if sealed is text else to_json(sealed)


def promoted(codec: Codec, text: str) -> Any:
    """What a label promoted."""
    held = json.loads(text)
    if isinstance(held, str) or (held and codec.refuses_plain):
        return json.loads(codec.open_text(str(held)))
    return held


def iso(moment: str | datetime) -> str:
    """Postgres gives a time, SQLite the text that it was given."""
    if isinstance(moment, str):
        return moment
    return moment.astimezone(timezone.utc).isoformat()
