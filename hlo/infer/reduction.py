"""Shapes of reduce, scan, sort, topk and batch normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    bad_value,
    compatible,
    expect_array,
    expect_dimensions,
    expect_kinds,
    expect_parameters,
    expect_rank,
    expect_same_dims,
    expect_same_type,
    scalar_of,
    show,
    sizes_agree,
    tuple_or_one,
)
from hlo.infer.reducer import arrays_and_initials, expect_reducer
from hlo.infer.table import infers
from hlo.types.element_type import PRED, S32
from hlo.types.shape import UNBOUNDED, Shape, array, tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType


def _without(operand: Shape, dims: Sequence[int], element_type: ElementType) -> Shape:
    """An array without some dimensions of another."""
    remaining = [i for i in range(operand.rank) if i not in dims]
    return array(
        element_type,
        tuple(operand.dims[i] for i in remaining),
        tuple(operand.dynamic_at(i) for i in remaining),
    )


@infers("reduce", xla="ShapeInference::InferReduceShape")
def infer_reduce(instr: Instruction, attrs: a.Dimensions, *operands: Shape) -> Shape:
    """The dimensions that are not folded, of the types that the computation yields."""
    inputs, inits = arrays_and_initials(operands)
    expect_dimensions("dimensions", attrs.dimensions, inputs[0].rank)
    results = expect_reducer(instr.called[0], inits, inputs)
    shapes = [_without(inputs[0], attrs.dimensions, result.element_type) for result in results]
    return shapes[0] if instr.called[0].root.shape.is_array else tuple_of(*shapes)


@infers("scan", xla="ShapeVerifier::HandleScan")
def infer_scan(instr: Instruction, attrs: a.Scan, *operands: Shape) -> Shape:
    """Each output with the scanned dimension put back, then the final carries.

    The computation is of type (slice_1, ..., carry_1, ...) -> (output_1, ..., carry_1, ...), where
    a slice is an input without the scanned dimension.
    """
    if len(attrs.dimensions) != 1:
        raise HloError("HLO028", f"scans 1 dimension, not {len(attrs.dimensions)}")
    (dim,) = attrs.dimensions
    if not 0 <= attrs.num_carries <= len(operands):
        bad_value("num_carries", attrs.num_carries, f"from 0 to {len(operands)}")
    count = len(operands) - attrs.num_carries
    inputs, carries = operands[:count], operands[count:]
    for operand in inputs:
        expect_array(operand)
        expect_dimensions("dimensions", attrs.dimensions, operand.rank)
        if not sizes_agree(operand.dims[dim], inputs[0].dims[dim]):
            raise HloError(
                "HLO021", f"{show(inputs[0])} and {show(operand)} differ in dimension {dim}"
            )
    (body,) = instr.called
    slices = [_without(operand, attrs.dimensions, operand.element_type) for operand in inputs]
    _expect_carried(body, slices, carries)
    outputs = _results(body)[: len(_results(body)) - len(carries)]
    size = inputs[0].dims[dim] if inputs else _declared_size(instr, dim)
    scanned = inputs[0].dynamic_at(dim) if inputs else False
    results = [_with_dimension(output, dim, size, dynamic=scanned) for output in outputs]
    results += carries
    # Of a single result XLA takes either form.
    return results[0] if len(results) == 1 and instr.shape.is_array else tuple_of(*results)


def _declared_size(instr: Instruction, dim: int) -> int:
    """The length of a scan without inputs: only its declared outputs say."""
    outputs = instr.shape.elements
    if not outputs or outputs[0].rank <= dim:
        raise HloError("HLO024", "scans nothing: it has neither inputs nor outputs")
    return outputs[0].dims[dim]


def _results(body: Computation) -> tuple[Shape, ...]:
    shape = body.root.shape
    return shape.elements if shape.is_tuple else (shape,)


def _expect_carried(body: Computation, slices: list[Shape], carries: Sequence[Shape]) -> None:
    """The body takes slices and carries, and yields carries of the same shapes again."""
    count = len(slices)
    parameters = expect_parameters(body, count + len(carries))
    results = _results(body)
    if len(results) < len(carries):
        raise HloError("HLO041", f"{body.name} must yield {counted(len(carries), 'carry')}")
    for i, (parameter, argument) in enumerate(zip(parameters, (*slices, *carries), strict=True)):
        if not compatible(parameter, argument, precision=False):
            raise HloError(
                "HLO040",
                f"parameter {i} of {body.name} is {show(parameter)}, but gets {show(argument)}",
            )
    for parameter, result in zip(
        parameters[count:], results[len(results) - len(carries) :], strict=True
    ):
        if not compatible(parameter, result, precision=False):
            raise HloError(
                "HLO041", f"{body.name} carries {show(parameter)}, but yields {show(result)}"
            )


def _with_dimension(shape: Shape, dim: int, size: int, *, dynamic: bool) -> Shape:
    """An array with one more dimension in a given place."""
    expect_array(shape)
    if dim > shape.rank:
        raise HloError("HLO026", f"no dimension {dim} can be put into {show(shape)}")
    flags = shape.dynamic or (False,) * shape.rank
    return array(
        shape.element_type,
        (*shape.dims[:dim], size, *shape.dims[dim:]),
        (*flags[:dim], dynamic, *flags[dim:]),
    )


@infers("sort", xla="ShapeVerifier::HandleSort")
def infer_sort(instr: Instruction, attrs: a.Sort, *operands: Shape) -> Shape:
    """The operands' shapes: one shape, or a tuple where several are sorted together.

    The comparator is of type (a, a, b, b, ...) -> pred[], two elements of each operand.
    """
    if not operands:
        raise HloError("HLO024", "takes at least 1 operand")
    if len(attrs.dimensions) != 1:
        raise HloError("HLO028", f"sorts along 1 dimension, not {len(attrs.dimensions)}")
    for operand in operands:
        expect_same_dims(operands[0], operand)
    expect_dimensions("dimensions", attrs.dimensions, operands[0].rank)
    (comparator,) = instr.called
    for i, parameter in enumerate(expect_parameters(comparator, 2 * len(operands))):
        wanted = scalar_of(operands[i // 2])
        if not compatible(parameter, wanted, precision=False):
            raise HloError(
                "HLO040",
                f"parameter {i} of {comparator.name} is {show(parameter)}, "
                f"but compares elements of {show(operands[i // 2])}",
                notes=["a comparator takes two elements of each operand: (a0, a1, b0, b1, ...)"],
            )
    if not compatible(comparator.root.shape, array(PRED)):
        raise HloError(
            "HLO041", f"{comparator.name} must yield pred[], not {show(comparator.root.shape)}"
        )
    return tuple_or_one(operands)


@infers("topk", xla="ShapeInference::InferTopKShape")
def infer_topk(_instr: Instruction, attrs: a.TopK, operand: Shape) -> Shape:
    """The operand with k elements in its last dimension, and as many s32 indices.

    XLA's inference lets complex numbers pass; its CPU backend refuses them, for nothing orders
    them.
    """
    expect_kinds(operand, "pred", "signed", "unsigned", "float")
    if operand.rank < 1:
        raise HloError("HLO028", "takes an array of at least 1 dimension")
    if attrs.k < 0 or (attrs.k > operand.dims[-1] != UNBOUNDED):
        bad_value("k", attrs.k, f"from 0 to {operand.dims[-1]}")
    dims = (*operand.dims[:-1], attrs.k)
    dynamic = (*operand.dynamic[:-1], False) if operand.dynamic else ()
    return tuple_of(array(operand.element_type, dims, dynamic), array(S32, dims, dynamic))


def _expect_features(attrs: a.BatchNorm, operand: Shape, factors: Sequence[Shape]) -> Shape:
    """Check that each factor has a number a feature; give the shape that all of them have."""
    expect_kinds(operand, "float")
    expect_dimensions("feature_index", [attrs.feature_index], operand.rank)
    count = operand.dims[attrs.feature_index]
    for factor in factors:
        expect_rank(factor, 1, "each factor")
        expect_same_type(operand, factor)
        if not sizes_agree(factor.dims[0], count):
            raise HloError("HLO029", f"{show(factor)} for {counted(count, 'feature')}")
    return array(operand.element_type, (count,), (operand.dynamic_at(attrs.feature_index),))


@infers("batch-norm-training", xla="ShapeInference::InferBatchNormTrainingShape")
def infer_batch_norm_training(
    _instr: Instruction, attrs: a.BatchNorm, operand: Shape, scale: Shape, offset: Shape
) -> Shape:
    """The normalized operand, the mean and the variance of each feature."""
    feature = _expect_features(attrs, operand, [scale, offset])
    return tuple_of(operand, feature, feature)


@infers("batch-norm-inference", xla="ShapeInference::InferBatchNormInferenceShape")
def infer_batch_norm_inference(
    _instr: Instruction, attrs: a.BatchNorm, operand: Shape, *factors: Shape
) -> Shape:
    """The operand's shape."""
    _expect_features(attrs, operand, factors)
    return operand


@infers("batch-norm-grad", xla="ShapeInference::InferBatchNormGradShape")
def infer_batch_norm_grad(
    _instr: Instruction, attrs: a.BatchNorm, operand: Shape, *factors: Shape
) -> Shape:
    """Gradients of the operand, the scale and the offset."""
    *factors_of_features, gradient = factors
    expect_same_type(operand, gradient)
    expect_same_dims(operand, gradient)
    feature = _expect_features(attrs, operand, factors_of_features)
    return tuple_of(operand, feature, feature)
