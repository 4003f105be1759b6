"""Callbacks into Python, with each engine."""

import gc
from typing import Any

import numpy as np
import pytest

import hlo
import hlo_jax
import interpreter
from hlo_jax.engines import callbacks

pytestmark = pytest.mark.usefixtures("engine")


def test_a_pure_callback(jax: Any, jnp: Any) -> None:
    def sine(x: Any) -> Any:
        return jax.pure_callback(
            np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential"
        )

    x = jnp.linspace(0, 1, 5)
    np.testing.assert_allclose(jax.jit(sine)(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(sine)(x), np.sin(x), rtol=1e-6)


def test_debug_print_in_order(jax: Any, jnp: Any, capfd: pytest.CaptureFixture[str]) -> None:
    @jax.jit
    def count(x: Any) -> Any:
        def turn(i: Any, total: Any) -> Any:
            jax.debug.print("turn {i}", i=i, ordered=True)
            return total + i

        return jax.lax.fori_loop(0, 3, turn, x)

    assert count(jnp.int32(0)) == 3
    jax.effects_barrier()
    assert capfd.readouterr().out == "turn 0\nturn 1\nturn 2\n"


def test_an_exception_of_a_callback_reaches_the_caller(jax: Any) -> None:
    def fails(_: Any) -> Any:
        raise ValueError("no luck today")

    called = jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((), "float32"), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="no luck today"):
        called(1.0).block_until_ready()


def test_functions_are_forgotten_with_their_programs(jax: Any) -> None:
    shape = jax.ShapeDtypeStruct((), "float32")
    called = jax.jit(lambda x: jax.pure_callback(lambda a: np.float32(a) + 1, shape, x))
    # Those of earlier tests may go at any time.
    before = set(callbacks._FUNCTIONS)
    assert called(1.0) == 2
    (new,) = callbacks._FUNCTIONS.keys() - before
    del called
    jax.clear_caches()
    gc.collect()
    assert new not in callbacks._FUNCTIONS


def test_an_ordered_callback_without_results_on_a_mesh(jax: Any, jnp: Any) -> None:
    seen: list[list[int]] = []
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    spec = jax.sharding.PartitionSpec("x")

    def tell(x: Any) -> None:
        jax.experimental.io_callback(lambda a: seen.append(a.tolist()), None, x, ordered=True)

    told = jax.shard_map(tell, mesh=mesh, in_specs=spec, out_specs=None)
    jax.jit(told, in_shardings=jax.sharding.NamedSharding(mesh, spec))(jnp.arange(2))
    jax.effects_barrier()
    assert seen == [[0, 1]]


def test_callbacks_of_compiled_code(jax: Any, jnp: Any, engine: str) -> None:
    shapes = jax.ShapeDtypeStruct((2, 3), "float32"), jax.ShapeDtypeStruct((), "int32")

    def several(x: Any, n: Any) -> Any:
        return jax.pure_callback(lambda a, k: (a * k, k + 1), shapes, x, n)

    def called_twice(x: Any) -> Any:
        product, more = several(x + 1, jnp.int32(2))
        return several(product, more)[0] * 1

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    function = jax.jit(called_twice)
    for _ in range(3):
        np.testing.assert_array_equal(function(x), (x + 1) * 6)
    (line,) = [s for s in hlo_jax.explain().splitlines() if "called_twice" in s]
    assert line.split()[1] == engine


@pytest.mark.parametrize(
    ("option", "expected"),
    [("", "by the option `index`"), ("{index = 7 : i64}", "another process")],
)
def test_a_callback_of_another_process_is_an_error(option: str, expected: str) -> None:
    config = f", backend_config={option}" if option else ""
    module = hlo.parse(
        "ENTRY e {\n  x = f32[2] parameter(0)\n"
        f'  ROOT r = f32[2] custom-call(x), custom_call_target="{callbacks.WHOLE}"{config}\n}}\n'
    )
    with pytest.raises(hlo.HloError, match=expected) as caught:
        interpreter.evaluate(module, np.ones(2, np.float32))
    assert caught.value.code == "HLO122"
