"""Tensors of torch as arrays of NumPy, and back, in the same memory."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

from hlo_torch.graph import DTYPES, element_type
from hlo_torch.private import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType

_KINDS: dict[Any, ElementType] = {
    getattr(torch, name): element_type(name) for name in DTYPES if hasattr(torch, name)
}
# NumPy has them from ml_dtypes, which torch does not know; the integers of their width carry them.
_CARRIED = {
    dtype: {8: torch.uint8, 16: torch.int16}[kind.bits]
    for dtype, kind in _KINDS.items()
    if kind.name == "bf16" or kind.name.startswith("f8")
}


# Also of one that has a gradient, or is a lazy conjugate: in one call of torch.
_MEMORY = methodcaller("numpy", force=True)


def reader_of(dtype: Any) -> Callable[[Any], NDArray[Any]]:
    """A function that looks at the memory of a tensor as an array."""
    carrier = _CARRIED.get(dtype)
    if carrier is None:
        return _MEMORY
    own = _KINDS[dtype].dtype

    def read(tensor: Any) -> NDArray[Any]:
        return tensor.detach().contiguous().view(carrier).numpy().view(own)

    return read


def maker_of(dtype: Any) -> Callable[[NDArray[Any]], Any]:
    """A function that looks at the memory of an array as a tensor."""
    carrier = _CARRIED.get(dtype)
    if carrier is None:
        return torch.from_numpy
    held = "u1" if carrier is torch.uint8 else "i2"
    return lambda array: torch.from_numpy(array.view(held)).view(dtype)
