"""A judge decides nothing before it was held against people, on this metric, with these words."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalkit.cli import commands
from evalkit.contracts import EvalRecord, Judgement
from evalkit.engines.local import local
from evalkit.errors import Incomplete, UnknownName
from evalkit.judgements import Judged, content_of, judged_path
from evalkit.judges.certificates import Certificate, certified, examine, read_certificates
from evalkit.reading import encode
from evalkit.records import Records
from evalkit.report.gate import gate
from evalkit.report.policy import Policy
from evalkit.report.snapshot import snapshot


def judged(scores: dict[str, float | None], judge: str = "m@1") -> Records:
    """Records whose faithfulness has that score, or no verdict where it is null."""
    rows = []
    for name, score in scores.items():
        said = Judgement(score=score, judge=judge, status="ok" if score is not None else "judge_error")
        rows.append(EvalRecord(sample_id=name, query=name, response="好", judgements={"faithfulness": said}))
    return Records.of(rows)


def sides(good: int, bad: int, wrong: int) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Scores and labels: all right, but for `wrong` of each kind."""
    labels: dict[str, float | None] = {f"g{n}": 1.0 for n in range(good)} | {f"b{n}": 0.0 for n in range(bad)}
    scores = {
        name: (1.0 - label if int(name[1:]) < wrong else label) if label is not None else None
        for name, label in labels.items()
    }
    return scores, labels


def test_a_judge_who_agrees_with_people_is_certified() -> None:
    scores, labels = sides(50, 50, 2)
    found = examine(judged(scores), "faithfulness", labels)
    assert found.certificate.certified
    assert (found.certificate.n, found.certificate.tpr, found.certificate.tnr) == (100, 0.96, 0.96)
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx(0.5)  # (0.5 + 0.96 - 1) / 0.92


def test_few_labels_certify_nobody() -> None:
    scores, labels = sides(10, 10, 0)
    assert not examine(
        judged(scores), "faithfulness", labels
    ).certificate.certified  # Wilson low of 10/10: 0.722


def test_samples_without_verdict_or_label_do_not_count() -> None:
    scores: dict[str, float | None] = {"a": 1.0, "b": 0.0, "c": None, "d": 1.0}
    found = examine(judged(scores), "faithfulness", {"a": 1.0, "b": 0.0, "c": 1.0, "d": None})
    assert found.certificate.n == 2
    assert found.observed.n == 3


def test_what_cannot_be_examined_says_so() -> None:
    records = judged({"a": 1.0})
    with pytest.raises(UnknownName, match="unknown judged metric 'faithfullness'"):
        examine(records, "faithfullness", {})
    with pytest.raises(Incomplete, match="1 judges and 0 samples"):
        examine(records, "faithfulness", {})
    mixed = Records.of([*records, *judged({"b": 1.0}, judge="n@1")])
    with pytest.raises(Incomplete, match="2 judges"):
        examine(mixed, "faithfulness", {"a": 1.0, "b": 1.0})


def certificate(**changes: Any) -> Certificate:
    scores, labels = sides(50, 50, 2)
    return examine(judged(scores), "faithfulness", labels).certificate.model_copy(update=changes)


def test_the_last_certificate_of_the_very_judge_counts() -> None:
    assert certified("faithfulness", "m@1", [certificate()])
    assert not certified("faithfulness", "m@2", [certificate()])
    assert not certified("safety", "m@1", [certificate()])
    assert not certified("faithfulness", "m@1", [certificate(), certificate(certified=False)])
    assert not certified("faithfulness", "m@1", [])


@pytest.mark.parametrize(
    ("certificates", "verdict"),
    [([], "CANNOT DECIDE"), ([certificate(judge="m@2")], "CANNOT DECIDE"), ([certificate()], "PASS")],
    ids=["none", "another-judge", "its-own"],
)
def test_an_uncertified_judge_cannot_gate(certificates: list[Certificate], verdict: str) -> None:
    records = judged({f"s{n}": 1.0 for n in range(40)})
    seen = snapshot(records, local(records), None)
    found = gate(
        seen,
        policy=Policy(thresholds={"faithfulness": 0.5}),
        today=date(2026, 1, 1),
        certificates=certificates,
    )
    check = next(check for check in found.checks if check.name == "certified")
    assert (check.metric, check.verdict) == ("faithfulness", verdict)


def test_what_nobody_judged_needs_no_certificate() -> None:
    records = Records.of([EvalRecord(sample_id="a", intent_l2="S", intent_pred="S")])
    seen = snapshot(records, local(records), None)
    found = gate(seen, policy=Policy(thresholds={"intent_top1": 0.5}), today=date(2026, 1, 1))
    assert "certified" not in {check.name for check in found.checks}


def test_the_command_saves_what_the_gate_reads(tmp_path: Path) -> None:
    scores, labels = sides(50, 50, 2)
    run = tmp_path / "runs" / "nightly.jsonl"
    run.parent.mkdir()
    records = [EvalRecord(sample_id=name, query=name, response="好") for name in scores]
    run.write_text(
        "".join(
            json.dumps({"sample_id": r.sample_id, "query": r.query, "response": r.response}) + "\n"
            for r in records
        ),
        encoding="utf-8",
    )
    lines = [
        Judged(
            sample=record.key, metric="faithfulness", judge="m@1", content=content_of(record),
            judgement=Judgement(score=scores[record.key], judge="m@1"),
        )
        for record in Records.of(run)
    ]  # fmt: skip
    judged_path(run).write_bytes(b"".join(map(encode, lines)))
    csv = tmp_path / "labels.csv"
    csv.write_text(
        "sample_id,faithfulness_manual\n" + "".join(f"{k},{v}\n" for k, v in labels.items()), encoding="utf-8"
    )
    saved = tmp_path / "certificates.jsonl"
    arguments = ["certify", "nightly", "--labels", str(csv), "--metric", "faithfulness", "--save", str(saved)]
    result = CliRunner().invoke(commands, [*arguments, "--runs-dir", str(run.parent)])
    assert result.exit_code == 0, result.output
    assert "right where people say good: 0.960 [0.865, 0.989] (n 50)" in result.output
    assert result.output.endswith("certified\n")
    assert certified("faithfulness", "m@1", read_certificates(saved))
