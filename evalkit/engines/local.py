"""The engine in this process: one pass of each metric over the whole table."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalkit.contracts import MetricResult
from evalkit.errors import UsageError
from evalkit.records import Records, RecordsLike
from evalkit.registry import Spec, bind

__all__ = ["DEFAULT", "is_ours", "local", "refuse_twice", "told"]

DEFAULT = tuple(
    Spec(name)
    for name in (
        "intent",
        "retrieval",
        "behavior",
        "completion",
        "tools",
        "latency",
        "outcome",
        "passes",
        "text",
        "judged",
    )
)
"""All metric families of this package, each with its own defaults."""

_LONGEST = 40


def local(records: RecordsLike, *, metrics: Sequence[Spec] = DEFAULT) -> list[MetricResult]:
    """The results of the metrics over the records, in order, families one by one.

    Raises UnknownName for a metric nobody knows, UsageError for parameters that do not fit or when two
    results have the same name.
    """
    functions = [(bind("metric", spec), told(spec.params)) for spec in metrics]
    table = Records.of(records)
    results = [
        replace(result, params=params) for function, params in functions for result in _flat(function(table))
    ]
    refuse_twice(result.name for result in results)
    return results


def is_ours(spec: Spec) -> bool:
    """Whether the metric is one of this package."""
    return any(spec.type == ours.type for ours in DEFAULT)


def refuse_twice(names: Iterable[str]) -> None:
    """UsageError where two results have one name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise UsageError(f"metrics: found two results named {', '.join(twice)}, wanted each name once.")


def told(params: Mapping[str, Any]) -> str:
    """The parameters in one line, the same for the same values; what is long is told by its hash."""
    texts = {name: json.dumps(value, ensure_ascii=False, sort_keys=True) for name, value in params.items()}
    short = {
        name: text
        if len(text) <= _LONGEST
        else "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
        for name, text in texts.items()
    }
    return ",".join(f"{name}={text}" for name, text in sorted(short.items()))


def _flat(results: MetricResult | list[MetricResult]) -> Iterator[MetricResult]:
    yield from [results] if isinstance(results, MetricResult) else results
