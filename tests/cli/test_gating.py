"""The commands as a shell sees them: what they print, what they write, and how the process ends."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from evalkit.cli import main
from evalkit.contracts import EvalRecord, Manifest
from evalkit.reading import encode

POLICY = """
[gate]
baseline = "baselines/shop.json"
regression = ["intent_top1"]
[gate.thresholds]
intent_top1 = 0.5
"""


def on_file(folder: Path, run_id: str, right: list[bool], **fields: object) -> None:
    """A run whose samples are right or wrong as asked, with its manifest."""
    rows = [
        EvalRecord(
            sample_id=f"q{i}",
            query=f"第{i}个问题",
            intent_l1="售后",
            intent_l2="S14_退换货咨询",
            intent_pred="S14_退换货咨询" if good else "S15_保修维修",
            response="七天内可以退。" if good else "请联系维修。",
            run_id=run_id,
        )
        for i, good in enumerate(right)
    ]
    known = {
        "run_id": run_id,
        "state": "complete",
        "eval_set": "cases.jsonl",
        "eval_set_sha256": "ab" * 32,
        "target": "shop",
        "evalkit_version": "0.1.0",
        "started_at": f"2026-08-2{run_id[-1]}T00:00:00Z",
        "planned": len(right),
    }
    manifest = Manifest.model_validate(known | fields)
    (folder / "runs").mkdir(exist_ok=True)
    (folder / "runs" / f"{run_id}.jsonl").write_bytes(b"".join(map(encode, rows)))
    (folder / "runs" / f"{run_id}.meta.json").write_text(manifest.model_dump_json(), encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Four runs: two alike, one with six flips, one that lost a sample."""
    on_file(tmp_path, "run1", [True] * 20)
    on_file(tmp_path, "run2", [True] * 20)
    on_file(tmp_path, "run3", [False] * 6 + [True] * 14)
    on_file(tmp_path, "run4", [True] * 19)
    return tmp_path


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Evalkit = Callable[..., Done]


