"""Elements of dot products and convolutions: sums of products over loops of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import BUILTINS
from codegen.elements.types import literal, narrowed
from codegen.expressions import NEVER, Expr, Group, apply
from codegen.kinds import wide
from codegen.opcodes.folding import window_element
from codegen.opcodes.movement import define
from codegen.opcodes.operands import operands_of
from codegen.opcodes.scalar import arithmetic, converted
from codegen.statements import Assign, For, If, Let, Statement
from hlo import attributes as a
from hlo.types.element_type import ELEMENT_TYPES, element_type_of
from optimizer.analysis.indexing import Index, Sum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.values import Window


def product_type(instr: Instruction) -> ElementType:
    """The type in which products are summed up, of a dot product or a convolution.

    It is the result's wide type, but no narrower than the operands' wide types for floats; sums of
    floats are converted to integers when they are complete.
    """
    result = ELEMENT_TYPES[wide(instr.shape.element_type)]
    operands = [ELEMENT_TYPES[wide(o.shape.element_type)] for o in instr.operands[:2]]
    whole = result.is_integer or result.kind == "pred"
    if whole and not any(o.is_floating for o in operands):
        return result
    kinds = [o.dtype for o in operands] + ([] if whole else [result.dtype])
    element_type = element_type_of(np.result_type(*kinds))
    assert element_type is not None
    return element_type


def element_as(body: Body, operand: Instruction, at: Index, kind: ElementType) -> Expr:
    """An element of an operand, in the type in which products are summed up."""
    source, value = operand.shape.element_type, body.element(operand, at)
    return value if wide(source) == wide(kind) else converted(value, source, kind)


def product_result(instr: Instruction, total: Expr) -> Expr:
    """A complete sum of products, in the result's type."""
    kind, target = product_type(instr), instr.shape.element_type
    if wide(target) == kind.name:
        return narrowed(target, total)
    return converted(total, kind, target)


class Products:
    """A sum of products of two operands' elements."""

    def __init__(self, body: Body, instr: Instruction) -> None:
        self.body, self.instr = body, instr
        self.type = product_type(instr)
        zero = literal(self.type, 0)
        self.name = body.variable(wide(self.type), instr.name, zero)

    def add(self, lhs: Index, rhs: Index) -> None:
        """Add the product of two elements."""
        pairs = zip(self.instr.operands, (lhs, rhs), strict=False)
        factors = [self._factor(operand, index) for operand, index in pairs]
        if self.type.kind == "pred":
            result = self.name | Group(factors[0] & factors[1])
        else:
            wraps = self.body.writer.wraps
            times = arithmetic("multiply", self.type, *factors, wraps=wraps)
            product = self.body.let(wide(self.type), "product", times)
            result = arithmetic("add", self.type, self.name, product, wraps=wraps)
        self.body.assign(self.name, result)

    def _factor(self, operand: Instruction, index: Index) -> Expr:
        value = element_as(self.body, operand, index, self.type)
        return self.body.let(wide(self.type), operand.name, value)

    @property
    def result(self) -> Expr:
        """The sum, in the result's type."""
        return product_result(self.instr, self.name)

    @property
    def lanes(self) -> tuple[tuple[str, str], ...]:
        """The clause with which OpenMP reduces over vector lanes; () where there is none."""
        return () if self.type.is_complex or self.type.kind == "pred" else (("+", self.name.name),)


def _summed(
    statements: Sequence[Statement], lanes: tuple[tuple[str, str], ...]
) -> tuple[Statement, ...]:
    """Let the innermost loops of a sum run in vector lanes."""
    rewritten: list[Statement] = []
    for s in statements:
        if isinstance(s, If):
            rewritten.append(replace(s, then=_summed(s.then, lanes)))
        elif isinstance(s, For) and lanes and all(isinstance(t, Let | Assign) for t in s.body):
            rewritten.append(replace(s, simd=True, reductions=lanes))
        elif isinstance(s, For):
            rewritten.append(replace(s, body=_summed(s.body, lanes)))
        else:
            rewritten.append(s)
    return tuple(rewritten)


