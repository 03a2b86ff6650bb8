"""Text beside the values: titles, what items say, the ledger. Whoever encrypts values finds none of
it in the clear."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing
from langgraph_wyrd.store.keys import HIDDEN, UNREADABLE, is_sealed_text

logger = logging.getLogger("langgraph_wyrd")

_SEALED = "sealed:"


class Texts:
    """The part of a codec that seals texts, and opens them."""

    serde: SerializerProtocol
    _careful: SerializerProtocol  # which loads nothing but data
    vaulted: bool  # rows are sealed by a key ring, on their way to the database
    seals: bool  # the serde may encrypt: any but LangGraph's own
    refuses_plain: bool  # it does, so that nothing plain is its own

    @property
    def sealed(self) -> bool:
        """Whether text is sealed: by a key ring, or by any serde but LangGraph's own, as the user
        may encrypt."""
        return self.vaulted or self.seals

    def seal_text(self, text: str) -> str:
        """Text as it is stored: itself, or sealed by the serde."""
        if not self.seals:
            return text
        tag, data = self.serde.dumps_typed(text)
        return f"{_SEALED}{tag}:{base64.b64encode(data).decode()}"

    def open_text(self, text: str) -> str:
        """What `seal_text` was given.

        Raises:
            CheckpointDamaged: It can't be opened, or is plain in a store that is encrypted.
        """
        if not self.seals or not text:
            return text
        tag, _, data = text[len(_SEALED) :].partition(":")
        if not text.startswith(_SEALED) or ("+" not in tag and self.refuses_plain):
            if self.refuses_plain:
                raise CheckpointDamaged("a stored text is plain, and the store is encrypted")
            return text
        try:
            opened: str = self._careful.loads_typed((tag, base64.b64decode(data)))
        except Exception as error:
            raise CheckpointDamaged(f"a stored text can't be opened: {error}") from error
        return opened

    def show_text(self, text: str) -> str:
        """As `open_text`, for showing: something stands for what can't be opened."""
        if not self.seals and is_sealed_text(text):
            logger.warning(
                "the store is encrypted: texts are shown as %s. Open it with the serde, or the "
                "keys, that it was written with", HIDDEN,
            )  # fmt: skip
            return HIDDEN
        try:
            return self.open_text(text)
        except CheckpointDamaged as error:
            logger.warning("%s; verify() tells more", error)
            return UNREADABLE

    def open_json(self, text: str) -> Any:
        """The data whose JSON `seal_text` was given."""
        opened = self.open_text(text)
        if opened.startswith(_SEALED):
            raise KeyMissing("the store is encrypted: open it with the serde that wrote it")
        return json.loads(opened)
