"""`evalkit targets` and `evalkit target test`: what can be asked, and one exchange with it, frame by frame."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import as_json, say, show
from evalkit.cli.settings import target_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalkit.contracts import Case, Observation
    from evalkit.net.exchange import Exchange
    from evalkit.registry import Spec
    from evalkit.targets.http.frames import Frame

__all__ = ["target", "targets"]

_FAILED = 3
_NAME = 34


@click.command()
@as_json
def targets(*, as_json: bool) -> None:
    """List every target that can be asked, with its parameters: built in, installed, and of evalkit.toml.

    \b
    evalkit targets
    """
    from evalkit.registry import names  # noqa: PLC0415 - heavy imports wait for the command

    known = [_described(name) for name in names("target")]
    if as_json:
        say(known)
        return
    from evalkit.report.text import visible  # noqa: PLC0415

    for entry in known:
        click.echo(visible(f"{entry['name']:<18}{entry['about']}"))
        for name, meaning in entry["parameters"].items():
            click.echo(visible(f"    {name:<24}{_written(meaning)}"))


def _described(name: str) -> dict[str, Any]:
    """A target's name, the first line of what it says of itself, and its parameters with their defaults."""
    from evalkit.parameters import needed, parameters_of  # noqa: PLC0415
    from evalkit.registry import lookup  # noqa: PLC0415

    function = lookup("target", name)
    parameters = {
        each: {"needed": True} if needed(parameter) else {"default": parameter.default}
        for each, parameter in parameters_of(function).items()
    }
    return {
        "name": name,
        "about": (inspect.getdoc(function) or "").partition("\n")[0],
        "parameters": parameters,
    }


def _written(meaning: dict[str, Any]) -> str:
    """A default as `--set` and evalkit.toml take it."""
    if "needed" in meaning:
        return "must be set"
    return "–" if meaning["default"] in (None, "") else _plain(meaning["default"])


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@click.group()
def target() -> None:
    """Try a target before it is measured."""


@target.command()
@click.argument("name")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option(
    "--query", required=True, multiple=True, help="What to ask; repeated: one dialog, turn by turn."
)
@as_json
@click.pass_context
def test(
    ctx: click.Context, *, name: str, settings: tuple[str, ...], query: tuple[str, ...], as_json: bool
) -> None:
    """Ask the target NAME once, live, and show every timing and what was taken from which frame.

    Ends with 3 where a channel failed. Frames are shown for targets that are described as data.

    \b
    evalkit target test demo --query 耳机能退吗
    evalkit target test openai --set model=gpt-4.1-mini --query 你好
    """
    import asyncio  # noqa: PLC0415 - heavy imports wait for the command

    from evalkit.contracts import Case  # noqa: PLC0415

    case = Case(sample_id="test", query=query[0], messages=query if len(query) > 1 else ())
    seen, turns = asyncio.run(_asked(target_spec(name, settings), case))
    found = {"observation": seen.model_dump(mode="json", exclude_unset=True), "turns": turns}
    if as_json:
        say(found)
    else:
        _show(found)
    if seen.answer_status not in {"ok", "skipped"} or seen.evidence_status == "error":
        ctx.exit(_FAILED)


async def _asked(spec: Spec, case: Case) -> tuple[Observation, list[list[dict[str, Any]]]]:
    """The observation, and the frames of each turn, secrets blacked out."""
    from evalkit.net.masking import KNOWN  # noqa: PLC0415
    from evalkit.registry import bind  # noqa: PLC0415
    from evalkit.runner.asking import observed, opened  # noqa: PLC0415
    from evalkit.targets.http.asking import Asking  # noqa: PLC0415

    turns: list[list[dict[str, Any]]] = []
    async with opened(bind("target", spec)) as ask:
        if isinstance(ask, Asking):

            def watch(seen: Exchange, frames: list[Frame]) -> None:
                turns.append([KNOWN.value(entry) for entry in _frames(seen, frames)])

            ask.watch = watch
        return KNOWN.observation(await observed(case, ask)), turns


def _frames(seen: Exchange, frames: list[Frame]) -> Iterator[dict[str, Any]]:
    for frame in frames:
        yield {
            "at_ms": round((frame.arrived_at - seen.began_at) * 1000, 3),
            "name": frame.name,
            "chars": frame.size,
            "taken": [{"what": taken.what, "value": taken.value} for taken in frame.taken],
        }


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from evalkit.report.text import visible  # noqa: PLC0415

    for number, frames in enumerate(found["turns"], 1):
        table = Table(title=f"turn {number}", title_justify="left", box=None, header_style="bold")
        table.add_column("ms", justify="right")
        table.add_column("frame")
        table.add_column("taken from it")
        for frame in frames:
            taken = "; ".join(_taken(entry) for entry in frame["taken"]) or "–"
            table.add_row(f"{frame['at_ms']:.1f}", Text(visible(frame["name"])), Text(visible(taken)))
        show(table)
    for name, value in found["observation"].items():
        for line in _lines(name, value):
            click.echo(visible(line))


def _taken(entry: dict[str, Any]) -> str:
    return entry["what"] if entry["value"] is None else f"{entry['what']} {_plain(entry['value'])}"


def _lines(name: str, value: Any) -> Iterator[str]:
    """A field of the observation that says something: each part and each item on a line of its own."""
    if isinstance(value, dict):
        for part, inner in value.items():
            yield from _lines(f"{name}.{part}", inner)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield f"{'' if number else name:<{_NAME}} {item if isinstance(item, str) else _plain(item)}"
    elif value is not None and value != "":
        yield f"{name:<{_NAME}} {value if isinstance(value, str) else _plain(value)}"
