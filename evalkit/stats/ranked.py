"""Which values stand at some places in the order of many, that come in pieces and are not held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from evalkit.stats.drawing import Floats

__all__ = ["Ranked"]

_KEPT_BITS = 20
"""By so many of its first bits a value is counted: sign, exponent, and the half of a per cent that it is within."""

_REST = 64 - _KEPT_BITS
_MAGNITUDE = np.int64(2**63 - 1)


class Ranked:
    """Values that are seen twice: once to count them by their first bits, once to keep those of the wanted places."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._counts: Counter[int] = Counter()
        self._before: dict[int, int] = {}
        self._kept: dict[int, list[Floats]] = {}

    @property
    def n(self) -> int:
        """How many values were counted."""
        return self._counts.total()

    def count(self, values: Floats) -> None:
        """Count these too; none is NaN."""
        found, counts = np.unique(_first_bits(values), return_counts=True)
        self._counts.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def want(self, places: Iterable[int]) -> None:
        """The places, from 0, that will be asked for, once all values were counted."""
        wanted, before = set(places), 0
        for bits, n in sorted(self._counts.items()):
            if any(before <= place < before + n for place in wanted):
                self._before[bits], self._kept[bits] = before, []
            before += n

    def keep(self, values: Floats) -> None:
        """The same values again, in any pieces."""
        first = _first_bits(values)
        for bits, kept in self._kept.items():
            kept.append(values[first == bits])

    def at(self, place: int) -> float:
        """The value at a place that was wanted."""
        bits = max(bits for bits, before in self._before.items() if before <= place)
        return float(np.sort(np.concatenate(self._kept[bits]))[place - self._before[bits]])


def _first_bits(values: Floats) -> NDArray[np.int64]:
    """What sorts as the values do."""
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits) >> _REST
