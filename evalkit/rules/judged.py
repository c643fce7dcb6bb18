"""What a rule makes of a judgement that has no verdict, and of a judge that is not there."""

from __future__ import annotations

from evalkit.contracts import Judgement, Scope, Verdict

__all__ = ["no_judge", "without_verdict"]


def no_judge(rule: str, scope: Scope) -> Verdict:
    """Undecided for want of a judge."""
    return Verdict(rule=rule, passed=None, reason="needs a judge, and there is none", scope=scope)


def without_verdict(rule: str, scope: Scope, judgement: Judgement, lacks: str = "") -> Verdict:
    """Undecided because the judge did not say; `lacks` is what its answer had no word on."""
    status = (
        f"judge_error: the judgement lacks {lacks}" if lacks else f"{judgement.status}: {judgement.reason}"
    )
    detail = {"status": "judge_error" if lacks else judgement.status, "judge": judgement.judge}
    return Verdict(rule=rule, passed=None, reason=status.strip(": "), scope=scope, detail=detail)
