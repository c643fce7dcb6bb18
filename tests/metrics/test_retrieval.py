"""Retrieval metrics: golden vectors, the row form, the field's reference tools, chunks."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord, Records
from evalkit.errors import UsageError
from evalkit.metrics import retrieval

TABLE = Path(__file__).parents[1] / "golden" / "retrieval.jsonl"
GOLDEN = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
CUTOFFS = (1, 3, 5, 10)
FAMILIES = ("hit", "recall", "precision", "mrr", "map", "ndcg", "recall_inclusive", "ndcg_graded")

ids = st.sampled_from(("A", "B", "C", "D", "Ａ", "A\u200b", "POLICY_RETURN_002", "订单"))
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "", "SUPPORT")),
            "intent_l2": st.sampled_from((None, "S1", "S2")),
            "requires_rag": st.sampled_from((None, True, True, False)),
            "reference_doc_ids": st.none() | st.lists(ids, max_size=5),
            "reference_doc_ids_nice": st.none() | st.lists(ids, max_size=3),
            "retrieved_doc_ids": st.none() | st.lists(ids, max_size=12),
            "evidence_status": st.sampled_from(("ok", "ok", "ok", "error", "skipped")),
        }
    ),
    max_size=10,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


def total(numbers: Iterable[float]) -> float:
    """The sum from left to right, each step rounded, as the columns are summed."""
    found = 0.0
    for number in numbers:
        found += number
    return found


def gain(ranked: list[str], gold: set[str], k: int) -> float:
    return total(1 / math.log2(rank + 1) for rank, doc in enumerate(ranked[:k], 1) if doc in gold)


def ideal(gold: set[str], k: int) -> float:
    return total(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), k) + 1))


def average_precision(ranked: list[str], gold: set[str], k: int) -> float:
    ranks = [rank for rank, doc in enumerate(ranked[:k], 1) if doc in gold]
    return total(nth / rank for nth, rank in enumerate(ranks, 1)) / len(gold)


def reciprocal_rank(ranked: list[str], gold: set[str], k: int) -> float:
    return next((1 / rank for rank, doc in enumerate(ranked[:k], 1) if doc in gold), 0.0)


AT: dict[str, Callable[[list[str], set[str], int], float]] = {
    "hit": lambda ranked, gold, k: float(bool(set(ranked[:k]) & gold)),
    "recall": lambda ranked, gold, k: len(set(ranked[:k]) & gold) / len(gold),
    "precision": lambda ranked, gold, k: len(set(ranked[:k]) & gold) / k,
    "mrr": reciprocal_rank,
    "map": average_precision,
    "ndcg": lambda ranked, gold, k: gain(ranked, gold, k) / ideal(gold, k),
}


def row(name: str, k: int) -> Callable[[EvalRecord], float | None]:
    """The definition of one metric for one record."""

    def score(record: EvalRecord) -> float | None:
        must, nice = set(record.reference_doc_ids), set(record.reference_doc_ids_nice)
        asked = record.requires_rag or (record.requires_rag is None and must)
        gold = must | nice if name == "recall_inclusive" else must
        if not asked or not gold or record.evidence_status != "ok" or record.retrieved_doc_ids is None:
            return None
        ranked = list(dict.fromkeys(record.retrieved_doc_ids))
        if name == "ndcg_graded":
            both = must | nice
            return (gain(ranked, must, k) + gain(ranked, both, k)) / (ideal(must, k) + ideal(both, k))
        if name == "set_precision":
            return len(set(ranked) & must) / len(ranked) if ranked else None
        if name == "f1":
            return 2 * len(set(ranked) & must) / (len(ranked) + len(must))
        return AT["recall" if name == "recall_inclusive" else name](ranked, gold, k)

    return score


def rows(cutoffs: Iterable[int], families: Iterable[str]) -> dict[str, Callable[[EvalRecord], float | None]]:
    at = {f"{name}@{k}": row(name, k) for k in cutoffs for name in families}
    return {**at, "precision": row("set_precision", 0), "f1": row("f1", 0)}


@given(records=runs)
def test_columns_equal_rows(agree: Callable[..., None], records: list[EvalRecord]) -> None:
    """Whatever the run, every retrieval metric is bit by bit what its row form says, and in range."""
    results = retrieval.compute(records, cutoffs=(1, 2, 5), graded=True)
    agree(results, records, rows((1, 2, 5), FAMILIES))
    scores = [score for result in results for score in result.per_sample.values() if score is not None]
    assert all(0 <= score <= 1 for score in scores)
    for result in results:
        if result.is_rate:
            assert set(result.per_sample.values()) <= {None, 0, 1}


@given(records=runs, random_order=st.randoms(use_true_random=False))
def test_order_changes_no_bit(records: list[EvalRecord], random_order: random.Random) -> None:
    shuffled = random_order.sample(records, len(records))
    for one, other in zip(retrieval.compute(records), retrieval.compute(shuffled), strict=True):
        assert one.overall == other.overall
        assert dict(one.by_intent_l2) == dict(other.by_intent_l2)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    """Each golden value, to the digits that its source gives."""
    assert case["source"]
    record = EvalRecord(
        sample_id="1",
        requires_rag=True,
        reference_doc_ids=case["must"],
        reference_doc_ids_nice=case.get("nice"),
        retrieved_doc_ids=case["retrieved"],
    )
    results = {result.name: result for result in retrieval.compute([record], graded=True)}
    wanted = case["value"] if case["value"] is None else pytest.approx(case["value"], abs=5e-5)
    assert results[case["metric"]].overall == wanted


def test_an_empty_retrieval_is_in_the_mean() -> None:
    """One perfect retrieval and one empty: the mean is a half over two."""
    records = [
        EvalRecord(sample_id="a", reference_doc_ids=["A"], retrieved_doc_ids=["A"]),
        EvalRecord(sample_id="b", reference_doc_ids=["A"], retrieved_doc_ids=[]),
        EvalRecord(sample_id="c", reference_doc_ids=["A"], retrieved_doc_ids=None),
        EvalRecord(sample_id="d", reference_doc_ids=["A"], retrieved_doc_ids=["A"], evidence_status="error"),
        EvalRecord(sample_id="e", reference_doc_ids=["A"], retrieved_doc_ids=["A"], requires_rag=False),
    ]
    recall = named(records, "recall@5")
    assert (recall.overall, recall.overall.n_counted, recall.overall.n_total) == (0.5, 2, 5)


def named(records: Any, name: str, **parameters: Any) -> Any:
    return next(result for result in retrieval.compute(records, **parameters) if result.name == name)


def test_names_and_marks() -> None:
    """Thirty results by default; a rate is what can be nothing but 0 and 1."""
    results = retrieval.compute([])
    assert [result.name for result in results] == list(rows(CUTOFFS, FAMILIES[:-1]))
    assert all(result.overall is None and result.version == 1 for result in results)
    assert not any(result.lower_is_better for result in results)
    assert [result.name for result in results if result.is_rate] == [
        *("hit@1", "precision@1", "mrr@1", "ndcg@1"),
        *("hit@3", "hit@5", "hit@10"),
    ]
    plain = {result.name.partition("@")[0] for result in results if not result.is_pct}
    assert plain == {"mrr", "map", "ndcg"}


@pytest.mark.parametrize("cutoffs", [(0,), (3, -1), (5, 5)], ids=str)
def test_cutoffs_that_mean_nothing_are_refused(cutoffs: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="different whole numbers from 1"):
        retrieval.compute([], cutoffs=cutoffs)


def random_run(n: int) -> list[EvalRecord]:
    """Rankings of up to 30 of 40 documents against up to 8 gold ones; seeded."""
    dice = np.random.default_rng(20)
    docs = [f"D{number:02}" for number in range(40)]
    return [
        EvalRecord(
            sample_id=f"q{number:04}",
            requires_rag=True,
            reference_doc_ids=dice.choice(docs[:30], dice.integers(1, 9), replace=False).tolist(),
            reference_doc_ids_nice=dice.choice(docs[30:], dice.integers(0, 6), replace=False).tolist(),
            retrieved_doc_ids=dice.choice(docs, dice.integers(1, 31), replace=False).tolist(),
        )
        for number in range(n)
    ]


def trec(records: Iterable[EvalRecord], *, nice: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """The qrels and the run of the records, as trec_eval reads them: a higher score is a better place."""
    qrels, run = {}, {}
    for record in records:
        welcome = dict.fromkeys(record.reference_doc_ids_nice, 1) if nice else {}
        qrels[record.sample_id] = welcome | dict.fromkeys(record.reference_doc_ids, 2 if nice else 1)
        ranked = list(dict.fromkeys(record.retrieved_doc_ids or ()))
        run[record.sample_id] = {doc: float(len(ranked) - place) for place, doc in enumerate(ranked)}
    return qrels, run


TREC = {"hit": "success", "recall": "recall", "precision": "P", "map": "map_cut", "ndcg": "ndcg_cut"}


def test_equal_to_trec_eval() -> None:
    """Sample by sample to 1e-12 on 300 random rankings: trec_eval's own code through pytrec_eval."""
    equal_to_trec_eval(random_run(300))


