"""Generators of opcodes that move elements."""

from hypothesis import strategies as st
from strategies.ops.registry import folding, given, numbers, op
from strategies.values import dims, element_types, sizes

from hlo.build import Builder
from hlo.instruction import Instruction
from hlo.types.element_type import (
    BF16,
    F32,
    F64,
    S32,
    U8,
    U32,
)
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim


@op("broadcast")
def broadcast(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    result = draw(dims(max_rank=4))
    kept = sorted(draw(st.sets(st.integers(0, max(0, len(result) - 1))))) if result else []
    operand = given(b, draw(element_types), *(result[d] for d in kept))
    shape = array(operand.shape.element_type, result)
    return b.add("broadcast", operand, shape=shape, dimensions=tuple(kept))


@op("transpose", "reverse")
def permuted(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    operand = given(b, draw(element_types), *draw(dims(max_rank=4)))
    axes = draw(st.permutations(range(operand.shape.rank)))
    flipped = axes[: draw(st.integers(0, len(axes)))]
    return b.add(opcode, operand, dimensions=tuple(axes if opcode == "transpose" else flipped))


@op("reshape", "bitcast")
def reshape(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    operand = given(b, draw(element_types), *draw(dims()))
    others = [*operand.shape.dims, *draw(st.sampled_from(((), (1,), (1, 1))))]
    result = draw(st.permutations(others) | st.just([operand.shape.size]))
    shape = array(operand.shape.element_type, tuple(result))
    return b.add(opcode, operand, shape=shape)


@op("bitcast-convert")
def bitcast_convert(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    wanted = draw(dims())
    choices = [
        (F32, wanted, U32, wanted),
        (U8, (*wanted, 4), F32, wanted),
        (F64, wanted, BF16, (*wanted, 4)),
    ]
    source, before, target, after = draw(st.sampled_from(choices))
    return b.add("bitcast-convert", given(b, source, *before), shape=array(target, after))


@op("concatenate")
def concatenate(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind, wanted = draw(element_types), draw(dims(min_rank=1))
    along = draw(st.integers(0, len(wanted) - 1))
    lengths = draw(st.lists(sizes, min_size=1, max_size=6))
    operands = [given(b, kind, *(*wanted[:along], n, *wanted[along + 1 :])) for n in lengths]
    return b.add("concatenate", *operands, dimensions=(along,))


@op("slice")
def cut(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    operand = given(b, draw(element_types), *draw(dims()))
    ranges: list[SliceDim] = []
    for n in operand.shape.dims:
        limit = draw(st.integers(0, n))
        start = draw(st.integers(0, limit))
        ranges.append(SliceDim(start, limit, draw(st.integers(1, 3))))
    return b.add("slice", operand, slice=tuple(ranges))


@op("pad")
def pad(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(element_types)
    operand = given(b, kind, *draw(dims(min_rank=1)))
    around: list[PaddingDim] = []
    for n in operand.shape.dims:
        low = draw(st.integers(-min(n, 1), 2))
        around.append(PaddingDim(low, draw(st.integers(max(0, -low - n), 2)), draw(sizes)))
    return b.add("pad", operand, given(b, kind), padding=tuple(around))


@op("dynamic-slice", "dynamic-update-slice")
def dynamic_slice(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    kind, part = draw(element_types), draw(dims())
    operand = given(b, kind, *(n + draw(st.integers(0, 2)) for n in part))
    update = [given(b, kind, *part)] if opcode == "dynamic-update-slice" else []
    starts = [given(b, S32) for _ in part]
    attrs = {} if update else {"dynamic_slice_sizes": part}
    return b.add(opcode, operand, *update, *starts, **attrs)


@op("gather")
def gather(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    rows, columns, count = draw(st.integers(1, 4)), draw(sizes), draw(sizes)
    operand = given(b, draw(element_types), rows, columns)
    indices = given(b, draw(st.sampled_from((S32, U8))), count, 1)
    attrs = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,)}
    return b.add("gather", operand, indices, **attrs, index_vector_dim=1, slice_sizes=(1, columns))


@op("scatter")
def scatter(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(numbers)
    rows, columns, count = draw(st.integers(1, 4)), draw(sizes), draw(sizes)
    operand, indices = given(b, kind, rows, columns), given(b, S32, count, 1)
    updates = given(b, kind, count, columns)
    attrs = {
        "update_window_dims": (1,),
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "index_vector_dim": 1,
    }
    return b.add("scatter", operand, indices, updates, called=[folding(b, "add", kind)], **attrs)
