"""New instructions for rewrites: any opcode in a line, constants, splats, and constants' values.

Names given here are the opcodes, and only provisional: who puts instructions into a computation
(`optimizer.rewriting.rewrite` for rules) gives them unique names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import Broadcast, Constant
from hlo.build import instruction
from hlo.instruction import Instruction
from hlo.types.literal import literal
from hlo.types.shape import array
from interpreter.engine.frame import quiet
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Computation
    from hlo.types.shape import Shape

    Array = NDArray[Any]
    Number = bool | int | float | complex


def make(
    opcode: str,
    *operands: Instruction | Number,
    shape: Shape | None = None,
    called: Sequence[Computation] = (),
    **attrs: Any,
) -> Instruction:
    """One new instruction.

    Parameters
    ----------
    operands : a number stands for a splat in the shape of the operands beside it.
    shape : of the result; inferred if None. What inference cannot know needs one: reshape,
        convert, broadcast, iota, ...
    attrs : fields of the opcode's attribute class.

    Raises
    ------
    HloError
        if the shape can't be inferred.
    """
    real = lifted(opcode, operands)
    return instruction(opcode, real, name=opcode, shape=shape, called=called, **attrs)


def lifted(opcode: str, operands: Sequence[Instruction | Number]) -> list[Instruction]:
    """Operands with splats, in the shape of an operand beside them, for numbers."""
    # The first operand of a select is a pred, so it says nothing of the others' type.
    telling = operands[1:] if opcode == "select" else operands
    shape = next((o.shape for o in telling if isinstance(o, Instruction)), None)
    return [o if isinstance(o, Instruction) else splat(o, cast("Shape", shape)) for o in operands]


def constant(value: Array) -> Instruction:
    """A constant that holds an array."""
    held = literal(value)
    return make("constant", shape=held.shape, literal=held)


def splat(value: Number | Array, shape: Shape) -> Instruction:
    """One number everywhere: a scalar constant, broadcast if the shape has dimensions.

    The number is rounded to, or wraps around in, the shape's element type.
    """
    element_type = shape.element_type
    scalar = constant(np.asarray(value).astype(element_type.dtype))
    if not shape.dims:
        return scalar
    return make("broadcast", scalar, shape=shape, dimensions=())


def value_of(instr: Instruction) -> Array | None:
    """The value of a constant, or the scalar that a broadcast repeats everywhere.

    Returns
    -------
    Array or None
        shape () for a splat, the instruction's own for a constant; None for anything else, and
        for constants whose text was elided.
    """
    if instr.opcode == "broadcast":
        if Broadcast.of(instr).dimensions:
            return None
        instr = instr.operands[0]
    if instr.opcode != "constant":
        return None
    held = Constant.of(instr).literal
    return None if held.elided else held.array


def fold(opcode: str, like: Shape, *operands: Instruction) -> Instruction:
    """The constant that an elementwise opcode computes from constants, as the interpreter does.

    Parameters
    ----------
    like : of the result.
    operands : for which `value_of` has a value.
    """
    values = [value_of(operand) for operand in operands]
    shape = like if any(v is not None and v.ndim for v in values) else array(like.element_type)
    step = make(opcode, *operands, shape=shape)
    spread = [np.broadcast_to(cast("Array", v), shape.dims) for v in values]
    with quiet():
        result = cast("Array", evaluates[opcode](step, step.attrs, *spread))
    return constant(result) if shape.dims else splat(result, like)
