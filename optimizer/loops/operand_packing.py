"""Packs matrices once, before a loop, for the dots in it: as panels, in the order of reading.

    w = f32[256,1024] get-tuple-element(s)      p = f32[32,256,32] get-tuple-element(s)
    d = f32[8,1024] dot(x, w)                   d = f32[8,32,32] dot(x, p)
                                                b = f32[8,1024] bitcast(d)

A dot in C multiplies a few columns of a matrix at a time. In a wide matrix these are pages apart
from row to row, so each dot first copies them side by side. Where the matrix never changes, that is
done once: `p` are its panels of 32 columns, which are transposed before the loop.

References
----------
oneDNN, *Weights pre-packing*; Goto and van de Geijn, *Anatomy of High-Performance Matrix
Multiplication*, 2008, of why dots pack. XLA packs at each call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from hlo.support import machine
from hlo.walk import rebuild
from interpreter.numbers.compare import ROUNDING
from optimizer.dimensions import picked
from optimizer.loops.site import LoopSite, transformed
from optimizer.loops.state import loop_of
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import invariant_elements
from optimizer.loops.widen import widened
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

FEW_SUMS_IN_MEMORY = 4
"""Measured: vectors that C multiplies by a matrix without register tiles, with sums in memory. With
3, a Kalman smoother takes 1.14 times as long, with 12 a beam search 1.2."""
FEW_ROWS = 64
"""Measured: rows of a product for which a loop's invariant matrices are packed before it; and for
which C reads a matrix where it lies by chunks of its rows. For 12 to 24 rows, products by 512 x 512
to 4096 x 4096 numbers take 0.4 to 0.9 of the time of packing, for 64 rows 0.8 to 0.95, for 256 as
long."""


@register
@dataclass(frozen=True)
class OperandPacking:
    """Hoists the packing of invariant matrices out of loops.

    Attributes
    ----------
    least_trips : a loop that is known to run less often stays as it is.
    max_bytes : of a matrix that is packed; a larger one would lie in memory twice.
    """

    name = "operand-packing"
    xla = "no pass of XLA, whose dots pack at each call"
    # The interpreter may add up the products in another order.
    promise = ROUNDING
    least_trips: int = 4
    max_bytes: int = 1 << 28

    def run(self, module: Module, log: Log) -> Module:
        """The module with packed matrices in the states of its loops."""

        def pack_operands(site: LoopSite) -> Instruction | None:
            trips = trip_count(site.loop, self.least_trips)
            often = trips is None or trips >= self.least_trips
            dots = packable(site, self.max_bytes) if often else {}
            return packed(site, dots) if dots else None

        return transformed(module, pack_operands, log)


def packable(site: LoopSite, most: int) -> dict[Instruction, int]:
    """The dots of a body whose right operand pays to be packed, and its element of the state.

    Parameters
    ----------
    most : bytes of the operand.
    """
    elements = invariant_elements(site)
    return {
        instr: elements[instr.operands[1]]
        for instr in site.loop.body.instructions
        if instr.opcode == "dot" and instr.operands[1] in elements
        if instr.operands[1].shape.bytes <= most and pays(instr)
    }


def pays(dot: Instruction) -> bool:
    """Whether a dot would pack its right operand, and that takes long beside the few rows."""
    left, right = (operand.shape for operand in dot.operands)
    dims = DotDims.of(dot)
    plain = left.rank == right.rank == 2 and not dims.lhs_batch_dims
    kind = right.element_type
    known = not (left.is_dynamic or right.is_dynamic) and kind.kind == "float" and kind.bytes >= 4
    if not plain or not known or {left.element_type, dot.shape.element_type} != {kind}:
        return False
    if len(dims.rhs_contracting_dims) != 1:
        return False
    rows, columns = dot.shape.dims
    few = FEW_SUMS_IN_MEMORY < rows <= FEW_ROWS
    far = columns * kind.bytes >= machine.L1_WAY or dims.rhs_contracting_dims == (1,)
    return few and columns % width(dot) == 0 and right.bytes > machine.L1 and far


def width(dot: Instruction) -> int:
    """The columns of a panel: two vectors of the widest."""
    return 2 * machine.WIDEST_VECTOR // dot.shape.element_type.bytes


def packed(site: LoopSite, dots: dict[Instruction, int]) -> Instruction:
    """A loop that gets the packed operands of dots, as a tuple of its former results."""
    body, twin = site.own_with_twins(site.loop.body)
    plan: dict[Instruction, Instruction] = {}
    outside: dict[Instruction, Instruction] = {}
    made_of: dict[tuple[int, DotDims], Instruction] = {}
    for dot, element in dots.items():
        left, right = (twin[o] for o in dot.operands)
        key = element, replace(DotDims.of(dot), lhs_contracting_dims=())
        if key not in made_of:
            made_of[key] = panels(site, dot, right)
            outside[made_of[key]] = panels(site, dot, site.initial(element))
        inside, dims = made_of[key], replace(DotDims.of(dot), rhs_contracting_dims=(1,))
        rows, columns = dot.shape.dims
        shape = dot.shape.with_dims((rows, columns // width(dot), width(dot)))
        product = dot.with_(operands=(left, inside), attrs=dims, shape=shape)
        plan[twin[dot]] = site.named(make("bitcast", site.named(product), shape=dot.shape))
    loop = site.loop.instr.with_(called=(site.loop.condition, rebuild(body, plan)))
    there = loop_of(loop)
    assert there is not None
    return widened(replace(site, instr=loop, loop=there), outside)


def panels(site: LoopSite, dot: Instruction, matrix: Instruction) -> Instruction:
    """The panels of a dot's right operand: columns side by side, row after row."""
    columns, side = dot.shape.dims[1], width(dot)
    (contracted,) = DotDims.of(dot).rhs_contracting_dims
    depth = matrix.shape.dims[contracted]
    cut = (depth, columns // side, side) if contracted == 0 else (columns // side, side, depth)
    order = (1, 0, 2) if contracted == 0 else (0, 2, 1)
    pieces = site.named(make("bitcast", matrix, shape=matrix.shape.with_dims(cut)))
    shape = pieces.shape.with_dims(picked(cut, order))
    return site.named(make("transpose", pieces, shape=shape, dimensions=order))
