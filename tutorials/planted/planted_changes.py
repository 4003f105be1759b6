"""Wrong changes of single instructions: each gives what takes an instruction's place, or None."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hlo.instruction import Instruction
from hlo.types.literal import literal
from hlo.types.values import SliceDim
from hlo.walk import rebuild
from interpreter.numbers.compare import BITS, ROUNDING, Promise
from optimizer.rewriting.make import make

Change = Callable[[Instruction], Instruction | None]


def exponential_left_out(instr):
    return instr.operands[0] if instr.opcode == "exponential" else None


def first_branch(instr):
    if instr.opcode == "conditional":
        return make("call", instr.operands[1], called=instr.called[:1])
    return None


def branches_swapped(instr):
    if instr.opcode != "conditional" or len(instr.called) != 2:
        return None
    if not instr.operands[1].shape.compatible(instr.operands[2].shape):
        return None
    return instr.with_(called=instr.called[::-1])


def loop_left_out(instr):
    return instr.operands[0] if instr.opcode == "while" else None


def one_turn_only(instr):
    if instr.opcode == "while":
        return make("call", instr.operands[0], called=instr.called[1:])
    return None


def condition_off_by_one(instr):
    """Inside a loop's condition, most likely; anywhere else it is as wrong."""
    if instr.opcode != "compare" or instr.attrs.direction != "LT":
        return None
    return instr.with_(attrs=replace(instr.attrs, direction="LE"))


def element_beside(instr):
    if instr.opcode != "get-tuple-element" or instr.operands[0].opcode != "tuple":
        return None
    elements = instr.operands[0].operands
    beside = elements[(instr.attrs.index + 1) % len(elements)]
    return beside if beside.shape.compatible(instr.shape) else None


def slice_from_zero(instr):
    if instr.opcode != "dynamic-slice" or not instr.shape.dims:
        return None
    dims = tuple(SliceDim(0, n) for n in instr.shape.dims)
    return make("slice", instr.operands[0], slice=dims)


def slice_one_further(instr):
    if instr.opcode != "slice":
        return None
    sizes = instr.operands[0].shape.dims
    moved = tuple(
        SliceDim(d.start + 1, d.limit + 1, d.stride) if d.limit < n else d
        for d, n in zip(instr.attrs.slice, sizes, strict=True)
    )
    return instr.with_(attrs=replace(instr.attrs, slice=moved))


def slice_limit_one_less(instr):
    if instr.opcode != "slice" or not instr.shape.dims:
        return None
    dims = tuple(replace(d, limit=d.limit - 1) for d in instr.attrs.slice)
    return instr.with_(attrs=replace(instr.attrs, slice=dims))


def start_indices_swapped(instr):
    if instr.opcode not in ("dynamic-slice", "dynamic-update-slice"):
        return None
    first = 1 if instr.opcode == "dynamic-slice" else 2
    return instr.with_(operands=instr.operands[:first] + instr.operands[first:][::-1])


def update_without_the_rest(instr):
    if instr.opcode != "dynamic-update-slice":
        return None
    operand, update = instr.operands[:2]
    return update if update.shape.compatible(operand.shape) else operand


def arguments_turned(instr):
    if instr.opcode == "call" and len(instr.operands) > 1:
        return instr.with_(operands=instr.operands[::-1])
    return None


def fusion_operands_turned(instr):
    if instr.opcode == "fusion" and len(instr.operands) > 1:
        return instr.with_(operands=instr.operands[::-1])
    return None


def reduced_along_another(instr):
    if instr.opcode != "reduce" or instr.attrs.dimensions in ((), (0,)):
        return None
    return instr.with_(attrs=replace(instr.attrs, dimensions=(0,)))


def wrong_neutral_element(instr):
    """Every reduction begins with 0, as sums do."""
    if instr.opcode != "reduce" or not instr.shape.is_array:
        return None
    zero = literal(np.zeros((), instr.shape.element_type.dtype))
    if instr.operands[1].opcode == "constant" and instr.operands[1].attrs.literal == zero:
        return None
    start = make("constant", literal=zero).with_(name=f"{instr.name}-zero")
    return instr.with_(operands=(instr.operands[0], start))


def sum_for_any_reduction(instr):
    """The computation that is called is taken for what it is called."""
    if instr.opcode != "reduce" or not instr.shape.is_array:
        return None
    inner = instr.called[0].root
    if inner.opcode not in ("maximum", "minimum", "multiply"):
        return None
    other = rebuild(instr.called[0], {inner: inner.with_(opcode="add")})
    return instr.with_(called=(replace(other, name=f"{other.name}-{instr.name}"),))


