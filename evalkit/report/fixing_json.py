"""What the commands know as plain JSON: each value under the name that the code has for it, unrounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """The value as objects, lists, texts, numbers and null; times in ISO 8601."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value.isoformat() if isinstance(value, datetime) else value
