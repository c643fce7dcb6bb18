"""Retrieval metrics against the field's tools: CPU time on the same queries, from plain lists in memory.

    python benchmarks/retrieval_peers.py [queries]

Ten documents were retrieved for each query, one to three are wanted. Every tool makes its input of the same lists of
ids, and scores every query at the cut-offs 1, 3, 5 and 10: trec_eval five measures (its reciprocal rank has no
cut-off), the others six, evalkit all of its own. Both are timed warm, the fastest of three runs; the input is new
for each. Cold is a new process that scores one query. ranx takes part where it is installed. What each measure gives
for each query is held against ours.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pyarrow as pa
import pytrec_eval
from numpy.typing import NDArray

from evalkit import Records
from evalkit.metrics import intent, retrieval

REPEATS = 3
CUTOFFS = (1, 3, 5, 10)
SEED = 20_260_826
TOLERANCE = 1e-12
TREC = {"hit": "success", "recall": "recall", "precision": "P", "map": "map_cut", "ndcg": "ndcg_cut"}
RANX = {
    "hit": "hit_rate",
    "recall": "recall",
    "precision": "precision",
    "mrr": "mrr",
    "map": "map",
    "ndcg": "ndcg",
}
IR = {
    "hit": ir_measures.Success,
    "recall": ir_measures.R,
    "precision": ir_measures.P,
    "mrr": ir_measures.RR,
    "map": ir_measures.AP,
    "ndcg": ir_measures.nDCG,
}

Floats = NDArray[np.float64]
Dicts = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


class Queries(NamedTuple):
    """What all tools are given: the name of each query, its ranking, and the documents that are wanted."""

    ids: list[str]
    ranked: list[list[str]]
    wanted: list[list[str]]


class Tool(NamedTuple):
    """A tool: how its input is made of the queries, and how it scores that; `cold` is a program that does both."""

    name: str
    build: Callable[[Queries], Any]
    evaluate: Callable[[Any], Any]
    values: Callable[[Any, Sequence[str]], Mapping[str, Floats]]
    scores: int
    cold: str


def queries(n: int) -> Queries:
    """Rankings of ten of 2,000 documents against one to three wanted ones."""
    dice = np.random.default_rng(SEED)
    documents = [f"POLICY_{number:04d}" for number in range(2_000)]
    ranked = dice.integers(0, 200, size=(n, 10)) + 200 * np.arange(10)
    wanted = np.where(
        dice.random((n, 3)) < 0.6,
        np.take_along_axis(ranked, dice.integers(0, 10, size=(n, 3)), axis=1),
        dice.integers(0, 2_000, size=(n, 3)),
    )
    sizes = dice.integers(1, 4, size=n).tolist()
    return Queries(
        [f"q{number:07d}" for number in range(n)],
        [[documents[place] for place in places] for places in ranked.tolist()],
        [
            list(dict.fromkeys(documents[place] for place in places[:size]))
            for places, size in zip(wanted.tolist(), sizes, strict=True)
        ],
    )


def our_build(given: Queries) -> Records:
    """A table of Arrow, checked as the models would, as records; its types are named, which Arrow else finds out."""
    texts = pa.list_(pa.string())
    schema = pa.schema(
        [("sample_id", pa.string()), ("retrieved_doc_ids", texts), ("reference_doc_ids", texts)]
    )
    return Records.of(pa.table([given.ids, given.ranked, given.wanted], schema=schema))


def dicts(given: Queries) -> Dicts:
    """The judgements and the rankings as the field's tools take them: a higher score is a better place."""
    gold = {key: dict.fromkeys(wanted, 1) for key, wanted in zip(given.ids, given.wanted, strict=True)}
    ranked = {
        key: {doc: float(-place) for place, doc in enumerate(ranking)}
        for key, ranking in zip(given.ids, given.ranked, strict=True)
    }
    return gold, ranked


