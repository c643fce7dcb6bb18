"""One verdict, six outputs: all say the same, with the same numbers, whatever the texts hold."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console, RenderableType

from evalkit.report.compare import compare
from evalkit.report.gate import gate
from evalkit.report.policy import KnownFailure, Policy
from evalkit.report.snapshot import MetricFacts, Snapshot
from evalkit.report.verdict import Check, Verdict
from evalkit.report.verdict_ci import verdict_github, verdict_gitlab
from evalkit.report.verdict_json import comparison_json, verdict_json
from evalkit.report.verdict_junit import verdict_junit
from evalkit.report.verdict_markdown import LIMIT, verdict_markdown
from evalkit.report.verdict_text import comparison_view, verdict_view

MakeRun = Callable[..., Snapshot]
MakeFacts = Callable[..., MetricFacts]

TODAY = date(2026, 8, 26)
ILLEGAL = (
    "".join(map(chr, range(0x20))) + "\ufffe\uffff\ud800]\udfff]]><![CDATA[&<>\"'\x7f\x85\u2028\u202e\u200b"
)
HOSTILE = [
    ILLEGAL,
    "\x1b]52;c;aGk=\x07\x1b[2J\rPASS",
    "[/bold][red]x[/]",
    "![x](http://evil.example/x.png) [x](javascript:alert(1)) <img src=x onerror=alert(1)>",
    "<http://evil.example> https://evil.example @somebody #1",
    "a|b\\|![x](http://evil.example)\\\\|c\\",
    "``` ` `` ```\n# x\n| a | b |\n",
    "::error::x\n::set-output name=a::b%0A%",
    "##[error]x",
    "</testcase></testsuite>",
    "退" * 300,
]


def printed(view: RenderableType, width: int = 80) -> str:
    sink = io.StringIO()
    Console(file=sink, width=width, markup=False, highlight=False, emoji=False).print(view)
    return sink.getvalue()


def one_line(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.fixture
def verdicts(make_run: MakeRun, make_facts: MakeFacts) -> dict[str, Verdict]:
    """A pass with a flag, a regression with a doubt beside it, and a run that cannot be decided."""
    texts = {"intent_l2": ["S3_退货"] * 5 + ["S4_物流"] * 45}
    base = make_run({"a": [1] * 5 + [0] * 5 + [1] * 40, "b": [1] * 50}, texts=texts, run_id="base")
    better = make_run({"a": [0] * 5 + [1] * 45, "b": [1] * 50}, texts=texts)
    worse = make_run({"a": [0] * 17 + [1] * 33, "b": [1] * 30 + [None] * 20}, texts=texts)
    policy = Policy(regression=("a", "b"), thresholds={"a": 0.66, "b": 0.5})
    found = {
        "PASS": gate(better, base=base, policy=policy, today=TODAY),
        "REGRESSION": gate(worse, base=base, policy=policy, today=TODAY),
        "CANNOT DECIDE": gate(make_run({"a": [1], "b": [1]}), base=base, policy=policy, today=TODAY),
    }
    assert {name: verdict.verdict for name, verdict in found.items()} == {name: name for name in found}
    assert found["PASS"].flagged
    return found


def in_text(verdict: Verdict) -> str:
    return one_line(printed(verdict_view(verdict)))


def in_markdown(verdict: Verdict) -> str:
    return one_line(verdict_markdown(verdict).decode("utf-8"))


def in_github(verdict: Verdict) -> str:
    return one_line(verdict_github(verdict).replace("%25", "%").replace("%3A", ":").replace("%2C", ","))


def in_gitlab(verdict: Verdict) -> str:
    return one_line(" ".join(issue["description"] for issue in json.loads(verdict_gitlab(verdict))))


def in_junit(verdict: Verdict) -> str:
    suite = ET.fromstring(verdict_junit(verdict))  # noqa: S314 - our own text
    return one_line(
        " ".join([*suite.itertext(), *(v for node in suite.iter() for v in node.attrib.values())])
    )


def in_json(verdict: Verdict) -> str:
    return one_line(" ".join(strings(json.loads(verdict_json(verdict)))))


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [str(value)]


OUTPUTS = {
    "text": in_text,
    "markdown": in_markdown,
    "github": in_github,
    "gitlab": in_gitlab,
    "junit": in_junit,
    "json": in_json,
}


@pytest.mark.parametrize("outcome", ["PASS", "REGRESSION", "CANNOT DECIDE"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_says_the_same(verdicts: dict[str, Verdict], output: str, outcome: str) -> None:
    """The verdict, what decided it, and each check that failed or is flagged, reason and n included."""
    verdict = verdicts[outcome]
    said = OUTPUTS[output](verdict)
    assert one_line(verdict.headline) in said
    for check in (*verdict.failing, *verdict.flagged):
        assert one_line(check.title) in said
        assert one_line(check.reason) in said
        assert str(check.n) in said
    for other in {"REGRESSION", "CANNOT DECIDE"} - {c.verdict for c in verdict.failing}:
        assert one_line(other) not in said


@pytest.mark.parametrize("outcome", ["PASS", "REGRESSION", "CANNOT DECIDE"])
def test_whole_outputs_have_every_check_with_what_was_found(
    verdicts: dict[str, Verdict], outcome: str
) -> None:
    verdict = verdicts[outcome]
    for said in (in_json(verdict), in_junit(verdict), in_markdown(verdict)):
        for check in verdict.checks:
            for text in (check.title, check.found_text, check.wanted_text, check.reason):
                assert one_line(text) in said


def test_the_json_has_the_numbers_unrounded(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["REGRESSION"]
    told = json.loads(verdict_json(verdict))
    assert (told["verdict"], told["exit_code"]) == ("REGRESSION", 1)
    for check, said in zip(verdict.checks, told["checks"], strict=True):
        assert Check(**said) == check
    for change, said in zip(verdict.comparison.changes, told["comparison"]["changes"], strict=True):
        for name in (
            "n_common",
            "base_mean",
            "run_mean",
            "delta",
            "ci_low",
            "ci_high",
            "worse",
            "p",
            "q",
            "p_holm",
        ):
            assert said[name] == getattr(change, name)
    assert told["policy"]["thresholds"] == {"a": 0.66, "b": 0.5}


def test_the_junit_counts_what_it_holds(verdicts: dict[str, Verdict]) -> None:
    for verdict in verdicts.values():
        suite = ET.fromstring(verdict_junit(verdict)).find("testsuite")  # noqa: S314 - our own text
        assert suite is not None
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases) == len(verdict.checks) + 1
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
        names = [case.attrib["name"] for case in cases]
        assert len(set(names)) == len(names)
        failed = {"PASS": None, "REGRESSION": "failure", "CANNOT DECIDE": "error"}[verdict.verdict]
        assert [node.tag for node in cases[0] if node.tag != "system-out"] == ([failed] if failed else [])


def test_github_knows_the_verdict_by_its_level(verdicts: dict[str, Verdict]) -> None:
    firsts = {name: verdict_github(verdict).split(" ")[0] for name, verdict in verdicts.items()}
    assert firsts == {"PASS": "::notice", "REGRESSION": "::error", "CANNOT DECIDE": "::error"}
    assert "\n::warning title=PASS regression a intent_l2=S3_退货::" in verdict_github(verdicts["PASS"])


def test_gitlab_knows_a_finding_again(verdicts: dict[str, Verdict]) -> None:
    """The fingerprint is of what was asked, not of what was found; each has a place and a known severity."""
    issues = json.loads(verdict_gitlab(verdicts["REGRESSION"]))
    again = json.loads(verdict_gitlab(replace(verdicts["REGRESSION"], run_id="another")))
    assert [i["fingerprint"] for i in issues] == [i["fingerprint"] for i in again]
    assert len({i["fingerprint"] for i in issues}) == len(issues)
    for issue in issues:
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"] == {"path": "evalkit.toml", "lines": {"begin": 1}}


def hostile_verdict(make_run: MakeRun, make_facts: MakeFacts, text: str) -> Verdict:
    """The text as run, metric, slice, sample, query, prediction, answer, target, reason and known failure.

    A metric's name is a column's, which cannot hold half of a surrogate pair.
    """
    name = f"m {text.encode('utf-8', 'ignore').decode('utf-8')}"
    facts = {name: make_facts("m")}
    texts = {
        "intent_l2": [text] * 20,
        "intent_pred": [text] * 20,
        "query": [text] * 20,
        "response": [text] * 20,
        "sample_id": [f"{text}{i}" for i in range(20)],
    }
    keys = [f"{text}{i}" for i in range(20)]
    known = {"keys": keys, "metrics": facts, "texts": texts}
    base = make_run({name: [1] * 20}, run_id=text, target=text, **known)
    run = make_run({name: [0] * 8 + [1] * 12}, run_id=text, **known)
    failures = (KnownFailure(sample_id=text, until=date(2020, 1, 1), reason=text),)
    policy = Policy(regression=(name,), thresholds={name: 0.9, text: 0.5}, known_failures=failures)
    found = gate(run, base=base, policy=policy, today=TODAY)
    assert found.verdict == "REGRESSION"
    return found


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest, make_run: MakeRun, make_facts: MakeFacts) -> Verdict:
    return hostile_verdict(make_run, make_facts, request.param)


UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]"
)


def test_junit_is_well_formed_whatever_the_texts_hold(hostile: Verdict) -> None:
    raw = verdict_junit(hostile)
    suite = ET.fromstring(raw)  # noqa: S314 - that it parses is the point
    assert len(suite.findall("testsuite/testcase")) == len(hostile.checks) + 1
    assert not UNSEEN.search(raw.decode("utf-8"))
    assert b"]]>" not in raw


def test_illegal_characters_are_spelled_out_in_names_attributes_and_text(
    make_run: MakeRun, make_facts: MakeFacts
) -> None:
    """Each of U+0000 to U+001F but tab and newline, U+FFFE, and halves of surrogate pairs."""
    suite = ET.fromstring(verdict_junit(hostile_verdict(make_run, make_facts, ILLEGAL)))  # noqa: S314
    name = suite.findall("testsuite/testcase")[-1].attrib["name"]
    wanted = ["\\u0000", "\\u0008", "\\u001b", "\\u001f", "\\ufffe", "\\ud800", "\\udfff", "\\u202e"]
    names = " ".join(case.attrib["name"] for case in suite.iter("testcase"))
    for escape in wanted:
        assert escape in names, name
        assert escape in "".join(suite.itertext())
        assert escape in suite.findall("testsuite/properties/property")[2].attrib["value"]


def test_markdown_has_no_live_image_link_or_html(hostile: Verdict) -> None:
    """As GitHub's tables see it, and as plain CommonMark does; no cell is broken by a text."""
    text = verdict_markdown(hostile).decode("utf-8")
    assert not UNSEEN.search(text)
    for parser in (MarkdownIt("commonmark").enable("table"), MarkdownIt("commonmark")):
        tokens = parser.parse(text)
        inline = [child for token in tokens for child in token.children or ()]
        assert {token.type for token in [*tokens, *inline]}.isdisjoint(
            {"image", "link_open", "html_inline", "html_block"}
        )
    for row in re.findall(r"^\|.*$", text, re.MULTILINE):
        assert row.endswith(" |")
    tables = MarkdownIt("commonmark").enable("table").parse(text)
    widths = [token.type for token in tables if token.type in {"tr_open", "td_open", "th_open"}]
    assert widths.count("th_open") > 0


