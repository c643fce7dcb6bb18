"""What other evaluation tools share with us: CPU time a sample, import time, ratios, values side by side.

    python benchmarks/peers.py [--samples 5000] [--peer ragas=/path/to/its/python] …

Each tool, ours too, runs in a process of its own over the same samples, already in its own in-memory form: theirs
are objects, ours is records with their columns. The fastest of three runs counts. A peer lives in an environment of
its own, because their requirements do not agree; one for which no interpreter is given is said to be absent. No model is asked and nothing is sent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REPEATS = 3
QUIET = {
    "CONTINUOUS_EVAL_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DO_NOT_TRACK": "1",
    "OPENAI_API_KEY": "none",  # deepeval wants one even where no model is asked
    "RAGAS_DO_NOT_TRACK": "true",
}

Sample = dict[str, Any]
Legs = dict[str, Callable[[], float]]
"""By what is measured: a run over all samples, which gives the mean."""


def samples(n: int) -> Iterator[Sample]:
    """Intents, ranked documents, tool calls of which each name is called once, and a text with its reference."""
    rng = random.Random(20_260_826)  # noqa: S311 - test data
    tools = [f"tool_{number}" for number in range(8)]
    words = ["支持七天无理由退货", "超过七天需要检测", "运费由卖家承担", "请保留包装和发票", "可以换同款新机"]
    for _ in range(n):
        gold = rng.choice("ABCDEF")
        retrieved = rng.sample(range(300), 10)
        yield {
            "gold": gold,
            "predicted": gold if rng.random() < 0.8 else rng.choice("ABCDEF"),
            "retrieved": [f"DOC_{number}" for number in retrieved],
            "wanted": [f"DOC_{number}" for number in {*rng.sample(retrieved, 2), rng.randrange(300)}],
            "expected": calls(rng.sample(tools, rng.randint(1, 3))),
            "made": calls(rng.sample(tools, rng.randint(1, 3))),
            "response": "，".join(rng.sample(words, 3)) + "。",
            "reference": "，".join(rng.sample(words, 3)) + "。",
        }


def calls(names: list[str]) -> list[dict[str, Any]]:
    """Calls whose arguments are right whenever the tool is."""
    return [{"name": name, "args": {"order": f"A-{name}", "days": 7}} for name in names]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def evalkit_records(rows: list[Sample]) -> list[Any]:
    """The samples as records."""
    from evalkit import EvalRecord  # noqa: PLC0415 - this is what is timed
    from evalkit.contracts import ToolCall  # noqa: PLC0415

    def made(sample: Sample, name: str) -> list[ToolCall]:
        return [ToolCall(name=call["name"], arguments=call["args"]) for call in sample[name]]

    return [
        EvalRecord(
            sample_id=str(place),
            intent_l2=row["gold"],
            intent_pred=row["predicted"],
            requires_rag=True,
            reference_doc_ids=row["wanted"],
            retrieved_doc_ids=row["retrieved"],
            expected_tools=made(row, "expected"),
            tool_calls=made(row, "made"),
            response=row["response"],
            reference=row["reference"],
        )
        for place, row in enumerate(rows)
    ]


def evalkit_legs(rows: list[Sample]) -> Legs:
    """Whole families, of which the peers have one number each: 7 for tools, 31 for documents.

    A run that was read has its columns; nothing that a metric makes of them is kept from one leg to the next.
    """
    from evalkit import MetricResult, Records  # noqa: PLC0415
    from evalkit.metrics import intent, retrieval, text, tools  # noqa: PLC0415
    from evalkit.records.columnar import Columns  # noqa: PLC0415
    from evalkit.records.fields import of_rows  # noqa: PLC0415

    records = evalkit_records(rows)
    columns = Columns(of_rows(records))

    def table() -> Records:
        return Records(records, columns=columns)

    def overall(results: list[MetricResult], name: str) -> float:
        return next(float(found.overall or 0) for found in results if found.name == name)

    def texts(measure: str, name: str = "") -> Callable[[], float]:
        settings: dict[str, Any] = {"measures": [measure], "normalizer": "none"}
        return lambda: overall(text.compute(table(), **settings), name or measure)

    return {
        "tool F1": lambda: overall(tools.compute(table()), "tool_f1"),
        "tool recall": lambda: overall(tools.compute(table()), "tool_recall"),
        "document precision": lambda: overall(retrieval.compute(table()), "precision"),
        "document recall": lambda: overall(retrieval.compute(table()), "recall@10"),
        "exact match": texts("exact_match"),
        "edit similarity": texts("edit_similarity"),
        "ROUGE-L": texts("rouge_l", "rouge_l_mixed"),
        "chrF": texts("chrf"),
        "BLEU": texts("bleu_zh"),
        "macro F1 of intents": lambda: float(intent.averages(table())[0].f1),
    }


def ragas_samples(rows: list[Sample]) -> tuple[list[Any], list[Any]]:
    """The samples as ragas has them: of one turn, and of several for the tool calls."""
    from ragas.dataset_schema import MultiTurnSample, SingleTurnSample  # noqa: PLC0415 - not in ours
    from ragas.messages import AIMessage, HumanMessage, ToolCall  # noqa: PLC0415

    singles = [
        SingleTurnSample(
            response=row["response"],
            reference=row["reference"],
            retrieved_context_ids=row["retrieved"],
            reference_context_ids=row["wanted"],
        )
        for row in rows
    ]
    dialogs = [
        MultiTurnSample(
            user_input=[
                HumanMessage(content="?"),
                AIMessage(content="", tool_calls=[ToolCall(**call) for call in row["made"]]),
            ],
            reference_tool_calls=[ToolCall(**call) for call in row["expected"]],
        )
        for row in rows
    ]
    return singles, dialogs


def ragas_legs(rows: list[Sample]) -> Legs:
    """Its metrics that ask no model; BLEU with the Chinese tokenizer, which is not its default."""
    warnings.simplefilter("ignore")
    from ragas import metrics  # noqa: PLC0415

    singles, dialogs = ragas_samples(rows)

    def single(metric: Any) -> Callable[[], float]:
        async def scored() -> list[float]:
            return [await metric.single_turn_ascore(sample) for sample in singles]

        return lambda: mean(asyncio.run(scored()))

    async def dialogs_scored() -> list[float]:
        metric = metrics.ToolCallF1()
        return [await metric.multi_turn_ascore(sample) for sample in dialogs]

    return {
        "tool F1": lambda: mean(asyncio.run(dialogs_scored())),
        "document precision": single(metrics.IDBasedContextPrecision()),
        "document recall": single(metrics.IDBasedContextRecall()),
        "exact match": single(metrics.ExactMatch()),
        "edit similarity": single(metrics.NonLLMStringSimilarity()),
        "ROUGE-L": single(metrics.RougeScore()),
        "chrF": single(metrics.ChrfScore()),
        "BLEU": single(metrics.BleuScore(kwargs={"tokenize": "zh"})),
    }


def deepeval_legs(rows: list[Sample]) -> Legs:
    """Tool correctness by name, which is recall, and exact match."""
    from deepeval.metrics import ExactMatchMetric, ToolCorrectnessMetric  # noqa: PLC0415
    from deepeval.test_case import LLMTestCase, ToolCall  # noqa: PLC0415

    def made(found: list[dict[str, Any]]) -> list[Any]:
        return [ToolCall(name=call["name"], input_parameters=call["args"]) for call in found]

    cases = [
        LLMTestCase(
            input="?",
            actual_output=row["response"],
            expected_output=row["reference"],
            tools_called=made(row["made"]),
            expected_tools=made(row["expected"]),
        )
        for row in rows
    ]

    def measured(metric: Any) -> Callable[[], float]:
        return lambda: mean([metric.measure(case, _show_indicator=False) for case in cases])

    return {
        "tool recall": measured(ToolCorrectnessMetric(async_mode=False)),
        "exact match": measured(ExactMatchMetric()),
    }


def continuous_eval_legs(rows: list[Sample]) -> Legs:
    """Tool selection (recall), and precision and recall of chunks, here the ids of documents."""
    from continuous_eval.metrics.retrieval import ExactChunkMatch, PrecisionRecallF1  # noqa: PLC0415
    from continuous_eval.metrics.tools.match import ToolSelectionAccuracy  # noqa: PLC0415

    tools, chunks = ToolSelectionAccuracy(), PrecisionRecallF1(ExactChunkMatch())

    def selected() -> float:
        return mean(
            [tools.compute(tools=row["made"], ground_truths=row["expected"])["score"] for row in rows]
        )

    def found(name: str) -> Callable[[], float]:
        return lambda: mean([chunks.compute(row["retrieved"], row["wanted"])[name] for row in rows])

    return {
        "tool recall": selected,
        "document precision": found("context_precision"),
        "document recall": found("context_recall"),
    }


def evidently_legs(rows: list[Sample]) -> Legs:
    """F1 by label over one data frame, averaged; a report is made of all samples at once."""
    import pandas as pd  # noqa: PLC0415
    from evidently import DataDefinition, Dataset, MulticlassClassification, Report  # noqa: PLC0415
    from evidently.metrics import F1ByLabel  # noqa: PLC0415

    warnings.simplefilter("ignore")
    columns = [MulticlassClassification(target="gold", prediction_labels="predicted")]
    frame = pd.DataFrame(rows)[["gold", "predicted"]]
    data = Dataset.from_pandas(frame, data_definition=DataDefinition(classification=columns))

    def reported() -> float:
        found = Report([F1ByLabel()]).run(data, None).dict()["metrics"][0]["value"]
        return mean([float(value) for value in found.values()])

    return {"macro F1 of intents": reported}


TOOLS: dict[str, Callable[[list[Sample]], Legs]] = {
    "evalkit": evalkit_legs,
    "ragas": ragas_legs,
    "deepeval": deepeval_legs,
    "continuous-eval": continuous_eval_legs,
    "evidently": evidently_legs,
}


def measure(tool: str, path: Path) -> None:
    """In the tool's own process: time its import and each leg, and print both as JSON."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    start = time.process_time()
    TOOLS[tool](rows[:1])
    imported = time.process_time() - start
    found = {}
    for name, leg in TOOLS[tool](rows).items():
        times, value = [], 0.0
        for _ in range(REPEATS):
            start = time.process_time()
            value = leg()
            times.append(time.process_time() - start)
        found[name] = (min(times) / len(rows) * 1e6, value)
    told = "" if tool == "evalkit" else version(tool)
    print("\n" + json.dumps({"version": told, "import": imported, "legs": found}))


