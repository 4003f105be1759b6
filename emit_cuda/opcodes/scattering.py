"""Scatters by a thread for each element of the updates, which meet in atomic operations.

Where updates may meet, an operation is needed that hardware does in one step, and whose order does
not count; of sums of floats it changes the rounding, as it does in XLA. Where they never meet, any
computation does. All other scatters are done by one thread, in order.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/scatter.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Op, indexed, item
from codegen.indexing import linear
from codegen.kinds import Pointer
from codegen.opcodes.folding import single_operation
from codegen.opcodes.updating import combine_elements, write_scatter
from codegen.statements import Call
from hlo import attributes as a

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from codegen.indexing import Index
    from hlo.instruction import Instruction

# The types for which hardware has each operation.
_WHOLE = {"s32", "u32", "s64", "u64"}
ATOMICS = {
    "add": ("atomicAdd", {"f32", "f64", *_WHOLE}),
    "and": ("atomicAnd", _WHOLE),
    "maximum": ("atomicMax", _WHOLE),
    "minimum": ("atomicMin", _WHOLE),
    "or": ("atomicOr", _WHOLE),
    "xor": ("atomicXor", _WHOLE),
}
# Sums and bits of signed words are those of unsigned ones.
_UNSIGNED = {"s32": "u32", "s64": "u64"}


def write_scatter_in_parallel(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The operands, then all updates combined into them at once, where that is possible."""
    attrs = a.Scatter.of(instr)
    if attrs.unique_indices:
        write_scatter(body, instr, outputs, combine_elements)
    elif _atomic(instr) is not None:
        write_scatter(body, instr, outputs, _combine_atomically)
    else:
        write_scatter(body, instr, outputs)


def _atomic(instr: Instruction) -> str | None:
    """The function that combines one update; None if there is none."""
    operation = single_operation(instr.called[0])
    found = ATOMICS.get(operation or "")
    kind = instr.operands[0].shape.element_type.name
    return found[0] if found and len(instr.operands) == 3 and kind in found[1] else None


def _combine_atomically(
    body: Body, instr: Instruction, outputs: Sequence[Name], at: Index, index: Index
) -> None:
    function, kind = _atomic(instr), instr.operands[0].shape.element_type.name
    assert function is not None
    number = body.let("s64", "at", indexed(linear(at, instr.operands[0].shape.dims)))
    value = body.element(instr.operands[2], index)
    place = Op("&", (item(outputs[0], number),))
    ordered = function in ("atomicMax", "atomicMin")
    if kind in _UNSIGNED and not ordered:
        unsigned = _UNSIGNED[kind]
        body.add(Call(function, (Cast(Pointer(unsigned), place), Cast(unsigned, value))))
    else:
        body.add(Call(function, (place, value)))
