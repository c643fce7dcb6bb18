"""The commands that list targets and try one: what they print, and with what they end."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit.cli import commands
from evalkit.registry import names

KEY = "canary-key-99120011"
CHUNK = 'data: {"id": "r1", "choices": [{"delta": {"content": "%s"}}]}\n\n'


@contextmanager
def served(loopback: Any) -> Iterator[str]:
    """A chat completions server on loopback, in a thread of its own; its address."""
    ready, stop, found = threading.Event(), asyncio.Event(), dict[str, Any]()

    async def answer(_request: Any, peer: Any) -> None:
        frames = [": hi\n\n", CHUNK % "可以", CHUNK % KEY, "data: [DONE]\n\n"]
        await peer.send(loopback.STREAM, *(loopback.piece(frame.encode()) for frame in frames), loopback.END)

    async def serve() -> None:
        async with loopback(answer) as server:
            found.update(url=server.url, loop=asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(10)
    yield str(found["url"])
    found["loop"].call_soon_threadsafe(stop.set)
    thread.join(10)


@pytest.fixture
def service(loopback: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that a project describes as the target `shop`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with served(loopback) as url:
        table = f'[targets.shop]\nuse = "openai"\nabout = "our own shop"\nset = {{ base_url = "{url}", model = "m" }}\n'
        (tmp_path / "evalkit.toml").write_text(table, encoding="utf-8")
        yield url


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, list(arguments))


def test_targets_lists_each_with_its_parameters(service: str) -> None:
    listed = json.loads(run("targets", "--json").output)
    assert [entry["name"] for entry in listed] == names("target")
    shop = next(entry for entry in listed if entry["name"] == "shop")
    assert (shop["about"], shop["parameters"]["base_url"]) == ("our own shop", {"default": service})
    assert all(entry["about"] for entry in listed)
    text = run("targets").output
    assert "must be set" in text
    assert KEY not in text


def test_one_exchange_shows_every_frame_and_timing(service: str) -> None:
    tried = run("target", "test", "shop", "--query", "耳机能退吗", "--json")
    assert tried.exit_code == 0, tried.output
    found = json.loads(tried.output)
    (frames,) = found["turns"]
    assert [[taken["what"] for taken in frame["taken"]] for frame in frames] == [
        ["text", "id"],
        ["text", "id"],
        ["end"],
    ]
    assert frames[0]["taken"][0]["value"] == "可以"
    assert found["observation"]["answer_timings"]["first_text_ms"] == frames[0]["at_ms"]
    assert KEY not in tried.output


def test_as_text_it_is_for_people(service: str) -> None:
    tried = run("target", "test", "shop", "--query", "一", "--query", "二")
    assert tried.exit_code == 0, tried.output
    assert "turn 2" in tried.output
    assert "answer_timings.first_text_ms" in tried.output
    assert 'text "可以"' in tried.output
    assert KEY not in tried.output


@pytest.mark.usefixtures("service")
def test_what_is_listed_can_be_written_into_a_command_or_a_table() -> None:
    """JSON, which `--set` takes and TOML for plain values: nothing as Python has it."""
    text = run("targets").output
    assert re.search(r"^    evidence +true$", text, re.MULTILINE)
    assert re.search(r'^    include +\["file_search_call.results"\]$', text, re.MULTILINE)
    assert re.search(r'^    engine +"auto"$', text, re.MULTILINE)
    assert not re.search(r"\b(?:True|False|None)\b", text)


def test_an_observation_is_shown_without_python() -> None:
    tried = run("target", "test", "demo", "--query", "耳机能退吗")
    assert tried.exit_code == 0, tried.output
    assert re.search(r"^answer_timings.reused_connection +(?:true|false)$", tried.output, re.MULTILINE)
    assert re.search(r"^dialog +\{\"sent_message\": \"耳机能退吗\"", tried.output, re.MULTILINE)
    assert not re.search(r"\b(?:True|False|None)\b|\{'|\['", tried.output)


def test_a_failed_channel_ends_with_3(service: str) -> None:
    tried = run(
        "target",
        "test",
        "shop",
        "--query",
        "一",
        "--set",
        "base_url=http://127.0.0.1:1",
        "--set",
        "retries=0",
    )
    assert tried.exit_code == 3
    assert "connect" in tried.output
