"""A run judged from the command line, against a real server: resumed, bounded, replayed, never made twice."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit.cli import commands
from evalkit.engines.local import local
from evalkit.errors import UsageError
from evalkit.judgements import joined, judged_path, read_judged
from evalkit.judges.config import JudgeConfig
from evalkit.judges.run import JudgingPlan, judge_run
from evalkit.records import Records

CANARY = "sk-canary-0123456789abcdef"
CONTEXTS = ["支持七天无理由退货。", "会员九五折。"]


def answering(said: Any) -> Any:
    """A model that answers any question with what fits its schema: all true, 8 of 10, the first label."""

    def say(body: dict[str, Any]) -> Any:
        if "input" in body:
            return said["json"](
                {"data": [{"index": n, "embedding": [1.0, n]} for n in range(len(body["input"]))]}
            )
        form = body["response_format"]["json_schema"]["schema"]["properties"]
        parts: dict[str, Any] = {"nonce": form["nonce"]["enum"][0], "reason": "理由"}
        for kind, value in (("lists", ["甲", "乙"]), ("dimensions", 8), ("items", None)):
            names = form.get(kind, {}).get("required", [])
            parts |= (
                {kind: {name: not name.endswith("2") if value is None else value for name in names}}
                if names
                else {}
            )
        if "label" in form:
            parts["label"] = form["label"]["enum"][0]
        return json.dumps(parts, ensure_ascii=False)

    return say


def make_run(folder: Path, *, samples: int = 3, **fields: Any) -> Path:
    path = folder / "runs" / "nightly.jsonl"
    path.parent.mkdir(exist_ok=True)
    records = [
        {
            "sample_id": f"s{n}", "query": f"第{n}件能退吗？", "response": "支持七天无理由退货。",
            "reference": "支持七天无理由退货。", "retrieved_contexts": CONTEXTS, "intent_l2": "退货政策", **fields,
        }
        for n in range(samples)
    ]  # fmt: skip
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
    )
    return path


def configure(folder: Path, url: str, **settings: Any) -> Path:
    path = folder / "evalkit.toml"
    told = {"base_url": url, "model": "m", "retries": 0, "concurrency": 1, **settings}
    lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
    vectors = f'[judges.vectors]\nrole = "embedding"\nbase_url = "{url}"\nmodel = "e"\n'
    path.write_text("\n".join(["[judges.main]", *lines, vectors]), encoding="utf-8")
    return path


def judge(folder: Path, *options: str) -> Result:
    places = ["--runs-dir", str(folder / "runs"), "--config", str(folder / "evalkit.toml")]
    arguments = ["judge", "latest", "--judge", "main", "--json", *places, *options]
    return CliRunner().invoke(commands, arguments)


def told(result: Result) -> dict[str, Any]:
    """What the command printed; how it ended is another question."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(result.stdout)[0]
    return found


