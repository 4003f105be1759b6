"""Rules whose left side is a constant or an iota: the shortest way to say what is in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optimizer.dimensions import static
from optimizer.rewriting.make import constant as constant_of
from optimizer.rewriting.make import make, splat, value_of
from optimizer.rewriting.pattern import constant, get_dimension_size, iota, p, x
from optimizer.rewriting.rule import rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.dimensions import Dims


@rule(constant(), xla="HandleConstant: constant of equal elements => broadcast of a scalar")
def constant_of_equal_elements(root: Instruction) -> Instruction | None:
    """Say it once. Elements are equal if their bits are, so that zeros keep their signs."""
    value = value_of(root) if root.shape.is_array and root.shape.size > 1 else None
    if value is None:
        return None
    flat = np.ascontiguousarray(value).reshape(-1)
    codes = flat.view(np.uint8).reshape(flat.size, -1)
    return splat(flat[0], root.shape) if (codes == codes[0]).all() else None


@rule(constant(), xla="HandleConstant, IsR1Iota: constant 0, 1, 2, ... => iota")
def constant_of_a_count(root: Instruction) -> Instruction | None:
    """Count instead of listing numbers."""
    shape = root.shape
    value = value_of(root) if shape.is_array and shape.rank == 1 and shape.size > 1 else None
    if value is None or shape.element_type.kind == "pred":
        return None
    count = np.arange(shape.size).astype(value.dtype)
    same = count.tobytes() == np.ascontiguousarray(value).tobytes()
    return make("iota", shape=shape, iota_dimension=0) if same else None


@rule(iota(p), where=static, xla="HandleIota: iota along a dimension of size 1 => 0")
def iota_of_one(p: int, root: Instruction) -> Instruction | None:
    """An iota of one element along its dimension has zeros only."""
    return splat(0, root.shape) if root.shape.dims[p] == 1 else None


@rule(
    get_dimension_size(x, p),
    xla=(
        "dynamic_dimension_simplifier.cc and DynamicPadder: get-dimension-size of a "
        "static dimension => constant"
    ),
)
def size_of_static_dimension(x: Instruction, p: Dims) -> Instruction | None:
    """The size is known."""
    return (
        None if x.shape.dynamic_at(p[0]) else constant_of(np.asarray(x.shape.dims[p[0]], np.int32))
    )


RULES = (
    constant_of_equal_elements,
    constant_of_a_count,
    iota_of_one,
    size_of_static_dimension,
)
