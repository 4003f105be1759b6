"""Slices the results of dots in loops, not their operands: all iterations share one dot.

    x = f32[9,4] get-tuple-element(state), index=1      p = f32[9,6] dot(x, w)
    s = f32[1,4] dynamic-slice(x, i, zero)              d = f32[1,6] dynamic-slice(p, i, zero)
    d = f32[1,6] dot(s, w)

If `x` and `w` are invariant, so is `p`, and loop-invariant code motion hoists it: a dot of one row
in each of 9 iterations becomes a dot of 9 rows. So a recurrent network multiplies all of its inputs
at once, and only the dots of its state stay in the loop.

References
----------
Appleyard, Kočiský, Blunsom, *Optimizing Performance of Recurrent Neural Networks on GPUs*, 2016:
cuDNN combines the input dots of all time steps. XLA does not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from hlo.effects import ordered, without_dead
from hlo.walk import rebuild
from interpreter.numbers.compare import ROUNDING
from optimizer.dimensions import has_static_sizes, without
from optimizer.loops.site import LoopSite, transformed
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import invariants
from optimizer.passes import register
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class DynamicSliceSinker:
    """Sinks dynamic slices past dots that are invariant without them.

    Attributes
    ----------
    max_bytes : of the dot of a whole array, which lives as long as the loop runs.
    max_rows : of the dot of one iteration; 0 for no limit. A processor gains nothing by joining
        dots of more rows, which reuse the matrix already; a GPU always spares a launch.
    """

    name = "dynamic-slice-sinker"
    xla = "no pass of XLA; compare xla/hlo/transforms/simplifiers/slice_sinker.cc"
    # Rows of a larger dot may be added up in another order.
    promise = ROUNDING
    max_bytes: int = 1 << 28
    max_rows: int = 0

    def run(self, module: Module, log: Log) -> Module:
        """The module with invariant dots, from which iterations take slices."""

        def sink_slices(site: LoopSite) -> Instruction | None:
            dots = [d for d in sliced_dots(site) if self.pays(d)]
            if not dots:
                return None
            body, twin = site.own_with_twins(site.loop.body)
            plan = {twin[d.dot]: d.result(site, twin) for d in dots}
            called = site.loop.condition, without_dead(rebuild(body, plan))
            return site.loop.instr.with_(called=called)

        return transformed(module, sink_slices, log)

    def pays(self, dot: SlicedDot) -> bool:
        """Whether the result of a dot is small enough, and an iteration has few of its rows."""
        few = not self.max_rows or dot.rows <= self.max_rows
        return few and dot.whole_shape.bytes <= self.max_bytes


@dataclass(frozen=True)
class SlicedDot:
    """A dot with an operand that is a slice of an array.

    Attributes
    ----------
    side : of that operand, 0 or 1.
    slice : the dynamic-slice.
    between : elementwise instructions between it and the dot, the first one first.
    dim : the dimension that is sliced.
    is_removed : a reshape removes that dimension, whose size is 1, before the dot.
    """

    dot: Instruction
    side: int
    slice: Instruction
    between: tuple[Instruction, ...]
    dim: int
    is_removed: bool

    @property
    def attrs(self) -> DotDims:
        """The dimensions of the dot of the whole array."""
        dims = DotDims.of(self.dot)
        if not self.is_removed:
            return dims
        prefix = ("lhs", "rhs")[self.side]
        fields = f"{prefix}_batch_dims", f"{prefix}_contracting_dims"
        moved = {f: tuple([d + (d >= self.dim) for d in getattr(dims, f)]) for f in fields}
        return replace(dims, **moved)

    @property
    def used(self) -> tuple[int, ...]:
        """The batch and contracting dimensions of the whole array."""
        dims = self.attrs
        lhs = dims.lhs_batch_dims + dims.lhs_contracting_dims
        return dims.rhs_batch_dims + dims.rhs_contracting_dims if self.side else lhs

    @property
    def rows(self) -> int:
        """The rows, or columns, that one iteration multiplies."""
        dims = self.dot.operands[self.side].shape.dims
        attrs = DotDims.of(self.dot)
        summed = (attrs.lhs_contracting_dims, attrs.rhs_contracting_dims)[self.side]
        return prod(without(dims, summed))

    @property
    def result_dim(self) -> int:
        """The sliced dimension of the result, which comes after its batch dimensions."""
        free = sum(d not in self.used for d in range(self.dim))
        if not self.side:
            return len(self.attrs.lhs_batch_dims) + free
        return self.dot.operands[0].shape.rank - len(self.attrs.lhs_contracting_dims) + free

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the slice of the result."""
        dims, at = self.dot.shape.dims, self.result_dim
        return (*dims[:at], 1, *dims[at:]) if self.is_removed else dims

    @property
    def whole_shape(self) -> Shape:
        """The shape of the dot of the whole array."""
        dims = list(self.sizes)
        dims[self.result_dim] = self.slice.operands[0].shape.dims[self.dim]
        return self.dot.shape.with_dims(tuple(dims))

    def result(self, site: LoopSite, twin: Mapping[Instruction, Instruction]) -> Instruction:
        """The slice of the dot of the whole array, in a copy of the body.

        Parameters
        ----------
        twin : the copies of the body's instructions.
        """
        whole, *starts = [twin[o] for o in self.slice.operands]
        for step in self.between:
            shape = step.shape.with_dims(whole.shape.dims)
            whole = site.named(step.with_(operands=(whole,), shape=shape))
        operands = [twin[o] for o in self.dot.operands]
        operands[self.side] = whole
        dot = self.dot.with_(operands=tuple(operands), attrs=self.attrs, shape=self.whole_shape)
        start = starts[self.dim]
        zero = site.named(splat(0, start.shape))
        at = [start if d == self.result_dim else zero for d in range(len(self.sizes))]
        result = make("dynamic-slice", site.named(dot), *at, dynamic_slice_sizes=self.sizes)
        if self.is_removed:
            result = make("reshape", site.named(result), shape=self.dot.shape)
        return site.named(result)


