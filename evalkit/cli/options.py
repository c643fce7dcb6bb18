"""What several commands share: their options, and how the name of a run becomes its digest."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalkit.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evalkit.registry import Spec
    from evalkit.report.digest import Digest

__all__ = [
    "apart",
    "as_json",
    "by_option",
    "cluster_option",
    "digest_of",
    "each",
    "manual_option",
    "places",
    "run_argument",
    "say",
    "settled",
    "show",
    "target_spec",
    "tell_by_hand",
]

_PRIVATE = ("username",)
_LOGIN = re.compile(r"://[^/\s\"@]*@")

_Command = TypeVar("_Command", bound=Callable[..., Any])

run_argument = click.argument("run", metavar="RUN")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
manual_option = click.option(
    "--manual",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A per_sample.csv with scores that people set, in columns <metric>_manual.",
)
by_option = click.option(
    "--by", multiple=True, metavar="FIELD", help="Slice by this field too (difficulty, tags, …); repeatable."
)


cluster_option = click.option(
    "--cluster",
    metavar="FIELD",
    help="Draw cases that share this field (dialog_id, reference_doc_ids, …) together in intervals and tests; "
    "without it each case, with its repeats.",
)


def places(command: _Command) -> _Command:
    """Add the options that say where runs and reports live."""
    for name, what in (("reports", "reports"), ("runs", "runs")):
        command = click.option(
            f"--{name}-dir",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path(name),
            show_default=True,
            help=f"Where {what} live.",
        )(command)
    return command


def each(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Several option decorators as one, in the order in which `--help` shows them."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def digest_of(
    run: str,
    *,
    runs_dir: Path,
    by: Iterable[str] = (),
    cluster: str | None = None,
    manual: Path | None = None,
) -> Digest:
    """The run that a person named (path, id or `latest`), held against its rules, scored by every metric.

    `manual` is a table with scores that people set; cases that share the field `cluster` are drawn together.
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.overrides import read_manual  # noqa: PLC0415
    from evalkit.engines.scored import scored  # noqa: PLC0415
    from evalkit.report.digest import Run, digest  # noqa: PLC0415

    by_hand = read_manual(manual) if manual else {}
    return digest(Run(*scored(runs.find(run, runs_dir), manual=by_hand)), by=tuple(by), cluster=cluster)


def apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path]) -> None:
    """UsageError where an output, by the name of its option, would overwrite what the command reads."""
    read = {path.resolve() for path in inputs}
    for option, path in outputs.items():
        if path is not None and path.resolve() in read:
            raise UsageError(
                f"{option}: found {path}, which this command reads; wanted another file to write."
            )


def target_spec(name: str, settings: Iterable[str]) -> Spec:
    """The target and its parameters from `--target NAME --set KEY=VALUE`; values are JSON, else text."""
    from evalkit.registry import Spec  # noqa: PLC0415

    if ":" in name:  # a person's own module, which stands where they are
        sys.path.insert(0, str(Path.cwd()))
    params: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set: found {setting!r}, wanted KEY=VALUE.")
        if _is_secret(key):
            raise UsageError(
                f"--set {key}: a secret on the command line can be read by everybody on the machine; "
                "put it into the environment instead (docs/cli.md names the variables)."
            )
        params[key] = _value(value)
    return Spec(name, params)


def settled(bound: Callable[..., Any]) -> dict[str, Any]:
    """Every parameter of a bound target as it will be used, but for secrets and the names of those who log in.

    Values that JSON does not have are spelled out; a login in an address is blacked out.
    """
    parameters = inspect.signature(bound).parameters.values()
    return {
        parameter.name: json.loads(_LOGIN.sub("://***@", json.dumps(parameter.default, default=str)))
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY
        and parameter.name not in _PRIVATE
        and not _is_secret(parameter.name)
    }


def _is_secret(name: str) -> bool:
    from evalkit.net.keys import is_secret_name  # noqa: PLC0415

    return is_secret_name(name)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def tell_by_hand(overridden: Mapping[str, int]) -> None:
    """Say on the error channel how many scores were set by hand, so that nobody takes them for measured ones."""
    if overridden:
        from evalkit.report.wording import by_hand  # noqa: PLC0415 - heavy imports wait for the command

        click.echo(f"! {by_hand(overridden)}", err=True)


def say(value: Any) -> None:
    """Print a value as JSON for a machine."""
    from evalkit.reading.encoding import escaped  # noqa: PLC0415 - heavy imports wait for the command

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2, default=str)
    click.echo(escaped(text))


def show(view: RenderableType) -> None:
    """Print a view for a person: in colour on a terminal only, every text as it is."""
    from rich.console import Console  # noqa: PLC0415 - heavy imports wait for the command

    Console(markup=False, highlight=False, emoji=False).print(view)
