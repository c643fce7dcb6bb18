"""Hostile text in every field of a run, through every sink: nothing of it becomes markup, formula or escape."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from evalkit.contracts import EvalRecord, Manifest, MetricResult
from evalkit.report import csv as sheet
from evalkit.report import html, markdown, terminal
from evalkit.report.digest import Digest
from evalkit.report.failures import as_lines
from evalkit.report.gate import gate
from evalkit.report.policy import KnownFailure, Policy
from evalkit.report.text import visible
from evalkit.report.verdict import Verdict
from evalkit.report.worst import worst
from evalkit.slices import slice_mean

HTML = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></title></textarea><svg onload=alert(1)>",
    "<!--",
    "--><b>",
    "]]><![CDATA[",
    "</dd></dl></div></main></body></html>",
    "&lt;script&gt;&#60;b&#62;",
    "{{ 7 * 7 }}{% for x in y %}{# z #}",
    "<iframe src=//evil.example>",
    '<a href="javascript:alert(1)">x</a>',
    '<meta http-equiv="refresh" content="0;url=http://evil.example">',
    "<base href=http://evil.example/>",
    '<link rel=stylesheet href="http://evil.example/x.css">',
]
MARKDOWN = [
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "<http://evil.example>",
    "https://evil.example www.evil.example a@evil.example",
    "a | b | c\n| --- | --- |",
    "```\n# x\n```",
    "````` ` ``",
    "`",
    "\n\n# heading\n\n- item\n\n> quote",
    "[x]: http://evil.example\n[x]",
    "~~~\n<b>\n~~~",
    "\\`\\|",
    "    indented",
    "@somebody #1",
]
TERMINAL = [
    "\x1b]52;c;aGk=\x07",
    "\x1b]0;title\x1b\\",
    "\x1b[2J\x1b[1;1H\x1b[31m",
    "\x9b31m\x90\x9c",
    "safe\rgone",
    "a\x08\x08b\x00\x7f\v\f",
    "[bold red]x[/] [/] [bold [link=http://evil.example]",
    ":smile: [blink]",
]
UNSEEN = [
    "\u202eevil\u202c",
    "\u2066\u2067\u2069",
    "a\u200bb\u200d\u2060\ufeffc\u00adx",
    "x\u2028y\u2029\x85z",
    "\U000e0041\U000e007f",
    "\u3164\u115f",
]
FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "＝1+1",
    "＋1+1",
    "－1-1",
    "＠x",
    " =1",
    "\u200b=1",
    "\u3000=1",
    "\n=1",
    "-Infinity",
    '"=1+1',
]
PAYLOADS = HTML + MARKDOWN + TERMINAL + UNSEEN + FORMULAS


def record(text: str) -> EvalRecord:
    """A failed record with that text in every field that takes a free text."""
    error = {"kind": text, "message": text, "http_status": 500, "code": text, "body": text}
    call = {"name": text, "arguments": {text: text}, "result": {text: [text]}, "error": text}
    fields: dict[str, Any] = {
        "sample_id": text,
        "query": text,
        "messages": [text, text],
        "reference": text,
        "intent_l1": text,
        "intent_l2": text,
        "requires_rag": True,
        "reference_doc_ids": [text],
        "reference_doc_ids_nice": [text + "2"],
        "difficulty": text,
        "tags": [text],
        "trap_type": text,
        "required_slots": [
            {"name": text, "description": text, "value": text, "aliases": [text], "type": text}
        ],
        "required_steps": [{"name": text, "after": [text], "keywords": [text], "tool": text}],
        "expected_tools": [call | {"arguments": {text: 1}}],
        "rules": [{"type": text, "params": {text: text}}],
        "expectation": {"behavior": text, "keywords": [text], "forbidden": [text]},
        "response": text,
        "thinking": text,
        "dialog": [
            {"sent_message": text, "reply": text, "thinking": text, "tool_calls": [call], "status": "error"}
        ],
        "tool_calls": [call],
        "filled_slots": {"other": text},
        "done_steps": [text],
        "intent_pred": text + "1",
        "intent_pred_all": [text + "1", text],
        "sub_questions": [text, text],
        "retrieved_doc_ids": [text + "3", text + "2"],
        "retrieved_chunk_ids": [text],
        "retrieved_contexts": [text, text],
        "retrieved_context_doc_ids": [text, None],
        "answer_error": error,
        "answer_attempts": [{"status": text, "error": error}, {"status": "ok"}],
        "evidence_error": error,
        "evidence_attempts": [{"status": text, "error": error}, {"status": "ok"}],
        "trace_ids": {text: text},
        "flags": [text],
        own_field(text): {text: text},
    }
    return EvalRecord.model_validate(fields)


def own_field(text: str) -> str:
    """The name of a field that evalkit does not know; a dot in it would mean a field within a field."""
    return "own_" + text.replace(".", "")


def records(text: str) -> list[EvalRecord]:
    """The record once as measured, once with both channels failed, once with an answer that was cut off."""
    hostile = record(text)
    failed = {"repeat": 1, "answer_status": "error", "evidence_status": "error"}
    return [
        hostile,
        hostile.model_copy(update=failed),
        hostile.model_copy(update={"repeat": 2, "response": ""}),
    ]


def hostile_manifest(text: str, like: Manifest) -> Manifest:
    """A manifest with that text in it, of a run that was interrupted."""
    fields = {
        "run_id": text,
        "eval_set": text,
        "eval_set_sha256": text,
        "target": text,
        "evalkit_version": text,
        "target_config": {text: text},
        "settings": {"s" + text: [text]},
        "selection": {"t" + text: {text: text}},
        "state": "interrupted",
    }
    return Manifest.model_validate(like.model_dump() | fields)


@pytest.fixture(scope="module")
def make(make_digest, manifest: Manifest):
    """The digest of a run full of that text."""

    @functools.cache
    def made(text: str) -> Digest:
        rows = records(text)
        own = MetricResult(f"own {text}", *slice_mean(rows, lambda row: 0.5 if row.repeat else None))
        by = ("difficulty", "tags", own_field(text))
        facts = {"run_id": text, "manifest": hostile_manifest(text, manifest), "results": [own], "by": by}
        return make_digest(rows, **facts, without=("text",))  # what texts score depends on the texts

    return made


@pytest.fixture(scope="module")
def judged(make_run, make_facts):
    """A verdict with that text as run, base, metric, intent, sample, question, prediction, answer and reason."""

    @functools.cache
    def made(text: str) -> Verdict:
        name = f"m {text}"
        keys = [f"{text}{row}" for row in range(20)]
        columns = ("intent_l2", "intent_pred", "query", "response")
        texts = {column: [text] * 20 for column in columns} | {"sample_id": keys}
        known = {"keys": keys, "metrics": {name: make_facts("m")}, "texts": texts, "run_id": text}
        base, run = (make_run({name: [right] * 8 + [1] * 11 + [1 - right]}, **known) for right in (1, 0))
        expired = KnownFailure(sample_id=text, until=date(2020, 1, 1), reason=text)
        policy = Policy(regression=(name,), thresholds={name: 0.9, text: 0.5}, known_failures=(expired,))
        return gate(run, base=base, policy=policy, today=date(2026, 8, 26))

    return made


class Structure(HTMLParser):
    """The elements of a page with the names of their attributes, and the values that could fetch or run."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.values: Counter[tuple[str, str]] = Counter()
        self.others: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag, tuple(sorted(name for name, _ in attrs))] += 1
        self.values.update(
            (name, value or "") for name, value in attrs if name in {"id", "href", "class", "content"}
        )

    def handle_endtag(self, tag: str) -> None:
        self.elements[f"/{tag}", ()] += 1

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: bytes) -> Structure:
    structure = Structure()
    structure.feed(page.decode("utf-8"))
    structure.close()
    return structure


