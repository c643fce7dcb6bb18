"""The page shows the numbers of the tables, loads nothing, and stays small."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from datetime import date
from html.parser import HTMLParser

import pytest

from evalkit.contracts import EvalRecord, Manifest
from evalkit.metrics import intent
from evalkit.records import Records
from evalkit.report.digest import Digest, Run, digest
from evalkit.report.figures import figures
from evalkit.report.gate import gate
from evalkit.report.html import SHOWN, page
from evalkit.report.policy import Policy
from evalkit.report.snapshot import Snapshot
from evalkit.report.verdict import Verdict


class Reader(HTMLParser):
    """The cells of each table row by section, the headings' cards, the raw text, and what each table stands in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.section = ""
        self.rows: dict[str, list[list[str]]] = {}
        self.stack: list[str] = []
        self.text: list[str] = []
        self.cell: list[str] | None = None
        self.around: list[str] = []
        self.last = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.section = dict(attrs).get("id") or ""
        elif tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        elif tag in {"td", "th"}:
            self.cell = []
        elif tag == "table":
            self.around.append(self.last)
        if tag not in {"meta", "rect"}:
            self.stack.append(tag)
        self.last = dict(attrs).get("class") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.stack.pop() == tag
        if tag in {"td", "th"} and self.cell is not None:
            self.rows[self.section][-1].append(" ".join("".join(self.cell).split()))
            self.cell = None

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.cell is not None:
            self.cell.append(data)


def read(found: Digest, verdict: Verdict | None = None) -> Reader:
    return Reader(page(found, verdict).decode())


@pytest.fixture
def fallen(make_run: Callable[..., Snapshot]) -> Verdict:
    """Eight samples that were right are wrong now, one the other way round; the answers are told apart."""
    texts = {"query": ["能退吗？"] * 20, "intent_l2": ["S14"] * 20}
    base = make_run([1] * 19 + [0], run_id="before", texts=texts | {"response": ["可以退。"] * 20})
    run = make_run([0] * 8 + [1] * 12, texts=texts | {"response": ["不知道。"] * 19 + [None]})
    policy = Policy(regression=("intent_top1",), thresholds={"intent_top1": 0.9})
    return gate(run, base=base, policy=policy, today=date(2026, 8, 26))


def test_every_element_is_closed(make_digest, rich_run: list[EvalRecord]) -> None:
    assert read(make_digest(rich_run, by=("difficulty",))).stack == []


def test_tables_scroll_in_their_box_and_the_page_does_not(
    make_digest, rich_run: list[EvalRecord], fallen: Verdict
) -> None:
    """On a narrow screen: each table stands in a box that scrolls, and any other text may break anywhere."""
    found = read(make_digest(rich_run, by=("difficulty",)), fallen)
    assert len(found.around) > 8
    assert {name.split(" ")[0] for name in found.around} == {"scroll"}
    assert re.search(r"body \{[^}]*overflow-wrap: break-word", "".join(found.text))


def test_settings_stand_as_a_command_has_them(make_digest, manifest: Manifest) -> None:
    told = {"evidence": True, "include": ["a"], "engine": "auto", "off": False}
    run = make_digest(
        [EvalRecord(sample_id="1")], manifest=manifest.model_copy(update={"target_config": told})
    )
    facts = " ".join("".join(read(run).text).split())
    assert 'evidencetrue include["a"] engineauto' in facts


def test_all_metrics_are_those_of_the_table(make_digest, rich_run: list[EvalRecord]) -> None:
    """Every overall figure stands there as in the table, under the same rounding."""
    found = make_digest(rich_run)
    rows = {row[0].removesuffix(" ↓"): row[1:] for row in read(found).rows["metrics"][1:]}
    table = found.tables.slices.to_pylist()
    overall = [row for row in table if row["dimension"] == "overall"]
    assert list(rows) == [row["metric"] for row in overall]
    for row in overall:
        value, _, interval, counted, _ = rows[row["metric"]]
        assert counted == f"{row['n_counted']}/{row['n_total']}"
        if row["mean"] is not None and row["is_pct"]:
            assert value == f"{100 * row['mean']:.1f}%"
        if row["ci_low"] is not None and row["is_pct"]:
            assert interval == f"{100 * row['ci_low']:.1f}–{100 * row['ci_high']:.1f}%"
        if row["mean"] is None:
            assert value == "–"


def test_intents_are_those_of_the_table(make_digest, rich_run: list[EvalRecord]) -> None:
    found = make_digest(rich_run)
    shown = {row[0]: (row[1], row[3], row[4]) for row in read(found).rows["intents"][1:]}
    wanted = {
        figure.slice: (figure.value, figure.interval, figure.counted)
        for level in ("intent_l1", "intent_l2")
        for figure in figures(found.tables.slices, dimension=level, metric="intent_top1")
    }
    assert shown == wanted


def test_gates_add_up_on_the_page(make_digest, rich_run: list[EvalRecord]) -> None:
    rows = read(make_digest(rich_run)).rows["overall"]
    counts = {row[0]: int(row[2]) for row in rows if len(row) == 4}
    assert list(counts)[:6] == ["channel", "intent", "retrieval", "completion", "answer", "passed"]
    assert sum(counts.values()) == len(rich_run)


def test_the_page_forbids_itself_everything_but_its_style(
    make_digest, ten_questions: list[EvalRecord]
) -> None:
    text = page(make_digest(ten_questions)).decode()
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    assert f'content="{policy}"' in text
    assert text.index("Content-Security-Policy") < text.index("<style>")


