"""A judge may decide something only where it was held against people: certificates, and who lacks one.

A certificate is for one metric and one judge, down to the words that it is told. It is a line of a file that
stands under version control, next to the labels that it was earned on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from evalkit.agreement import Calibration, Corrected, Rate, calibration
from evalkit.contracts.values import Frozen
from evalkit.errors import BadData, Incomplete, UnknownName
from evalkit.judges.cache import content_key
from evalkit.reading import read
from evalkit.records import Records

__all__ = ["Certificate", "Examined", "certified", "examine", "read_certificates"]


class Certificate(Frozen):
    """How a judge did against people: rates with the lower ends of their 95 % Wilson intervals."""

    metric: str
    """What was judged."""
    judge: str
    """Who judged it: the model, and the version of all that it is told and sent."""
    pass_at: float
    """The score from which on a sample is called good."""
    n: int = Field(ge=0)
    """Samples with a verdict and a label."""
    tpr: float | None
    """Share of the samples good by their labels that the judge calls good."""
    tpr_low: float | None
    """The lower end of its interval."""
    tnr: float | None
    """Share of the samples bad by their labels that the judge calls bad."""
    tnr_low: float | None
    """The lower end of its interval."""
    kappa: float | None
    """Cohen's kappa between judge and labels."""
    certified: bool
    """Whether both lower ends reach what was asked for."""
    labels_sha256: str
    """The hash of the labels."""


class Examined(NamedTuple):
    """A certificate with what it says of the run: the share called good, and the share behind it."""

    certificate: Certificate
    calibration: Calibration
    observed: Rate
    corrected: Corrected | None


def examine(
    records: Records,
    metric: str,
    labels: Mapping[str, float | None],
    *,
    pass_at: float = 0.5,
    least: float = 0.80,
) -> Examined:
    """Hold what was judged of `metric` against labels by sample key; scores from `pass_at` on are good.

    Samples without a verdict or a label do not count. UnknownName where nothing was judged so; Incomplete
    where several judges did, or no sample has both.
    """
    said = {
        record.key: found
        for record in records
        if (found := record.judgements.get(metric)) is not None
        and found.status == "ok"
        and found.score is not None
    }
    if not said:
        raise UnknownName("judged metric", metric, {name for record in records for name in record.judgements})
    judges = sorted({found.judge for found in said.values()})
    pairs = {key: label for key, label in labels.items() if key in said and label is not None}
    if len(judges) > 1 or not pairs:
        told = f"{len(judges)} judges and {len(pairs)} samples with a verdict and a label"
        raise Incomplete(f"{metric}: found {told}, wanted one judge and labelled samples.")
    judged = [(said[key].score or 0.0) >= pass_at for key in pairs]
    held = calibration(judged, [label >= pass_at for label in pairs.values()], least=least)
    everybody = [(found.score or 0.0) >= pass_at for found in said.values()]
    observed = sum(everybody) / len(everybody)
    certificate = _certificate(metric, judges[0], held, pass_at=pass_at, labels=pairs)
    return Examined(certificate, held, Rate(observed, None, None, len(everybody)), held.corrected(observed))


def _certificate(
    metric: str, judge: str, held: Calibration, *, pass_at: float, labels: Mapping[str, float]
) -> Certificate:
    return Certificate(
        metric=metric,
        judge=judge,
        pass_at=pass_at,
        n=held.n,
        tpr=held.tpr.value,
        tpr_low=held.tpr.low,
        tnr=held.tnr.value,
        tnr_low=held.tnr.low,
        kappa=held.kappa,
        certified=held.certified,
        labels_sha256=content_key(labels=dict(labels)),
    )


def read_certificates(path: Path) -> list[Certificate]:
    """The certificates of the file, none where there is no file; BadData naming each line that does not hold."""
    if not path.is_file():
        return []
    reading = read(path, Certificate)
    if reading.faults:
        raise BadData(reading.faults)
    return list(reading.items)


def certified(metric: str, judge: str, certificates: Iterable[Certificate]) -> bool:
    """Whether the last certificate of that metric and judge, and nobody else, says so."""
    last = [found for found in certificates if (found.metric, found.judge) == (metric, judge)][-1:]
    return bool(last) and last[0].certified
