"""Which samples of two runs are the same question, and whether the runs may be compared at all.

Samples pair by key where their cases say the same. A case that only got another id pairs by what it says.
What is in one run only, or says something else now, is listed and never paired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from evalkit.report.snapshot import MetricFacts, Snapshot

__all__ = ["Pairs", "Refusal", "pair", "refusals"]

_SHA = 12
_SIGN = re.compile("[:=]")


class Refusal(NamedTuple):
    """Why something is not compared: `metric` is empty where nothing is; `text` names the difference."""

    metric: str
    text: str


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two runs side by side: row i of `base` and of `run` is one question, in the order of the base's keys.

    `added` are keys of the run alone, `removed` of the base alone, `changed` of both whose case says
    something else, `renamed` pairs of a key of the base and the key that its case has in the run.
    """

    base: pd.DataFrame
    run: pd.DataFrame
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]


def pair(base: Snapshot, run: Snapshot) -> Pairs:
    """The samples of both, paired by key and content; then, among the rest, by content and repeat."""
    if _alike(base.samples, run.samples):
        return Pairs(base.samples, run.samples, (), (), (), ())
    before, after = _content(base.samples), _content(run.samples)
    pairs = {key: key for key in before if after.get(key) == before[key]}
    left = {key: said for key, said in before.items() if key not in pairs}
    right = {key: said for key, said in after.items() if key not in pairs}
    renamed = _renamed(left, right)
    pairs |= renamed
    taken = set(pairs.values())
    changed = [key for key in left if key in right and key not in renamed and key not in taken]
    keys = sorted(pairs)
    return Pairs(
        _rows(base.samples, keys),
        _rows(run.samples, [pairs[key] for key in keys]),
        added=tuple(key for key in right if key not in taken and key not in changed),
        removed=tuple(key for key in left if key not in renamed and key not in changed),
        changed=tuple(changed),
        renamed=tuple(sorted(renamed.items())),
    )


def _rows(samples: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    place = {key: row for row, key in enumerate(samples.index)}
    return samples.iloc[[place[key] for key in keys]]


def _alike(base: pd.DataFrame, run: pd.DataFrame) -> bool:
    """Whether both have the same keys with the same cases: the usual case, and the quick one."""
    return base.index.equals(run.index) and base["case_sha"].equals(run["case_sha"])


def _content(samples: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """For each key what the case says and which repeat of it the sample is."""
    columns = (samples.index, samples["sample_id"], samples["case_sha"])
    return {key: (said, key[len(case) :]) for key, case, said in zip(*columns, strict=True)}


def _renamed(left: dict[str, tuple[str, str]], right: dict[str, tuple[str, str]]) -> dict[str, str]:
    """The keys of `left` whose content stands under another key of `right`, where that is plain."""
    here, there = _only(left), _only(right)
    return {key: there[said] for said, key in here.items() if said in there}


def _only(keys: dict[str, tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The keys by their content, without contents that several keys have."""
    counts = Counter(keys.values())
    return {said: key for key, said in keys.items() if counts[said] == 1}


def refusals(
    base: Snapshot, run: Snapshot, metrics: Sequence[str], *, allow_changed_set: bool
) -> tuple[Refusal, ...]:
    """What forbids a comparison of these metrics, each difference named; empty where all is comparable."""
    found = [] if allow_changed_set else list(_set_refusals(base, run))
    return (*found, *(refusal for metric in metrics for refusal in _metric_refusals(base, run, metric)))


def _set_refusals(base: Snapshot, run: Snapshot) -> Iterator[Refusal]:
    way_out = "pair the cases that did not change with --changed-set"
    unknown = [name for name, snap in (("base", base), ("run", run)) if not snap.eval_set_sha256]
    if unknown:
        yield Refusal("", f"eval set: unknown in {' and '.join(unknown)} (no manifest); {way_out}")
    elif base.eval_set_sha256 != run.eval_set_sha256:
        here, there = base.eval_set_sha256[:_SHA], run.eval_set_sha256[:_SHA]
        yield Refusal("", f"eval set: sha256 {here}… in the base, {there}… in the run; {way_out}")


def _metric_refusals(base: Snapshot, run: Snapshot, metric: str) -> Iterator[Refusal]:
    before, after = base.metrics.get(metric), run.metrics.get(metric)
    if before is None or after is None:
        missing = [name for name, facts in (("base", before), ("run", after)) if facts is None]
        yield Refusal(metric, f"{metric}: not measured in the {' nor in the '.join(missing)}")
        return
    here, there = _parts(before), _parts(after)
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            values = (here.get(name, "nothing"), there.get(name, "nothing"))
            yield Refusal(metric, f"{metric}: {name} {values[0]} in the base, {values[1]} in the run")


def _parts(facts: MetricFacts) -> dict[str, str]:
    """The parts of a signature by name, without the eval set, which is compared for itself."""
    _, version, *rest = facts.signature.split("|")
    named = dict(_named(part) for part in rest)
    named.pop("set", None)
    return {"version": version, **named}


def _named(part: str) -> tuple[str, str]:
    sign = _SIGN.search(part)
    return (part[: sign.start()], part[sign.end() :]) if sign else (part, "")
