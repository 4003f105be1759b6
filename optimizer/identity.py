"""Equality of instructions and computations but for names.

Names, metadata and positions do not count, nor do layouts unless they are asked for, save those by
which a bitcast reads; shapes, attributes, literals, shardings, a custom call's
configuration and the order of operands do, save that a commutative opcode's operands may change
places.

References
----------
XLA, `HloInstruction::IdenticalIgnoringCommutativeOperandOrder` and `HloComputation::Equal`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.walk import called_besides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Computation, Instruction


def reads_layouts(computation: Computation) -> bool:
    """Whether a computation has a bitcast, whose value depends on its operand's layout."""
    return "bitcast" in computation.opcodes


class Identity:
    """Numbers instructions and computations such that equal ones have equal numbers.

    Parameters
    ----------
    is_layout_sensitive : other layouts make another instruction.
    is_channel_sensitive : another channel makes another collective.
    """

    def __init__(
        self, *, is_layout_sensitive: bool = False, is_channel_sensitive: bool = True
    ) -> None:
        self.is_layout_sensitive = is_layout_sensitive
        self.is_channel_sensitive = is_channel_sensitive
        self._computations: dict[Computation, int] = {}
        self._numbers: dict[Any, int] = {}

    def key(self, instr: Instruction, operands: Mapping[Instruction, int]) -> Any:
        """The identity of an instruction, as a value to compare and hash.

        Parameters
        ----------
        operands : a number for each operand, the same for operands that count as equal.
        """
        numbers = [operands[operand] for operand in instr.operands]
        if "commutative" in instr.row.traits:
            numbers.sort()
        shape: Any = instr.shape if self.is_layout_sensitive else instr.shape.without_layout
        if instr.opcode == "bitcast":
            shape = instr.shape, instr.operands[0].shape
        called = tuple([self.of(computation) for computation in instr.called])
        sharding = instr.annotations.sharding
        # The options of a function: a factor's lower or upper triangle, for one.
        config = instr.annotations.backend_config if instr.opcode == "custom-call" else ""
        attrs: Any = instr.attrs
        if not self.is_channel_sensitive and getattr(attrs, "channel_id", None) is not None:
            # Groups are others where there is no channel.
            attrs = replace(attrs, channel_id=0)
        return instr.opcode, tuple(numbers), attrs, shape, called, sharding, config

    def of(self, computation: Computation) -> int:
        """The number of a computation."""
        for beside in called_besides(self._computations, computation):
            self._computations[beside] = self._number(self._structure(beside))
        return self._computations[computation]

    def _structure(self, computation: Computation) -> Any:
        """All instructions with operands by position, and the position of the root."""
        position = {instr: i for i, instr in enumerate(computation.instructions)}
        keys = tuple([self.key(instr, position) for instr in computation.instructions])
        ties = tuple(
            [
                (position[instr], tuple([position[p] for p in instr.control_predecessors]))
                for instr in computation.instructions
                if instr.control_predecessors
            ]
        )
        return keys, ties, position[computation.root], computation.execution_thread

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))