def equal_to_trec_eval(records: list[EvalRecord]) -> None:
    qrels, run = trec(records)
    cuts = ",".join(map(str, CUTOFFS))
    measures = {f"{name}.{cuts}" for name in TREC.values()} | {"recip_rank", "set_P", "set_F"}
    wanted = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    found = {
        result.name: result.per_sample for result in retrieval.compute(records, cutoffs=(*CUTOFFS, 1000))
    }
    theirs = {f"{ours}@{k}": f"{name}_{k}" for ours, name in TREC.items() for k in CUTOFFS}
    theirs |= {"mrr@1000": "recip_rank", "precision": "set_P", "f1": "set_F"}
    for ours, name in theirs.items():
        for query, values in wanted.items():
            assert found[ours][query] == pytest.approx(values[name], abs=1e-12), (ours, query)


def test_graded_gains_equal_to_trec_eval() -> None:
    """With must 2 and nice 1 in the qrels, `ndcg_graded@k` is trec_eval's `ndcg_cut_k`."""
    records = random_run(100)
    qrels, run = trec(records, nice=True)
    wanted = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.3,10"}).evaluate(run)
    for k in (3, 10):
        found = named(records, f"ndcg_graded@{k}", cutoffs=(k,), graded=True).per_sample
        for query, values in wanted.items():
            assert found[query] == pytest.approx(values[f"ndcg_cut_{k}"], abs=1e-12)


