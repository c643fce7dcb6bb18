"""Compressed text: the same lines as plain text, or a fault that says how far it got. Kinds are told by bytes."""

from __future__ import annotations

import gzip
import io
import os
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Case
from evalkit.errors import BadData, Fault, NoInput
from evalkit.reading import blocks, lines, read
from evalkit.reading.sources import ENDINGS, decoded, kind_of, stem

TEXT = b"".join(b'{"sample_id":"%d","query":"%d"}\n' % (n, n * 7919) for n in range(5_000))


def zstd(raw: bytes) -> bytes:
    """The text as a zstd frame."""
    return bytes(pa.compress(raw, codec="zstd", asbytes=True))


PACKS = pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
Pack = Callable[[bytes], bytes]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its file; the name says nothing of what is in it."""
    return tmp_path / "set.jsonl"


@PACKS
def test_compressed_lines_are_the_lines(file: Path, pack: Pack) -> None:
    file.write_bytes(TEXT)
    plain = list(lines(file))
    file.write_bytes(pack(TEXT))
    assert list(lines(file)) == plain
    assert len(read(file, Case).items) == 5_000


@PACKS
def test_several_members_are_one_text(file: Path, pack: Pack) -> None:
    """A member may end within a line."""
    file.write_bytes(pack(TEXT[:77]) + pack(b"") + pack(TEXT[77:]))
    assert b"".join(block.raw for block in blocks(file)) == TEXT


def test_frames_to_skip_are_skipped(file: Path) -> None:
    """RFC 8878, section 3.1.2: magic 0x184D2A5?, a size of four bytes, and so many bytes to pass over."""
    skip = b"\x5e\x2a\x4d\x18\x03\x00\x00\x00abc"
    file.write_bytes(skip + zstd(TEXT[:77]) + skip + zstd(TEXT[77:]))
    assert b"".join(block.raw for block in blocks(file)) == TEXT


def test_zeros_after_gzip_are_padding(file: Path) -> None:
    file.write_bytes(gzip.compress(TEXT) + bytes(512))
    assert b"".join(block.raw for block in blocks(file)) == TEXT


@PACKS
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_gives_the_lines_before_the_cut_and_says_where_it_is(
    file: Path, pack: Pack, share: float
) -> None:
    whole = pack(b"".join([TEXT[at:] + TEXT[:at] for at in range(0, 40_000, 4_001)]))
    file.write_bytes(whole[: int(len(whole) * share)])
    reading = read(file, Case)
    (fault,) = [fault for fault in reading.faults if fault.field == "file"]
    assert not reading.whole
    assert fault.found.startswith(f"the end of the {kind_of(file)} data after ")
    got = int(fault.found.split()[-4].replace(",", ""))
    given, end = taken(file)
    assert end == (fault,)
    assert len(given) == got
    assert fault.line == given.count(b"\n") + 1
    assert len(reading.items) + len({bad.line for bad in reading.faults}) == fault.line


def taken(file: Path) -> tuple[bytearray, tuple[Fault, ...]]:
    """All that a small reader gets, and the faults that it ends with."""
    given = bytearray()
    with decoded(file) as text:
        try:
            while piece := text.read1(1_000):
                given += piece
        except BadData as end:
            return given, end.faults
    return given, ()


@PACKS
@pytest.mark.parametrize("cut", [4, 5, 10])
def test_a_file_cut_in_its_head_is_named(file: Path, pack: Pack, cut: int) -> None:
    file.write_bytes(pack(TEXT)[:cut])
    assert [(fault.line, fault.field) for fault in read(file, Case).faults] == [(1, "file")]


@PACKS
def test_what_follows_the_data_is_named(file: Path, pack: Pack) -> None:
    file.write_bytes(pack(TEXT) + b"garbage")
    reading = read(file, Case)
    assert reading.faults[0].found.startswith(f"damaged {kind_of(file)} data (")
    assert not reading.whole


def test_a_wrong_checksum_is_named(file: Path) -> None:
    raw = bytearray(gzip.compress(TEXT))
    raw[-8] ^= 1
    file.write_bytes(raw)
    (fault,) = read(file, Case).faults
    assert (
        fault.found
        == f"damaged gzip data (CRC check failed {hex_crc(raw)}) after {len(TEXT):,} bytes of text"
    )
    assert fault.line == 5_001


def hex_crc(raw: bytearray) -> str:
    """What the file says against what its text has."""
    return f"0x{int.from_bytes(raw[-8:-4], 'little'):x} != 0x{zlib.crc32(TEXT):x}"


@PACKS
def test_a_bomb_goes_off_small(file: Path, pack: Pack) -> None:
    """A quarter of a gibibyte of blanks in few bytes: stopped at the ratio, with little of it ever held."""
    file.write_bytes(pack((b" " * 1023 + b"\n") * 2**18))
    size = file.stat().st_size
    tracemalloc.start()
    reading = read(file, Case)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (fault,) = reading.faults
    assert "more than 200 to 1" in fault.found
    assert reading.blank == fault.line - 1 <= (200 * size + 2**20) / 1024
    assert peak < 64 * 2**20


@PACKS
def test_the_first_mib_may_be_as_dense_as_it_likes(file: Path, pack: Pack) -> None:
    file.write_bytes(pack((b" " * 1023 + b"\n") * 1024))
    assert read(file, Case).blank == 1024
    file.write_bytes(pack((b" " * 1023 + b"\n") * 1025))
    assert not read(file, Case).whole


@PACKS
def test_the_text_has_a_largest_size(file: Path, pack: Pack) -> None:
    file.write_bytes(pack(TEXT))
    with decoded(file, max_bytes=len(TEXT)) as text:
        assert text.read() == TEXT
    with decoded(file, max_bytes=len(TEXT) - 1) as text, pytest.raises(BadData) as error:
        text.read()
    assert error.value.faults[0].found.startswith(f"more than {len(TEXT) - 1:,} bytes of text")


@PACKS
def test_a_pipe_is_read_once_from_its_beginning(tmp_path: Path, pack: Pack) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(pack(TEXT),))
    writer.start()
    assert len(read(pipe, Case).items) == 5_000
    writer.join()


@given(data=st.data())
def test_no_damage_escapes(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any byte changed, anywhere: lines and faults, and never another exception."""
    file = tmp_path_factory.getbasetemp() / "damaged.gz"
    raw = bytearray(data.draw(st.sampled_from([gzip.compress(TEXT[:500]), zstd(TEXT[:500])])))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(raw)
    reading = read(file, Case)
    assert len(reading.items) <= 20
    assert reading.faults or len(reading.items) > 10


def test_kinds_are_told_by_bytes(tmp_path: Path) -> None:
    table = pa.table({"sample_id": ["a"]})
    arrow, stream = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(arrow, table.schema) as out:
        out.write_table(table)
    with pa.ipc.new_stream(stream, table.schema) as out:
        out.write_table(table)
    told = {
        "lines": b'{"sample_id":"a"}',
        "gzip": gzip.compress(b""),
        "zstd": zstd(b""),
        "Arrow": arrow.getvalue(),
        "Arrow stream": stream.getvalue(),
    }
    for kind, raw in told.items():
        (tmp_path / "f").write_bytes(raw)
        assert kind_of(tmp_path / "f") == kind
    (tmp_path / "empty").touch()
    assert kind_of(tmp_path / "empty") == "lines"
    with pytest.raises(NoInput):
        kind_of(tmp_path / "gone")


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_name_of_a_run_is_without_its_ending(ending: str) -> None:
    assert stem(Path(f"runs/a.b{ending}")) == "a.b"
    assert stem(Path("runs/a.b")) == "a.b"


def test_a_table_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"PAR1....")
    with pytest.raises(BadData, match="the format Parquet, wanted lines of JSON"):
        list(lines(file))
