"""Scatters by a thread for each element of the updates, which meet in atomic operations.

Where updates may meet, an operation is needed that hardware does in one step, and whose order does
not count; of sums of floats it changes the rounding, as it does in XLA. Where they never meet, any
computation does. In all other scatters one thread combines the updates of an element, in their
order; where windows lie side by side, there is such a thread for each of their elements. Where few
threads would have many updates, or the same bits are required on every run
(`--xla_gpu_deterministic_ops`), the pass `scatter_determinism_expander` lets updates never meet.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/scatter.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Name, Op, indexed, item
from codegen.kinds import Pointer
from codegen.opcodes.updating import combine_elements, write_scatter
from codegen.statements import Call
from hlo import attributes as a
from hlo.types.element_type import F32
from optimizer.analysis.indexing import linear
from optimizer.gpu.atomics import atomic_of, update_dims_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Floats that a GPU adds to memory in one instruction.
FOUR = 4
# Sums and bits of signed words are those of unsigned ones.
_UNSIGNED = {"s32": "u32", "s64": "u64"}


def write_scatter_in_parallel(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The operands, then all updates combined into them at once, where that is possible."""
    attrs = a.Scatter.of(instr)
    if attrs.unique_indices:
        write_scatter(body, instr, outputs, combine_elements)
    elif _are_neighbours(instr):
        write_scatter(body, instr, outputs, _add_four, together=FOUR)
    elif atomic_of(instr) is not None:
        write_scatter(body, instr, outputs, _combine_atomically)
    else:
        write_scatter(body, instr, outputs, apart=update_dims_apart(instr))


def _are_neighbours(instr: Instruction) -> bool:
    """Whether each four updates are added to four floats that lie in 16 bytes."""
    attrs, dims = a.Scatter.of(instr), instr.operands[0].shape.dims
    updates, dropped = instr.operands[-1].shape.dims, attrs.inserted_window_dims
    if atomic_of(instr) != "atomicAdd" or instr.operands[0].shape.element_type is not F32:
        return False
    last = len(updates) - 1
    in_window = last in update_dims_apart(instr) and last == attrs.update_window_dims[-1]
    whole = len(dims) - 1 not in (*dropped, *attrs.input_batching_dims)
    return in_window and whole and dims[-1] % FOUR == updates[-1] % FOUR == 0


def _add_four(
    body: Body, instr: Instruction, outputs: Sequence[Name], at: Index, index: Index
) -> None:
    """Add four neighbours, which one load reads where they are in memory."""
    update = instr.operands[2]
    pointer = body.tree(update)
    if isinstance(pointer, Name):
        vector = Cast(Pointer("f32x4", const=True), pointer)
        first = linear(index, update.shape.dims) // FOUR
        values = body.let("f32x4", "updates", item(vector, first))
    else:
        values = body.variable("f32x4", "updates")
        for k in range(FOUR):
            value = body.element(update, (*index[:-1], index[-1] + k))
            body.assign(item(values, k), value)
    number = body.let("s64", "at", indexed(linear(at, instr.operands[0].shape.dims)))
    body.call("add_four", Op("&", (item(outputs[0], number),)), values)


def _combine_atomically(
    body: Body, instr: Instruction, outputs: Sequence[Name], at: Index, index: Index
) -> None:
    function, kind = atomic_of(instr), instr.operands[0].shape.element_type.name
    assert function is not None
    number = body.let("s64", "at", indexed(linear(at, instr.operands[0].shape.dims)))
    value = body.element(instr.operands[2], index)
    address = Op("&", (item(outputs[0], number),))
    ordered = function in ("atomicMax", "atomicMin")
    if kind in _UNSIGNED and not ordered:
        unsigned = _UNSIGNED[kind]
        body.add(Call(function, (Cast(Pointer(unsigned), address), Cast(unsigned, value))))
    else:
        body.add(Call(function, (address, value)))