def test_judgements_stand_beside_the_run_and_become_metrics(model: Any, wire: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    said = model(answering(wire))
    configure(tmp_path, said.url, embedding="vectors")
    before = run.read_bytes()
    result = judge(tmp_path)
    assert result.exit_code == 0, result.output
    assert run.read_bytes() == before
    lines = read_judged(judged_path(run))
    assert len(lines) == 3 * 5
    assert {line.metric for line in lines} == {
        "faithfulness", "context_precision", "context_recall", "answer_relevancy", "answer_correctness"
    }  # fmt: skip
    results = {found.name: found for found in local(joined(Records.of(run), lines))}
    faithfulness = results["faithfulness"].overall
    assert faithfulness is not None
    assert (faithfulness, faithfulness.n_counted, faithfulness.n_total) == (
        0.5,
        3,
        3,
    )  # 甲 is true, 乙 is not
    assert results["judge_error_rate"].overall == 0.0


def test_nothing_is_judged_twice(model: Any, wire: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    judge(tmp_path)
    calls, size = len(said.bodies), judged_path(run).stat().st_size
    again = judge(tmp_path, "--no-cache")
    assert (len(said.bodies), judged_path(run).stat().st_size) == (calls, size)
    assert told(again)["kept"] == 9


def test_an_answer_that_changed_is_judged_anew_and_the_old_judgement_is_left_out(
    model: Any, wire: Any, tmp_path: Path
) -> None:
    run = make_run(tmp_path, samples=1)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    judge(tmp_path, "--metrics", "llm_score")
    make_run(tmp_path, samples=1, response="不支持退货。")
    assert joined(Records.of(run), read_judged(judged_path(run)))[0].judgements == {}
    judge(tmp_path, "--metrics", "llm_score")
    assert joined(Records.of(run), read_judged(judged_path(run)))[0].judgements["llm_score"].score == 0.8
    assert len(said.bodies) == 2


def test_the_budget_ends_judging_as_incomplete_and_resumes(model: Any, wire: Any, tmp_path: Path) -> None:
    """J8: exit 3 with what was judged on file; the next command goes on."""
    run = make_run(tmp_path)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    first = judge(tmp_path, "--metrics", "llm_score", "--max-calls", "2")
    assert first.exception is not None
    assert getattr(first.exception, "exit_code", None) == 3
    assert "1 not asked" in str(first.exception)
    assert (len(said.bodies), len(read_judged(judged_path(run)))) == (2, 2)
    row = told(first)["metrics"][0]
    assert (row["n_counted"], row["n_total"]) == (2, 3)
    assert judge(tmp_path, "--metrics", "llm_score", "--max-calls", "2").exit_code == 0
    assert (len(said.bodies), len(read_judged(judged_path(run)))) == (3, 3)


def test_a_cost_without_prices_cannot_be_bounded(model: Any, wire: Any, tmp_path: Path) -> None:
    make_run(tmp_path)
    configure(tmp_path, model(answering(wire)).url)
    assert "found no price of main" in str(judge(tmp_path, "--max-cost", "1").exception)


def test_an_outage_stops_loses_nothing_and_resumes(model: Any, wire: Any, tmp_path: Path) -> None:
    """J7: only 429 for a while: no line is written, asking stops, and the same command ends the job later."""
    run = make_run(tmp_path, samples=20)
    working = answering(wire)
    down = [True]
    said = model(lambda body: wire["json"]({}, status_code=429) if down[0] else working(body))
    configure(tmp_path, said.url)
    first = judge(tmp_path, "--metrics", "llm_score")
    assert getattr(first.exception, "exit_code", None) == 3
    assert "the endpoint stayed away" in str(first.exception)
    assert (len(said.bodies), read_judged(judged_path(run))) == (8, [])
    down[0] = False
    assert judge(tmp_path, "--metrics", "llm_score").exit_code == 0
    assert len(read_judged(judged_path(run))) == 20


def test_a_replay_needs_no_model(model: Any, wire: Any, tmp_path: Path, monkeypatch: Any) -> None:
    run = make_run(tmp_path)
    monkeypatch.setenv("JUDGE_KEY", CANARY)
    said = model(answering(wire))
    configure(tmp_path, said.url, embedding="vectors", key="env:JUDGE_KEY")
    assert judge(tmp_path).exit_code == 0
    kept = judged_path(run).rename(tmp_path / "judged.jsonl")
    monkeypatch.delenv("JUDGE_KEY")
    configure(tmp_path, "http://127.0.0.1:9/v1", embedding="vectors", key="env:JUDGE_KEY")
    calls = len(said.bodies)
    again = judge(tmp_path, "--replay", str(kept))
    assert again.exit_code == 0, again.output
    assert (told(again)["replayed"], len(said.bodies)) == (15, calls)
    original = {line.key: line.judgement for line in read_judged(kept)}
    assert {line.key: line.judgement for line in read_judged(judged_path(run))} == original


def test_what_the_replay_does_not_answer_is_incomplete(model: Any, wire: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path, samples=2)
    configure(tmp_path, model(answering(wire)).url)
    judge(tmp_path, "--metrics", "llm_score")
    kept = judged_path(run).rename(tmp_path / "judged.jsonl")
    make_run(tmp_path, samples=3)
    result = judge(tmp_path, "--metrics", "llm_score", "--replay", str(kept))
    assert getattr(result.exception, "exit_code", None) == 3
    assert "1 × not in the replayed file" in str(result.exception)
    assert len(read_judged(judged_path(run))) == 2


def test_errors_of_the_judge_are_lines_and_not_scores(model: Any, wire: Any, tmp_path: Path) -> None:
    """J4: coverage shrinks where everybody sees it; --retry-errors asks again."""
    run = make_run(tmp_path, samples=2)
    working = answering(wire)
    broken = ["第0件能退吗？"]
    said = model(
        lambda body: (
            "nonsense"
            if any(name in json.dumps(body, ensure_ascii=False) for name in broken)
            else working(body)
        )
    )
    configure(tmp_path, said.url)
    first = told(judge(tmp_path, "--metrics", "llm_score"))["metrics"][0]
    assert (first["n_counted"], first["n_failed"], first["mean"]) == (1, 1, 0.8)
    results = {found.name: found for found in local(joined(Records.of(run), read_judged(judged_path(run))))}
    assert results["llm_score"].per_sample == {"s0": None, "s1": 0.8}
    assert results["judge_error_rate"].overall == 0.5
    broken.clear()
    assert told(judge(tmp_path, "--metrics", "llm_score"))["metrics"][0]["n_counted"] == 1
    assert told(judge(tmp_path, "--metrics", "llm_score", "--retry-errors"))["metrics"][0]["n_counted"] == 2


def test_repeats_show_noise(model: Any, wire: Any, tmp_path: Path) -> None:
    """J12: a judge by coin is asked with another seed each time, and found out."""
    make_run(tmp_path, samples=12)
    said = model(
        lambda body: said.verdict(
            body, dimensions=dict.fromkeys(["correctness", "completeness", "tone"], 10 * (body["seed"] % 2))
        )
    )
    configure(tmp_path, said.url)
    found = told(judge(tmp_path, "--metrics", "llm_score", "--repeats", "4"))
    row = found["metrics"][0]
    assert (row["flip_rate"], row["mean"]) == (1.0, 0.5)
    assert row["kappa"] < 0
    assert any("hardly agrees with itself" in note for note in found["notes"])


def test_a_run_against_another_asks_in_both_orders(model: Any, wire: Any, tmp_path: Path) -> None:
    """J13: the judge always takes the first label, so every comparison is a tie."""
    run = make_run(tmp_path, samples=2, response="旧答案。")
    run.rename(run.with_name("old.jsonl"))
    make_run(tmp_path, samples=2)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    row = told(judge(tmp_path, "--metrics", "pairwise", "--against", "old"))["metrics"][0]
    assert (row["metric"], row["mean"], len(said.bodies)) == ("pairwise", 0.5, 4)


def test_judgements_are_no_run(model: Any, wire: Any, tmp_path: Path) -> None:
    from evalkit import runs

    run = make_run(tmp_path)
    configure(tmp_path, model(answering(wire)).url)
    judge(tmp_path)
    assert runs.latest(tmp_path / "runs") == run


def test_no_secret_is_on_disk_or_in_the_output(
    model: Any, wire: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """J14, K2: the key, and a password of the target that an answer repeats."""
    monkeypatch.setenv("JUDGE_KEY", CANARY)
    monkeypatch.setenv("RAGENT_PASSWORD", "target-password-7788")
    make_run(tmp_path, response="密码是 target-password-7788")
    said = model(lambda _: f"{CANARY} target-password-7788")
    configure(tmp_path, said.url, key="env:JUDGE_KEY")
    result = judge(tmp_path, "--metrics", "llm_score")
    assert "target-password-7788" not in json.dumps(said.bodies)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "nightly.jsonl"]
    everything = "".join([result.output, *(path.read_text(encoding="utf-8") for path in files)])
    assert not re.search(f"{CANARY}|target-password", everything)


def test_two_judges_keep_their_own_columns(model: Any, wire: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path, samples=1)
    said = model(answering(wire))
    judges = {name: JudgeConfig(base_url=said.url, model=name) for name in ("one", "two")}
    for name in judges:
        asyncio.run(judge_run(JudgingPlan(run, judges, name, ("llm_score",))))
    names = sorted(joined(Records.of(run), read_judged(judged_path(run)))[0].judgements)
    assert names[0] == "llm_score"
    assert names[1].startswith("llm_score@one@")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "faithfullness"], "Did you mean 'faithfulness'"),
        (["--metrics", "answer_relevancy"], "name an embedding model"),
        (["--metrics", "pairwise"], "wanted --against RUN"),
        (["--replay", "no-such-file"], "wanted the judgements to replay"),
    ],
)
def test_what_cannot_be_judged_says_what_to_do(
    options: list[str], message: str, model: Any, wire: Any, tmp_path: Path
) -> None:
    make_run(tmp_path)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    assert message in str(judge(tmp_path, *options).exception)
    assert said.bodies == []


