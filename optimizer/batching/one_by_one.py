"""The form of any opcode without a batched one: a loop over the examples.

for k in 0 .. n-1:  y[k] = f(x[k])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.effects import has_effect
from hlo.names import NameSupply
from optimizer.batching.table import Batch, Flags, refusal
from optimizer.derivative.bodies import together
from optimizer.derivative.stored import starts
from optimizer.derivative.table import leaf_shapes, leaves_of, zeros
from optimizer.expanders.op_expander import ExpansionSite
from optimizer.expanders.parts import to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


def one_by_one(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """A loop that runs an instruction for each example.

    Raises
    ------
    HloError
        HLO156 if it has an effect, or exchanges values with other devices.
    """
    if has_effect(instr) or not instr.row.pure:
        raise refusal(instr, "it has an effect, which each example would repeat")
    shapes = leaf_shapes(instr.shape)
    if not all(shape.is_array for shape in shapes):
        raise refusal(instr, "its result is no array")
    inputs = [leaf for operand in operands for leaf in leaves_of(operand)]
    which = [flag for each in flags for flag in each]
    results = [zeros(batch.shape(shape)) for shape in shapes]

    def step(k: Instruction, *state: Instruction) -> list[Instruction]:
        leaves = [row(x, k) if f else x for x, f in zip(state, which, strict=False)]
        rest = iter(leaves)
        own = [
            together(o.shape, [next(rest) for _ in leaf_shapes(o.shape)]) for o in instr.operands
        ]
        single = instr.with_(operands=tuple(own), control_predecessors=())
        written = [
            make(
                "dynamic-update-slice",
                rows,
                to_dims(x, (1, *x.shape.dims)),
                *starts(k, x.shape.rank),
            )
            for rows, x in zip(state[len(inputs) :], leaves_of(single), strict=True)
        ]
        return [*state[: len(inputs)], *written]

    site = ExpansionSite(instr, NameSupply())
    end = site.repeat(batch.size, [*inputs, *results], step)
    return together(batch.shape(instr.shape), end[len(inputs) :])


def row(x: Instruction, k: Instruction) -> Instruction:
    """One example of a batched array."""
    dims = x.shape.dims[1:]
    sizes = (1, *dims)
    taken = make("dynamic-slice", x, *starts(k, len(dims)), dynamic_slice_sizes=sizes)
    return to_dims(taken, dims)
