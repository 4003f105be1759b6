"""LAPACK as JAX called it until 2024: sizes and options are operands in front of the arrays.

The routines are those of `factorizations`. Options are numbers that only the run knows, so the
letters that they stand for are C expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codegen.callees import FUNCTIONS
from codegen.expressions import Choose, Expr, Name, apply, binary, item, letter, negated
from emit_c.custom_calls import factorizations as f
from emit_c.custom_calls.lapack import LapackCall, Letter, Matrix, batched
from emit_c.custom_calls.table import kernel
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.custom_calls.lapack_names import (
    BEFORE_FFI,
    TRIANGULAR_BEFORE_FFI,
    targets_before_ffi,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction

    Options = dict[str, Any]
    # Makes an expression for an operand, which the kernel takes only if this is called.
    Scalar = Callable[[], Expr]


def _either(condition: Expr, then: str, otherwise: str) -> Letter:
    return Letter(Choose(condition, letter(then), letter(otherwise)))


def _triangle(lower: Scalar, *_sizes: Scalar) -> Options:
    return {"uplo": _either(lower(), "L", "U"), "mode": "V"}


def _vectors(full: Scalar, compute: Scalar, *_sizes: Scalar) -> Options:
    return {
        "mode": Letter(
            Choose(negated(compute()), letter("N"), Choose(full(), letter("A"), letter("S")))
        )
    }


def _nothing(*_sizes: Scalar) -> Options:
    return {}


_READ = {"triangle": _triangle, "vectors": _vectors, "nothing": _nothing}
for _name, _said in BEFORE_FFI.items():
    kernel(*targets_before_ffi(_name))(batched(*f.ROUTINES[_name], _READ[_said]))


@kernel(*TRIANGULAR_BEFORE_FFI)
def trsm(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
    """X in op(A) X = alpha B, or in X op(A) = alpha B.

    The operands are left_side, lower, transpose (0, 1, 2 for the adjoint), unit_diagonal, m, n,
    batch, alpha, A, B. A is on the side on which it has room, whatever left_side says.
    """
    alpha, a, b = instr.operands[-3:]
    (*_, rows), (*_, m, n) = a.shape.dims, b.shape.dims

    def read(
        left: Scalar, lower: Scalar, transpose: Scalar, unit: Scalar, *_others: Scalar
    ) -> Options:
        trans = transpose()
        transposed = Choose(binary("==", trans, 1), letter("T"), letter("C"))
        return {
            "side": _either(left(), "L", "R") if m == n else "L" if rows == m else "R",
            "uplo": _either(lower(), "L", "U"),
            "trans_x": Letter(Choose(binary("==", trans, 0), letter("N"), transposed)),
            "diag": _either(unit(), "U", "N"),
        }

    def scaled(call: LapackCall, a: Matrix, b: Matrix) -> f.Results:
        factor = call.body.scalar(alpha)
        with call.body.loops(["i"], [b.dims[0] * b.dims[1]]) as (i,):
            element = item(b.name, i)
            call.body.assign(
                element, apply(FUNCTIONS["product", ELEMENT_TYPES[call.kind]], factor, element)
            )
        f.trsm(call, a, b)
        return (b,)

    return batched(scaled, (2, 2), read)(body, instr, outputs)
