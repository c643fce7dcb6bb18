"""What is to be judged of a run, and with what: each measure bound to whom it asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalkit.contracts import EvalRecord, Judgement
from evalkit.errors import UsageError
from evalkit.fitting import fitted
from evalkit.judgements import JudgedKey, content_of
from evalkit.judges.batch import Job
from evalkit.judges.cache import content_key
from evalkit.judges.measures import Measure
from evalkit.judges.panel import Panel
from evalkit.records import Records
from evalkit.registry import Spec, bind

__all__ = ["DEFAULT", "EMBEDDED", "Wanted", "jobs"]

DEFAULT = ("faithfulness", "context_precision", "context_recall")
"""The metrics asked for where nobody says otherwise."""

EMBEDDED = ("answer_relevancy", "answer_correctness")
"""The metrics that compare meanings, asked for as well where the judge has an embedding model."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which metrics, how often, and what they need to know beside the record.

    `others` are the records of another run by key, to compare with; `embedding` names the embedding model.
    """

    metrics: Sequence[str]
    repeats: int = 1
    others: Mapping[str, EvalRecord] = field(default_factory=dict)
    embedding: str | None = None
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def jobs(records: Records, panel: Panel, wanted: Wanted) -> Iterator[Job]:
    """Every judgement that the run could have; sample by sample, so that what stops halfway has whole samples.

    Raises UnknownName for a metric nobody knows, UsageError where one needs what is not configured.
    """
    resources = _resources(records, wanted)
    names = {metric: _name(metric, panel, wanted) for metric in wanted.metrics}
    bound = [
        (metric, repeat, _named(names[metric], _bound(metric, panel, repeat, resources, wanted)))
        for metric in wanted.metrics
        for repeat in range(wanted.repeats)
    ]
    setups = {metric: _setup(metric, resources) for metric in wanted.metrics}
    for record in records:
        content = content_of(record)
        for metric, repeat, ask in bound:
            setup = setups[metric]
            if metric == "pairwise" and record.key in wanted.others:
                setup = content_key(setup=setup, other=content_of(wanted.others[record.key]))[:16]
            yield Job(JudgedKey(record.key, metric, names[metric], setup, repeat, content), record, ask)


def _name(metric: str, panel: Panel, wanted: Wanted) -> str:
    """Who judges: the judge, and what it is told beside its own words. A judge of other things is another one."""
    told: dict[str, Any] = {"params": wanted.params.get(metric)}
    told["embedding"] = wanted.embedding if metric in EMBEDDED else None
    return f"{panel.name}+{content_key(**told)[:6]}" if any(told.values()) else panel.name


def _named(name: str, ask: Measure) -> Measure:
    """The same, whose judgements carry that name."""

    async def told(record: EvalRecord) -> Judgement | None:
        said = await ask(record)
        return said and said.model_copy(update={"judge": name})

    return told


def _bound(metric: str, panel: Panel, repeat: int, resources: Mapping[str, Any], wanted: Wanted) -> Measure:
    if metric in EMBEDDED and panel.embed is None:
        raise UsageError(
            f"{metric} compares meanings: name an embedding model with `embedding = …` in the judge's table, "
            'and configure it with role = "embedding".'
        )
    spec = Spec(metric, dict(wanted.params.get(metric, {})))
    models = {**resources, **panel.resources(repeat)}
    given = fitted("measure", spec, reserved=("judge", "embed", "moderate", "others"))
    bound: Measure = bind("measure", Spec(metric, given), **models)
    return bound


def _resources(records: Records, wanted: Wanted) -> dict[str, Any]:
    labels = sorted({record.intent_l2 for record in records if record.intent_l2})
    return {"labels": dict.fromkeys(labels, ""), "others": wanted.others}


def _setup(metric: str, resources: Mapping[str, Any]) -> str:
    """A hash over what of the run the metric was asked with beside the record."""
    labels = list(resources["labels"]) if metric == "intent_classification" else []
    return content_key(labels=labels)[:16]
