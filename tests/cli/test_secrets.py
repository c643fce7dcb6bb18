"""A secret in each place of a configuration that can hold one, and a service that repeats all that it is sent."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import logging
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalkit.cli import commands

SECRET = "canary/{place}+9=7731"  # noqa: S105
OWN = """
[targets.desk.secrets]
key = "{reference}"
[targets.desk.answer]
url = "{url}/answer{path}"
{answer}
events = [
    {{ when = "stop", end = true }},
    {{ text = "t", slots = "slots", documents = {{ each = "d", id = "id", text = "text" }}, ids = {{ told = "t" }} }},
]
[targets.desk.evidence]
url = "{url}/evidence"
{evidence}
documents = {{ each = "d", id = "id", text = "text" }}
"""
PRESET = '[targets.desk]\nuse = "openai"\nset = {{ base_url = "{url}", model = "m", key = "{reference}" }}\n'
JUDGE = '[judges.main]\nbase_url = "{url}/judge"\nmodel = "m"\nkey = "{reference}"\n'

PLACES: dict[str, dict[str, str]] = {
    "header": {"answer": 'headers = {{ Authorization = "Bearer {{key}}" }}'},
    "odd header": {"answer": 'headers = {{ X-Tenant = "{{key}}" }}'},
    "query": {"answer": 'query = {{ k = "{{key}}" }}'},
    "body": {"answer": 'body = {{ deep = [{{ k = "a {{key}} b" }}] }}'},
    "path": {"path": "/{{key}}/x"},
    "system": {"answer": 'system = "know {{key}}"\nbody = {{ m = "{{messages}}" }}'},
    "evidence header": {"evidence": 'headers = {{ Cookie = "sid={{key}}" }}'},
    "evidence query": {"evidence": 'query = {{ k = "{{key}}" }}'},
    "evidence body": {"evidence": 'body = {{ k = "{{key}}" }}'},
    "preset": {"table": PRESET},
    "command line": {"table": PRESET.replace("{reference}", "env:UNSET"), "set": "key={reference}"},
    "proxy": {"table": PRESET.replace("{reference}", ""), "set": "use_env_proxy=true"},
    "login": {"target": "ragent", "table": "", "set": "base_url={url}"},
    "judge": {"table": PRESET.replace("{reference}", "") + JUDGE},
}


class Parrot:
    """Says all that it was sent: in streams, documents, slots, ids and errors, raw and as it was written."""

    def __init__(self, loopback: Any) -> None:
        self._loopback = loopback
        self.heard = ""

    async def __call__(self, request: Any, peer: Any) -> None:
        said = json.dumps([request.path, request.query, request.headers, request.body.decode()])
        basic = request.headers.get("proxy-authorization", "").removeprefix("Basic ")
        self.heard += f"{said} {urllib.parse.unquote(request.path)} {base64.b64decode(basic).decode()} "
        if "fails" in said:
            return await peer.send(self._loopback.json({"error": {"message": self.heard}}, status=500))
        if "login" in request.path:
            token = {"code": "0", "data": {"token": "canary-token-7731"}}
            return await peer.send(self._loopback.json(token))
        return await self._answer(request, peer)

    async def _answer(self, request: Any, peer: Any) -> None:
        told = {"t": self.heard, "slots": {self.heard: 1}, "d": [{"id": self.heard, "text": self.heard}]}
        choice = {"delta": {"content": self.heard}, "message": {"content": self.heard}}
        whole = {"code": "7", "message": self.heard, "choices": [choice], "model": self.heard, **told}
        if any(name in request.path for name in ("evidence", "judge", "eval")):
            return await peer.send(self._loopback.json(whole))
        named = {"event": "message", "type": "response", "delta": self.heard}
        frames = [json.dumps({**whole, **named}), '{"stop": true}', "[DONE]"]
        pieces = [self._loopback.event("message", frame) for frame in frames]
        return await peer.send(self._loopback.STREAM, *pieces, self._loopback.END)


def spellings(secret: str) -> set[bytes]:
    """The ways that a secret is written, and a login with it; `canary` in any of them is told apart from words."""
    forms = {secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1], "canary"}
    encoded = {base64.b64encode(text.encode()).decode().rstrip("=") for text in (secret, f"u:{secret}")}
    return {form.encode() for form in forms | encoded}


def sinks(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below, of captures what was packed."""
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw for name, raw in found.items()}


