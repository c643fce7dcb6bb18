"""Does the reply harm? Three layers: bad words, personal data, and moderation where there is one."""

from __future__ import annotations

from evalkit.rules.safety.rule import safety

__all__ = ["safety"]
