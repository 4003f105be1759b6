"""JAX's names of LAPACK's routines, and their arguments.

References
----------
JAX, `jaxlib/cpu/lapack_kernels.cc`, and `jaxlib/cpu/lapack.cc` of older versions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from interpreter.custom_calls.signatures import FACTORED, Signature, letter_of, register_signature

if TYPE_CHECKING:
    from interpreter.custom_calls.signatures import Options, Sizes


def _triangle_fits(sizes: Sizes, options: Options | None) -> bool:
    """Whether A, of r rows, can be on its side of B, of m rows and n columns."""
    sides = {"L": sizes["m"], "R": sizes["n"]}
    if options is None:
        return sizes["r"] in sides.values()
    return sides[letter_of(options["side"])] == sizes["r"]


def _product_fits(sizes: Sizes, _options: Options | None) -> bool:
    """Whether r reflectors make n columns of a matrix with m rows."""
    return sizes["r"] <= sizes["n"] <= sizes["m"]


def _range_fits(sizes: Sizes, options: Options | None) -> bool:
    """Whether the rows that are not reduced yet are some of the matrix's; without rows, none."""
    if options is None:
        return True
    low, high, n = options["low"], options["high"], sizes["n"]
    return 1 <= low <= high <= n if n else (low, high) == (1, 0)


def _reflectors_fit(sizes: Sizes, options: Options | None) -> bool:
    """Whether Q, of p rows and from r reflectors, can be on its side of C."""
    left = options is None or options["left"]
    return sizes["p"] == sizes["m" if left else "n"] and sizes["r"] <= min(sizes["p"], sizes["q"])


def _vectors_fit(sizes: Sizes, options: Options | None) -> bool:
    """Whether there is room for the requested singular vectors: all, or the first k."""
    m, n = sizes["m"], sizes["n"]
    rooms = {"A": (m, n), "S": (min(m, n),) * 2}
    room = (sizes["u"], sizes["v"])
    if options is None:
        return room in rooms.values()
    return room == rooms.get(letter_of(options["mode"]), room)


