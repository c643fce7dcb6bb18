"""Write docs/cli.md from the commands themselves, so that the page cannot fall behind."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from evalkit.cli import commands

PAGE = Path(__file__).with_name("cli.md")

HEAD = """# Commands

RUN is a path, a run id, or `latest`. Results go to standard output, progress and errors to standard error.
With `--json` a command prints its results for a machine. Colours and bars appear on a terminal only.

| exit code | meaning |
|---|---|
| 0 | pass |
| 1 | a gate failed: regression or threshold |
| 2 | the command or the configuration cannot mean anything |
| 3 | cannot decide, or the run is incomplete |
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


def render() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(name, command) for name, command in leaves(commands))])


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
