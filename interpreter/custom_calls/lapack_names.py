"""What JAX calls LAPACK's routines, and what it hands to them.

References
----------
JAX, `jaxlib/cpu/lapack_kernels.cc`, and `jaxlib/cpu/lapack.cc` of older versions.
"""

from __future__ import annotations

# For each routine the ranks of the arrays that it takes, without the batch.
RANKS: dict[str, tuple[int, ...]] = {
    "potrf": (2,),
    "getrf": (2,),
    "trsm": (2, 2),
    "geqrf": (2,),
    "geqp3": (2, 1),
    "orgqr": (2, 1),
    "ormqr": (2, 1, 2),
    "syevd": (2,),
    "gesdd": (2,),
    "geev": (2,),
    "gees": (2,),
    "gehrd": (2,),
    "sytrd": (2,),
    "gtsv": (1, 1, 1, 2),
}
# Before there were FFI calls, options and sizes were operands in front of the arrays. What the
# options say, for each routine: which triangle is read, which vectors are computed, or nothing.
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


def ffi_targets(routine: str) -> list[str]:
    """The custom calls that run a routine: `lapack_<letter of the type><routine>_ffi`."""
    return [f"{target}_ffi" for target in targets_before_ffi(routine)]


def targets_before_ffi(routine: str) -> list[str]:
    """The custom calls that ran a routine: `lapack_<letter of the type><routine>`.

    One that begins with "or" or "sy" is for real types, one that begins with "un" or "he" for
    complex ones, and any other for all four.
    """
    real_only, complex_only = routine[:2] in ("or", "sy"), routine[:2] in ("un", "he")
    letters = "sd" if real_only else "cz" if complex_only else "sdcz"
    return [f"lapack_{letter}{routine}" for letter in letters]
