"""Custom calls of cuSOLVER, and of hipSOLVER, by which JAX factorizes matrices on a GPU.

They are LAPACK's routines under other names: each is a call of LAPACK with other options, some of
whose results are left out or have another order. `form_of` tells which.

References
----------
JAX, `jax/_src/lax/linalg.py`: the lowerings for "cuda" and "rocm".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlo.attributes import CustomCall
from hlo.types.shape import array
from interpreter.custom_calls.factorizations import ROUTINES, batched
from interpreter.custom_calls.jax_cpu import solve_tridiagonal
from interpreter.custom_calls.lapack_names import SIGNATURES
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import FACTORED, Signature, checked, register_signature
from interpreter.custom_calls.vendors.gpu_products import results_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


class LapackForm(NamedTuple):
    """A call as one of LAPACK.

    Attributes
    ----------
    routine : a row of `SIGNATURES`.
    options : LAPACK's, as a configuration holds them.
    results : for each result of the call, its number among LAPACK's.
    adjoint : the result that is conjugated and transposed; -1 for none.
    """

    routine: str
    options: Mapping[str, Any]
    results: tuple[int, ...]
    adjoint: int = -1


def _triangle(options: Options) -> dict[str, Any]:
    return {"uplo": ord("L" if options.get("lower") else "U")}


def _vectors(options: Options) -> dict[str, Any]:
    job = "N" if not options.get("compute_uv") else "A" if options.get("full_matrices") else "S"
    return {"mode": ord(job)}


def _sides(options: Options) -> dict[str, Any]:
    names = {"compute_left": "left", "compute_right": "right"}
    return {ours: ord("V" if options.get(theirs) else "N") for ours, theirs in names.items()}


def _svd(options: Options) -> LapackForm:
    """Singular values; the transposed call gives V^H before U."""
    order = (0, 1, 3, 2, 4) if options.get("transposed") else (0, 1, 2, 3, 4)
    return LapackForm("gesdd", _vectors(options), order)


def _svd_with_v(options: Options) -> LapackForm:
    """Singular values; Jacobi's and the polar algorithm give V in place of V^H."""
    return LapackForm("gesdd", _vectors(options), (0, 1, 2, 3, 4), adjoint=3)


FORMS: dict[str, Callable[[Options], LapackForm]] = {
    "solver_potrf_ffi": lambda o: LapackForm("potrf", _triangle(o), (0, 1)),
    "solver_getrf_ffi": lambda _: LapackForm("getrf", {}, (0, 1, 2)),
    "solver_geqrf_ffi": lambda _: LapackForm("geqrf", {}, (0, 1)),
    "solver_orgqr_ffi": lambda _: LapackForm("orgqr", {}, (0,)),
    "solver_ormqr_ffi": lambda o: LapackForm(
        "ormqr", {key: o.get(key) is True for key in ("left", "transpose")}, (0,)
    ),
    "solver_syevd_ffi": lambda o: LapackForm(
        "syevd", {"mode": ord("V"), **_triangle(o)}, (0, 1, 2)
    ),
    "solver_sytrd_ffi": lambda o: LapackForm("sytrd", _triangle(o), (0, 1, 2, 3, 4)),
    "solver_gesvd_ffi": _svd,
    "solver_gesdd_ffi": _svd,
    "solver_gesvdj_ffi": _svd_with_v,
    "solver_gesvdp_ffi": _svd_with_v,
    "sparse_gtsv2_ffi": lambda _: LapackForm("gtsv", {}, (3,)),
    "hybrid_geqp3": lambda _: LapackForm("geqp3", {}, (0, 1, 2)),
    "hybrid_eig_real": lambda o: LapackForm("geev", _sides(o), (0, 1, 2, 3, 4)),
    "hybrid_eig_comp": lambda o: LapackForm("geev", _sides(o), (0, 1, 2, 3)),
}
_PREFIXES = ("cu", "hip")
TARGETS = tuple(f"{prefix}{name}" for prefix in _PREFIXES for name in FORMS)
PERTURBED = tuple(f"{prefix}_tridiagonal_solve_perturbed" for prefix in _PREFIXES)


def form_of(instr: Instruction) -> LapackForm:
    """The call of LAPACK that a call of cuSOLVER stands for."""
    return FORMS[_name(instr)](config(instr))


def _name(instr: Instruction) -> str:
    target = CustomCall.of(instr).custom_call_target
    return next(target.removeprefix(p) for p in _PREFIXES if target.removeprefix(p) in FORMS)


