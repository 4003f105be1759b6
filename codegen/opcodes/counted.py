"""Integers that follow from an element's index alone, as sums of counters.

Windows of a signal are gathered at i + j, where i and j are iotas, and a row of a matrix at an iota
and an index that is looked up. Where such a sum lies within an array, nothing has to be compared
with its ends, and neighbours are loaded, not looked up: counts of 20,000 words of six letters take
0.3 of the time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from codegen.elements.constants import literal_of
from hlo import attributes as a
from hlo.types.limits import integer_range
from optimizer.analysis.indexing import Sum
from optimizer.analysis.indexing_map import sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from codegen.elements.body import Body
    from codegen.elements.writer import Environment
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index
    from optimizer.analysis.indexing_map import Copied

# Chosen: operations that are followed from an index on. JAX takes four to count from the end.
_MOST_STEPS = 64


def counted(body: Body, instr: Instruction, index: Index) -> Sum | None:
    """The value of an integer element, as a sum of counters; None where it depends on more."""
    return _Counting().value(body.environment, instr, index)


class _Counting:
    """The search for the value of an element.

    Attributes
    ----------
    steps : how many operations may still be followed.
    """

    def __init__(self) -> None:
        self.steps = _MOST_STEPS

    def value(self, environment: Environment, instr: Instruction, index: Index) -> Sum | None:
        """The value of an element, if no operation on the way to it wraps around."""
        while self.steps > 0:
            self.steps -= 1
            while instr in environment.aliases:
                environment, instr = environment.aliases[instr]
            if instr in environment.pointers or not instr.shape.element_type.is_integer:
                return None
            if (moved := _moved(instr, index)) is None:
                bounded = self._made(environment, instr, index)
                low, high = integer_range(instr.shape.element_type)
                return bounded if bounded and low <= bounded.low and bounded.high <= high else None
            instr, index = moved.operand, moved.source_index
        return None

    def _made(self, environment: Environment, instr: Instruction, index: Index) -> Sum | None:
        """The value that an instruction computes."""
        if instr.opcode == "iota":
            return index[a.Iota.of(instr).iota_dimension]
        if instr.opcode == "constant":
            array = literal_of(instr).array
            return Sum(int(array.item())) if array is not None and array.size == 1 else None
        if instr.opcode == "select":
            condition, *sides = instr.operands
            holds = self._holds(environment, condition, index if condition.shape.rank else ())
            return None if holds is None else self.value(environment, sides[not holds], index)
        if instr.opcode == "convert":
            return self.value(environment, instr.operands[0], index)
        pair = self._pair(environment, instr, index) if instr.opcode in _COMPUTED else None
        return _COMPUTED[instr.opcode](*pair) if pair else None

    def _holds(self, environment: Environment, instr: Instruction, index: Index) -> bool | None:
        """Whether a comparison of two values holds; None where that is not certain."""
        while (moved := _moved(instr, index)) is not None:
            instr, index = moved.operand, moved.source_index
        if instr.opcode != "compare" or instr in environment.pointers:
            return None
        pair = self._pair(environment, instr, index)
        if pair is None:
            return None
        left, right = pair
        rest = left + right * -1
        less, greater = rest.high < 0, rest.low > 0
        match a.Compare.of(instr).direction:
            case "LT" | "GE" as direction if less or rest.low >= 0:
                return less == (direction == "LT")
            case "GT" | "LE" as direction if greater or rest.high <= 0:
                return greater == (direction == "GT")
            case "EQ" | "NE" as direction if less or greater:
                return direction == "NE"
            case _:
                return None

    def _pair(
        self, environment: Environment, instr: Instruction, index: Index
    ) -> tuple[Sum, Sum] | None:
        """The values of two operands; None if one of them is not known."""
        left, right = (self.value(environment, operand, index) for operand in instr.operands)
        return None if left is None or right is None else (left, right)


def _moved(instr: Instruction, index: Index) -> Copied | None:
    """The element of which an element is a copy, where that is certain."""
    moves = [s for s in sources(instr, index) if not any(c.is_impossible for c in s.conditions)]
    if not moves or any(c.is_open for c in moves[0].conditions):
        return None
    # A bitcast may be to another type.
    return moves[0] if moves[0].operand.shape.element_type is instr.shape.element_type else None


def _product(left: Sum, right: Sum) -> Sum | None:
    """A multiple of a sum; None for a product of two."""
    if not right.terms:
        return left * right.constant
    return right * left.constant if not left.terms else None


def _one_of(left: Sum, right: Sum, *, greater: bool) -> Sum | None:
    """The greater or the lesser of two sums, if it is the same one for all counters."""
    rest = left + right * -1
    if rest.low >= 0:
        return left if greater else right
    if rest.high <= 0:
        return right if greater else left
    return None


_COMPUTED: dict[str, Callable[[Sum, Sum], Sum | None]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left + right * -1,
    "multiply": _product,
    "maximum": partial(_one_of, greater=True),
    "minimum": partial(_one_of, greater=False),
}
