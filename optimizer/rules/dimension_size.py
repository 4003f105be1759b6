"""Rules whose left side gives a dimension a run-time size, or asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import same_shape
from optimizer.rewriting.make import value_of
from optimizer.rewriting.pattern import a, c, get_dimension_size, p, q, set_dimension_size, x, y
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.dimensions import Dims


@guard
def is_whole(c: Instruction, x: Instruction, p: Dims) -> bool:
    """A size that is all there is of a static dimension."""
    return not x.shape.dynamic_at(p[0]) and value_of(c) == x.shape.dims[p[0]]


@guard
def differ(p: Dims, q: Dims) -> bool:
    """Two dimensions."""
    return p != q


@guard
def is_within(c: Instruction, x: Instruction, p: Dims) -> bool:
    """A size that is not cut off."""
    size = value_of(c)
    return size is not None and 0 <= int(size) <= x.shape.dims[p[0]]


@guard
def is_dynamic(a: Instruction, p: Dims) -> bool:
    """A dimension of run-time size."""
    return a.shape.dynamic_at(p[0])


# fmt: off
RULES = (
    Rule(set_dimension_size(x, c, dimensions=p).as_(a), x,
         where=is_whole(c, x, p) & same_shape(x, a),
         name="size of all there is", xla="set-dimension-size to the static size => A"),
    Rule(get_dimension_size(set_dimension_size(x, c, dimensions=p).as_(a), dimensions=p), c,
         where=is_within(c, x, p) & is_dynamic(a, p),
         name="size that was set", xla="get-dimension-size(set-dimension-size(A, n)) => n"),
    Rule(get_dimension_size(set_dimension_size(x, y, dimensions=p), dimensions=q),
         get_dimension_size(x, dimensions=q), where=differ(p, q),
         name="size beside one that was set"),
)
# fmt: on
