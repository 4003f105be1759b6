"""Writes bitcasts between tiled layouts as the moves that they are for a backend without tiles.

bitcast(f32[16,128]{1,0:T(8,128)}), shape=f32[2,8,128]   =>   reshape(transpose(reshape(x)))

The padding of tiles reads as 0, as in the interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.tiling import fill_same_memory, tilings
from optimizer.dimensions import inverse
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import bits_of, cut, number, padded, permuted, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@expander("tiled-bitcast-expander", "bitcast", always=True)
def move_tiles(site: ExpansionSite) -> Instruction | None:
    """Replaces bitcasts between tiled layouts by reshapes, transposes, pads and slices.

    One that also changes the width of elements stays.
    """
    instr = site.instr
    (operand,) = instr.operands
    source, target = operand.shape, instr.shape
    if not fill_same_memory(source, target) or source.element_type.bits != target.element_type.bits:
        return None
    row = _in_tiles(operand)
    if source.element_type is not target.element_type:
        row = bits_of(row, target.element_type)
    flat = _out_of_tiles(row, target)
    return make("copy", flat, shape=target)


def _in_tiles(operand: Instruction) -> Instruction:
    """An array's memory, with the padding of its tiles, as one dimension."""
    shape = operand.shape
    moved = permuted(operand, shape.memory_order)
    zero = number(0, shape.element_type)
    for step in tilings(shape):
        moved = to_dims(moved, step.dims)
        for axis, more in enumerate(step.padded):
            if more > step.dims[axis]:
                moved = padded(moved, zero, axis, 0, more - step.dims[axis])
        moved = permuted(to_dims(moved, step.split), step.order)
    return to_dims(moved, (moved.shape.size,))


def _out_of_tiles(row: Instruction, shape: Shape) -> Instruction:
    """The array that lies in memory as `_in_tiles` says."""
    moved = row
    for step in reversed(tilings(shape)):
        moved = to_dims(moved, [step.split[i] for i in step.order])
        moved = to_dims(permuted(moved, inverse(step.order)), step.padded)
        for axis, dim in enumerate(step.dims):
            if dim < step.padded[axis]:
                moved = cut(moved, axis, 0, dim)
    order = shape.memory_order
    return permuted(to_dims(moved, [shape.dims[d] for d in order]), inverse(order))
