"""Modules that are imported when they are first used.

`import langgraph_wyrd`, and a run that only stores and loads checkpoints, should not pay for the
rest. So a module that only some calls need is named twice, for the type checker and at run time:

```python
if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints import copy, retention
else:
    copy, retention = lazy("checkpoints.copy", "checkpoints.retention")
```

`tests/test_rooms.py` says what a plain run does not load.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

# Held while the process forks: a child can't end an import that one of its parent's threads began.
_IMPORTING = threading.RLock()


class _Lazy:
    """Stands for a module."""

    def __init__(self, name: str) -> None:
        self._name = f"langgraph_wyrd.{name}"
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            with _IMPORTING:
                self._module = import_module(self._name)
        return getattr(self._module, attribute)


def lazy(*names: str) -> Any:
    """A stand-in for each of these modules of the package."""
    made = [_Lazy(name) for name in names]
    return made[0] if len(made) == 1 else made


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_IMPORTING.acquire,
        after_in_parent=_IMPORTING.release,
        after_in_child=_IMPORTING.release,
    )
