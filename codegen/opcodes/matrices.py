"""Kernels of linear algebra and batch normalization."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.table import WholeArray, elements
from codegen.elements.types import literal, narrowed, store
from codegen.expressions import Apply, Cast, Expr, Literal, Name, apply, item
from codegen.kinds import wide
from codegen.statements import For
from codegen.walk import address_of
from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import counter, linear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index, Sum

_TYPES = ("f32", "f64", "c64", "c128")


def typed(instr: Instruction) -> str:
    """The element type of an instruction of linear algebra."""
    kind = instr.shape.element_type.name
    if kind not in _TYPES:
        message = f"{instr.opcode} of {kind} can't be compiled to C: it has f32, f64, c64 and c128"
        raise HloError("HLO181", message, instr.span)
    return kind


def write_cholesky(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """A call for each matrix of the batch."""
    attrs = a.Cholesky.of(instr)
    kind, operand = typed(instr), body.pointer(instr.operands[0])
    *batch, n, _ = instr.shape.dims
    with body.loops(["b"], [prod(batch)], parallel=True) as (b,):
        at = b * (n * n)
        ends = address_of(operand, at), address_of(outputs[0], at)
        body.call(
            FUNCTIONS["cholesky", ELEMENT_TYPES[kind]], *ends, n, int(attrs.lower), work=4 * n**3
        )


@dataclass(frozen=True, slots=True)
class System:
    """A triangular system as one whose matrix is lower triangular, and on the left.

    Matrices are walked through by strides, so that transposed ones, and upper triangles (read
    backwards), are lower ones.

    Attributes
    ----------
    n, m : rows of the matrix, and right sides.
    first_a, row, column : where the matrix begins, and the next row and column of it.
    first_x, down, across : the same of the solutions.
    """

    n: int
    m: int
    first_a: int
    row: int
    column: int
    first_x: int
    down: int
    across: int
    unit_diagonal: bool
    conjugated: bool


def system_of(instr: Instruction) -> System:
    """The system that a triangular-solve solves."""
    attrs = a.TriangularSolve.of(instr)
    *_, rows, columns = instr.shape.dims
    n, m = (rows, columns) if attrs.left_side else (columns, rows)
    row, column, lower = n, 1, attrs.lower
    if attrs.transpose_a in ("TRANSPOSE", "ADJOINT"):
        row, column, lower = column, row, not lower
    down, across = columns, 1
    if not attrs.left_side:
        # X A = B is A^T X^T = B^T.
        row, column, lower = column, row, not lower
        down, across = across, down
    first_a = first_x = 0
    if not lower:
        # Read backwards, an upper triangle is a lower one.
        first_a, first_x = n * n - 1, (n - 1) * down
        row, column, down = -row, -column, -down
    adjoint = attrs.transpose_a == "ADJOINT"
    unit = attrs.unit_diagonal
    return System(n, m, first_a, row, column, first_x, down, across, unit, adjoint)


def write_triangular_solve(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """A call for each system of the batch, which solves the copy in place."""
    kind, system = typed(instr), system_of(instr)
    matrix, right = (body.pointer(o) for o in instr.operands)
    n, m = system.n, system.m
    size = instr.shape.size * instr.shape.element_type.bytes
    body.call(BUILTINS["memcpy"], outputs[0], right, size)
    with body.loops(["b"], [prod(instr.shape.dims[:-2])], parallel=True) as (b,):
        first_a, first_x = b * (n * n) + system.first_a, b * (n * m) + system.first_x
        body.call(
            FUNCTIONS["substitute", ELEMENT_TYPES[kind]],
            *(address_of(matrix, first_a), system.row, system.column),
            *(address_of(outputs[0], first_x), system.down, system.across, n, m),
            *(int(system.unit_diagonal), int(system.conjugated)),
            work=4 * n * n * m,
        )


def _root(kind: str, number: Expr) -> Apply:
    return apply(BUILTINS["sqrt", ELEMENT_TYPES[kind]], number)


def _each_feature(
    body: Body,
    instr: Instruction,
    write: Callable[[Sum, Callable[[Callable[[Index], None]], None]], None],
) -> None:
    """A loop over features; `write` takes the feature and a function that loops over the rest."""
    attrs = a.BatchNorm.of(instr)
    dims, f = instr.operands[0].shape.dims, attrs.feature_index
    others = [1 if d == f else size for d, size in enumerate(dims)]
    feature = body.name("feature")

    def every(do: Callable[[Index], None]) -> None:
        with body.loops([f"i{d}" for d in range(len(dims))], others) as index:
            do((*index[:f], counter(feature, dims[f]), *index[f + 1 :]))

    with body.block() as block:
        write(counter(feature, dims[f]), every)
    body.add(For(feature, dims[f], tuple(block), parallel=True))


def write_batch_norm_training(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Mean, then variance, then the normalised elements of each feature."""
    attrs = a.BatchNorm.of(instr)
    operand, scale, offset = instr.operands
    kind, f = operand.shape.element_type, attrs.feature_index
    real = wide(kind)
    count = Cast(real, Literal(operand.shape.size // max(operand.shape.dims[f], 1)))
    epsilon = literal(kind.real, kind.real.dtype.type(attrs.epsilon))

    def write(feature: Sum, every: Callable[[Callable[[Index], None]], None]) -> None:
        at = (feature,)
        total = body.variable(real, "total", 0)
        every(lambda i: body.assign(total, total + body.element(operand, i)))
        mean = body.let(real, "mean", total / count)
        squares = body.variable(real, "squares", 0)

        def add_square(i: Index) -> None:
            off = body.let(real, "off", body.element(operand, i) - mean)
            body.assign(squares, squares + off * off)

        every(add_square)
        variance = body.let(real, "variance", squares / count)
        deviation = body.let(real, "deviation", _root(real, variance + epsilon))
        factor, shift = body.element(scale, at), body.element(offset, at)

        def put(i: Index) -> None:
            normal = (body.element(operand, i) - mean) / deviation
            value = narrowed(kind, normal * factor + shift)
            body.assign(item(outputs[0], linear(i, operand.shape.dims)), store(kind, value))

        every(put)
        for output, value, like in ((outputs[1], mean, scale), (outputs[2], variance, offset)):
            element_type = like.shape.element_type
            stored = store(element_type, narrowed(element_type, value))
            body.assign(item(output, feature), stored)

    _each_feature(body, instr, write)


def write_batch_norm_grad(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The sums of g and g x over each feature, and from them the gradients."""
    attrs = a.BatchNorm.of(instr)
    operand, scale, mean, variance, gradient = instr.operands
    kind, f = operand.shape.element_type, attrs.feature_index
    real = wide(kind)
    count = Cast(real, Literal(operand.shape.size // max(operand.shape.dims[f], 1)))
    epsilon = literal(kind.real, kind.real.dtype.type(attrs.epsilon))

    def write(feature: Sum, every: Callable[[Callable[[Index], None]], None]) -> None:
        at = (feature,)
        centre = body.element(mean, at)
        root = _root(real, body.element(variance, at) + epsilon)
        deviation = body.let(real, "deviation", root)
        factor = body.element(scale, at)
        sums = [body.variable(real, name, 0) for name in ("offset_sum", "scale_sum")]

        def normal(i: Index) -> Expr:
            value = (body.element(operand, i) - centre) / deviation
            return body.let(real, "normal", value)

        def add(i: Index) -> None:
            g, x = body.element(gradient, i), normal(i)
            body.assign(sums[0], sums[0] + g)
            body.assign(sums[1], sums[1] + g * x)

        every(add)

        def put(i: Index) -> None:
            g, x = body.element(gradient, i), normal(i)
            centred = g - sums[0] / count - x * (sums[1] / count)
            value = narrowed(kind, factor / deviation * centred)
            body.assign(item(outputs[0], linear(i, operand.shape.dims)), store(kind, value))

        every(put)
        element_type = scale.shape.element_type
        for output, value in ((outputs[1], sums[1]), (outputs[2], sums[0])):
            stored = store(element_type, narrowed(element_type, value))
            body.assign(item(output, feature), stored)

    _each_feature(body, instr, write)


elements.define_all(
    {
        "cholesky": WholeArray(write_cholesky),
        "triangular-solve": WholeArray(write_triangular_solve),
        "batch-norm-training": WholeArray(write_batch_norm_training, in_memory=()),
        "batch-norm-grad": WholeArray(write_batch_norm_grad, in_memory=()),
    }
)
