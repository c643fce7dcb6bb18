"""Runs to report on, made by hand or by the seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalkit.contracts import EvalRecord, Manifest
from evalkit.engines.local import DEFAULT, local
from evalkit.records import Records
from evalkit.report.digest import Digest, Run, digest
from evalkit.report.snapshot import TEXTS, MetricFacts, Snapshot

MakeDigest = Callable[..., Digest]
MakeRun = Callable[..., Snapshot]
MakeFacts = Callable[..., MetricFacts]

SHA = "ab" * 32

LABELS = {
    "SUPPORT": ["S1_选购推荐", "S2_商品详情", "S3_对比选购", "S14_退换货咨询", "S15_保修维修"],
    "FEEDBACK": ["F1_投诉"],
    "CHAT": ["C1_问候"],
}


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return Manifest(
        run_id="01RUN",
        state="complete",
        eval_set="eval_sets/eval_set_v1.jsonl",
        eval_set_sha256="0123456789abcdef" * 4,
        target="demo",
        target_config={"base_url": "http://127.0.0.1:9090"},
        evalkit_version="0.1.0",
        started_at=datetime(2026, 8, 26, 10, 0, tzinfo=UTC),
        finished_at=datetime(2026, 8, 26, 10, 1, tzinfo=UTC),
        planned=10,
    )


@pytest.fixture(scope="session")
def make_digest(manifest: Manifest) -> MakeDigest:
    """A digest of records, with all metrics of the package measured over them."""

    def make(
        records: Sequence[EvalRecord], *, by: Sequence[str] = (), run_id: str = "01RUN", **kw: Any
    ) -> Digest:
        table = Records.of(records)
        left_out = kw.pop("without", ())
        measured = local(table, metrics=[spec for spec in DEFAULT if spec.type not in left_out])
        results = [*measured, *kw.pop("results", ())]
        return digest(Run(run_id, table, results, kw.pop("manifest", manifest)), by=by)

    return make


@pytest.fixture(scope="session")
def rich_run() -> list[EvalRecord]:
    """A hundred records with everything that befalls a run: nulls, repeats, errors, retries, dialogs."""
    chance = random.Random(20260826)  # noqa: S311
    return [_record(chance, number) for number in range(100)]


@pytest.fixture(scope="session")
def ten_questions() -> list[EvalRecord]:
    """Ten questions with the labels of the worked example of intent accuracy: 8 right, S3 1/2, S14 2/3."""
    gold = ["S14", "S2", "S14", "C1", "S1", "S2", "S14", "S3", "C1", "S3"]
    given = ["S14", "S2", "S15", "C1", "S1", "S2", "S14", "S3", "C1", "S1"]
    return [
        EvalRecord(
            sample_id=f"q{number}",
            query=f"问题{number}",
            intent_l1=right[0],
            intent_l2=right,
            intent_pred=other,
        )
        for number, (right, other) in enumerate(zip(gold, given, strict=True), 1)
    ]


def _record(chance: random.Random, number: int) -> EvalRecord:
    level1 = chance.choice([*LABELS, None])
    label = chance.choice(LABELS[level1]) if level1 else None
    wanted = [f"DOC_{chance.randint(1, 9)}" for _ in range(chance.randint(0, 2))]
    fields: dict[str, Any] = {
        "sample_id": f"case-{number % 80}",
        "repeat": number // 80,
        "query": f"第 {number} 个问题：耳机能退吗？",
        "intent_l1": level1,
        "intent_l2": label,
        "intent_pred": chance.choice([label, label, label, "S15_保修维修", None, ""]),
        "requires_rag": chance.choice([True, True, False, None]),
        "reference_doc_ids": wanted,
        "retrieved_doc_ids": chance.choice(
            [[], [f"DOC_{chance.randint(1, 9)}" for _ in range(4)], wanted, None]
        ),
        "difficulty": chance.choice(["easy", "hard", None]),
        "tags": chance.sample(["smoke", "price", "长问题"], k=chance.randint(0, 2)),
        "response": chance.choice(["可以退。", "可以退。", "", None]),
        "ttft_ms": chance.choice([None, 100.0 + number]),
        "total_ms": 1000.0 + 7 * number,
    }
    return EvalRecord.model_validate(fields | _trouble(chance))


def _trouble(chance: random.Random) -> dict[str, Any]:
    kind = chance.random()
    if kind < 0.1:
        return {
            "answer_status": "rejected",
            "answer_error": {"kind": "rejected", "message": "系统繁忙，请稍后再试"},
        }
    if kind < 0.2:
        error = {"kind": "http_status", "http_status": 500, "message": "Internal Server Error"}
        return {"evidence_status": "error", "evidence_error": error}
    if kind < 0.3:
        return {
            "answer_attempts": [{"status": "error", "total_ms": 5.0}, {"status": "ok", "total_ms": 900.0}]
        }
    if kind < 0.4:
        return {
            "required_slots": [{"name": "phone"}, {"name": "fault"}],
            "filled_slots": {"phone": "13800138000"},
        }
    return {}


@pytest.fixture(scope="session")
def make_facts() -> MakeFacts:
    """The facts of a rate shown in per cent, with other flags where they are given."""

    def make(name: str, *, sha: str = SHA, version: int = 1, params: str = "", **flags: bool) -> MetricFacts:
        known = {"is_rate": True, "is_pct": True, "lower_is_better": False, **flags}
        return MetricFacts(f"{name}|v{version}|set:{sha[:12]}{params}", **known)

    return make


@pytest.fixture(scope="session")
def make_run(make_facts: MakeFacts) -> MakeRun:
    """A snapshot with one sample a score, null where it is not counted; one list is `intent_top1`."""

    def make(
        scores: Mapping[str, Sequence[float | None]] | Sequence[float | None],
        *,
        keys: Sequence[str] | None = None,
        sha: str = SHA,
        metrics: Mapping[str, MetricFacts] | None = None,
        texts: Mapping[str, Sequence[str | None]] | None = None,
        **known: Any,
    ) -> Snapshot:
        columns = scores if isinstance(scores, Mapping) else {"intent_top1": scores}
        names = list(keys or [f"q{i:05d}" for i in range(len(next(iter(columns.values()))))])
        frame = _texts(names, texts or {})
        for name, values in columns.items():
            frame[name] = np.array([math.nan if v is None else v for v in values], dtype=np.float64)
        frame.index = pd.Index(names, dtype=object, name="key")
        facts = {name: (metrics or {}).get(name) or make_facts(name, sha=sha) for name in columns}
        given = {"run_id": "run", "complete": True, "planned": len(names), "target": "shop", **known}
        return Snapshot(eval_set_sha256=sha, metrics=facts, samples=frame.sort_index(), **given)

    return make


def _texts(keys: list[str], given: Mapping[str, Sequence[str | None]]) -> pd.DataFrame:
    cases = list(given.get("sample_id", [key.split("#")[0] for key in keys]))
    said: dict[str, Sequence[str | None]] = {
        **dict.fromkeys(TEXTS, ["ok"] * len(keys)),
        "sample_id": cases,
        "intent_l1": [None] * len(keys),
        "intent_l2": [None] * len(keys),
        "query": [f"问题 {case}" for case in cases],
        "case_sha": [f"sha of {case}" for case in cases],
        "gold": ["intent_l2"] * len(keys),
        **given,
    }
    return pd.DataFrame({name: pd.Series(list(said[name]), dtype=object) for name in TEXTS})