@pytest.mark.parametrize(
    "banned", ["<script", "src=", "style=", "url\\(", "@import", "<link", " on\\w+=", "http-equiv=.refresh"]
)
def test_nothing_is_loaded_or_run(make_digest, ten_questions: list[EvalRecord], banned: str) -> None:
    assert not re.search(banned, page(make_digest(ten_questions)).decode())


def test_languages_are_told(make_digest, ten_questions: list[EvalRecord]) -> None:
    text = page(make_digest(ten_questions)).decode()
    assert '<html lang="en">' in text
    assert '<span lang="zh-Hans">问题3</span>' in text


def test_error_directions_lead_to_the_samples(make_digest, ten_questions: list[EvalRecord]) -> None:
    text = page(make_digest(ten_questions)).decode()
    links = set(re.findall(r'href="#(s[0-9a-f]{12})"', text))
    assert len(links) == 2
    assert links == set(re.findall(r'<details id="(s[0-9a-f]{12})"', text))


def test_long_texts_are_cut_and_say_where_the_rest_is(make_digest) -> None:
    record = EvalRecord(sample_id="a b", intent_l2="A", response="x" * 20_000)
    text = page(make_digest([record])).decode()
    assert "x" * 8192 in text
    assert "x" * 8193 not in text
    assert "… 11,808 more bytes" in text
    assert "failures.jsonl, line 1" in text
    assert "evalkit show 01RUN &#39;a b&#39;" in text


def test_ten_thousand_failures_make_a_page_that_opens() -> None:
    """The first two hundred are on the page, the rest is named; one long answer each."""
    records = [
        EvalRecord(
            sample_id=str(row), query="能退吗？" * 50, intent_l2=f"L{row % 150}", response="答" * 30_000
        )
        for row in range(10_000)
    ]
    table = Records.of(records)
    text = page(digest(Run("01RUN", table, [intent.compute(table)])))
    assert text.count(b"<details") == SHOWN
    assert b"The first 200 are here, all are in failures.jsonl." in text
    assert len(text) < 30 * 2**20


@pytest.mark.parametrize(
    "records",
    [
        [],
        [EvalRecord(sample_id="1")],
        [EvalRecord(sample_id="1", answer_status="error", evidence_status="error", intent_l2="A")],
        [EvalRecord(sample_id="1", intent_l2="A", intent_pred="A")],
    ],
    ids=["no record", "no label", "all failed", "one record, right"],
)
def test_there_is_a_page_for_poor_runs(make_digest, records: list[EvalRecord]) -> None:
    reader = read(make_digest(records))
    assert reader.stack == []
    assert "nan" not in "".join(reader.text).lower()


def test_no_metric_counted_is_said(make_digest) -> None:
    record = EvalRecord(sample_id="1", answer_status="skipped", evidence_status="skipped")
    assert "No metric counted any sample" in "".join(read(make_digest([record])).text)


def test_the_page_begins_with_the_verdict(make_digest, fallen: Verdict) -> None:
    """The word, the exit code, both runs, each check that did not pass, and what moved; before all else."""
    reader = read(make_digest([]), fallen)
    text = "".join(reader.text)
    assert reader.stack == []
    assert next(iter(reader.rows)) == "verdict"
    for said in (fallen.verdict, fallen.sentence, "Run run against before, exit code 1"):
        assert said in text
    shown = {(row[0], row[1], row[-1]) for row in reader.rows["verdict"]}
    assert {(check.title, check.verdict, check.reason) for check in fallen.failing} <= shown
    assert ["intent_top1", "95%", "60%", "-35 points"] in [row[:4] for row in reader.rows["verdict"]]


def test_the_page_shows_each_flip_with_both_answers(make_digest, fallen: Verdict) -> None:
    text = page(make_digest([]), fallen).decode().split('<section id="flips">')[1].split("</section>")[0]
    assert "8 right → wrong, 1 wrong → right" in text
    assert re.findall(r'class="id">(\w+)<', text) == [f"q{row:05d}" for row in [*range(8), 19]]
    assert text.count("可以退。") == 9
    assert text.count("不知道。") == 8
    assert text.count("no answer") == 1


def test_more_flips_than_fit_are_counted(make_digest, make_run) -> None:
    base, run = make_run([1] * (SHOWN + 7), run_id="before"), make_run([0] * (SHOWN + 7))
    verdict = gate(run, base=base, policy=Policy(regression=("intent_top1",)), today=date(2026, 8, 26))
    text = page(make_digest([]), verdict).decode()
    assert text.split('<section id="flips">')[1].count("<details") == SHOWN
    assert "7 more: <code>evalkit gate --json</code> has them." in text


def test_without_a_verdict_the_page_speaks_of_none(make_digest, rich_run: list[EvalRecord]) -> None:
    text = page(make_digest(rich_run)).decode()
    assert 'id="verdict"' not in text
    assert 'id="flips"' not in text


def test_without_a_base_there_are_no_flips(make_digest, make_run) -> None:
    verdict = gate(
        make_run([1] * 9), base=None, policy=Policy(thresholds={"intent_top1": 0.5}), today=date(2026, 8, 26)
    )
    reader = read(make_digest([]), verdict)
    assert "PASS" in "".join(reader.text)
    assert "Flips" not in "".join(reader.text)
