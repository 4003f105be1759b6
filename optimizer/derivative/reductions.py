"""Derivatives of reductions: sums are linear; of extremes, the elements that were chosen count.

    y = sum(x)      x^ = y^ everywhere
    y = max(x)      x^ = y^ where x == y, divided by how many there are

Other reductions are written as elementwise opcodes before (`optimizer.derivative.unfolded`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.instruction import Computation
from hlo.types.limits import highest_of, lowest_of
from hlo.types.shape import array
from hlo.types.values import PaddingDim, WindowDim
from optimizer.derivative.contraction import paddings_back
from optimizer.derivative.movement import Cotangents, surrounded
from optimizer.derivative.table import (
    Dual,
    Leaves,
    adder,
    again,
    differentiates,
    linear_in,
    refusal,
    total,
    transposes,
)
from optimizer.expanders.op_expander import element
from optimizer.expanders.parts import number, spread, to_type
from optimizer.loops.trip_count import SWAPPED
from optimizer.reducers import operation_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

# Which of two is kept, the first one if they are equal.
KEEPS = {"maximum": "GE", "minimum": "LE"}


@differentiates("reduce")
def reduce(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves | Dual | Instruction | None:
    """A sum of tangents; of extremes, the mean of the tangents where they are.

    References
    ----------
    JAX, `_reduce_chooser_jvp_rule`.
    """
    opcode = operation_of(instr.called[0], instr)
    if opcode == "add":
        return as_sum(instr, tangents)
    x, _ = instr.operands
    (dx,), (initial,) = tangents
    if opcode not in KEEPS or initial is not None or dx is None:
        raise refusal(instr, "its computation is not known")
    axes = a.Dimensions.of(instr).dimensions
    dims = [d for d in range(x.shape.rank) if d not in axes]
    chosen = make("compare", x, spread(instr, x.shape.dims, dims), direction="EQ")
    weights = to_type(chosen, x.shape.element_type)
    return make("divide", total(make("multiply", dx, weights), axes), total(weights, axes))


as_sum = linear_in()


@transposes("reduce")
def reduce_back(instr: Instruction, cotangents: Leaves, linear: Sequence[bool]) -> Cotangents:
    """The cotangent, repeated for each element of the sum."""
    (ct,), (x, _) = cotangents, instr.operands
    assert ct is not None
    axes = a.Dimensions.of(instr).dimensions
    dims = [d for d in range(x.shape.rank) if d not in axes]
    return [
        spread(ct, x.shape.dims, dims) if linear[0] else None,
        total(ct, range(ct.shape.rank)) if linear[1] else None,
    ]


@differentiates("reduce-window")
def reduce_window(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves | Dual:
    """Sums of tangents; of extremes, the tangent of the first element that is one."""
    opcode = operation_of(instr.called[0], instr)
    (dx,), (initial,) = tangents
    if initial is not None or dx is None or opcode not in ("add", *KEEPS):
        raise refusal(instr, "its computation is not known")
    x, start = instr.operands
    zero = number(0, x.shape.element_type)
    if opcode == "add":
        return (again(instr, dx, zero),)
    by = chooser(KEEPS[opcode], x.shape.element_type)
    attrs = a.Windowed.of(instr)
    both = make("reduce-window", x, dx, start, zero, window=attrs.window, called=(by,))
    return (element(both, 1),)


def chooser(direction: str, kind: ElementType) -> Computation:
    """Of two elements, each with its tangent, the one that is kept."""
    scalar = array(kind)
    x, dx, z, dz = (make("parameter", shape=scalar, number=k) for k in range(4))
    first = make("compare", x, z, direction=direction)
    results = [make("select", first, x, z), make("select", first, dx, dz)]
    root = make("tuple", *results)
    return Computation("choose", (x, dx, z, dz, first, *results, root), root)


@differentiates("select-and-scatter")
def select_and_scatter(
    instr: Instruction, tangents: Sequence[Leaves]
) -> Leaves | Dual | Instruction | None:
    """The tangents of the source, scattered to the same elements; which these are is constant.

    References
    ----------
    JAX, `_select_and_scatter_add_jvp`.
    """
    if operation_of(instr.called[1], instr) != "add":
        raise refusal(instr, "its second computation does not add")
    _, source, initial = tangents
    if source[0] is None and initial[0] is None:
        return None
    return linear_in(1, 2)(instr, tangents)


@transposes("select-and-scatter")
def select_and_scatter_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> Cotangents:
    """For each window the cotangent of the element that it selects."""
    (ct,), (x, _, _), select = cotangents, instr.operands, instr.called[0]
    assert ct is not None
    kind = ct.shape.element_type
    root, swapped = select.root, select.root.operands != select.parameters
    if root.opcode != "compare" or (swapped and root.operands != select.parameters[::-1]):
        raise refusal(instr, "its first computation is no comparison")
    direction = a.Compare.of(root).direction
    by = chooser(SWAPPED[direction] if swapped else direction, kind)
    opcode = "maximum" if direction[0] == ("L" if swapped else "G") else "minimum"
    start = number(highest_of(kind) if opcode == "minimum" else lowest_of(kind), kind)
    both = make(
        "reduce-window",
        *(x, ct, start, number(0, kind)),
        window=a.Windowed.of(instr).window,
        called=(by,),
    )
    return [
        None,
        element(both, 1) if linear[1] else None,
        total(ct, range(ct.shape.rank)) if linear[2] else None,
    ]


@transposes("reduce-window")
def reduce_window_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> Sequence[Leaves | Instruction | None]:
    """Each element has the sum of the cotangents of its windows; or of those that chose it.

    References
    ----------
    JAX, `_reduce_window_sum_transpose_rule` and `_select_and_gather_add_transpose`.
    """
    window, x, ct = a.Windowed.of(instr).window, instr.operands[0], cotangents[-1]
    assert ct is not None
    zero, add = number(0, ct.shape.element_type), adder(ct.shape.element_type)
    if len(instr.operands) == 4:
        select = selector(instr)
        scattered = make("select-and-scatter", x, ct, zero, window=window, called=(select, add))
        return [None, scattered, None, None]
    pads = paddings_back(window, x, range(x.shape.rank))
    padding = [
        PaddingDim(low, high, w.stride - 1) for w, (low, high) in zip(window, pads, strict=True)
    ]
    moved = tuple(
        WindowDim(w.size, stride=w.base_dilation, window_dilation=w.window_dilation) for w in window
    )
    spaced = surrounded(ct, padding)
    return [make("reduce-window", spaced, zero, window=moved, called=(add,)), None]


def selector(instr: Instruction) -> Computation:
    """The comparison by which a windowed choice keeps elements."""
    first = next(i for i in instr.called[0].instructions if i.opcode == "compare")
    x, z = (make("parameter", shape=o.shape, number=k) for k, o in enumerate(first.operands))
    root = first.with_(operands=(x, z))
    return Computation("select", (x, z, root), root)
