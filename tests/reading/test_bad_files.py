"""Bad files by the hundred: each bad line is named by its number with the reason, and no line is lost.

Every reader of runs goes through the same files: they must say the same of each line.
"""

from __future__ import annotations

import gzip
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalkit.cli import main


@dataclass(frozen=True)
class Bad:
    """A file that does not hold: its bytes, the lines that do not, and words of the reason that is told of each."""

    name: str
    raw: bytes
    lines: tuple[int, ...]
    reason: str
    whole: bool = True


GOOD = [
    {
        "sample_id": "退货-1",
        "query": "买了两周的耳机能退吗\u2028？",
        "intent_l2": "S14",
        "intent_pred": "S14",
        "retrieved_doc_ids": ["D1", "D2"],
        "tool_calls": [{"name": "find", "arguments": {"id": 7}}],
        "ttft_ms": 412.5,
    },
    {"sample_id": 17, "query": 'x\\y"z', "messages": ["a", "b"], "requires_rag": True, "note": None},
    {"sample_id": "c", "response": "\ud83d", "verdicts": [], "own": {"a": [1, -2.5e-3, {"b": '{[\\"]}'}]}},
]
LINES = [json.dumps(row, ensure_ascii=n == 2).encode() for n, row in enumerate(GOOD)]


def at(places: dict[str, int], name: str, line: bytes, reason: str) -> Iterator[Bad]:
    """The bad line first, between and last among good ones."""
    for word, before in places.items():
        rows = [*LINES[:before], line, *LINES[before:]]
        yield Bad(f"{name} {word}", b"\n".join(rows) + b"\n", (before + 1,), reason)


EVERYWHERE = {"first": 0, "between": 2, "last": 3}
BETWEEN = {"between": 1}

SYNTAX = {
    "brace alone": b"{",
    "brace closed alone": b"}",
    "cut in a key": b'{"sample_id',
    "cut after a key": b'{"sample_id"',
    "cut after a colon": b'{"sample_id":',
    "cut in a text": b'{"sample_id":"a',
    "cut after a value": b'{"sample_id":"a"',
    "cut after a comma": b'{"sample_id":"a",',
    "cut in a list": b'{"sample_id":"a","tags":["x",',
    "cut in an escape": b'{"sample_id":"a\\',
    "bare word": b"{bad",
    "no value": b'{"sample_id":}',
    "no colon": b'{"sample_id" "a"}',
    "no comma": b'{"sample_id":"a" "query":"b"}',
    "no key": b'{:"a"}',
    "comma alone": b"{,}",
    "comma first": b'{,"sample_id":"a"}',
    "comma last": b'{"sample_id":"a",}',
    "comma last in a list": b'{"sample_id":"a","tags":["x",]}',
    "comma twice": b'{"sample_id":"a",,"query":"b"}',
    "single quotes": b"{'sample_id':'a'}",
    "key without quotes": b'{sample_id:"a"}',
    "number as key": b'{1:"a"}',
    "comment of lines": b'{"sample_id":"a"} // ok',
    "comment within": b'{"sample_id":/* */"a"}',
    "hash comment": b"# sample_id",
    "two objects": b'{"sample_id":"a"}{"sample_id":"b"}',
    "two objects and a blank": b'{"sample_id":"a"} {"sample_id":"b"}',
    "two objects and a comma": b'{"sample_id":"a"},{"sample_id":"b"}',
    "trailer": b'{"sample_id":"a"}TRAILER',
    "bracket too many": b'{"sample_id":"a"}}',
    "wrong bracket": b'{"sample_id":"a","tags":["x"}}',
    "list opened first": b'[{"sample_id":"a"}',
    "hexadecimal": b'{"sample_id":"a","ttft_ms":0x1F}',
    "leading zero": b'{"sample_id":"a","ttft_ms":01}',
    "leading zero after minus": b'{"sample_id":"a","own":-01}',
    "plus": b'{"sample_id":"a","ttft_ms":+1}',
    "no digit before the point": b'{"sample_id":"a","ttft_ms":.5}',
    "no digit after the point": b'{"sample_id":"a","ttft_ms":1.}',
    "exponent without digits": b'{"sample_id":"a","ttft_ms":1e}',
    "exponent sign alone": b'{"sample_id":"a","ttft_ms":1e+}',
    "minus alone": b'{"sample_id":"a","ttft_ms":-}',
    "two points": b'{"sample_id":"a","ttft_ms":1.2.3}',
    "underscore": b'{"sample_id":"a","ttft_ms":1_000}',
    "full-width digit": '{"sample_id":"a","ttft_ms":１}'.encode(),
    "Arabic digit": '{"sample_id":"a","ttft_ms":١}'.encode(),
    "true cut": b'{"sample_id":"a","requires_rag":tru}',
    "true of Python": b'{"sample_id":"a","requires_rag":True}',
    "none of Python": b'{"sample_id":"a","requires_rag":None}',
    "undefined": b'{"sample_id":"a","requires_rag":undefined}',
    "null in capitals": b'{"sample_id":"a","requires_rag":NULL}',
    "true and more": b'{"sample_id":"a","requires_rag":truest}',
    "escape unknown": b'{"sample_id":"a\\x41"}',
    "escape of a quote": b'{"sample_id":"a\\\'"}',
    "escape short": b'{"sample_id":"a\\u12"}',
    "escape no hexadecimal": b'{"sample_id":"a\\uZZZZ"}',
    "escape in eight": b'{"sample_id":"a\\U0001f600"}',
    "text without end": b'{"sample_id":"a}',
    "quote escaped at the end": b'{"sample_id":"a\\"}',
    "typographic quotes": "{“sample_id”:“a”}".encode(),
    "no-break space": '{\u00a0"sample_id":"a"}'.encode(),
    "ideographic space": '{\u3000"sample_id":"a"}'.encode(),
    "line separator between": '{"sample_id":"a",\u2028"query":"b"}'.encode(),
    "zero width between": '{"sample_id":"a",\u200b"query":"b"}'.encode(),
    "form feed between": b'{"sample_id":"a",\x0c"query":"b"}',
    "vertical tab between": b'{"sample_id":"a",\x0b"query":"b"}',
    "NUL between": b'{"sample_id":"a",\x00"query":"b"}',
    "NUL after": b'{"sample_id":"a"}\x00',
    "NULs alone": b"\x00" * 40,
    "CSV": b"sample_id,query",
    "YAML": b"sample_id: a",
    "XML": b"<case id='a'/>",
    "SSE": b'data: {"sample_id":"a"}',
    "JSON sequence": b'\x1e{"sample_id":"a"}',
    "merge conflict": b"<<<<<<< HEAD",
}

