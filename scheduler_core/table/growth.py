"""Arrays that get longer: the last axis is the row of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


def grown(array: npt.NDArray[Any], capacity: int, fill: int = 0) -> npt.NDArray[Any]:
    """Copy the values into an array of `capacity` rows; new ones hold `fill`."""
    longer = np.full((*array.shape[:-1], capacity), fill, dtype=array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer
