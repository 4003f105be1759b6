"""LAPACK as JAX called it until 2024: sizes and options are operands in front of the arrays.

The routines are those of `factorizations`. Options are numbers that only the run knows, so the
letters that they stand for are C expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emit_c.custom_calls import factorizations as f
from emit_c.custom_calls.lapack import Call, Letter, Matrix, batched
from emit_c.custom_calls.table import kernel
from interpreter.custom_calls.lapack_names import (
    BEFORE_FFI,
    TRIANGULAR_BEFORE_FFI,
    targets_before_ffi,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.kernels.body import Body
    from hlo.instruction import Instruction

    Options = dict[str, Any]
    # Makes a C expression for an operand, which the kernel takes only if this is called.
    Scalar = Callable[[], str]


def _triangle(lower: Scalar, *_sizes: Scalar) -> Options:
    return {"uplo": Letter(f"{lower()} ? 'L' : 'U'"), "mode": "V"}


def _vectors(compute: Scalar, full: Scalar, *_sizes: Scalar) -> Options:
    return {"mode": Letter(f"!{compute()} ? 'N' : {full()} ? 'A' : 'S'")}


def _nothing(*_sizes: Scalar) -> Options:
    return {}


_READ = {"triangle": _triangle, "vectors": _vectors, "nothing": _nothing}
for _name, _said in BEFORE_FFI.items():
    kernel(*targets_before_ffi(_name))(batched(*f.ROUTINES[_name], _READ[_said]))


@kernel(*TRIANGULAR_BEFORE_FFI)
def trsm(body: Body, instr: Instruction, outputs: Sequence[str]) -> int | None:
    """X in op(A) X = alpha B, or in X op(A) = alpha B.

    The operands are left_side, lower, transpose (0, 1, 2 for the adjoint), unit_diagonal, m, n,
    batch, alpha, A, B. A stands on the side on which it has room, whatever left_side says.
    """
    alpha, a, b = instr.operands[-3:]
    (*_, rows), (*_, m, n) = a.shape.dims, b.shape.dims

    def read(
        left: Scalar, lower: Scalar, transpose: Scalar, unit: Scalar, *_others: Scalar
    ) -> Options:
        trans = transpose()
        return {
            "side": Letter(f"{left()} ? 'L' : 'R'") if m == n else "L" if rows == m else "R",
            "uplo": Letter(f"{lower()} ? 'L' : 'U'"),
            "trans_x": Letter(f"{trans} == 0 ? 'N' : {trans} == 1 ? 'T' : 'C'"),
            "diag": Letter(f"{unit()} ? 'U' : 'N'"),
        }

    def scaled(call: Call, a: Matrix, b: Matrix) -> f.Results:
        factor = call.body.scalar(alpha)
        with call.body.loops(["i"], [b.dims[0] * b.dims[1]]) as (i,):
            place = f"{b.name}[{i.text}]"
            call.body.assign(place, f"product_{call.kind}({factor}, {place})")
        f.trsm(call, a, b)
        return (b,)

    return batched(scaled, (2, 2), read)(body, instr, outputs)