def lapack_shapes(instr: Instruction, form: LapackForm) -> list[Shape]:
    """The shapes of LAPACK's results, of those too that the call leaves out."""
    shapes: dict[int, Shape] = {}
    for number, (result, shape) in enumerate(zip(form.results, results_of(instr), strict=True)):
        shapes[result] = shape
        if number == form.adjoint:
            *batch, rows, columns = shape.dims
            shapes[result] = shape.with_dims((*batch, columns, rows))
    if form.routine == "gesdd" and not shapes[2].dims:
        *batch, m, n = instr.operands[0].shape.dims
        kind, k = instr.operands[0].shape.element_type, min(m, n)
        shapes |= {2: array(kind, (*batch, m, k)), 3: array(kind, (*batch, k, n))}
    return [
        shapes.get(i, instr.operands[min(i, len(instr.operands) - 1)].shape)
        for i in range(max(shapes) + 1)
    ]


@vendor_call(*TARGETS)
def factorize(frame: Frame, instr: Instruction, *operands: Array) -> Any:
    """The results of a routine of LAPACK that the call has, in its order."""
    form = form_of(instr)
    routine, ranks = ROUTINES[form.routine]

    def pick(letter: str, _options: Options, *matrices: Array) -> tuple[Any, ...]:
        values = routine(letter, form.options, *matrices)
        chosen = [values[i] for i in form.results]
        if form.adjoint >= 0:
            chosen[form.adjoint] = np.conj(chosen[form.adjoint]).T
        return tuple(chosen)

    return batched(pick, ranks)(frame, instr, *operands)


vendor_call(*PERTURBED)(batched(solve_tridiagonal, (1, 1, 1, 2)))

_TRIANGLE = {"lower": "flag"}
_VECTORS = {"full_matrices": "flag", "compute_uv": "flag"}
_BOTH = {"left": "flag", "right": "flag"}
_SIGNATURES: dict[str, Signature] = {
    "solver_potrf_ffi": Signature("T[*,n,n] -> T[*,n,n] s32[*]", _TRIANGLE),
    "solver_getrf_ffi": Signature("T[*,m,n] -> T[*,m,n] s32[*,k] s32[*]"),
    "solver_geqrf_ffi": Signature("T[*,m,n] -> T[*,m,n] T[*,k]"),
    "solver_orgqr_ffi": replace(SIGNATURES["orgqr"], text="T[*,m,n] T[*,r] -> T[*,m,n]"),
    "solver_ormqr_ffi": SIGNATURES["ormqr"],
    "solver_syevd_ffi": Signature("T[*,n,n] -> T[*,n,n] R[*,n] s32[*]", _TRIANGLE),
    "solver_sytrd_ffi": Signature("T[*,n,n] -> T[*,n,n] R[*,n] R[*,h] T[*,h] s32[*]", _TRIANGLE),
    "sparse_gtsv2_ffi": Signature("T[*,n] T[*,n] T[*,n] T[*,n,r] -> T[*,n,r]"),
    "hybrid_geqp3": SIGNATURES["geqp3"],
    "hybrid_eig_real": Signature("T[*,n,n] -> T[*,n] T[*,n] C[*,n,n] C[*,n,n] s32[*]", _BOTH),
    "hybrid_eig_comp": Signature("T[*,n,n] -> T[*,n] T[*,n,n] T[*,n,n] s32[*]", _BOTH),
}
for _prefix in _PREFIXES:
    for _known, _signature in _SIGNATURES.items():
        register_signature(_signature, f"{_prefix}{_known}")
    register_signature(_SIGNATURES["sparse_gtsv2_ffi"], f"{_prefix}_tridiagonal_solve_perturbed")
_SINGULAR = [t for t in TARGETS if "gesvd" in t or "gesdd" in t]


@checked(*_SINGULAR, note="T[*,m,n] -> T[*,m,n] R[*,k], U and V or V^H, s32[*]")
def check_singular_values(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes and options of a singular value decomposition."""
    said = config(instr)
    form = form_of(instr)
    right = "T[*,n,v]" if form.adjoint >= 0 else "T[*,v,n]"
    vectors = ["T[*,m,u]", right][:: -1 if form.results[2] == 3 else 1]
    if form.adjoint < 0 and not said.get("compute_uv"):
        vectors = ["T[]", "T[]"]
    signature = Signature(
        f"T[*,m,n] -> T[*,m,n] R[*,k] {' '.join(vectors)} s32[*]",
        _VECTORS,
        "needs all vectors, or the first min(m, n) of both",
        lambda sizes, _: (sizes.get("u"), sizes.get("v")) in _rooms(sizes, said),
    )
    operands = [o.shape for o in instr.operands]
    return signature.problem(operands, list(results_of(instr)), FACTORED, said)


def _rooms(sizes: Mapping[str, int], options: Options) -> list[tuple[int | None, int | None]]:
    """The numbers of left and right vectors that there may be."""
    if "u" not in sizes:
        return [(None, None)]
    k = min(sizes["m"], sizes["n"])
    full = options.get("full_matrices")
    return [(sizes["m"], sizes["n"]) if full else (k, k)]