def test_no_pipe_of_a_text_reaches_a_table(make_run: MakeRun, make_facts: MakeFacts) -> None:
    """An escaped pipe would end its cell after a backslash of the text's own."""
    text = verdict_markdown(hostile_verdict(make_run, make_facts, "\\|`x`|")).decode("utf-8")
    for row in re.findall(r"^\|.*$", text, re.MULTILINE):
        assert row.count("|") == row.count(" | ") + 2


def test_github_commands_are_one_line_each_and_nothing_else(hostile: Verdict) -> None:
    text = verdict_github(hostile)
    assert not UNSEEN.search(text)
    for line in text.split("\n")[:-1]:
        assert re.fullmatch(r"::(notice|warning|error) title=[^:,]*::.*", line)
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", line)


def test_github_escapes_what_would_end_a_command(make_run: MakeRun, make_facts: MakeFacts) -> None:
    text = verdict_github(hostile_verdict(make_run, make_facts, "50%\n::error::x"))
    assert "50%25%0A::error::x" in text
    assert "title=REGRESSION threshold m 50%25%0A%3A%3Aerror%3A%3Ax::" in text


def test_json_outputs_hold_every_text_as_it_came(hostile: Verdict) -> None:
    assert json.loads(verdict_json(hostile))["run_id"] == hostile.run_id
    assert not UNSEEN.search("".join(issue["description"] for issue in json.loads(verdict_gitlab(hostile))))
    flips = json.loads(comparison_json(hostile.comparison))["flips"]
    assert flips[0]["query"] == hostile.comparison.flips[0].query