def at_all(names: Mapping[str, str]) -> dict[str, str]:
    """Our name of each measure at each cut-off by theirs, spelled `name@k`."""
    return {f"{theirs}@{k}": f"{ours}@{k}" for ours, theirs in names.items() for k in CUTOFFS}


def our_values(results: Any, keys: Sequence[str]) -> Mapping[str, Floats]:  # noqa: ARG001 - in order already
    """Each metric's scores, in the order of the queries."""
    return {result.name: result.per_sample.scores.values for result in results}


def trec_build(given: Queries) -> Any:
    """trec_eval's own code with the judgements loaded, and the rankings."""
    gold, ranked = dicts(given)
    cuts = ",".join(map(str, CUTOFFS))
    return pytrec_eval.RelevanceEvaluator(gold, {f"{name}.{cuts}" for name in TREC.values()}), ranked


def trec_values(found: Any, keys: Sequence[str]) -> Mapping[str, Floats]:
    """Its values by our names."""
    return {
        f"{ours}@{k}": np.array([found[key][f"{theirs}_{k}"] for key in keys])
        for ours, theirs in TREC.items()
        for k in CUTOFFS
    }


def ranx_build(given: Queries) -> Any:
    """Its compiled lists; it is heavy, and no dependency of ours."""
    import ranx  # noqa: PLC0415

    gold, ranked = dicts(given)
    return ranx.Qrels(gold), ranx.Run(ranked)


def ranx_evaluate(given: Any) -> Any:
    """Every measure, query by query."""
    import ranx  # noqa: PLC0415

    return ranx.evaluate(*given, list(at_all(RANX)), return_mean=False)


def ranx_values(found: Any, keys: Sequence[str]) -> Mapping[str, Floats]:  # noqa: ARG001 - in order already
    """Its values by our names."""
    return {ours: np.asarray(found[theirs]) for theirs, ours in at_all(RANX).items()}


def ir_build(given: Queries) -> Any:
    """Its evaluator with the judgements loaded, and the rankings."""
    gold, ranked = dicts(given)
    return ir_measures.evaluator([measure @ k for measure in IR.values() for k in CUTOFFS], gold), ranked


def ir_values(found: Any, keys: Sequence[str]) -> Mapping[str, Floats]:
    """Its values by our names."""
    names = {str(measure @ k): f"{ours}@{k}" for ours, measure in IR.items() for k in CUTOFFS}
    row = {key: place for place, key in enumerate(keys)}
    values = {name: np.zeros(len(keys)) for name in names.values()}
    for metric in found:
        values[names[str(metric.measure)]][row[metric.query_id]] = metric.value
    return values


TOOLS = (
    Tool(
        "evalkit, 30 metrics",
        our_build,
        retrieval.compute,
        our_values,
        30,
        "import pyarrow as pa\nfrom evalkit import Records\nfrom evalkit.metrics import retrieval\n"
        "table = pa.table({'sample_id': ['a'], 'reference_doc_ids': [['d']], 'retrieved_doc_ids': [['d']]})\n"
        "retrieval.compute(Records.of(table))",
    ),
    Tool(
        "pytrec_eval",
        trec_build,
        lambda given: given[0].evaluate(given[1]),
        trec_values,
        len(TREC) * len(CUTOFFS),
        "import pytrec_eval\n"
        "pytrec_eval.RelevanceEvaluator({'a': {'d': 1}}, {'ndcg_cut.10'}).evaluate({'a': {'d': 1.0}})",
    ),
    Tool(
        "ranx",
        ranx_build,
        ranx_evaluate,
        ranx_values,
        len(RANX) * len(CUTOFFS),
        "import ranx\nranx.evaluate(ranx.Qrels({'a': {'d': 1}}), ranx.Run({'a': {'d': 1.0}}), ['ndcg@10'])",
    ),
    Tool(
        "ir_measures",
        ir_build,
        lambda given: list(given[0].iter_calc(given[1])),
        ir_values,
        len(IR) * len(CUTOFFS),
        "import ir_measures\n"
        "list(ir_measures.iter_calc([ir_measures.nDCG @ 10], {'a': {'d': 1}}, {'a': {'d': 1.0}}))",
    ),
)