KINDS = {
    "list": (b'[{"sample_id":"a"}]', "a JSON array"),
    "empty list": (b"[]", "a JSON array"),
    "text": (b'"sample_id"', "a JSON string"),
    "whole number": (b"3", "a JSON number"),
    "minus zero": (b"-0", "a JSON number"),
    "fraction": (b"3.5", "a JSON number"),
    "true": (b"true", "a JSON boolean"),
    "false": (b"false", "a JSON boolean"),
    "null": (b"null", "a JSON null"),
    "NaN": (b"NaN", "NaN"),
    "byte order mark alone": (b"\xef\xbb\xbf", "BOM"),
    "byte order mark before": (b'\xef\xbb\xbf{"sample_id":"a"}', "BOM"),
}

PLACES = {
    "known field": '{"sample_id":"a","ttft_ms":%s}',
    "unknown field": '{"sample_id":"a","own":%s}',
    "list": '{"sample_id":"a","own":[1,%s]}',
    "nested": '{"sample_id":"a","tool_calls":[{"name":"t","arguments":{"x":%s}}]}',
}

NUMBERS = {
    "NaN": ("NaN", "found NaN, wanted a finite number or null"),
    "Infinity": ("Infinity", "found Infinity, wanted a finite number or null"),
    "minus Infinity": ("-Infinity", "found -Infinity, wanted a finite number or null"),
    "1e400": ("1e400", "found the number 1e400"),
    "minus 1e400": ("-1e400", "found the number -1e400"),
    "400 digits and a fraction": ("1" * 400 + ".5", "found the number 1111"),
    "2^53": (str(2**53), "found the integer 9007199254740992"),
    "minus 2^53": (str(-(2**53)), "found the integer -9007199254740992"),
    "23 digits": ("1" * 23, "found the integer 1111"),
    "5,000 digits": ("9" * 5_000, "found the integer 9999"),
}

