"""Does the reply mean what the reference means? By the angle between their vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalkit.contracts import Case, Turn, Verdict
from evalkit.kinds import Embed
from evalkit.rules.params import Label, Ratio, reaches
from evalkit.rules.scope import ReplyScope, over_replies, replies

__all__ = ["semantic_similarity"]

_RULE = "semantic_similarity"


async def semantic_similarity(
    case: Case,
    dialog: Sequence[Turn],
    *,
    embed: Embed,
    reference: Label | None = None,
    threshold: Ratio = 0.7,
    evaluation_scope: ReplyScope = "last_turn",
) -> Verdict:
    """Cosine of the vectors of reply and reference, 0 where it is negative; it passes from `threshold` on.

    The reference is the case's own unless one is given. Without a reference or a direction (a vector of
    zeros) it is undecided. Source: mission, rule `semantic_similarity`.
    """
    wanted = reference or case.reference
    if not wanted or not dialog:
        lacks = "nothing was said" if wanted else "there is no reference"
        return Verdict(rule=_RULE, passed=None, reason=lacks, scope=evaluation_scope)
    texts = list(dict.fromkeys([wanted, *replies(dialog, evaluation_scope)]))
    vectors = dict(zip(texts, await embed(texts), strict=True))

    def check(reply: str) -> Verdict:
        return _verdict(_cosine(vectors[wanted], vectors[reply]), threshold, evaluation_scope)

    return over_replies(dialog, evaluation_scope, check, rule=_RULE)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The cosine; null where a vector has no direction, or is not finite."""
    lengths = math.hypot(*one) * math.hypot(*other)
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / lengths if lengths > 0 and math.isfinite(product / lengths) else None


def _verdict(cosine: float | None, threshold: float, scope: ReplyScope) -> Verdict:
    if cosine is None:
        return Verdict(rule=_RULE, passed=None, reason="rule_error: a vector without direction", scope=scope)
    return Verdict(
        rule=_RULE,
        passed=reaches(cosine, threshold),
        score=min(1.0, max(0.0, cosine)),
        reason=f"cosine {cosine:.4g}, wanted {threshold:g}",
        scope=scope,
        detail={"cosine": cosine, "threshold": threshold},
    )
