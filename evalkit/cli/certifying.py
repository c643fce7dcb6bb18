"""`evalkit certify`: a judge held against people, before it may decide anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import Number, apart, as_json, places, run_argument, say

if TYPE_CHECKING:
    from evalkit.agreement import Rate
    from evalkit.judges.certificates import Examined

__all__ = ["certify"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@run_argument
@click.option(
    "--labels", type=_FILE, required=True, help="A CSV with people's scores in a column <metric>_manual."
)
@click.option("--metric", required=True, help="The judged metric to hold against them.")
@click.option(
    "--pass-at",
    type=Number(0, 1),
    metavar="SCORE",
    default=0.5,
    show_default=True,
    help="Scores from here on are called good.",
)
@click.option("--save", type=_FILE, help="Append the certificate to this file, which `gate` reads.")
@places
@as_json
@click.pass_context
def certify(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    /,
    *,
    run: str,
    labels: Path,
    metric: str,
    pass_at: float,
    save: Path | None,
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Hold a judge against people: its rates of being right, and the share of good samples behind its own.

    Ends with 0 where the lower ends of both 95 % intervals reach 0.80, else with 1: such a judge may not gate.

    \b
    evalkit certify latest --labels labels.csv --metric faithfulness --save certificates.jsonl
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.overrides import read_manual  # noqa: PLC0415
    from evalkit.judgements import joined, judged_path, read_judged  # noqa: PLC0415
    from evalkit.judges.certificates import examine  # noqa: PLC0415
    from evalkit.reading import encode  # noqa: PLC0415
    from evalkit.records import Records  # noqa: PLC0415
    from evalkit.writing import LineFile  # noqa: PLC0415

    path = runs.find(run, runs_dir)
    apart({"--save": save}, [labels, *runs.family(path)])
    records = joined(Records.of(path), read_judged(judged_path(path)))
    found = examine(records, metric, read_manual(labels).get(metric, {}), pass_at=pass_at)
    if save is not None:
        with LineFile(save, new=False) as file:
            file.append(encode(found.certificate))
    if as_json:
        say(_plain(found))
    else:
        _show(found)
    ctx.exit(0 if found.certificate.certified else 1)


def _plain(found: Examined) -> dict[str, Any]:
    corrected = found.corrected._asdict() if found.corrected else None
    return {
        **found.certificate.model_dump(mode="json"),
        "observed": found.observed.value,
        "observed_n": found.observed.n,
        "corrected": corrected,
    }


def _show(found: Examined) -> None:
    certificate = found.certificate
    click.echo(f"{certificate.metric} by {certificate.judge}, {certificate.n} labelled samples")
    click.echo(f"right where people say good: {_rate(found.calibration.tpr)}")
    click.echo(f"right where people say bad:  {_rate(found.calibration.tnr)}")
    click.echo(f"Cohen's kappa: {'–' if certificate.kappa is None else f'{certificate.kappa:.3f}'}")
    click.echo(f"good by the judge: {_rate(found.observed)}; {_corrected(found)}")
    click.echo("certified" if certificate.certified else "not certified: a lower bound is below 0.80")


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "none (n 0)"
    bounds = "" if rate.low is None or rate.high is None else f" [{rate.low:.3f}, {rate.high:.3f}]"
    return f"{rate.value:.3f}{bounds} (n {rate.n})"


def _corrected(found: Examined) -> str:
    if found.corrected is None:
        return "no better than chance, so nothing can be said of the share behind it"
    clipped = ", clipped to that: the estimate lay outside 0 to 1" if found.corrected.clipped else ""
    return f"corrected for its errors {found.corrected.value:.3f}{clipped}"
