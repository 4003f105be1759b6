"""Generators of opcodes that work on each element alone."""

from functools import cache

import numpy as np
from hypothesis import strategies as st
from strategies.ops.registry import floats, given, op, types_and_pred
from strategies.values import dims, element_types

import interpreter
from hlo.build import Builder, module
from hlo.errors.error import HloError
from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo.types.element_type import (
    ARRAY_TYPES,
    F32,
    PRED,
    S8,
    S32,
    U32,
    ElementType,
)
from hlo.types.shape import array

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
