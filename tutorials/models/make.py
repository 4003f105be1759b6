"""Writes the two models that were dumped from JAX: a transformer layer and its training step.

The others are written by hand, to be read. Only this script needs JAX:

    python tutorials/models/make.py
"""

import re
from pathlib import Path

import jax
import jax.numpy as jnp

HERE = Path(__file__).parent
Weights = dict[str, jax.Array]


def norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain


def layer(w: Weights, x: jax.Array) -> jax.Array:
    """Attention with two heads, then two dense layers."""
    n = x.shape[0]
    parts = jnp.split(norm(x, w["norm1"]) @ w["qkv"], 3, axis=-1)
    queries, keys, values = (t.reshape(n, 2, 4).transpose(1, 0, 2) for t in parts)
    scores = queries @ keys.transpose(0, 2, 1) / 2.0
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -jnp.inf)
    mixed = jax.nn.softmax(scores) @ values
    x = x + mixed.transpose(1, 0, 2).reshape(n, 8) @ w["out"]
    return x + jax.nn.relu(norm(x, w["norm2"]) @ w["up"]) @ w["down"]


def training_step(w: Weights, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Weights]:
    """The loss, and the weights after one step down its gradient."""

    def loss(w: Weights) -> jax.Array:
        return ((layer(w, x) - y) ** 2).mean()

    value, slopes = jax.value_and_grad(loss)(w)
    return value, jax.tree.map(lambda weight, slope: weight - 0.1 * slope, w, slopes)


def dump(function: object, name: str, *shapes: object) -> None:
    text = jax.jit(function).lower(*shapes).as_text("hlo")
    text = re.sub(r", metadata=\{[^}]*\}", "", text).partition("\nFileNames")[0]
    (HERE / f"{name}.hlo").write_text(f"{text.rstrip()}\n")


def main() -> None:
    def shape(*dims: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(dims, jnp.float32)

    weights = {
        "norm1": shape(8), "qkv": shape(8, 24), "out": shape(8, 8),
        "norm2": shape(8), "up": shape(8, 16), "down": shape(16, 8),
    }  # fmt: skip
    dump(layer, "transformer_layer", weights, shape(6, 8))
    dump(training_step, "training_step", weights, shape(6, 8), shape(6, 8))


if __name__ == "__main__":
    main()