TWICE = {
    "id": (b'{"sample_id":"a","sample_id":"a"}', "'sample_id' twice"),
    "id escaped": (b'{"sample_id":"a","sample_\\u0069d":"b"}', "'sample_id' twice"),
    "far apart": (b'{"sample_id":"a","own":"%s","sample_id":"b"}' % (b"x" * 5_000), "'sample_id' twice"),
    "nested": (b'{"sample_id":"a","own":{"x":1,"x":1}}', "'x' twice"),
    "in a list": (b'{"sample_id":"a","own":[{"x":1,"y":2,"x":3}]}', "'x' twice"),
    "Chinese": ('{"sample_id":"a","键":1,"键":2}'.encode(), "'键' twice"),
    "empty": (b'{"sample_id":"a","":1,"":2}', "'' twice"),
    "three times": (b'{"sample_id":"a","x":1,"x":2,"x":3}', "'x' twice"),
    "of a terminal": (b'{"sample_id":"a","\\u001b[2J":1,"\\u001b[2J":2}', "'\\x1b[2J' twice"),
    "argument": (b'{"sample_id":"a","tool_calls":[{"name":"t","arguments":{"q":1,"q":2}}]}', "'q' twice"),
}

BYTES = {
    "FF": b"\xff",
    "FE": b"\xfe",
    "continuation alone": b"\x80",
    "overlong of two": b"\xc0\x80",
    "overlong slash": b"\xc0\xaf",
    "overlong of three": b"\xe0\x80\xaf",
    "surrogate": b"\xed\xa0\xbd",
    "pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond Unicode": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "cut after one": b"\xe9",
    "cut after two": b"\xe9\x80",
    "cut after three": b"\xf0\x9f\x98",
    "GBK": "退货".encode("gbk"),
    "Latin-1": "ü".encode("latin-1"),
}

TEXT_PLACES = {
    "in a value": b'{"sample_id":"a","query":"%s"}',
    "in a key": b'{"sample_id":"a","%s":1}',
    "between": b'{"sample_id":"a",%s"query":"b"}',
    "first byte": b'%s{"sample_id":"a"}',
}

DEEP = {
    "65 lists": b'{"sample_id":"a","own":' + b"[" * 64 + b"]" * 64 + b"}",
    "65 objects": b'{"sample_id":"a","own":' + b'{"x":' * 64 + b"1" + b"}" * 65,
    "200,000 lists": b'{"sample_id":"a","own":' + b"[" * 200_000,
    "200,000 objects": b'{"a":' * 200_000,
    "mixed": b'{"sample_id":"a","own":' + b'[{"x":' * 40 + b"1" + b"}]" * 40 + b"}",
    "list of lists alone": b"[" * 100 + b"]" * 100,
    "behind flat ones": b'{"sample_id":"a","own":[' + b"[]," * 500 + b"[" * 70 + b"]" * 70 + b"]}",
}

FIELDS: list[tuple[str, Any]] = [
    ("sample_id", None),
    ("sample_id", ""),
    ("sample_id", 1.5),
    ("sample_id", True),
    ("sample_id", ["a"]),
    ("sample_id", {"a": 1}),
    ("sample_id", "x" * 257),
    ("query", 3),
    ("query", ["a"]),
    ("messages", "a"),
    ("messages", [1]),
    ("messages", [{"role": "assistant", "content": "a"}]),
    ("messages", {"a": 1}),
    ("reference", 3),
    ("intent_l1", 3),
    ("intent_l2", ["S1"]),
    ("requires_rag", "maybe"),
    ("requires_rag", 2),
    ("requires_rag", []),
    ("reference_doc_ids", "D1"),
    ("reference_doc_ids", [1.5]),
    ("reference_doc_ids", [""]),
    ("reference_doc_ids", [None]),
    ("difficulty", 3),
    ("tags", "vip"),
    ("tags", [3]),
    ("trap_type", 3),
    ("asked_at", "tomorrow"),
    ("asked_at", []),
    ("required_slots", [{"value": 1}]),
    ("required_slots", [{"name": ""}]),
    ("required_slots", "phone"),
    ("required_steps", [{"name": 1}]),
    ("required_steps", [3]),
    ("expected_tools", [{"arguments": {}}]),
    ("expected_tools", "find"),
    ("expected_turns", 0),
    ("expected_turns", 1.5),
    ("expected_turns", "two"),
    ("rules", [3]),
    ("rules", [{"params": {}}]),
    ("rules", [{"type": "x", "weight": 0}]),
    ("rule_logic", "none"),
    ("rule_pass_threshold", 1.01),
    ("rule_pass_threshold", -0.01),
    ("rule_pass_threshold", "NaN"),
    ("expectation", 3),
    ("expectation", {"max_latency_ms": -1}),
    ("response", 3),
    ("response", {"text": "a"}),
    ("ttft_ms", -1),
    ("ttft_ms", "NaN"),
    ("ttft_ms", "Infinity"),
    ("ttft_ms", "fast"),
    ("ttft_ms", []),
    ("answer_status", "good"),
    ("answer_status", 1),
    ("evidence_status", "good"),
    ("intent_pred", 3),
    ("intent_pred_all", "S1"),
    ("intent_pred_all", [3]),
    ("retrieved_doc_ids", "D1"),
    ("retrieved_doc_ids", [1.5]),
    ("retrieved_doc_ids", {"a": 1}),
    ("tool_calls", [{"name": ""}]),
    ("tool_calls", [3]),
    ("tool_calls", [{"name": "t", "latency_ms": -1}]),
    ("repeat", -1),
    ("repeat", 1.5),
    ("repeat", "x"),
    ("run_id", 3),
    ("started_at", "now"),
    ("verdicts", [3]),
    ("judgements", [3]),
    ("judgements", {"a": 3}),
]


