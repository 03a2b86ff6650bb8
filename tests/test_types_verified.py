"""What the ledger shows of an object is the same before it is stored and after: `verify` takes
nothing of it for damage."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import Item
from langgraph.types import Command, Send

from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.extraction.plain import bounded
from tests.conftest import Backend
from tests.damage import at
from tests.handmade import put
from tests.test_classes import all_of, graph
from tests.user_classes import SOURCE, App, app

MORE = (
    SOURCE
    + """
class Around(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    held: typing.Any = None
    hidden: int = pydantic.Field(0, exclude=True)
"""
)


def objects(made: App) -> dict[str, Any]:
    """Those that the serializer gives back as something else, or in another order."""
    around = made.module.Around  # type: ignore[attr-defined]
    every = all_of(made)
    labels = every["one argument"]
    return {
        **{f"{kind} in a model": around(held=value) for kind, value in every.items()},
        **{f"{kind} in its dict": around(held={"k": [value]}) for kind, value in every.items()},
        **{f"{kind} in a deque": deque([value]) for kind, value in every.items()},
        "more than it has fields": around(held=1, hidden=3, other=every["dataclass"]),
        "keys": {made.made("Color.RED"): 1, made.made("Corner.TOP"): 2},
        "more keys": {made.made("Level.LOW"): {made.made("Weight.HALF"): 3}},
        "older": every["pydantic v1"],
        "send": Send("node", {"labels": labels}),
        "command": Command(update={"labels": labels}, goto=[Send("node", labels)]),
        "item": Item(
            value={"labels": labels}, key="k", namespace=("a",),
            created_at=made.made("datetime.datetime(2026, 11, 18)"),
            updated_at=made.made("datetime.datetime(2026, 11, 18)"),
        ),
    }  # fmt: skip


def test_what_is_shown_of_an_object() -> None:
    """Each, before it is stored and after it was loaded."""
    codec = Codec(JsonPlusSerializer())
    with app(MORE) as made:
        for kind, value in objects(made).items():
            loaded = codec.load(*codec.dump(value, "c"))
            assert bounded(value) == bounded(loaded), kind


def test_objects_are_no_damage(durable: Backend) -> None:
    """In a thread as well, also in another process's eyes: nothing is cached."""
    with app(MORE) as made:
        saver = durable.open()
        put(saver, "t", objects(made))
        saver.close()
        assert durable.open().verify("t").findings == ()


@pytest.mark.parametrize("returned", [False, True])
def test_what_was_said_without_a_class_is_no_damage(durable: Backend, returned: bool) -> None:
    """What was read of a value without its class stays, and is no damage: neither while the class
    is away nor when it is back."""
    with app(MORE) as made:
        saver = durable.open()
        every = all_of(made)
        given = {"held": every["arguments"], "log": [*every.values()], "by_name": every}
        graph(saver).invoke(given, at("t"))
        saver.close()

        def node(state: Any) -> Any:
            return {"log": [state["log"][2]], "by_name": {"again": state["held"]}}

        with made.away():
            graph(durable.open(), node).invoke({}, at("t"))
            shown = durable.open().thread("t").working_state().context
            assert any('"$kept": true' in str(item.value).replace("'", '"').replace("True", "true")
                       for item in shown)  # fmt: skip
            if not returned:
                report = durable.open().verify("t")
        if returned:
            report = durable.open().verify("t")
        assert report.ok
        assert report.findings == ()
        durable.open().reextract("t")
        if returned:
            assert durable.open().verify("t").findings == ()
