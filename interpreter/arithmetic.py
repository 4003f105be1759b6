"""All opcodes that work element by element, save the conversions.

What an opcode does to one kind of number is one line in `PREDS`, `INTEGERS`, `FLOATS`,
`COMPLEXES` or `BITWISE`; here they enter the table, with the element types taken care of.
NumPy's warnings are off: infinities and NaN are results like others.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import Compare
from interpreter.numbers.bits import BITWISE
from interpreter.numbers.complexes import COMPLEXES
from interpreter.numbers.floats import FLOATS
from interpreter.numbers.integers import INTEGERS, PREDS
from interpreter.numbers.undefined import undefined
from interpreter.numbers.widths import COMPUTED, narrowed, type_of, widened
from interpreter.table import evaluates, prepares

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from interpreter.table import Evaluate

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
_python: Any = operator  # whose types are open
# On two scalars an operator gives the same in a tenth of the time.
OF_TWO_SCALARS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.add: _python.add,
    np.subtract: _python.sub,
    np.multiply: _python.mul,
    np.divide: _python.truediv,
    np.bitwise_and: _python.and_,
    np.bitwise_or: _python.or_,
    np.bitwise_xor: _python.xor,
    np.logical_and: _python.and_,
    np.logical_or: _python.or_,
    np.logical_xor: _python.xor,
    np.equal: _python.eq,
    np.not_equal: _python.ne,
    np.greater_equal: _python.ge,
    np.greater: _python.gt,
    np.less_equal: _python.le,
    np.less: _python.lt,
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


@prepares(evaluate_elementwise)
def prepare_elementwise(instr: Instruction) -> Evaluate:
    """The function of the operands' kind; nothing is widened or narrowed where all types are wide.

    Opcodes without a meaning for the types keep the function that raises the error.
    """
    compute = MEANINGS[instr.operands[0].shape.element_type.kind].get(instr.opcode)
    own = None if compute is None else _in_wide_types(instr, compute)
    return own or evaluate_elementwise


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


@prepares(evaluate_compare)
def prepare_compare(instr: Instruction) -> Evaluate:
    """The comparison itself, where neither a total order nor a narrow type asks for more."""
    attrs = Compare.of(instr)
    if attrs.type == "TOTALORDER" and instr.operands[0].shape.element_type.is_floating:
        return evaluate_compare
    return _in_wide_types(instr, COMPARISONS[attrs.direction]) or evaluate_compare


def _in_wide_types(instr: Instruction, compute: Callable[..., Any]) -> Evaluate | None:
    """A function for operands and results of types that NumPy computes in; None for others.

    `np.logical_and` and its like are of pred only, so their operators work on single bits.
    """
    shapes = (instr.shape, *(operand.shape for operand in instr.operands))
    if not all(shape.element_type in COMPUTED for shape in shapes):
        return None
    dtype = instr.shape.element_type.dtype

    def of_arrays(_instr: Instruction, _attrs: Attrs, *operands: Array) -> Array:
        return np.asarray(compute(*operands), dtype)

    quick = OF_TWO_SCALARS.get(compute)
    if quick is None or any(shape.rank for shape in shapes):
        return of_arrays

    def of_two_scalars(_instr: Instruction, _attrs: Attrs, x: Array, y: Array) -> Array:
        return np.asarray(quick(x[()], y[()]), dtype)

    return of_two_scalars


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
    if condition.ndim == 0:
        return on_true if condition else on_false
    return np.where(condition, on_true, on_false)
