"""Whole convolutions, in register tiles.

A contraction over window and input features: its input is read where it is, or from a copy where it
must be padded or converted. Most often output features are laid across vector lanes, and positions
of the innermost spatial dimension are the rows of a tile; with many groups of few features, groups
are laid across lanes; and where positions are neighbours in memory and features are few, positions
are. See `emit_c.contraction.tiling` and `emit_c.contraction.phases`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import BUILTINS
from codegen.expressions import Name
from codegen.opcodes.products import element_as, product_type
from emit_c.contraction.copying import write_columns, write_row
from emit_c.contraction.dims import ContractedDim, Dim, joined
from emit_c.contraction.packing import constant_numbers, packed_constant
from emit_c.contraction.phases import Phase, phases
from emit_c.contraction.scratch import Scratch, summed
from emit_c.contraction.tiles import READ_BEHIND
from emit_c.contraction.tiling import LEAST_SHARE, Pointers, Tiling
from emit_c.table import define_whole
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear, strides

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

TRANSPOSED_SHARE = 0.5
"""Measured: worth of a copy in another order beside one in the input's own. Without such copies, a
convolution to 3 features takes 1.37 times as long."""


def write_whole_convolution(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
    """Loops over tiles, for each phase; before them the input may be copied."""
    kind = product_type(instr)
    empty = 0 in (o.shape.size for o in (instr, *instr.operands))
    if empty or kind.is_complex or kind.kind == "pred":
        return None
    plan = _ConvolutionPlan(instr, kind)
    source = plan.source(body)
    parts = list(product(*plan.phases))
    tilings = [plan.tiling(source, part) for part in parts]
    if _is_padded(instr) and any(tiling.share < LEAST_SHARE for tiling in tilings):
        return None
    scratch = Scratch(body)
    if not source.copied:
        pointer = body.pointer(plan.lhs)
    else:
        pointer = scratch.array(kind, "padded", prod(source.sizes) + READ_BEHIND)
        _copy_input(body, plan, source, pointer)
    with summed(body, instr, outputs[0], scratch, kind, tilings) as (target, output):
        for part, tiling in zip(parts, tilings, strict=True):
            packed = plan.packed_constant(body, source, part, tiling)
            number = None if packed else plan.kernel(body, source, part)
            if not packed and tiling.cached:
                packed = scratch.array(kind, "packed", tiling.packed_size)
            first, to = plan.origin(source, part)
            pointers = Pointers(pointer + first, packed, output + to, target)
            tiling.write(body, pointers, number)
    return scratch.bytes


def _is_padded(instr: Instruction) -> bool:
    """Whether tiles multiply floats by zeros that plain loops leave out.

    Infinity times such a zero is NaN. XLA's CPU, too, has it in large convolutions only.
    """
    window = a.Convolution.of(instr).window
    padded = any(w.pad_low > 0 or w.pad_high > 0 for w in window)
    return padded and instr.operands[0].shape.element_type.is_floating


@dataclass(frozen=True, slots=True)
class _Input:
    """The input as tiles read it.

    Attributes
    ----------
    order : its dimensions in memory, outermost first.
    low, sizes : of each dimension: zeros in front, and all elements.
    copied : whether it is a copy.
    """

    order: tuple[int, ...]
    low: tuple[int, ...]
    sizes: tuple[int, ...]
    copied: bool

    @property
    def steps(self) -> tuple[int, ...]:
        """From neighbour to neighbour of each dimension."""
        lengths = strides([self.sizes[d] for d in self.order])
        return tuple(lengths[self.order.index(d)] for d in range(len(self.order)))


class _ConvolutionPlan:
    """The sizes of a convolution.

    Attributes
    ----------
    features : input features that each output feature sees.
    group_size : output features that belong together; there are `groups` of them.
    """

    def __init__(self, instr: Instruction, kind: ElementType) -> None:
        self.instr, self.kind = instr, kind
        self.attrs = a.Convolution.of(instr)
        self.labels = self.attrs.dim_labels
        self.lhs, self.rhs = instr.operands
        self.features = self.rhs.shape.dims[self.labels.kernel_input_feature]
        self.groups = max(self.attrs.feature_group_count, self.attrs.batch_group_count)
        self.group_size = self.rhs.shape.dims[self.labels.kernel_output_feature] // self.groups
        positions = [instr.shape.dims[d] for d in self.labels.output_spatial]
        pairs = zip(self.attrs.window, positions, strict=True)
        self.phases = [phases(w, n) for w, n in pairs]

    def source(self, body: Body) -> _Input:
        """The input: in place, unless tiles would read outside of it, or numbers of another type.

        A copy may also have its features last or before its positions, where tiles then use much
        more of the processor.
        """
        dims, labels = self.lhs.shape.dims, self.labels
        low, sizes = [0] * len(dims), list(dims)
        for d, phase in zip(labels.input_spatial, self.phases, strict=True):
            met = [phase for phase in phase if phase.taps]
            low[d] = max(0, *(-phase.low for phase in met)) if met else 0
            sizes[d] = low[d] + max([dims[d], *(phase.high + 1 for phase in met)])
        plain = tuple(range(len(dims)))
        features = (labels.input_batch, labels.input_feature)
        others = tuple(d for d in plain if d != labels.input_feature)
        positions = tuple(d for d in plain if d not in features)
        orders = (plain, (*others, labels.input_feature), (*features, *positions))
        inputs = [_Input(order, tuple(low), tuple(sizes), copied=True) for order in orders]
        best = max(
            inputs,
            key=lambda g: self._share(g) * (1 if g.order == plain else TRANSPOSED_SHARE),
        )
        in_place = (
            isinstance(body.pointers_of(self.lhs), Name)
            and self.lhs.shape.element_type is self.kind
            and (best.order, best.sizes) == (plain, dims)
            and not any(self.tiling(best, p).reads_behind for p in product(*self.phases))
        )
        return replace(best, copied=not in_place)

    def _share(self, source: _Input) -> float:
        """The least share of the processor that each tile uses."""
        return min(self.tiling(source, part).share for part in product(*self.phases))

    def tiling(self, source: _Input, part: Sequence[Phase]) -> Tiling:
        """The cutting of a part of the output into tiles."""
        steps = [step for step, _ in self._contraction(source, part)]
        return Tiling(self._dims(source, part), steps, self.kind)

    def _dims(self, source: _Input, part: Sequence[Phase]) -> list[Dim]:
        """The dimensions of the output: groups, features, then positions, joined where possible."""
        labels, into, out = self.labels, source.steps, strides(self.instr.shape.dims)
        batch = self.lhs.shape.dims[labels.input_batch] // self.attrs.batch_group_count
        next_group = self.features * into[labels.input_feature]
        if self.attrs.batch_group_count > 1:
            next_group = batch * into[labels.input_batch]
        feature = out[labels.output_feature]
        positions = [Dim(batch, into[labels.input_batch], out[labels.output_batch])]
        for k, phase in enumerate(part):
            here = into[labels.input_spatial[k]] * phase.position_stride
            there = out[labels.output_spatial[k]] * phase.position_step
            positions.append(Dim(phase.positions, here, there))
        return [
            Dim(self.groups, next_group, self.group_size * feature, self.group_size),
            Dim(self.group_size, 0, feature, 1),
            *joined(positions),
        ]

    def _contraction(
        self, source: _Input, part: Sequence[Phase]
    ) -> list[tuple[ContractedDim, tuple[int, int, int]]]:
        """The steps of the contraction in the order of the input's memory.

        Each is given with a dimension of the kernel, the first element there, and the distance to
        the next.
        """
        labels, into = self.labels, source.steps
        features = ContractedDim(self.features, into[labels.input_feature])
        pairs = [(features, (labels.kernel_input_feature, 0, 1))]
        for k, phase in enumerate(part):
            w, dim = self.attrs.window[k], labels.kernel_spatial[k]
            step = ContractedDim(phase.taps, into[labels.input_spatial[k]] * phase.tap_stride)
            if w.reversal:
                pairs.append((step, (dim, w.size - 1 - phase.first_tap, -phase.tap_step)))
            else:
                pairs.append((step, (dim, phase.first_tap, phase.tap_step)))
        return sorted(pairs, key=lambda pair: -pair[0].input)

    def kernel(
        self, body: Body, source: _Input, part: Sequence[Phase]
    ) -> Callable[[Sum, Index], Expr]:
        """The kernel's numbers, by output feature and index of the contraction."""
        contraction = self._contraction(source, part)

        def number(feature: Sum, steps: Index) -> Expr:
            at = [Sum(0)] * self.rhs.shape.rank
            at[self.labels.kernel_output_feature] = feature
            for (_, (dim, first, distance)), step in zip(contraction, steps, strict=True):
                at[dim] = step * distance + first
            return element_as(body, self.rhs, tuple(at), self.kind)

        return number

    def packed_constant(
        self, body: Body, source: _Input, part: Sequence[Phase], tiling: Tiling
    ) -> Name | None:
        """The packed kernel, if it is a constant; else None."""
        numbers = constant_numbers(body, self.rhs)
        if numbers is None or tiling.depth == 0:
            return None
        feature = self.labels.kernel_output_feature
        taken = {feature: np.arange(self.rhs.shape.dims[feature])}
        for step, (dim, first, distance) in self._contraction(source, part):
            taken[dim] = first + distance * np.arange(step.size)
        chosen = numbers[np.ix_(*(taken[d] for d in range(numbers.ndim)))]
        rows = chosen.transpose(tuple(taken)).reshape(len(taken[feature]), -1)
        return packed_constant(body, tiling, rows, self.rhs)

    def origin(self, source: _Input, part: Sequence[Phase]) -> tuple[int, int]:
        """The elements of the input and of the output that a part begins with."""
        labels, out = self.labels, strides(self.instr.shape.dims)
        first, to = 0, 0
        for k, phase in enumerate(part):
            d = labels.input_spatial[k]
            if phase.taps:
                first += (phase.low + source.low[d]) * source.steps[d]
            to += phase.first_position * out[labels.output_spatial[k]]
        return first, to


