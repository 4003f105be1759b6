"""Dimensions of operands and results that correspond, opcode by opcode.

    dot: f32[m,n] of f32[m,k] and f32[k,n]      m: (0, -) -> 0    n: (-, 1) -> 1    k: (1, 0) -> -

A *factor* is an index of the loop nest that an instruction stands for: it runs over one dimension
of each operand and result, or none. Operands and results whose dimensions share a factor can be cut
alike. Propagation and division read these rules; Shardy has the same (`sdy.op_sharding_rule`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo import attributes as a
from interpreter.custom_calls.placement import identity
from interpreter.custom_calls.registry import CUSTOM_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.values import WindowDim

    _Dims = tuple[int | None, ...]

# What a device needs of the other blocks of a factor, as Shardy calls it.
PASS_THROUGH = "pass-through"  # nothing
REDUCTION = "reduction"  # results, to be combined
PERMUTATION = "permutation"  # some elements, for they move along the dimension
REPLICATION = "need-replication"  # all elements


@dataclass(frozen=True, slots=True)
class Factor:
    """One index of an instruction's loop nest.

    Attributes
    ----------
    operands : the dimension of each operand that it runs over; None for none.
    results : the same of each array of the result.
    kind : what a device that has one block needs of the others.
    limit : the number of blocks must divide this; 0 for any number.
    """

    operands: _Dims
    results: _Dims
    kind: str = PASS_THROUGH
    limit: int = 0


Rule = tuple[Factor, ...]
# Custom calls that only say how their operand is to be cut.
CONSTRAINTS = ("Sharding", "xla.sdy.Sharding", "xla.sdy.FuncResultSharding", "mhlo.sharding")

# A custom call that says which arrays are cut alike: those of one number.
SHARDING_GROUP, GROUP_ID = "xla.sdy.ShardingGroup", "xla.sdy.sharding_group_id"

# Custom calls that each device makes with its own parts of the operands.
CALLS_ON_PARTS: set[str] = set()


def rule_of(instr: Instruction) -> Rule:
    """The factors of an instruction; () for one that needs all operands whole.

    A reshape has none: `optimizer.partitioning.reshapes` says where its cuts go.
    """
    if any(shape.is_dynamic for shape in (instr.shape, *(o.shape for o in instr.operands))):
        return ()
    if instr.row.elementwise:
        return _elementwise(instr)
    rule = _RULES.get(instr.opcode)
    return rule(instr) if rule else ()


def _elementwise(instr: Instruction) -> Rule:
    """Scalars among the operands are needed whole."""
    rank = instr.shape.rank
    return tuple(
        Factor(tuple(d if o.shape.rank == rank else None for o in instr.operands), (d,))
        for d in range(rank)
    )


def _same_dimensions(instr: Instruction, kinds: Callable[[int], str]) -> Rule:
    """One array in, one out, whose dimensions correspond; other operands are scalars."""
    others = (None,) * (len(instr.operands) - 1)
    return tuple(Factor((d, *others), (d,), kinds(d)) for d in range(instr.shape.rank))


def _moved(instr: Instruction, still: Callable[[int], bool]) -> Rule:
    return _same_dimensions(instr, lambda d: PASS_THROUGH if still(d) else PERMUTATION)


def _bitcast_convert(instr: Instruction) -> Rule:
    rank = min(instr.shape.rank, instr.operands[0].shape.rank)
    return tuple(Factor((d,), (d,)) for d in range(rank))


def _broadcast(instr: Instruction) -> Rule:
    place = {out: d for d, out in enumerate(a.Broadcast.of(instr).dimensions)}
    return tuple(Factor((place.get(d),), (d,)) for d in range(instr.shape.rank))


def _transpose(instr: Instruction) -> Rule:
    return tuple(Factor((d,), (out,)) for out, d in enumerate(a.Dimensions.of(instr).dimensions))


def _made(instr: Instruction) -> Rule:
    """Each device makes its own part."""
    others = (None,) * len(instr.operands)
    return tuple(Factor(others, (d,)) for d in range(instr.shape.rank))


def _slice(instr: Instruction) -> Rule:
    before, after = instr.operands[0].shape.dims, instr.shape.dims
    return _moved(instr, lambda d: before[d] == after[d])


def _pad(instr: Instruction) -> Rule:
    padding = a.Pad.of(instr).padding
    return _moved(instr, lambda d: not (padding[d].low or padding[d].high or padding[d].interior))


def _reverse(instr: Instruction) -> Rule:
    turned = a.Dimensions.of(instr).dimensions
    return _moved(instr, lambda d: d not in turned)


def _concatenate(instr: Instruction) -> Rule:
    (along,) = a.Dimensions.of(instr).dimensions
    return tuple(
        Factor((d,) * len(instr.operands), (d,), PERMUTATION if d == along else PASS_THROUGH)
        for d in range(instr.shape.rank)
    )


def _dynamic_slice(instr: Instruction) -> Rule:
    before, after = instr.operands[0].shape.dims, instr.shape.dims
    starts = (None,) * (len(instr.operands) - 1)
    # An old form has one array of starts.
    kind = REDUCTION if len(starts) == instr.shape.rank else REPLICATION
    return tuple(
        Factor((d, *starts), (d,)) if before[d] == after[d]
        else Factor((d, *starts), (None,), kind)
        for d in range(instr.shape.rank)
    )  # fmt: skip


def _dynamic_update_slice(instr: Instruction) -> Rule:
    array, update = instr.shape.dims, instr.operands[1].shape.dims
    starts = (None,) * (len(instr.operands) - 2)
    kind = PASS_THROUGH if len(starts) == instr.shape.rank else REPLICATION
    return tuple(
        Factor((d, d, *starts), (d,)) if array[d] == update[d]
        else Factor((d, None, *starts), (d,), kind)
        for d in range(instr.shape.rank)
    )  # fmt: skip


def _dot(instr: Instruction) -> Rule:
    attrs, (lhs, rhs) = a.DotDims.of(instr), instr.operands
    batch = list(zip(attrs.lhs_batch_dims, attrs.rhs_batch_dims, strict=True))
    contracting = list(zip(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims, strict=True))
    used = [*batch, *contracting]
    left = [d for d in range(lhs.shape.rank) if d not in {one for one, _ in used}]
    right = [d for d in range(rhs.shape.rank) if d not in {other for _, other in used}]
    dims = [*batch, *((d, None) for d in left), *((None, d) for d in right)]
    summed = PERMUTATION if instr.shape.element_type.kind == "pred" else REDUCTION
    return (
        *(Factor(pair, (out,)) for out, pair in enumerate(dims)),
        *(Factor(pair, (None,), summed) for pair in contracting),
    )


def is_still(window: WindowDim) -> bool:
    """Whether a window sees one element, at its own place."""
    plain = window.size == window.stride == window.base_dilation == 1
    return plain and window.pad_low == window.pad_high == 0


def _convolution(instr: Instruction) -> Rule:
    attrs = a.Convolution.of(instr)
    labels, groups, batches = attrs.dim_labels, attrs.feature_group_count, attrs.batch_group_count
    image = (labels.input_feature, labels.kernel_input_feature)
    out = (labels.kernel_output_feature, labels.output_feature)
    factors = [Factor((None, out[0]), (out[1],))] if groups == batches == 1 else []
    if groups > 1:
        factors.append(Factor((image[0], out[0]), (out[1],), limit=groups))
    else:
        factors.append(Factor(image, (None,), REDUCTION))
    if batches > 1:
        factors.append(Factor((labels.input_batch, out[0]), (out[1],), limit=batches))
    else:
        factors.append(Factor((labels.input_batch, None), (labels.output_batch,)))
    spatial = zip(labels.input_spatial, labels.output_spatial, attrs.window, strict=True)
    for before, after, window in spatial:
        kind = PASS_THROUGH if is_still(window) else PERMUTATION
        factors.append(Factor((before, None), (after,), kind))
    return tuple(factors)


def _reduce(instr: Instruction) -> Rule:
    count, rank = len(instr.operands) // 2, instr.operands[0].shape.rank
    reduced = a.Dimensions.of(instr).dimensions
    dims = [d for d in range(rank) if d not in reduced]
    initial = (None,) * count
    return tuple(
        Factor((d,) * count + initial, (None,) * count, REDUCTION) if d in reduced
        else Factor((d,) * count + initial, (dims.index(d),) * count)
        for d in range(rank)
    )  # fmt: skip


def _reduce_window(instr: Instruction) -> Rule:
    count = len(instr.operands) // 2
    return tuple(
        Factor((d,) * count + (None,) * count, (d,) * count,
               PASS_THROUGH if is_still(window) else PERMUTATION)
        for d, window in enumerate(a.Windowed.of(instr).window)
    )  # fmt: skip


def _select_and_scatter(instr: Instruction) -> Rule:
    return tuple(
        Factor((d, d, None), (d,), PASS_THROUGH if is_still(window) else PERMUTATION)
        for d, window in enumerate(a.Windowed.of(instr).window)
    )


def _gather(instr: Instruction) -> Rule:
    attrs, (array, indices) = a.Gather.of(instr), instr.operands
    batch = [d for d in range(instr.shape.rank) if d not in attrs.offset_dims]
    dims = [d for d in range(indices.shape.rank) if d != attrs.index_vector_dim]
    same = zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True)
    batching = {there: here for here, there in same}
    factors = [Factor((batching.get(d), d), (out,)) for d, out in zip(dims, batch, strict=True)]
    gone = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    offsets = iter(attrs.offset_dims)
    for d, size in enumerate(attrs.slice_sizes):
        out = None if d in gone else next(offsets)
        if d in attrs.operand_batching_dims:
            continue
        if size == array.shape.dims[d] and out is not None:
            factors.append(Factor((d, None), (out,)))
        elif size == 1:
            factors.append(Factor((d, None), (None,), REDUCTION))
    return tuple(factors)


def _scatter(instr: Instruction) -> Rule:
    attrs, count = a.Scatter.of(instr), len(instr.operands) // 2
    indices, updates = instr.operands[count], instr.operands[-1]
    dims = [d for d in range(indices.shape.rank) if d != attrs.index_vector_dim]
    batch = [d for d in range(updates.shape.rank) if d not in attrs.update_window_dims]
    same = zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True)
    batching = {there: here for here, there in same}

    def factor(array: int | None, index: int | None, update: int | None, kind: str) -> Factor:
        return Factor((array,) * count + (index,) + (update,) * count, (array,) * count, kind)

    factors = [
        factor(batching.get(d), d, update, PASS_THROUGH if d in batching else REDUCTION)
        for d, update in zip(dims, batch, strict=True)
    ]
    gone = {*attrs.inserted_window_dims, *attrs.input_batching_dims}
    windows = iter(attrs.update_window_dims)
    for d, size in enumerate(instr.operands[0].shape.dims):
        window = None if d in gone else next(windows)
        if d in attrs.inserted_window_dims:
            factors.append(factor(d, None, None, PASS_THROUGH))
        elif window is not None and updates.shape.dims[window] == size:
            factors.append(factor(d, None, window, PASS_THROUGH))
    return tuple(factors)


def _sort(instr: Instruction) -> Rule:
    """All arrays are sorted together."""
    (along,) = a.Sort.of(instr).dimensions
    count = len(instr.operands)
    return tuple(
        Factor((d,) * count, (d,) * count, REPLICATION if d == along else PASS_THROUGH)
        for d in range(instr.operands[0].shape.rank)
    )


def _leading(instr: Instruction, batch: int) -> Rule:
    """Dimensions of a batch, in front; others are needed whole."""
    results = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    operands = [o.shape for o in instr.operands]

    def dims(shapes: list[Shape], d: int) -> _Dims:
        return tuple(d if s.is_array and s.rank >= batch else None for s in shapes)

    rank = max(s.rank for s in operands)
    return tuple(
        Factor(dims(operands, d), dims([*results], d),
               PASS_THROUGH if d < batch else REPLICATION)
        for d in range(batch if len(operands) > 1 or len(results) > 1 else rank)
    )  # fmt: skip


def _custom_call(instr: Instruction) -> Rule:
    target = a.CustomCall.of(instr).custom_call_target
    alike = instr.shape.is_array and [o.shape.dims for o in instr.operands] == [instr.shape.dims]
    if alike and CUSTOM_CALLS.get(target) is identity:
        return _elementwise(instr)
    if target.startswith("lapack_") and target.endswith("_ffi"):
        return _leading(instr, instr.operands[0].shape.rank - 2)
    if target == "TopK":
        return _leading(instr, instr.operands[0].shape.rank - 1)
    return ()


def _batch_norm(instr: Instruction) -> Rule:
    """Features are independent."""
    feature = a.BatchNorm.of(instr).feature_index
    shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)

    def dims(ranks: list[int]) -> _Dims:
        return tuple(0 if rank == 1 else feature for rank in ranks)

    return (Factor(dims([o.shape.rank for o in instr.operands]), dims([s.rank for s in shapes])),)


# fmt: off
_RULES: dict[str, Callable[[Instruction], Rule]] = {
    "batch-norm-grad":      _batch_norm,
    "batch-norm-inference": _batch_norm,
    "batch-norm-training":  _batch_norm,
    "bitcast-convert":      _bitcast_convert,
    "broadcast":            _broadcast,
    "cholesky":             lambda i: _leading(i, i.shape.rank - 2),
    "concatenate":          _concatenate,
    "constant":             _made,
    "convolution":          _convolution,
    "copy":                 _elementwise,
    "custom-call":          _custom_call,
    "dot":                  _dot,
    "dynamic-slice":        _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "fft":                  lambda i: _leading(i, i.shape.rank - len(a.Fft.of(i).fft_length)),
    "gather":               _gather,
    "iota":                 _made,
    "map":                  _elementwise,
    "pad":                  _pad,
    "reduce":               _reduce,
    "reduce-window":        _reduce_window,
    "reverse":              _reverse,
    "rng":                  _made,
    "scatter":              _scatter,
    "select-and-scatter":   _select_and_scatter,
    "slice":                _slice,
    "sort":                 _sort,
    "topk":                 lambda i: _leading(i, i.operands[0].shape.rank - 1),
    "transpose":            _transpose,
    "triangular-solve":     lambda i: _leading(i, i.shape.rank - 2),
}
# fmt: on
