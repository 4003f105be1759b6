"""Shapes of opcodes that run other computations: call, fusion, loops, branches, async.

The computation's parameters must be as the operands, and the result is what its root is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    compatible,
    expect_arguments,
    expect_parameters,
    expect_scalar,
    merge_dims,
    show,
)
from hlo.infer.table import infers
from hlo.types.element_type import PRED, S32, U32
from hlo.types.shape import Shape, array, tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


@infers("call", xla="ShapeInference::InferCallShape")
def infer_call(instr: Instruction, _attrs: a.CompositeCall, *operands: Shape) -> Shape:
    """The shape of the computation's root."""
    (computation,) = instr.called
    expect_arguments(computation, operands)
    return computation.root.shape


@infers("fusion", xla="ShapeVerifier::HandleFusion")
def infer_fusion(instr: Instruction, _attrs: a.Fusion, *operands: Shape) -> Shape:
    """The shape of the fused computation's root; it may ignore the last operands."""
    (computation,) = instr.called
    expect_arguments(computation, operands[: len(computation.parameters)])
    return computation.root.shape


@infers("custom-call", xla="ShapeVerifier::HandleCustomCall")
def infer_custom_call(instr: Instruction, _attrs: a.CustomCall, *_operands: Shape) -> Shape:
    """The declared shape: only the function that is called knows."""
    return instr.shape


@infers("while", xla="ShapeInference::InferWhileShape")
def infer_while(instr: Instruction, _attrs: a.Attrs, init: Shape) -> Shape:
    """The shape of a loop's state: that of init, and of the body's parameter and result."""
    condition, body = instr.called
    expect_arguments(condition, [init])
    expect_arguments(body, [init])
    if not compatible(condition.root.shape, array(PRED)):
        raise HloError(
            "HLO041", f"{condition.name} must yield pred[], not {show(condition.root.shape)}"
        )
    if not compatible(body.root.shape, init):
        raise HloError(
            "HLO041",
            f"{body.name} takes {show(init)}, but yields {show(body.root.shape)}",
            notes=["what a loop's body yields is given to it again"],
        )
    return init


@infers("conditional", xla="ShapeInference::InferConditionalShape")
def infer_conditional(
    instr: Instruction, _attrs: a.Attrs, selector: Shape, *operands: Shape
) -> Shape:
    """The shape that all branches yield."""
    expect_scalar(selector, "the selector")
    branches = instr.called
    if selector.element_type not in (PRED, S32):
        raise HloError("HLO022", f"the selector must be pred or s32, not {show(selector)}")
    choices = counted(len(branches), "branch")
    if not branches or (selector.element_type is PRED and len(branches) != 2):
        raise HloError("HLO044", f"cannot choose among {choices} by a {show(selector)}")
    if len(operands) != len(branches):
        raise HloError("HLO024", f"takes an operand for each of {choices}, not {len(operands)}")
    first = branches[0].root.shape
    for branch, operand in zip(branches, operands, strict=True):
        expect_arguments(branch, [operand])
        if not compatible(branch.root.shape, first):
            raise HloError(
                "HLO041",
                f"{branches[0].name} yields {show(first)}, "
                f"but {branch.name} yields {show(branch.root.shape)}",
            )
    return _merged([branch.root.shape for branch in branches])


def _merged(shapes: list[Shape]) -> Shape:
    """One shape of several that agree, in which a size is a bound where any branch says so."""
    first = shapes[0]
    if first.is_array:
        return merge_dims(first.element_type, *shapes)
    if first.is_tuple:
        columns = zip(*(shape.elements for shape in shapes), strict=True)
        return tuple_of(*(_merged(list(column)) for column in columns))
    return first


@infers("async-start", xla="ShapeVerifier::CheckAsyncOp")
def infer_async_start(instr: Instruction, _attrs: a.AsyncStart, *operands: Shape) -> Shape:
    """((operands), result, and the contexts that a backend declares).

    Some parameters may be bound later, by an async-update; then some results may be missing too.
    """
    (computation,) = instr.called
    parameters = expect_parameters(computation, len(computation.parameters))
    for i, operand in enumerate(operands):
        if i >= len(parameters) or not compatible(operand, parameters[i]):
            raise HloError("HLO040", f"{computation.name} takes no {show(operand)} at {i}")
    result = computation.root.shape
    declared = instr.shape.elements
    if len(declared) > 1 and is_prefix(declared[1], result):
        result = declared[1]
    return _async_shape(instr, operands, result)


@infers("async-update", xla="ShapeVerifier::CheckAsyncUpdateOperands")
def infer_async_update(
    instr: Instruction, _attrs: a.Attrs, chain: Shape, *operands: Shape
) -> Shape:
    """The shape of the operand, with the parameters that are bound now."""
    bound, result = async_parts(chain)
    declared = instr.shape.elements
    if len(declared) > 1 and is_prefix(result, declared[1]):
        result = declared[1]
    return _async_shape(instr, (*bound.elements, *operands), result)


@infers("async-done", xla="ShapeVerifier::CheckAsyncDoneOperands")
def infer_async_done(_instr: Instruction, _attrs: a.Attrs, chain: Shape) -> Shape:
    """The result of the computation."""
    return async_parts(chain)[1]


def async_parts(chain: Shape) -> tuple[Shape, Shape]:
    """The operands that are bound and the result; HLO071 if the shape is of another form."""
    if len(chain.elements) < 2 or not chain.elements[0].is_tuple:
        raise HloError("HLO071", f"an async value is ((operands), result, ...), not {show(chain)}")
    return chain.elements[0], chain.elements[1]


def is_prefix(small: Shape, large: Shape) -> bool:
    """Whether a shape is another, or a tuple that leaves out some of its last elements."""
    if compatible(small, large):
        return True
    return small.is_tuple and all(
        i < len(large.elements) and is_prefix(element, large.elements[i])
        for i, element in enumerate(small.elements)
    )


def _async_shape(instr: Instruction, operands: tuple[Shape, ...], result: Shape) -> Shape:
    """The shape of an async operation: operands, result, and state that only a backend knows."""
    context = instr.shape.elements[2:]
    return tuple_of(tuple_of(*operands), result, *context)


@infers("copy-start", xla="ShapeVerifier::HandleCopyStart")
def infer_copy_start(_instr: Instruction, _attrs: a.CopyStart, operand: Shape) -> Shape:
    """(destination, source, u32 context)."""
    result = operand
    return tuple_of(result, result, array(U32))


@infers("copy-done", xla="ShapeVerifier::HandleCopyDone")
def infer_copy_done(_instr: Instruction, _attrs: a.Attrs, started: Shape) -> Shape:
    """The destination."""
    if len(started.elements) < 2 or not compatible(started.elements[0], started.elements[1]):
        raise HloError("HLO071", f"takes what copy-start yields, not {show(started)}")
    return started.elements[0]
