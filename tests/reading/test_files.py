"""Files of lines: each line is an item, or its faults are named, or it is blank or torn. None is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Case, EvalRecord
from evalkit.errors import BadData, Fault, NoInput
from evalkit.reading import document, encode, fit, lines, read

GOOD = b'{"sample_id":"a","query":"\xe9\x80\x80\xe8\xb4\xa7"}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "set.jsonl"


def test_faults_name_file_line_field_finding_and_wish(file: Path) -> None:
    file.write_bytes(
        b"\n".join(
            [
                GOOD,
                b"{bad",
                b'{"query":"x"}',
                b'{"sample_id":"b","requires_rag":"maybe","tags":"vip"}',
                b'{"sample_id":"c","required_slots":[{"name":"a"},{"name":1}]}',
                b'{"sample_id":"d","rules":[3],"rule_logic":"none"}',
            ]
        )
    )
    shown = [str(fault).removeprefix(f"{file}:") for fault in read(file, Case).faults]
    assert shown == [
        "2:2: line: found Expecting property name enclosed in double quotes, wanted one JSON object",
        "3: sample_id: found nothing, wanted a value",
        "4: requires_rag: found 'maybe', wanted a valid boolean, unable to interpret input",
        "4: tags: found 'vip', wanted a list",
        "5: required_slots[1].name: found 1, wanted a valid string",
        "6: rules[0]: found 3, wanted an object or instance of RuleSpec",
        "6: rule_logic: found 'none', wanted 'all', 'any' or 'weighted'",
    ]


def test_items_come_with_the_numbers_of_their_lines(file: Path) -> None:
    file.write_bytes(b"\n" + GOOD + b"\n  \n{bad\n" + GOOD + b"\n")
    reading = read(file, Case)
    assert [item.sample_id for item in reading.items] == ["a", "a"]
    assert reading.numbers == [2, 5]
    assert reading.blank == 2
    assert [fault.line for fault in reading.faults] == [4]


@pytest.mark.parametrize(
    ("raw", "items", "blank"),
    [
        pytest.param(GOOD, 1, 0, id="no final newline"),
        pytest.param(GOOD + b"\n", 1, 0, id="final newline"),
        pytest.param(GOOD + b"\r\n" + GOOD + b"\r\n", 2, 0, id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + GOOD + b"\n" + GOOD, 2, 0, id="BOM"),
        pytest.param(b"\xef\xbb\xbf", 0, 1, id="BOM alone"),
        pytest.param(b"\n\n" + GOOD + b"\n\r\n \t\n", 1, 4, id="blank lines"),
        pytest.param(b"", 0, 0, id="empty"),
        pytest.param('{"sample_id":"甲\u2028乙\x85丙"}'.encode(), 1, 0, id="other line ends"),
    ],
)
def test_files_are_read_as_their_editors_left_them(file: Path, raw: bytes, items: int, blank: int) -> None:
    file.write_bytes(raw)
    reading = read(file, Case)
    assert (len(reading.items), reading.blank, reading.faults) == (items, blank, [])


def test_a_byte_order_mark_is_accepted_only_at_the_beginning(file: Path) -> None:
    file.write_bytes(GOOD + b"\n\xef\xbb\xbf" + GOOD)
    (fault,) = read(file, Case).faults
    assert fault.line == 2
    assert "BOM" in fault.found


def test_utf16_is_named(file: Path) -> None:
    file.write_text('{"sample_id":"a"}\n', encoding="utf-16")
    assert read(file, Case).faults[0].found == "a UTF-16 byte order mark"


def test_every_bad_line_is_named_and_the_good_ones_are_kept(file: Path) -> None:
    file.write_bytes(b"\n".join([GOOD, b"{bad"] * 500))
    reading = read(file, Case)
    assert len(reading.items) == 500
    assert [fault.line for fault in reading.faults] == list(range(2, 1001, 2))


def test_lines_know_where_they_begin(file: Path) -> None:
    raw = b"\xef\xbb\xbf{}\r\n\n[1]"
    file.write_bytes(raw)
    found = list(lines(file))
    assert [(line.number, line.offset, line.raw, line.ended) for line in found] == [
        (1, 0, b"{}", True),
        (2, 7, b"", True),
        (3, 8, b"[1]", False),
    ]


def test_a_torn_tail_at_any_byte_loses_that_line_only(file: Path) -> None:
    """A run that was killed in the middle of a write."""
    whole = encode(EvalRecord(sample_id="乙", response="好的", trace_ids={"c": "1"}))
    for cut in range(len(whole)):
        file.write_bytes(GOOD + b"\n" + whole[:cut])
        reading = read(file, EvalRecord, torn_tail=True)
        assert reading.faults == []
        assert len(reading.items) + reading.torn == 1 + (cut > 0)
        assert reading.torn == (0 < cut < len(whole) - 1)


def test_a_torn_tail_is_a_fault_where_nobody_writes(file: Path) -> None:
    file.write_bytes(GOOD + b'\n{"sample_id":"b')
    reading = read(file, EvalRecord)
    assert [fault.line for fault in reading.faults] == [2]
    assert reading.torn == 0


def test_a_fragment_in_the_middle_is_a_fault_even_with_a_torn_tail(file: Path) -> None:
    file.write_bytes(GOOD + b'\n{"sam\n' + GOOD + b'\n{"sam')
    reading = read(file, EvalRecord, torn_tail=True)
    assert ([fault.line for fault in reading.faults], reading.torn, len(reading.items)) == ([2], 1, 2)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"], ids=["none", "LF", "CRLF"])
@pytest.mark.parametrize("excess", [-1, 0, 1, 2, 5000])
def test_a_line_may_have_as_many_bytes_as_allowed_and_no_more(file: Path, excess: int, end: bytes) -> None:
    body = b'{"sample_id":"' + b"x" * (84 + excess) + b'"}'
    assert len(body) == 100 + excess
    file.write_bytes(GOOD + b"\n" + body + end)
    reading = read(file, Case, max_line_bytes=100)
    if excess <= 0:
        assert len(reading.items) == 2
        assert (reading.faults, reading.blank) == ([], 0)
    else:
        assert len(reading.items) == 1
        assert reading.faults == [
            Fault(str(file), 2, "line", "more than 100 bytes", "a shorter line; the rest is unread")
        ]


def test_faults_before_a_line_too_long_are_named_too(file: Path) -> None:
    file.write_bytes(b"{bad\n" + GOOD + b"\n" + b"x" * 500 + b"\n{bad\n")
    reading = read(file, Case, max_line_bytes=100)
    assert [fault.line for fault in reading.faults] == [1, 3]


def test_an_endless_line_is_refused_at_16_mib_in_bounded_memory(tmp_path: Path) -> None:
    """A sparse gibibyte without a newline: no more than a few copies of the limit are ever held."""
    file = tmp_path / "endless.jsonl"
    with file.open("wb") as out:
        out.truncate(2**30)
    tracemalloc.start()
    reading = read(file, Case)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [fault.found for fault in reading.faults] == ["more than 16,777,216 bytes"]
    assert peak < 100 * 2**20


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is asked of Linux")
def test_an_endless_file_takes_little_memory_of_the_process(tmp_path: Path) -> None:
    """The same in a process of its own, as the system counts it: with all that evalkit imports."""
    file = tmp_path / "endless.jsonl"
    with file.open("wb") as out:
        out.truncate(2**30)
    code = (
        "import re, sys; from evalkit.errors import BadData; from evalkit.records import load\n"
        "try: load(sys.argv[1])\n"
        "except BadData as bad: print(bad)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    told, peak = done.stdout.splitlines()
    assert told.endswith(
        ":1: line: found more than 16,777,216 bytes, wanted a shorter line; the rest is unread"
    )
    assert int(peak) < 200 * 2**10


def test_no_invalid_byte_is_replaced_wherever_it_stands(file: Path) -> None:
    whole = b'{"sample_id":"a","query":"' + "退货".encode() * 166 + b'"}'
    assert len(whole) > 1_000
    file.write_bytes(b"\n".join(whole[:place] + b"\xff" + whole[place:] for place in range(len(whole) + 1)))
    reading = read(file, Case)
    assert not reading.items
    for place, fault in enumerate(reading.faults):
        cut = len(
            whole[:place].decode("utf-8", "ignore").encode()
        )  # a character cut in two is bad where it begins
        byte = (whole[:place] + b"\xff")[cut]
        assert fault.found == f"an invalid UTF-8 byte 0x{byte:02x} at offset {cut}"
        assert fault.column == len(whole[:cut].decode()) + 1


@pytest.mark.parametrize(
    "name", ["gone.jsonl", ".", "a\0b", "x" * 300], ids=["missing", "folder", "NUL", "long name"]
)
def test_a_file_that_cannot_be_read_is_no_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(NoInput, match="wanted a file to read"):
        read(tmp_path / name, Case)


LINES = st.lists(
    st.binary(max_size=20)
    | st.sampled_from([GOOD, b"", b" ", b"{}", b'{"sample_id":""}', b"[]", GOOD[:9], b"\xef\xbb\xbf", b"\r"]),
    max_size=8,
)


@given(LINES, st.booleans())
def test_lines_are_items_or_faulty_or_blank_or_torn(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], torn_tail: object
) -> None:
    """The law of reading: whatever the bytes are, the counts add up and no exception escapes."""
    file = tmp_path_factory.getbasetemp() / "law.jsonl"
    raw = b"\n".join(parts)
    file.write_bytes(raw)
    reading = read(file, EvalRecord, torn_tail=bool(torn_tail))
    total = raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")
    faulty = {fault.line for fault in reading.faults}
    assert total == len(reading.items) + len(faulty) + reading.blank + reading.torn
    assert not faulty & set(reading.numbers)
    assert reading.torn <= bool(torn_tail)


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5)
)
def test_any_value_in_any_field_is_a_value_or_a_fault(value: object) -> None:
    for name in EvalRecord.model_fields:
        item = fit({"sample_id": "a", name: value}, EvalRecord, path="f", line=1)
        assert isinstance(item, EvalRecord) or all(str(fault).startswith("f:1: ") for fault in item)


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("\x1b[2J", "arguments.'\\x1b[2J'"),
        ("\u202egnp", "arguments.'\\u202egnp'"),
        ("\ud83d", "arguments.'\\ud83d'"),
        ("k" * 500, f"arguments.'{'k' * 78}…"),
        ("键", "arguments.键"),
    ],
    ids=["escape", "right to left", "surrogate", "long", "Chinese"],
)
def test_names_in_faults_are_harmless(key: str, field: str) -> None:
    value = {"name": "t", "arguments": {key: {"x": float("nan")}}}
    faults = fit({"sample_id": "a", "tool_calls": [value]}, EvalRecord, path="f", line=1)
    assert isinstance(faults, list)
    assert all(str(fault).isprintable() for fault in faults)
    if key != "\ud83d":
        assert any(fault.field.startswith(f"tool_calls[0].{field}") for fault in faults)


def test_values_in_faults_are_short_and_harmless() -> None:
    faults = fit({"sample_id": "\x1b[31m" * 200}, Case, path="f", line=1)
    assert isinstance(faults, list)
    assert len(faults[0].found) == 80
    assert faults[0].found.isprintable()


def test_a_document_is_one_json_value(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps([1, {"a": None}], indent=1).encode())
    assert document(file) == [1, {"a": None}]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        pytest.param(b"[1] [2]", "Extra data", id="two values"),
        pytest.param(b'{"a":1,"a":2}', "the key 'a' twice", id="duplicate key"),
        pytest.param(b"", "Expecting value", id="empty"),
        pytest.param(b" " * (16 * 2**20 + 1), "more than 16,777,216 bytes", id="too long"),
    ],
)
def test_a_document_that_does_not_hold_is_bad_data(file: Path, raw: bytes, found: str) -> None:
    file.write_bytes(raw)
    with pytest.raises(BadData) as error:
        document(file)
    assert error.value.faults[0].found == found
    assert error.value.faults[0].field == "file"


def test_a_missing_document_is_no_input(file: Path) -> None:
    with pytest.raises(NoInput, match="found no such file"):
        document(file)
