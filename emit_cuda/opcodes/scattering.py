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

from codegen.expressions import Cast, Op, indexed, item
from codegen.kinds import Pointer
from codegen.opcodes.updating import combine_elements, write_scatter
from codegen.statements import Call
from hlo import attributes as a
from optimizer.analysis.indexing import linear
from optimizer.gpu.atomics import atomic_of, update_dims_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Sums and bits of signed words are those of unsigned ones.
_UNSIGNED = {"s32": "u32", "s64": "u64"}


def write_scatter_in_parallel(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The operands, then all updates combined into them at once, where that is possible."""
    attrs = a.Scatter.of(instr)
    if attrs.unique_indices:
        write_scatter(body, instr, outputs, combine_elements)
    elif atomic_of(instr) is not None:
        write_scatter(body, instr, outputs, _combine_atomically)
    else:
        write_scatter(body, instr, outputs, apart=update_dims_apart(instr))


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
