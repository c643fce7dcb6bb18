"""What must not leave the process: known secrets, blacked out wherever a target or an error repeats them.

Whatever any mask of the process knows, `KNOWN` knows too: it stands before the sinks that all share, the log,
the terminal and the capture.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable
from typing import Any

from evalkit.contracts import Observation

__all__ = ["INSTEAD", "KNOWN", "Mask"]

INSTEAD = re.compile(r"MASKED#{2,}")
"""What stands in captured bytes where a secret was: as long as it, so that nothing else moves."""

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
        forms = {
            secret,
            urllib.parse.quote(secret, errors="replace"),
            urllib.parse.quote(secret, safe="", errors="replace"),
            urllib.parse.quote_plus(secret, errors="replace"),
            base64.b64encode(raw).decode("ascii"),
            base64.urlsafe_b64encode(raw).decode("ascii").rstrip("="),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
        }
        self._forms |= forms
        KNOWN._forms |= forms

    @property
    def forms(self) -> list[str]:
        """All that it blacks out, for another process of the same run to `learn`."""
        return sorted(self._forms)

    def learn(self, forms: Iterable[str]) -> None:
        """Black out these too: the `forms` of a mask in another process."""
        self._forms.update(forms)
        KNOWN._forms.update(forms)

    def text(self, text: str) -> str:
        """The text with every secret blacked out."""
        for form in sorted(self._forms, key=len, reverse=True):
            text = text.replace(form, _BLACK)
        return text

    def is_in(self, data: bytes) -> bool:
        """Whether any secret stands in the bytes."""
        return any(form.encode("utf-8", "surrogatepass") in data for form in self._forms)

    def stood_in(self, data: bytes) -> bytes:
        """The bytes with a `INSTEAD` of the same length in the place of every secret."""
        for form in sorted(self._forms, key=len, reverse=True):
            raw = form.encode("utf-8", "surrogatepass")
            data = data.replace(raw, b"MASKED".ljust(len(raw), b"#"))
        return data

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


KNOWN = Mask()
"""Every secret that any mask of this process was told."""
