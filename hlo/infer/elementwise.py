"""Shapes of opcodes that work element by element: the operands' own, with a type to check.

XLA's client broadcasts operands for its user, but HLO itself does not: all operands have the same
dimensions, except that the predicate of `select` and the bounds of `clamp` may be scalars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    bad_value,
    compatible,
    expect_arguments,
    expect_array,
    expect_kinds,
    expect_same_dims,
    expect_same_type,
    higher_type,
    merge_dims,
    scalar_of,
    show,
)
from hlo.infer.table import infers
from hlo.types.element_type import C64, C128, F32, F64, PRED
from hlo.types.shape import Shape, array

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction

# The kinds of element types that an opcode takes, where the result is as the operands.
FLOAT, INEXACT, INTEGER = ("float",), ("float", "complex"), ("signed", "unsigned")
BITS, NUMBER, ANY = ("pred", *INTEGER), (*INTEGER, *INEXACT), ("pred", *INTEGER, *INEXACT)

# fmt: off
UNARY = {
    "acos": INEXACT, "acosh": INEXACT, "asin": INEXACT, "asinh": INEXACT, "atanh": INEXACT,
    "cosine": INEXACT, "cosh": INEXACT, "exponential": INEXACT, "exponential-minus-one": INEXACT,
    "log": INEXACT, "log-plus-one": INEXACT, "logistic": INEXACT, "rsqrt": INEXACT,
    "sine": INEXACT, "sinh": INEXACT, "sqrt": INEXACT, "tan": INEXACT, "tanh": INEXACT,
    "cbrt": FLOAT, "ceil": FLOAT, "erf": FLOAT, "floor": FLOAT, "round-nearest-afz": FLOAT,
    "round-nearest-even": FLOAT,
    "sign": ("signed", "float", "complex"),
    "negate": NUMBER,
    "not": BITS,
    "count-leading-zeros": INTEGER, "popcnt": INTEGER,
}
BINARY = {
    "add": ANY, "multiply": ANY, "maximum": ANY, "minimum": ANY,
    "subtract": NUMBER, "divide": NUMBER, "remainder": NUMBER, "power": NUMBER, "atan2": INEXACT,
    "shift-left": INTEGER, "shift-right-arithmetic": INTEGER, "shift-right-logical": INTEGER,
    "mulhi": INTEGER,
    "and": BITS, "or": BITS, "xor": BITS,
}
# fmt: on


@infers(*UNARY, xla="ShapeInference::InferUnaryOpShape")
def infer_unary(instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's shape; its element type must be one that the opcode knows."""
    expect_kinds(operand, *UNARY[instr.opcode])
    return operand


