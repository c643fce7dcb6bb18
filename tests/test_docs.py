"""The pages say what the code does: every command, metric and table column is named, every example runs."""

from __future__ import annotations

import dataclasses
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from evalkit import EvalRecord, registry
from evalkit.cli import commands
from evalkit.engines.local import DEFAULT, local
from evalkit.records import Records
from evalkit.report.policy import Policy, parse
from evalkit.targets.http.configured import spec_of
from evalkit.targets.http.rules import Documents, EventRule, Failure, Tools, UsagePaths
from evalkit.targets.http.spec import AnswerSpec, EvidenceSpec, Parameter, TargetSpec

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "eval_sets" / "DATASHEET.md"])


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def leaf_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, f"{name} is listed and cannot be found"
        if isinstance(command, click.Group):
            yield from leaf_commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(leaf_commands(commands))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert f"evalkit {name}" in command.help, f"evalkit {name} --help shows no example"
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"evalkit {name} {option.opts[0]} has no help"


@pytest.mark.parametrize("name", ["cli.md", "http-targets.md", "records.md", "tables.md"])
def test_written_pages_are_fresh(name: str) -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "render.py"))["pages"]()
    assert page(name) == pages[name], "run `make docs`"


def toml_examples() -> list[str]:
    return re.findall(r"^```toml\n(.*?)^```", page("http-targets.md"), re.MULTILINE | re.DOTALL)


def test_every_table_on_the_page_of_targets_is_a_target() -> None:
    examples = [tomllib.loads(text)["targets"] for text in toml_examples()]
    assert examples
    for name, table in (item for tables in examples for item in tables.items()):
        assert spec_of(name, table).answer.url


@pytest.mark.parametrize(
    "model",
    [AnswerSpec, Documents, EventRule, EvidenceSpec, Failure, Parameter, TargetSpec, Tools, UsagePaths],
)
def test_every_key_of_a_target_is_on_its_page(model: type[BaseModel]) -> None:
    rows = set(re.findall(r"^\| `([a-z_]+)` \|", page("http-targets.md"), re.MULTILINE))
    assert set(model.model_fields) <= rows
    assert all(field.description for field in model.model_fields.values())


def metric_names() -> list[str]:
    record = EvalRecord(sample_id="1", intent_l1="a", intent_l2="b", intent_pred="b")
    return [result.name for result in local(Records.of([record]), metrics=DEFAULT)]


def general(name: str) -> str:
    """The name of a metric at any k."""
    return re.sub(r"(?<=[@^])\d+$", "k", name)


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_is_on_the_page(name: str) -> None:
    assert f"`{general(name)}`" in page("metrics.md")


def test_every_metric_on_the_page_exists() -> None:
    known = {general(name) for name in metric_names()}
    named = set(re.findall(r"^\| `([a-z_0-9@^]+)` \|", page("metrics.md"), re.MULTILINE))
    assert named == known


@pytest.mark.parametrize("kind", ["metric", "rule", "target"])
def test_every_built_in_extension_is_on_a_page(kind: str) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    for name in registry.names(kind):
        assert f"`{name}`" in pages or f"metrics.{name}`" in pages, f"{kind} {name} is on no page"


def test_every_key_of_the_policy_is_on_the_page() -> None:
    named = set(re.findall(r"^\| `([a-z_]+)` \|", page("gate.md"), re.MULTILINE))
    assert named == {field.name for field in dataclasses.fields(Policy)}


def test_the_policy_on_the_page_is_one() -> None:
    example = page("gate.md").split("```toml\n")[1].split("```")[0]
    assert parse(tomllib.loads(example)["gate"]).metrics == {"intent_top1", "recall@5", "answer_error_rate"}


def examples() -> Iterator[tuple[str, str]]:
    for path in PAGES:
        for number, code in enumerate(
            re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        ):
            yield f"{path.name}-{number}", code


@pytest.mark.parametrize("code", [pytest.param(code, id=name) for name, code in examples()])
def test_every_python_example_runs(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_links_between_pages_lead_somewhere() -> None:
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_readme_names_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" not in readme] == []


def test_changelog_lines_are_short() -> None:
    for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("- "):
            assert len(line.split()) <= 25, line
