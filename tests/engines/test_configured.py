"""What evalkit.toml says of metrics reaches them, and becomes part of what makes two numbers comparable."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit import EvalRecord, registry
from evalkit.engines.configured import configured
from evalkit.engines.local import DEFAULT, local
from evalkit.errors import UsageError
from evalkit.metrics import behavior
from evalkit.registry import Spec


def written(folder: Path, text: str) -> Path:
    path = folder / "evalkit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_families_have_their_defaults(tmp_path: Path) -> None:
    assert configured(tmp_path / "evalkit.toml") == list(DEFAULT)


def test_a_table_sets_the_parameters_of_a_family(tmp_path: Path) -> None:
    found = configured(written(tmp_path, "[metrics.retrieval]\ncutoffs = [2]\n[gate]\nmin_n = 3\n"))
    assert Spec("retrieval", {"cutoffs": [2]}) in found
    assert len(found) == len(DEFAULT)
    names = {result.name for result in local([EvalRecord(sample_id="1")], metrics=found)}
    assert "hit@2" in names
    assert "hit@5" not in names


def test_both_published_policies_stand_side_by_side_with_their_own_thresholds(tmp_path: Path) -> None:
    found = configured(written(tmp_path, "[metrics.outcome]\nsuccess = 0.9\nmin_completion = 0.6\n"))
    record = EvalRecord.model_validate(
        {
            "sample_id": "1",
            "intent_l2": "a",
            "intent_pred": "a",
            "response": "ok",
            "required_slots": [{"name": "x"}, {"name": "y"}, {"name": "z"}],
            "filled_slots": {"x": 1, "y": 2},
        }
    )
    results = {result.name: result.overall for result in local([record], metrics=found)}
    assert results["success_rate"] == 0.5
    assert results["success_rate_binary"] == 1.0


def test_a_metric_of_ones_own_is_measured_as_well(tmp_path: Path) -> None:
    path = written(tmp_path, '[metrics."evalkit.metrics.behavior:compute"]\n')
    assert configured(path)[-1] == Spec("evalkit.metrics.behavior:compute", {})
    assert registry.lookup("metric", "evalkit.metrics.behavior:compute") is behavior.compute


def test_parameters_are_part_of_the_result(tmp_path: Path) -> None:
    records = [EvalRecord(sample_id="1", intent_l2="a", intent_pred="a")]
    plain, set_ = (
        local(records, metrics=[Spec("intent", params)])[0].params
        for params in ({}, {"ks": [2], "parents": {}})
    )
    assert (plain, set_) == ("", "ks=[2],parents={}")
    long = local(records, metrics=[Spec("intent", {"parents": {f"S{n}": "SUPPORT" for n in range(40)}})])[
        0
    ].params
    assert long.startswith("parents=sha256:")
    assert len(long) < 40


@pytest.mark.parametrize(
    ("text", "said"),
    [("[metrics]\nretrieval = 5\n", "metrics.retrieval"), ("metrics = 3\n", "metrics")],
    ids=["no table", "no family"],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        configured(written(tmp_path, text))


def test_a_project_believes_only_what_was_said(tmp_path: Path) -> None:
    """`trust = "texts"` leaves the target's own report aside, in completion and in what follows from it."""
    families = ("completion", "outcome", "passes")
    tables = "".join(f'[metrics.{name}]\ntrust = "texts"\n' for name in families)
    record = EvalRecord.model_validate(
        {
            "sample_id": "1",
            "query": "你好",
            "response": "好的",
            "intent_l2": "a",
            "intent_pred": "a",
            "required_slots": [{"name": "phone", "value": "13800138000"}],
            "filled_slots": {"phone": "13800138000"},
        }
    )
    for text, wanted in ((tables, 0.0), ("", 1.0)):
        results = local([record], metrics=configured(written(tmp_path, text)))
        found = {result.name: result.overall for result in results}
        assert [found[name] for name in ("completion", "success_rate", "pass@1")] == [wanted] * 3
    with pytest.raises(UsageError, match="found 'text', wanted report or texts"):
        local([record], metrics=configured(written(tmp_path, '[metrics.completion]\ntrust = "text"\n')))
