"""All opcodes that work element by element, save the conversions.

What an opcode does to one kind of number is one line in `PREDS`, `INTEGERS`, `FLOATS`,
`COMPLEXES` or `BITWISE`; here they enter the table, with the element types taken care of.
NumPy's warnings are off: infinities and NaN are results like others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.numbers.bits import BITWISE
from interpreter.numbers.complexes import COMPLEXES
from interpreter.numbers.floats import FLOATS
from interpreter.numbers.integers import INTEGERS, PREDS
from interpreter.numbers.undefined import undefined
from interpreter.numbers.widths import narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import Attrs, Compare
    from hlo.instruction import Instruction

    Array = NDArray[Any]

MEANINGS = {
    "pred": PREDS,
    "signed": INTEGERS,
    "unsigned": INTEGERS,
    "float": FLOATS,
    "complex": COMPLEXES,
}
COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


def evaluate_elementwise(instr: Instruction, _attrs: Attrs, *operands: Array) -> Array:
    """Apply an elementwise opcode to numbers, by their kind.

    Returns
    -------
    Array
        of the instruction's element type: rounded once, or wrapped around.

    Raises
    ------
    HloError
        HLO101 if the opcode means nothing for the operands' type, as a square root of integers.
    """
    element_type = type_of(operands[0])
    compute = MEANINGS[element_type.kind].get(instr.opcode)
    if compute is None:
        raise undefined(instr.opcode, element_type, instr.span)
    return narrowed(compute(*map(widened, operands)), instr.shape.element_type)


def evaluate_bitwise(instr: Instruction, _attrs: Attrs, *operands: Array) -> Array:
    """Apply an opcode to the bits of integers, by their width.

    Raises
    ------
    HloError
        HLO101 if the operands are no integers.
    """
    element_type = type_of(operands[0])
    if not element_type.is_integer:
        raise undefined(instr.opcode, element_type, instr.span)
    return narrowed(BITWISE[instr.opcode](*operands), instr.shape.element_type)


_NAMES = {opcode for meanings in MEANINGS.values() for opcode in meanings}
evaluates.define_all(dict.fromkeys(sorted(_NAMES), evaluate_elementwise))
evaluates.define_all(dict.fromkeys(BITWISE, evaluate_bitwise))


@evaluates("compare", xla="Compare. IEEE 754-2019, 5.10 totalOrder")
def evaluate_compare(instr: Instruction, attrs: Compare, x: Array, y: Array) -> Array:
    """Compare numbers, as pred.

    NaN is unequal to everything, itself included, and the zeros are equal; unless the comparison
    is of type TOTALORDER: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN.

    Raises
    ------
    HloError
        HLO101 for an order of complex numbers; they are equal or not.
    """
    if type_of(x).is_complex and attrs.direction not in ("EQ", "NE"):
        raise undefined(instr.opcode, type_of(x), instr.span)
    wide_x, wide_y = widened(x), widened(y)
    if attrs.type == "TOTALORDER" and type_of(x).is_floating:
        wide_x, wide_y = total_order(wide_x), total_order(wide_y)
    return np.asarray(COMPARISONS[attrs.direction](wide_x, wide_y))


def total_order(x: Array) -> Array:
    """Integers that are ordered as floats are in total order.

    The bits of positive floats already are; those of negative ones count downwards, so all bits
    but the sign are flipped.
    """
    bits = x.view(np.int32 if x.dtype == np.float32 else np.int64)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


@evaluates("select", xla="Select")
def evaluate_select(
    _instr: Instruction, _attrs: Attrs, condition: Array, on_true: Array, on_false: Array
) -> Array:
    """Take each element from one of two arrays.

    Parameters
    ----------
    condition : pred, shape () or that of the others.
    """
    return np.where(condition, on_true, on_false)
