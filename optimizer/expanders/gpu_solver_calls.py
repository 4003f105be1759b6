"""Writes calls of cuSOLVER and hipSOLVER as calls of LAPACK, which have kernels.

custom-call(a), custom_call_target="cusolver_orgqr_ffi"   =>   the same of "lapack_sorgqr_ffi"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.shape import tuple_of
from interpreter.custom_calls.lapack import LETTERS
from interpreter.custom_calls.lapack_names import ffi_target
from interpreter.custom_calls.vendors.gpu_products import results_of
from interpreter.custom_calls.vendors.gpu_solvers import PERTURBED, TARGETS, form_of, lapack_shapes
from optimizer.expanders.custom_call_expander import expansion
from optimizer.expanders.ffi_call import ffi_call
from optimizer.expanders.op_expander import elements
from optimizer.expanders.parts import permuted
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.expanders.op_expander import ExpansionSite


@expansion(*TARGETS)
def call_lapack(site: ExpansionSite) -> Instruction:
    """The results of a routine of LAPACK that the call has, in its order."""
    instr = site.instr
    form, letter = form_of(instr), LETTERS[instr.operands[0].shape.element_type.dtype]
    shapes = lapack_shapes(instr, form)
    shape = shapes[0] if len(shapes) == 1 else tuple_of(*shapes)
    whole = ffi_call(ffi_target(form.routine, letter), instr.operands, shape, form.options)
    values = elements(whole) if whole.shape.is_tuple else [whole]
    outputs: list[Instruction] = []
    for number, (result, shape) in enumerate(zip(form.results, results_of(instr), strict=True)):
        value = _adjoint(values[result]) if number == form.adjoint else values[result]
        # A number in the place of vectors that nobody asks for is 0.
        outputs.append(value if value.shape.rank == shape.rank else splat(0, shape))
    return make("tuple", *outputs) if instr.shape.is_tuple else outputs[0]


@expansion(*PERTURBED)
def solve_tridiagonal(site: ExpansionSite) -> Instruction:
    """The same call under the name that JAX gives it for a CPU."""
    instr = site.instr
    return ffi_call("tridiagonal_solve_perturbed_ffi", instr.operands, instr.shape, {})


def _adjoint(x: Instruction) -> Instruction:
    """The conjugate transpose of each matrix."""
    rank = x.shape.rank
    transposed = permuted(x, [*range(rank - 2), rank - 1, rank - 2])
    if not x.shape.element_type.is_complex:
        return transposed
    return make("complex", make("real", transposed), make("negate", make("imag", transposed)))
