"""Opcodes about an array's bits and sizes instead of its numbers, as the solver's terms."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import S32
from hlo_tools.proofs.arrays import translates
from hlo_tools.proofs.meanings import FORMATS, UntranslatedError, number, sort_of
from hlo_tools.proofs.solver import Solved, z3
from hlo_tools.proofs.term_arrays import Value, each, filled
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

    Array = NDArray[Any]


@translates("bitcast-convert")
def _bitcast_convert(instr: Instruction, _attrs: a.Attrs, operand: Array) -> Value:
    source, target = instr.operands[0].shape.element_type, instr.shape.element_type
    if source is target:
        return operand
    if source.bits != target.bits:
        raise UntranslatedError(f"the bits of {source} as {target}")
    return each(lambda x: from_bits(bits_of(x, source), target), operand)


def bits_of(x: Solved, element_type: ElementType) -> Solved:
    """The bits of a number. Those of a NaN are known only where it was made of bits."""
    if element_type.is_integer:
        return x
    if element_type not in FORMATS:
        raise UntranslatedError(f"the bits of {element_type}")
    made_of_bits = z3.is_app_of(x, z3.Z3_OP_FPA_TO_FP) and x.num_args() == 1
    return x.arg(0) if made_of_bits else z3.fpToIEEEBV(x)


def from_bits(bits: Solved, element_type: ElementType) -> Solved:
    """The number that has these bits."""
    if element_type.is_integer:
        return bits
    if element_type not in FORMATS:
        raise UntranslatedError(f"the bits of {element_type}")
    made_of_number = z3.is_app_of(bits, z3.Z3_OP_FPA_TO_IEEE_BV)
    same = made_of_number and bits.arg(0).sort() == sort_of(element_type)
    return bits.arg(0) if same else z3.fpBVToFP(bits, sort_of(element_type))


@translates("get-dimension-size")
def _get_dimension_size(_instr: Instruction, attrs: a.Dimensions, operand: Array) -> Value:
    return filled((), [number(operand.shape[attrs.dimensions[0]], S32)])


@translates("set-dimension-size")
def _set_dimension_size(
    instr: Instruction, attrs: a.Dimensions, operand: Array, size: Array
) -> Value:
    known = z3.simplify(size[()])
    if not z3.is_bv_value(known):
        raise UntranslatedError("a size that only the run knows")
    length = np.array(known.as_signed_long(), np.int32)
    return evaluates["set-dimension-size"](instr, attrs, operand, length)
