"""Arguments for graphs of ATen operations that were recorded."""

from typing import Any

import numpy as np

from hlo_torch.graph import read


def arguments(text: str) -> list[np.ndarray[Any, Any]]:
    """The same ones each time: numbers about 1, and places from 0 to 2."""
    random = np.random.default_rng(0)
    found = []
    for shape in read(text).inputs.values():
        assert shape is not None
        dtype = shape.element_type.dtype
        if shape.element_type.is_floating:
            found.append(random.normal(1, 0.5, shape.dims).astype(dtype))
        else:
            found.append(random.integers(0, 3, shape.dims).astype(dtype))
    return found