def test_rules_that_ask_a_model_are_judged_with_the_run(model: Any, wire: Any, tmp_path: Path) -> None:
    """Undecided without a judge; with one their verdicts stand beside the run and `scored` takes them."""
    from evalkit.engines.scored import scored

    rules = [
        {"type": "keyword_match", "params": {"keywords": ["退货"]}},
        {"type": "llm_score", "params": {"criteria": "是否回答了问题", "min_score": 7}},
    ]
    run = make_run(tmp_path, samples=2, rules=rules)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    before = scored(run).records[0]
    assert [verdict.passed for verdict in before.verdicts] == [True, None]
    result = judge(tmp_path, "--metrics", "rules")
    assert result.exit_code == 0, result.output
    assert told(result)["metrics"][0]["n_counted"] == 2
    after = scored(run)
    assert [verdict.passed for verdict in after.records[0].verdicts] == [True, True]  # 8 of 10, wanted 7
    assert "rules" not in {found.name for found in after.results}


def test_rules_leave_no_verdict_where_the_endpoint_failed(model: Any, wire: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path, samples=1, rules=[{"type": "llm_score", "params": {"criteria": "好吗"}}])
    said = model(lambda _: wire["json"]({}, status_code=500))
    configure(tmp_path, said.url)
    assert getattr(judge(tmp_path, "--metrics", "rules").exception, "exit_code", None) == 3
    assert read_judged(judged_path(run)) == []


