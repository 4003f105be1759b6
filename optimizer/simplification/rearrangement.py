"""Sequences of reshapes and transposes, and their inverses on constants and broadcasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hlo.attributes import Broadcast, Dimensions
from optimizer.rewriting.make import constant, make, value_of

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.rewriting.make import Array

REARRANGEMENTS = frozenset({"reshape", "transpose"})


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """One reshape or transpose.

    Attributes
    ----------
    order : a transpose's permutation; () for a reshape.
    before, after : sizes of the dimensions.
    """

    order: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def is_idle(self) -> bool:
        """Whether everything stays where it is."""
        return self.before == self.after and list(self.order) == sorted(self.order)


Steps = tuple[Rearrangement, ...]


def is_rearrangement(instr: Instruction) -> bool:
    """Whether an instruction is a reshape or a transpose."""
    return instr.opcode in REARRANGEMENTS


def step_of(rearrangement: Instruction) -> Rearrangement:
    """The step of a reshape or transpose."""
    is_transpose = rearrangement.opcode == "transpose"
    order = Dimensions.of(rearrangement).dimensions if is_transpose else ()
    return Rearrangement(order, rearrangement.operands[0].shape.dims, rearrangement.shape.dims)


def then(steps: Steps, step: Rearrangement) -> Steps:
    """Steps and one more. Two reshapes are one, two transposes are one, and some are none."""
    if steps and bool(steps[-1].order) == bool(step.order):
        last = steps[-1]
        order = tuple([last.order[d] for d in step.order])
        steps, step = steps[:-1], Rearrangement(order, last.before, step.after)
    return steps if step.is_idle else (*steps, step)


def done(step: Rearrangement, x: Instruction) -> Instruction:
    """An array after a step."""
    if step.order:
        return make("transpose", x, dimensions=step.order)
    return make("reshape", x, shape=x.shape.with_dims(step.after))


def is_free(instr: Instruction, steps: Steps) -> bool:
    """Whether the inverse of the steps on an instruction costs nothing.

    Constants can be rearranged now, and broadcasts can be made in another shape.
    """
    if instr.opcode != "broadcast":
        return value_of(instr) is not None
    dims = Broadcast.of(instr).dimensions
    return list(dims) == sorted(dims) and _dims_before(dims, steps) is not None


def _dims_before(dims: tuple[int, ...], steps: Steps) -> tuple[int, ...] | None:
    """The dimensions of a broadcast before the steps; None if they were not in order."""
    for step in reversed(steps):
        if dims and not step.order:
            return None
        dims = tuple([step.order[d] for d in dims])
    return dims if list(dims) == sorted(dims) else None


def inverse(instr: Instruction, steps: Steps, like: Shape) -> Instruction:
    """The array that becomes a free one when the steps are done to it.

    Parameters
    ----------
    like : the dimensions before the steps, and their layout.
    """
    shape = like.with_type(instr.shape.element_type)
    if instr.opcode == "broadcast":
        dims = _dims_before(Broadcast.of(instr).dimensions, steps)
        return make("broadcast", instr.operands[0], shape=shape, dimensions=dims)
    value = cast("Array", value_of(instr))
    for step in reversed(steps):
        undone = sorted(range(len(step.order)), key=step.order.__getitem__)
        value = value.transpose(undone) if undone else value.reshape(step.before)
    return constant(value).with_(shape=shape)
