"""Splits each reshape into a bitcast, which moves no byte, and copies that move them, if any.

    f32[6]{0} reshape(f32[2,3]{1,0} x)      =>   f32[6]{0} bitcast(x)
    f32[6]{0} reshape(f32[2,3]{0,1} x)      =>   f32[6]{0} bitcast(f32[2,3]{1,0} copy(x))

Row-major arrays never need a copy: a reshape keeps row-major numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.tiling import fill_same_memory
from optimizer.expanders.op_expander import expander
from optimizer.layout.orders import order_of, reshaped, rows, same_memory, with_order
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import reshape, x

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@expander(
    "reshape-decomposer", reshape(x), xla="xla/hlo/transforms/expanders/reshape_decomposer.cc"
)
def decompose_reshape(root: Instruction, x: Instruction) -> Instruction | None:
    """Replaces reshapes by bitcasts, but none between arrays of tiles."""
    operand, shape = x, root.shape
    if fill_same_memory(operand.shape, shape):
        return None
    forward = reshaped(operand.shape.dims, order_of(operand.shape), shape.dims)
    if forward is not None:
        bitcast = make("bitcast", operand, shape=with_order(shape, forward))
        return _copied(bitcast, shape)
    backward = reshaped(shape.dims, order_of(shape), operand.shape.dims)
    order = rows(operand.shape.rank) if backward is None else backward
    aligned = _copied(operand, with_order(operand.shape, order))
    result = shape if backward is not None else shape.with_default_layout()
    return _copied(make("bitcast", aligned, shape=result), shape)


def _copied(value: Instruction, shape: Shape) -> Instruction:
    """A value in another layout; a bitcast reads it so where no byte has to move."""
    if value.shape == shape:
        return value
    if value.opcode == "bitcast" and same_memory(
        shape.dims, order_of(value.shape), order_of(shape)
    ):
        return value.with_(shape=shape)
    return make("copy", value, shape=shape)
