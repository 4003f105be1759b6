"""Sums over a dimension that is cut: each device adds up its part, and an all-reduce the sums.

    s = f32[] reduce(x, zero), to_apply=add   =>  all-reduce(reduce(part of x, zero)), to_apply=add
    d = f32[8,8] dot(a, b)                    =>  all-reduce(dot(columns of a, rows of b))

Several arrays that are reduced together (as `argmax` is) are gathered, and reduced once more.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo import attributes as a
from hlo.instruction import Module
from hlo.types.shape import array
from interpreter import evaluate
from optimizer.expanders.op_expander import element
from optimizer.partitioning.cuts import ArrayCut, CutAxis
from optimizer.partitioning.division import (
    STRATEGIES,
    DivisionSite,
    FactorPlan,
    Strategy,
    piece_of,
    rewritten,
)
from optimizer.partitioning.held import beyond
from optimizer.partitioning.sharding_rules import PASS_THROUGH, PERMUTATION, REDUCTION, Factor
from optimizer.partitioning.windows import (
    has_windows,
    operand_with_windows,
    windowed_attrs,
    windows_moved,
    with_windows,
)
from optimizer.rewriting.make import make, splat, value_of

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape


def added_up(
    site: DivisionSite, plan: FactorPlan, part: Instruction, by: Computation | None = None
) -> Instruction:
    """The parts of devices that hold other blocks of reduced dimensions, folded; None adds."""
    varying = folded_axes(plan)
    if not varying:
        return part
    kind = part.shape.element_type
    by = by or site.binary("or" if kind.kind == "pred" else "add", kind)
    return site.network.folded(part, fixed_axes(plan), varying, by)


def folded_axes(plan: FactorPlan) -> tuple[CutAxis, ...]:
    """The axes along which devices compute summands that are to be added up."""
    return tuple(axis for _, axis in plan.cutting(REDUCTION) if axis not in plan.left)


def fixed_axes(plan: FactorPlan) -> tuple[CutAxis, ...]:
    """The axes along which devices compute other results, or other summands."""
    others = plan.left or ((plan.summed,) if plan.summed else ())
    cutting = (axis for _, axis in plan.cutting(PASS_THROUGH, PERMUTATION))
    return (*cutting, *others, *plan.regions)


def sums_moved(site: DivisionSite, plan: FactorPlan) -> int:
    """The bytes of the all-reduce."""
    if not folded_axes(plan):
        return 0
    pairs = enumerate(site.results)
    return sum(plan.result(site, n).bytes(shape) for n, shape in pairs)


def masked(site: DivisionSite, plan: FactorPlan, number: int, fill: Instruction) -> Instruction:
    """The part of an operand, with a value past the end of reduced dimensions."""
    part, shape = piece_of(site, plan, number), site.operand(number).shape
    return mask(part, shape, plan, number, fill)


def mask(
    part: Instruction, shape: Shape, plan: FactorPlan, number: int, fill: Instruction
) -> Instruction:
    """A part with a value in rows of reduced dimensions that reach past the end."""
    for factor, axis in plan.cutting(REDUCTION):
        dim = factor.operands[number]
        if dim is not None and shape.dims[dim] % axis.count:
            part = beyond(part, dim, axis, shape.dims[dim], fill)
    return part


# ----------------------------------------------------------------------------------- reduce


def may_begin_again(instr: Instruction) -> bool:
    """Whether the initial values may be folded in any number of times."""
    count = len(instr.operands) // 2
    initial = [value for o in instr.operands[count:] if (value := value_of(o)) is not None]
    if len(initial) < count:
        return False
    (by,) = instr.called
    module = Module("initial", (*by.callees, by), by)
    folded: Any = evaluate(module, *initial, *initial)
    results: tuple[Any, ...] = folded if count > 1 else (folded,)
    pairs = zip(results, initial, strict=True)
    return all(np.array_equal(x, y, equal_nan=y.dtype.kind in "fc") for x, y in pairs)


def _reduces(site: DivisionSite, factor: Factor, _axis: CutAxis) -> bool:
    return factor.kind == PASS_THROUGH or may_begin_again(site.instr)


def _reduce_moved(site: DivisionSite, plan: FactorPlan) -> int:
    moved = sums_moved(site, plan)
    several = len(site.results) > 1
    return moved * prod(axis.count for _, axis in plan.cutting(REDUCTION)) if several else moved


def _reduce(site: DivisionSite, plan: FactorPlan) -> Instruction:
    instr, count = site.instr, len(site.results)
    initial = [site.piece(site.operand(count + n), ArrayCut(())) for n in range(count)]
    parts = [masked(site, plan, n, initial[n]) for n in range(count)]
    new = rewritten(site, plan, [*parts, *initial])
    varying = folded_axes(plan)
    if not varying:
        return new
    if count == 1:
        return added_up(site, plan, new, instr.called[0])
    fixed = fixed_axes(plan)
    stacks = [site.network.stacked(element(new, n), fixed, varying) for n in range(count)]
    return make("reduce", *stacks, *initial, shape=new.shape, dimensions=(0,), called=instr.called)


STRATEGIES["reduce"] = Strategy(_reduces, _reduce_moved, _reduce)


def _reduces_windows(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    """Whether windows may be cut: rows outside of the array become initial values."""
    if not has_windows(site, factor, axis):
        return False
    dim = factor.results[0]
    assert dim is not None, "a dimension of the result"
    window = a.Windowed.of(site.instr).window[dim]
    inside = window.pad_low <= 0 and window.pad_high <= 0 and window.base_dilation == 1
    return factor.kind == PASS_THROUGH or inside or may_begin_again(site.instr)


STRATEGIES["reduce-window"] = replace(STRATEGIES["slice"], allows=_reduces_windows)


# ------------------------------------------------------------------------- sums of products


def passes_or_sums(_site: DivisionSite, factor: Factor, _axis: CutAxis) -> bool:
    """Whether a factor is a dimension of the result, or one that is summed up."""
    return factor.kind in (PASS_THROUGH, REDUCTION)


def _zero(site: DivisionSite, number: int) -> Instruction:
    return splat(0, array(site.instr.operands[number].shape.element_type))


def _dot(site: DivisionSite, plan: FactorPlan) -> Instruction:
    sides = [masked(site, plan, n, _zero(site, n)) for n in range(2)]
    return added_up(site, plan, rewritten(site, plan, sides))


STRATEGIES["dot"] = Strategy(passes_or_sums, sums_moved, _dot)


def _convolves(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    if factor.limit:
        return factor.limit % axis.count == 0
    return factor.kind == REDUCTION or has_windows(site, factor, axis)


def _convolution_moved(site: DivisionSite, plan: FactorPlan) -> int:
    return windows_moved(site, plan) + sums_moved(site, plan)


def _convolution(site: DivisionSite, plan: FactorPlan) -> Instruction:
    sides = with_windows(site, plan)
    sides = [
        mask(side, site.operand(n).shape, plan, n, _zero(site, n)) for n, side in enumerate(sides)
    ]
    attrs = windowed_attrs(site, plan, sides)
    assert isinstance(attrs, a.Convolution)
    labels = attrs.dim_labels
    for factor, axis in plan.cutting(PASS_THROUGH):
        if factor.limit and factor.operands[0] == labels.input_feature:
            attrs = replace(attrs, feature_group_count=attrs.feature_group_count // axis.count)
        elif factor.limit:
            attrs = replace(attrs, batch_group_count=attrs.batch_group_count // axis.count)
    return added_up(site, plan, rewritten(site, plan, sides, attrs))


STRATEGIES["convolution"] = Strategy(
    _convolves, _convolution_moved, _convolution, operand_with_windows
)
