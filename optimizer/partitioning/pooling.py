"""select-and-scatter along a dimension that is cut: gradients of pooling by overlapping windows.

    y = f32[8] select-and-scatter(x, g, 0), window={size=3 stride=2 pad=1_0}
    =>  each device takes all windows that reach into its rows, with their rows of x and of g,
        scatters, and keeps its own rows

A window at the end of the array shows rows that are not there. They hold the number that is
selected last, as in XLA's partitioner: where all others are that number, or NaN, a device may
select such a row.

References
----------
XLA, `SpmdPartitioningVisitor::HandleSelectAndScatter`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.limits import highest_of, lowest_of
from hlo.types.shape import array
from optimizer.expanders.parts import number
from optimizer.partitioning.communication import looked_up
from optimizer.partitioning.division import STRATEGIES, DivisionSite, FactorPlan, Strategy
from optimizer.partitioning.sharding_rules import PASS_THROUGH, PERMUTATION, Factor
from optimizer.partitioning.windows import (
    WINDOWS,
    Window,
    blocks,
    has_windows,
    operand_with_windows,
    windowed_attrs,
    windows_moved,
    with_windows,
)
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from optimizer.partitioning.cuts import CutAxis

_LAST_SELECTED = {"GE": False, "GT": False, "LE": True, "LT": True}


def _is_of_parameters(computation: Computation, opcode: str) -> bool:
    """Whether a computation is an opcode of its two parameters, in their order."""
    root = computation.root
    numbers = [a.ParameterNumber.of(o).number for o in root.operands if o.opcode == "parameter"]
    return root.opcode == opcode and numbers == [0, 1]


def _allows(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    """Whether a dimension passes through; or its windows can be taken, and their sums left out."""
    if factor.kind == PASS_THROUGH:
        return True
    select, scatter = site.instr.called
    plain = _is_of_parameters(select, "compare") and _is_of_parameters(scatter, "add")
    kind = site.results[0].element_type
    if not plain or kind.is_complex or kind.name == "pred":
        return False
    attrs = a.Compare.of(select.root)
    dim = factor.operands[0] or 0
    window = a.Windowed.of(site.instr).window[dim]
    still = window.window_dilation == window.base_dilation == 1 and not window.reversal
    return attrs.direction in _LAST_SELECTED and still and has_windows(site, factor, axis)


def _fill(site: DivisionSite) -> Instruction:
    """The number that is selected last."""
    kind = site.instr.operands[0].shape.element_type
    is_greatest = _LAST_SELECTED[a.Compare.of(site.instr.called[0].root).direction]
    return splat((highest_of if is_greatest else lowest_of)(kind), array(kind))


def _reaching(site: DivisionSite, dim: int, axis: CutAxis) -> tuple[list[int], list[int], int, int]:
    """The windows that reach into each device's rows.

    Returns
    -------
    tuple
        for each device its first window, and the number of its first row in what that shows; how
        many windows a device takes, and how many rows they show.
    """
    window = a.Windowed.of(site.instr).window[dim]
    size, stride, low = window.size, window.stride, window.pad_low
    rows, block = blocks(axis, site.results[0].dims[dim])
    first = [(row + low - size + 1) // stride for row in rows]
    skipped = [row - (f * stride - low) for row, f in zip(rows, first, strict=True)]
    last = [(row + block - 1 + low) // stride for row in rows]
    count = max(end - begin + 1 for begin, end in zip(first, last, strict=True))
    missing = max(skipped) + block - ((count - 1) * stride + size)
    count += max(0, -(-missing // stride))
    return first, skipped, count, (count - 1) * stride + size


def _scatter_windows(site: DivisionSite, dim: int, _out: int, axis: CutAxis) -> list[Window]:
    window = a.Windowed.of(site.instr).window[dim]
    first, _, count, shown = _reaching(site, dim, axis)
    starts = tuple(f * window.stride - window.pad_low for f in first)
    kind = site.instr.operands[1].shape.element_type
    # To add this changes nothing, not even the sign of a zero.
    nothing = splat(-0.0 if kind.is_floating else 0, array(kind))
    return [
        Window(0, dim, starts, shown, _fill(site)),
        Window(1, dim, tuple(first), count, nothing),
    ]


def _scattered(site: DivisionSite, plan: FactorPlan) -> Instruction:
    """The rows of each device, out of all that its windows show."""
    operands = with_windows(site, plan)
    shape = site.results[0].with_dims(operands[0].shape.dims)
    scatter = site.instr.with_(
        shape=shape, operands=tuple(operands), attrs=windowed_attrs(site, plan, operands)
    )
    sizes = plan.result(site).local(site.results[0]).dims
    begins = [number(0)] * len(sizes)
    for factor, axis in plan.cutting(PERMUTATION):
        dim = factor.operands[0]
        assert dim is not None, "a dimension of the operand"
        begins[dim] = looked_up(_reaching(site, dim, axis)[1])
    if sizes == scatter.shape.dims:
        return scatter
    return make("dynamic-slice", scatter, *begins, dynamic_slice_sizes=sizes)


WINDOWS["select-and-scatter"] = _scatter_windows
STRATEGIES["select-and-scatter"] = Strategy(
    _allows, windows_moved, _scattered, operand_with_windows
)