def bad_texts() -> Iterator[Bad]:
    """Files of good lines and one that is no JSON."""
    for name, line in SYNTAX.items():
        yield from at(EVERYWHERE, f"syntax: {name}", line, "line column ")
    for name, raw in BYTES.items():
        for place, form in TEXT_PLACES.items():
            found = f"0x{raw[0]:02x} at offset {form.index(b'%s')}, wanted UTF-8 text"
            yield from at(BETWEEN, f"UTF-8: {name} {place}", form % raw, found)
    for control in (byte for byte in range(32) if byte != ord("\n")):
        line = b'{"sample_id":"a","query":"x%cy"}' % control
        yield from at(BETWEEN, f"control: {control:02x} in a text", line, "Invalid control character")
    packed = gzip.compress(b"x", mtime=0)
    assert b"\n" not in packed
    yield from at(BETWEEN, "gzip: in a line", packed, "a gzip file")


def bad_values() -> Iterator[Bad]:
    """Files of good lines and one that is JSON, and no record."""
    for name, (line, found) in KINDS.items():
        yield from at(BETWEEN if "mark" in name else EVERYWHERE, f"kind: {name}", line, found)
    for name, (line, found) in TWICE.items():
        yield from at(EVERYWHERE, f"key twice: {name}", line, found)
    for name, line in DEEP.items():
        yield from at(EVERYWHERE, f"depth: {name}", line, "nesting deeper than 64")
    yield from at(EVERYWHERE, "id: missing", b"{}", "sample_id: found nothing")


def bad_fields() -> Iterator[Bad]:
    """Files of good lines and one with a value that no double holds, or of another type than the field."""
    for (name, (number, found)), (place, form) in itertools.product(NUMBERS.items(), PLACES.items()):
        yield from at(BETWEEN, f"number: {name} in a {place}", (form % number).encode(), found)
    for field, value in FIELDS:
        line = json.dumps({"sample_id": "a"} | {field: value}).encode()
        yield from at(BETWEEN, f"type: {field} {str(value)[:30]}", line, field)


def bad_wholes() -> Iterator[Bad]:
    """Texts that are bad in several lines, or otherwise than in one."""
    good = b"\n".join(LINES) + b"\n"
    for name, marked in (("utf-16", True), ("utf-16-le", False), ("utf-16-be", False), ("utf-32", True)):
        raw = good.decode("utf-8").encode(name)
        ends = raw.count(b"\n")  # what follows the last is torn
        yield Bad(f"encoding: {name}", raw, tuple(range(1, ends + 1)), "" if marked else "line column")
    yield Bad("every line bad", b"{bad\n" * 500, tuple(range(1, 501)), "line column 2")
    yield Bad(
        "every other line bad", (LINES[0] + b"\n{bad\n") * 200, tuple(range(2, 401, 2)), "line column 2"
    )
    yield Bad("bad lines with CRLF", b"\r\n".join([LINES[0], b"{bad", LINES[1], b"[]", b""]), (2, 4), "")
    yield Bad("bad after a byte order mark", b"\xef\xbb\xbf{bad\n" + good, (1,), "line column 2")
    yield Bad("bad after blanks", b"\n \n\t\n{bad\n" + good, (4,), "line column 2")
    yield Bad("bad before a torn tail", good + b"{bad\n" + LINES[0][:9], (4,), "line column 2")
    yield Bad("carriage returns only", b"\r".join(LINES) + b"\n", (1,), "line column ")
    yield Bad("JSON in many lines", json.dumps(GOOD[1], indent=1).encode() + b"\n", tuple(range(1, 11)), "")
    yield Bad("list of records", b"[\n" + b",\n".join(LINES) + b"\n]\n", (1, 2, 3, 5), "")


