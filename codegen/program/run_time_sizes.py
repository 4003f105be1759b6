"""Calls of code with run-time sizes: arguments are padded, and results cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from codegen.program.values import leaves
from interpreter.engine.arguments import checked_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Computation
    from hlo.types.shape import Shape
    from optimizer.dynamic_padder.boundary import RunTimeSizes

Value = Any  # an array, None for a token, or a tuple of values


def call_with_sizes(
    entry: Computation, sizes: RunTimeSizes, run: Callable[..., Value], arguments: Sequence[Any]
) -> Value:
    """The value of a computation for arguments of any sizes, by a function for static ones.

    Raises
    ------
    HloError
        HLO110 to HLO112 if the arguments do not fit.
    """
    call = PaddedCall(entry, sizes, arguments)
    return call.cut(run(*call.arguments))


class PaddedCall:
    """A call whose arguments are padded, and whose results are cut.

    Attributes
    ----------
    arguments : for the function of static sizes.

    Raises
    ------
    HloError
        HLO110 to HLO112 if the arguments do not fit.
    """

    def __init__(self, entry: Computation, sizes: RunTimeSizes, arguments: Sequence[Any]) -> None:
        values = checked_arguments(entry, arguments)
        arrays = list(leaves(values))
        sizes_given = [np.array(arrays[k].shape[d], np.int32) for k, d in sizes.given]
        shapes = (p.shape for p in entry.parameters)
        padded = [_padded(v, s) for v, s in zip(values, shapes, strict=True)]
        self._sizes, self.arguments = sizes, (*padded, *sizes_given)

    def cut(self, value: Value) -> Value:
        """The results, without their padding."""
        if not self._sizes.yielded:
            return value
        result, *counts = cast("tuple[Value, ...]", value)
        sizes: dict[int, dict[int, int]] = {}
        for (number, d), count in zip(self._sizes.yielded, counts, strict=True):
            sizes.setdefault(number, {})[d] = int(count)
        cut = (_cut(leaf, sizes.get(number, {})) for number, leaf in enumerate(leaves(result)))
        return _nested(result, cut)


def _nested(like: Value, leaves: Iterator[Any]) -> Value:
    """A value as deep as another one, with other leaves."""
    if isinstance(like, tuple):
        return tuple(_nested(element, leaves) for element in cast("tuple[Value, ...]", like))
    return next(leaves)


def _padded(value: Value, shape: Shape) -> Value:
    """A value whose arrays have the sizes of their bounds, with zeros after their elements."""
    if shape.is_tuple:
        pairs = zip(cast("Sequence[Value]", value), shape.elements, strict=True)
        return tuple(_padded(v, s) for v, s in pairs)
    if not shape.is_array or value.shape == shape.dims:
        return value
    whole = np.zeros(shape.dims, value.dtype)
    whole[tuple(map(slice, value.shape))] = value
    return whole


def _cut(array: NDArray[Any], sizes: dict[int, int]) -> NDArray[Any]:
    """The part of an array that counts."""
    if not sizes:
        return array
    return array[tuple(slice(sizes.get(d)) for d in range(array.ndim))]
