"""Which samples failed, and why.

A sample is charged to the first gate it broke, so that the charges add up to the failures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import ChannelError, EvalRecord, MetricResult
from evalkit.reading.encoding import escaped
from evalkit.records import Records
from evalkit.report.reasons import GATES, Check, Gate, Reason, channel_reasons, checks, empty_answer
from evalkit.report.rule_reasons import rule_reasons
from evalkit.slices import scores_of

__all__ = ["Failure", "FailureCounts", "Failures", "as_lines", "failures", "judged"]


Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Failure:
    """A sample that broke at least one gate; `reasons` stand in the order of the gates, `row` is its place."""

    record: EvalRecord
    reasons: tuple[Reason, ...]
    row: int

    @property
    def gate(self) -> Gate:
        """The first gate broken: the one that the sample is charged to."""
        return self.reasons[0].gate

    @property
    def again(self) -> bool:
        """Whether it broke a later gate too."""
        return len({reason.gate for reason in self.reasons}) > 1


class FailureCounts(NamedTuple):
    """How many samples there are, and failed, passed, or were not judged; the failed by gate and by first reason."""

    n_total: int
    n_failed: int
    n_passed: int
    n_unjudged: int
    by_gate: Mapping[Gate, int]
    by_kind: Mapping[str, int]

    @classmethod
    def together(cls, parts: Sequence[FailureCounts]) -> FailureCounts:
        """The counts of consecutive parts of a run as those of all of it; kinds in the order of first appearance."""
        gates, kinds = Counter[Gate](), Counter[str]()
        for part in parts:
            gates.update(part.by_gate)
            for kind, n in part.by_kind.items():
                kinds[kind] += n
        return cls(
            sum(part.n_total for part in parts),
            sum(part.n_failed for part in parts),
            sum(part.n_passed for part in parts),
            sum(part.n_unjudged for part in parts),
            dict(gates),
            kinds,
        )


@dataclass(frozen=True, slots=True)
class Failures:
    """All samples that failed, in the order of the run, and how many did not.

    `passed` were measured by some gate and broke none; `unjudged` had nothing that a gate could measure, and no
    rules that decided.
    """

    failed: tuple[Failure, ...]
    passed: int
    unjudged: int

    @property
    def total(self) -> int:
        """How many samples there are."""
        return len(self.failed) + self.passed + self.unjudged

    @property
    def by_gate(self) -> dict[Gate, int]:
        """How many failed samples are charged to each gate."""
        charged = Counter(failure.gate for failure in self.failed)
        return {gate: charged[gate] for gate in GATES}

    @property
    def by_kind(self) -> dict[str, int]:
        """How many failed samples have which first reason, most first."""
        return dict(self.kinds.most_common())

    @property
    def kinds(self) -> Counter[str]:
        """The same in the order of first appearance."""
        return Counter(failure.reasons[0].kind for failure in self.failed)

    @property
    def counts(self) -> FailureCounts:
        """The numbers of all that."""
        n = len(self.failed)
        return FailureCounts(self.total, n, self.passed, self.unjudged, self.by_gate, self.by_kind)


def failures(records: Records, results: Sequence[MetricResult]) -> Failures:
    """Which samples failed, and why, by the score columns that are there and by their own rules."""
    columns = {result.name: scores_of(records, result) for result in results}
    counted = {name: column.counted for name, column in columns.items()}
    held = [(check, columns[check.metric].values, counted[check.metric]) for check in checks(columns)]
    rows = np.logical_or.reduce(
        [marks & check.broken(values) for check, values, marks in held], axis=0, initial=False
    )
    failed = []
    for row in np.flatnonzero(rows | _odd(records)).tolist():
        told = [(check, float(values[row])) for check, values, marks in held if marks[row]]
        if reasons := _reasons(record := records[row], told):
            failed.append(Failure(record, reasons, row))
    measured = judged(records, counted)
    measured[[failure.row for failure in failed]] = False
    passed = int(measured.sum())
    return Failures(tuple(failed), passed, len(records) - len(failed) - passed)


def _odd(records: Records) -> Flags:
    """The samples (n,) that may have failed whatever was measured: by a channel, an empty answer, or their rules."""
    odd = records.numbers("rules_passed") == 0
    for channel in ("answer_status", "evidence_status"):
        odd |= ~(records.equals(channel, "ok") | records.equals(channel, "skipped"))
    blank = [text is not None and not text.strip() for text in records.column("response")]
    found: Flags = odd | np.array(blank, dtype=np.bool_)
    return found


def judged(records: Records, counted: Mapping[str, Flags]) -> Flags:
    """The samples (n,) that some gate is held against: a score column of it counts them, or their rules decide.

    `counted` (n,) by metric has where each column counts.
    """
    rows = records.told("rules_passed").copy()
    for check in checks(counted):
        rows |= counted[check.metric]
    return rows


def _reasons(record: EvalRecord, counted: list[tuple[Check, float]]) -> tuple[Reason, ...]:
    """All reasons in the order of the gates; in one gate the score columns speak before the rules."""
    return tuple(sorted(_found(record, counted), key=lambda reason: GATES.index(reason.gate)))


def _found(record: EvalRecord, counted: list[tuple[Check, float]]) -> Iterator[Reason]:
    yield from channel_reasons(record)
    yield from (check.explain(record) for check, score in counted if check.broken(score))
    yield from empty_answer(record)
    yield from rule_reasons(record)


def as_lines(found: Failures, *, run_id: str) -> bytes:
    """The failures as JSONL, one line a failed sample: its reasons, question, answer and errors, uncut."""
    lines = (json.dumps(_line(failure, run_id), ensure_ascii=False) for failure in found.failed)
    return escaped("".join(line + "\n" for line in lines))


def _line(failure: Failure, run_id: str) -> dict[str, Any]:
    record = failure.record
    return {
        "run_id": run_id,
        "sample_id": record.sample_id,
        "repeat": record.repeat,
        "failed_at": failure.gate,
        "reasons": [asdict(reason) for reason in failure.reasons],
        "query": "\n".join(record.user_turns),
        "intent_l1": record.intent_l1,
        "intent_l2": record.intent_l2,
        "response": record.response,
        "answer_error": _error(record.answer_error),
        "evidence_error": _error(record.evidence_error),
    }


def _error(error: ChannelError | None) -> dict[str, Any] | None:
    return error.model_dump(mode="json") if error else None
