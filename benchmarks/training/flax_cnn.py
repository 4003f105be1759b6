"""A small convolutional network in Flax learns digits of 28 by 28 pixels, as on MNIST.

MNIST itself can't be had without a network, so each digit is a blurred pattern with noise.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

from benchmarks.training.report import tell

STEPS, BATCH = 30, 64


class Network(nn.Module):
    """Two convolutions with pooling, two dense layers."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Scores of the ten digits, f32[batch, 10]."""
        for features in (8, 16):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Dense(64)(x.reshape(len(x), -1)))
        return nn.Dense(10)(x)


def digits(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images, f32[count, 28, 28, 1], and what digits they are."""
    random = np.random.default_rng(0)
    coarse = random.random((10, 7, 7), dtype=np.float32)
    patterns = coarse.repeat(4, axis=1).repeat(4, axis=2)
    labels = random.integers(0, 10, count)
    noise = random.standard_normal((count, 28, 28), dtype=np.float32)
    return (patterns[labels] + 0.5 * noise)[..., None], labels


def main() -> None:
    """Train, and tell the losses."""
    network, optimizer = Network(), optax.adam(1e-3)
    images, labels = digits(STEPS * BATCH)
    weights = network.init(jax.random.key(0), images[:1])
    state = optimizer.init(weights)

    @jax.jit
    def step(weights: dict, state: tuple, x: jax.Array, y: jax.Array) -> tuple:
        def loss(weights: dict) -> jax.Array:
            scores = network.apply(weights, x)
            return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()

        value, gradients = jax.value_and_grad(loss)(weights)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(weights, updates), state, value

    for k in range(STEPS):
        batch = slice(k * BATCH, (k + 1) * BATCH)
        weights, state, value = step(weights, state, jnp.asarray(images[batch]), labels[batch])
        tell(float(value))


if __name__ == "__main__":
    main()
