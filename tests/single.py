"""One instruction, evaluated alone."""

from typing import Any

import numpy as np

from hlo.attributes import NO_ATTRS, Attrs
from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import array
from interpreter import arithmetic, conversion  # noqa: F401  they fill the table
from interpreter.engine.frame import quiet
from interpreter.table import evaluates


def values(element_type: str, numbers: Any) -> Any:
    """An array of an element type; Python integers are wrapped into its range."""
    target = ELEMENT_TYPES[element_type]
    if target.is_integer:
        bits = np.array([int(n) % 2**64 for n in np.ravel(np.asarray(numbers, object))], np.uint64)
        wide = bits.view(np.int64) if target.kind == "signed" else bits
        return wide.astype(target.dtype).reshape(np.shape(numbers))
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(target.dtype)


def all_values(element_type: str) -> Any:
    """Every value of a type of at most 8 bits."""
    target = ELEMENT_TYPES[element_type]
    if target.is_integer:
        return values(element_type, range(2**target.bits))
    codes = np.arange(256, dtype=np.uint8)
    return codes[: 2 ** _float_bits(element_type)].view(target.dtype)


def _float_bits(element_type: str) -> int:
    return int(element_type[1])


def evaluate(opcode: str, result: str, *operands: Any, **attrs: Any) -> Any:
    """What an opcode gives for operands; the result is checked to be an array of its type."""
    group: type[Attrs] = OPCODES[opcode].attrs
    made = group(**attrs) if attrs else NO_ATTRS
    dims = max((np.shape(operand) for operand in operands), key=len)
    instr = Instruction("r", opcode, array(ELEMENT_TYPES[result], dims), (), made)
    with quiet():
        got = evaluates[opcode](instr, made, *operands)
    assert isinstance(got, np.ndarray)
    assert (got.dtype, got.shape) == (ELEMENT_TYPES[result].dtype, dims)
    return got