@define("dot")
def write_dot(body: Body, instr: Instruction, index: Index) -> Expr:
    """The sum over the contracting dimensions, at one index of batch and free dimensions."""
    left, right = operands_of(instr)
    products = Products(body, instr)
    batches, sizes = len(left.batch), left.sizes(left.contracting)
    columns = batches + len(left.free)
    batch, rows, features = index[:batches], index[batches:columns], index[columns:]
    with body.block() as statements, body.loops("k" * len(sizes), sizes) as inner:
        products.add(left.index(batch, rows, inner), right.index(batch, features, inner))
    body.add(*_summed(statements, products.lanes))
    return products.result


def flipped(steps: Index, window: Window) -> Index:
    """Steps through a window as indices of the kernel, or those as steps: `reversal` flips them."""
    pairs = zip(steps, window, strict=True)
    return tuple(step * -1 + (w.size - 1) if w.reversal else step for step, w in pairs)


def input_element(
    instr: Instruction, spatial: Index, steps: Index
) -> tuple[Expr | None, Callable[[Sum, Sum], Index]]:
    """The element of a convolution's input at a step of the window of an output element.

    Returns
    -------
    tuple
        the condition that there is an element, None where it always holds, and a function that
        gives its index for an image of the batch and a feature.
    """
    attrs, dims = a.Convolution.of(instr), instr.operands[0].shape.dims
    labels = attrs.dim_labels
    sizes = [dims[d] for d in labels.input_spatial]
    condition, read = window_element(spatial, steps, sizes, attrs.window)

    def index(image: Sum, feature: Sum) -> Index:
        at = dict(zip(labels.input_spatial, read, strict=True))
        at |= {labels.input_batch: image, labels.input_feature: feature}
        return tuple(at[d] for d in range(len(dims)))

    return condition, index


@define("convolution")
def write_convolution(body: Body, instr: Instruction, index: Index) -> Expr:
    """The sum over the window and the input features of a group, for one element of the output."""
    attrs = a.Convolution.of(instr)
    labels, window = attrs.dim_labels, attrs.window
    inputs, kernel = (o.shape.dims for o in instr.operands)
    features = kernel[labels.kernel_input_feature]
    outputs = kernel[labels.kernel_output_feature]
    feature, batch = index[labels.output_feature], index[labels.output_batch]
    first_feature, first_batch = Sum(0), Sum(0)
    if attrs.feature_group_count > 1:
        group = feature // (outputs // attrs.feature_group_count)
        first_feature = group * features
    if attrs.batch_group_count > 1:
        group = feature // (outputs // attrs.batch_group_count)
        first_batch = group * (inputs[labels.input_batch] // attrs.batch_group_count)
    products = Products(body, instr)
    spatial = tuple(index[d] for d in labels.output_spatial)
    sizes = [w.size for w in window]
    with body.block() as statements, body.loops("w" * len(window), sizes) as offset:
        condition, at = input_element(instr, spatial, offset)
        if condition != NEVER:
            with body.when(condition), body.loops("c", [features]) as (c,):
                right = [Sum(0)] * len(kernel)
                right[labels.kernel_input_feature] = c
                right[labels.kernel_output_feature] = feature
                for d, step in zip(labels.kernel_spatial, flipped(offset, window), strict=True):
                    right[d] = step
                products.add(at(batch + first_batch, c + first_feature), tuple(right))
    body.add(*_summed(statements, products.lanes))
    return products.result


@define("batch-norm-inference")
def write_batch_norm_inference(body: Body, instr: Instruction, index: Index) -> Expr:
    """(operand - mean) / sqrt(variance + epsilon) * scale + offset, rounded once."""
    attrs = a.BatchNorm.of(instr)
    operand, *features = instr.operands
    kind = instr.shape.element_type
    x = body.element(operand, index)
    at = (index[attrs.feature_index],)
    scale, offset, mean, variance = (body.element(feature, at) for feature in features)
    epsilon = literal(kind, ELEMENT_TYPES[wide(kind)].dtype.type(attrs.epsilon))
    root = apply(BUILTINS["sqrt", ELEMENT_TYPES[wide(kind)]], variance + epsilon)
    return narrowed(kind, (x - mean) / root * scale + offset)
