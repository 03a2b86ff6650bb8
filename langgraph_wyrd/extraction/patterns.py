"""Regular expressions that are compiled when they are first used.

There are a hundred of them, and a process that opens a store, plays a turn and ends meets a third:
compiling all takes 50 ms.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "pattern")


class _Late:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        made = re.compile(*self._given)
        self.__dict__.update((each, getattr(made, each)) for each in _METHODS)
        return self.__dict__[name]


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The same as `re.compile`, later."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