def test_the_terminal_shows_texts_literally_within_80_columns(hostile: Verdict) -> None:
    for view in (verdict_view(hostile), comparison_view(hostile.comparison)):
        text = printed(view)
        assert not UNSEEN.search(text)
        assert max(cell_len(line) for line in text.split("\n")) <= 80


def test_markup_of_the_terminal_is_text(make_run: MakeRun, make_facts: MakeFacts) -> None:
    assert "[/bold][red]x[/]" in printed(
        verdict_view(hostile_verdict(make_run, make_facts, "[/bold][red]x[/]"))
    )


def test_a_large_comment_stays_under_the_limit_and_counts_what_it_cut(make_run: MakeRun) -> None:
    """2,000 flips with long answers over 200 intents."""
    n = 4_000
    texts = {"intent_l2": [f"意图{i % 200}" for i in range(n)], "response": ["长回答|`" * 200] * n}
    base, run = make_run([1] * n, texts=texts), make_run([0, 1] * (n // 2), texts=texts)
    found = gate(run, base=base, policy=Policy(regression=("intent_top1",)), today=TODAY)
    text = verdict_markdown(found).decode("utf-8")
    assert len(text) <= LIMIT == 60_000
    assert text.startswith("## ❌ REGRESSION\n")
    assert "1950 more are left out; the JSON has them." in text


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec=None), min_size=1, max_size=20))
def test_any_text_at_all_goes_through_every_output(
    make_run: MakeRun, make_facts: MakeFacts, text: str
) -> None:
    found = hostile_verdict(make_run, make_facts, text)
    ET.fromstring(verdict_junit(found))  # noqa: S314 - that it parses is the point
    json.loads(verdict_json(found))
    json.loads(verdict_gitlab(found))
    assert verdict_github(found).count("\n::") + 1 == verdict_github(found).count("\n")
    verdict_markdown(found)
    printed(verdict_view(found))


