"""Instructions that move rows along a dimension which is cut, or look at windows of it.

    y = f32[8] slice(x), slice={[1:9]}    =>  rows 4p+1 to 4p+5 of x are brought to device p
    y = f32[8] reduce-window(x), ...      =>  its rows and its neighbours' are, then it reduces them

An instruction says which window of the operand a block of its result needs. The window comes from
the blocks of other devices (`exchange`), and what lies outside of the array is filled in; so the
instruction itself, on a window, neither pads nor clips.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim
from optimizer.expanders.parts import cut as slice_of
from optimizer.expanders.parts import number, padded
from optimizer.partitioning.communication import looked_up
from optimizer.partitioning.cuts import ArrayCut, CutAxis
from optimizer.partitioning.division import (
    STRATEGIES,
    DivisionSite,
    FactorPlan,
    Strategy,
    local_attrs,
    piece_of,
    rewritten,
)
from optimizer.partitioning.exchange import planned
from optimizer.partitioning.held import Held, within
from optimizer.partitioning.resharding import ELEMENTS_A_COLLECTIVE
from optimizer.partitioning.sharding_rules import PASS_THROUGH, PERMUTATION, Factor
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction
    from hlo.types.values import WindowDim


@dataclass(frozen=True)
class Window:
    """The rows of an operand that each device needs.

    Attributes
    ----------
    operand : its number.
    dim : the dimension that is cut.
    starts : the first row of each device.
    size : how many rows.
    fill : a scalar for rows outside of the array; None where they may be anything.
    step : rows are so far apart, with `fill` between them; starts and sizes count these, too.
    around : whether the first row follows the last one.
    held : the array, where it is not the operand itself but what that is a slice of.
    """

    operand: int
    dim: int
    starts: tuple[int, ...]
    size: int
    fill: Instruction | None = None
    step: int = 1
    around: bool = False
    held: Held | None = None

    @property
    def rows(self) -> tuple[tuple[int, ...], int]:
        """The first row, and how many rows, without those between them."""
        first = tuple(-(-start // self.step) for start in self.starts)
        last = [(start + self.size - 1) // self.step for start in self.starts]
        return first, max(0, *(b - f + 1 for f, b in zip(first, last, strict=True)))


def source_cut(held: Held, cut: ArrayCut, windows: Sequence[Window]) -> ArrayCut:
    """The cut from which windows are taken: as the array is held, where dimensions have windows."""
    wanted = cut
    for window in windows:
        axis = held.cut.dims[window.dim]
        finer = cut.with_dim(window.dim, axis)
        finer = finer if finer.is_possible else cut.with_dim(window.dim, None)
        # Once windows of this dimension are taken, it is cut as the result is.
        later = finer
        for earlier in windows[: windows.index(window) + 1]:
            later = later.with_dim(earlier.dim, wanted.dims[earlier.dim])
            if not later.is_possible:
                finer = cut.with_dim(window.dim, None)
        cut = finer
    return cut


def rows_moved(held: Held, cut: ArrayCut, windows: Sequence[Window]) -> int:
    """The bytes that a device receives for its windows."""
    spent, source = 0, source_cut(held, cut, windows)
    for window in windows:
        if source.dims[window.dim] is not None:
            starts, size = window.rows
            extent = held.shape.dims[window.dim]
            plan = planned(source, window.dim, extent, starts, size, around=window.around)
            if plan:
                dims = source.local(held.shape).dims
                others = prod(n for d, n in enumerate(dims) if d != window.dim)
                spent += plan.rows * others + plan.collectives * ELEMENTS_A_COLLECTIVE
        source = source.with_dim(window.dim, cut.dims[window.dim])
    return -(-spent * held.shape.element_type.bits // 8)


def taken(site: DivisionSite, held: Held, cut: ArrayCut, windows: Sequence[Window]) -> Instruction:
    """The windows of an array that a device needs.

    Parameters
    ----------
    cut : of the array, by the axes that the instruction is cut by.
    """
    source = source_cut(held, cut, windows)
    part = site.piece(held, source)
    for window in windows:
        dim, extent = window.dim, held.shape.dims[window.dim]
        starts, size = window.rows
        plan = planned(source, dim, extent, starts, size, around=window.around)
        if plan:
            part = site.network.exchanged(part, dim, plan)
        elif size == 0:
            part = slice_of(part, dim, 0, 0)
        else:
            part = _own_rows(part, dim, starts, size, around=window.around)
        if window.fill is not None and not window.around:
            part = within(part, dim, list(starts), extent, window.fill)
        if window.step > 1:
            part = _apart(part, window, starts)
        source = source.with_dim(dim, cut.dims[dim])
    return part


def _own_rows(
    part: Instruction, dim: int, starts: tuple[int, ...], size: int, *, around: bool
) -> Instruction:
    """A window of a dimension that each device has whole."""
    extent = part.shape.dims[dim]
    if around:
        part = make("concatenate", part, part, dimensions=(dim,))
        starts, extent = tuple(start % extent for start in starts), 2 * extent
    low, high = max(0, -min(starts)), max(0, max(starts) + size - extent)
    if low or high:
        zero = splat(0, array(part.shape.element_type))
        part = padded(part, zero, dim, low, high)
    begins = [number(0)] * part.shape.rank
    begins[dim] = looked_up([start + low for start in starts])
    sizes = list(part.shape.dims)
    sizes[dim] = size
    return make("dynamic-slice", part, *begins, dynamic_slice_sizes=tuple(sizes))


def _apart(part: Instruction, window: Window, first: tuple[int, ...]) -> Instruction:
    """Rows with others between them, from the start of each device's window on."""
    dim, step = window.dim, window.step
    padding = [PaddingDim(0, 0)] * part.shape.rank
    # The first row lies up to step - 1 after the start of the window.
    padding[dim] = PaddingDim(step - 1, window.size, step - 1)
    fill = window.fill if window.fill is not None else splat(0, array(part.shape.element_type))
    wide = make("pad", part, fill, padding=tuple(padding))
    begins = [number(0)] * part.shape.rank
    begins[dim] = looked_up([
        step - 1 - (f * step - s) for f, s in zip(first, window.starts, strict=True)
    ])  # fmt: skip
    sizes = list(wide.shape.dims)
    sizes[dim] = window.size
    return make("dynamic-slice", wide, *begins, dynamic_slice_sizes=tuple(sizes))


