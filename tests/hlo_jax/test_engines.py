"""Engines: by name, by option, and what falls back to which."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlo_jax
from hlo.backend_names import find
from hlo_jax.engines import switching
from hlo_jax.engines.background import background
from interpreter.custom_calls.registry import CUSTOM_CALLS


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


def test_c_takes_over_from_the_interpreter(
    jax: Any, jnp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switching, "SECONDS", 1e9)  # only calls count

    def often_called(x: Any) -> Any:
        return jnp.tanh(x) + 1

    jax.clear_caches()
    called = jax.jit(often_called, compiler_options={"pyhlo_engine": "auto"})
    x = np.linspace(-1, 1, 12, dtype=np.float32)

    def engine() -> list[str]:
        np.testing.assert_allclose(called(x), np.tanh(x) + 1, rtol=1e-6)
        (line,) = [s for s in hlo_jax.explain().splitlines() if "often_called" in s]
        return line.split(maxsplit=4)

    assert engine()[1] == "interpreter"
    assert "after 2 calls" in engine()[-1]
    engine()  # the third call: now it is compiled
    assert background().wait(60)
    *counts, note = engine()[1:]
    assert counts == ["c", "4", "0"]
    assert note.startswith("after 3 calls of the interpreter")
    assert engine()[1:4] == ["c", "5", "1"], "from now on, C calls C"


@pytest.mark.parametrize("donated", [False, True])
def test_c_calls_compiled_programs_of_any_number_of_arrays(
    jax: Any, jnp: Any, *, donated: bool
) -> None:
    def of_many_arrays(xs: Any) -> Any:
        return [x + k for k, x in enumerate(xs)]

    jax.clear_caches()
    donors = {"donate_argnums": 0} if donated else {}
    step = jax.jit(of_many_arrays, compiler_options={"pyhlo_engine": "c"}, **donors)
    xs = [jnp.full(3, 2.0) for _ in range(200)]
    for _ in range(3):
        xs = step(xs)
    assert [float(x[2]) for x in xs] == [2.0 + 3 * k for k in range(200)]
    (line,) = [s for s in hlo_jax.explain().splitlines() if "of_many_arrays" in s]
    _, engine, calls, without_python, *_ = line.split()
    assert (engine, calls, without_python) == ("c", "3", "3")


@pytest.fixture
def only_interpreted(jax: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A custom call that the interpreter knows, and C does not."""
    name = "only_interpreted"
    monkeypatch.setitem(CUSTOM_CALLS, name, lambda _frame, _instr, x: x * 2)
    return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((3,), "float32"))


def test_a_program_that_c_can_not_express_is_interpreted_with_a_warning(
    jax: Any, only_interpreted: Any
) -> None:
    def twice(x: Any) -> Any:
        return only_interpreted(x) + 1

    called = jax.jit(twice, compiler_options={"pyhlo_engine": "c"})
    with pytest.warns(RuntimeWarning, match=r"jit_twice is interpreted.*test_engines.py:\d+") as w:
        assert called(np.ones(3, np.float32)).tolist() == [3, 3, 3]
    assert "the engine c-only makes this an error" in str(w[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        called(np.zeros(3, np.float32))  # one warning a program


def test_a_program_that_must_be_compiled(jax: Any, only_interpreted: Any) -> None:
    def compiled(x: Any) -> Any:
        return jax.numpy.sin(x) + 1

    def twice(x: Any) -> Any:
        return only_interpreted(x) + 1

    x, options = np.ones(3, np.float32), {"pyhlo_engine": "c-only"}
    np.testing.assert_allclose(jax.jit(compiled, compiler_options=options)(x), np.sin(x) + 1)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED.*HLO181") as caught:
        jax.jit(twice, compiler_options=options)(x)
    assert re.search(r"in the program: .*test_engines.py:\d+ \(jit\(twice\)", str(caught.value))


OWN = """import interpreter

def compile(module):
    calls.append(module.name)
    return lambda *given: interpreter.evaluate(module, *given)

def refuses(module):
    raise NotImplementedError("nothing of this is done")

def fails(module):
    return lambda *given: given[9]

calls = []
"""


def test_a_backend_of_one_s_own_is_an_engine(jax: Any, tmp_path: Path) -> None:
    path = tmp_path / "own_engine.py"
    path.write_text(OWN)

    def run(name: str) -> list[float]:
        options = {"pyhlo_engine": f"{path}:{name}"}
        called = jax.jit(lambda x: (x + 1) * 2, compiler_options=options, donate_argnums=0)
        return called(np.float32([1, 2])).tolist()

    assert run("compile") == [4, 6]
    assert find(f"{path}:compile").compiler.compile.__globals__["calls"] == ["jit__lambda"]
    with pytest.warns(RuntimeWarning, match="is interpreted: nothing of this is done"):
        assert run("refuses") == [4, 6]
    with pytest.raises(jax.errors.JaxRuntimeError, match="nothing of this is done"):
        run("refuses-only")
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"own_engine.py:11:\d+: .*IndexError"):
        run("fails")
    with pytest.raises(jax.errors.JaxRuntimeError, match="did you mean `compile`"):
        run("compiel")


def test_an_engine_that_there_is_not(jax: Any) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="the engines are auto, interpreter, c"):
        jax.jit(lambda x: x + 1, compiler_options={"pyhlo_engine": "cobol"})(1.0)


def test_a_call_that_lapack_would_refuse_is_compiled_and_fails_when_it_runs(
    jax: Any, engine: str
) -> None:
    called = jax.jit(jax.ffi.ffi_call("lapack_sgetrf_ffi", (), has_side_effect=True))
    compiled = called.lower().compile()
    assert "lapack_sgetrf_ffi" in compiled.as_text()
    with pytest.raises(jax.errors.JaxRuntimeError, match="takes 1 array, not 0"):
        compiled()
    assert engine
