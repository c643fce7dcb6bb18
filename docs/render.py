"""Write what pages take from the code, so that none falls behind: commands, table columns, fields of models."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from evalkit import contracts
from evalkit.cli import commands
from evalkit.report import schemas
from evalkit.targets.http.opening import COMMON
from evalkit.targets.http.ready import preset_names, preset_spec
from evalkit.targets.http.rules import Documents, EventRule, Failure, Tools, UsagePaths
from evalkit.targets.http.spec import AnswerSpec, EvidenceSpec, Parameter, RequestSpec, TargetSpec

HERE = Path(__file__).parent

CLI = """# Commands

RUN is a path, a run id, or `latest`: the run that was written to last. Replays, which asked nobody, are neither the
latest run nor the one before another, and not in the history; all else takes them by their names. Results go to standard output, progress and errors to standard error.
With `--json` a command prints its results for a machine. Colours and bars appear on a terminal only.

| exit code | meaning |
|---|---|
| 0 | pass |
| 1 | a gate failed: regression or threshold |
| 2 | the command or the configuration cannot mean anything |
| 3 | cannot decide, the run is incomplete, every answer failed, or more than `--max-error-rate` allows; `calibrate`: some times are not to be trusted |
| 65 | bad data: each line is named |
| 66 | no such input, or an empty one |
| 74 | the disk or the console refused |
| 75 | somebody else is writing this run |
| 130 | interrupted by hand |

| variable | meaning |
|---|---|
| `RAGENT_BASE_URL`, `RAGENT_USERNAME`, `RAGENT_PASSWORD` | where the target `ragent` is and who logs in; secrets come from the environment only |
| `EVALKIT_DEMO_FAULTS` | faults of the embedded shop, as `name=value` pairs with commas |
| `EVALKIT_DEBUG` | show the traceback of an error |

The examples run in the order in which they stand, in a checkout of the project, but for those that name what is
yours: `my_cases.jsonl`, `theirs.jsonl.gz`, `labels.csv`, the judge `main`, the targets `ragent` and `openai`, the
scheduler `tcp://10.0.0.1:8786`.

This page is written by `make docs` from the commands' own help.
"""


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its full name, in the order of `--help`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        elif command is not None:
            yield " ".join((*path, name)), command


def section(name: str, command: click.Command) -> str:
    """The part of the page about one command: usage, what it does, examples, options."""
    context = click.Context(command, info_name=f"evalkit {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    paragraphs = re.split(r"\n\s*\n", (command.help or "").strip())
    text = "\n\n".join(paragraph_of(paragraph) for paragraph in paragraphs)
    options = [
        option.get_help_record(context) for option in command.params if isinstance(option, click.Option)
    ]
    rows = "\n".join(f"| `{flags}` | {escaped(what)} |" for flags, what in filter(None, options))
    return f"## evalkit {name}\n\n`evalkit {name} {usage}`\n\n{text}\n\n| option | meaning |\n|---|---|\n{rows}\n"


def paragraph_of(paragraph: str) -> str:
    """A paragraph of help as Markdown; one that keeps its lines is an example."""
    lines = [line.strip() for line in paragraph.splitlines()]
    if lines[0] == "\b":
        return "\n".join(["```console", *(f"$ {line}" for line in lines[1:]), "```"])
    return " ".join(lines)


def escaped(text: str) -> str:
    """Text that does not end a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


TABLES = """# Tables

`evalkit score` writes these to `reports/<run_id>/`. The columns are the same for every run (judged
measures add their own); each is described in its file's own metadata too. Every number of `slices.parquet` can be had again from `samples.parquet`:

```text
samples = pandas.read_parquet("reports/RUN/samples.parquet")
samples.groupby("intent_l2")["intent_top1"].agg(["size", "count", "mean"])   # n_total, n_counted, mean
samples["intent_top1"].agg(["size", "count", "mean"])                        # the same, overall
```

Beside them stands `summary.json` (the run, what became of its file's lines, the overall metrics, how intervals were
drawn, worst intents, error directions, failures, what to fix first; of many samples it names the first 100).
`evalkit report` and `evalkit eval` add `report.html`, `report.md`, `per_sample.csv` (the samples for a spreadsheet),
and `failures.jsonl` (each failed sample with its reasons). A field named with `--by` is a column of `samples.parquet`
too, as the list of its labels.

This page is written by `make docs` from the schemas.
"""


def table(name: str) -> str:
    """The part of the page about one table: a row a column."""
    rows = []
    for field in getattr(schemas, name.upper()):
        meaning = (field.metadata or {}).get(b"description", b"").decode()
        null = "yes" if field.nullable else "no"
        rows.append(f"| `{field.name}` | {field.type} | {null} | {escaped(meaning)} |")
    return "\n".join(
        [f"## {name}.parquet\n", "| column | type | null | meaning |", "|---|---|---|---|", *rows, ""]
    )


WORDS = {"string": "text", "boolean": "flag", "date-time": "time"}


def records(page: str) -> str:
    """The page on cases and records with the tables of fields as the models have them now."""
    head, *parts = page.split("\n## ")
    return "\n## ".join([head, *(refreshed(part) for part in parts)])


