"""The memo of rewriting: instructions that no rule fitted, and so need not be tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Computation, Instruction
    from optimizer.rewriting.rule import RuleSet

NO_ANSWERS: Mapping[str, bool] = {}


@dataclass(slots=True)
class Settled:
    """The fixpoint of a rule set: no rule of it applies any more.

    Attributes
    ----------
    instructions : those that no rule fitted, by name. One need not be tried again while the part of
        the graph that rules see from it stays equal, and while the answers stay the same.
    has_one_use : for such an instruction, the answers that its rules' guards got: whether the
        instructions of these names have one use.
    computations : those in which no rule fits.
    """

    computations: set[Computation] = field(default_factory=set["Computation"])
    instructions: dict[str, Instruction] = field(default_factory=dict[str, "Instruction"])
    has_one_use: dict[str, dict[str, bool]] = field(default_factory=dict[str, dict[str, bool]])

    def copy(self) -> Settled:
        """A copy, which may become another one."""
        return Settled(set(self.computations), dict(self.instructions), dict(self.has_one_use))

    def without_rule(self, instr: Instruction, has_one_use: dict[str, bool]) -> None:
        """Record that no rule fits an instruction, and the answers on which that depends."""
        self.instructions[instr.name] = instr
        if has_one_use:
            self.has_one_use[instr.name] = has_one_use
        else:
            self.has_one_use.pop(instr.name, None)


class FormerInstructions:
    """Instructions of a computation beside those that no rule fitted before it changed."""

    def __init__(self, settled: Settled, rules: RuleSet) -> None:
        self.settled, self.rules = settled, rules
        # For a rebuilt instruction: the former one, how many levels of both are alike, and how many
        # were compared at most.
        self.alike: dict[Instruction, tuple[Instruction, float, float]] = {}

    def answers(self, instr: Instruction) -> Mapping[str, bool] | None:
        """The answers on which it depends that no rule fits an instruction; None if one may fit."""
        settled, name = self.settled, instr.name
        before = settled.instructions.get(name)
        if before is not instr:
            opcodes = [operand.opcode for operand in instr.operands]
            reach = self.rules.reach(instr.opcode, *opcodes)
            if not reach:
                return NO_ANSWERS
            # A rule that sees the whole graph is settled only where both are the same.
            if before is None or reach == inf or self.levels_alike(instr, before, reach) < reach:
                return None
            settled.instructions[name] = instr
        return settled.has_one_use.get(name, NO_ANSWERS)

    def levels_alike(self, instr: Instruction, before: Instruction, most: float) -> float:
        """The number of levels at which an instruction is like a former one.

        Parameters
        ----------
        most : so many are enough.
        """
        known = self.alike.get(instr)
        if known is not None and known[0] is before and (known[1] < known[2] or known[2] >= most):
            return known[1]
        levels = 0.0
        if is_like(instr, before):
            levels = most
            for operand, former in zip(instr.operands, before.operands, strict=True):
                if operand is not former and levels > 1:
                    levels = min(levels, 1 + self.levels_alike(operand, former, levels - 1))
        self.alike[instr] = before, levels, most
        return levels


def is_like(instr: Instruction, before: Instruction) -> bool:
    """Whether two instructions are the same but for their operands."""
    return (
        instr.attrs is before.attrs
        and instr.called == before.called
        and instr.annotations is before.annotations
        and instr.name == before.name
        and instr.opcode == before.opcode
        and (instr.shape is before.shape or instr.shape == before.shape)
        and len(instr.operands) == len(before.operands)
    )