def run(tool: str, python: str, path: Path) -> dict[str, Any] | None:
    """What a tool's process says; null, and why, where it does not work."""
    command = [python, __file__, "--measure", tool, str(path)]
    paths = {"PYTHONPATH": str(ROOT)} if tool == "evalkit" else {}
    done = subprocess.run(  # noqa: S603 - the interpreters are named by whoever runs this
        command, capture_output=True, text=True, check=False, env={**os.environ, **QUIET, **paths}
    )
    if done.returncode:
        print(f"{tool}: failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
        return None
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def main(n: int, pythons: dict[str, str]) -> None:
    """Run all that are there, and print a row for each number that two of them share."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "samples.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in samples(n)), encoding="utf-8")
        absent = [tool for tool in TOOLS if tool not in pythons]
        said = {tool: found for tool, python in pythons.items() if (found := run(tool, python, path))}
    ours = said.pop("evalkit")
    print(f"{n:,} samples, CPU µs a sample, best of {REPEATS}; import of evalkit {ours['import']:.1f} s\n")
    print("| what | peer | import s | peer µs | evalkit µs | ratio | peer's mean | evalkit's mean |")
    print("|---|---|---|---|---|---|---|---|")
    for tool, found in said.items():
        for name, (cost, value) in found["legs"].items():
            mine, my_value = ours["legs"][name]
            cells = [
                name,
                f"{tool} {found['version']}",
                f"{found['import']:.1f}",
                f"{cost:,.1f}",
                f"{mine:.1f}",
            ]
            print(f"| {' | '.join(cells)} | {cost / mine:.1f} | {value:.4f} | {my_value:.4f} |")
    if absent:
        print(f"\nabsent: {', '.join(absent)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=5_000)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--measure", nargs=2, metavar=("TOOL", "FILE"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    asked = arguments()
    if asked.measure:
        measure(asked.measure[0], Path(asked.measure[1]))
    else:
        main(asked.samples, {"evalkit": sys.executable, **dict(each.split("=", 1) for each in asked.peer)})
