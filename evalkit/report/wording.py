"""The only way a number of a comparison or a gate is put into words, so that it reads the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from evalkit.report.snapshot import MetricFacts

__all__ = [
    "by_hand",
    "difference",
    "drawn_together",
    "number",
    "percentage",
    "probability",
    "span_of",
    "times",
]

NOTHING = "–"
_TINY = 0.0001
_DIGITS = 4
_MOST = 17


def number(
    value: float | None, metric: str, facts: MetricFacts | None, *, apart_from: float | None = None
) -> str:
    """A mean or a threshold to four digits: `83.33%`, `412 ms`, `0.8333`; a dash for null.

    It takes more digits where it would else read like the number that it must be told `apart_from`.
    """
    if value is None:
        return NOTHING
    scale, unit = (100, "%") if facts is not None and facts.is_pct else (1, _unit(metric))
    for digits in range(_DIGITS, _MOST):
        text = _short(scale * value, digits)
        if apart_from is None or text != _short(scale * apart_from, digits):
            return text + unit
    return f"{scale * value!r}{unit}"


def _unit(metric: str) -> str:
    return " ms" if metric.endswith("_ms") else ""


def percentage(share: float) -> str:
    """A share in 0–1: `83.33%`."""
    return f"{_short(100 * share)}%"


def difference(value: float | None, metric: str, facts: MetricFacts | None) -> str:
    """A difference with its sign, in points where the means are percentages: `-5 points`, `+12.5 ms`."""
    if value is None:
        return NOTHING
    sign = "+" if value > 0 else ""
    if facts is not None and facts.is_pct:
        return f"{sign}{_short(100 * value)} points"
    return sign + number(value, metric, None)


def span_of(low: float | None, high: float | None, metric: str, facts: MetricFacts | None) -> str:
    """An interval of differences: `-9.5 to +1.2 points`; a dash where there is none."""
    if low is None or high is None:
        return NOTHING
    first, last = difference(low, metric, facts), difference(high, metric, facts)
    return f"{first.removesuffix(' points').removesuffix(' ms')} to {last}"


def probability(value: float | None) -> str:
    """A p or q value: `0.0625`, `< 0.0001`; a dash for null."""
    if value is None:
        return NOTHING
    return "< 0.0001" if value < _TINY else _short(value)


def by_hand(overridden: Mapping[str, int]) -> str:
    """How many scores people set, by metric: `set by hand, not measured: 2 scores of intent_top1`."""
    told = ", ".join(f"{times(n, 'score')} of {metric}" for metric, n in overridden.items())
    return f"set by hand, not measured: {told}"


def drawn_together(field: str) -> str:
    """What intervals and tests draw at random where not each case for itself."""
    return f"cases that share {field} are drawn and tested together"


def times(n: int, noun: str) -> str:
    """A count with its noun: `1 case`, `20 cases`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _short(value: float, digits: int = _DIGITS) -> str:
    """So many significant digits, no exponent, no zeros at the end."""
    text = format(Decimal(f"{value or 0.0:.{digits - 1}e}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
