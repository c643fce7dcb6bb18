"""One number, one way to say it."""

from __future__ import annotations

import pytest

from evalkit.report.figures import Figure, macro, milliseconds, percent, share


def figure(**fields: object) -> Figure:
    whole = {
        "metric": "m",
        "dimension": "overall",
        "slice": "",
        "n_total": 20,
        "n_counted": 17,
        "mean": 0.85,
        "ci_low": None,
        "ci_high": None,
        "lower_is_better": False,
        "signature": "m|v1|set:?",
        "is_pct": True,
        "worst_case": None,
    }
    return Figure(**(whole | fields))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0 ms"),
        (411.6, "412 ms"),
        (999.4, "999 ms"),
        (999.6, "1.00 s"),
        (1240.0, "1.24 s"),
        (65_000.0, "65.0 s"),
    ],
)
def test_milliseconds(value: float | None, shown: str) -> None:
    assert milliseconds(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(29_999.0, "30.0 s"), (30_000.0, "≥30.0 s"), (None, "–")])
def test_from_the_cut_on_a_time_is_a_bound(value: float | None, shown: str) -> None:
    assert milliseconds(value, cut=30_000.0) == shown


def test_percent_and_share() -> None:
    assert (percent(0.8333), percent(1.0), share(17, 20)) == ("83.3%", "100.0%", "17/20")


@pytest.mark.parametrize(
    ("fields", "value", "interval"),
    [
        ({}, "85.0%", "–"),
        ({"ci_low": 0.6396, "ci_high": 0.9476}, "85.0%", "64.0–94.8%"),
        ({"is_pct": False}, "0.850", "–"),
        ({"is_pct": False, "ci_low": 0.5, "ci_high": 0.9}, "0.850", "0.500–0.900"),
        ({"metric": "ttft_ms", "is_pct": False, "mean": 1234.0}, "1.23 s", "–"),
        ({"mean": None}, "–", "–"),
    ],
    ids=["share", "rate", "number", "number with interval", "time", "nothing counted"],
)
def test_a_figure_in_words(fields: dict[str, object], value: str, interval: str) -> None:
    shown = figure(**fields)
    assert (shown.value, shown.interval, shown.counted) == (value, interval, "17/20")


def test_fewer_than_five_counted_are_few() -> None:
    assert figure(n_counted=4).few
    assert not figure(n_counted=5).few


def test_macro_weighs_each_label_the_same_and_leaves_out_what_has_no_mean() -> None:
    """1/2 and 90/90 make 75 %, not 98.9 %."""
    parts = [figure(mean=0.5, n_counted=2), figure(mean=1.0, n_counted=90), figure(mean=None, n_counted=0)]
    assert macro(parts) == (0.75, 2)
    assert macro([]) is None
