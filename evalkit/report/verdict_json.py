"""Comparisons and verdicts as JSON: every number unrounded, null where there is none."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from evalkit.reading.encoding import escaped
from evalkit.report.change import Change
from evalkit.report.compare import Comparison
from evalkit.report.policy import Policy
from evalkit.report.verdict import Verdict
from evalkit.report.verdict_rows import headlines
from evalkit.stats import CONFIDENCE, DRAWS, SEED

__all__ = ["comparison_json", "drawn", "verdict_json"]

_WORKED_OUT = ("delta", "detectable", "cases_needed")


def verdict_json(verdict: Verdict) -> bytes:
    """The verdict, its checks, the policy and the comparison behind it, as one JSON object in UTF-8."""
    return _encoded(
        {
            "verdict": verdict.verdict,
            "exit_code": verdict.exit_code,
            "headline": verdict.headline,
            "run_id": verdict.run_id,
            "base_id": verdict.base_id,
            "checks": [asdict(check) for check in verdict.checks],
            "notes": list(verdict.notes),
            "policy": _policy(verdict.policy),
            "comparison": None if verdict.comparison is None else _comparison(verdict.comparison),
        }
    )


def comparison_json(comparison: Comparison) -> bytes:
    """The comparison with its changes and flips, both answers included, as one JSON object in UTF-8."""
    flips = [asdict(flip) for flip in comparison.flips]
    return _encoded(_comparison(comparison) | {"flips": flips})


def drawn(cluster: str | None) -> dict[str, Any]:
    """How intervals and drawn tests were made: with these, anybody gets the same bytes again."""
    return {"confidence": CONFIDENCE, "draws": DRAWS, "seed": SEED, "cluster": cluster or "sample_id"}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """All of a comparison but the texts of its flips."""
    return {
        "base_id": comparison.base_id,
        "run_id": comparison.run_id,
        "alpha": comparison.alpha,
        "family_wise": comparison.family_wise,
        "drawn": drawn(comparison.cluster),
        "overridden": dict(comparison.overridden),
        "n_common": comparison.n_common,
        "family": comparison.family,
        "headlines": headlines(comparison),
        "decidable": comparison.decidable,
        "incomplete": list(comparison.incomplete),
        "same_set": comparison.same_set,
        "refusals": [refusal._asdict() for refusal in comparison.refusals],
        "changes": [_change(change) for change in comparison.changes],
        "flips": [{"metric": flip.metric, "key": flip.key, "worse": flip.worse} for flip in comparison.flips],
        "added": list(comparison.added),
        "removed": list(comparison.removed),
        "changed": list(comparison.changed),
        "renamed": [{"base": before, "run": after} for before, after in comparison.renamed],
    }


def _change(change: Change) -> dict[str, Any]:
    plain: dict[str, Any] = asdict(change)
    facts: dict[str, Any] = plain.pop("facts")
    del plain["evidence"]
    return plain | facts | {name: getattr(change, name) for name in _WORKED_OUT}


def _policy(policy: Policy) -> dict[str, Any]:
    known = [asdict(failure) | {"until": str(failure.until)} for failure in policy.known_failures]
    return asdict(policy) | {"known_failures": known}


def _encoded(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return escaped(text + "\n")
