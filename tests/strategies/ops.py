"""One generator an opcode: an instruction with operands, attributes and called computations.

`modules_of(opcode)` gives modules whose root is such an instruction and whose other instructions
are as few as can be. They feed every test that holds for all opcodes: inferred shape == evaluated
shape, parse(print(m)) is m, a backend == the interpreter.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from hypothesis import strategies as st
from strategies.values import dims, element_types, literals, sizes

import interpreter
from hlo.build import Builder, module
from hlo.element_type import (
    ARRAY_TYPES,
    BF16,
    C64,
    F32,
    F64,
    PRED,
    S8,
    S32,
    U8,
    U32,
    ElementType,
)
from hlo.error import HloError
from hlo.instruction import Computation, Instruction, Module
from hlo.literal import literal
from hlo.opcode import OPCODES
from hlo.shape import TOKEN_SHAPE, Shape, array, tuple_of
from hlo.sharding import Sharding
from hlo.values import ConvDims, DomainBorder, PaddingDim, SliceDim, WindowDim

Generator = Callable[[st.DrawFn, Builder, str], Instruction]
OPS: dict[str, Generator] = {}
# Types of every kind, for opcodes that work alike on all of a kind.
numbers = st.sampled_from((S8, S32, U8, U32, BF16, F32, F64, C64))
floats = st.sampled_from((BF16, F32, F64))
types_and_pred = st.sampled_from((PRED, S8, U32, BF16, F32, C64))


def op(*opcodes: str) -> Callable[[Generator], Generator]:
    """Enter a function as the generator of opcodes; it is told which one is wanted."""

    def enter(generator: Generator) -> Generator:
        for opcode in opcodes:
            assert opcode in OPCODES
            assert opcode not in OPS
            OPS[opcode] = generator
        return generator

    return enter


@st.composite
def modules_of(draw: st.DrawFn, opcode: str) -> Module:
    """Modules whose root is an instruction of this opcode."""
    builder = Builder()
    return module(builder.build(OPS[opcode](draw, builder, opcode)))


def given(b: Builder, element_type: ElementType, *sizes: int) -> Instruction:
    """A parameter that is an array."""
    return b.parameter(array(element_type, sizes))


def folding(b: Builder, opcode: str, *types: ElementType) -> Computation:
    """A computation that applies an opcode to two scalars; of each pair, where there are more."""
    inner = Builder(b.names.unique(f"{opcode}_of"), b.names)
    first = [inner.parameter(array(t)) for t in types]
    second = [inner.parameter(array(t)) for t in types]
    made = [inner.add(opcode, x, y) for x, y in zip(first, second, strict=True)]
    return inner.build(made[0] if len(made) == 1 else inner.add("tuple", *made))


def same(b: Builder, shape: Shape) -> Computation:
    """A computation that gives what it takes."""
    inner = Builder(b.names.unique("same"), b.names)
    return inner.build(inner.parameter(shape))


def integer(b: Builder, value: int, element_type: ElementType = S32) -> Instruction:
    """A constant scalar."""
    return b.constant(literal(value, array(element_type)))


# ------------------------------------------------------------------ leaves and plumbing


@op("parameter")
def parameter(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.parameter(draw(st.builds(array, element_types, dims())))


@op("constant")
def constant(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    made = draw(literals())
    return b.add("constant", shape=made.shape, literal=made)


@op("iota")
def iota(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = array(draw(numbers), draw(dims(min_rank=1)))
    along = draw(st.integers(0, shape.rank - 1))
    return b.add("iota", shape=shape, iota_dimension=along)


@op("tuple")
def make_tuple(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shapes = draw(st.lists(st.builds(array, element_types, dims()), max_size=7))
    return b.add("tuple", *map(b.parameter, shapes))


@op("get-tuple-element")
def get_tuple_element(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shapes = draw(st.lists(st.builds(array, element_types, dims()), min_size=1, max_size=3))
    whole = b.parameter(tuple_of(*shapes))
    return b.add("get-tuple-element", whole, index=draw(st.integers(0, len(shapes) - 1)))


@op("copy", "opt-barrier", "copy-start")
def passed_on(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    return b.add(opcode, given(b, draw(element_types), *draw(dims())))


@op("copy-done")
def copy_done(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.add("copy-done", passed_on(draw, b, "copy-start"))


@op("domain")
def domain(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    border = DomainBorder("sharding", Sharding("replicated"), Sharding("maximal", device=1))
    return b.add("domain", given(b, F32, *draw(dims())), domain=border)


@op("after-all")
def after_all(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.add("after-all", *(b.parameter(TOKEN_SHAPE) for _ in range(draw(st.integers(0, 3)))))


@op("add-dependency")
def add_dependency(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.add("add-dependency", given(b, F32, *draw(dims())), b.parameter(TOKEN_SHAPE))


# ------------------------------------------------------------------ elementwise

_SPECIAL = {"compare", "convert", "reduce-precision", "stochastic-convert"}


@cache
def operand_types(opcode: str) -> list[tuple[ElementType, ...]]:
    """The element types of operands for which an elementwise opcode has a meaning."""
    arity = OPCODES[opcode].arity or 1
    candidates = [(t,) * arity for t in ARRAY_TYPES] + [(PRED, t, t) for t in ARRAY_TYPES]
    return [types for types in candidates if len(types) == arity and _fits(opcode, types)]


def _fits(opcode: str, types: tuple[ElementType, ...]) -> bool:
    b = Builder()
    try:
        b.add(opcode, *(given(b, t) for t in types))
        interpreter.evaluate(module(b.build()), *(np.ones((), t.dtype) for t in types))
    except HloError:
        return False
    return True


@op(*(name for name, row in OPCODES.items() if row.elementwise and name not in _SPECIAL))
def elementwise(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    types = draw(st.sampled_from(operand_types(opcode)))
    wanted = draw(dims())
    return b.add(opcode, *(given(b, t, *wanted) for t in types))


@op("compare")
def compare(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind, wanted = draw(types_and_pred), draw(dims())
    directions = ("EQ", "NE") if kind.is_complex else ("EQ", "NE", "GE", "GT", "LE", "LT")
    order = draw(st.sampled_from(("", "TOTALORDER"))) if kind.is_floating else ""
    operands = given(b, kind, *wanted), given(b, kind, *wanted)
    return b.add("compare", *operands, direction=draw(st.sampled_from(directions)), type=order)


@op("convert")
def convert(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    wanted = draw(dims())
    source, target = draw(element_types), draw(element_types.filter(lambda t: not t.is_complex))
    source = F32 if source.is_complex else source
    return b.add("convert", given(b, source, *wanted), shape=array(target, wanted))


@op("stochastic-convert")
def stochastic_convert(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    wanted = draw(dims())
    operands = given(b, F32, *wanted), given(b, U32, *wanted)
    target = draw(st.sampled_from((S8, S32)))
    return b.add("stochastic-convert", *operands, shape=array(target, wanted))


@op("reduce-precision")
def reduce_precision(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    bits = {"exponent_bits": draw(st.integers(1, 8)), "mantissa_bits": draw(st.integers(0, 23))}
    return b.add("reduce-precision", given(b, draw(floats), *draw(dims())), **bits)


# ------------------------------------------------------------------ movement


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


# ------------------------------------------------------------------ contraction and windows


@op("dot")
def dot(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(numbers)
    batch, rows, summed, columns = (draw(sizes) for _ in range(4))
    attrs = {"lhs_batch_dims": (0,), "rhs_batch_dims": (0,)}
    attrs |= {"lhs_contracting_dims": (2,), "rhs_contracting_dims": (1,)}
    operands = given(b, kind, batch, rows, summed), given(b, kind, batch, summed, columns)
    return b.add("dot", *operands, **attrs)


@op("ragged-dot")
def ragged_dot(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    rows, summed, columns, groups = draw(sizes), draw(sizes), draw(sizes), draw(st.integers(1, 3))
    operands = given(b, F32, rows, summed), given(b, F32, groups, summed, columns)
    attrs = {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (1,)}
    attrs |= {"lhs_ragged_dims": (0,), "rhs_group_dims": (0,)}
    return b.add("ragged-dot", *operands, given(b, S32, groups), **attrs)


@op("scaled-dot")
def scaled_dot(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    rows, blocks, columns = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 3)),
    )
    operands = given(b, BF16, rows, 4 * blocks), given(b, BF16, columns, 4 * blocks)
    scales = given(b, BF16, rows, blocks), given(b, BF16, columns, blocks)
    attrs = {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (1,)}
    shape = array(BF16, (rows, columns))
    return b.add("scaled-dot", *operands, *scales, shape=shape, **attrs)


@op("convolution")
def convolution(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind, batch = draw(numbers), draw(sizes)
    features, outputs = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    window = tuple(draw(windows()) for _ in range(2))
    roles = ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
    image = given(b, kind, batch, 3, 4, features)
    kernel = given(b, kind, *(w.size for w in window), features, outputs)
    return b.add("convolution", image, kernel, window=window, dim_labels=roles)


@st.composite
def windows(draw: st.DrawFn) -> WindowDim:
    """How a window moves along a dimension; it fits at least once into 3 elements."""
    return WindowDim(
        draw(st.integers(1, 3)),
        draw(st.integers(1, 2)),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
    )


@op("reduce")
def reduce(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kinds = draw(st.lists(numbers, min_size=1, max_size=2))
    wanted = draw(dims())
    folded = sorted(draw(st.sets(st.sampled_from(range(len(wanted))))) if wanted else [])
    operands = [given(b, kind, *wanted) for kind in kinds] + [given(b, kind) for kind in kinds]
    called = [folding(b, "add", *kinds)]
    return b.add("reduce", *operands, called=called, dimensions=tuple(folded))


@op("reduce-window")
def reduce_window(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(st.sampled_from((S32, F32, BF16)))
    window = (draw(windows()),)
    called = [folding(b, draw(st.sampled_from(("add", "maximum"))), kind)]
    return b.add("reduce-window", given(b, kind, 3), given(b, kind), called=called, window=window)


@op("select-and-scatter")
def select_and_scatter(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    window = (WindowDim(draw(st.integers(1, 2)), draw(st.integers(1, 2))),)
    inner = Builder(b.names.unique("select"), b.names)
    x, y = given(inner, F32), given(inner, F32)
    select = inner.build(inner.add("compare", x, y, direction="GE"))
    operands = given(b, F32, 4), given(b, F32, window[0].positions(4)), given(b, F32)
    called = [select, folding(b, "add", F32)]
    return b.add("select-and-scatter", *operands, called=called, window=window)