def refreshed(part: str) -> str:
    """A part of the page; where its title is a model, its table has a row for each of the model's own fields."""
    model = getattr(contracts, part.partition("\n")[0], None)
    if model is None:
        return part
    names = own_fields(model)
    properties = model.model_json_schema(by_alias=False)["properties"]
    rows = [
        f"| `{name}` | {spelt(properties[name])} | {escaped(properties[name]['description'])} |"
        for name in names
    ]
    table = "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])
    return re.sub(r"^\| field \|.*?\n(?=\n|\Z)", lambda _: f"{table}\n", part, flags=re.MULTILINE | re.DOTALL)


def own_fields(model: type[contracts.Case | contracts.Observation]) -> list[str]:
    """The fields of a model; of a record, those that neither its case nor its observation has."""
    halves = {*contracts.Case.model_fields, *contracts.Observation.model_fields}
    return [name for name in model.model_fields if model is not contracts.EvalRecord or name not in halves]


def spelt(schema: dict[str, Any]) -> str:
    """The type of a field in the words of the page."""
    if "anyOf" in schema:
        return " or ".join(spelt(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        items = spelt(schema["items"])
        return f"list of ({items})" if " " in items else f"list of {items}"
    name = str(schema.get("$ref", "")).rpartition("/")[2].replace("JsonValue", "any")
    kind = str(schema.get("format") or schema.get("type", ""))
    return name or WORDS.get(kind, kind)


TABLES_OF_TARGETS: dict[str, type[BaseModel]] = {
    "The target": TargetSpec,
    "Parameters": Parameter,
    "Requests": RequestSpec,
    "The answer channel": AnswerSpec,
    "Events": EventRule,
    "Tool calls": Tools,
    "Documents": Documents,
    "Tokens": UsagePaths,
    "The evidence channel": EvidenceSpec,
    "Failures": Failure,
}
"""The sections of the page on targets as data, and the model whose keys each one's table lists."""


def http_targets(page: str) -> str:
    """The page on targets as data with its tables as models and presets have them now."""
    head, *parts = page.split("\n## ")
    return "\n## ".join([head, *(with_table(part) for part in parts)])


def with_table(part: str) -> str:
    """A part of the page, its table written anew where the title says of what it is."""
    title = part.partition("\n")[0]
    if title == "Ready-made":
        rows = [
            "| name | what it is | must be set | may be set | key |",
            "|---|---|---|---|---|",
            *map(preset_row, preset_names()),
        ]
    elif title == "What all of them take":
        rows = ["| parameter | default | meaning |", "|---|---|---|"]
        rows += [
            f"| `{name}` | {shown(default)} | {escaped(what)} |" for name, (default, what) in COMMON.items()
        ]
    elif title in TABLES_OF_TARGETS:
        rows = ["| key | default | meaning |", "|---|---|---|", *key_rows(TABLES_OF_TARGETS[title])]
    else:
        return part
    table = "\n".join(rows)
    return re.sub(
        r"^\| .*?\n(?=\n|\Z)", lambda _: f"{table}\n", part, count=1, flags=re.MULTILINE | re.DOTALL
    )


def preset_row(name: str) -> str:
    """A preset in one row."""
    spec = preset_spec(name)
    needed = [f"`{each}`" for each, found in spec.parameters.items() if found.needed]
    other = [f"`{each}`" for each, found in spec.parameters.items() if not found.needed]
    key = spec.secrets.get("key", "")
    cells = [f"`{name}`", escaped(spec.about), " ".join(needed) or "–", " ".join(other) or "–"]
    return f"| {' | '.join(cells)} | {f'`{key}`' if key else 'none; `key`'} |"


def key_rows(model: type[BaseModel]) -> Iterator[str]:
    """The model's own keys."""
    for name in model.__annotations__:
        if name not in model.model_fields:
            continue
        field = model.model_fields[name]
        default = "must be given" if field.is_required() else shown(field.default)
        yield f"| `{name}` | {default} | {escaped(field.description or '')} |"


def shown(default: Any) -> str:
    """A default as TOML has it; a dash for none."""
    if default is None or default in ("", (), {}):
        return "–"
    return f"`{escaped(json.dumps(default, ensure_ascii=False))}`"


def pages() -> dict[str, str]:
    """Every page that is written here, by its name."""
    return {
        "http-targets.md": http_targets((HERE / "http-targets.md").read_text(encoding="utf-8")),
        "records.md": records((HERE / "records.md").read_text(encoding="utf-8")),
        "cli.md": "\n".join([CLI, *(section(name, command) for name, command in leaves(commands))]),
        "tables.md": "\n".join([TABLES, *map(table, ("samples", "slices", "confusions", "latency"))])
        + "\nAfter its fixed columns `samples.parquet` has one float64 column a metric under the metric's own"
        " name,\nnull where the sample was not counted: [metrics.md](metrics.md) lists them.\n",
    }


if __name__ == "__main__":
    for page, text in pages().items():
        (HERE / page).write_text(text, encoding="utf-8")
        sys.stdout.write(f"docs/{page}\n")
