"""Wrong passes, as somebody might write them: `hlo check` must find what is wrong with each.

A bug is a rule, or a function that changes an instruction into another one; both are made into
passes. Few are far-fetched: most have been in some compiler.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hlo.instruction import Instruction, Module
from hlo.types.literal import literal
from hlo.types.values import PaddingDim, SliceDim
from hlo.walk import names_of, rebuild, rebuild_module
from hlo_tools.own_passes import Applied
from interpreter.numbers.compare import BITS, FINITE, ROUNDING, ZERO_SIGN, Promise
from optimizer.cleanup.dce import Dce
from optimizer.log import Log
from optimizer.rewriting.guards import is_floating, is_integer, is_signed, is_unsigned
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    and_,
    broadcast,
    c,
    c1,
    c2,
    clamp,
    compare,
    complex_,
    concatenate,
    convert,
    divide,
    exponential,
    f,
    floor,
    log,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    or_,
    p,
    pad,
    power,
    q,
    real,
    reduce,
    reduce_precision,
    remainder,
    reshape,
    reverse,
    rsqrt,
    select,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    sign,
    slice_,
    sqrt,
    subtract,
    transpose,
    x,
    xor,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, RuleSet, rule

Change = Callable[[Instruction], Instruction | None]


class Planted:
    """A pass that replaces instructions by what a function makes of them, whatever that means."""

    def __init__(self, change: Change, promise: Promise = BITS, name: str = "") -> None:
        self.name = name or change.__name__
        self.change, self.promise = change, promise

    def run(self, module: Module, log: Log) -> Module:
        names = names_of(module)

        def rewrite(computation):
            plan = {}
            for instr in computation.instructions:
                new = self.change(instr)
                if new is not None and new is not instr and log.rewrite(self.name, instr, new):
                    fresh = new.name == new.opcode
                    plan[instr] = new.with_(name=names.unique(new.opcode)) if fresh else new
            return rebuild(computation, plan)

        return rebuild_module(module, rewrite)


@rule(transpose(transpose(x, p), q))
def swapped_permutations(x, p, q):
    return transpose(x, tuple(q[i] for i in p))


@rule(broadcast(broadcast(x, p), q))
def outer_dimensions_only(x, p, q, root):
    return broadcast(x, q[: len(p)], shape=root.shape)


@rule(reverse(reverse(x, p), q))
def reverse_twice_is_nothing(x):
    return x


@rule(slice_(x, p))
def slice_forgets_its_stride(x, p, root):
    pairs = zip(p, root.shape.dims, strict=True)
    plain = tuple(replace(d, stride=1, limit=d.start + n) for d, n in pairs)
    return slice_(x, plain) if plain != p else None


@rule(concatenate(x, y, dimensions=p))
def concatenate_in_the_other_order(x, y, p):
    return concatenate(y, x, dimensions=p)


@rule(slice_(slice_(x, p), q))
def slices_add_up_without_strides(x, p, q):
    pairs = zip(p, q, strict=True)
    added = [SliceDim(d.start + e.start, d.start + e.limit, e.stride) for d, e in pairs]
    return slice_(x, tuple(added))


@rule(pad(pad(x, y, p), y, q))
def paddings_add_up_in_the_wrong_order(x, y, p, q):
    pairs = zip(p, q, strict=True)
    return pad(
        x, y, tuple(PaddingDim(d.low + e.high, d.high + e.low, d.interior) for d, e in pairs)
    )


@rule(reduce(reduce(x, y, dimensions=p, to_apply=f), y, dimensions=q, to_apply=f))
def dimensions_not_renumbered(x, y, p, q, f):
    dims = tuple(sorted({*p, *q}))
    return reduce(x, y, dimensions=dims, to_apply=f) if len(dims) == len(p) + len(q) else None


@rule(reshape(reshape(x)).as_(a))
def as_if_transposed(x, a):
    inner = x.shape
    return (
        transpose(x, tuple(range(inner.rank))[::-1]) if inner.dims[::-1] == a.shape.dims else None
    )


RULES = [
    Rule(add(x, c), x, name="x + c => x"),
    Rule(multiply(x, 0), 0, name="x * 0 => 0, of NaN too"),
    Rule(add(x, 0), x, name="x + 0 => x, of -0 too"),
    Rule(subtract(x, x), 0, name="x - x => 0, of infinities too"),
    Rule(divide(x, x), 1, name="x / x => 1, of 0 too"),
    Rule(divide(x, x), 1, promise=FINITE, where=is_integer(x), name="x / x => 1, of integers"),
    Rule(negate(subtract(x, y)), subtract(y, x), name="-(x - y) => y - x, of equals too"),
    Rule(divide(x, c), multiply(x, 1 / c), where=is_floating(x), name="any reciprocal"),
    Rule(add(add(x, c1), c2), add(x, c1 + c2), name="sums of constants, to the bit"),
    Rule(divide(x, y), multiply(x, divide(2, y)), promise=ROUNDING, where=is_floating(x),
         name="2 / y for 1 / y"),
    Rule(subtract(x, y), subtract(y, x), promise=ROUNDING, name="operands swapped"),
    Rule(maximum(x, minimum(x, y)), y, promise=ROUNDING, name="absorption, the wrong one"),
    Rule(minimum(maximum(x, y), y), x, name="absorption of another operand"),
    Rule(multiply(x, 2), shift_left(x, 2), where=is_integer(x), name="shift by the factor"),
    Rule(divide(x, 2), shift_right_logical(x, 1), where=is_signed(x), name="shift of negatives"),
    Rule(divide(x, 2), shift_right_arithmetic(x, 1), where=is_signed(x), name="rounds down"),
    Rule(remainder(x, 4), and_(x, 3), where=is_signed(x), name="mask of negatives"),
    Rule(remainder(x, 4), and_(x, 4), where=is_unsigned(x), name="mask of one bit"),
    Rule(select(x, y, z), select(x, z, y), name="arms swapped"),
    Rule(select(not_(x), y, z), select(x, y, z), name="not forgotten"),
    Rule(compare(x, x, "LE"), 1, name="x <= x, of NaN too"),
    Rule(not_(compare(x, y, "LT")), compare(x, y, "GE"), name="not less, of NaN too"),
    Rule(clamp(x, y, z), minimum(maximum(y, z), x), name="clamp with bounds swapped"),
    Rule(clamp(x, y, z), minimum(y, z), name="clamp without the lower bound"),
    Rule(convert(convert(x)).as_(a), convert(x), name="by way of a narrower type"),
    Rule(reshape(transpose(x, p)).as_(a), reshape(x), name="reshape of a transpose"),
    Rule(and_(x, 1), x, name="x and 1 => x, of integers too"),
    Rule(or_(x, y), add(x, y), where=is_integer(x), name="or as a sum"),
    Rule(xor(x, x), x, name="x xor x => x"),
    Rule(add(x, -0.0), add(x, 0.0), name="the wrong zero"),
    Rule(sqrt(multiply(x, x)), x, promise=ROUNDING, name="root of a square of negatives"),
    Rule(power(x, 2), add(x, x), promise=ROUNDING, name="a square as a double"),
    Rule(log(exponential(x)), x, promise=FINITE, name="log of exp, without rounding"),
    Rule(rsqrt(x), sqrt(x), promise=ROUNDING, name="root for its reciprocal"),
    Rule(abs_(negate(x)), negate(abs_(x)), promise=ROUNDING, name="sign moved outwards"),
    Rule(floor(negate(x)), negate(floor(x)), promise=ZERO_SIGN, name="floor for ceil"),
    Rule(sign(x), 1, promise=FINITE, name="sign of everything is 1"),
    Rule(real(complex_(x, y)), y, promise=ROUNDING, name="imaginary for real"),
    Rule(negate(minimum(x, y)), minimum(negate(x), negate(y)), promise=ROUNDING,
         name="minimum of negatives"),
    Rule(reduce_precision(x), x, name="rounding left out"),
    Rule(shift_left(shift_left(x, c1), c2), shift_left(x, c1 + c2), name="shifts past the width"),
    Rule(multiply(add(x, y), z), add(x, multiply(y, z)), promise=ROUNDING, name="half distributed"),
    swapped_permutations,
    outer_dimensions_only,
    reverse_twice_is_nothing,
    slice_forgets_its_stride,
    concatenate_in_the_other_order,
    slices_add_up_without_strides,
    paddings_add_up_in_the_wrong_order,
    dimensions_not_renumbered,
    as_if_transposed,
]  # fmt: skip


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


class Restless:
    """A pass that is never wrong, but never done either."""

    name = "restless"

    def run(self, module, log):
        def rewrite(computation):
            plan = {i: new for i in computation.instructions if (new := back_and_forth(i))}
            plan = {i: new for i, new in plan.items() if log.rewrite("turn", i, new)}
            return rebuild(computation, plan)

        return rebuild_module(module, rewrite)


class Thirsty:
    """Dead code elimination that needs no fuel."""

    name = "thirsty"

    def run(self, module, log):  # noqa: ARG002
        return Dce().run(module, Log())


class Forgetful:
    """CSE that takes instructions with other attributes for equal."""

    name = "forgetful"

    def run(self, module, log):
        def change(computation):
            plan, first = {}, {}
            for instr in computation.instructions:
                if not instr.operands:
                    continue
                kept = first.setdefault((instr.opcode, instr.operands, instr.shape), instr)
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
            return rebuild(computation, plan)

        return rebuild_module(module, change)


class Boastful:
    """It says that it has changed something, and has not."""

    name = "boastful"

    def run(self, module, log):  # noqa: ARG002
        return replace(module)


def all_planted() -> list[Any]:
    """All wrong passes."""
    return [
        *(Applied(wrong.name, RuleSet([wrong])) for wrong in RULES),
        *(Planted(change, promise) for change, promise in CHANGES),
        *(Restless(), Thirsty(), Forgetful(), Boastful()),
    ]


PLANTED = {wrong.name: wrong for wrong in all_planted()}