def _copy_input(body: Body, plan: _ConvolutionPlan, source: _Input, copy: Name) -> None:
    """Write the input to other memory, between zeros."""
    lhs, dims, steps = plan.lhs, plan.lhs.shape.dims, source.steps
    size, element_bytes = prod(source.sizes), plan.kind.bytes
    if source.sizes != dims:
        body.call(BUILTINS["memset"], copy, 0, size * element_bytes)
    body.call(BUILTINS["memset"], copy + size, 0, READ_BEHIND * element_bytes)
    # Dimensions through which one loop leads in both are gone through as one.
    read = strides(dims)
    groups: list[list[int]] = []
    for d in source.order:
        last = groups[-1][-1] if groups else d
        if groups and (steps[last], read[last]) == (steps[d] * dims[d], read[d] * dims[d]):
            groups[-1].append(d)
        else:
            groups.append([d])
    # Innermost the group that is written in a row; the others as they are read.
    groups[:-1] = sorted(groups[:-1])
    # If other elements are neighbours where they are read, squares of both are transposed.
    near = next((g for g in groups[:-1] if read[g[-1]] == 1), None)
    if near and read[groups[-1][-1]] > 1:
        groups = [*(g for g in groups if g is not near), near]
        groups[-2:] = reversed(groups[-2:])
    sizes = [prod(dims[d] for d in group) for group in groups]

    def element(counters: Sequence[Sum]) -> tuple[Sum, Callable[[], Expr]]:
        """The number of an element of the copy, and its value."""
        at = [Sum(0)] * len(dims)
        for number, group in zip(counters, groups, strict=True):
            for d, i in zip(group, delinear(number, [dims[d] for d in group]), strict=True):
                at[d] = i
        number = Sum(0)
        for d, i in enumerate(at):
            number = number + (i + source.low[d]) * steps[d]
        return number, partial(element_as, body, lhs, tuple(at), plan.kind)

    if near and write_columns(body, plan.kind, sizes, (copy, steps[near[-1]]), element):
        return
    lane = body.name("i")
    with body.loops("i" * (len(groups) - 1), sizes[:-1], parallel=True) as outer:
        number, value = element((*outer, counter(lane, sizes[-1])))
        write_row(body, plan.kind, (lane, sizes[-1]), (copy, number), value)


define_whole("convolution", write_whole_convolution)
