"""The least that a kernel must read for a value: the value itself, or its sources.

Rules that look from a value to its users don't know yet which of its operands will be stored. They
need not, for what is made of nothing: a mask `iota() >= iota()` is cheaper computed than loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hlo.opcode import VIEWS

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.policy import Policy


# Their elements are elements of their operand.
_VIEWS = VIEWS - {"copy"}


class _ValueSource(NamedTuple):
    """Bytes that are read for a value, and operations on them that give it."""

    bytes: int
    operations: int


def least_bytes(computation: Computation, policy: Policy) -> dict[Instruction, int]:
    """Bytes that a kernel reads for each value, at least.

    What takes more operations than a kernel may repeat is read.
    """
    sources: dict[Instruction, _ValueSource] = {}
    for instr in computation.instructions:
        sources[instr] = _source(instr, sources, policy)
    return {instr: source.bytes for instr, source in sources.items()}


def _source(
    instr: Instruction, known: dict[Instruction, _ValueSource], policy: Policy
) -> _ValueSource:
    stored = _ValueSource(instr.shape.bytes, 0)
    if instr.opcode == "constant":
        return _ValueSource(0, 0) if instr.shape.size == 1 else stored
    if instr.opcode not in policy.producers or policy.is_expensive(instr):
        return stored
    operands = [known[operand] for operand in dict.fromkeys(instr.operands)]
    bytes_ = sum(operand.bytes for operand in operands)
    operations = 1 + sum(operand.operations for operand in operands)
    if bytes_ >= stored.bytes or operations > policy.repeated:
        return stored
    return _ValueSource(bytes_, operations)


def origin(instr: Instruction) -> Instruction:
    """The array whose elements a value shows, as a slice or a transpose does."""
    while instr.opcode in _VIEWS:
        instr = instr.operands[0]
    return instr