@pytest.fixture
def evalkit(place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Evalkit:
    """The command line in the folder of the runs, in this process."""
    monkeypatch.chdir(place)

    def run(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["evalkit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capfd.readouterr())

    return run


@pytest.mark.parametrize(("run", "code"), [("run2", 0), ("run3", 1), ("run4", 3)])
def test_the_process_ends_with_the_code_of_the_verdict(place: Path, run: str, code: int) -> None:
    words = ["gate", run, "--baseline", "run1", "--regression", "intent_top1"]
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *words], cwd=place, capture_output=True, check=False
    )
    assert done.returncode == code


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param(["run2", "--baseline", "run1", "--regression", "intent_top1"], 0, "PASS", id="pass"),
        pytest.param(
            ["run2", "--baseline", "latest", "--regression", "intent_top1"], 0, "against run1", id="latest"
        ),
        pytest.param(
            ["run3", "--baseline", "run1", "--regression", "intent_top1"], 1, "REGRESSION", id="regression"
        ),
        pytest.param(
            ["run3", "--baseline", "run1", "--regression", "intent_top1=0.3"], 0, "PASS", id="allowed"
        ),
        pytest.param(["run3", "--threshold", "intent_top1=0.7"], 0, "PASS", id="exactly there"),
        pytest.param(["run3", "--threshold", "intent_top1=0.71"], 1, "REGRESSION", id="short"),
        pytest.param(["run3"], 3, "nothing is gated", id="nothing gated"),
        pytest.param(
            ["run4", "--baseline", "run1", "--regression", "intent_top1"], 3, "19 of the 20", id="lost"
        ),
        pytest.param(
            ["run1", "--baseline", "latest", "--regression", "intent_top1"], 3, "no baseline", id="first"
        ),
    ],
)
def test_a_gate_ends_as_its_verdict_says(evalkit: Evalkit, words: list[str], code: int, told: str) -> None:
    done = evalkit("gate", *words)
    assert done.returncode == code, done.stderr
    assert told in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param(["run3", "--threshold", "intent_top1"], 2, "wanted METRIC=VALUE", id="no value"),
        pytest.param(
            ["run3", "--threshold", "intent_top1=high"], 2, "found 'high', wanted a number", id="no number"
        ),
        pytest.param(["run3", "--threshold", "intent_top1=nan"], 2, "wanted a finite number", id="nan"),
        pytest.param(
            ["run3", "--threshold", "intent_top1=0.9", "--threshold", "intent_top1=0.1"],
            2,
            "--threshold intent_top1: found twice",
            id="threshold twice",
        ),
        pytest.param(
            ["run3", "--regression", "intent_top1", "--regression", "intent_top1=0.1"],
            2,
            "--regression intent_top1: found twice",
            id="regression twice",
        ),
        pytest.param(["run3", "--regression", "intent_top1=-1"], 2, "from 0 on", id="negative"),
        pytest.param(["run3", "--policy", "nowhere.toml"], 66, "no such file", id="no policy"),
        pytest.param(["run9"], 66, "'run9'", id="no run"),
        pytest.param(["run3", "--baseline", "nobody"], 66, "'nobody'", id="no baseline"),
    ],
)
def test_what_cannot_be_asked_is_no_verdict(evalkit: Evalkit, words: list[str], code: int, told: str) -> None:
    done = evalkit("gate", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_key_of_the_policy_ends_with_2(place: Path, evalkit: Evalkit) -> None:
    (place / "evalkit.toml").write_text("[gate]\ntreshold = 1\n", encoding="utf-8")
    done = evalkit("gate", "run2")
    assert done.returncode == 2
    assert "Did you mean 'thresholds'" in done.stderr


def test_every_output_carries_the_verdict_of_the_exit_code(place: Path, evalkit: Evalkit) -> None:
    words = ["run3", "--baseline", "run1", "--regression", "intent_top1", "--github"]
    files = ["--junit", "out/gate.xml", "--markdown", "out/comment.md", "--gitlab", "out/quality.json"]
    done = evalkit("gate", *words, *files, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["verdict"], told["exit_code"]) == ("REGRESSION", 1)
    assert done.stderr.startswith("::error title=evalkit gate::REGRESSION")
    suite = ET.parse(place / "out" / "gate.xml")  # noqa: S314 - our own text
    assert suite.find(".//property[@name='verdict']").attrib["value"] == "REGRESSION"
    assert (place / "out" / "comment.md").read_text(encoding="utf-8").startswith("## ❌ REGRESSION")
    assert json.loads((place / "out" / "quality.json").read_bytes())[0]["description"] == told["headline"]


@pytest.mark.parametrize("option", ["--junit", "--markdown", "--gitlab"])
@pytest.mark.parametrize(
    "path",
    [
        pytest.param("runs/run3.jsonl", id="records"),
        pytest.param("runs/../runs/run3.meta.json", id="manifest"),
        pytest.param("runs/run3.judged.jsonl", id="judgements to come"),
        pytest.param("runs/run1.jsonl", id="baseline"),
        pytest.param("link", id="link to the records"),
    ],
)
def test_no_output_overwrites_what_a_gate_reads(
    place: Path, evalkit: Evalkit, option: str, path: str
) -> None:
    (place / "link").symlink_to("runs/run3.jsonl")
    before = {file: file.read_bytes() for file in (place / "runs").iterdir()}
    done = evalkit("gate", "run3", "--baseline", "run1", "--threshold", "intent_top1=0.5", option, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option}: found {path}, which this command reads" in done.stderr
    assert {file: file.read_bytes() for file in (place / "runs").iterdir()} == before


def test_an_output_behind_links_in_a_circle_is_refused_with_words(place: Path, evalkit: Evalkit) -> None:
    (place / "loop").symlink_to("loop")
    done = evalkit("gate", "run3", "--threshold", "intent_top1=0.5", "--junit", "loop")
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.startswith("evalkit: loop: found links in a circle")


@pytest.mark.parametrize("save", ["runs/run3.jsonl", "runs/run3.meta.json", "labels.csv"])
def test_no_certificate_is_appended_to_what_it_tells_of(place: Path, evalkit: Evalkit, save: str) -> None:
    (place / "labels.csv").write_bytes(b"sample_id,faithfulness_manual\nq1,1\n")
    before = (place / save).read_bytes()
    done = evalkit("certify", "run3", "--labels", "labels.csv", "--metric", "faithfulness", "--save", save)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--save: found {save}" in done.stderr
    assert (place / save).read_bytes() == before


def test_an_accepted_baseline_holds_later_runs_by_the_policy(place: Path, evalkit: Evalkit) -> None:
    done = evalkit("baseline", "accept", "run1", "--name", "shop", "--dir", "baselines")
    assert (done.returncode, done.stdout) == (0, f"{Path('baselines/shop.json')}\n")
    (place / "evalkit.toml").write_text(POLICY, encoding="utf-8")
    assert [evalkit("gate", run).returncode for run in ("run2", "run3", "run4")] == [0, 1, 3]
    (place / "runs" / "run1.jsonl").unlink()
    assert evalkit("gate", "run2").returncode == 0


def test_the_baseline_of_a_policy_stands_beside_the_policy(place: Path, evalkit: Evalkit) -> None:
    evalkit("baseline", "accept", "run1", "--name", "shop", "--dir", "ci/baselines")
    (place / "ci" / "evalkit.toml").write_text(POLICY, encoding="utf-8")
    assert evalkit("gate", "run2", "--policy", "ci/evalkit.toml").returncode == 0


def test_diff_prints_changes_and_flips_whatever_they_are(place: Path, evalkit: Evalkit) -> None:
    done = evalkit("diff", "run1", "run3", "--metric", "intent_top1")
    assert done.returncode == 0
    for part in ("100% → 70%", "0.03125", "6 right → wrong", "S15_保修维修", "请联系维修。"):
        assert part in done.stdout
    told = json.loads(evalkit("diff", "run1", "run3", "--metric", "intent_top1", "--json").stdout)
    assert told["changes"][0]["p"] == 0.03125
    assert len(told["flips"]) == 6


def test_diff_refuses_unequal_eval_sets_unless_told(place: Path, evalkit: Evalkit) -> None:
    on_file(place, "run5", [True] * 21, eval_set_sha256="cd" * 32)
    refused = evalkit("diff", "run1", "run5")
    assert refused.returncode == 3
    assert "sha256 abababababab… in the base, cdcdcdcdcdcd… in the run" in refused.stdout
    allowed = evalkit("diff", "run1", "run5", "--changed-set")
    assert allowed.returncode == 0
    assert "added 1: q20" in allowed.stdout


def test_diff_with_an_incomplete_run_decides_nothing(place: Path, evalkit: Evalkit) -> None:
    on_file(place, "run7", [True] * 8, state="interrupted", planned=20)
    for words, side in ((("run1", "run7"), "run"), (("run7", "run1"), "base")):
        done = evalkit("diff", *words)
        assert done.returncode == 3
        assert done.stdout.startswith(f"cannot decide: the {side} is incomplete: 8 of 20 planned samples")
        assert "removed" not in done.stdout
        assert "added" not in done.stdout
    assert "lost 12: q10, q11" in evalkit("diff", "run1", "run7").stdout
    told = json.loads(evalkit("diff", "run1", "run7", "--json").stdout)
    assert (told["decidable"], told["same_set"], len(told["removed"])) == (False, True, 12)


def test_equal_runs_are_told_in_a_few_lines(evalkit: Evalkit) -> None:
    done = evalkit("diff", "run1", "run2")
    assert done.returncode == 0
    assert done.stdout.startswith("nothing moved in the 20 samples compared\n")
    assert len(done.stdout.splitlines()) <= 6
    assert "– → –" not in done.stdout
    assert "0/0" not in done.stdout


def test_diff_and_gate_call_a_proven_fall_the_same(evalkit: Evalkit) -> None:
    """Twenty cases, six of them fell: the many metrics that did not move cost it nothing."""
    diff = json.loads(evalkit("diff", "run1", "run3", "--json").stdout)
    gate = json.loads(
        evalkit("gate", "run3", "--baseline", "run1", "--regression", "intent_top1", "--json").stdout
    )
    assert diff["headlines"][0].startswith("worse: intent_top1 (100% → 70%)")
    for told in (diff, gate["comparison"]):
        overall = [c for c in told["changes"] if (c["metric"], c["dimension"]) == ("intent_top1", "overall")]
        assert [change["verdict"] for change in overall] == ["worse"]


@pytest.mark.parametrize(
    ("words", "policy", "told"),
    [
        pytest.param(["--threshold", "intent_top1=80"], "", "threshold intent_top1: found 80", id="option"),
        pytest.param(["--regression", "intent_top1=80"], "", "max_drop intent_top1: found 80", id="drop"),
        pytest.param(
            [],
            '[gate.slices.intent_l2."*"]\nthresholds = { intent_top1 = 80 }',
            "intent_l2=* threshold intent_top1: found 80",
            id="slice of a file",
        ),
    ],
)
def test_a_limit_in_per_cent_is_no_rate(
    place: Path, evalkit: Evalkit, words: list[str], policy: str, told: str
) -> None:
    (place / "evalkit.toml").write_text(policy, encoding="utf-8")
    done = evalkit("gate", "run3", "--baseline", "run1", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{told}, but rates run from 0 to 1 (did you mean 0.8?)" in done.stderr


def test_diff_without_a_run_before_says_so(place: Path, evalkit: Evalkit) -> None:
    done = evalkit("diff", "latest", "run1")
    assert done.returncode == 66
    assert "no complete run of this eval set and target" in done.stderr


def test_an_incomplete_run_is_not_accepted(place: Path, evalkit: Evalkit) -> None:
    on_file(place, "run6", [True] * 2, state="interrupted", planned=20)
    done = evalkit("baseline", "accept", "run6")
    assert done.returncode == 3
    assert not (place / "eval_sets").exists()


def by_hand(place: Path, cells: dict[str, str]) -> str:
    """A table in which somebody set scores of `intent_top1`."""
    lines = ["sample_id,intent_top1_manual", *(f"{key},{cell}" for key, cell in cells.items())]
    path = place / "hand.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("command", "code"), [("gate", 0), ("diff", 0)])
def test_scores_set_by_hand_count_and_are_told(
    evalkit: Evalkit, place: Path, command: str, code: int
) -> None:
    """Six flips are a regression; somebody looked, and found three of them right."""
    table = by_hand(place, {"q0": "1", "q1": "1", "q2": "true"})
    words = {
        "gate": ["gate", "run3", "--baseline", "run1", "--regression", "intent_top1=0.15"],
        "diff": ["diff", "run1", "run3", "--metric", "intent_top1"],
    }[command]
    done = evalkit(*words, "--manual", table)
    assert done.returncode == code, done.stdout
    assert "set by hand, not measured: 3 scores of intent_top1" in done.stdout
    told = json.loads(evalkit(*words, "--manual", table, "--json").stdout)
    comparison = told["comparison"] if command == "gate" else told
    assert comparison["overridden"] == {"intent_top1": 3}
    assert [change["worse"] for change in comparison["changes"] if change["dimension"] == "overall"] == [3]


@pytest.mark.parametrize("words", [("worst", "run3"), ("fix", "run3")])
def test_worst_and_fix_count_scores_set_by_hand(
    evalkit: Evalkit, place: Path, words: tuple[str, ...]
) -> None:
    table = by_hand(place, {f"q{n}": "1" for n in range(6)})
    done = evalkit(*words, "--manual", table)
    assert done.returncode == 0, done.stderr
    assert "set by hand, not measured: 6 scores of intent_top1" in done.stderr
    assert "100.0%" in done.stdout or "100%" in done.stdout


def test_what_was_drawn_is_told_with_its_seed(evalkit: Evalkit) -> None:
    """Anybody can draw the same again: in the JSON of both commands."""
    drawn = {"confidence": 0.95, "draws": 10_000, "seed": 20_260_826, "cluster": "sample_id"}
    assert json.loads(evalkit("diff", "run1", "run3", "--json").stdout)["drawn"] == drawn
    words = ("gate", "run3", "--baseline", "run1", "--regression", "intent_top1", "--json")
    assert json.loads(evalkit(*words).stdout)["comparison"]["drawn"] == drawn
    clustered = json.loads(evalkit(*words, "--cluster", "intent_l2").stdout)
    assert clustered["comparison"]["drawn"] == drawn | {"cluster": "intent_l2"}
    assert clustered["verdict"] == "CANNOT DECIDE"


def test_diff_slices_by_any_field(evalkit: Evalkit) -> None:
    told = json.loads(evalkit("diff", "run1", "run3", "--by", "answer_status", "--json").stdout)
    assert {(c["dimension"], c["slice"]) for c in told["changes"]} == {
        ("overall", ""),
        ("answer_status", "ok"),
    }
    done = evalkit("diff", "run1", "run3", "--by", "colour")
    assert done.returncode == 2
    assert "colour" in done.stderr
