"""Custom calls of JAX's GPU backend that are plain arithmetic, for modules captured on a GPU."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.custom_calls.table import kernel
from codegen.expressions import Cast, Name, apply, item
from codegen.walk import address_of
from optimizer.analysis.indexing import linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction


@kernel("cu_threefry2x32_ffi", "hip_threefry2x32_ffi")
def write_threefry(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Two words of random bits from a key and a counter of two words each, element by element."""
    dims = instr.shape.elements[0].dims
    with body.loops([f"i{d}" for d in range(len(dims))], dims) as index:
        low_key, high_key, low, high = (body.element(o, index) for o in instr.operands)
        key, counter = (Cast("u64", y) << 32 | x for x, y in ((low_key, high_key), (low, high)))
        bits = body.let("u64", "bits", apply(FUNCTIONS["threefry"], key, counter))
        number = linear(index, dims)
        body.assign(item(outputs[0], number), Cast("u32", bits))
        body.assign(item(outputs[1], number), Cast("u32", bits >> 32))


@kernel("cu_lu_pivots_to_permutation", "hip_lu_pivots_to_permutation")
def write_permutation(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The order of rows that a list of exchanges makes: row i with row pivots[i], from 0."""
    (pivots,) = instr.operands
    count, rows = pivots.shape.dims[-1], instr.shape.dims[-1]
    with body.loops(["b"], [prod(pivots.shape.dims[:-1])]) as (b,):
        length = address_of(body.pointer(pivots), b * count)
        body.call(FUNCTIONS["exchange_rows"], length, count, address_of(outputs[0], b * rows), rows)
