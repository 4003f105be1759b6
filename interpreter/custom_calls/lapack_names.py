"""What JAX calls LAPACK's routines, and what it hands to them.

References
----------
JAX, `jaxlib/cpu/lapack_kernels.cc`, and `jaxlib/cpu/lapack.cc` of older versions.
"""

from __future__ import annotations


def ffi_targets(routine: str) -> list[str]:
    """The custom calls that run a routine: `lapack_<letter of the type><routine>_ffi`.

    One that begins with "or" or "sy" is for real types, one that begins with "un" or "he" for
    complex ones, and any other for all four.
    """
    real_only, complex_only = routine[:2] in ("or", "sy"), routine[:2] in ("un", "he")
    letters = "sd" if real_only else "cz" if complex_only else "sdcz"
    return [f"lapack_{letter}{routine}_ffi" for letter in letters]


# Before there were FFI calls: for each routine the letters of its types, and the ranks of its
# arrays without the batch. Sizes and options stand in front of these, as operands.
BEFORE_FFI: dict[str, tuple[str, tuple[int, ...]]] = {
    "potrf": ("sdcz", (2,)),
    "getrf": ("sdcz", (2,)),
    "geqrf": ("sdcz", (2,)),
    "orgqr": ("sd", (2, 1)),
    "ungqr": ("cz", (2, 1)),
    "syevd": ("sd", (2,)),
    "heevd": ("cz", (2,)),
    "gesdd": ("sdcz", (2,)),
}


def targets_before_ffi(routine: str) -> list[str]:
    """The custom calls that ran a routine: `lapack_<letter of the type><routine>`."""
    letters, _ = BEFORE_FFI[routine]
    return [f"lapack_{letter}{routine}" for letter in letters]
