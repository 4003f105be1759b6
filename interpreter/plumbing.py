"""Opcodes that hand values on: parameters, constants, tuples, copies, barriers, tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import PRED
from interpreter.table import evaluates

if TYPE_CHECKING:
    from hlo.attributes import Attrs, Constant, CopyStart, GetTupleElement
    from hlo.instruction import Instruction
    from hlo.types.literal import Literal
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

# The context that a start hands to its end, where XLA has a number that only it understands.
CONTEXT = np.zeros((), np.uint32)


@evaluates("parameter", "opt-barrier", "domain", xla="OptimizationBarrier")
def evaluate_identity(_instr: Instruction, _attrs: Attrs, operand: Value) -> Value:
    """The operand itself; of a parameter, the argument that the engine puts in its place."""
    return operand


# How many numbers are made up at a time, so that they take little memory beside the array.
_AT_ONCE = 1 << 20


@evaluates("constant", xla="ConstantLiteral")
def evaluate_constant(_instr: Instruction, attrs: Constant) -> Value:
    """The literal; one that the text elides (`{...}`) is made up, as XLA makes it up."""
    return _made_up(attrs.literal) if attrs.literal.elided else attrs.literal.value


def _made_up(literal: Literal) -> Value:
    """Values for a constant that nobody knows: its bytes hold the 32-bit numbers 0, 1, 2, ...

    As XLA's parser does, they count on from one constant to the next, so that no two are equal.
    XLA counts on from one text to the next too.

    References
    ----------
    `HloParserImpl::ParseDenseLiteral` in XLA.
    """
    shape = literal.shape
    if shape.is_tuple:
        return tuple(map(_made_up, literal.elements))
    values = np.zeros(shape.dims, shape.element_type.dtype)
    words = values.reshape(-1).view(np.uint8)[: values.nbytes // 4 * 4].view(np.uint32)
    for begin in range(0, words.size, _AT_ONCE):
        part = words[begin : begin + _AT_ONCE]
        part[:] = (literal.first + begin + np.arange(part.size)) % 2**32
    if shape.element_type.bits < 8 or shape.element_type is PRED:
        # A byte of these types must not hold more than the type's own bits.
        words &= np.uint32(0x01010101)
    return values


@evaluates("tuple", xla="Tuple")
def evaluate_tuple(_instr: Instruction, _attrs: Attrs, *operands: Value) -> Value:
    """A tuple of the operands."""
    return operands


@evaluates("get-tuple-element", xla="GetTupleElement")
def evaluate_get_tuple_element(
    _instr: Instruction,
    attrs: GetTupleElement,
    operand: tuple[Value, ...],
) -> Value:
    """One element of a tuple."""
    return operand[attrs.index]


@evaluates("after-all", xla="AfterAll")
def evaluate_after_all(_instr: Instruction, _attrs: Attrs, *_tokens: None) -> None:
    """A token. Instructions run in order here, so it has nothing to wait for."""


@evaluates("add-dependency", xla="HloInstruction::CreateAddDependency in XLA")
def evaluate_add_dependency(
    _instr: Instruction,
    _attrs: Attrs,
    operand: Value,
    _token: Any,
) -> Value:
    """The first operand."""
    return operand


@evaluates("copy-start", xla="HloInstruction::CreateCopyStart in XLA")
def evaluate_copy_start(
    _frame: Frame,
    _instr: Instruction,
    _attrs: CopyStart,
    operand: Value,
) -> Value:
    """The copy, the original, and a context without meaning."""
    return operand, operand, CONTEXT


@evaluates("copy-done", xla="HloInstruction::CreateCopyStart in XLA")
def evaluate_copy_done(
    _frame: Frame,
    _instr: Instruction,
    _attrs: Attrs,
    started: tuple[Value, ...],
) -> Value:
    """The copy that was started."""
    return started[0]
