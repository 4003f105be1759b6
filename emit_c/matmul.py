"""Whole dot products, as matrix products by `matmul_f32` and its kin in prelude/matmul.c."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from emit_c.indexing import Sum, linear, strides
from emit_c.types import is_narrow, narrowed, store, wide
from hlo.element_type import ELEMENT_TYPES, element_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.body import Body
    from hlo import attributes as a
    from hlo.element_type import ElementType
    from hlo.instruction import Instruction

_OPERANDS = ("f32", "f64", "bf16", "f16")
# Products of so few numbers are computed by plain loops: packing would take longer.
FEW = 4096
# What matmul_* packs: 256 * 1024 numbers of one operand and 256 * 768 of the other.
PACKED = 256 * (1024 + 768)
# A product of more multiplications than this runs on several threads by itself.
MANY = 1 << 24


def product_type(instr: Instruction) -> ElementType:
    """The type in which products are summed up.

    It is the result's wide type, but no narrower than the operands' wide types for floats; sums of
    floats are turned into integers when they are complete.
    """
    result = ELEMENT_TYPES[wide(instr.shape.element_type)]
    operands = [ELEMENT_TYPES[wide(o.shape.element_type)] for o in instr.operands[:2]]
    whole = result.is_integer or result.kind == "pred"
    if whole and not any(o.is_floating for o in operands):
        return result
    kinds = [o.dtype for o in operands] + ([] if whole else [result.dtype])
    found = element_type_of(np.result_type(*kinds))
    assert found is not None
    return found


def write_whole_dot(body: Body, instr: Instruction, outputs: Sequence[str]) -> int | None:
    """A matrix product for each place of the batch.

    Only where both operands are matrices of floats in memory: free and contracting dimensions
    must each be walked through with one stride.
    """
    attrs: a.DotDims = instr.attrs  # type: ignore[assignment]
    lhs, rhs = instr.operands
    kinds = {lhs.shape.element_type, rhs.shape.element_type}
    kind = lhs.shape.element_type
    if len(kinds) != 1 or kind.name not in _OPERANDS or product_type(instr).name != wide(kind):
        return None
    if not all(isinstance(body.tree(o), str) for o in (lhs, rhs)):
        return None
    left = _matrix(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    right = _matrix(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
    if left is None or right is None:
        return None
    (m, a_row), (depth, a_column) = left
    (n, b_column), (_, b_row) = right
    if m * n * depth < FEW or n == 1 or (m < 4 and b_column != 1):
        return None
    batch = [lhs.shape.dims[d] for d in attrs.lhs_batch_dims]
    target = instr.shape.element_type
    number, real = m * n * depth, wide(kind)
    each = ELEMENT_TYPES[real].bytes
    converts = is_narrow(target) or wide(target) != real
    sums = body.own(real, "sums", m * n, each) if converts else ""
    packed = body.own(real, "packed", PACKED, each) if m >= 4 else ""
    names = [f"b{d}" for d in range(len(batch))]
    with body.loops(names, batch, parallel=number <= MANY) as place:
        first_a = _offset(place, lhs, attrs.lhs_batch_dims)
        first_b = _offset(place, rhs, attrs.rhs_batch_dims)
        first_c = linear(place, batch) * (m * n)
        result = sums or f"{outputs[0]} + {first_c.text}"
        x = (f"{body.pointer(lhs)} + {first_a.text}", str(a_row), str(a_column))
        y = (f"{body.pointer(rhs)} + {first_b.text}", str(b_row))
        sizes = (str(m), str(n), str(depth))
        if m < 4:
            body.call(f"few_rows_{kind}", *x, *y, result, *sizes, work=number // 8)
        else:
            rest = (str(b_column), result, *sizes, packed)
            body.call(f"matmul_{kind}", *x, *y, *rest, work=number // 16)
        if sums:
            with body.loops(["i"], [m * n]) as (i,):
                value = body.let(real, "sum", f"{sums}[{i.text}]")
                rounded = narrowed(target, f"({wide(target)}){value}")
                body.assign(f"{outputs[0]}[{(first_c + i).text}]", store(target, rounded))
    return 0


def _matrix(
    operand: Instruction, batch: Sequence[int], contracting: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Size and stride of the free and of the contracting dimensions, each taken as one."""
    used = (*batch, *contracting)
    free = [d for d in range(operand.shape.rank) if d not in used]
    rows, columns = _joined(operand, free), _joined(operand, contracting)
    return (rows, columns) if rows and columns else None


def _joined(operand: Instruction, dims: Sequence[int]) -> tuple[int, int] | None:
    """Several dimensions as one: its size and stride; None if no one stride leads through them."""
    sizes = operand.shape.dims
    steps = strides(sizes)
    real = [d for d in dims if sizes[d] != 1]
    for outer, inner in pairwise(real):
        if steps[outer] != steps[inner] * sizes[inner]:
            return None
    return prod(sizes[d] for d in dims), steps[real[-1]] if real else 1


def _offset(place: tuple[Sum, ...], operand: Instruction, batch: Sequence[int]) -> Sum:
    """Where the matrix of a place of the batch begins."""
    steps = strides(operand.shape.dims)
    total = Sum(0)
    for part, d in zip(place, batch, strict=True):
        total = total + part * steps[d]
    return total
