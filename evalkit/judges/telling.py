"""What to say of a judging: each metric with its coverage, how steady the judge was, and what it cost."""

from __future__ import annotations

from collections import Counter
from typing import Any

from evalkit.agreement import fleiss_kappa, flip_rate
from evalkit.contracts import Judgement
from evalkit.judgements import Judged
from evalkit.judges.run import Judging
from evalkit.records import Records

__all__ = ["told"]

_HALF = 0.5


def told(judging: Judging, records: Records) -> dict[str, Any]:
    """The judging as plain data: `metrics` with means over what has a verdict, `notes` in words."""
    rows = [_row(records, metric) for metric in judging.metrics]
    how, budget = judging.told, judging.budget
    return {
        "path": str(judging.path),
        "judge": judging.judge,
        "metrics": rows,
        "made": dict(how.statuses),
        "kept": how.kept,
        "replayed": how.replayed,
        "not_applicable": how.not_applicable,
        "failed": how.failed,
        "left": how.left,
        "calls": budget.calls,
        "cost": budget.spent,
        "served_by": dict(_served(records, judging.metrics)),
        "notes": _notes(judging, records),
    }


def _row(records: Records, metric: str) -> dict[str, Any]:
    said = [found for record in records if (found := record.judgements.get(metric)) is not None]
    scores = [found.score for found in said if found.status == "ok" and found.score is not None]
    repeats = [answers for found in said if (answers := _repeats(found))]
    return {
        "metric": metric,
        "mean": sum(scores) / len(scores) if scores else None,
        "n_counted": sum(found.status == "ok" for found in said) if metric == Judged.RULES else len(scores),
        "n_total": len(records),
        "n_failed": sum(found.status != "ok" for found in said),
        "flip_rate": flip_rate(repeats),
        "kappa": _kappa(repeats),
    }


def _repeats(said: Judgement) -> list[Any]:
    """What each repeat said: its label, or whether its score is at least one half."""
    answers = said.detail.get("repeats")
    if not isinstance(answers, list):
        return []
    return [answer >= _HALF if isinstance(answer, (int, float)) else answer for answer in answers]


def _kappa(repeats: list[list[Any]]) -> float | None:
    """Fleiss' kappa of the judge with itself, over the samples with as many answers as the most have."""
    most = max(map(len, repeats), default=0)
    return fleiss_kappa([answers for answers in repeats if len(answers) == most]) if most > 1 else None


def _served(records: Records, metrics: tuple[str, ...]) -> Counter[str]:
    """Which models the endpoint said that it was, by how many judgements."""
    return Counter(
        str(found.detail["served_by"])
        for record in records
        for name, found in record.judgements.items()
        if name in metrics and "served_by" in found.detail
    )


def _notes(judging: Judging, records: Records) -> list[str]:
    how, budget = judging.told, judging.budget
    made = ", ".join(f"{count} {status}" for status, count in how.statuses.most_common()) or "none"
    notes = [
        f"judge {judging.judge}; {judging.path}",
        f"judgements made: {made}; kept from before {how.kept}, not applicable {how.not_applicable}",
        f"requests {budget.calls}, cost {budget.spent:.4f}",
    ]
    served = _served(records, judging.metrics)
    if len(served) > 1:
        notes.append(
            f"warning: served by {len(served)} models, so the judgements do not compare: {', '.join(served)}"
        )
    noisy = [row["metric"] for row in (_row(records, metric) for metric in judging.metrics) if _is_noise(row)]
    if noisy:
        notes.append(f"warning: the judge hardly agrees with itself (kappa below 0.4) on {', '.join(noisy)}")
    return notes


def _is_noise(row: dict[str, Any]) -> bool:
    return row["kappa"] is not None and row["kappa"] < 0.4  # noqa: PLR2004 - Landis and Koch (1977): fair at best