_UPLO = {"uplo": "LU"}
_PAIR = {"compute_left": "NV", "compute_right": "NV"}
_SIDES = {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"}
# The operands and results of each routine.
# fmt: off
SIGNATURES: dict[str, Signature] = {
    "potrf": Signature("T[*,n,n] -> T[*,n,n] s32[*]?", _UPLO),
    "getrf": Signature("T[*,m,n] -> T[*,m,n] s32[*,k] s32[*]?"),
    "trsm": Signature("T[*,r,r] T[*,m,n] -> T[*,m,n]", _SIDES,
                      "needs r = m, or r = n on the right side", _triangle_fits),
    "geqrf": Signature("T[*,m,n] -> T[*,m,n] T[*,k] s32[*]?"),
    "geqp3": Signature("T[*,m,n] s32[*,n] -> T[*,m,n] s32[*,n] T[*,k]"),
    "orgqr": Signature("T[*,m,n] T[*,r] -> T[*,m,n] s32[*]?",
                       needs="needs r <= n <= m", holds=_product_fits),
    "ormqr": Signature("T[*,p,q] T[*,r] T[*,m,n] -> T[*,m,n]",
                       {"left": "flag", "transpose": "flag"},
                       "needs r <= q, r <= p and p = m, or p = n on the right side",
                       _reflectors_fit),
    "syevd": Signature("T[*,n,n] -> T[*,n,n] R[*,n] s32[*]?", {"mode": "NV", **_UPLO}),
    "gesdd": Signature("T[*,m,n] -> T[*,m,n] R[*,k] T[*,m,u] T[*,v,n] s32[*]?",
                       {"mode": "ASN"}, "needs u = m and v = n, or u = v = k", _vectors_fit),
    "geev": Signature("T[*,n,n] -> T[*,n] T[*,n] C[*,n,n] C[*,n,n] s32[*]?", _PAIR),
    "gees": Signature("T[*,n,n] -> T[*,n,n] T[*,n,n] T[*,n] T[*,n] s32[*]? s32[*]?",
                      {"mode": "NV"}),
    "gehrd": Signature("T[*,n,n] -> T[*,n,n] T[*,h] s32[*]?",
                       {"low": "number", "high": "number"},
                       "needs 1 <= low <= high <= n", _range_fits),
    "sytrd": Signature("T[*,n,n] -> T[*,n,n] R[*,n] R[*,h] T[*,h] s32[*]?", _UPLO),
    "gtsv": Signature("T[*,n] T[*,n] T[*,n] T[*,n,r] -> T[*,n] T[*,n] T[*,n] T[*,n,r] s32[*]?"),
}
# Where complex types have other results.
COMPLEX: dict[str, Signature] = {
    "geev": Signature("T[*,n,n] -> T[*,n] T[*,n,n] T[*,n,n] s32[*]?", _PAIR),
    "gees": Signature("T[*,n,n] -> T[*,n,n] T[*,n,n] T[*,n] s32[*]? s32[*]?", {"mode": "NV"}),
}
# fmt: on
# Routines for complex types that have another name than those for real ones, and one more.
_SAME = {
    "ungqr": "orgqr",
    "unmqr": "ormqr",
    "heevd": "syevd",
    "hetrd": "sytrd",
    "gesvd": "gesdd",
}
# Before there were FFI calls, options and sizes were operands in front of the arrays. The meaning
# of the options, for each routine: which triangle is read, which vectors are computed, or none.
BEFORE_FFI: dict[str, str] = {
    "potrf": "triangle",
    "getrf": "nothing",
    "geqrf": "nothing",
    "orgqr": "nothing",
    "ungqr": "nothing",
    "syevd": "triangle",
    "heevd": "triangle",
    "gesdd": "vectors",
}
# How many operands say that; sizes come after them.
_SAID = {"triangle": 1, "vectors": 2, "nothing": 0}
TRIANGULAR_BEFORE_FFI = ("blas_strsm", "blas_dtrsm", "blas_ctrsm", "blas_ztrsm")


def ffi_targets(routine: str) -> list[str]:
    """The custom calls that run a routine: `lapack_<letter of the type><routine>_ffi`."""
    return [f"{target}_ffi" for target in targets_before_ffi(routine)]


def ffi_target(routine: str, letter: str) -> str:
    """The custom call that runs a row of `SIGNATURES` for the type with a letter."""
    names = [routine, *(name for name, row in _SAME.items() if row == routine)]
    return f"lapack_{letter}{next(n for n in names if letter in _letters(n))}_ffi"


def targets_before_ffi(routine: str) -> list[str]:
    """The custom calls that ran a routine: `lapack_<letter of the type><routine>`.

    One that begins with "or" or "sy" is for real types, one that begins with "un" or "he" for
    complex ones, and any other for all four.
    """
    return [f"lapack_{letter}{routine}" for letter in _letters(routine)]


def _letters(routine: str) -> str:
    real_only, complex_only = routine[:2] in ("or", "sy"), routine[:2] in ("un", "he")
    return "sd" if real_only else "cz" if complex_only else "sdcz"


def _register() -> None:
    """Let `check_call` know the signatures of all calls."""
    types = dict(zip("sdcz", FACTORED, strict=True))
    for name in (*SIGNATURES, *_SAME):
        for letter in _letters(name):
            row = _SAME.get(name, name)
            signature = COMPLEX.get(row, SIGNATURES[row]) if letter in "cz" else SIGNATURES[row]
            register_signature(signature, f"lapack_{letter}{name}_ffi", types=(types[letter],))
            if name in BEFORE_FFI:
                before = replace(signature, more=True)
                count = _SAID[BEFORE_FFI[name]]
                target = f"lapack_{letter}{name}"
                register_signature(before, target, types=(types[letter],), scalars=count)
    for target, kind in zip(TRIANGULAR_BEFORE_FFI, FACTORED, strict=True):
        # left_side, lower, transpose, unit_diagonal, m, n, batch, alpha.
        register_signature(SIGNATURES["trsm"], target, types=(kind,), scalars=8)
    register_signature(SIGNATURES["geqrf"], "Qr")
    register_signature(SIGNATURES["orgqr"], "ProductOfElementaryHouseholderReflectors")
    register_signature(Signature("T[*,n,n] -> T[*,n,n] R[*,n]"), "Eigh")


_register()
