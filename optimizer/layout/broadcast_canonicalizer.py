"""Sorts the dimensions of broadcasts.

    f32[2,3,4] broadcast(f32[4,2] x), dimensions={2,0}
        =>   f32[2,3,4] broadcast(f32[2,4] transpose(x, {1,0})), dimensions={0,2}

A broadcast that does not transpose repeats runs of memory, which is what emitters are good at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.dimensions import Dims, inverse
from optimizer.expanders.op_expander import expander
from optimizer.rewriting.guard import guard
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import broadcast, p, x

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@guard
def is_sorted(p: Dims) -> bool:
    """Dimensions in rising order."""
    return list(p) == sorted(p)


@expander(
    "broadcast_canonicalizer",
    broadcast(x, p),
    where=~is_sorted(p),
    xla="xla/hlo/transforms/simplifiers/broadcast_canonicalizer.cc",
)
def sort_dimensions(root: Instruction, x: Instruction, p: Dims) -> Instruction:
    """Puts a transpose in front of broadcasts whose dimensions are not in order."""
    order = inverse(p)
    shape = x.shape.with_dims(tuple(x.shape.dims[d] for d in order))
    transposed = make("transpose", x, shape=shape, dimensions=order)
    return make("broadcast", transposed, shape=root.shape, dimensions=tuple(sorted(p)))
