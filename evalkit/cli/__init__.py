"""The command line: a thin skin that reads options, calls the functions of the same names, and prints.

Each command is a module of its own that is imported with nothing heavy in it, so that `--help` is quick.
Errors end the process with the exit code of their kind and without a traceback.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback

import click

from evalkit import __version__
from evalkit.errors import EvalkitError

__all__ = ["commands", "main"]

_COMMANDS = {
    "eval": "job",
    "run": "asking",
    "judge": "judging",
    "certify": "certifying",
    "score": "scoring",
    "report": "scoring",
    "worst": "looking",
    "show": "looking",
    "fix": "fixing",
    "plan": "fixing",
    "history": "fixing",
    "diff": "gating",
    "gate": "gating",
    "baseline": "accepting",
    "check": "checking",
    "schema": "checking",
    "targets": "targeting",
    "target": "targeting",
    "calibrate": "calibrating",
    "verify": "keeping",
    "repair": "keeping",
    "replay": "keeping",
    "demo": "demo",
}
"""Each command and the module that has it, in the order in which `--help` lists them."""

_FUNCTIONS = {"eval": "eval_"}
"""The functions of the commands whose names are taken in Python."""

_INTERRUPTED = 130
_IO_ERROR = 74
_SENTENCE = 200


class _Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        """The names, main job first."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"evalkit.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, _FUNCTIONS.get(cmd_name, cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, each with its first sentence whole."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(limit=_SENTENCE)) for name, each in found if each]
            )


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="evalkit")
def commands() -> None:
    """Measure RAG and agent customer-service systems, and know what to fix next.

    \b
    First:   evalkit eval eval_sets/eval_set_v1.jsonl --target demo
    Then:    evalkit worst latest          the intents to fix first
             evalkit show latest SAMPLE    one sample whole

    Exit codes: 0 pass, 1 gate failed, 2 usage, 3 cannot decide or incomplete, 65 bad data, 66 no input,
    74 I/O error, 75 locked, 130 interrupted.
    """


def main() -> None:
    """Run the command line and end the process with the right exit code."""
    _spell_out()
    try:
        asked = commands.main(standalone_mode=False)
    except click.ClickException as bad:
        bad.show()
        sys.exit(bad.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _end("interrupted; what was recorded stays", _INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_IO_ERROR)
    except (EvalkitError, OSError) as error:
        _end(str(error), getattr(error, "exit_code", _IO_ERROR))
    sys.exit(asked if isinstance(asked, int) else 0)  # what a command gave to `ctx.exit`


def _spell_out() -> None:
    """Write what the console's encoding lacks as its escape: no result is lost to a terminal of Latin letters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _end(message: str, code: int) -> None:
    """Say why on standard error and leave; with EVALKIT_DEBUG set, with the traceback.

    What is said may repeat what a server said: known secrets are blacked out, and no terminal obeys it.
    """
    from evalkit.net.keys import mask_of  # noqa: PLC0415 - only an error needs it
    from evalkit.net.masking import KNOWN  # noqa: PLC0415
    from evalkit.report.text import visible  # noqa: PLC0415

    mask_of()
    if os.environ.get("EVALKIT_DEBUG"):
        for line in KNOWN.text(traceback.format_exc()).splitlines():
            click.echo(visible(line), err=True)
    click.echo(visible(f"evalkit: {KNOWN.text(message)}"), err=True)
    sys.exit(code)