@pytest.fixture(scope="module")
def page(make, judged):
    """The parsed page of a run full of that text."""
    return functools.cache(lambda text: parsed(html.page(make(text), judged(text))))


@pytest.fixture(scope="module")
def document(make, judged):
    """The Markdown of a run full of that text."""
    return functools.cache(lambda text: markdown.document(make(text), judged(text)).decode("utf-8"))


def anchors_apart(values: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """The values with the anchors of samples, which are hashes, made equal."""
    return Counter(
        {(name, re.sub(r"^(#?)s[0-9a-f]{12}$", r"\1s", value)): n for (name, value), n in values.items()}
    )


def ids(payloads: Iterable[str]) -> list[str]:
    return [ascii(payload)[1:24] for payload in payloads]


every_payload = pytest.mark.parametrize("payload", PAYLOADS, ids=ids(PAYLOADS))


def unseen(text: str) -> set[str]:
    """Characters of the text that control, reorder or hide, but newline."""
    return {
        char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"} and char != "\n"
    }


@every_payload
def test_page_has_no_element_that_data_made(payload: str, page) -> None:
    """The page of a hostile run has the very elements and attributes of the page of a harmless one."""
    harmless, hostile = page("word"), page(payload)
    assert hostile.elements == harmless.elements
    assert sorted(anchors_apart(hostile.values)) == sorted(anchors_apart(harmless.values))
    assert hostile.others == harmless.others == []


def test_harmless_page_is_full_of_the_word(page) -> None:
    """The comparison above means something: the text reaches the page in all its parts."""
    text = "".join(page("word").text)
    assert text.count("word") > 150
    verdict, flips = text.split("Why", 1)[1].split("Overall")[0], text.split("right → wrong", 1)[1]
    assert verdict.count("word") > 3
    assert flips.split("What to fix first")[0].count("word") > 60


@every_payload
def test_page_shows_what_is_unseen(payload: str, page) -> None:
    assert not unseen("".join(page(payload).text)) - {"\t"}


@every_payload
def test_page_holds_the_text_itself(payload: str, page) -> None:
    """Nothing is dropped: the answer of the sample reads as it came, but for unseen characters."""
    assert visible(payload) in "".join(page(payload).text)


@pytest.fixture(scope="module")
def tokens(document):
    """How many tokens of each kind a Markdown reader finds in the document of that text."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

    @functools.cache
    def counted(text: str) -> Counter[str]:
        found = reader.parse(document(text))
        return Counter(part.type for token in found for part in [token, *(token.children or [])])

    return counted


@every_payload
def test_markdown_has_no_token_that_data_made(payload: str, tokens) -> None:
    """No link, image or markup comes from data, and every table keeps its cells."""
    hostile, harmless = tokens(payload), tokens("word")
    assert not {kind for kind in hostile if re.search("html|link|image|autolink", kind)}
    blocks = re.compile("table|td|th|tr|heading|list|fence|quote|em|strong")
    only = {kind: n for kind, n in hostile.items() if blocks.match(kind)}
    assert only == {kind: n for kind, n in harmless.items() if blocks.match(kind)}


@every_payload
def test_markdown_shows_what_is_unseen(payload: str, document) -> None:
    assert not unseen(document(payload)) - {"\t"}


def printed(digest: Digest, *, colour: bool) -> str:
    """Everything that the commands print of a run, on 80 columns."""
    sink = io.StringIO()
    console = Console(
        file=sink, width=80, force_terminal=colour, color_system="truecolor" if colour else None
    )
    found = digest.tables
    rows = worst(found.slices, found.confusions, by="intent_l2", metric="intent_top1")
    console.print(terminal.summary_view(digest, files={}))
    console.print(terminal.worst_view(rows, overall=digest.overall[0]))
    for failure in digest.failures.failed:
        console.print(terminal.sample_view(failure.record))
    return sink.getvalue()


@every_payload
def test_terminal_gets_no_escape_but_our_colours(payload: str, make) -> None:
    text = printed(make(payload), colour=True)
    assert not unseen(re.sub(r"\x1b\[[0-9;]*m", "", text))
    assert text.count("\x1b") == len(re.findall(r"\x1b\[[0-9;]*m", text))


@every_payload
def test_terminal_takes_no_markup(payload: str, make) -> None:
    """Without a terminal there is no colour at all, and brackets stand as they are."""
    text = printed(make(payload), colour=False)
    assert "\x1b" not in text
    for part in re.findall(r"\[/?\w*\]", payload):
        assert part in text


@every_payload
def test_csv_cell_is_no_formula(payload: str, make) -> None:
    """Whatever stands before it, no cell and no heading begins like a formula, but for plain numbers."""
    rows = list(csv.reader(io.StringIO(sheet.per_sample(make(payload)).decode("utf-8-sig"), newline="")))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 1 + len(records(payload))
    for cell in (cell for row in rows for cell in row):
        hidden = cell.lstrip(' \n\t\r\u3000\u200b"')
        assert (
            hidden == "" or hidden[0] not in "=+-@＝＋－＠" or re.fullmatch(r"[+-]?[\d.]+(e-?\d+)?", cell)
        ), cell


@every_payload
def test_jsonl_keeps_the_text_as_it_came(payload: str, make) -> None:
    lines = as_lines(make(payload).failures, run_id=payload).split(b"\n")
    assert lines.pop() == b""
    found = [json.loads(line) for line in lines]
    assert [line["response"] for line in found] == [payload, payload, ""]
    assert all(not re.search("[\x85\u2028\u2029]", line.decode()) for line in lines)
