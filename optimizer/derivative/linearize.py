"""Tangents of a whole computation: each instruction again, and beside it how it changes.

    x = ...           dx = ...
    y = sin(x)        dy = cos(x) dx
    z = x * y         dz = dx * y + dy * x

The new instructions belong to no computation yet. Those that depend on tangents are linear in
them; they need the others, and no other needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.effects import has_effect
from hlo.errors.error import HloError
from hlo.opcode import TUPLES
from optimizer.derivative.table import (
    Dual,
    as_leaves,
    differentiates,
    element,
    has_tangents,
    leaf_shapes,
    refusal,
)
from optimizer.derivative.unfolded import UNFOLDINGS
from optimizer.dimensions import has_static_sizes
from optimizer.rewriting.adopting import new_below

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction

# Of an instruction that runs computations: its value and tangents, from its operands'.
Control = Callable[["Instruction", Sequence[Dual]], Dual]


@dataclass(frozen=True, slots=True)
class Linearized:
    """A computation's values and tangents.

    Attributes
    ----------
    root : value and tangents of the root.
    acting : values that have effects, whether they are needed or not.
    """

    root: Dual
    acting: list[Instruction] = field(default_factory=list[Any])


def linearized(computation: Computation, arguments: Sequence[Dual], control: Control) -> Linearized:
    """The values and tangents of a computation.

    Parameters
    ----------
    arguments : in the place of its parameters.
    control : gives those of loops and branches.

    Raises
    ------
    HloError
        HLO155 at an instruction that has no derivative.
    """
    sweep = _TangentSweep(control, dict(zip(computation.parameters, arguments, strict=True)))
    sweep.unchanging = unchanging(computation)
    for instr in computation.instructions:
        if instr not in sweep.pairs:
            sweep.visit(instr)
    return Linearized(sweep.pairs[computation.root], sweep.acting)


def unchanging(computation: Computation) -> set[Instruction]:
    """The instructions of which nothing is read that has tangents: an argmax, of (max, argmax)."""
    tuples = {i for i in computation.instructions if i.shape.is_tuple}
    tuples.discard(computation.root)
    for user in computation.instructions:
        if user.opcode != "get-tuple-element" or has_any_tangents(user):
            tuples.difference_update(user.operands)
    return tuples


def has_any_tangents(instr: Instruction) -> bool:
    """Whether any leaf of a value can change by small amounts."""
    return any(map(has_tangents, leaf_shapes(instr.shape)))


class _TangentSweep:
    """A walk over instructions, operands first."""

    def __init__(self, control: Control, pairs: dict[Instruction, Dual]) -> None:
        self.control, self.pairs = control, pairs
        self.acting: list[Instruction] = []
        self.unchanging: set[Instruction] = set()
        self.forms: dict[Instruction, Instruction | None] = {}

    def visit(self, start: Instruction) -> None:
        """Find the value and tangents of an instruction; of its other form, where it has one."""
        pending = [start]
        while pending:
            instr = pending[-1]
            if instr in self.pairs:
                pending.pop()
                continue
            operands = [self.pairs[o] for o in instr.operands]
            active = instr not in self.unchanging and any(
                t is not None for pair in operands for t in pair.tangents
            )
            form = self.form(instr) if active else None
            if form is None:
                self.pairs[instr] = self.pair(instr, operands, active=active)
                pending.pop()
            elif form in self.pairs:
                self.pairs[instr] = self.pairs[form]
                pending.pop()
            else:
                pending.append(form)
                pending += reversed(new_below(form, self.pairs))

    def form(self, instr: Instruction) -> Instruction | None:
        """The other form of an instruction, by opcodes that have rules; None if it has a rule."""
        if instr not in self.forms:
            unfold = UNFOLDINGS.get(instr.opcode)
            self.forms[instr] = unfold(instr) if unfold and has_static_sizes(instr) else None
        return self.forms[instr]

    def pair(self, instr: Instruction, operands: Sequence[Dual], *, active: bool) -> Dual:
        """The value and tangents of an instruction as it is."""
        value = copied(instr, [pair.value for pair in operands])
        if has_effect(instr):
            self.acting.append(value)
        if not active or not has_any_tangents(instr):
            return Dual(value, (None,) * instr.shape.leaf_count)
        try:
            return self.changed(instr, value, operands)
        except HloError as error:
            raise error.at(instr.span) from None

    def changed(self, instr: Instruction, value: Instruction, operands: Sequence[Dual]) -> Dual:
        """The value and tangents of an instruction that changes with its operands."""
        if not has_static_sizes(instr):
            raise refusal(instr, "it has a run-time size", "`hlo opt --passes dynamic-padder`")
        if instr.opcode in ("while", "conditional"):
            return self.control(instr, operands)
        tangents = [pair.tangents for pair in operands]
        rule = differentiates.get(instr.opcode)
        if rule is None:
            why = differentiates.not_supported.get(instr.opcode, "its computation is not known")
            raise refusal(instr, why)
        # An element of a tuple that is there is no get-tuple-element any more.
        rule_result = rule(instr if instr.opcode in TUPLES else value, tangents)
        if isinstance(rule_result, Dual):
            value, rule_result = rule_result.value, rule_result.tangents
        pairs = zip(as_leaves(rule_result), leaf_shapes(instr.shape), strict=True)
        return Dual(value, tuple(t if has_tangents(shape) else None for t, shape in pairs))


def copied(instr: Instruction, operands: Sequence[Instruction]) -> Instruction:
    """An instruction on other operands; an element of a tuple that is there is that element."""
    if isinstance(instr.attrs, a.GetTupleElement):
        return element(operands[0], instr.attrs.index)
    if not instr.control_predecessors and tuple(operands) == instr.operands:
        return instr
    return instr.with_(operands=tuple(operands), control_predecessors=())


def copies(
    roots: Sequence[Instruction], leaves: dict[Instruction, Instruction]
) -> list[Instruction]:
    """The instructions that some others are made of, on other ones.

    Parameters
    ----------
    leaves : the instruction that takes the place of each of some; what is below is not looked at.
    """
    became = dict(leaves)
    for root in roots:
        for instr in () if root in became else new_below(root, became):
            became[instr] = copied(instr, [became[o] for o in instr.operands])
    return [became[root] for root in roots]
