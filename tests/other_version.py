"""A thread goes on in a process that has another langchain-core.

python -m tests.other_version older|newer ADDRESS FILE    goes on at each line that it reads

The file holds what the default serde makes of the newest state, so each process can tell what a
saver that stores whole values would have given it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import langchain_core.messages as lc
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic.fields import FieldInfo

GONE = ("name", "usage_metadata", "status")


def every_class() -> list[Any]:
    names = [name for name in lc.__all__ if name.endswith(("Message", "MessageChunk"))]
    return [getattr(lc, name) for name in sorted(names) if not name.startswith(("Any", "Base"))]


def become(version: str) -> None:
    """Change the fields of all message classes, before anything has looked at them."""
    for cls in every_class():
        fields: dict[str, Any] = cls.__pydantic_fields__
        if version == "older":
            for name in GONE:
                fields.pop(name, None)
            fields["example"] = FieldInfo(annotation=bool, default=False)
        else:
            fields["mood"] = FieldInfo(annotation=str, default="fine")
        cls.model_rebuild(force=True)
        assert ("example" if version == "older" else "mood") in cls(**needed(cls)).__dict__


def needed(cls: Any) -> dict[str, Any]:
    """What every version of a class takes, and may do without only in some."""
    if cls is lc.RemoveMessage:
        return {"id": "id"}
    given = {"content": "said", "tool_call_id": "c", "role": "judge", "name": "n"}
    own = {name: value for name, value in given.items() if name in cls.model_fields}
    return {"id": "id", **own}


def several() -> list[Any]:
    """New messages of every class, plain and with more."""
    found = []
    for cls in every_class():
        found.append(cls(**needed(cls)))
        found.append(cls(**needed(cls), additional_kwargs={"k": [1]}, status="success"))
        if issubclass(cls, lc.AIMessage):
            spent = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
            call = {"name": "t", "args": {"a": 1}, "id": "c"}
            found.append(cls("said", tool_calls=[call], usage_metadata=spent, name="n"))
    return found


def go_on(address: str, file: Path) -> None:
    """Load the newest state, compare it with the serde's, put one with more messages behind it."""
    from langgraph_wyrd import WyrdSaver

    serde = JsonPlusSerializer()
    want = serde.loads_typed(("msgpack", file.read_bytes())) if file.exists() else []
    with WyrdSaver.from_conn_string(address) as saver:
        where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        found = saver.get_tuple(where)
        loaded = found.checkpoint["channel_values"]["messages"] if found else []
        assert [*map(shown, loaded)] == [*map(shown, want)]
        values = [*loaded, *several()]
        file.write_bytes(serde.dumps_typed(values)[1])
        checkpoint: Any = {
            "v": 4,
            "id": f"1f0{len(values):05}-0000-6000-8000-000000000000",
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": {"messages": values},
            "channel_versions": {"messages": f"{len(values):032}.5"},
            "versions_seen": {},
        }
        new = checkpoint["channel_versions"]
        saver.put(found.config if found else where, checkpoint, {"source": "loop"}, new)


def shown(message: Any) -> Any:
    return (
        message.__class__.__name__,
        repr(sorted(vars(message).items())),
        sorted(message.__pydantic_fields_set__),
        repr(sorted((message.__pydantic_extra__ or {}).items())),
    )


if __name__ == "__main__":
    become(sys.argv[1])
    for _ in sys.stdin:
        go_on(sys.argv[2], Path(sys.argv[3]))
        print("done", flush=True)
