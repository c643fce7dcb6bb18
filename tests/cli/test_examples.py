"""The examples of the commands run in the order in which docs/cli.md has them, as a newcomer would try them."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit.cli import commands

ROOT = Path(__file__).parents[2]
YOURS = ("my_cases.jsonl", "theirs.jsonl.gz", "labels.csv", "main", "ragent", "openai", "tcp://10.0.0.1:8786")
"""What an example names that only its reader has; the page says so."""

ENDLESS = ("evalkit demo", "evalkit calibrate")
"""A server that stays, and streams that are held for half a minute and more."""


def examples() -> list[str]:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def runs(line: str) -> bool:
    return not line.startswith(ENDLESS) and not set(shlex.split(line)) & set(YOURS)


def test_examples_run_in_the_order_in_which_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "eval_sets", tmp_path / "eval_sets")
    shutil.copy(ROOT / "evalkit.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [line for line in examples() if runs(line)]
    assert len(lines) > 30
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        done = CliRunner().invoke(commands, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
        assert done.stdout.strip(), line


def test_what_cannot_be_run_is_named_on_the_page() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    head = page.partition("## evalkit")[0]
    assert [name for name in YOURS if f"`{name}`" not in head] == []
