"""QR and eigenvalues by loops of HLO, beside LAPACK's."""

import numpy as np
import pytest

import hlo
from interpreter import evaluate
from optimizer import parse_pipeline

DTYPES = {"f32": (np.float32, "f32", 1e-5), "f64": (np.float64, "f64", 1e-12)}
DTYPES |= {"c64": (np.complex64, "f32", 1e-5), "c128": (np.complex128, "f64", 1e-12)}
BY_TYPE = pytest.mark.parametrize("name", DTYPES)


def call(target, name, dims, vector, config=""):
    """A module with one custom call that yields a matrix and a vector."""
    matrix, second = (",".join(map(str, d)) for d in (dims, vector[1]))
    said = f'custom_call_target="{target}", backend_config="{config}"'
    return hlo.parse(f"""HloModule m
ENTRY e {{
  p = {name}[{matrix}] parameter(0)
  ROOT c = ({name}[{matrix}], {vector[0]}[{second}]) custom-call(p), {said}
}}""")


def matrices(dims, dtype):
    random = np.random.default_rng(len(dims))
    drawn = random.normal(size=dims) + 1j * random.normal(size=dims)
    return (drawn if np.issubdtype(dtype, np.complexfloating) else drawn.real).astype(dtype)


@BY_TYPE
@pytest.mark.parametrize("dims", [(4, 4), (2, 5, 3), (3, 5), (1, 1), (0, 3), (3, 0)])
def test_qr_is_that_of_lapack(name, dims):
    dtype, _, tolerance = DTYPES[name]
    module = call("Qr", name, dims, (name, (*dims[:-2], min(dims[-2:]))))
    given = matrices(dims, dtype)
    given[..., 1:, :1] = 0  # nothing to reflect in the first column
    after = parse_pipeline("qr_expander").run(module)
    assert (after is module) == (0 in dims)
    for got, want in zip(evaluate(after, given), evaluate(module, given), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@BY_TYPE
@pytest.mark.parametrize("lower", ["0", "1"])
@pytest.mark.parametrize("dims", [(6, 6), (2, 3, 3), (1, 1), (0, 0)])
def test_eigenvectors_put_the_matrix_together_again(name, lower, dims):
    dtype, real, tolerance = DTYPES[name]
    module = call("Eigh", name, dims, (real, dims[:-1]), f"{lower},1,100,1e-6")
    given = matrices(dims, dtype)
    after = parse_pipeline("eigh_expander").run(module)
    assert (after is module) == (0 in dims)
    vectors, values = evaluate(after, given)
    want_vectors, want = evaluate(module, given)
    np.testing.assert_allclose(values, want, atol=10 * tolerance)
    adjoint = [np.conj(np.swapaxes(v, -1, -2)) for v in (vectors, want_vectors)]
    whole = (vectors * values[..., None, :]) @ adjoint[0]
    want_whole = (want_vectors * want[..., None, :]) @ adjoint[1]
    np.testing.assert_allclose(whole, want_whole, atol=10 * tolerance)


ENDS = pytest.mark.parametrize("end", ["least", "largest"])


def at_end(dims, dtype, end):
    """Matrices, and the power of two that takes them to an end of the type's exponents."""
    info = np.finfo(dtype)
    # Few digits, so that none is lost where numbers are subnormal.
    coarse = np.round(matrices(dims, dtype) * 64) / 64
    exponent = info.minexp - 8 if end == "least" else info.maxexp - 3
    return coarse.astype(dtype), info.dtype.type(2.0) ** exponent


@ENDS
@BY_TYPE
def test_qr_keeps_its_digits_at_the_ends_of_exponents(name, end):
    dtype, _, tolerance = DTYPES[name]
    after = parse_pipeline("qr_expander").run(call("Qr", name, (2, 4, 3), (name, (2, 3))))
    given, power = at_end((2, 4, 3), dtype, end)
    want, want_taus = evaluate(after, given)
    got, taus = evaluate(after, given * power)
    np.testing.assert_allclose(taus, want_taus, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(np.tril(got, -1), np.tril(want, -1), rtol=tolerance, atol=tolerance)
    room = np.finfo(dtype).smallest_subnormal + tolerance * power
    assert np.all(abs(np.triu(got) - np.triu(want * power)) <= room)


@ENDS
@BY_TYPE
def test_eigenvalues_keep_their_digits_at_the_ends_of_exponents(name, end):
    dtype, real, tolerance = DTYPES[name]
    module = call("Eigh", name, (2, 4, 4), (real, (2, 4)), "1,1,100,1e-6")
    after = parse_pipeline("eigh_expander").run(module)
    given, power = at_end((2, 4, 4), dtype, end)
    want_vectors, want = evaluate(after, given)
    vectors, values = evaluate(after, given * power)
    # Each is known but for its phase.
    overlap = abs(np.conj(np.swapaxes(vectors, -1, -2)) @ want_vectors)
    np.testing.assert_allclose(overlap, np.tile(np.eye(4), (2, 1, 1)), atol=100 * tolerance)
    room = np.finfo(dtype).smallest_subnormal + 10 * tolerance * power
    assert np.all(abs(values - want * power) <= room)