def test_a_comparison_is_readable_whole(make_run: MakeRun) -> None:
    """Changes with interval, p and q; what is not common; flips with both predictions and answers."""
    texts = {"intent_l2": ["S3_退货"] * 10, "response": ["可以退。"] * 10, "intent_pred": ["S3_退货"] * 10}
    keys = [f"q{i}" for i in range(10)]
    base = make_run([1] * 10, keys=keys, texts=texts, run_id="上次")
    run = make_run([0] * 7 + [1] * 3, keys=keys, texts=texts | {"response": ["不行。"] * 10}, run_id="这次")
    text = printed(comparison_view(compare(base, run)))
    for part in ("上次 → 这次: 10 samples in common", "100% → 30%", "0.01562", "worse", "7/0 of 10"):
        assert part in text
    assert "intent_top1: 7 right → wrong, 0 wrong → right" in text
    assert "[S3_退货] 可以退。" in text
    assert "[S3_退货] 不行。" in text


def test_a_refused_comparison_says_why(make_run: MakeRun) -> None:
    comparison = compare(make_run([1]), make_run([1], sha="cd" * 32))
    assert "refused: eval set: sha256 abababababab… in the base" in printed(comparison_view(comparison))
    told = json.loads(comparison_json(comparison))
    assert told["refusals"][0]["text"].startswith("eval set")
    assert told["changes"] == []
