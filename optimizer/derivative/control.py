"""Derivatives of loops and branches, and of all computations that they call."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo.walk import called_first
from optimizer.derivative.bodies import (
    LinearBody,
    body_of,
)
from optimizer.derivative.branches import Branches
from optimizer.derivative.dependence import Dependence, Sets
from optimizer.derivative.linearize import copied
from optimizer.derivative.loops import Loops
from optimizer.derivative.table import (
    Dual,
    Leaves,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction


@dataclass
class Transformation:
    """The derivative of all computations that a module's entry calls.

    Parameters
    ----------
    entry : the entry computation.
    active : for each leaf of its parameters, in order, whether it has a tangent.
    backwards : loops and branches will be transposed.
    checkpoints : a loop of n iterations keeps the state of every sqrt(n)-th only.
    """

    entry: Computation
    active: Sequence[bool]
    backwards: bool
    checkpoints: bool = False
    bodies: dict[tuple[Computation, Sets], LinearBody] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        """Linearize all computations that loops and branches run, callees first."""
        self.loops = Loops(self.back, self.checkpoints)
        self.branches = Branches(self.back)
        self.dependence = Dependence(self.entry)
        asked = self._asked()
        for computation in called_first(self.entry):
            for sets in asked.get(computation, ()) if computation is not self.entry else ():
                active = [k for k, flag in enumerate(sets) if flag]
                control = self.control(computation, [sets])
                self.bodies[computation, sets] = body_of(computation, active, control)

    def _asked(self) -> dict[Computation, dict[Sets, None]]:
        """The leaves of each computation's parameters that have tangents, in all of its calls."""
        asked: dict[Computation, dict[Sets, None]] = {self.entry: {}}
        for computation in reversed(called_first(self.entry)):
            requests = [self.of_entry()] if computation is self.entry else []
            requests += [[sets] for sets in asked.get(computation, ())]
            for request in requests:
                dependences = self.dependence.within(computation, request)
                for instr in computation.instructions:
                    if not any(dependences[instr]):
                        continue
                    if instr.opcode == "while":
                        asked.setdefault(instr.called[1], {})[marks(dependences[instr])] = None
                    if instr.opcode == "conditional":
                        for branch, operand in zip(instr.called, instr.operands[1:], strict=True):
                            asked.setdefault(branch, {})[marks(dependences[operand])] = None
        return asked

    def of_entry(self) -> list[Sets]:
        """For each parameter of the entry, which leaves have tangents."""
        rest = iter(self.active)
        return [
            tuple(int(next(rest)) for _ in range(p.shape.leaf_count)) for p in self.entry.parameters
        ]

    def control(self, computation: Computation, sets: Sequence[Sets]) -> Any:
        """The rule of loops and branches in a computation."""
        dependences = self.dependence.within(computation, sets)
        return partial(self.changed, dependences)

    def changed(
        self, dependences: dict[Instruction, Sets], instr: Instruction, operands: Sequence[Dual]
    ) -> Dual:
        """The value and tangents of a loop or of a branch."""
        results = [k for k, flag in enumerate(dependences[instr]) if flag]
        if not results:
            value = copied(instr, [pair.value for pair in operands])
            return Dual(value, (None,) * instr.shape.leaf_count)
        if instr.opcode == "conditional":
            branches = [
                self.bodies[branch, marks(dependences[operand])]
                for branch, operand in zip(instr.called, instr.operands[1:], strict=True)
            ]
            rule = self.branches.backwards if self.backwards else self.branches.forwards
            return rule(instr, operands, branches, results)
        body = self.bodies[instr.called[1], marks(dependences[instr])]
        rule = self.loops.backwards if self.backwards else self.loops.forwards
        return rule(instr, operands[0], body)

    def back(self, instr: Instruction, leaves: Leaves, _linear: Sequence[bool]) -> Sequence[Leaves]:
        """The cotangents of a loop's state, or of branches' operands.

        An instruction that carries tangents holds the computations that carry cotangents: it is
        there to be transposed, and never runs.
        """
        rules = self.loops if instr.opcode == "while" else self.branches
        return rules.transposed(instr, leaves)


def marks(sets: Sequence[int]) -> Sets:
    """For each leaf whether it has a tangent."""
    return tuple(int(bool(own)) for own in sets)
