"""Rules whose left side replaces a slice, at a start that comes at run time and is clamped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.values import PaddingDim
from optimizer.dimensions import Operands, is_empty, static
from optimizer.rewriting.guards import same_shape
from optimizer.rewriting.make import value_of
from optimizer.rewriting.pattern import (
    a,
    broadcast,
    dynamic_slice,
    dynamic_update_slice,
    pad,
    x,
    xs,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule
from optimizer.rules.dynamic_slice import one_start_each, same_starts, ys
from optimizer.rules.slice import constant_starts

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(
    dynamic_update_slice(broadcast(x, ()).as_(a), y, xs),
    where=one_start_each(a, xs) & static,
    xla=(
        "HandleDynamicUpdateSlice: dynamic-update-slice(broadcast(A), B) at a constant "
        "place => pad(B, A)"
    ),
)
def update_of_broadcast(
    x: Instruction, a: Instruction, y: Instruction, xs: Operands
) -> Instruction | None:
    """A slice amid copies of a scalar is the slice, padded with the scalar."""
    if any(value_of(start) is None for start in xs):
        return None
    sizes, update_dims = a.shape.dims, y.shape.dims
    starts = constant_starts(xs, sizes, update_dims)
    padding = [PaddingDim(i, n - m - i) for i, n, m in zip(starts, sizes, update_dims, strict=True)]
    return pad(y, x, tuple(padding))


# fmt: off
RULES = (
    Rule(dynamic_update_slice(x, y, xs), y, where=same_shape(x, y) & static,
         xla="dynamic-update-slice of everything => the update"),
    Rule(dynamic_update_slice(x, y, xs), x, where=is_empty(y) & static,
         xla="dynamic-update-slice of nothing => A", name="update with nothing"),
    Rule(dynamic_update_slice(x, dynamic_slice(x, xs), ys), x, where=same_starts(xs, ys) & static,
         xla="dynamic-update-slice(A, dynamic-slice(A, i), i) => A"),
    Rule(dynamic_update_slice(dynamic_update_slice(x, y, xs), z, ys),
         dynamic_update_slice(x, z, xs), where=same_starts(xs, ys) & same_shape(y, z) & static,
         xla="dynamic-update-slice(dynamic-update-slice(A, B, i), C, i) => "
             "dynamic-update-slice(A, C, i)"),
    update_of_broadcast,
)
# fmt: on
