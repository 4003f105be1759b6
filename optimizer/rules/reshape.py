"""Rules whose left side is a reshape: the same elements in row-major order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.grouping import reshaped_groups, unchanged
from optimizer.dimensions import Dims, static
from optimizer.rewriting.guards import is_integer, same_shape
from optimizer.rewriting.make import make, splat
from optimizer.rewriting.pattern import a, add, broadcast, iota, multiply, p, reshape, x
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(
    reshape(broadcast(x, p).as_(a)),
    where=static,
    xla=("HandleReshape, ReshapeLeavesDimensionsUnmodified: reshape(broadcast(A)) => broadcast(A)"),
)
def reshape_of_broadcast(
    x: Instruction, a: Instruction, p: Dims, root: Instruction
) -> Instruction | None:
    """Where the reshape leaves the dimensions that come from x, it joins or splits copies only."""
    dims = unchanged(a.shape.dims, root.shape.dims)
    if not root.shape.size or not all(d in dims for d in p):
        return None
    return broadcast(x, tuple(dims[d] for d in p), shape=root.shape)


@rule(reshape(iota(p).as_(a)), where=static, xla="HandleReshape: reshape(iota) => iota")
def reshape_of_iota(a: Instruction, p: int, root: Instruction) -> Instruction | None:
    """Where the reshape leaves the dimension that is counted, count there."""
    dim = unchanged(a.shape.dims, root.shape.dims).get(p)
    return None if dim is None else make("iota", shape=root.shape, iota_dimension=dim)


@rule(
    reshape(iota(p).as_(a)),
    where=is_integer(a) & static,
    xla='HandleReshape, "mixed radix": reshape(iota) => a sum of iotas in mixed radix',
)
def reshape_of_iota_in_mixed_radix(a: Instruction, p: int, root: Instruction) -> Instruction | None:
    """A number counted over dimensions of sizes 3 and 4 is 4 times one index plus the other."""
    groups = reshaped_groups(a.shape.dims, root.shape.dims)
    parts = next((new for old, new in groups if old == (p,)), ())
    digits = [d for d in parts if root.shape.dims[d] != 1]
    total: Instruction | None = None
    stride = 1
    for d in reversed(digits):
        digit = make("iota", shape=root.shape, iota_dimension=d)
        part = digit if stride == 1 else multiply(digit, splat(stride, root.shape))
        total = part if total is None else add(total, part)
        stride *= root.shape.dims[d]
    return total if stride < 1 << root.shape.element_type.bits - 1 else None


# fmt: off
RULES = (
    Rule(reshape(x).as_(a), x, where=same_shape(x, a) & static,
         xla="reshape to the same shape => A"),
    Rule(reshape(reshape(x)), reshape(x), where=static,
         xla="reshape(reshape(A)) => reshape(A)"),
    reshape_of_broadcast,
    reshape_of_iota,
    reshape_of_iota_in_mixed_radix,
)
# fmt: on
