"""What must not leave the process: known secrets, blacked out wherever a target or an error repeats them."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import Any

from evalkit.contracts import Observation

__all__ = ["Mask"]

_SHORTEST = 8
_BLACK = "***"


class Mask:
    """A set of secrets and the ways they are written: plain, in a URL, in base64, in JSON.

    A secret of fewer than 8 characters is not blacked out: it would tear holes into ordinary text, and
    nothing of ours ever prints it.
    """

    def __init__(self) -> None:
        self._forms: set[str] = set()

    def add(self, secret: str) -> None:
        """Black out `secret` from now on."""
        if len(secret) < _SHORTEST:
            return
        raw = secret.encode("utf-8", "surrogatepass")
        self._forms |= {
            secret,
            urllib.parse.quote(secret, errors="replace"),
            urllib.parse.quote(secret, safe="", errors="replace"),
            urllib.parse.quote_plus(secret, errors="replace"),
            base64.b64encode(raw).decode("ascii"),
            base64.urlsafe_b64encode(raw).decode("ascii").rstrip("="),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
        }

    def text(self, text: str) -> str:
        """The text with every secret blacked out."""
        for form in sorted(self._forms, key=len, reverse=True):
            text = text.replace(form, _BLACK)
        return text

    def observation(self, seen: Observation) -> Observation:
        """The observation with every secret blacked out, flagged `secret_in_answer` if there was one."""
        plain = seen.model_dump(exclude_unset=True)
        masked = self.value(plain)
        if masked == plain:
            return seen
        masked["flags"] = (*masked.get("flags", ()), "secret_in_answer")
        return Observation.model_validate(masked)

    def value(self, value: Any) -> Any:
        """The JSON value with every secret in its texts blacked out."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return type(value)(self.value(inner) for inner in value)
        if isinstance(value, dict):
            return {self.value(key): self.value(inner) for key, inner in value.items()}
        return value

    def __repr__(self) -> str:
        return f"Mask({len(self._forms)} forms)"