def unread() -> Iterator[Bad]:
    """Files that cannot be read to their end."""
    good = b"\n".join(LINES) + b"\n"
    for size in (16 * 2**20 + 1, 17 * 2**20):
        line = b'{"sample_id":"' + b"x" * (size - 16) + b'"}'
        yield Bad(f"line of {size:,} bytes", good + line + b"\n" + good, (), "", whole=False)
    for name, pack in (("gzip", gzip.compress), ("zstd", zstd)):
        raw = pack(good * 50)
        for cut in (5, len(raw) // 2, len(raw) - 1):
            yield Bad(f"{name} cut at {cut}", raw[:cut], (), "", whole=False)
        yield Bad(f"{name} and more", raw + b"more", (), "", whole=False)
        yield Bad(f"{name} of a bad line", pack(good + b"{bad\n" + good), (4,), "line column 2")
        yield Bad(f"{name} bomb", pack(b"\n" * 2**23), (), "", whole=False)
    for magic in (
        b"PAR1",
        b"PAR1PAR1",
        b"ARROW1",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\x10",
    ):
        yield Bad(f"format {magic!r} alone", magic, (), "", whole=False)
        yield Bad(f"format {magic!r} and lines", magic + good, (), "", whole=False)


def zstd(raw: bytes) -> bytes:
    """The text as a zstd frame."""
    return bytes(pa.compress(raw, codec="zstd", asbytes=True))


FILES = [*bad_texts(), *bad_values(), *bad_fields(), *bad_wholes(), *unread()]
ids = pytest.mark.parametrize("bad", FILES, ids=lambda bad: bad.name)


def total(raw: bytes) -> int:
    """How many lines a text has."""
    return raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")


def test_there_are_300_files_of_different_names() -> None:
    assert len({bad.name for bad in FILES}) == len(FILES) >= 300
    assert len({bad.raw for bad in FILES}) == len(FILES)


@ids
def test_every_bad_line_is_named_with_its_reason(
    tmp_path: Path, reader: Callable[[Path], Any], bad: Bad
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(bad.raw)
    found = reader(file)
    assert found.whole == bad.whole
    assert tuple(found.bad) == bad.lines
    assert all(bad.reason in reason for reason in found.bad.values())
    if bad.whole and not bad.name.startswith(("gzip", "zstd")):
        assert found.ok + len(found.bad) + found.blank + found.torn == total(bad.raw)


@ids
def test_the_command_ends_with_65_and_names_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], bad: Bad
) -> None:
    """Nothing is written, nothing is printed but the lines, and nobody sees a traceback."""
    monkeypatch.chdir(tmp_path)
    Path("bad.jsonl").write_bytes(bad.raw)
    monkeypatch.setattr(sys, "argv", ["evalkit", "score", "bad.jsonl"])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    assert end.value.code == 65
    assert told.out == ""
    assert told.err.startswith("evalkit: bad.jsonl:")
    assert "Traceback" not in told.err
    for number in bad.lines[:100]:
        assert f"bad.jsonl:{number}:" in told.err
    assert not Path("reports").exists()


EMPTY = {
    "nothing": b"",
    "one line end": b"\n",
    "blank lines": b"\n \n\t\n\r\n",
    "byte order mark": b"\xef\xbb\xbf",
    "byte order mark and lines": b"\xef\xbb\xbf\n\n",
    "blanks without end": b"   ",
    "torn alone": b'{"sample_id',
    "gzip of nothing": gzip.compress(b""),
    "zstd of nothing": zstd(b""),
}


@pytest.mark.parametrize("raw", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("options", [[], ["--on-bad-line=reject"]], ids=["strict", "reject"])
def test_a_file_without_a_record_ends_with_66(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").write_bytes(raw)
    monkeypatch.setattr(sys, "argv", ["evalkit", "score", "empty.jsonl", *options])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 66