def padding_forgotten(instr):
    return instr.operands[0] if instr.opcode == "pad" else None


def padding_on_the_other_side(instr):
    if instr.opcode != "pad":
        return None
    turned = tuple(replace(d, low=d.high, high=d.low) for d in instr.attrs.padding)
    return instr.with_(attrs=replace(instr.attrs, padding=turned))


def name_taken(instr):
    if instr.opcode == "negate":
        return instr.with_(opcode="abs", name=instr.operands[0].name)
    return None


def constants_are_zero(instr):
    if instr.opcode != "constant" or not instr.shape.is_array:
        return None
    if not instr.attrs.literal.array.any():
        return None
    zero = literal(np.zeros_like(instr.attrs.literal.array), instr.shape)
    return make("constant", shape=instr.shape, literal=zero)


def back_and_forth(instr):
    """Never wrong, but never done either; see `Restless`."""
    if instr.opcode == "add":
        return instr.with_(operands=instr.operands[::-1])
    return None


def counts_along_the_first(instr):
    if instr.opcode != "iota" or instr.attrs.iota_dimension == 0:
        return None
    return instr.with_(attrs=replace(instr.attrs, iota_dimension=0))


def without_dependency(instr):
    return instr.with_(control_predecessors=()) if instr.control_predecessors else None


def without_copy(instr):
    """A copy is only in the way, until two values share its buffer."""
    return instr.operands[0] if instr.opcode == "copy" else None


def batch_forgotten(instr):
    """Batch dimensions are summed like the others."""
    if instr.opcode != "dot" or not instr.attrs.lhs_batch_dims:
        return None
    at = instr.attrs
    summed = replace(
        at,
        lhs_batch_dims=(),
        rhs_batch_dims=(),
        lhs_contracting_dims=at.lhs_batch_dims + at.lhs_contracting_dims,
        rhs_contracting_dims=at.rhs_batch_dims + at.rhs_contracting_dims,
    )
    lhs, rhs = instr.operands
    made = make("dot", lhs, rhs, **{n: getattr(summed, n) for n in summed.__dataclass_fields__})
    batch = tuple(range(len(at.lhs_batch_dims), instr.shape.rank))
    return make(
        "broadcast", made.with_(name=f"{instr.name}-sum"), shape=instr.shape, dimensions=batch
    )


def dot_operands_turned(instr):
    if instr.opcode != "dot":
        return None
    lhs, rhs = instr.operands
    return instr.with_(operands=(rhs, lhs)) if lhs.shape.compatible(rhs.shape) else None


def stale_layout(instr):
    """A transpose is a bitcast, if one does not look at the layout."""
    if instr.opcode != "transpose" or instr.shape.layout is None:
        return None
    return make("bitcast", instr.operands[0], shape=instr.shape)


def bitcast_for_reshape_of_any_layout(instr):
    if instr.opcode != "copy" or not instr.shape.is_array or not instr.shape.rank:
        return None
    if instr.shape.layout == instr.operands[0].shape.layout:
        return None
    return make("bitcast", instr.operands[0], shape=instr.shape)


def window_turned(instr):
    if instr.opcode not in ("reduce-window", "convolution"):
        return None
    turned = tuple(replace(d, pad_low=d.pad_high, pad_high=d.pad_low) for d in instr.attrs.window)
    return instr.with_(attrs=replace(instr.attrs, window=turned))


def stride_forgotten(instr):
    if instr.opcode != "reduce-window":
        return None
    sizes = zip(instr.attrs.window, instr.operands[0].shape.dims, strict=True)
    plain = [replace(d, stride=1, pad_high=d.pad_high - (d.positions(n) - 1) * (d.stride - 1))
             for d, n in sizes]  # fmt: skip
    return instr.with_(attrs=replace(instr.attrs, window=tuple(plain)))


def sorted_the_other_way(instr):
    if instr.opcode != "sort" or instr.called[0].root.opcode != "compare":
        return None
    root = instr.called[0].root
    other = {"LT": "GT", "GT": "LT"}.get(root.attrs.direction)
    if other is None:
        return None
    turned = root.with_(attrs=replace(root.attrs, direction=other))
    body = rebuild(instr.called[0], {root: turned})
    return instr.with_(called=(replace(body, name=f"{body.name}-{instr.name}"),))


