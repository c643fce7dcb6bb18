"""Accidents that happen to good files: no line is lost, the right one is blamed, and every reader agrees."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MUTATIONS = 100_000 if os.environ.get("HYPOTHESIS_PROFILE") == "golden" else 3_000

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


def mutated(dice: random.Random, raw: bytes) -> bytes:
    """The text with one to three accidents."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        raw = dice.choice(ACCIDENTS)(dice, raw)
    return raw


def _place(dice: random.Random, raw: bytes) -> int:
    return dice.randrange(len(raw)) if raw else 0


def flip(dice: random.Random, raw: bytes) -> bytes:
    """One bit."""
    place = _place(dice, raw)
    return (
        raw[:place]
        + bytes(byte ^ 1 << dice.randrange(8) for byte in raw[place : place + 1])
        + raw[place + 1 :]
    )


def overwrite(dice: random.Random, raw: bytes) -> bytes:
    """One byte, by one that means something."""
    place = _place(dice, raw)
    return raw[:place] + dice.choice(TOKENS)[:1] + raw[place + 1 :]


def insert(dice: random.Random, raw: bytes) -> bytes:
    """A few bytes that mean something."""
    place = _place(dice, raw)
    return raw[:place] + dice.choice(TOKENS) + raw[place:]


def cut(dice: random.Random, raw: bytes) -> bytes:
    """A few bytes gone."""
    place = _place(dice, raw)
    return raw[:place] + raw[place + dice.choice((1, 2, 9, 50)) :]


def join(dice: random.Random, raw: bytes) -> bytes:
    """A line's end gone."""
    rows = raw.split(b"\n")
    place = dice.randrange(len(rows))
    return b"\n".join([*rows[:place], b"".join(rows[place : place + 2]), *rows[place + 2 :]])


def double(dice: random.Random, raw: bytes) -> bytes:
    """A stretch twice."""
    place = _place(dice, raw)
    end = place + dice.choice((1, 5, 40, 200))
    return raw[:end] + raw[place:end] + raw[end:]


def truncate(dice: random.Random, raw: bytes) -> bytes:
    """The end gone."""
    return raw[: _place(dice, raw)]


def swap(dice: random.Random, raw: bytes) -> bytes:
    """Two stretches in each other's place."""
    one, other = sorted((_place(dice, raw), _place(dice, raw)))
    return raw[:one] + raw[other : other + 8] + raw[one + 8 : other] + raw[one : one + 8] + raw[other + 8 :]


ACCIDENTS = (flip, overwrite, insert, cut, join, double, truncate, swap)
TOKENS = (
    *(bytes([byte]) for byte in b'{}[]",:\\ \t\r\n01-.eE+tfn\x00\x7f\x80\xff'),
    b"NaN",
    b"null",
    b"Infinity",
    b"1e999",
    b"9" * 20,
    b"\\u0000",
    b"\\ud800",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b'"sample_id":"a",',
    b"[" * 70,
    b"}{",
    b"\r\n",
)


def not_json(line: bytes, *, first: bool) -> bool:
    """What any reader of JSON can say of a line that is not blank: it is not one object of UTF-8 text."""
    body = line.removeprefix(b"\xef\xbb\xbf") if first else line
    try:
        return bool(body.strip()) and not isinstance(json.loads(body.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return True


@pytest.mark.parametrize("part", range(10))
def test_accidents_lose_no_line_and_blame_the_right_one(
    tmp_path: Path, readers: dict[str, Callable[[Path], Any]], part: int
) -> None:
    """Lines are counted here by their ends alone; all readers say the same of each."""
    good = b"\n".join([*LINES, b"", LINES[1], LINES[0]]) + b"\n"
    file = tmp_path / "mutated.jsonl"
    for seed in range(part, MUTATIONS, 10):
        raw = mutated(random.Random(seed), good)  # noqa: S311 - the same accidents every time
        file.write_bytes(raw)
        found = readers["exact"](file)
        assert found.whole, seed
        rows = raw.split(b"\n")
        ended = rows[-1] == b""
        rows = rows[:-1] if ended else rows
        assert found.ok + len(found.bad) + found.blank + found.torn == len(rows), seed
        broken = {number for number, row in enumerate(rows, start=1) if not_json(row, first=number == 1)}
        torn = {len(rows)} if found.torn else set()
        assert broken <= set(found.bad) | torn, seed
        assert not (ended and torn), seed
        for name, reader in readers.items():
            assert reader(file) == found, (seed, name)
