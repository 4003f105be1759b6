"""Modules that JAX makes for GPUs: their calls of cuSOLVER and hipSOLVER are LAPACK's routines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest
from gpu_libraries import flat
from jax import lax

import emit_c
import hlo
import interpreter
from hlo.errors.error import HloError
from hlo.frontends import stablehlo
from optimizer import Log, parse_pipeline

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((2, 5, 5)).astype(np.float32)
B = RANDOM.standard_normal((2, 5, 3)).astype(np.float32)
TALL = RANDOM.standard_normal((2, 7, 4)).astype(np.float32)
WIDE = TALL.swapaxes(-1, -2).copy()
POSITIVE = (A @ A.swapaxes(-1, -2) + 5 * np.eye(5)).astype(np.float32)
COMPLEX = (A + 1j * RANDOM.standard_normal((2, 5, 5))).astype(np.complex64)
HERMITIAN = (COMPLEX @ COMPLEX.conj().swapaxes(-1, -2) + 5 * np.eye(5)).astype(np.complex64)
BY_QR = lax.linalg.SvdAlgorithm.QR

# Functions of JAX, and arguments.
Case = tuple[Callable[..., Any], tuple[np.ndarray, ...]]
CASES: dict[str, Case] = {
    "cholesky": (jnp.linalg.cholesky, (POSITIVE,)),
    "cholesky of complex numbers": (jnp.linalg.cholesky, (HERMITIAN,)),
    "cholesky of no positive matrix": (jnp.linalg.cholesky, (-POSITIVE,)),
    "solve": (jnp.linalg.solve, (A, B)),
    "determinant": (jnp.linalg.slogdet, (A,)),
    "qr": (jnp.linalg.qr, (TALL,)),
    "complete qr": (lambda a: jnp.linalg.qr(a, mode="complete"), (TALL,)),
    "qr of complex numbers": (jnp.linalg.qr, (COMPLEX,)),
    "qr with pivots": (lambda a: lax.linalg.qr(a, pivoting=True), (TALL,)),
    "eigh": (jnp.linalg.eigh, (POSITIVE,)),
    "eigenvalues of complex numbers": (jnp.linalg.eigvalsh, (HERMITIAN,)),
    "eig": (jnp.linalg.eig, (A,)),
    "svd": (lambda a: jnp.linalg.svd(a, full_matrices=False), (TALL,)),
    "full svd": (jnp.linalg.svd, (TALL,)),
    "wide svd": (lambda a: jnp.linalg.svd(a, full_matrices=False), (WIDE,)),
    "svd of complex numbers": (jnp.linalg.svd, (COMPLEX,)),
    "singular values": (lambda a: jnp.linalg.svd(a, compute_uv=False), (TALL,)),
    "svd by qr": (lambda a: lax.linalg.svd(a, full_matrices=False, algorithm=BY_QR), (TALL,)),
    "wide svd by qr": (lambda a: lax.linalg.svd(a, algorithm=BY_QR), (WIDE,)),
    "values by qr": (lambda a: lax.linalg.svd(a, compute_uv=False, algorithm=BY_QR), (TALL,)),
    "tridiagonal": (lax.linalg.tridiagonal, (POSITIVE,)),
    "tridiagonal solve": (
        lax.linalg.tridiagonal_solve, (A[0, 0], A[0, 1] + 4, A[0, 2], B[0])
    ),
    "householder product": (lambda a: lax.linalg.householder_product(a, a[:, 0]), (TALL,)),
    "exponential": (jsp.linalg.expm, (A,)),
}  # fmt: skip


def up_to_phases(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """A singular value decomposition of which only what is defined is left.

    Releases of LAPACK differ in the signs of pairs of vectors, and in bases of what is left over.
    """
    left, values, right = arrays
    count = values.shape[-1]
    pairs = np.concatenate([left[..., :count].swapaxes(-1, -2).conj(), right[..., :count, :]], -1)
    others = left[..., count:], right[..., count:, :].swapaxes(-1, -2).conj()
    phases = pairs[..., :1] / abs(pairs[..., :1])
    return [values, pairs / phases, *(x @ x.swapaxes(-1, -2).conj() for x in others)]


def expect_close(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Fail if numbers differ by more than rounding."""
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
@pytest.mark.parametrize("name", CASES)
def test_a_module_for_gpus_has_the_values_of_one_for_the_processor(
    name: str, platform: str
) -> None:
    function, arguments = CASES[name]
    lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=(platform,))
    module = stablehlo.parse(lowered.as_text())
    hlo.verify(module)
    with jax.default_device(jax.devices("cpu")[0]):  # XLA's own
        expected = [np.asarray(x) for x in jax.tree.leaves(jax.jit(function)(*arguments))]
    defined = up_to_phases if "svd" in name else list
    for each in (module, parse_pipeline("custom-call-expander").run(module, Log())):
        results = flat(interpreter.evaluate(each, *arguments))
        expect_close(defined(results), defined(expected))


@pytest.mark.parametrize("name", ["solve", "eig", "wide svd", "values by qr"])
def test_it_becomes_c(name: str) -> None:
    function, arguments = CASES[name]
    lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=("cuda",))
    module = stablehlo.parse(lowered.as_text())
    expected = flat(interpreter.evaluate(module, *arguments))
    expect_close(flat(emit_c.compile(module)(*arguments)), expected)


def call(target: str, result: str, options: str, operand: str = "f32[4,3]") -> hlo.Module:
    """A module of one call."""
    return hlo.parse(f"""ENTRY e {{
      a = {operand} parameter(0)
      ROOT r = {result} custom-call(a), custom_call_target="{target}",
        api_version=API_VERSION_TYPED_FFI, backend_config={{{options}}}
    }}""")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (call("cusolver_potrf_ffi", "(f32[4,4], s32[])", "lower = true"), "operand 0 is"),
        (call("cusolver_potrf_ffi", "(f32[4,4], s32[])", "", "f32[4,4]"), "option 'lower'"),
        (call("cusolver_getrf_ffi", "(f32[4,3], s32[4], s32[])", ""), "result 1 is"),
        (
            call(
                "cusolver_gesvdj_ffi",
                "(f32[4,3], f32[3], f32[4,3], f32[3,3], s32[])",
                "full_matrices = true, compute_uv = true",
            ),
            "needs all vectors",
        ),
    ],
)
def test_a_call_that_does_not_fit_is_refused(module: hlo.Module, message: str) -> None:
    zeros = np.zeros(module.entry.parameters[0].shape.dims, np.float32)
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        interpreter.evaluate(module, zeros)
