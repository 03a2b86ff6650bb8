"""Frozen dataclasses that are made quickly: a put makes about fifteen of them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T", bound=type[Any])


def quick(cls: T) -> T:
    """Gives a frozen dataclass with slots an `__init__` that takes less than half the time.

    The one of `dataclasses` sets each field through `object.__setattr__`, which looks it up by
    name (1.2 us for ten fields); this one calls the setter of its slot (0.5 us).
    """
    names: dict[str, Any] = {"_missing": MISSING}
    arguments, body = [], []
    for each in fields(cls):
        name = each.name
        names[f"_set_{name}"] = cls.__dict__[name].__set__
        if each.default_factory is not MISSING:
            names[f"_default_{name}"] = each.default_factory
            arguments.append(f"{name}=_missing")
            body.append(f"if {name} is _missing: {name} = _default_{name}()")
        elif each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            arguments.append(f"{name}=_default_{name}")
        else:
            arguments.append(name)
        body.append(f"_set_{name}(self, {name})")
    text = f"def __init__(self, {', '.join(arguments)}):\n " + "\n ".join(body)
    exec(text, names)  # as `dataclasses` itself makes it
    made = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = cls.__init__.__annotations__
    cls.__init__ = made
    return cls
