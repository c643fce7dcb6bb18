"""Many verdicts to one: and, or, weighed; hard ones above all; what is undecided stays so unless it cannot matter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from evalkit.contracts import Verdict
from evalkit.errors import UsageError

__all__ = ["Decision", "Logic", "decide", "named"]

Logic = Literal["all", "any", "weighted"]

_SLACK = 1e-9


class Decision(NamedTuple):
    """Whether the rules hold in all (null: undecided), and the verdicts that made it so, by rule.

    Where a rule stands several times its verdicts are `name[0]`, `name[1]`, …, as given.
    """

    passed: bool | None
    decided_by: tuple[str, ...]


def decide(verdicts: Sequence[Verdict], *, logic: Logic = "all", threshold: float | None = None) -> Decision:
    """What the verdicts come to: hard ones must all pass, the others by `logic`.

    - `all`: each passes
    - `any`: one passes
    - `weighted`: sum of weight · score ÷ sum of weights is at least `threshold`, with 1e-9 of slack; a verdict
      without score counts 1 or 0

    A verdict that is undecided counts as both, and leaves all undecided where the two differ. No verdict at
    all is undecided, by nobody. Their order does not matter. UsageError for `weighted` without threshold.
    """
    leaves = [_Leaf(*leaf) for leaf in named(verdicts).items()]
    hard = [leaf for leaf in leaves if leaf.verdict.hard]
    soft = [leaf for leaf in leaves if not leaf.verdict.hard]
    parts = [_all(hard)] if hard else []
    parts += [_soft(soft, logic, threshold)] if soft else []
    if not parts:
        return Decision(None, ())
    passed = _and([part.passed for part in parts])
    return Decision(
        passed, tuple(sorted(name for part in parts if part.passed is passed for name in part.decided_by))
    )


def named(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """The verdicts in their order, each by its rule; by `name[0]`, `name[1]`, … where a rule stands several times."""
    return dict(zip(_names(verdicts), verdicts, strict=True))


class _Leaf(NamedTuple):
    name: str
    verdict: Verdict


def _names(verdicts: Sequence[Verdict]) -> list[str]:
    many = Counter(verdict.rule for verdict in verdicts)
    seen: Counter[str] = Counter()
    names = []
    for verdict in verdicts:
        names.append(f"{verdict.rule}[{seen[verdict.rule]}]" if many[verdict.rule] > 1 else verdict.rule)
        seen[verdict.rule] += 1
    return names


def _and(parts: Sequence[bool | None]) -> bool | None:
    """Kleene's and: false wins over unknown, unknown over true."""
    return False if False in parts else None if None in parts else True


def _soft(leaves: Sequence[_Leaf], logic: Logic, threshold: float | None) -> Decision:
    if logic == "weighted":
        return _weighed(leaves, threshold)
    return _all(leaves) if logic == "all" else _any(leaves)


def _all(leaves: Sequence[_Leaf]) -> Decision:
    passed = _and([leaf.verdict.passed for leaf in leaves])
    return Decision(passed, tuple(leaf.name for leaf in leaves if leaf.verdict.passed is passed))


def _any(leaves: Sequence[_Leaf]) -> Decision:
    verdicts = [leaf.verdict.passed for leaf in leaves]
    passed = True if True in verdicts else None if None in verdicts else False
    return Decision(passed, tuple(leaf.name for leaf in leaves if leaf.verdict.passed is passed))


def _weighed(leaves: Sequence[_Leaf], threshold: float | None) -> Decision:
    if threshold is None:
        raise UsageError("rule_logic 'weighted': found no rule_pass_threshold, wanted a number from 0 to 1.")
    worst, best = (_reaches(leaves, threshold, unknown) for unknown in (0.0, 1.0))
    passed = worst if worst == best else None
    unknown = [leaf.name for leaf in leaves if _score(leaf.verdict) is None]
    return Decision(passed, tuple(unknown if passed is None else (leaf.name for leaf in leaves)))


def _reaches(leaves: Sequence[_Leaf], threshold: float, unknown: float) -> bool:
    """Whether the weighed score reaches the threshold if what is undecided scores `unknown`."""
    scores = [(leaf.verdict.weight, _score(leaf.verdict)) for leaf in leaves]
    total = math.fsum(weight * (unknown if score is None else score) for weight, score in scores)
    return total / math.fsum(weight for weight, _ in scores) >= threshold - _SLACK


def _score(verdict: Verdict) -> float | None:
    if verdict.passed is None:
        return None
    return float(verdict.passed) if verdict.score is None else verdict.score
