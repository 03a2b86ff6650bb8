"""Labels set, found and removed by whoever asks for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from langgraph_wyrd.plans import moments
from langgraph_wyrd.plans.beside import iso, packed, promoted
from langgraph_wyrd.plans.labels import checked_label, label_at, label_row, there
from langgraph_wyrd.plans.shown import to_json
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.state import codec as plain
from langgraph_wyrd.state.labels import Label
from langgraph_wyrd.state.model import ContextItem
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

Point = str | datetime | None


@dataclass(frozen=True, slots=True)
class Labelling:
    """The labels of one thread. Names are in stored form."""

    codec: Codec
    thread_id: str

    def put(self, name: str, at: Point, keys: Sequence[str] | None) -> Plan[Label | None]:
        """Label a point; None if there is no such point."""
        found = yield Ask("lock_thread", (thread_key(self.thread_id),))
        if not found:
            return None
        number = found[0][0]
        id = yield from moments.checkpoint_at(number, at)
        state = None
        if id is not None:
            state = yield from moments.state_at(self.codec, self.thread_id, id)
        if id is None or state is None:
            return None
        held = {item.key: item for item in state.context}
        wanted = [*held] if keys is None else list(dict.fromkeys(keys))
        items = tuple(held[key] for key in wanted if key in held)
        missing = tuple(key for key in wanted if key not in held)
        label = Label(
            given(name), given(id), now(), tuple(item.key for item in items), missing, items
        )
        row = label_row(
            number, name, id, label.created_at, False, to_json(label.keys), to_json(missing),
            packed(self.codec, [plain.to_dict(item, compact=True) for item in items]),
        )  # fmt: skip
        # Whoever is about to let the checkpoint go must look again.
        yield [Tell("put_label", [row]), Tell("tidy", [(found[0][2], number)])]
        return label

    def all(self) -> Plan[list[Label]]:
        """Every label, oldest checkpoint first, without what was promoted."""
        found = yield Ask("find_thread", (thread_key(self.thread_id),))
        if not found:
            return []
        rows = yield from there(found[0][0])
        return [self._label(row) for row in rows]

    def newest(self, name: str) -> Plan[Label | None]:
        """The label of that name at the newest checkpoint."""
        found = yield Ask("find_thread", (thread_key(self.thread_id),))
        if not found:
            return None
        number = found[0][0]
        id = yield from label_at(number, name)
        if id is None:
            for row in (yield from there(number)):
                checked_label(row)  # one whose name is damaged may be the one
            return None
        rows = yield Ask("get_label", (number, name, id))
        return self._label(rows[0]) if rows else None

    def _label(self, row: Row) -> Label:
        name, checkpoint, created, automatic, keys, missing, _, *context = checked_label(row)
        items = promoted(self.codec, context[0]) if context else []
        return Label(
            given(name),
            given(checkpoint),
            iso(created),
            tuple(json.loads(keys)),
            tuple(json.loads(missing)),
            tuple(plain.from_dict(ContextItem, each) for each in items),
            bool(automatic),
        )


@dataclass(slots=True)
class Unlabel:
    """Take a label off a point, or (None) off its newest checkpoint."""

    thread_id: str
    name: str
    at: Point
    id: str | None = None  # of a first try, whose commit's answer may have been lost

    def plan(self) -> Plan[bool]:
        """Whether it was there."""
        found = yield Ask("lock_thread", (thread_key(self.thread_id),))
        if not found:
            return False
        number = found[0][0]
        if self.id is None:
            if self.at is None:
                id = yield from label_at(number, self.name)
            else:
                id = yield from moments.checkpoint_at(number, self.at)
            if id is None or not (yield Ask("get_label", (number, self.name, id))):
                return False
            self.id = id
        yield Tell("drop_label", [(number, self.name, self.id)])
        return True
