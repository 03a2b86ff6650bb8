"""Several rows damaged at once, and threads with nothing damaged at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Backend
from tests.story import tell, without_loop

# ---- what is whole


@pytest.mark.parametrize("seed", [8, 10])
def test_nothing_is_wrong_with_what_is_whole(durable: Backend, seed: int) -> None:
    """Tasks that end one by one, subgraphs, forks: after no turn does `verify` find any damage."""
    saver = durable.open()
    found: list[str] = []

    async def look(teller: Any) -> None:
        found.extend(map(str, saver.verify().damages))

    without_loop(tell(seed, saver, asynchronous=False, between=look))
    assert found == []
