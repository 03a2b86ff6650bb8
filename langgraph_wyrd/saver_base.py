"""What the parts of a saver share: its database, its cache, its hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.cache import Cache
    from langgraph_wyrd.checkpoints.working import Reader
    from langgraph_wyrd.checkpoints.writing import Writing
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.storage.access import Access
    from langgraph_wyrd.storage.engine import Engine


class SaverBase:
    """An opened database. `WyrdSaver` makes what is declared here."""

    _user: str | None = None  # whose threads alone this saver sees; None: all
    _where: str | None = None  # which database it is, without passwords
    if TYPE_CHECKING:
        hooks: Hooks
        _access: Access
        _cache: Cache
        _engine: Engine
        _heals: bool
        _reader: Reader | None
        _writing: Writing

        @property
        def _codec(self) -> Codec: ...

    @property
    def _dialect(self) -> str:
        return self._engine.driver.dialect
