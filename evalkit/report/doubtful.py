"""Cases that ask nearly the same: twins that count twice, and twins whose labels contradict each other.

No answer can be right for both of two equal questions with two labels: those are errors of the eval set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.cases import near_duplicates
from evalkit.contracts import EvalRecord

__all__ = ["Doubt", "doubtful_labels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Two cases whose questions are alike by `similarity` (Jaccard index of bigrams), with their labels."""

    first: str
    second: str
    first_query: str
    second_query: str
    first_label: str | None
    second_label: str | None
    similarity: float

    @property
    def contradictory(self) -> bool:
        """Whether the two have different labels."""
        return None not in (self.first_label, self.second_label) and self.first_label != self.second_label


def doubtful_labels(records: Sequence[EvalRecord], *, threshold: float = 0.85) -> list[Doubt]:
    """The pairs of cases that ask nearly the same: contradictory labels first, then the most alike.

    Each case stands with the earliest one like it. Repeats of a case are one case; dialogs are compared whole.
    """
    cases = list({record.sample_id: record for record in records}.values())
    questions = ["\n".join(case.user_turns) for case in cases]
    found = [
        _doubt(cases[pair.first], cases[pair.second], pair.similarity)
        for pair in near_duplicates(questions, threshold=threshold)
    ]
    return sorted(found, key=lambda doubt: (not doubt.contradictory, -doubt.similarity))


def _doubt(first: EvalRecord, second: EvalRecord, similarity: float) -> Doubt:
    return Doubt(
        first=first.sample_id,
        second=second.sample_id,
        first_query="\n".join(first.user_turns),
        second_query="\n".join(second.user_turns),
        first_label=first.intent_l2 or None,
        second_label=second.intent_l2 or None,
        similarity=similarity,
    )