def sliced_dots(site: LoopSite) -> list[SlicedDot]:
    """The sliced dots of a body whose iterations together compute all of the whole array's dot."""
    loop = site.loop
    trips = trip_count(loop) if {"dot", "dynamic-slice"} <= set(loop.body.opcodes) else None
    if trips is None:
        return []
    known, tied = invariants(site, 0), ordered(loop.body)
    dots: dict[SlicedDot, object] = {}
    rows: Counter[object] = Counter()
    for instr in loop.body.instructions:
        if instr.opcode != "dot" or instr in tied or not has_static_sizes(instr):
            continue
        for side, other in enumerate(reversed(instr.operands)):
            sliced = sliced_dot(instr, side)
            if sliced and other in known and sliced.slice.operands[0] in known:
                dots[sliced] = key = (sliced.slice.operands[0], other, sliced.attrs)
                rows[key] += trips * sliced.slice.shape.dims[sliced.dim]
    return [d for d, key in dots.items() if rows[key] >= d.slice.operands[0].shape.dims[d.dim]]


def sliced_dot(dot: Instruction, side: int) -> SlicedDot | None:
    """A dot whose operand on one side is a slice along a free dimension; None for others."""
    instr = dot.operands[side]
    between: list[Instruction] = []
    reshapes: list[Instruction] = []
    while instr.opcode != "dynamic-slice":
        if instr.row.elementwise and len(instr.operands) == 1:
            between.insert(0, instr)
        elif instr.opcode in ("reshape", "bitcast"):
            reshapes.append(instr)
        else:
            return None
        (instr,) = instr.operands
    sizes, whole = instr.shape.dims, instr.operands[0].shape.dims
    cut = [d for d, (size, full) in enumerate(zip(sizes, whole, strict=True)) if size != full]
    if len(cut) != 1 or len(reshapes) > 1 or not has_static_sizes(instr):
        return None
    (dim,) = cut
    removed = (*sizes[:dim], *sizes[dim + 1 :])
    if reshapes and (sizes[dim] != 1 or reshapes[0].shape.dims != removed):
        return None
    sliced = SlicedDot(dot, side, instr, tuple(between), dim, bool(reshapes))
    return None if dim in sliced.used else sliced
