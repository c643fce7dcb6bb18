"""Arrow arrays: which cells are there, and how long each is."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Cells", "lengths", "there"]

Cells: TypeAlias = Any
"""An Arrow array, in one piece or several: the stubs tell too little of what Arrow's functions give."""

_types: Any = pa.types


def there(cells: Cells) -> NDArray[np.bool_]:
    """Where a cell is not null, (n,)."""
    return np.asarray(pc.is_valid(cells))


def lengths(cells: Cells) -> NDArray[np.int64]:
    """The bytes of each text, or the number of items of each list, (n,); null as 0."""
    is_text = _types.is_string(cells.type) or _types.is_large_string(cells.type)
    length: Any = pc.binary_length if is_text else pc.list_value_length
    return np.asarray(length(cells).fill_null(0)).astype(np.int64)
