"""Shapes of leaves, tuples, tokens and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    bad_value,
    compatible,
    expect_array,
    expect_dimensions,
    expect_kinds,
    expect_same_type,
    expect_scalar,
    expect_token,
    show,
    types_agree,
)
from hlo.infer.table import infers
from hlo.types.element_type import U32, U64
from hlo.types.shape import TOKEN_SHAPE, Shape, array, tuple_of

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


@infers("parameter", xla="ShapeVerifier::HandleParameter")
def infer_parameter(instr: Instruction, _attrs: a.ParameterNumber) -> Shape:
    """The declared shape."""
    return instr.shape


@infers("constant", xla="ShapeVerifier::HandleConstant")
def infer_constant(_instr: Instruction, attrs: a.Constant) -> Shape:
    """The literal's shape."""
    return attrs.literal.shape


@infers("iota", xla="ShapeVerifier::HandleIota")
def infer_iota(instr: Instruction, attrs: a.Iota) -> Shape:
    """The declared shape, which has the dimension that is numbered."""
    expect_kinds(instr.shape, "signed", "unsigned", "float", "complex")
    expect_dimensions("iota_dimension", [attrs.iota_dimension], instr.shape.rank)
    return instr.shape


@infers("tuple", xla="ShapeInference::InferVariadicOpShape")
def infer_tuple(_instr: Instruction, _attrs: a.Attrs, *elements: Shape) -> Shape:
    """The tuple of the operands' shapes."""
    return tuple_of(*elements)


@infers("get-tuple-element", xla="ShapeInference::InferGetTupleElementShape")
def infer_get_tuple_element(_instr: Instruction, attrs: a.GetTupleElement, operand: Shape) -> Shape:
    """The shape of one element."""
    if not operand.is_tuple:
        raise HloError("HLO025", f"takes a tuple, not {show(operand)}")
    if not 0 <= attrs.index < len(operand.elements):
        raise HloError("HLO039", f"there is no element {attrs.index} in {show(operand)}")
    return operand.elements[attrs.index]


@infers("after-all", xla="ShapeVerifier::HandleAfterAll")
def infer_after_all(_instr: Instruction, _attrs: a.Attrs, *_operands: Shape) -> Shape:
    """A token; XLA lets it follow values of any shape."""
    return TOKEN_SHAPE


@infers("add-dependency", xla="ShapeVerifier::HandleAddDependency")
def infer_add_dependency(
    _instr: Instruction, _attrs: a.Attrs, operand: Shape, token: Shape
) -> Shape:
    """The first operand's shape."""
    expect_token(token)
    return operand


@infers("opt-barrier", "domain", xla="ShapeVerifier::HandleOptimizationBarrier and HandleDomain")
def infer_same(_instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's shape."""
    return operand


@infers("rng", xla="ShapeVerifier::HandleRng")
def infer_rng(instr: Instruction, attrs: a.Rng, *bounds: Shape) -> Shape:
    """The declared shape, of the element type of both scalar operands."""
    if len(bounds) != 2:
        raise HloError("HLO024", f"takes 2 operands, not {len(bounds)}")
    low, high = bounds
    expect_array(instr.shape)
    expect_scalar(low, "the first operand")
    expect_scalar(high, "the second operand")
    expect_same_type(low, high)
    if attrs.distribution not in ("rng_uniform", "rng_normal"):
        bad_value("distribution", attrs.distribution, "rng_uniform or rng_normal")
    if attrs.distribution == "rng_normal":
        expect_kinds(low, "float")
    else:
        expect_kinds(low, "float", "signed", "unsigned", "pred")
    if not types_agree(low, instr.shape):
        raise HloError("HLO023", f"makes {instr.shape.element_type} of {low.element_type} operands")
    return instr.shape


@infers("rng-bit-generator", xla="ShapeVerifier::HandleRngBitGenerator")
def infer_rng_bit_generator(instr: Instruction, attrs: a.RngBitGenerator, state: Shape) -> Shape:
    """The declared shape: the next state and the bits, or, in an older form, the bits alone."""
    if attrs.algorithm not in ("rng_default", "rng_three_fry", "rng_philox"):
        bad_value("algorithm", attrs.algorithm, "rng_default, rng_three_fry or rng_philox")
    declared = instr.shape
    if declared.is_tuple:
        if len(declared.elements) != 2:
            raise HloError("HLO030", f"makes a state and bits, not {show(declared)}")
        if not compatible(declared.elements[0], state):
            raise HloError(
                "HLO030", f"makes a state {show(declared.elements[0])} out of {show(state)}"
            )
    bits = declared.elements[1] if declared.is_tuple else declared
    expect_kinds(bits, "signed", "unsigned", "float")
    return declared


@infers("rng-get-and-update-state", xla="ShapeVerifier::HandleRngGetAndUpdateState")
def infer_rng_get_and_update_state(_instr: Instruction, _attrs: a.RngGetAndUpdateState) -> Shape:
    """A u64[2]."""
    return array(U64, (2,))


@infers("partition-id", "replica-id", xla="ShapeVerifier::HandlePartitionId and HandleReplicaId")
def infer_device_number(_instr: Instruction, _attrs: a.Attrs) -> Shape:
    """A u32."""
    return array(U32)
