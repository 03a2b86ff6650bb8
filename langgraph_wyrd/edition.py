"""The saver and the handle in use: those of the second edition where WYRD_EDITION=2."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("WYRD_EDITION") != "2":
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.scoped import UserSaver
    from langgraph_wyrd.thread import Thread
else:
    from langgraph_wyrd.next_saver import WyrdSaver
    from langgraph_wyrd.next_thread import Thread
    from langgraph_wyrd.users.scoped import UserSaver

__all__ = ["Thread", "UserSaver", "WyrdSaver"]