def test_equal_to_ir_measures() -> None:
    """The common interface of the field agrees sample by sample, reciprocal rank at a cut included."""
    records = random_run(60)
    qrels, run = trec(records)
    measures = {
        f"{ours}@{k}": measure @ k
        for k in (3, 10)
        for ours, measure in (
            ("hit", ir_measures.Success),
            ("recall", ir_measures.R),
            ("precision", ir_measures.P),
            ("mrr", ir_measures.RR),
            ("map", ir_measures.AP),
            ("ndcg", ir_measures.nDCG),
        )
    }
    names = {str(measure): name for name, measure in measures.items()}
    found = {result.name: result.per_sample for result in retrieval.compute(records)}
    n = 0
    for metric in ir_measures.iter_calc(list(measures.values()), qrels, run):
        n += 1
        assert found[names[str(metric.measure)]][metric.query_id] == pytest.approx(metric.value, abs=1e-12)
    assert n == len(measures) * len(records)


def test_published_retrievals(shared: Path) -> None:
    """Real passages retrieved for real questions, each passage its own id: as trec_eval."""
    path = shared / "data" / "continuous_eval" / "tests" / "data" / "retrieval_sm.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    records = [
        EvalRecord(
            sample_id=str(place),
            query=line["question"],
            reference_doc_ids=line["ground_truth_contexts"],
            retrieved_doc_ids=line["retrieved_contexts"],
        )
        for place, line in enumerate(lines)
    ]
    equal_to_trec_eval(records)
    assert len(records) > 5
    assert 0 < named(records, "hit@3").overall < 1


