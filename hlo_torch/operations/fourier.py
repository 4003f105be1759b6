"""Fourier transforms, of some dimensions, by HLO's, which are of the last ones.

References
----------
`aten/src/ATen/native/SpectralOps.cpp`
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hlo_torch.operations.table import at, aten, converted
from optimizer.expanders.parts import cut, permuted
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

# torch's numbers for the factor of a transform, as powers of its size.
_POWERS = (0, -0.5, -1)


def _along(x: Instruction, axis: int, kind: str, size: int) -> Instruction:
    """A transform of one dimension."""
    last = x.shape.rank - 1
    order = [k for k in range(last + 1) if k != axis] + [axis]
    made = make("fft", permuted(x, order), fft_type=kind, fft_length=(size,))
    return permuted(made, [order.index(k) for k in range(last + 1)])


def _axes(x: Instruction, axes: Sequence[int]) -> list[int]:
    return [at(axis, x.shape.rank) for axis in axes]


def _scaled(x: Instruction, power: float, sizes: Sequence[int]) -> Instruction:
    factor = float(math.prod(sizes)) ** power
    return x if factor == 1 else x * factor


@aten("_fft_c2c.default")
def fft(
    _out: Shape, x: Instruction, axes: Sequence[int], factor: int, forward: bool
) -> Instruction:
    """The transform of complex numbers, or its inverse."""
    axes = _axes(x, axes)
    sizes = [x.shape.dims[axis] for axis in axes]
    for axis, size in zip(axes, sizes, strict=True):
        x = _along(x, axis, "FFT" if forward else "IFFT", size)
    # HLO's inverse is divided by its size.
    return _scaled(x, _POWERS[factor] + (0 if forward else 1), sizes)


@aten("_fft_r2c.default")
def rfft(
    out: Shape, x: Instruction, axes: Sequence[int], factor: int, onesided: bool
) -> Instruction:
    """The transform of real numbers: all of it, or the half that the other one mirrors."""
    if not onesided:
        return fft(out, converted(x, out.element_type), axes, factor, True)
    *others, last = _axes(x, axes)
    half = _along(x, last, "RFFT", x.shape.dims[last])
    sizes = [x.shape.dims[axis] for axis in (*others, last)]
    return _scaled(fft(out, half, others, 0, True), _POWERS[factor], sizes)


@aten("_fft_c2r.default")
def irfft(_out: Shape, x: Instruction, axes: Sequence[int], factor: int, size: int) -> Instruction:
    """The inverse transform of one half to real numbers."""
    *others, last = _axes(x, axes)
    sizes = [x.shape.dims[axis] for axis in others]
    for axis, length in zip(others, sizes, strict=True):
        x = _along(x, axis, "IFFT", length)
    half = cut(x, last, 0, size // 2 + 1)
    return _scaled(_along(half, last, "IRFFT", size), _POWERS[factor] + 1, [*sizes, size])
