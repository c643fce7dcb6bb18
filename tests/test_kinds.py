"""The shapes of extensions: plain functions have them, no base class is asked for."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Sequence

import pytest

from evalkit.contracts import Case, EvalRecord, MetricResult, Observation
from evalkit.kinds import Ask, Metric, Target
from evalkit.slices import slice_mean


def answered(records: Sequence[EvalRecord], /) -> MetricResult:
    """Share of the records with an answer."""
    return MetricResult("answered", *slice_mean(records, lambda row: float(bool(row.response))))


async def echo(case: Case, /) -> Observation:
    """What was asked."""
    return Observation(response=case.query)


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[Ask]:
    """A target with a life of its own."""
    yield echo


def test_plain_functions_are_extensions() -> None:
    """The type checker holds the assignments against the protocols; the calls show that they work."""
    metric: Metric = answered
    ask: Ask = echo
    target: Target = opened

    async def run() -> tuple[Observation, Observation]:
        case = Case(sample_id="a", query="能退吗")
        async with target() as inner:
            return await ask(case), await inner(case)

    first, second = asyncio.run(run())
    assert first == second == Observation(response="能退吗")
    result = metric([EvalRecord(sample_id="a", response="能")])
    assert isinstance(result, MetricResult)
    assert result.overall == 1.0


@pytest.mark.parametrize(("kind", "data"), [(Metric, ["records"]), (Ask, ["case"]), (Target, [])])
def test_positional_arguments_are_the_data(kind: type, data: list[str]) -> None:
    parameters = inspect.signature(kind.__call__).parameters.values()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name != "self"]
    assert names == data