def gather_takes_the_first(instr):
    if instr.opcode != "gather":
        return None
    indices = instr.operands[1]
    zero = literal(np.zeros(indices.shape.dims, indices.shape.element_type.dtype))
    start = make("constant", literal=zero).with_(name=f"{instr.name}-zero")
    return instr.with_(operands=(instr.operands[0], start))


def scatter_writes_nothing(instr):
    return instr.operands[0] if instr.opcode == "scatter" and len(instr.operands) == 3 else None


def index_map_turned(instr):
    if instr.opcode != "gather" or len(instr.attrs.start_index_map) < 2:
        return None
    return instr.with_(
        attrs=replace(instr.attrs, start_index_map=instr.attrs.start_index_map[::-1])
    )


def selected_by_greater(instr):
    """Of equal elements the first is selected, not the last."""
    if instr.opcode != "select-and-scatter" or instr.called[0].root.opcode != "compare":
        return None
    root = instr.called[0].root
    other = {"GE": "GT", "LE": "LT"}.get(root.attrs.direction)
    if other is None:
        return None
    body = rebuild(instr.called[0], {root: root.with_(attrs=replace(root.attrs, direction=other))})
    return instr.with_(called=(replace(body, name=f"{body.name}-{instr.name}"), instr.called[1]))


def alone_in_the_world(instr):
    """There is only one device, if one forgets the others."""
    return instr.operands[0] if instr.opcode == "all-reduce" and instr.shape.is_array else None


def other_triangle(instr):
    if instr.opcode != "cholesky":
        return None
    return instr.with_(attrs=replace(instr.attrs, lower=not instr.attrs.lower))


def forward_for_inverse(instr):
    if instr.opcode != "fft" or instr.attrs.fft_type not in ("FFT", "IFFT"):
        return None
    other = "IFFT" if instr.attrs.fft_type == "FFT" else "FFT"
    return instr.with_(attrs=replace(instr.attrs, fft_type=other))


def epsilon_forgotten(instr):
    if instr.opcode not in ("batch-norm-inference", "batch-norm-training"):
        return None
    return instr.with_(attrs=replace(instr.attrs, epsilon=0.0))


def smallest_for_largest(instr):
    if instr.opcode != "topk":
        return None
    return instr.with_(attrs=replace(instr.attrs, largest=not instr.attrs.largest))


def first_dimension_sliced(instr):
    """Joined along the first dimension, whichever it was."""
    if instr.opcode != "concatenate" or instr.attrs.dimensions == (0,):
        return None
    return instr.with_(attrs=replace(instr.attrs, dimensions=(0,)))


def wraps_as_unsigned(instr):
    if instr.opcode != "convert" or instr.operands[0].shape.element_type.kind != "signed":
        return None
    wide = instr.shape.element_type
    if not wide.is_integer or wide.bits <= instr.operands[0].shape.element_type.bits:
        return None
    small = literal(
        np.asarray((1 << instr.operands[0].shape.element_type.bits) - 1).astype(wide.dtype)
    )
    mask = make("constant", literal=small).with_(name=f"{instr.name}-mask")
    full = make("broadcast", mask, shape=instr.shape, dimensions=())
    inner = instr.with_(name=f"{instr.name}-wide")
    return make("and", inner, full.with_(name=f"{instr.name}-masks"))


CHANGES: list[tuple[Change, Promise]] = [
    (exponential_left_out, ROUNDING),
    *((change, BITS) for change in (
        first_branch, branches_swapped, loop_left_out, one_turn_only, condition_off_by_one,
        element_beside, slice_from_zero, slice_one_further, slice_limit_one_less,
        start_indices_swapped, update_without_the_rest, arguments_turned, fusion_operands_turned,
        reduced_along_another, wrong_neutral_element, sum_for_any_reduction, padding_forgotten,
        padding_on_the_other_side, name_taken, constants_are_zero, counts_along_the_first,
        without_dependency, without_copy, stale_layout, bitcast_for_reshape_of_any_layout,
        stride_forgotten, sorted_the_other_way, gather_takes_the_first, scatter_writes_nothing,
        index_map_turned, selected_by_greater, alone_in_the_world, smallest_for_largest,
        first_dimension_sliced, wraps_as_unsigned,
    )),
    *((change, ROUNDING) for change in (
        batch_forgotten, dot_operands_turned, window_turned, other_triangle, forward_for_inverse,
        epsilon_forgotten,
    )),
]  # fmt: skip
