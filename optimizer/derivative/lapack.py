"""Derivatives of LAPACK's routines, which JAX calls on a processor.

    potrf    a Cholesky factor              trsm     a triangular system
    getrf    P A = L U                      syevd    A V = V diag(w)

References
----------
JAX, `_lu_jvp_rule` and `eigh_jvp_rule` in `jax/_src/lax/linalg.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, TriangularSolve
from hlo.names import NameSupply
from hlo.types.element_type import S32
from hlo.types.shape import Layout
from hlo.types.values import OutputOperandAlias
from interpreter.custom_calls.lapack import LETTERS as LETTER_OF_TYPE
from interpreter.custom_calls.lapack_names import ffi_target, ffi_targets
from interpreter.custom_calls.options import config
from interpreter.custom_calls.signatures import letter_of
from optimizer.derivative.custom_calls import custom_call_derivative, custom_call_transpose
from optimizer.derivative.indexing import along
from optimizer.derivative.linear_algebra import (
    Systems,
    adjoint,
    indices,
    system,
    transposed,
    triangle,
)
from optimizer.derivative.table import plain, refusal
from optimizer.expanders.ffi_call import ffi_call
from optimizer.expanders.linear_algebra.matrices import below_diagonal, product
from optimizer.expanders.op_expander import ExpansionSite, element
from optimizer.expanders.parts import counting, cut, full, spread, to_dims, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.derivative.movement import Cotangents
    from optimizer.derivative.table import Leaves

# By the letter of LAPACK.
FORMS = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}
LETTERS = {form: letter for letter, form in FORMS.items()}


class _SystemsOfLapack(Systems):
    """Solves triangular systems by LAPACK too, as JAX does."""

    def solved(self, matrix: Instruction, x: Instruction, form: TriangularSolve) -> Instruction:
        """A call of `trsm`, which finds columns side by side in memory, in the place of X."""
        options = {
            "side": ord("L" if form.left_side else "R"),
            "uplo": ord("L" if form.lower else "U"),
            "trans_x": ord(LETTERS[form.transpose_a]),
            "diag": ord("U" if form.unit_diagonal else "N"),
        }
        operands = [matrix, x]
        shapes = tuple(column_major(operand.shape) for operand in operands)
        target = ffi_target("trsm", LETTER_OF_TYPE[x.shape.element_type.dtype])
        call = ffi_call(target, operands, shapes[1], options)
        attrs = replace(
            CustomCall.of(call),
            operand_layout_constraints=shapes,
            output_to_operand_aliasing=(OutputOperandAlias((), 1, ()),),
        )
        return call.with_(attrs=attrs)


BY_LAPACK = _SystemsOfLapack()


def column_major(shape: Shape) -> Shape:
    """The shape of matrices whose columns lie side by side in memory."""
    *batch, rows, columns = range(shape.rank)
    return replace(plain(shape), layout=Layout((rows, columns, *batch[::-1])))


def option(instr: Instruction, key: str) -> str:
    """A letter among the call's options."""
    return letter_of(config(instr)[key])


