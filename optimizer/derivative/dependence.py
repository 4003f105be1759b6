"""The leaves of parameters that each value depends on, through real and complex numbers.

What does not depend on an argument has no derivative by it, and a loop carries tangents only of
what does. The leaves of all parameters of a computation are numbered; a set of them is an integer
with a bit each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import called_first
from optimizer.derivative.movement import leaf_range
from optimizer.derivative.table import differentiates, has_tangents, leaf_shapes, nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Computation, Instruction

Sets = tuple[int, ...]


class Dependence:
    """The dependence of each computation's results, and of each of its values, on parameters.

    Attributes
    ----------
    results : by computation, a set for each leaf of the root.
    """

    def __init__(self, entry: Computation) -> None:
        self.results: dict[Computation, Sets] = {}
        for computation in called_first(entry):
            everything = numbered(computation)
            self.results[computation] = self.within(computation, everything)[computation.root]

    def within(self, computation: Computation, given: Sequence[Sets]) -> dict[Instruction, Sets]:
        """The sets of all values of a computation.

        Parameters
        ----------
        given : the sets of each parameter's leaves.
        """
        found = dict(zip(computation.parameters, given, strict=True))
        for instr in computation.instructions:
            if instr not in found:
                sets = self._of(instr, [found[o] for o in instr.operands])
                shapes = leaf_shapes(instr.shape)
                found[instr] = tuple(
                    each if has_tangents(shape) else 0
                    for each, shape in zip(sets, shapes, strict=True)
                )
        return found

    def _of(self, instr: Instruction, operands: Sequence[Sets]) -> Sets:
        if instr.opcode == "tuple":
            return tuple(each for sets in operands for each in sets)
        if instr.opcode == "get-tuple-element":
            first, count = leaf_range(instr)
            return operands[0][first : first + count]
        if instr.opcode == "while":
            return through(self.closure(instr.called[1]), operands[0])
        if instr.opcode == "conditional":
            pairs = zip(instr.called, operands[1:], strict=True)
            of_branches = [through(self.results[b], sets) for b, sets in pairs]
            return tuple(map(union, zip(*of_branches, strict=True)))
        if differentiates.get(instr.opcode) is nothing:
            return (0,) * instr.shape.leaf_count
        return (union(each for sets in operands for each in sets),) * instr.shape.leaf_count

    def closure(self, body: Computation) -> Sets:
        """The leaves of a loop's first state that each leaf of its last state depends on."""
        sets = [each | 1 << k for k, each in enumerate(self.results[body])]
        while True:
            wider = list(through(sets, sets))
            if wider == sets:
                return tuple(sets)
            sets = wider


def numbered(computation: Computation) -> list[Sets]:
    """The set of itself for each leaf of a computation's parameters."""
    found: list[Sets] = []
    first = 0
    for parameter in computation.parameters:
        shapes = leaf_shapes(parameter.shape)
        found.append(tuple(has_tangents(s) << first + k for k, s in enumerate(shapes)))
        first += len(shapes)
    return found


def union(sets: Iterable[int]) -> int:
    """All elements of some sets."""
    found = 0
    for each in sets:
        found |= each
    return found


def through(results: Sequence[int], given: Sequence[int]) -> Sets:
    """The sets of a computation's results, for arguments with sets of their own."""
    return tuple(union(s for k, s in enumerate(given) if each >> k & 1) for each in results)
