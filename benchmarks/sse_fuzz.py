"""The event-stream decoder against a plain reading of the standard, over streams made by chance.

Run `python benchmarks/sse_fuzz.py`. The reference takes a whole stream as text, character by character, as section
9.2.6 of the WHATWG HTML standard tells it, and shares nothing with the decoder. Published cases are cut in two at
every byte; fuzzed streams are cut anywhere, up to every byte. The last figures are for bytes fed one by one: time
is linear where four times the bytes take four times as long.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from evalkit.net.sse import Decoder

CASES = Path(__file__).parents[2] / "shared" / "data" / "sse_cases" / "cases.jsonl"
SEED = 20_260_826
PARTS = [
    *(b"data", b"event", b"id", b"retry", b":", b": ", b" ", b"\n", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r"),
    *(b"data:", b"data: x\n\n", b"data:1\r\n\r\n", b"event:tick\n", b"id:7\n", b"retry:50\n", b":ping\n\n"),
    *(b"\0", b"\xef\xbb\xbf", "退货".encode(), "😀".encode(), b"\xe9\x80", b"\x80", b"\xff", b"\xc0\xaf"),
    *("\u2028".encode(), b"\xc2\x85", b"\x0b", b"\x0c", b"7", b"\xef\xbc\x91", b"+5", b"[DONE]", b"{", b'"'),
]

Told = tuple[list[tuple[str, str, str]], int | None]
"""Events as (name, data, id), and the reconnection time that was last set."""


class Reference:
    """The buffers of section 9.2.6, a line at a time."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.retry: int | None = None
        self.data = self.kind = self.last_id = ""

    def line(self, text: str) -> None:
        """Process one line."""
        if text == "":
            self.dispatch()
        elif text[0] != ":":
            at = text.find(":")
            name, value = (text, "") if at < 0 else (text[:at], text[at + 1 :])
            self.field(name, value[1:] if value[:1] == " " else value)

    def field(self, name: str, value: str) -> None:
        """Process one field."""
        if name == "event":
            self.kind = value
        elif name == "data":
            self.data += value + "\n"
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value and all(char in "0123456789" for char in value):
            self.retry = int(value)

    def dispatch(self) -> None:
        """Dispatch the event, if there is data."""
        if self.data:
            self.events.append((self.kind or "message", self.data[:-1], self.last_id))
        self.data = self.kind = ""


def reference(body: bytes) -> Told:
    """The whole stream, read plainly; a last line without its end is none."""
    text = body.decode("utf-8", "replace")
    text = text[1:] if text[:1] == "\ufeff" else text
    reading, line, at = Reference(), "", 0
    while at < len(text):
        if text[at] in "\r\n":
            reading.line(line)
            line = ""
            at += 2 if text[at : at + 2] == "\r\n" else 1
        else:
            line += text[at]
            at += 1
    return reading.events, reading.retry


def decoded(chunks: Iterable[bytes]) -> Told:
    """The same by the decoder under test."""
    decoder = Decoder()
    events = [tuple(event) for chunk in chunks for event in decoder.feed(chunk)]
    return [(event[0], event[1], event[2]) for event in events], decoder.retry_ms


def fuzzed(dice: random.Random) -> bytes:
    """A stream of up to 30 parts, some bytes of it changed now and then."""
    body = bytearray(b"".join(dice.choices(PARTS, k=dice.randrange(1, 31))))
    if dice.random() < 0.25:
        body[dice.randrange(len(body))] = dice.randrange(256)
    return bytes(body)


def cut(body: bytes, dice: random.Random) -> list[bytes]:
    """The stream in pieces: whole, by the byte, or cut at a few places, the same one twice too."""
    way = dice.random()
    if way < 0.1:
        return [body]
    if way < 0.3:
        return [body[at : at + 1] for at in range(len(body))]
    edges = sorted(dice.randrange(len(body) + 1) for _ in range(dice.randrange(1, 7)))
    return [body[begin:end] for begin, end in zip([0, *edges], [*edges, len(body)], strict=True)]


def fuzz(streams: int, seed: int = SEED) -> list[bytes]:
    """The streams on which decoder and reference differ."""
    dice = random.Random(seed)  # noqa: S311
    wrong = []
    for _ in range(streams):
        body = fuzzed(dice)
        if decoded(cut(body, dice)) != reference(body):
            wrong.append(body)
    return wrong


def vectors(cases: Path) -> tuple[int, int, int]:
    """Published cases: how many, how many ways they were cut, on how many of these the two differ."""
    bodies = [
        b"".join(map(base64.b64decode, json.loads(line)["chunks_b64"]))
        for line in cases.read_text(encoding="utf-8").split("\n")
        if line
    ]
    wrong = 0
    for body in bodies:
        wanted = reference(body)
        wrong += sum(decoded([body[:at], body[at:]]) != wanted for at in range(len(body) + 1))
    return len(bodies), sum(len(body) + 1 for body in bodies), wrong


def byte_by_byte(sizes: Sequence[int]) -> list[float]:
    """Seconds of processor time for one event of so many bytes, fed one by one; the best of three."""
    return [min(_fed(b"data:" + b"x" * (size - 7) + b"\n\n") for _ in range(3)) for size in sizes]


def _fed(body: bytes) -> float:
    decoder = Decoder(max_event_bytes=len(body))
    pieces = [body[at : at + 1] for at in range(len(body))]
    begin = time.process_time()
    (event,) = [event for piece in pieces for event in decoder.feed(piece)]
    assert len(event.data) == len(body) - 7
    return time.process_time() - begin


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, default=1_000_000)
    parser.add_argument("--cases", type=Path, default=CASES)
    options = parser.parse_args()
    if options.cases.exists():
        cases, cuts, wrong = vectors(options.cases)
        print(f"{cases} published cases, {cuts} cuts: {wrong} differ")
    print(f"{options.streams} fuzzed streams: {len(fuzz(options.streams))} differ")
    mebibyte = 1 << 20
    quarter, whole = byte_by_byte([mebibyte // 4, mebibyte])
    print(f"1 MiB byte by byte: {whole:.2f} s, {whole / quarter:.2f} times a quarter of it")


if __name__ == "__main__":
    main()
