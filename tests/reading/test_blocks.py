"""Blocks of lines: the same lines whatever the size of the block, and what a block says of its place is true."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import BadData
from evalkit.reading import blocks, lines

RAW = st.lists(
    st.sampled_from([b"{}", b"\n", b"\r\n", b"\xef\xbb\xbf", b"ab" * 40, b"\r", b" "]), max_size=30
)


@given(RAW, st.integers(1, 200))
def test_blocks_are_the_file_and_know_their_place(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], size: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "blocks.jsonl"
    raw = b"".join(parts)
    file.write_bytes(raw)
    found = list(blocks(file, size=size))
    assert b"".join(block.raw for block in found) == raw
    assert all(block.raw.endswith(b"\n") for block in found[:-1])
    for block in found:
        assert raw[block.offset :].startswith(block.raw)
        assert block.number == raw.count(b"\n", 0, block.offset) + 1
    assert [line for block in found for line in block.lines()] == list(lines(file))


def test_a_block_is_about_as_large_as_asked(tmp_path: Path) -> None:
    """No more than the size and the line that crosses it."""
    file = tmp_path / "f.jsonl"
    file.write_bytes(b"x" * 99 + b"\n" + (b"y" * 99 + b"\n") * 999)
    sizes = [len(block.raw) for block in blocks(file, size=1_000)]
    assert sum(sizes) == 100_000
    assert max(sizes) <= 1_100


@pytest.mark.parametrize("size", [1, 7, 100, 101, 5_000])
@pytest.mark.parametrize(("length", "fits"), [(100, True), (101, False), (5_000, False)])
def test_a_line_too_long_is_told_after_the_lines_before_it(
    tmp_path: Path, size: int, length: int, fits: object
) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(b"\xef\xbb\xbf1\n22\n" + b"3" * length + b"\r\n4\n")
    seen: list[int] = []

    def walk() -> None:
        for block in blocks(file, size=size, max_bytes=100):
            seen.extend(line.number for line in block.lines())

    if fits:
        walk()
        assert seen == [1, 2, 3, 4]
    else:
        with pytest.raises(BadData) as error:
            walk()
        assert seen == [1, 2]
        assert [fault.line for fault in error.value.faults] == [3]


def test_a_byte_order_mark_takes_nothing_from_the_longest_line(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + b"x" * 100 + b"\r\ny\n")
    assert [line.raw for line in lines(file, max_bytes=100)] == [b"x" * 100, b"y"]
