"""Writes a ragged dot as a dot over all groups, with a mask for each group.

The ragged dimension of the lhs is cut into groups. A mask of one row a group says where each lies.

free:          every group's rhs times all of the lhs, of which the mask keeps the group's part;
               the sum over groups puts the parts together
contracting:   a batch of dots, one a group, over operands that are 0 outside the group
batch:         the groups make no difference: it is a dot

The result has the same terms, summed up in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes import RaggedDotDims
from hlo.types.element_type import PRED, S64
from hlo.types.shape import array
from hlo.types.values import WindowDim
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import counting, folded, full, number, permuted, spread, to_type
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "ragged-dot-rewriter",
    "ragged-dot",
    promise=ROUNDING,
    xla="xla/service/gpu/transforms/ragged_dot_rewriter.cc",
    always=True,
)
def dot_of_groups(site: ExpansionSite) -> Instruction:
    """Replaces ragged-dot by dot and masks."""
    attrs = RaggedDotDims.of(site.instr)
    ragged = attrs.lhs_ragged_dims[0]
    if ragged in attrs.lhs_batch_dims:
        lhs, rhs, _ = site.instr.operands
        return dot_like(site, lhs, rhs, site.instr.shape.dims)
    if ragged in attrs.lhs_contracting_dims:
        return sums_of_groups(site)
    return parts_of_groups(site)


def dot_like(
    site: ExpansionSite,
    lhs: Instruction,
    rhs: Instruction,
    dims: tuple[int, ...],
    **changed: tuple[int, ...],
) -> Instruction:
    """A dot with the ragged dot's attributes, save those that are changed."""
    attrs = RaggedDotDims.of(site.instr)
    dims_by_role: dict[str, Any] = {
        "lhs_batch_dims": attrs.lhs_batch_dims,
        "rhs_batch_dims": attrs.rhs_batch_dims,
        "lhs_contracting_dims": attrs.lhs_contracting_dims,
        "rhs_contracting_dims": attrs.rhs_contracting_dims,
        **changed,
    }
    return make(
        "dot",
        lhs,
        rhs,
        shape=site.instr.shape.with_dims(dims),
        operand_precision=attrs.operand_precision[:2],
        algorithm=attrs.algorithm,
        **dims_by_role,
    )


def sums_of_groups(site: ExpansionSite) -> Instruction:
    """A sum for each group, of the part of the contracting dimension that is the group's."""
    attrs = RaggedDotDims.of(site.instr)
    lhs, rhs, sizes = site.instr.operands
    order = attrs.lhs_batch_dims + attrs.lhs_contracting_dims
    twins = attrs.rhs_batch_dims + attrs.rhs_contracting_dims
    mask = group_mask(site, sizes, lhs, order)
    count = mask.shape.rank - 1
    left = masked(lhs, mask, order[:count])
    right = masked(rhs, mask, twins[:count])
    dims = {
        f"{side}_{kind}_dims": tuple(d + 1 for d in getattr(attrs, f"{side}_{kind}_dims"))
        for side in ("lhs", "rhs")
        for kind in ("batch", "contracting")
    }
    for side in ("lhs", "rhs"):
        dims[f"{side}_batch_dims"] = (0, *dims[f"{side}_batch_dims"])
    return dot_like(site, left, right, site.instr.shape.dims, **dims)


def parts_of_groups(site: ExpansionSite) -> Instruction:
    """Each group's rows of the lhs, times the group's rhs."""
    attrs, instr = RaggedDotDims.of(site.instr), site.instr
    lhs, rhs, sizes = instr.operands
    group_dim = attrs.rhs_group_dims[0]
    groups, batch = rhs.shape.dims[group_dim], len(attrs.lhs_batch_dims)
    # The lhs, repeated for each group, in a batch dimension of its own.
    every = spread(lhs, (groups, *lhs.shape.dims), range(1, lhs.shape.rank + 1))
    product = dot_like(
        site,
        every,
        rhs,
        (groups, *instr.shape.dims),
        lhs_batch_dims=(0, *(d + 1 for d in attrs.lhs_batch_dims)),
        lhs_contracting_dims=tuple(d + 1 for d in attrs.lhs_contracting_dims),
        rhs_batch_dims=(group_dim, *attrs.rhs_batch_dims),
    )
    free = free_dims(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    mask = group_mask(site, sizes, lhs, attrs.lhs_batch_dims + free)
    axis = batch + free.index(attrs.lhs_ragged_dims[0])
    valid = spread(mask, product.shape.dims, range(axis + 2))
    rows = make("select", valid, product, full(0, product))
    element_type = instr.shape.element_type
    adder = site.binary("add", element_type)
    return folded(rows, number(0, element_type), (0,), adder)


def group_mask(
    site: ExpansionSite, sizes: Instruction, lhs: Instruction, order: tuple[int, ...]
) -> Instruction:
    """A mask, for each group, of its part of the ragged dimension.

    Returns
    -------
    Instruction
        pred, shape (groups, sizes of the dimensions of `order` up to the ragged one).
    """
    axis = order.index(RaggedDotDims.of(site.instr).lhs_ragged_dims[0])
    dims = [lhs.shape.dims[d] for d in order[: axis + 1]]
    wide, rank = to_type(sizes, S64), sizes.shape.rank
    groups = sizes.shape.dims[-1]
    whole = (groups, *dims)
    if not groups:
        # No window has so many elements; nor has the mask any.
        return splat(False, array(PRED, whole))
    window = [*[WindowDim(1)] * (rank - 1), WindowDim(groups, pad_low=groups - 1)]
    ends = make(
        "reduce-window",
        wide,
        number(0, S64),
        window=tuple(window),
        called=(site.binary("add", S64),),
    )
    starts = make("subtract", ends, wide)
    # The groups come first; the dimensions in front of the ragged one follow, if they are there.
    front = [rank - 1, *range(rank - 1)]
    first, last = (spread(permuted(x, front), whole, range(rank)) for x in (starts, ends))
    here = counting(S64, whole, axis + 1)
    reached = make("compare", first, here, direction="LE")
    return make("and", reached, make("compare", here, last, direction="LT"))


def masked(x: Instruction, mask: Instruction, dims: tuple[int, ...]) -> Instruction:
    """An array for each group: 0 outside it.

    Parameters
    ----------
    mask : shape (groups, sizes of `dims`).
    dims : dimensions of the array.
    """
    groups = mask.shape.dims[0]
    whole = (groups, *x.shape.dims)
    rising = sorted(range(len(dims)), key=lambda i: dims[i])
    ordered = permuted(mask, [0, *(i + 1 for i in rising)])
    valid = spread(ordered, whole, [0, *(dims[i] + 1 for i in rising)])
    every = spread(x, whole, range(1, len(whole)))
    return make("select", valid, every, full(0, every))
