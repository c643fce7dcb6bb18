"""What a gate says: one verdict, and every check that led to it. Each output shows this and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.report.compare import Comparison
from evalkit.report.policy import Policy

__all__ = ["Check", "Outcome", "Verdict", "decided"]

Outcome: TypeAlias = Literal["PASS", "REGRESSION", "CANNOT DECIDE"]

PASS: Outcome = "PASS"  # noqa: S105 - a verdict, no password
REGRESSION: Outcome = "REGRESSION"
CANNOT_DECIDE: Outcome = "CANNOT DECIDE"
EXIT_CODES: dict[Outcome, int] = {PASS: 0, REGRESSION: 1, CANNOT_DECIDE: 3}
NAMED = 3
OF_THE_RUN = frozenset({"complete", "rows", "comparable", "gated"})
"""The checks without which no number of the run can be believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was asked of a run, and the answer.

    `name` is the kind: complete, rows, comparable, gated, coverage, threshold, regression. `metric` and
    `slice` (`intent_l2=…`) are empty where it is about all. `found` and `wanted` are unrounded, `found_text`
    and `wanted_text` the same in words; `n` counted samples stand behind it. `flagged`: it passes, but
    somebody should look.
    """

    name: str
    metric: str = ""
    slice: str = ""
    found: float | None = None
    wanted: float | None = None
    found_text: str = ""
    wanted_text: str = ""
    n: int
    verdict: Outcome
    reason: str
    flagged: bool = False

    @property
    def title(self) -> str:
        """What was asked, in one line: `regression intent_top1 intent_l2=S14`."""
        return " ".join(part for part in (self.name, self.metric, self.slice) if part)


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdict:
    """The answer of a gate: the verdict, the checks behind it, and what else a reader must know.

    `comparison` is null where there was no baseline. `notes` are sentences.
    """

    verdict: Outcome
    run_id: str
    base_id: str | None
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    comparison: Comparison | None
    policy: Policy

    @property
    def exit_code(self) -> int:
        """0 pass, 1 regression, 3 cannot decide."""
        return EXIT_CODES[self.verdict]

    @property
    def failing(self) -> tuple[Check, ...]:
        """The checks that did not pass: regressions, then what makes the run unbelievable, then any doubt."""
        failed = [check for check in self.checks if check.verdict != PASS]
        return tuple(
            sorted(failed, key=lambda check: (check.verdict != REGRESSION, check.name not in OF_THE_RUN))
        )

    @property
    def flagged(self) -> tuple[Check, ...]:
        """The checks that passed and that somebody should look at all the same."""
        return tuple(check for check in self.checks if check.flagged and check.verdict == PASS)

    @property
    def headline(self) -> str:
        """The verdict and up to three checks that failed, in one line, one that decided it among them."""
        return f"{self.verdict}: {self.sentence}"

    @property
    def brief(self) -> str:
        """The verdict and the first check that decided it, in one line."""
        if not self.failing:
            return self.headline
        first = next(check for check in self.failing if check.verdict == self.verdict)
        more = len(self.failing) - 1
        return f"{self.verdict}: {self._told(first)}" + (f" (and {more} more below)" if more else "")

    @property
    def sentence(self) -> str:
        """What decided the verdict, in one line."""
        if not self.failing:
            return f"{len(self.checks)} checks passed, {len(self.flagged)} flagged"
        named = self._named
        more = len(self.failing) - len(named)
        rest = f" (and {more} more)" if more else ""
        return f"{'; '.join(map(self._told, named))}{rest}"

    @property
    def _named(self) -> tuple[Check, ...]:
        """The first checks that failed; the last place is kept for one that decided the verdict."""
        first = self.failing[:NAMED]
        if any(check.verdict == self.verdict for check in first):
            return first
        deciding = next(check for check in self.failing if check.verdict == self.verdict)
        return (*first[: NAMED - 1], deciding)

    def _told(self, check: Check) -> str:
        kind = "" if check.verdict == self.verdict else f"{check.verdict} "
        return f"{kind}{check.title}: {check.reason}"


def decided(checks: Sequence[Check]) -> Outcome:
    """The verdict of the checks: what makes the run unbelievable first, then a regression, then any doubt."""
    verdicts = {check.verdict for check in checks}
    if any(check.verdict == CANNOT_DECIDE and check.name in OF_THE_RUN for check in checks):
        return CANNOT_DECIDE
    if REGRESSION in verdicts:
        return REGRESSION
    return CANNOT_DECIDE if CANNOT_DECIDE in verdicts or not checks else PASS
