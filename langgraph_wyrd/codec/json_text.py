"""JSON as the columns of tables hold it: compact, and not escaped where it need not be."""

from __future__ import annotations

import json
from typing import Any

import orjson

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# What it would otherwise take though `json` refuses it.
_STRICT = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


def to_json(value: Any) -> str:
    """A value of texts, numbers, lists and dicts as JSON. Floats must be finite."""
    try:
        return orjson.dumps(value, option=_STRICT).decode()
    except TypeError:  # a number over 64 bits, a key that is no text, half a surrogate pair
        return _encode(value)
