"""Elementwise opcodes that are told more than their operands, and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import Compare, ReducePrecision, Rng, RngBitGenerator
from hlo.frontends.stablehlo.writing.table import Tree, writes
from hlo.frontends.stablehlo.writing.types import dense_text, enumeration, numbers, type_text
from hlo.types.element_type import S64
from hlo.types.shape import array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.frontends.stablehlo.writing.table import WritingScope
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@writes("compare")
def compare(scope: WritingScope, instr: Instruction) -> Tree:
    """A comparison; without a type it is that of the operands."""
    attrs, kind = Compare.of(instr), instr.operands[0].shape.element_type
    usual = {"float": "FLOAT", "complex": "FLOAT", "signed": "SIGNED"}.get(kind.kind, "UNSIGNED")
    attributes = {
        "comparison_direction": enumeration("comparison_direction", attrs.direction),
        "compare_type": enumeration("comparison_type", attrs.type or usual),
    }
    operands = [scope.value(operand) for operand in instr.operands]
    return scope.op("stablehlo.compare", operands, [instr.shape], attributes)[0]


@writes("reduce-precision")
def reduce_precision(scope: WritingScope, instr: Instruction) -> Tree:
    """Rounding to a smaller float format."""
    attrs = ReducePrecision.of(instr)
    bits = {
        "exponent_bits": f"{attrs.exponent_bits} : i32",
        "mantissa_bits": f"{attrs.mantissa_bits} : i32",
    }
    operand = scope.value(instr.operands[0])
    return scope.op("stablehlo.reduce_precision", [operand], [instr.shape], bits)[0]


@writes("map")
def mapped(scope: WritingScope, instr: Instruction) -> Tree:
    """A computation of scalars, applied to each element."""
    return scope.op(
        "stablehlo.map",
        [scope.value(operand) for operand in instr.operands],
        [instr.shape],
        {"dimensions": numbers(range(instr.shape.rank))},
        [scope.region(instr.called[0])],
    )[0]


@writes("rng")
def rng(scope: WritingScope, instr: Instruction) -> Tree:
    """Random numbers; their sizes are an operand."""
    word = Rng.of(instr).distribution.removeprefix("rng_").upper()
    shape = array(S64, (instr.shape.rank,))
    sizes = constant(scope, np.array(instr.shape.dims, np.int64), shape)
    operands = [*(scope.value(operand) for operand in instr.operands), sizes]
    attributes = {"rng_distribution": enumeration("rng_distribution", word)}
    return scope.op("stablehlo.rng", operands, [instr.shape], attributes)[0]


@writes("rng-bit-generator")
def rng_bit_generator(scope: WritingScope, instr: Instruction) -> Tree:
    """The next state, and random bits; a tuple in HLO also where only the bits are arrays."""
    word = RngBitGenerator.of(instr).algorithm.removeprefix("rng_").upper()
    attributes = {"rng_algorithm": enumeration("rng_algorithm", word)}
    state = scope.value(instr.operands[0])
    if instr.shape.is_tuple:
        shapes = instr.shape.elements
        return tuple(scope.op("stablehlo.rng_bit_generator", [state], shapes, attributes))
    shapes = [instr.operands[0].shape, instr.shape]
    return scope.op("stablehlo.rng_bit_generator", [state], shapes, attributes)[1]


def constant(scope: WritingScope, value: NDArray[Any], shape: Shape) -> Tree:
    """A constant that no instruction has."""
    text = f"{dense_text(value, shape.element_type)} : {type_text(shape)}"
    return scope.op("stablehlo.constant", [], [shape], {"value": text})[0]
