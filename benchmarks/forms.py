"""Kernels of forms that few programs have, each of which a pass over loops was written for.

`python -m benchmarks.ablate --time` says what these passes earn. Among the other benchmarks such
forms are too rare, or too small a part, to show it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.kernels import Kernel

Array = Any


def sieve(first: Array) -> Array:
    """The primes below 20,000: most candidates are no primes, and cross nothing out."""

    def cross_out(k: Array, primes: Array) -> Array:
        numbers = jnp.arange(len(primes))
        return jnp.where(primes[k], primes & ((numbers % k != 0) | (numbers <= k)), primes)

    return lax.fori_loop(2, 142, cross_out, jnp.ones(20_000, bool).at[0].set(first > 0))


def mean_direction(angles: Array, weights: Array) -> Array:
    """The sum of vectors of two numbers, each in a direction of its own."""
    vectors = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
    return (weights[:, None] * vectors).sum(0)


def random_integers(key: Array, first: Array) -> Array:
    """Integers of 64 bits below 1,000, by remainders."""
    drawn = jax.random.randint(jax.random.wrap_key_data(key), (10_000,), 0, 1000, jnp.int64)
    return first + drawn


def normalized(x: Array) -> Array:
    """Rows of mean 0 and variance 1."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-3)


def julia_set(z: Array) -> Array:
    """After how many squares numbers leave the disk of radius 2; each is kept once it is out."""

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        z, steps = state
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z - 0.8 + 0.156j, z), steps + inside

    return lax.fori_loop(0, 20, step, (z, jnp.zeros(z.shape, jnp.int32)))[1]


def forms() -> dict[str, Kernel]:
    """All of them, by name."""
    return {
        "column at a stride of 64": Kernel(lambda x: jnp.exp(x[:, 3]) + 1, ("f32[5000,64]",)),
        "columns in another order s8": Kernel(
            lambda x: x[:, jnp.array([3, 1, 0, 6, 5, 2, 4])], ("s8[9362,7]",)
        ),
        "exp of a looked-up f16": Kernel(
            lambda table, i: jnp.exp(table[i]), ("f16[5000]", "s32[50000]"), high=5000
        ),
        "Julia set c64": Kernel(julia_set, ("c64[20000]",)),
        "layer norm f16": Kernel(normalized, ("f16[300,333]",)),
        "maximum of short rows s8": Kernel(jnp.max, ("s8[9362,7]",)),
        "mean direction": Kernel(mean_direction, ("f32[20000]",) * 2),
        "outer products of rows bf16": Kernel(
            lambda x, y: x[:, :, None] * y[:, None, :], ("bf16[9362,7]",) * 2
        ),
        "random integers s64": Kernel(random_integers, ("u32[2]", "s64[]")),
        "reversed rows c64": Kernel(lambda x: x[:, ::-1], ("c64[9362,7]",)),
        "rows times their firsts bf16": Kernel(lambda x: x * x[:, :1], ("bf16[9362,7]",)),
        "sieve of primes": Kernel(sieve, ("s32[]",), high=2),
        "zeros between numbers": Kernel(lambda x: lax.pad(x, 0.0, [(0, 0, 1)]), ("f32[20000]",)),
    }