def blocks(axis: CutAxis, size: int) -> tuple[list[int], int]:
    """The first row of each device's block, and the blocks' size."""
    block = -(-size // axis.count)
    return [place * block for place in axis.places], block


@dataclass(frozen=True)
class RowSource:
    """Where the rows of an array come from, if it is a slice of another one, or padded.

    Attributes
    ----------
    first : the row of `held` that is the array's first one.
    fill : a scalar for rows that `held` does not have; None where it has all.
    """

    held: Held
    first: int = 0
    fill: Instruction | None = None


def source_of(site: DivisionSite, number: int, dim: int) -> RowSource:
    """Where the rows of an operand come from, seen through slices and then one padding of them."""
    instr, source = site.instr.operands[number], RowSource(site.operand(number))
    while instr.opcode in ("slice", "pad") and source.fill is None and not instr.shape.is_dynamic:
        of, rank = instr.operands[0], range(instr.shape.rank)
        if any(of.shape.dims[d] != instr.shape.dims[d] for d in rank if d != dim):
            break
        if isinstance(attrs := instr.attrs, a.Slice):
            if attrs.slice[dim].stride != 1:
                break
            source = RowSource(site.found(of), source.first + attrs.slice[dim].start)
        else:
            padding = a.Pad.of(instr).padding
            plain = all(padding[d] == PaddingDim(0, 0) for d in rank if d != dim)
            if not plain or padding[dim].interior:
                break
            fill = site.piece(site.found(instr.operands[1]), ArrayCut(()))
            source = RowSource(site.found(of), source.first - padding[dim].low, fill)
        instr = of
    return source


# ----------------------------------------------------------------------------- the windows


def _slice_windows(site: DivisionSite, dim: int, out: int, axis: CutAxis) -> list[Window]:
    s = a.Slice.of(site.instr).slice[dim]
    starts, block = blocks(axis, site.results[0].dims[out])
    size = (block - 1) * s.stride + 1
    sizes = site.operand(0).shape.dims
    ranges = zip(a.Slice.of(site.instr).slice, sizes, strict=True)
    moving = [one for one, n in ranges if one != SliceDim(0, n)]
    source = source_of(site, 0, dim) if len(moving) == 1 else RowSource(site.operand(0))
    begins = tuple(source.first + s.start + s.stride * start for start in starts)
    return [Window(0, dim, begins, size, source.fill, held=source.held)]


def _pad_windows(site: DivisionSite, dim: int, out: int, axis: CutAxis) -> list[Window]:
    p = a.Pad.of(site.instr).padding[dim]
    starts, block = blocks(axis, site.results[0].dims[out])
    fill = site.instr.operands[1]
    begins = tuple(start - p.low for start in starts)
    return [
        Window(0, dim, begins, block, site.piece(site.found(fill), ArrayCut(())), p.interior + 1)
    ]


def _reverse_windows(site: DivisionSite, dim: int, out: int, axis: CutAxis) -> list[Window]:
    size = site.results[0].dims[out]
    starts, block = blocks(axis, size)
    return [Window(0, dim, tuple(size - start - block for start in starts), block)]


def _seen(window: WindowDim, axis: CutAxis, out_size: int) -> tuple[tuple[int, ...], int]:
    starts, block = blocks(axis, out_size)
    begins = tuple(start * window.stride - window.pad_low for start in starts)
    return begins, (block - 1) * window.stride + window.dilated_size


def _reduce_windows(site: DivisionSite, dim: int, out: int, axis: CutAxis) -> list[Window]:
    window = a.Windowed.of(site.instr).window[dim]
    starts, size = _seen(window, axis, site.results[0].dims[out])
    count = len(site.instr.operands) // 2
    return [
        Window(n, dim, starts, size, site.piece(site.operand(count + n), ArrayCut(())),
               window.base_dilation)
        for n in range(count)
    ]  # fmt: skip


def _convolution_windows(site: DivisionSite, dim: int, out: int, axis: CutAxis) -> list[Window]:
    attrs = a.Convolution.of(site.instr)
    window = attrs.window[attrs.dim_labels.input_spatial.index(dim)]
    starts, size = _seen(window, axis, site.results[0].dims[out])
    zero = splat(0, array(site.instr.operands[0].shape.element_type))
    return [Window(0, dim, starts, size, zero, window.base_dilation)]


WINDOWS: dict[str, Callable[[DivisionSite, int, int, CutAxis], list[Window]]] = {
    "convolution": _convolution_windows,
    "pad": _pad_windows,
    "reduce-window": _reduce_windows,
    "reverse": _reverse_windows,
    "slice": _slice_windows,
}


def windows_of(site: DivisionSite, plan: FactorPlan) -> list[Window]:
    """All windows that a plan needs."""
    windows: list[Window] = []
    cutting = plan.cutting(PERMUTATION)
    for factor, axis in cutting:
        dim, out = factor.operands[0], factor.results[0]
        assert dim is not None, "a dimension of the operand"
        assert out is not None, "a dimension of the result"
        windows += WINDOWS[site.instr.opcode](site, dim, out, axis)
    return windows


def has_windows(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    """Whether a factor may be cut: elements pass through it, or windows of it can be taken."""
    if factor.kind == PASS_THROUGH:
        return True
    (out,) = {*factor.results}
    return (
        factor.kind == PERMUTATION and out is not None and axis.count <= site.results[0].dims[out]
    )


def array_of(site: DivisionSite, windows: Sequence[Window]) -> Held:
    """The array that windows of one operand are taken from."""
    seen = windows[0].held if len(windows) == 1 else None
    return seen or site.operand(windows[0].operand)


def operand_with_windows(site: DivisionSite, plan: FactorPlan, number: int) -> ArrayCut:
    """The cut in which an operand is asked for, from which its windows are then taken."""
    cut = plan.operand(site, number)
    windows = [w for w in windows_of(site, plan) if w.operand == number]
    return source_cut(site.operand(number), cut, windows) if windows else cut


def windows_moved(site: DivisionSite, plan: FactorPlan) -> int:
    """The bytes that a device receives for its windows of all operands."""
    windows, spent = windows_of(site, plan), 0
    for operand in sorted({w.operand for w in windows}):
        own = [w for w in windows if w.operand == operand]
        spent += rows_moved(array_of(site, own), plan.operand(site, operand), own)
    return spent


def with_windows(site: DivisionSite, plan: FactorPlan) -> list[Instruction]:
    """The operands: windows of those that have some, parts of others."""
    windows = windows_of(site, plan)
    operands: list[Instruction] = []
    for n in range(len(site.instr.operands)):
        own = [w for w in windows if w.operand == n]
        if own:
            cut = plan.operand(site, n)
            operands.append(taken(site, array_of(site, own), cut, own))
        else:
            operands.append(piece_of(site, plan, n))
    return operands


def windowed_attrs(
    site: DivisionSite, plan: FactorPlan, operands: Sequence[Instruction]
) -> a.Attrs:
    """The attributes for windows, which have their padding in them."""
    attrs = local_attrs(site, plan, operands)
    dims = {f.operands[0] for f, _ in plan.cutting(PERMUTATION)}
    if isinstance(attrs, a.Pad):
        pairs = enumerate(attrs.padding)
        return replace(attrs, padding=tuple(PaddingDim(0, 0) if d in dims else p for d, p in pairs))
    if isinstance(attrs, a.Slice):
        return replace(attrs, slice=tuple(
            SliceDim(0, operands[0].shape.dims[d], s.stride) if d in dims else s
            for d, s in enumerate(attrs.slice)
        ))  # fmt: skip
    if isinstance(attrs, a.Windowed | a.Convolution):
        places = range(len(attrs.window))
        if isinstance(attrs, a.Convolution):
            places = attrs.dim_labels.input_spatial
        return replace(attrs, window=tuple(
            replace(w, pad_low=0, pad_high=0, base_dilation=1) if d in dims else w
            for d, w in zip(places, attrs.window, strict=True)
        ))  # fmt: skip
    return attrs


def _windowed(site: DivisionSite, plan: FactorPlan) -> Instruction:
    operands = with_windows(site, plan)
    return rewritten(site, plan, operands, windowed_attrs(site, plan, operands))


for _opcode in ("pad", "reverse", "slice"):
    STRATEGIES[_opcode] = Strategy(has_windows, windows_moved, _windowed, operand_with_windows)
