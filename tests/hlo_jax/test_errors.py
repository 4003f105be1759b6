"""Errors reach JAX with a status, PyHLO's message, and the user's line where there is one."""

import re
from typing import Any

import pytest

from hlo.errors.error import HloError
from hlo_jax.plugin.loaded import BY_HANDLE
from hlo_jax.plugin.queue import raise_out_of_memory


def test_an_unknown_custom_call_is_named(jax: Any, engine: str) -> None:
    called = jax.ffi.ffi_call("no_such_function", jax.ShapeDtypeStruct((), "float32"))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED.*no_such_function") as e:
        jax.jit(called)(1.0).block_until_ready()
    assert engine
    assert "HLO121" in str(e.value)
    assert re.search(r"in the program: .*test_errors.py:\d+ \(jit\(", str(e.value))


def test_a_call_that_needs_more_memory_than_there_is(jax: Any, jnp: Any, engine: str) -> None:
    """The error has the size, and the user's line."""
    outer = jax.jit(lambda x: jnp.outer(x, x) + 1)
    x = jnp.ones(3_000_000)
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED") as caught:
        outer(x).block_until_ready()
    assert engine
    assert "36,000,000,000,000 bytes of f32[3000000,3000000]" in str(caught.value)
    assert re.search(r"in the program: .*test_errors.py:\d+ \(jit\(", str(caught.value))


def test_memory_that_is_out_although_it_was_there(jax: Any, jnp: Any) -> None:
    """As `posix_memalign` finds it, after a look at the memory that says that it suffices."""
    square = jax.jit(lambda x: x @ x, compiler_options={"pyhlo_engine": "c"})
    square(jnp.ones((2, 2)))
    (loaded,) = [x for x in BY_HANDLE.values() if x.program.module.name == "jit__lambda"][-1:]
    with pytest.raises(HloError, match=r"no memory for the [0-9,]+ bytes of a call") as caught:
        raise_out_of_memory(loaded)
    assert caught.value.code == "HLO114"


def test_unknown_options_are_refused(jax: Any) -> None:
    function = jax.jit(lambda x: x + 1, compiler_options={"no_such_option": "1"})
    with pytest.raises(
        jax.errors.JaxRuntimeError, match="No such compile option: 'no_such_option'"
    ):
        function(1.0)
    engine = jax.jit(lambda x: x + 1, compiler_options={"pyhlo_engine": "sea"})
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT.*interpreter"):
        engine(1.0)


def test_an_engine_can_be_an_option(jax: Any) -> None:
    function = jax.jit(lambda x: x + 1, compiler_options={"pyhlo_engine": "c"})
    assert function(1.0) == 2
    stats = function.lower(1.0).compile().memory_analysis()
    assert stats.generated_code_size_in_bytes > 0


def test_analyses(jax: Any, jnp: Any) -> None:
    compiled = jax.jit(lambda x: jnp.sin(x @ x) + x).lower(jnp.ones((4, 4))).compile()
    assert compiled.cost_analysis()["flops"] == 128 + 16
    assert compiled.memory_analysis().argument_size_in_bytes == 64
    text = compiled.as_text()
    assert "dot(" in text
    assert "fusion(" in text, "this is what PyHLO's optimizer made of it"
