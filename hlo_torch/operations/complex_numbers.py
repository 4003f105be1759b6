"""Complex numbers: conjugates, parts, angles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hlo_torch.operations.elementwise import isnan
from hlo_torch.operations.table import aten, to_shape
from optimizer.expanders.linear_algebra.matrices import conjugate
from optimizer.expanders.parts import cut, joined, to_dims
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@aten("_conj.default", "_conj_physical.default", "conj_physical.default", "conj.default")
@aten("_conj_copy.default")
def conj(_out: Shape, x: Instruction) -> Instruction:
    """Complex numbers with the other sign of their imaginary parts; real ones as they are."""
    return conjugate(x)


@aten("_neg_view.default", "_neg_view_copy.default")
def neg_view(_out: Shape, x: Instruction) -> Instruction:
    """The numbers with the other sign."""
    return make("negate", x)


@aten("complex.default")
def complex_(out: Shape, x: Instruction, y: Instruction) -> Instruction:
    """Complex numbers of their parts."""
    parts = out.with_type(out.element_type.real)
    return make("complex", to_shape(parts, x), to_shape(parts, y))


@aten("polar.default")
def polar(out: Shape, size: Instruction, angle_: Instruction) -> Instruction:
    """Complex numbers of their absolute values and angles."""
    parts = out.with_type(out.element_type.real)
    size, angle_ = to_shape(parts, size), to_shape(parts, angle_)
    return make("complex", size * make("cosine", angle_), size * make("sine", angle_))


@aten("angle.default")
def angle(out: Shape, x: Instruction) -> Instruction:
    """The angle of a complex number; of a real one, 0 or pi."""
    if x.shape.element_type.is_complex:
        return make("atan2", make("imag", x), make("real", x))
    value = to_shape(out, x)
    found = make("select", value < 0, splat(math.pi, out), splat(0, out))
    return (
        make("select", isnan(out, value), value, found) if out.element_type.is_floating else found
    )


@aten("view_as_complex.default")
def view_as_complex(out: Shape, x: Instruction) -> Instruction:
    """Complex numbers of the parts along the last dimension."""
    last = x.shape.rank - 1
    return make("complex", *(to_dims(cut(x, last, k, k + 1), out.dims) for k in (0, 1)))


@aten("view_as_real.default")
def view_as_real(_out: Shape, x: Instruction) -> Instruction:
    """The parts of complex numbers along a new last dimension."""
    dims = (*x.shape.dims, 1)
    return joined([to_dims(make(part, x), dims) for part in ("real", "imag")], len(dims) - 1)
