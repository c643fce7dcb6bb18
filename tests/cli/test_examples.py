"""The examples of the commands run in the order in which docs/cli.md has them, then those of the README."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner

from evalkit.cli import commands

ROOT = Path(__file__).parents[2]
YOURS = ("my_cases.jsonl", "theirs.jsonl.gz", "labels.csv", "main", "ragent", "openai", "tcp://10.0.0.1:8786")
"""What an example names that only its reader has; the page says so."""

ENDLESS = ("evalkit demo", "evalkit calibrate")
"""A server that stays, and streams that are held for half a minute and more."""


def examples(name: str = "docs/cli.md") -> list[str]:
    page = (ROOT / name).read_text(encoding="utf-8")
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
    lines += [line for line in examples("README.md") if " latest" in line]
    assert len(lines) > 34
    for line in lines:
        words = shlex.split(line.partition(" > ")[0], comments=True)
        done = CliRunner().invoke(commands, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
        assert done.stdout.strip(), line


def test_what_cannot_be_run_is_named_on_the_page() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    head = page.partition("## evalkit")[0]
    assert [name for name in YOURS if f"`{name}`" not in head] == []


def test_help_says_of_each_command_all_that_its_first_sentence_says() -> None:
    told = " ".join(CliRunner().invoke(commands, ["--help"]).stdout.partition("Commands:")[2].split())
    assert "..." not in told
    for name in commands.list_commands(Context(commands)):
        command = commands.get_command(Context(commands), name)
        assert command is not None
        assert f"{name} {command.get_short_help_str(limit=1000)}" in told
