"""A transformer in Equinox learns, with Optax, to predict the next letter of a text."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.training.report import tell

STEPS, BATCH, LENGTH, WIDTH, HEADS, LAYERS = 30, 8, 32, 32, 4, 2
TEXT = "to see a world in a grain of sand and a heaven in a wild flower " * 20


class Block(eqx.Module):
    """Attention to earlier letters, then a perceptron, each beside a shortcut."""

    attention: eqx.nn.MultiheadAttention
    perceptron: eqx.nn.MLP
    norms: list[eqx.nn.LayerNorm]

    def __init__(self, key: jax.Array) -> None:
        first, second = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(HEADS, WIDTH, key=first)
        self.perceptron = eqx.nn.MLP(WIDTH, WIDTH, 4 * WIDTH, 1, jax.nn.gelu, key=second)
        self.norms = [eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)]

    def __call__(self, x: jax.Array) -> jax.Array:
        """Letters to letters, f32[length, width]."""
        y = jax.vmap(self.norms[0])(x)
        x = x + self.attention(y, y, y, mask=jnp.tril(jnp.ones((len(x), len(x)), bool)))
        return x + jax.vmap(self.perceptron)(jax.vmap(self.norms[1])(x))


class Transformer(eqx.Module):
    """Letters' numbers to scores of the next letters."""

    letters: eqx.nn.Embedding
    places: jax.Array
    blocks: list[Block]
    scores: eqx.nn.Linear

    def __init__(self, count: int, key: jax.Array) -> None:
        first, second, third, *keys = jax.random.split(key, 3 + LAYERS)
        self.letters = eqx.nn.Embedding(count, WIDTH, key=first)
        self.places = 0.1 * jax.random.normal(second, (LENGTH, WIDTH))
        self.blocks = [Block(key) for key in keys]
        self.scores = eqx.nn.Linear(WIDTH, count, key=third)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Scores, f32[length, letters]."""
        y = jax.vmap(self.letters)(x) + self.places
        for block in self.blocks:
            y = block(y)
        return jax.vmap(self.scores)(y)


def main() -> None:
    """Train, and tell the losses."""
    known = sorted(set(TEXT))
    numbers = np.array([known.index(letter) for letter in TEXT], np.int32)
    model = Transformer(len(known), jax.random.key(0))
    optimizer = optax.adamw(3e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model: Transformer, state: tuple, x: jax.Array, y: jax.Array) -> tuple:
        def loss(model: Transformer) -> jax.Array:
            scores = jax.vmap(model)(x)
            return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()

        value, gradients = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(gradients, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, value

    random = np.random.default_rng(0)
    for _ in range(STEPS):
        starts = random.integers(0, len(numbers) - LENGTH - 1, BATCH)
        windows = np.stack([numbers[s : s + LENGTH + 1] for s in starts])
        model, state, value = step(model, state, windows[:, :-1], windows[:, 1:])
        tell(float(value))


if __name__ == "__main__":
    main()
