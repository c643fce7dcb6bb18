"""Everything wrong with the rules of a case, each told by where it stands, what was found and what was wanted."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from evalkit.contracts import Case
from evalkit.engines.rules.binding import Models, Rule, check_weights, rules_of, tried
from evalkit.errors import UnknownName, UsageError
from evalkit.fitting import fitted
from evalkit.parameters import needed, parameters_of
from evalkit.registry import Spec, bind, lookup

__all__ = ["RuleFault", "rule_faults"]

_TOLD = re.compile(r"(?P<place>.*?)found (?P<found>.*?), wanted:? (?P<wanted>.*)", re.DOTALL)
_NAMES = re.compile(r"parameters do not fit \((?P<found>.*?)\)\. Wanted: .*", re.DOTALL)


class RuleFault(NamedTuple):
    """One thing wrong: `field` is `rules[i]`, `expectation.…` or `rule_pass_threshold`."""

    field: str
    found: str
    wanted: str


def rule_faults(case: Case) -> Iterator[RuleFault]:
    """Everything that `check_rules` would refuse in the case: each rule, and of a rule each parameter.

    Empty where the rules are sound. No model is asked.
    """
    if _caught(lambda: check_weights(case)):
        yield RuleFault("rule_pass_threshold", "none for rule_logic 'weighted'", "a number from 0 to 1")
    soft = 0
    for rule in rules_of(case):
        field = rule.name if rule.hard else f"rules[{soft}]"
        soft += not rule.hard
        yield from (_told(field, rule.spec.type, error) for error in _problems(case, rule))


def _problems(case: Case, rule: Rule) -> list[UsageError]:
    """Each parameter that does not fit, and the names that do not; else what the rule itself refuses."""
    found = _caught(lambda: tried(case, rule.bound(Models())))
    if not found:
        return []
    kind, params = rule.spec.type, rule.spec.params
    alone = [functools.partial(_fitted, Spec(kind, {name: value})) for name, value in params.items()]
    each = [error for fits in alone for error in _caught(fits)]
    each += _caught(lambda: bind("rule", Spec(kind, dict(params)), **Models()._asdict()))
    return list({str(error): error for error in each or found}.values())


def _fitted(spec: Spec) -> object:
    return fitted("rule", spec, reserved=Models._fields)


def _caught(check: Callable[[], object]) -> list[UsageError]:
    try:
        check()
    except UsageError as error:
        return [error]
    return []


def _told(field: str, kind: str, error: UsageError) -> RuleFault:
    """The error in parts; a stranger's, that is not made of them, whole."""
    message = str(error).removeprefix(f"rule {kind!r}: ").removeprefix(f"{kind}: ").removesuffix(".")
    if isinstance(error, UnknownName):
        _, _, wanted = message.partition(". ")
        return RuleFault(field, repr(error.name), f"the name of a rule. {wanted}")
    if names := _NAMES.fullmatch(message):
        return RuleFault(field, names["found"], f"the parameters of {kind}: {_parameters(kind)}")
    if told := _TOLD.fullmatch(message):
        return RuleFault(field, f"{told['place'].strip(': ')} {told['found']}".strip(), told["wanted"])
    return RuleFault(field, message, f"a rule {kind!r} that can be asked")


def _parameters(kind: str) -> str:
    """What a case may give the rule; what it must is marked."""
    return ", ".join(
        f"{name} (required)" if needed(parameter) else name
        for name, parameter in parameters_of(lookup("rule", kind)).items()
        if name not in Models._fields
    )
