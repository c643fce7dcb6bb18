"""The rules of a case, with their parameters and models filled in; what cannot mean anything is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from evalkit.contracts import Case, Layer, RuleSpec, Verdict
from evalkit.errors import UsageError
from evalkit.fitting import fitted
from evalkit.kinds import Embed, Judge, Moderate
from evalkit.registry import Spec, bind, lookup
from evalkit.rules.expectation import implied

__all__ = ["Models", "Rule", "check_rules", "check_weights", "placed", "rules_of", "tried"]

_LAYERS: dict[str, Layer] = {"intent_classification": "intent", "task_completion": "completion"}


class Models(NamedTuple):
    """The models that rules may ask; null where there is none."""

    judge: Judge | None = None
    embed: Embed | None = None
    moderate: Moderate | None = None


class Rule(NamedTuple):
    """A rule as it stands in a case, and what its verdict is called."""

    name: str
    spec: RuleSpec
    hard: bool

    def undecided(self, reason: str) -> Verdict:
        """No verdict, and why."""
        default = self._parameters().get("evaluation_scope")
        scope = self.spec.params.get("evaluation_scope") or getattr(default, "default", "full_dialog")
        return self.told(
            Verdict.model_validate({"rule": self.name, "passed": None, "reason": reason, "scope": scope})
        )

    def told(self, verdict: Verdict) -> Verdict:
        """The verdict with what the case says of the rule."""
        layer = self.spec.layer or _LAYERS.get(self.spec.type)
        given = {"rule": self.name, "weight": self.spec.weight, "hard": self.hard, "layer": layer}
        return verdict.model_copy(update=given)

    def bound(self, models: Models) -> Callable[..., Any]:
        """The rule as a function of case and dialog; UsageError where its parameters do not fit."""
        params = fitted("rule", Spec(self.spec.type, dict(self.spec.params)), reserved=Models._fields)
        return bind("rule", Spec(self.spec.type, params), **models._asdict())

    @property
    def asks(self) -> bool:
        """Whether the rule can ask a model."""
        return not self._parameters().keys().isdisjoint(Models._fields)

    def lacks(self, models: Models) -> list[str]:
        """The models that the rule cannot do without and that are not there."""
        known = self._parameters()
        return [
            model
            for model, there in models._asdict().items()
            if there is None and model in known and known[model].default is inspect.Parameter.empty
        ]

    def _parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(lookup("rule", self.spec.type)).parameters)


def rules_of(case: Case) -> list[Rule]:
    """The rules of the case, the hard ones first."""
    hard = [Rule(f"expectation.{name}", spec, hard=True) for name, spec in implied(case.expectation)]
    return [*hard, *(Rule(spec.type, spec, hard=False) for spec in case.rules)]


def check_rules(cases: Iterable[Case]) -> None:
    """Refuse rules that cannot mean anything, before anything is asked: UsageError names case and rule.

    Unknown names and parameters, values that do not fit, `weighted` without a threshold, and whatever the
    rules themselves refuse: a schema that is none, a pattern, a label that the taxonomy lacks.
    """
    for case in cases:
        try:
            check_weights(case)
            for rule in rules_of(case):
                tried(case, rule.bound(Models()))
        except UsageError as error:
            raise placed(case, error) from None


def check_weights(case: Case) -> None:
    """Refuse `weighted` without a threshold: UsageError."""
    if case.rules and case.rule_logic == "weighted" and case.rule_pass_threshold is None:
        raise UsageError("rule_logic 'weighted': found no rule_pass_threshold, wanted a number from 0 to 1.")


def tried(case: Case, rule: Callable[..., Any]) -> None:
    """Let the rule look at its parameters: over a dialog of nothing, which no model is asked about.

    UsageError where it refuses them; whatever else it raises is not about them.
    """
    try:
        result = rule(case, ())
        if inspect.iscoroutine(result):
            try:
                result.send(None)
            finally:
                result.close()
    except UsageError:
        raise
    except Exception:  # noqa: BLE001, S110 - a stranger's rule may want a dialog; StopIteration is a verdict
        pass


def placed(case: Case, error: UsageError) -> UsageError:
    """The same error, with the case in which the rule stands."""
    return UsageError(f"case {case.sample_id!r}: {error}")
