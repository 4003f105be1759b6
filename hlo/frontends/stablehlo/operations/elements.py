"""Elementwise operations that are told more than their operands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.numbers import integer, integer_of
from hlo.frontends.stablehlo.table import constants, given, told, translates, word

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]


# The comparisons that fit a kind of elements, by the specification of `compare`.
_COMPARISONS = {
    "signed": ("SIGNED",),
    "unsigned": ("UNSIGNED",),
    "pred": ("UNSIGNED",),
    "float": ("FLOAT", "TOTALORDER"),
    "complex": ("FLOAT",),
}


@translates("stablehlo.compare")
def compare(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A comparison: `LT, %0, %1, TOTALORDER`."""
    words = [w for w in given(op, "words", default=()) if w != ","]
    direction = words[0] if words else word(given(op, "comparison_direction"))
    kind = words[1] if len(words) > 1 else word(given(op, "compare_type", default=""))
    usual = kind in ("", "NOTYPE") or kind != "TOTALORDER"
    element = operands[0].shape.element_type
    allowed = _COMPARISONS.get(element.kind, ("FLOAT",))
    if kind not in ("", "NOTYPE", *allowed):
        message = f"{element} is compared as {' or '.join(allowed)}, not as {kind}"
        raise HloError("HLO013", message, op.span)
    return scope.add("compare", *operands, direction=direction, type="" if usual else kind)


@translates("stablehlo.convert")
def convert(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The same number in another type; of a complex number the real part."""
    value = operands[0]
    shape = told(op, value.shape.dims)
    if value.shape.element_type.is_complex and not shape.element_type.is_complex:
        value = scope.add("real", value)
    return scope.add("convert", value, shape=shape)


@translates("stablehlo.clamp", "stablehlo.select")
def with_scalars(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Scalars among the operands stand for all elements; in HLO they are repeated first."""
    shape = op.result_shapes[0]
    whole = [
        scope.add("broadcast", operand, shape=operand.shape.with_dims(shape.dims), dimensions=())
        if shape.rank and not operand.shape.rank
        else operand
        for operand in operands
    ]
    return scope.add(op.name.partition(".")[2], *whole)


@translates("stablehlo.reduce_precision")
def reduce_precision(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Rounding to a smaller float format, `e5m10`."""
    bits = re.fullmatch(r"e(\d+)m(\d+)", str(given(op, "format", default="")))
    names = ("exponent_bits", "mantissa_bits")
    sizes = map(integer, bits.groups()) if bits else (integer_of(given(op, n)) for n in names)
    return scope.add("reduce-precision", *operands, **dict(zip(names, sizes, strict=True)))


@translates("stablehlo.map")
def mapped(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A computation of scalars, applied to each element."""
    called = scope.computation("map", op.regions[0])
    dimensions = tuple(range(operands[0].shape.rank))
    return scope.add("map", *operands, called=(called,), dimensions=dimensions)


@translates("stablehlo.rng")
def rng(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Random numbers; their shape, the third operand, is that of the result."""
    distribution = word(given(op, "distribution", "rng_distribution")).lower()
    return scope.add(
        "rng",
        *operands[:2],
        shape=told(op, constants(operands[2])),
        distribution=f"rng_{distribution}",
    )


@translates("stablehlo.rng_bit_generator")
def rng_bit_generator(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The next state, and random bits."""
    algorithm = word(given(op, "algorithm", "rng_algorithm")).lower()
    return scope.several(op, "rng-bit-generator", *operands, algorithm=f"rng_{algorithm}")


@translates("stablehlo.uniform_quantize", "stablehlo.uniform_dequantize")
def quantized(_scope: RegionScope, op: Operation, _operands: Operands) -> Instruction:
    """HLO has no quantized types."""
    raise HloError("HLO013", f"HLO has nothing for `{op.name}`", op.span)