def cpu(leg: Callable[[Any], Any], given: Callable[[], Any]) -> float:
    """The fastest of some runs of a leg, each with something new, in CPU seconds of this process."""
    times = []
    for _ in range(REPEATS):
        new = given()
        start = time.process_time()
        leg(new)
        times.append(time.process_time() - start)
    return min(times)


def cold(program: str) -> float:
    """CPU seconds of a new process that scores one query."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)  # noqa: S603 - our own text
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def agreement(ours: Mapping[str, Floats], theirs: Mapping[str, Floats]) -> str:
    """How many of their measures are ours to 1e-12 for every query, and which are not."""
    apart = {name: float(np.abs(ours[name] - values).max()) for name, values in theirs.items()}
    others = [f"{name} ({gap:.2g})" for name, gap in apart.items() if gap > TOLERANCE]
    return f"{len(apart) - len(others)} of {len(apart)}" + (f", not {', '.join(others)}" if others else "")


def measured(tool: Tool, given: Queries, ours: Mapping[str, Floats]) -> tuple[float, float, float, str]:
    """µs a query of its evaluation and of making its input, its cold start, and how far it agrees."""
    told = agreement(ours, tool.values(tool.evaluate(tool.build(given)), given.ids))
    alone = cpu(tool.evaluate, lambda: tool.build(given))
    made = cpu(tool.build, lambda: given)
    return alone / len(given.ids) * 1e6, made / len(given.ids) * 1e6, cold(tool.cold), told


def core_speed(given: Queries) -> float:
    """Scores a second of one core over nine retrieval metrics and the intent, from columns that were coded."""
    dice, n = np.random.default_rng(SEED), len(given.ids)
    labels, right = dice.integers(0, 30, size=n), dice.random(n) < 0.8
    table = pa.table(
        {
            "sample_id": given.ids,
            "retrieved_doc_ids": given.ranked,
            "reference_doc_ids": given.wanted,
            "intent_l1": ["SUPPORT"] * n,
            "intent_l2": [f"S{label}" for label in labels],
            "intent_pred": [f"S{label}" for label in np.where(right, labels, labels - 1)],
        }
    )

    def scored(records: Records) -> None:
        retrieval.compute(records, cutoffs=(5,))
        intent.compute(records)

    records = Records.of(table)
    scored(records)
    return 10 * n / cpu(scored, lambda: records)


def main(n: int) -> None:
    """Time every tool and print the table."""
    given = queries(n)
    ours = our_values(retrieval.compute(our_build(given)), ())
    tools = [tool for tool in TOOLS if tool.name != "ranx" or importlib.util.find_spec("ranx")]
    found = {tool.name: measured(tool, given, ours) for tool in tools}
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{n:,} queries, CPU, best of {REPEATS}; {os.cpu_count()} cores, load {load}, Python {platform.python_version()}"
    )
    print(
        "| tool | µs a query | with its input | × ours | × ours with input | scores a second | cold start, s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    alone, build, *_ = found[TOOLS[0].name]
    for tool in tools:
        each, made, start, _ = found[tool.name]
        ratios = f"{each / alone:.1f} | {(each + made) / (alone + build):.1f}"
        print(
            f"| {tool.name} | {each:.2f} | {each + made:.2f} | {ratios} | {tool.scores / each * 1e6:,.0f} | {start:.2f} |"
        )
    print(f"\nnine retrieval metrics and the intent: {core_speed(given):,.0f} scores a second on one core")
    for tool in tools[1:]:
        print(f"{tool.name}: equal to 1e-12 in {found[tool.name][3]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
