"""The leaves of parameters that each value depends on, through real and complex numbers.

What does not depend on an argument has no derivative by it, and a loop carries tangents only of
what does. The leaves of all parameters of a computation are numbered; a set of them is an integer
with a bit each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.opcode import FORWARDING
from hlo.walk import called_first
from optimizer.derivative.movement import leaf_range
from optimizer.derivative.table import differentiates, has_tangents, leaf_shapes, nothing
from optimizer.loops.state import element_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape

Sets = tuple[int, ...]


def has_no_derivative(opcode: str) -> bool:
    """Whether small changes of an opcode's operands do not change its results."""
    return differentiates.get(opcode) is nothing


class Dependence:
    """The dependence of each computation's results, and of each of its values, on parameters.

    Parameters
    ----------
    counts : whether leaves of a shape can depend on anything.
    forgets : whether the results of an opcode depend on nothing, whatever its operands do.
    decides : whether results also depend on the choice of a branch, or of an end of a loop.

    Attributes
    ----------
    results : by computation, a set for each leaf of the root.
    """

    def __init__(
        self,
        entry: Computation,
        counts: Callable[[Shape], bool] = has_tangents,
        forgets: Callable[[str], bool] = has_no_derivative,
        *,
        decides: bool = False,
    ) -> None:
        self.counts, self.forgets, self.decides = counts, forgets, decides
        self.results: dict[Computation, Sets] = {}
        for computation in called_first(entry):
            everything = self.numbered(computation)
            self.results[computation] = self.within(computation, everything)[computation.root]

    def within(self, computation: Computation, inputs: Sequence[Sets]) -> dict[Instruction, Sets]:
        """The sets of all values of a computation.

        Parameters
        ----------
        dependences_in : the sets of each parameter's leaves.
        """
        known = dict(zip(computation.parameters, inputs, strict=True))
        for instr in computation.instructions:
            if instr not in known:
                sets = self._of(instr, [known[o] for o in instr.operands])
                shapes = leaf_shapes(instr.shape)
                known[instr] = tuple(
                    marks if self.counts(shape) else 0
                    for marks, shape in zip(sets, shapes, strict=True)
                )
        return known

    def _of(self, instr: Instruction, operands: Sequence[Sets]) -> Sets:
        match instr.opcode:
            case "tuple":
                sets = tuple(marks for sets in operands for marks in sets)
            case "get-tuple-element":
                first, count = leaf_range(instr)
                sets = operands[0][first : first + count]
            case "while":
                sets = through(self.closure(*instr.called), operands[0])
            case "conditional":
                pairs = zip(instr.called, operands[1:], strict=True)
                of_branches = [through(self.results[b], sets) for b, sets in pairs]
                choice = operands[0][0] if self.decides else 0
                sets = tuple(choice | union(sets) for sets in zip(*of_branches, strict=True))
            case opcode if opcode in FORWARDING:
                sets = operands[0]
            case opcode:
                every = union(marks for sets in operands for marks in sets)
                sets = (0 if self.forgets(opcode) else every,) * instr.shape.leaf_count
        return sets

    def closure(self, condition: Computation, body: Computation) -> Sets:
        """The leaves of a loop's first state that each leaf of its last state depends on."""
        sets = [result | 1 << k for k, result in enumerate(self.results[body])]
        if self.decides:
            (choice,) = self.results[condition]
            sets = [marks if is_same(body, k) else marks | choice for k, marks in enumerate(sets)]
        while True:
            wider = list(through(sets, sets))
            if wider == sets:
                return tuple(sets)
            sets = wider

    def numbered(self, computation: Computation) -> list[Sets]:
        """The set of itself for each leaf of a computation's parameters."""
        numbered_sets: list[Sets] = []
        first = 0
        for parameter in computation.parameters:
            shapes = leaf_shapes(parameter.shape)
            numbered_sets.append(tuple(self.counts(s) << first + k for k, s in enumerate(shapes)))
            first += len(shapes)
        return numbered_sets


def is_same(body: Computation, k: int) -> bool:
    """Whether a loop over a tuple of arrays passes the one at index k on as it is."""
    root = body.root
    if root.opcode != "tuple" or any(e.is_tuple for e in root.shape.elements):
        return False
    return element_of(root.operands[k], body.parameters[0]) == k


def union(sets: Iterable[int]) -> int:
    """All elements of some sets."""
    total = 0
    for marks in sets:
        total |= marks
    return total


def through(results: Sequence[int], sets: Sequence[int]) -> Sets:
    """The sets of a computation's results, for arguments with sets of their own."""
    return tuple(union(s for k, s in enumerate(sets) if result >> k & 1) for result in results)
