"""Engines: by name, by option, and what falls back to which."""

from typing import Any

import numpy as np
import pytest

import hlo_jax


@pytest.mark.parametrize("engine", ["interpreter", "c", "cuda-host"])
def test_a_function_s_own_engine(jax: Any, jnp: Any, engine: str) -> None:
    def of_each_engine(x: Any, y: Any) -> Any:
        return jnp.tanh(x @ y).sum(axis=1), x + 1

    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    jax.clear_caches()
    called = jax.jit(of_each_engine, compiler_options={"pyhlo_engine": engine})
    sums, more = called(x, x.T)
    np.testing.assert_allclose(sums, np.tanh(x @ x.T).sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(more, x + 1)
    (line,) = [s for s in hlo_jax.explain().splitlines() if "of_each_engine" in s]
    assert line.split()[1] == engine


def test_an_engine_that_there_is_not(jax: Any) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="the engines are auto, interpreter, c"):
        jax.jit(lambda x: x + 1, compiler_options={"pyhlo_engine": "cobol"})(1.0)


def test_a_call_that_lapack_would_refuse_is_compiled_and_fails_when_it_runs(
    jax: Any, engine: str
) -> None:
    called = jax.jit(jax.ffi.ffi_call("lapack_sgetrf_ffi", (), has_side_effect=True))
    compiled = called.lower().compile()
    assert "lapack_sgetrf_ffi" in compiled.as_text()
    with pytest.raises(jax.errors.JaxRuntimeError, match="takes 1 arrays, not 0"):
        compiled()
    assert engine
