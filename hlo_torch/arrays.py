"""Tensors of torch as arrays of NumPy, and back, in the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.types.element_type import ElementType, element_type_of
from hlo_torch.graph import DTYPES, element_type
from hlo_torch.private import torch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KINDS: dict[Any, ElementType] = {
    getattr(torch, name): element_type(name) for name in DTYPES if hasattr(torch, name)
}
_DTYPES = {kind: dtype for dtype, kind in _KINDS.items()}
# NumPy has them from ml_dtypes, which torch does not know; the integers of their width carry them.
_CARRIED = {
    dtype: {8: torch.uint8, 16: torch.int16}[kind.bits]
    for dtype, kind in _KINDS.items()
    if kind.name == "bf16" or kind.name.startswith("f8")
}


def array_of(tensor: Any) -> NDArray[Any]:
    """An array that looks at a tensor's memory."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    carrier = _CARRIED.get(tensor.dtype)
    if carrier is None:
        return tensor.numpy()
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    return tensor.view(carrier).numpy().view(_KINDS[tensor.dtype].dtype)


def tensor_of(array: NDArray[Any]) -> Any:
    """A tensor that looks at an array's memory."""
    if any(stride < 0 for stride in array.strides):
        array = array.copy()  # torch has no such strides
    dtype = _DTYPES[_element_type(array.dtype)]
    carrier = _CARRIED.get(dtype)
    if carrier is None:
        return torch.from_numpy(array)
    held = array.view("u1" if carrier is torch.uint8 else "i2")
    return torch.from_numpy(held).view(dtype)


def _element_type(dtype: np.dtype[Any]) -> ElementType:
    found = element_type_of(dtype)
    assert found is not None
    return found
