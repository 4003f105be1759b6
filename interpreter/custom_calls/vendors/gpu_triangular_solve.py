"""Custom call of cuBLAS for triangular solves, in modules that XLA has compiled for an NVIDIA GPU.

    (X, s8[n]) custom-call(A, B), backend_config={"left_side":true,"lower":true,...}

Memory for the library's own use is the last result.

References
----------
`xla/service/gpu/transforms/triangular_solve_rewriter.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.build import instruction
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.infer.checks import show
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import checked
from interpreter.custom_calls.vendors.gpu_products import reason, results_of, with_workspace
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

TARGET = "__cublas$triangularSolve"


def solve_of(instr: Instruction) -> Instruction:
    """The triangular-solve that a call asks for.

    Raises
    ------
    HloError
        if the configuration has no such option.
    """
    options = config(instr)
    return instruction(
        "triangular-solve", instr.operands, name=instr.name, shape=results_of(instr)[0],
        span=instr.span, left_side=options.get("left_side") is True,
        lower=options.get("lower") is True, unit_diagonal=options.get("unit_diagonal") is True,
        transpose_a=str(options.get("transpose_a", "NO_TRANSPOSE")),
    )  # fmt: skip


@vendor_call(TARGET)
def solve_triangular(_frame: Frame, instr: Instruction, a: Array, b: Array) -> Any:
    """The X of op(A) X = B, or of X op(A) = B."""
    solve = solve_of(instr)
    return with_workspace(instr, evaluates["triangular-solve"](solve, solve.attrs, a, b))


@checked(TARGET, note="A, B -> X, memory")
def check_solve(instr: Instruction, _options: Options | None) -> str:
    """The fault in the operands, the result or the configuration of a solve."""
    if len(instr.operands) != 2:
        return f"takes 2 arrays, not {len(instr.operands)}"
    try:
        shape = infer(solve_of(instr))
    except HloError as error:
        return f"does not fit: {reason(error)}"
    result = results_of(instr)[0]
    return "" if shape.compatible(result) else f"makes {show(shape)}, not {show(result)}"
