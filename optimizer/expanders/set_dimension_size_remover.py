"""Removes set-dimension-size where it sets the size that is there.

set-dimension-size(f32[8] x, 8), dimensions={0}   =>   x
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.rewriting.guard import guard
from optimizer.rewriting.make import value_of
from optimizer.rewriting.pattern import c, p, set_dimension_size, x

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@guard
def is_size_of(c: Instruction, x: Instruction, p: tuple[int, ...]) -> bool:
    """A constant that is the size of an array's dimension."""
    value = value_of(c)
    return value is not None and int(value) == x.shape.dims[p[0]]


@expander(
    "set-dimension-size-remover",
    set_dimension_size(x, c, p),
    where=is_size_of(c, x, p),
    xla="xla/service/dynamic_padder.cc",
    always=True,
)
def whole_dimension(x: Instruction) -> Instruction:
    """Removes set-dimension-size where it sets the size that the dimension has."""
    return x
