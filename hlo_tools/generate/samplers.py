"""Left sides of rules that the general generator of instances cannot guess, by the rule's name."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from hlo.build import Builder, module
from hlo.instruction import Module
from hlo.types.element_type import ELEMENT_TYPES, F32, F64, S8, S32, U8
from hlo.types.literal import literal
from hlo.types.shape import array, tuple_of
from hlo_tools.generate.operands import operands_for
from hlo_tools.generate.random_shapes import random_shape

# (random, function that makes values of a shape) -> a module whose root the rule matches
Sampler = Callable[[Random, Any], Module]

SAMPLERS: dict[str, Sampler] = {}


def sampler(name: str) -> Callable[[Sampler], Sampler]:
    """Enter a function as the sampler of a rule."""

    def enter(function: Sampler) -> Sampler:
        SAMPLERS[name] = function
        return function

    return enter


@sampler("tuple_of_all_elements")
def _taken_apart(random: Random, _values: Any) -> Module:
    builder = Builder()
    shape = tuple_of(*(random_shape(random) for _ in range(random.randint(1, 3))))
    whole = builder.parameter(shape)
    parts = [builder.add("get-tuple-element", whole, index=i) for i in range(len(shape.elements))]
    return module(builder.build(builder.add("tuple", *parts)))


def _compared_with_nan(*directions: str) -> Sampler:
    def sample(random: Random, _values: Any) -> Module:
        builder = Builder()
        element_type = ELEMENT_TYPES[random.choice(("f32", "f64", "bf16", "f8e5m2"))]
        x = builder.parameter(array(element_type, (5,)))
        nan = builder.constant(literal(np.full(5, np.nan).astype(element_type.dtype)))
        direction = random.choice(directions)
        return module(builder.build(builder.add("compare", x, nan, direction=direction)))

    return sample


sampler("compared with NaN")(_compared_with_nan("EQ", "LT", "LE", "GT", "GE"))
sampler("unequal to NaN")(_compared_with_nan("NE"))


@sampler("narrow_arithmetic")
def _narrow_arithmetic(random: Random, _values: Any) -> Module:
    builder = Builder()
    narrow = array(ELEMENT_TYPES[random.choice(("s4", "s8", "u8", "s16"))], (3,))
    wide = narrow.with_type(ELEMENT_TYPES[random.choice(("s16", "s32", "u32", "s64"))])
    x, y = (builder.add("convert", builder.parameter(narrow), shape=wide) for _ in range(2))
    opcode = random.choice(("add", "subtract", "multiply", "and", "or", "xor"))
    total = builder.add(opcode, x, y)
    return module(builder.build(builder.add("convert", total, shape=narrow)))


@sampler("dot_of_widened_bytes")
def _dot_of_widened_bytes(random: Random, _values: Any) -> Module:
    builder = Builder()
    wanted = operands_for["dot"](random, random_shape(random).with_type(S32), {})
    widened = [
        builder.add("convert", builder.parameter(s.with_type(random.choice((S8, U8)))), shape=s)
        for s in wanted.operands
    ]
    return module(builder.build(builder.add("dot", *widened, **wanted.attrs)))


@sampler("abs_(x) => x")
def _already_absolute(random: Random, _values: Any) -> Module:
    builder = Builder()
    shape = array(random.choice((F32, F64)), (4,))
    kind = random.choice(("multiply", "convert", "iota", "exponential", "logistic"))
    if kind == "iota":
        x = builder.add("iota", shape=shape, iota_dimension=0)
    elif kind == "convert":
        x = builder.add("convert", builder.parameter(shape.with_type(U8)), shape=shape)
    else:
        y = builder.parameter(shape)
        x = builder.add(kind, *([y, y] if kind == "multiply" else [y]))
        x = builder.add("reshape", x, shape=shape.with_dims((2, 2)))
    return module(builder.build(builder.add("abs", x)))


def _part(opcode: str) -> Sampler:
    def sample(random: Random, _values: Any) -> Module:
        builder = Builder()
        x = builder.parameter(array(random.choice((F32, F64)), (4,)))
        return module(builder.build(builder.add(opcode, x)))

    return sample


sampler("real(x) => x")(_part("real"))
sampler("imag(x) => 0")(_part("imag"))


def _other_bits(*types: str) -> Sampler:
    """Bits read as one type after the other; `same` is that of the parameter."""

    def sample(random: Random, _values: Any) -> Module:
        builder = Builder()
        width = random.choice((16, 32))
        names = {"same": f"s{width}", "float": f"f{width}", "unsigned": f"u{width}"}
        x = builder.parameter(array(ELEMENT_TYPES[names["same"]], (4,)))
        for name in types:
            shape = x.shape.with_type(ELEMENT_TYPES[names[name]])
            x = builder.add("bitcast-convert", x, shape=shape)
        return module(builder.build(x))

    return sample


sampler("a:=bitcast_convert(x) => x")(_other_bits("same"))
sampler("a:=bitcast_convert(bitcast_convert(x)) => x")(_other_bits("float", "same"))
sampler("bitcast-convert by way of another type")(_other_bits("float", "unsigned"))
