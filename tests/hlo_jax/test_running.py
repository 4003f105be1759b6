"""JAX's functions on PyHLO, with each engine."""

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("engine")


def test_a_product(jnp: Any) -> None:
    result = jnp.arange(4.0) @ jnp.arange(4.0)
    assert float(result) == 14.0
    assert result.device.platform == "pyhlo"


def test_transformations_of_functions(jax: Any, jnp: Any) -> None:
    def loss(weights: Any, x: Any) -> Any:
        return jnp.sum(jnp.tanh(x @ weights) ** 2)

    weights = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    x = np.linspace(0, 1, 15, dtype=np.float32).reshape(5, 3)
    step = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0)))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = step(weights, x)
    np.testing.assert_allclose(step(weights, x), expected, rtol=2e-6)


def test_loops_and_choices(jax: Any) -> None:
    def fibonacci(n: Any) -> Any:
        def iteration(state: Any, _: Any) -> Any:
            a, b = state
            return (b, a + b), a

        return jax.lax.scan(iteration, (0, 1), None, length=8)[1], jax.lax.cond(
            n > 2, lambda: "large" == "large", lambda: False
        )

    values, large = jax.jit(fibonacci)(3)
    assert values.tolist() == [0, 1, 1, 2, 3, 5, 8, 13]
    assert bool(large)


def test_random_numbers_are_those_of_every_backend(jax: Any) -> None:
    found = jax.random.bits(jax.random.key(7), (3, 5))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.random.bits(jax.random.key(7), (3, 5))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["inv", "eigh", "qr", "svd", "cholesky"])
def test_linear_algebra(jnp: Any, name: str) -> None:
    matrix = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)
    found = getattr(jnp.linalg, name)(matrix)
    expected = getattr(np.linalg, name)(matrix)
    first = found if name in ("inv", "cholesky") else found[1 if name == "svd" else 0]
    wanted = expected if name in ("inv", "cholesky") else expected[1 if name == "svd" else 0]
    np.testing.assert_allclose(np.abs(first), np.abs(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64",
     "float8_e4m3fn", "int4"],
)  # fmt: skip
def test_element_types_go_there_and_back(jax: Any, jnp: Any, dtype: str) -> None:
    numbers = np.array([[0, 1, 2], [3, 4, 5]]).astype(jnp.dtype(dtype))
    there = jax.device_put(numbers)
    assert there.dtype == numbers.dtype
    np.testing.assert_array_equal(np.asarray(there), numbers)
    turned = jax.jit(lambda x: x.T)(there)
    np.testing.assert_array_equal(np.asarray(turned), numbers.T)


def test_empty_arrays_and_scalars(jax: Any, jnp: Any) -> None:
    assert jax.jit(lambda x: x + 1)(jnp.zeros((0, 3))).shape == (0, 3)
    assert float(jax.jit(lambda: 3.0)()) == 3.0
    assert jax.jit(lambda _: ())(1.0) == ()


def test_the_same_argument_twice_and_results_that_are_arguments(jax: Any, jnp: Any) -> None:
    x = jnp.arange(3.0)
    first, second, third = jax.jit(lambda a, b: (a, b, a + b))(x, x)
    assert first.tolist() == second.tolist() == [0, 1, 2]
    assert third.tolist() == [0, 2, 4]
    x.delete()
    assert first.tolist() == [0, 1, 2]


def test_branches_by_platform(jax: Any) -> None:
    def chosen(**branches: Any) -> float:
        return float(jax.jit(lambda x: jax.lax.platform_dependent(x, **branches))(1.0))

    def add(n: float) -> Any:
        return lambda x: x + n

    assert chosen(cpu=add(1), cuda=add(2)) == 2, "PyHLO is the processor"
    assert chosen(cpu=add(1), pyhlo=add(3), default=add(4)) == 4
    assert chosen(cuda=add(2), default=add(4)) == 5


@pytest.mark.parametrize("platforms", [["cpu"], ["tpu", "cpu"]])
def test_a_function_that_was_exported_for_the_cpu(jax: Any, jnp: Any, platforms: list[str]) -> None:
    """An exported model with a custom call of LAPACK."""
    matrix = np.array([[4, 1], [1, 3]], np.float32)
    exported = jax.export.export(jax.jit(jnp.linalg.cholesky), platforms=platforms)(matrix)
    np.testing.assert_allclose(exported.call(matrix), np.linalg.cholesky(matrix), rtol=1e-6)
