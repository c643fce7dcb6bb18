"""Names to functions: `register` gives an extension its wire name, `bind` fills its parameters in.

What is stored is a `Spec(type, params)`, plain data. Built-in extensions are listed here and imported when
first asked for; other packages announce theirs under the entry-point groups `evalkit.metric`,
`evalkit.target`, …
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.errors import UnknownName, UsageError, shown
from evalkit.parameters import check, needed, parameters_of, written

__all__ = ["Spec", "bind", "lookup", "names", "register"]

Function = Callable[..., Any]

_BUILT_IN: dict[str, dict[str, str]] = {
    "metric": {
        "intent": "evalkit.metrics.intent:family",
        "retrieval": "evalkit.metrics.retrieval:compute",
        "behavior": "evalkit.metrics.behavior:compute",
        "completion": "evalkit.metrics.completion:compute",
        "tools": "evalkit.metrics.tools:compute",
        "latency": "evalkit.metrics.latency:compute",
        "outcome": "evalkit.metrics.outcome:compute",
        "passes": "evalkit.metrics.outcome:passes",
        "text": "evalkit.metrics.text:compute",
        "judged": "evalkit.metrics.judged:compute",
    },
    "rule": {
        "keyword_match": "evalkit.rules.keyword_match:keyword_match",
        "response_time": "evalkit.rules.response_time:response_time",
        "json_schema": "evalkit.rules.json_schema:json_schema",
        "semantic_similarity": "evalkit.rules.semantic_similarity:semantic_similarity",
        "llm_score": "evalkit.rules.llm_score:llm_score",
        "safety": "evalkit.rules.safety:safety",
        "intent_classification": "evalkit.rules.intent_classification:intent_classification",
        "should_succeed": "evalkit.rules.expectation:should_succeed",
        "task_completion": "evalkit.rules.task_completion:task_completion",
    },
    "measure": {
        "faithfulness": "evalkit.judges.measures.faithfulness:faithfulness",
        "answer_relevancy": "evalkit.judges.measures.answer_relevancy:answer_relevancy",
        "answer_correctness": "evalkit.judges.measures.answer_correctness:answer_correctness",
        "context_precision": "evalkit.judges.measures.context_precision:context_precision",
        "context_recall": "evalkit.judges.measures.context_recall:context_recall",
        "llm_score": "evalkit.judges.measures.llm_score:llm_score",
        "task_completion": "evalkit.judges.measures.task_completion:task_completion",
        "intent_classification": "evalkit.judges.measures.intent_classification:intent_classification",
        "safety": "evalkit.judges.measures.safety:safety",
        "pairwise": "evalkit.judges.measures.pairwise:pairwise",
        "rules": "evalkit.engines.rules.asked:asked_rules",
    },
    "target": {
        "demo": "evalkit.targets.demo:demo",
        "ragent": "evalkit.targets.ragent:ragent",
        "openai": "evalkit.targets.http.ready:openai",
        "openai_responses": "evalkit.targets.http.ready:openai_responses",
        "anthropic": "evalkit.targets.http.ready:anthropic",
        "dify": "evalkit.targets.http.ready:dify",
        "fastgpt": "evalkit.targets.http.ready:fastgpt",
        "ragflow": "evalkit.targets.http.ready:ragflow",
        "ragflow_legacy": "evalkit.targets.http.ready:ragflow_legacy",
        "ragflow_openai": "evalkit.targets.http.ready:ragflow_openai",
        "ragflow_agent": "evalkit.targets.http.ready:ragflow_agent",
        "langserve": "evalkit.targets.http.ready:langserve",
        "langserve_events": "evalkit.targets.http.ready:langserve_events",
        "langgraph": "evalkit.targets.http.ready:langgraph",
        "langgraph_partial": "evalkit.targets.http.ready:langgraph_partial",
        "vercel": "evalkit.targets.http.ready:vercel",
        "vercel4": "evalkit.targets.http.ready:vercel4",
        "coze": "evalkit.targets.http.ready:coze",
    },
}
_CONFIGURED = {"target": "evalkit.targets.http.configured:named"}
"""What lists the extensions of a kind that a project describes in its `evalkit.toml`, each with its maker."""

_registered: dict[tuple[str, str], Function] = {}


@dataclass(frozen=True, slots=True)
class Spec:
    """A named extension and its parameters, as they are stored and sent."""

    type: str
    params: dict[str, Any] = field(default_factory=dict)


def register(kind: str, name: str) -> Callable[[Function], Function]:
    """Decorate a function to be found under `name`; a second function of that name is refused."""

    def add(function: Function) -> Function:
        if _registered.get((kind, name), function) is not function or name in _BUILT_IN.get(kind, {}):
            raise UsageError(f"{kind} {name!r} is registered twice; give the second one another name.")
        _registered[kind, name] = function
        return function

    return add


def names(kind: str) -> list[str]:
    """The names known of that kind: built in first, then the registered and the installed ones."""
    ours = list(_BUILT_IN.get(kind, {}))
    theirs = {name for known, name in _registered if known == kind} | {
        *_entry_points(kind),
        *_described(kind),
    }
    return ours + sorted(theirs - set(ours))


def lookup(kind: str, name: str) -> Function:
    """The function registered under that name, or named as `module:function`; UnknownName lists the others."""
    described = _described(kind)
    if name in described:
        return _made(kind, name, described[name])
    if (kind, name) in _registered:
        return _registered[kind, name]
    if name in _BUILT_IN.get(kind, {}):
        return _loaded(kind, _point(kind, _BUILT_IN[kind][name]))
    if name in _entry_points(kind):
        return _loaded(kind, _entry_points(kind)[name])
    if ":" in name:
        return _loaded(kind, _point(kind, name))
    raise UnknownName(kind, name, names(kind))


def bind(kind: str, spec: Spec, **resources: Any) -> Function:
    """The extension with its parameters filled in; UsageError names those that are wanted when they do not fit.

    A parameter of a plain type (text, number, true or false, one of several literals) must be given as such.
    `resources` (clients, judges) are passed to the functions that have a parameter of that name. What the
    environment says goes before defaults where the function has an attribute `settle`: from the parameters
    that are given to those that the environment decides.
    """
    function = lookup(kind, spec.type)
    wanted = parameters_of(function)
    given = {name: value for name, value in resources.items() if name in wanted} | spec.params
    unknown = [f"unknown {name}" for name in sorted(given.keys() - wanted.keys())]
    missing = [f"missing {name}" for name in sorted(wanted.keys() - given.keys()) if needed(wanted[name])]
    if unknown or missing:
        raise UsageError(
            f"{kind} {spec.type!r}: parameters do not fit ({', '.join([*unknown, *missing])}). "
            f"Wanted: {written(wanted, without=resources) or 'none'}"
        )
    for name, value in spec.params.items():
        check(f"{kind} {spec.type!r}: {name}", value, function, wanted[name])
    settle: Callable[[dict[str, Any]], dict[str, Any]] = getattr(function, "settle", lambda _: {})
    return functools.partial(function, **(given | settle(given)))


def _described(kind: str) -> dict[str, Callable[[], Function]]:
    """What the project in the working directory describes of that kind."""
    if kind not in _CONFIGURED or not Path("evalkit.toml").is_file():
        return {}
    found: dict[str, Callable[[], Function]] = _loaded(kind, _point(kind, _CONFIGURED[kind]))()
    return found


def _made(kind: str, name: str, make: Callable[[], Function]) -> Function:
    if name in _BUILT_IN.get(kind, {}) or (kind, name) in _registered:
        raise UsageError(f"evalkit.toml: [{kind}s.{name}]: the name is taken; give the table another one.")
    return make()


def _loaded(kind: str, point: importlib.metadata.EntryPoint) -> Function:
    """What an installed package announced, imported."""
    try:
        function: Function = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{kind} {point.name!r}: {point.value} cannot be imported ({type(error).__name__}: {error}); "
            "mend the name, or mend or remove the package that announces it."
        ) from error
    if not callable(function):
        raise UsageError(f"{kind} {point.name!r}: found {shown(function)}, wanted a function.")
    return function


def _point(kind: str, value: str) -> importlib.metadata.EntryPoint:
    """A `module:function` in the form in which packages announce theirs."""
    return importlib.metadata.EntryPoint(value, value, f"evalkit.{kind}")


@functools.cache
def _entry_points(kind: str) -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages announce for that kind."""
    return {point.name: point for point in importlib.metadata.entry_points(group=f"evalkit.{kind}")}