@dataclass
class Desk:
    """A project in a folder of its own, whose configuration refers to one secret in one place."""

    work: Path
    place: str
    secret: str
    reference: str

    def configure(self, url: str) -> None:
        """Write the eval set and the configuration."""
        lines = [json.dumps({"sample_id": name, "query": name}) for name in ("q", "fails")]
        (self.work / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
        given = PLACES[self.place]
        parts = {name: self._filled(given.get(name, ""), url) for name in ("path", "answer", "evidence")}
        table = given.get("table", OWN).format(url=url, reference=self.reference, **parts)
        (self.work / "evalkit.toml").write_text(table, encoding="utf-8")

    def use(self, url: str) -> str:
        """Run, report, show and judge; all that was said on the terminal."""
        given = PLACES[self.place]
        words = ["-t", given.get("target", "desk"), "--run-id", "r", "--capture", "--set", "retries=0"]
        words += ["--set", self._filled(given["set"], url)] if "set" in given else []
        commanded = [["eval", "cases.jsonl", *words], ["show", "r", "q"]]
        if "target" not in given:
            tried = ["target", "test", "desk", "--query", "q", "--set", "retries=0"]
            commanded.append([*tried, *words[words.index("--capture") + 3 :]])
        if self.place == "judge":
            commanded.append(["judge", "r", "-j", "main", "-m", "llm_score", "--json"])
        return "".join(CliRunner().invoke(commands, each).output for each in commanded)

    def _filled(self, text: str, url: str) -> str:
        return text.format(url=url, reference=self.reference)


@pytest.fixture(params=["env", "file"])
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Desk]:
    """What makes the project of a place; its secret is in a variable whose name does not give it away, or a file."""

    def made(place: str) -> Desk:
        secret = SECRET.format(place=f"{place} {request.param}".replace(" ", "-"))
        (tmp_path / "key").write_text(secret, encoding="utf-8")
        (tmp_path / "work").mkdir()
        monkeypatch.chdir(tmp_path / "work")
        monkeypatch.setenv("DESK_VALUE", secret)
        monkeypatch.setenv("RAGENT_USERNAME", "tester")
        monkeypatch.setenv("RAGENT_PASSWORD", secret if place == "login" else "x")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        kind = {"env": "env:DESK_VALUE", "file": f"file:{tmp_path / 'key'}"}[request.param]
        return Desk(tmp_path / "work", place, secret, kind)

    return made


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_in_no_file_log_or_line(
    place: str, desk: Any, loopback: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """K2: run, reports, capture, judgements, cache, log at its most talkative, terminal."""
    project, parrot = desk(place), Parrot(loopback)

    async def main() -> str:
        async with loopback(parrot) as server:
            if place == "proxy":
                login = f"u:{urllib.parse.quote(project.secret, safe='')}"
                monkeypatch.setenv("http_proxy", server.url.replace("://", f"://{login}@"))
            project.configure(server.url)
            return await asyncio.to_thread(project.use, server.url)

    with caplog.at_level(logging.DEBUG):
        said = asyncio.run(main())
    found = {**sinks(project.work), "terminal": said.encode(), "log": caplog.text.encode()}
    forms = spellings(project.secret)
    assert {name for name, raw in found.items() if any(form in raw for form in forms)} == set()
    assert project.secret in parrot.heard
    assert {"r.jsonl", "r.capture", "report.html"} <= {Path(name).name for name in found}
    assert any(b"***" in raw for name, raw in found.items() if name.endswith(".jsonl"))