def test_numbers_of_two_judges_do_not_compare(model: Any, wire: Any, tmp_path: Path) -> None:
    """J11: who judged is part of a metric's signature, so a gate refuses instead of guessing."""
    from evalkit.report.baseline import load

    run = make_run(tmp_path)
    said = model(answering(wire))
    signatures = []
    for name in ("m-2026-05-01", "m-2026-11-01"):
        configure(tmp_path, said.url, model=name)
        judge(tmp_path, "--metrics", "llm_score")
        signatures.append(load(run).metrics["llm_score"].signature)
    assert signatures[0] != signatures[1]
    assert "judge:m-2026-11-01@" in signatures[1]


def test_every_sample_is_compared_under_one_name(model: Any, wire: Any, tmp_path: Path) -> None:
    """Each sample has another opponent; all of them are the same comparison."""
    run = make_run(tmp_path, samples=3)
    lines = run.read_text(encoding="utf-8").splitlines()
    others = [json.loads(line) | {"response": f"第{place}个答案"} for place, line in enumerate(lines)]
    other = tmp_path / "runs" / "old.jsonl"
    other.write_text("".join(json.dumps(one) + "\n" for one in others), encoding="utf-8")
    said = model(answering(wire))
    configure(tmp_path, said.url)
    row = told(judge(tmp_path, "--metrics", "pairwise", "--against", "old"))["metrics"][0]
    assert (row["metric"], row["n_counted"]) == ("pairwise", 3)


DIMENSIONS = {"同理心": "体谅用户的处境", "准确": "与 reference 一致"}


@pytest.mark.parametrize("way", ["option", "table", "option before table"])
def test_what_is_judged_has_parameters(way: str, model: Any, wire: Any, tmp_path: Path) -> None:
    """Several dimensions in one call, by `--set` or by a table of the configuration."""
    make_run(tmp_path, samples=1)
    said = model(answering(wire))
    config = configure(tmp_path, said.url)
    if way != "option":
        table = DIMENSIONS if way == "table" else {"语气": "有礼貌"}
        lines = [f'"{name}" = "{criteria}"' for name, criteria in table.items()]
        config.write_text(
            config.read_text(encoding="utf-8") + "\n".join(["\n[measures.llm_score.dimensions]", *lines]),
            "utf-8",
        )
    option = ["--set", f"llm_score.dimensions={json.dumps(DIMENSIONS)}"] if way != "table" else []
    found = told(judge(tmp_path, "--metrics", "llm_score", *option))
    assert (found["metrics"][0]["mean"], len(said.bodies)) == (0.8, 1)
    form = said.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["dimensions"]
    assert form["required"] == [*DIMENSIONS]


def test_a_judge_that_is_told_other_things_is_another_one(model: Any, wire: Any, tmp_path: Path) -> None:
    """Numbers by other dimensions do not compare, and stand side by side."""
    run = make_run(tmp_path, samples=1)
    said = model(answering(wire))
    configure(tmp_path, said.url)
    first = told(judge(tmp_path, "--metrics", "llm_score"))["judge"]
    judge(tmp_path, "--metrics", "llm_score", "--set", 'llm_score.dimensions={"a": "甲"}')
    records = joined(Records.of(run), read_judged(judged_path(run)))
    results = {result.name: result for result in local(records)}
    assert results["llm_score"].judge.startswith(f"{first}+")
    assert results[f"llm_score@{first}"].judge == first


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("llm_score.dimensions=[1]", "wanted"),
        ("llm_score.dimension={}", "unknown dimension"),
        ("llm_score=1", "wanted NAME.KEY=VALUE"),
        ("safety.categories={}", "nothing of that name is judged"),
        ("llm_score.judge=x", "cannot be a parameter"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(
    setting: str, problem: str, model: Any, wire: Any, tmp_path: Path
) -> None:
    make_run(tmp_path, samples=1)
    configure(tmp_path, model(answering(wire)).url)
    result = judge(tmp_path, "--metrics", "llm_score", "--set", setting)
    assert isinstance(result.exception, UsageError)
    assert problem in str(result.exception)
