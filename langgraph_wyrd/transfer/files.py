"""A thread as a JSON file: what people read and compare, and, on request, all that it takes to
bring the thread back.

One line holds one thing, in the thread's order, so two exports of a thread differ where the thread
does. A value that a checkpoint shares with an earlier one is written once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import xxhash

from langgraph_wyrd.plans.beside import Beside
from langgraph_wyrd.plans.carry import Carried, Times, Told
from langgraph_wyrd.state.codec import to_dict
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.values import Codec, mark
from langgraph_wyrd.transfer.text import FORMAT, SCHEMA, line, one_a_line, shown, sum_of

_READABLE = ["working_state", "labels", "heals", "messages", "history"]
_CARRIED = ("thread_id", "created", "updated", "status", "user_id", "labels", "heals")
LABEL = ("name", "checkpoint_id", "created_at", "automatic", "keys", "missing", "context")
HEAL = ("id", "kind", "ns", "checkpoint_id", "channel", "what", "at", "acknowledged_at")


class Whole:
    """Over all that an import takes: nothing of it may be missing, or be new."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._count = 0
        self._sum = xxhash.xxh3_64(sum_of({name: head[name] for name in _CARRIED}).encode())

    def add(self, record: Mapping[str, Any]) -> None:
        self._count += 1
        self._sum.update(record["sum"].encode())

    def as_dict(self) -> dict[str, Any]:
        return {"checkpoints": self._count, "sum": self._sum.hexdigest()}


# ---- writing


@dataclass
class Letter:
    """A thread being written, as text, piece by piece."""

    codec: Codec
    payloads: bool
    _first: bool = True
    _total: Whole = field(init=False)
    # What was written last of each channel: the marks of a list's elements, or that of all of it.
    _held: dict[tuple[str, str], list[int] | int | None] = field(default_factory=dict)
    _lists: dict[tuple[str, str], list[Any]] = field(default_factory=dict)  # these lists themselves

    def head(
        self,
        thread_id: str,
        times: Times,
        state: WorkingState,
        beside: Beside,
        messages: Sequence[Any] | None,
    ) -> str:
        clear = list(_READABLE)
        sealed = ["payloads"] if self.payloads and self.codec.seals else []
        if self.payloads and not sealed:
            clear.append("payloads")
        parts: dict[str, Any] = {
            "format": FORMAT,
            "schema": SCHEMA,
            "thread_id": thread_id,
            "created": times.created,
            "updated": times.updated,
            "status": times.status,
            "user_id": times.user,
            "payloads": self.payloads,
            "in_the_clear": clear,
            "sealed": sealed,
        }
        lines = [f"{json.dumps(name)}: {line(value)}" for name, value in parts.items()]
        told = json.dumps(to_dict(state, compact=True), ensure_ascii=True, indent=1)
        lines.append(f'"working_state": {told}')
        beside_it = {
            "labels": [dict(zip(LABEL, row, strict=True)) for row in beside.labels],
            "heals": [dict(zip(HEAL, row, strict=True)) for row in beside.heals],
        }
        self._total = Whole({**parts, **beside_it})
        lines += [one_a_line(name, rows) for name, rows in beside_it.items()]
        lines.append(one_a_line("messages", map(shown, messages or ())))
        return "{\n" + ",\n".join(lines) + ',\n"history": [\n'

    def checkpoint(self, carried: Carried, told: Told) -> str:
        """One checkpoint: a line for people, and with its payload one for `import_thread`."""
        read = carried.read
        record: dict[str, Any] = {
            "checkpoint_id": read.id,
            "parent_id": read.parent,
            "ns": read.ns,
            "ts": read.checkpoint.get("ts"),
            "step": read.metadata.get("step"),
            "source": read.metadata.get("source"),
            "run_id": read.metadata.get("run_id"),
            "writes": _written(carried),
        }
        if self.payloads:
            record["payload"] = self._payload(carried, told)
            record["sum"] = sum_of(record)
            self._total.add(record)
        before, self._first = "" if self._first else ",\n", False
        return before + line(record)

    def end(self) -> str:
        whole = f',\n"whole": {line(self._total.as_dict())}' if self.payloads else ""
        return f"\n]{whole}\n}}\n"

    def _payload(self, carried: Carried, told: Told) -> dict[str, Any]:
        read = carried.read
        rest = {k: v for k, v in read.checkpoint.items() if k != "channel_values"}
        values = read.checkpoint["channel_values"]
        return {
            "checkpoint": self._typed(rest),
            "metadata": self._typed(read.metadata),
            "values": {name: self._value(read.ns, name, value) for name, value in values.items()},
            "writes": [
                [*spot, channel, self._typed(value)]
                for spot, (_, channel, value) in zip(carried.spots, read.writes, strict=True)
            ],
            "ledger": [
                [task, n, pillar, op, item, self.codec.seal_text(body), source]
                for task, n, pillar, op, item, body, source in told.events
            ],
        }

    def _value(self, ns: str, name: str, value: Any) -> Any:
        """All of a value, or how it differs from the one before it: a list often goes on."""
        before = self._held.get((ns, name))
        if type(value) is list and self.codec.splices:
            known = before if isinstance(before, list) else []
            now = self._marks(known, self._lists.get((ns, name), ()), value)
            self._held[ns, name], self._lists[ns, name] = now, value
            keep = _alike(known, now)
            return {"keep": keep, "add": [self._typed(each) for each in value[keep:]]}
        whole = self._whole(value)
        self._held[ns, name] = whole
        return (
            {"same": True}
            if whole is not None and whole == before
            else {"whole": self._typed(value)}
        )

    def _marks(self, known: list[int], before: Sequence[Any], value: list[Any]) -> list[int]:
        """Checkpoints that were read together share their elements: each is looked at once."""
        made = [
            at if one is other else mark(self.codec.fingerprint_bytes(other))
            for at, one, other in zip(known, before, value, strict=False)
        ]
        return made + [mark(self.codec.fingerprint_bytes(each)) for each in value[len(made) :]]

    def _whole(self, value: Any) -> int | None:
        try:
            return mark(self.codec.fingerprint_bytes(value))
        except Exception:  # nothing is known of what the serde makes of it
            return None

    def _typed(self, value: Any) -> list[str]:
        kind, data = self.codec.dump_typed(value)
        return [kind, base64.b64encode(data).decode()]


def _alike(before: Sequence[int], now: Sequence[int]) -> int:
    """How many elements two lists begin with alike."""
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            return place
    return min(len(before), len(now))


def _written(carried: Carried) -> list[str]:
    """Who wrote to what."""
    by_path: dict[str, list[str]] = {}
    for spot, (_, channel, _) in zip(carried.spots, carried.read.writes, strict=True):
        node = spot.path.rpartition(", ")[2] if "__pregel_pull" in spot.path else spot.path
        by_path.setdefault(node, []).append(channel)
    return [f"{node or '-'}: {', '.join(names)}" for node, names in by_path.items()]
