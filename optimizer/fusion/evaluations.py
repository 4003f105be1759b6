"""Counts how often a fusion evaluates a value, and at how many different indices.

An index here is a function of the index of the fusion's result. An elementwise instruction needs
its operands at its own index; an instruction that moves elements needs them at another one. Two
users that need a value at the same index share one computation of it; for two indices, code is
emitted twice. The count of evaluations tells whether an element is computed more than once.

    y = f32[8,4] broadcast(x), dimensions={1}    x has 4 elements and is evaluated 32 times
    y = f32[2,4] slice(x), slice={[0:2], [0:4]}  x has 32 elements and is evaluated 8 times

References
----------
XLA, `xla/service/fusion_node_indexing_evaluation.cc`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# The number of evaluations of a value, by the number that stands for their index.
Evaluations = dict[int, float]
# The number of the index of every fusion's result, and that of the empty index of every scalar.
RESULT, SCALAR = 0, 1


class IndexNumbers:
    """Gives numbers to indices, the same number to equal ones."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Instruction, int, int], int] = {}

    def evaluations_of_operand(
        self, user: Instruction, number: int, evaluations: Evaluations
    ) -> Evaluations:
        """The evaluations of an operand that those of its user lead to.

        Parameters
        ----------
        number : of the operand.
        evaluations : of the user.
        """
        factor = _elements_needed(user, number)
        if user.operands[number].shape.rank == 0:
            return {SCALAR: max(evaluations.values()) * factor} if evaluations else {}
        if user.row.elementwise or user.opcode in ("copy", "map"):
            return {index: count * factor for index, count in evaluations.items()}
        return {
            self._moved(user, number, index): count * factor for index, count in evaluations.items()
        }

    def _moved(self, user: Instruction, number: int, index: int) -> int:
        """The index at which an instruction that moves elements needs an operand."""
        return self._numbers.setdefault((user, number, index), len(self._numbers) + SCALAR + 1)


def _elements_needed(user: Instruction, number: int) -> float:
    """The average number of an operand's elements that one element of the result needs."""
    operand, size = user.operands[number].shape, max(user.shape.first_leaf.size, 1)
    if user.opcode == "reduce" and number < len(user.operands) // 2:
        return operand.size / size
    if user.opcode == "reduce-window" and number < len(user.operands) // 2:
        attrs = a.Windowed.of(user)
        return prod(w.size for w in attrs.window)
    if user.opcode in ("concatenate", "pad"):
        return min(1, operand.size / size)
    if user.opcode == "gather" and number == 1:
        gather = a.Gather.of(user)
        return len(gather.start_index_map)
    return 1