@custom_call_derivative(*ffi_targets("potrf"))
def potrf(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The change of the factor; the other triangle is that of the matrix."""
    ((da,),) = tangents
    assert da is not None
    lower = option(instr, "uplo") == "L"
    change = BY_LAPACK.change_of_factor(element(instr, 0), da, lower=lower)
    rest = triangle(da, lower=not lower, unit=True)
    return (make("add", change, rest), *[None] * (instr.shape.leaf_count - 1))


@custom_call_derivative(*ffi_targets("trsm"))
def trsm(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The change of the solution."""
    return BY_LAPACK.change_of_solution(instr, form_of(instr), tangents)


@custom_call_transpose(*ffi_targets("trsm"))
def trsm_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The transposed system."""
    (ct,), (matrix, _) = cotangents, instr.operands
    assert ct is not None
    return [None, BY_LAPACK.solved(*transposed(matrix, ct, form_of(instr)))]


def form_of(instr: Instruction) -> TriangularSolve:
    """What a call of `trsm` solves."""
    return system(
        left_side=option(instr, "side") == "L",
        lower=option(instr, "uplo") == "L",
        unit_diagonal=option(instr, "diag") == "U",
        transpose_a=FORMS[option(instr, "trans_x")],
    )


@custom_call_derivative(*ffi_targets("getrf"))
def getrf(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The changes of L and U: L tril(X, -1) and triu(X) U, where X = L^-1 P dA U^-1."""
    ((da,),) = tangents
    assert da is not None
    both = element(instr, 0)
    *_, m, n = both.shape.dims
    if m != n:
        raise refusal(instr, "the matrix is not square")
    lower = make("add", below_diagonal(both), identity_like(both))
    upper = triangle(both, lower=False)
    rows = exchanged(da, element(instr, 1))
    left = BY_LAPACK.solved(both, rows, system(unit_diagonal=True))
    x = BY_LAPACK.solved(both, left, system(left_side=False, lower=False))
    changes = product(lower, below_diagonal(x)), product(triangle(x, lower=False), upper)
    return (make("add", *changes), *[None] * (instr.shape.leaf_count - 1))


def identity_like(x: Instruction) -> Instruction:
    """Identity matrices."""
    rows, columns = indices(x)
    return to_type(make("compare", rows, columns, direction="EQ"), x.shape.element_type)


def exchanged(x: Instruction, pivots: Instruction) -> Instruction:
    """Matrices with each row k exchanged with row pivots[k] - 1, one after the other."""
    batch, count = pivots.shape.dims[:-1], pivots.shape.dims[-1]
    rows = counting(S32, pivots.shape.dims, pivots.shape.rank - 1)
    last = pivots.shape.rank - 1

    def step(k: Instruction, order: Instruction, pivots: Instruction) -> Sequence[Instruction]:
        zeros, _at = [make("multiply", k, 0)] * last, range(last)
        here = spread(k, order.shape.dims)
        one = make("dynamic-slice", pivots, *zeros, k, dynamic_slice_sizes=(*batch, 1))
        there = spread(
            to_dims(make("subtract", one, 1), batch), order.shape.dims, range(len(batch))
        )
        mine, other = (along(order, cut(w, last, 0, 1), last) for w in (here, there))
        mine, other = (
            spread(to_dims(v, batch), order.shape.dims, range(last)) for v in (mine, other)
        )
        numbers = counting(S32, order.shape.dims, last)
        moved = make("select", make("compare", numbers, there, direction="EQ"), mine, order)
        here_now = make("compare", numbers, here, direction="EQ")
        return make("select", here_now, other, moved), pivots

    site = ExpansionSite(pivots, NameSupply())
    order, _ = site.repeat(count, [rows, pivots], step)
    whole = spread(order, x.shape.dims, (*range(len(batch)), x.shape.rank - 2))
    return along(x, whole, x.shape.rank - 2)


@custom_call_derivative(*ffi_targets("syevd"), *ffi_targets("heevd"))
def syevd(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The changes of eigenvectors and eigenvalues: V (F * X) and diag(X), where X = V^H dA V.

    F has 1 / (w_j - w_i) beside the diagonal, where it has 0. One triangle of dA counts.
    """
    ((da,),) = tangents
    assert da is not None
    if option(instr, "mode") != "V":
        raise refusal(instr, "its eigenvectors are not computed, which the derivative needs")
    lower = option(instr, "uplo") == "L"
    half = triangle(da, lower=lower)
    strict = triangle(da, lower=lower, unit=True)
    change = make("add", half, adjoint(strict))
    vectors, values = element(instr, 0), element(instr, 1)
    x = product(product(adjoint(vectors), change), vectors)
    rank, dims = x.shape.rank, x.shape.dims
    batch = tuple(range(rank - 2))
    gap = make(
        "subtract",
        spread(values, dims, (*batch, rank - 1)),
        spread(values, dims, (*batch, rank - 2)),
    )
    rows, columns = indices(x)
    on = make("compare", rows, columns, direction="EQ")
    inverse = make("select", on, full(0, gap), make("divide", full(1, gap), gap))
    scaled = make("multiply", x, to_type(inverse, x.shape.element_type))
    real = make("real", x) if x.shape.element_type.is_complex else x
    diagonal = along(real, cut(counting(S32, dims, rank - 2), rank - 1, 0, 1), rank - 1)
    return (
        product(vectors, scaled),
        to_dims(diagonal, values.shape.dims),
        *[None] * (instr.shape.leaf_count - 2),
    )