def test_long_rankings_with_repeats(agree: Callable[..., None]) -> None:
    """Lists of very different length, ids that come again, cut-offs beyond one word of places: still the row form."""
    dice = random.Random(3)  # noqa: S311 - test data
    docs = [f"D{number}" for number in range(160)]
    records = [
        EvalRecord(
            sample_id=str(number),
            requires_rag=True,
            reference_doc_ids=dice.choices(docs, k=dice.choice((1, 2, 70))),
            reference_doc_ids_nice=dice.choices(docs, k=dice.choice((0, 3, 40))),
            retrieved_doc_ids=dice.choices(docs, k=dice.choice((0, 1, 7, 31, 33, 200))),
        )
        for number in range(300)
    ]
    cutoffs = (1, 31, 52, 53, 110, 500)
    agree(retrieval.compute(records, cutoffs=cutoffs, graded=True), records, rows(cutoffs, FAMILIES))


def test_duplicates_are_counted() -> None:
    """Each id that comes again counts once for each time, in its own record only."""
    records = [
        EvalRecord(sample_id="a", retrieved_doc_ids=["A", "A", "B", "A"]),
        EvalRecord(sample_id="b", retrieved_doc_ids=["A"]),
        EvalRecord(sample_id="c", retrieved_doc_ids=None),
    ]
    assert retrieval.duplicate_ids(records) == 2
    assert retrieval.duplicate_ids([]) == 0


@pytest.mark.parametrize(
    ("rule", "documents"),
    [
        pytest.param(r"^(.+)#\d+$", ("FAQ_7", "GUIDE_1", "loose"), id="first group"),
        pytest.param(r"^[A-Z]+_\d+", ("FAQ_7", "GUIDE_1", "loose"), id="whole match"),
        pytest.param(
            {"FAQ_7#2": "FAQ_7", "FAQ_7#1": "FAQ_7", "GUIDE_1#1": "GUIDE_1"},
            ("FAQ_7", "GUIDE_1", "loose"),
            id="mapping",
        ),
        pytest.param(r"^(x)?", ("FAQ_7#2", "GUIDE_1#1", "loose", "FAQ_7#1"), id="group that is not there"),
    ],
)
def test_chunks_to_documents(rule: Any, documents: tuple[str, ...]) -> None:
    """A document stands where its first chunk stands; a chunk that the rule does not know keeps its place."""
    chunks = ("FAQ_7#2", "GUIDE_1#1", "loose", "FAQ_7#1")
    assert retrieval.chunk_doc_ids(chunks, rule=rule) == documents


def test_chunks_are_lifted_only_where_no_documents_were_told() -> None:
    """Without a rule such a record is not measured; with one it is; told documents are left alone."""
    records = [
        EvalRecord(sample_id="a", reference_doc_ids=["FAQ_7"], retrieved_chunk_ids=["GUIDE_1#1", "FAQ_7#2"]),
        EvalRecord(
            sample_id="b", reference_doc_ids=["FAQ_7"], retrieved_chunk_ids=["FAQ_7#1"], retrieved_doc_ids=[]
        ),
        EvalRecord(sample_id="c", reference_doc_ids=["FAQ_7"]),
    ]
    assert dict(named(records, "mrr@5").per_sample) == {"a": None, "b": 0.0, "c": None}
    rule = r"^(.+)#"
    assert dict(named(records, "mrr@5", doc_id_from_chunk=rule).per_sample) == {"a": 0.5, "b": 0.0, "c": None}
    table = retrieval.lifted(Records(records, superseded=3, torn=1), rule=rule)
    assert (table[0].retrieved_doc_ids, table.superseded, table.torn) == (("GUIDE_1", "FAQ_7"), 3, 1)


def test_a_bad_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="wanted a regular expression or a mapping"):
        retrieval.chunk_doc_ids(["a"], rule="(")