@infers("abs", "real", "imag", xla="ShapeInference::InferUnaryOpShape")
def infer_part(instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's shape, c64 becoming f32 and c128 becoming f64."""
    expect_kinds(operand, *(INEXACT if instr.opcode != "abs" else ("signed", *INEXACT)))
    return operand.with_type(operand.element_type.real)


@infers("is-finite", xla="ShapeInference::InferUnaryOpShape")
def infer_is_finite(_instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's dimensions, of pred."""
    expect_kinds(operand, "float")
    return operand.with_type(PRED)


@infers("reduce-precision", xla="ShapeInference::InferReducePrecisionShape")
def infer_reduce_precision(_instr: Instruction, attrs: a.ReducePrecision, operand: Shape) -> Shape:
    """The operand's shape."""
    expect_kinds(operand, "float")
    if attrs.exponent_bits < 1:
        # Without an exponent bit nothing would tell 0 from infinity.
        bad_value("exponent_bits", attrs.exponent_bits, "at least 1")
    if attrs.mantissa_bits < 0:
        bad_value("mantissa_bits", attrs.mantissa_bits, "at least 0")
    return operand


@infers("convert", xla="ShapeInference::InferConvertShape")
def infer_convert(instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's dimensions, of the declared element type."""
    expect_array(operand, instr.shape)
    if operand.element_type.is_complex and not instr.shape.element_type.is_complex:
        raise HloError(
            "HLO036",
            f"cannot convert {operand.element_type} to {instr.shape.element_type}",
            notes=["a complex number has two parts: take one with real or imag"],
        )
    return operand.with_type(instr.shape.element_type)


@infers("stochastic-convert", xla="ShapeInference::InferStochasticConvertShape")
def infer_stochastic_convert(
    instr: Instruction, _attrs: a.Attrs, operand: Shape, random: Shape
) -> Shape:
    """The operand's dimensions, of the declared element type."""
    expect_kinds(operand, "float")
    expect_kinds(random, "unsigned")
    if operand.element_type.bits != random.element_type.bits:
        raise HloError(
            "HLO023",
            f"random bits of {random.element_type} for {operand.element_type}: widths differ",
        )
    expect_same_dims(operand, random)
    return operand.with_type(instr.shape.element_type)


@infers(
    *BINARY,
    xla='ShapeInference::InferBinaryOpShape; HloVerifier, "Implicit broadcast is not allowed"',
)
def infer_binary(instr: Instruction, _attrs: a.Attrs, lhs: Shape, rhs: Shape) -> Shape:
    """The shape that both operands have; of the higher precision where that differs."""
    expect_kinds(lhs, *BINARY[instr.opcode])
    expect_same_type(lhs, rhs)
    expect_same_dims(lhs, rhs)
    return merge_dims(higher_type(lhs, rhs), lhs, rhs)


@infers("compare", xla="ShapeInference::InferBinaryOpShape")
def infer_compare(_instr: Instruction, _attrs: a.Compare, lhs: Shape, rhs: Shape) -> Shape:
    """The dimensions that both operands have, of pred."""
    expect_same_type(lhs, rhs)
    expect_same_dims(lhs, rhs)
    return merge_dims(PRED, lhs, rhs)


@infers("complex", xla="ShapeInference::InferBinaryOpShape")
def infer_complex(_instr: Instruction, _attrs: a.Attrs, real: Shape, imag: Shape) -> Shape:
    """The dimensions that both operands have, of c64 or c128."""
    element_type = {F32: C64, F64: C128}.get(real.element_type)
    if element_type is None or imag.element_type is not real.element_type:
        raise HloError(
            "HLO022", f"takes two f32 or two f64, not {real.element_type} and {imag.element_type}"
        )
    expect_same_dims(real, imag)
    return merge_dims(element_type, real, imag)


@infers("clamp", xla="ShapeInference::InferClampShape")
def infer_clamp(
    _instr: Instruction, _attrs: a.Attrs, low: Shape, operand: Shape, high: Shape
) -> Shape:
    """The operand's shape; either bound may be a scalar."""
    for bound in (low, high):
        expect_same_type(operand, bound)
        if bound.dims:
            expect_same_dims(operand, bound)
    return merge_dims(higher_type(low, operand, high), operand)


@infers("select", xla="ShapeInference::InferSelectShape")
def infer_select(
    _instr: Instruction, _attrs: a.Attrs, predicate: Shape, on_true: Shape, on_false: Shape
) -> Shape:
    """The shape of the two branches; the predicate may be a scalar."""
    if predicate.element_type is not PRED:
        raise HloError("HLO022", f"the predicate must be of pred, not {show(predicate)}")
    expect_same_type(on_true, on_false)
    expect_same_dims(on_true, on_false)
    if not predicate.dims:
        return merge_dims(higher_type(on_true, on_false), on_true, on_false)
    expect_same_dims(predicate, on_true)
    return merge_dims(higher_type(on_true, on_false), on_true, on_false, predicate)


@infers("map", xla="ShapeInference::InferMapShape")
def infer_map(instr: Instruction, attrs: a.Map, *operands: Shape) -> Shape:
    """The operands' dimensions, of the element type that the computation yields."""
    if not operands:
        raise HloError("HLO024", "takes at least 1 operand")
    first = operands[0]
    for operand in operands:
        expect_same_dims(first, operand)
    if attrs.dimensions != tuple(range(first.rank)):
        bad_value("dimensions", list(attrs.dimensions), "all dimensions in order")
    (computation,) = instr.called
    expect_arguments(computation, [scalar_of(operand) for operand in operands], precision=False)
    result = computation.root.shape
    if not compatible(result, array(result.element_type)):
        raise HloError("HLO041", f"{computation.name} must yield a scalar, not {show(result)}")
    return merge_dims(result.element_type, first)
