"""Left sides of expanders' rules that the general generator of instances cannot guess."""

from random import Random
from typing import Any

import hlo_tools.generate.structured  # pyright: ignore[reportUnusedImport]  # noqa: F401  it fills the table
from hlo.build import Builder, module
from hlo.instruction import Module
from hlo.types.element_type import (
    ELEMENT_TYPES,
    F16,
    F32,
    PRED,
    S32,
    U8,
    U16,
    U32,
    U64,
    ElementType,
)
from hlo.types.literal import literal
from hlo.types.shape import Shape, array
from hlo_tools.generate.operands import operands_for
from hlo_tools.generate.random_shapes import random_dims, random_shape
from hlo_tools.generate.samplers import sampler
from hlo_tools.generate.structure_samplers import SAMPLERS

__all__ = ["SAMPLERS"]

WORDS = {8: U8, 16: U16, 32: U32, 64: U64}


def some_type(random: Random, *names: str) -> ElementType:
    return ELEMENT_TYPES[random.choice(names)]


def of_parameters(
    opcode: str, random: Random, shape: Shape, types: tuple[ElementType, ...]
) -> Module:
    """An instruction of parameters with the dimensions of a shape.

    Parameters
    ----------
    types : of the operands, and of the result.
    """
    wanted = operands_for[opcode](random, shape, {})
    builder = Builder()
    shapes = [s.with_type(t) for s, t in zip(wanted.operands, types, strict=False)]
    operands = [builder.parameter(shape) for shape in shapes]
    instr = builder.add(opcode, *operands, shape=shape.with_type(types[-1]), **wanted.attrs)
    return module(builder.build(instr))


@sampler("remove_barrier")
def _barrier(random: Random, _values: Any) -> Module:
    builder = Builder()
    x = builder.parameter(random_shape(random))
    return module(builder.build(builder.add("opt-barrier", x)))


@sampler("convolve_floats")
def _convolution_of_preds(random: Random, _values: Any) -> Module:
    dims = tuple(random.randint(1, 3) for _ in range(3))
    return of_parameters("convolution", random, array(F32, dims), (PRED,) * 3)


@sampler("round_by_bits")
def _stochastic_convert(random: Random, _values: Any) -> Module:
    x = array(some_type(random, "f8e5m2", "f16", "bf16", "f32", "f64"), random_dims(random))
    result = x.with_type(some_type(random, "s4", "s8", "u8", "s32", "u64"))
    builder = Builder()
    operands = (builder.parameter(x), builder.parameter(x.with_type(WORDS[x.element_type.bits])))
    return module(builder.build(builder.add("stochastic-convert", *operands, shape=result)))


@sampler("whole_dimension")
def _set_to_whole_size(random: Random, _values: Any) -> Module:
    builder = Builder()
    shape = array(some_type(random, "f32", "s8", "pred"), (random.randint(0, 4), 3))
    axis = random.randrange(2)
    size = builder.constant(literal(shape.dims[axis], array(S32)))
    x = builder.parameter(shape)
    instr = builder.add("set-dimension-size", x, size, shape=shape, dimensions=(axis,))
    return module(builder.build(instr))


@sampler("sort_dimensions")
def _transposing_broadcast(random: Random, _values: Any) -> Module:
    builder, shape = Builder(), array(random_shape(random).element_type, (2, 3, 1, 2))
    dims = tuple(random.sample(range(4), random.randint(2, 4)))
    x = builder.parameter(shape.with_dims(tuple(shape.dims[d] for d in dims)))
    instr = builder.add("broadcast", x, shape=shape, dimensions=dims)
    return module(builder.build(instr))


@sampler("split_index")
def _start_in_a_vector(random: Random, _values: Any) -> Module:
    builder, shape = Builder(), random_shape(random)
    x = builder.parameter(shape)
    sizes = tuple(random.randint(0, n) for n in shape.dims)
    start = array(some_type(random, "s32", "s64", "u8"), (shape.rank,))
    if random.random() < 0.5:
        where = builder.parameter(start)
        instr = builder.add("dynamic-slice", x, where, dynamic_slice_sizes=sizes)
    else:
        update = builder.parameter(shape.with_dims(sizes))
        instr = builder.add("dynamic-update-slice", x, update, builder.parameter(start))
    return module(builder.build(instr))


def product(random: Random, types: tuple[ElementType, ...]) -> Module:
    """A dot or a convolution of operands, and with a result, of given types."""
    dims = tuple(random.randint(1, 3) for _ in range(3))
    return of_parameters(random.choice(("dot", "convolution")), random, array(F32, dims), types)


@sampler("compute_in_target")
def _product_of_halves(random: Random, _values: Any) -> Module:
    return product(random, (F16,) * 3)


@sampler("widen_operands")
def _wider_product(random: Random, _values: Any) -> Module:
    names = random.choice((("s4", "s8", "s32"), ("u8", "s16", "s32"), ("bf16", "f16", "f32")))
    types = tuple(ELEMENT_TYPES[name] for name in names)
    return product(random, (random.choice(types), *types[1:]))


@sampler("cast_result")
def _narrower_product(random: Random, _values: Any) -> Module:
    wide, narrow = random.choice((("s32", "s8"), ("f32", "bf16"), ("f32", "s32"), ("f64", "f32")))
    types = (ELEMENT_TYPES[wide], ELEMENT_TYPES[wide], ELEMENT_TYPES[narrow])
    return product(random, types)


@sampler("compute_wide")
def _small_linear_algebra(random: Random, _values: Any) -> Module:
    size = random.randint(1, 3)
    types = (some_type(random, "bf16", "f16", "f8e5m2"),) * 3
    opcode = random.choice(("cholesky", "triangular-solve"))
    return of_parameters(opcode, random, array(F32, (2, size, size)), types)


@sampler("shift_bits")
def _bits_of_another_width(random: Random, _values: Any) -> Module:
    wide, narrow = random.choice((("u32", "u8"), ("f64", "s32"), ("f32", "bf16"), ("s8", "u4")))
    fine, rough = ELEMENT_TYPES[narrow], ELEMENT_TYPES[wide]
    dims = random_dims(random)
    shapes = [array(rough, dims), array(fine, (*dims, rough.bits // fine.bits))]
    random.shuffle(shapes)
    builder = Builder()
    x = builder.parameter(shapes[0])
    return module(builder.build(builder.add("bitcast-convert", x, shape=shapes[1])))


@sampler("sort_and_slice")
def _first_of_rows(random: Random, _values: Any) -> Module:
    rows = random.choice(((), (2,), (0, 3)))
    shape = array(some_type(random, "f32", "bf16", "s8", "u32"), (*rows, random.randint(1, 6)))
    builder = Builder()
    k = random.randint(1, shape.dims[-1])
    x = builder.parameter(shape)
    return module(builder.build(builder.add("topk", x, k=k, largest=random.random() < 0.5)))
