"""At which places, and how many times, a fusion asks for the elements of a value.

A place is an index as a function of the result's index. An elementwise operation asks for its
operands at its own place; what moves elements asks at another one. Two users that ask at the same
place share one computation; two places are two pieces of code. The number of evaluations tells
whether any element is computed twice.

    y = f32[8,4] broadcast(x), dimensions={1}    x has 4 elements and is asked 32 times
    y = f32[2,4] slice(x), slice={[0:2], [0:4]}  x has 32 elements and is asked 8 times

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

# From a place to the number of evaluations at it.
Places = dict[int, float]
# The place of every fusion's result; the only place at which a scalar can be asked for.
RESULT, SCALAR = 0, 1


class PlaceNumbers:
    """Gives numbers to places, equal ones to equal places."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Instruction, int, int], int] = {}

    def operand(self, user: Instruction, number: int, place: int) -> int:
        """The place at which an instruction that moves elements asks for an operand."""
        return self._numbers.setdefault((user, number, place), len(self._numbers) + SCALAR + 1)

    def of_operand(self, user: Instruction, number: int, places: Places) -> Places:
        """The places and evaluations of an operand, from those of its user."""
        evaluations = _evaluations(user, number)
        if user.operands[number].shape.rank == 0:
            return {SCALAR: max(places.values()) * evaluations} if places else {}
        if user.row.elementwise or user.opcode in ("copy", "map"):
            return {place: times * evaluations for place, times in places.items()}
        return {
            self.operand(user, number, place): times * evaluations
            for place, times in places.items()
        }


def _evaluations(user: Instruction, number: int) -> float:
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
