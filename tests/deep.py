"""What tests take of deepagents, which has no release for Python 3.10: there they are skipped."""

from __future__ import annotations

from typing import Any

import pytest

try:
    from deepagents import create_deep_agent as create_deep_agent
    from deepagents.middleware.patch_tool_calls import (
        PatchToolCallsMiddleware as PatchToolCallsMiddleware,
    )
    from deepagents.middleware.rubric import RubricMiddleware as RubricMiddleware
except ImportError as missing:
    _why = str(missing)

    def _skip(*_: Any, **__: Any) -> Any:
        pytest.skip(_why)

    create_deep_agent = PatchToolCallsMiddleware = RubricMiddleware = _skip  # type: ignore[misc, assignment]
