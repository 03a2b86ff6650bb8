"""Snapshots: when a put makes one, and its rows. They only save reading, and can be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph_wyrd.checkpoints import user_values
from langgraph_wyrd.checkpoints.cache import Namespace
from langgraph_wyrd.codec.delta import whole
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.state.codec import NAMES, from_rows, row_of
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.names import stored
from langgraph_wyrd.storage.rows import insert, now, summed
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import SNAPSHOTS, SnapshotRow

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.put import Put

SLACK = 8 << 10  # bytes of deltas that are always read rather than a snapshot made
MOST_ROWS = 1000  # deltas between two snapshots
OWN_ROW = 4096  # bytes from which a channel has a row of its own
# Bytes from which a snapshot's row is compressed. That takes as long as all else that a put does,
# and a short thread has a new snapshot every few turns, which takes the place of an older one.
COMPRESS_FROM = 32 << 10

_PUT = insert(SNAPSHOTS)
_DROP = "DELETE FROM wyrd_snapshots WHERE thread = ? AND ns = ? AND checkpoint < ?"


def is_due(space: Namespace) -> bool:
    """Whether the deltas since the last snapshot outweigh a quarter of what a new one takes."""
    if space.rows > MOST_ROWS:
        return True
    return (
        space.grown > SLACK
        and space.grown > sum([known.size for known in space.channels.values()]) // 4
    )


def steps(codec: Codec, key: Any, put: Put, space: Namespace) -> list[Step]:
    """Make a snapshot of a checkpoint. The one before it stays, for those who go back a little;
    older ones go."""
    made = _rows(codec, key, put, space)
    if space.snapshot is not None:
        made.append(Step(_DROP, (key, put.ns, space.snapshot)))
        if space.owners:
            made.append(Step(user_values.SETTLE_SNAPSHOTS, (key, key)))
    space.rows = space.grown = 0
    space.snapshot = put.id
    return made


def _rows(codec: Codec, key: Any, put: Put, space: Namespace) -> list[Step]:
    """The rows of a snapshot: large channels in their own, everything else in one."""
    small: dict[str, Any] = {}
    rows: list[Step] = []
    held: user_values.Held = {}
    for name, held_now in {**put.values, **put.owned}.items():
        if name not in space.channels:
            continue  # it was erased
        value = space.joins.get(name, held_now)  # as it was stored: the graph fills its own set
        made = whole(codec, value, name, space.channels[name])
        if name in space.owners:
            rest = None
            if name in put.owned and name in put.values:
                rest = whole(codec, put.values[name], name)
            held.setdefault(space.owners[name], {})[name] = made
            small[name] = user_values.ref(space.owners[name], rest)
            continue
        if space.channels[name].size > OWN_ROW and name:
            channel = stored(name, "a channel")
            rows.append(_row(codec, key, put, channel, packed(made, COMPRESS_FROM)))
            small[name] = None  # it must be found in a row of its own
        else:
            small[name] = made
    data = packed([small, space.versions, space.seen, space.rest], COMPRESS_FROM)
    state = None if space.state is None else state_of(space.state.lasting)
    rows.append(_row(codec, key, put, "", data, state))
    if held:
        users = user_values.rows_of(codec, key, user_values.SNAPSHOT, put.stamp, held, now())
        rows += [Step(user_values.PUT_USER, row) for row in users]
    return rows


def state_of(state: WorkingState) -> bytes:
    """A working state, as a snapshot holds it."""
    return packed([NAMES, state], COMPRESS_FROM, row_of)


def state_in(data: bytes) -> WorkingState:
    """The working state that a snapshot holds."""
    return from_rows(*unpacked(data))


def _row(
    codec: Codec, key: Any, put: Put, channel: str, data: bytes, state: bytes | None = None
) -> Step:
    row = SnapshotRow(key, put.ns, put.id, channel, put.stamp, 0, data, state)
    return Step(_PUT, summed(SNAPSHOTS, row, codec.sealer))
