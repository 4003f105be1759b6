"""What JAX lowers functions to means the same, read as StableHLO and as HLO."""

from functools import partial

import numpy as np
import pytest

import hlo
from hlo.frontends import stablehlo
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T / np.sqrt(np.float32(8))) @ v


def network(w, x, y):
    def loss(w):
        hidden = jnp.maximum(jnp.einsum("bi,io->bo", x, w), 0)
        return jnp.mean((hidden.sum(1) - y) ** 2)

    return jax.value_and_grad(loss)(w)


def decoded(x, start):
    def step(i, state):
        x, total = state
        row = lax.dynamic_index_in_dim(x, i, keepdims=False)
        return lax.dynamic_update_index_in_dim(x, jnp.sin(row), i, 0), total + row.sum()

    return lax.fori_loop(0, x.shape[0], step, (x, start))


def chosen(k, x):
    return lax.switch(k, [jnp.sin, lambda x: x @ x.T @ x, jnp.negative], x)


def placed(x, at, new):
    return x.at[at].add(new), jnp.sort(x, axis=1), lax.top_k(x, 3), x[at, 1:3]


def convolved(x, w):
    pool = partial(lax.reduce_window, init_value=-np.inf, computation=lax.max, padding="SAME")
    same = lax.conv_general_dilated(
        x, w, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return same, pool(x, window_dimensions=(1, 3, 3, 1), window_strides=(1, 2, 2, 1))


def spectral(x):
    return jnp.fft.rfft(x), jnp.linalg.cholesky(x @ x.T + 8 * jnp.eye(4)), jnp.cumsum(x, 1)


def numbered(x):
    return jnp.argmax(x, 1), jnp.clip(x, -1, 1).astype(jnp.bfloat16), (x > 0).sum(), jnp.exp(1j * x)


def some(*dims):
    return np.random.default_rng(len(dims)).normal(size=dims).astype(np.float32)


CASES = [
    (attention, (some(5, 8), some(6, 8), some(6, 3))),
    (network, (some(4, 3), some(6, 4), some(6))),
    (decoded, (some(5, 3), np.float32(0))),
    (chosen, (np.int32(1), some(3, 4))),
    (placed, (some(5, 4), np.int32([4, 0, 4]), some(3, 4))),
    (convolved, (some(2, 8, 9, 3), some(3, 3, 3, 4))),
    (spectral, (some(4, 8),)),
    (numbered, (some(3, 7),)),
    (lambda: jax.random.normal(jax.random.key(3), (4, 5)), ()),
]


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_stablehlo_and_hlo_mean_the_same(function, arguments):
    lowered = jax.jit(function).lower(*arguments)
    module = stablehlo.parse(lowered.as_text(debug_info=True))
    hlo.verify(module)
    assert hlo.parse(str(module))
    reference = hlo.parse(lowered.as_text("hlo"))
    values = [jax.tree.leaves(evaluate(m, *arguments)) for m in (module, reference)]
    assert len(values[0]) == len(values[1])
    for mine, theirs in zip(*values, strict=True):
        assert compare(mine, theirs, BITS) is None
