"""The networks that are measured, in plain JAX, with random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.kernels import layer_norm

if TYPE_CHECKING:
    from collections.abc import Iterator

Arrays = Any  # arrays in dictionaries and lists


def random(generator: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Random weights, scaled so that values keep their size from layer to layer."""
    fan_in = np.prod(shape[:-1]) if len(shape) > 1 else 1.0
    return (generator.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)


def softmax(x: jax.Array) -> jax.Array:
    """Of the last dimension."""
    return jax.nn.softmax(x)


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """q, k, v: (batch, length, heads, size of a head)."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(q.shape[-1]))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


# ------------------------------------------------------------------ transformers


def transformer_weights(layers: int, width: int, vocabulary: int) -> Arrays:
    """Weights of a transformer whose hidden layers are four times as wide."""
    generator = np.random.default_rng(0)

    def layer() -> Arrays:
        return {
            "into": random(generator, width, 3 * width),
            "out": random(generator, width, width),
            "up": random(generator, width, 4 * width),
            "down": random(generator, 4 * width, width),
            "norms": np.stack([np.ones(width), np.zeros(width)] * 2).astype(np.float32),
        }

    table = random(generator, vocabulary, width)
    return {"table": table, "layers": [layer() for _ in range(layers)]}


def transformer(weights: Arrays, tokens: jax.Array, heads: int, *, causal: bool) -> jax.Array:
    """The last layer's values: (batch, length, width)."""
    x = weights["table"][tokens]
    batch, length, width = x.shape
    for layer in weights["layers"]:
        norms = layer["norms"]
        y = layer_norm(x, norms[0], norms[1]) @ layer["into"]
        q, k, v = jnp.moveaxis(y.reshape(batch, length, 3, heads, -1), 2, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(width / heads))
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
        x = x + mixed.reshape(x.shape) @ layer["out"]
        hidden = jax.nn.gelu(layer_norm(x, norms[2], norms[3]) @ layer["up"])
        x = x + hidden @ layer["down"]
    return x


def gpt_train_step(weights: Arrays, tokens: jax.Array) -> tuple[Arrays, jax.Array]:
    """One step of gradient descent on the next token."""

    def loss(weights: Arrays) -> jax.Array:
        logits = transformer(weights, tokens[:, :-1], 4, causal=True) @ weights["table"].T
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
        return -chosen.mean()

    before, gradient = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), before


def gpt_text(layers: int) -> str:
    """The HLO of a small GPT's train step, with XLA's metadata."""
    tokens = np.zeros((2, 33), np.int32)
    lowered = jax.jit(gpt_train_step).lower(transformer_weights(layers, 64, 256), tokens)
    return lowered.compiler_ir(dialect="hlo").as_hlo_module().to_string()


def bert_base(length: int) -> tuple[Any, tuple[Any, ...]]:
    """BERT-base's encoder, as a function and its arguments."""
    tokens = np.random.default_rng(1).integers(0, 30522, (1, length)).astype(np.int32)
    weights = transformer_weights(12, 768, 30522)
    return lambda w, t: transformer(w, t, 12, causal=False), (weights, tokens)


# ----------------------------------------------------------------- convolutions


def resnet_50(size: int) -> tuple[Any, tuple[Any, ...]]:
    """ResNet-50's forward pass on one image, normalisation folded into scales and biases."""
    generator = np.random.default_rng(2)
    weights = list(_resnet_weights(generator))
    image = random(generator, 1, size, size, 3)
    return _resnet, (weights, random(generator, 2048, 1000), image)


# Blocks and inner features of each stage.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))


def _resnet_weights(generator: np.random.Generator) -> Iterator[Arrays]:
    def convolution(size: int, features: int, out: int) -> Arrays:
        ones, zeros = np.ones(out, np.float32), np.zeros(out, np.float32)
        return random(generator, size, size, features, out), ones, zeros

    yield [convolution(7, 3, 64)]
    features = 64
    for blocks, inner in STAGES:
        for block in range(blocks):
            path = [(1, features, inner), (3, inner, inner), (1, inner, 4 * inner)]
            shortcut = [(1, features, 4 * inner)] if block == 0 else []
            yield [convolution(*sizes) for sizes in path + shortcut]
            features = 4 * inner


def _convolve(x: jax.Array, layer: Arrays, stride: int = 1) -> jax.Array:
    kernel, scale, bias = layer
    labels = ("NHWC", "HWIO", "NHWC")
    strides = (stride, stride)
    y = lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=labels)
    return y * scale + bias


def _resnet(weights: Arrays, dense: jax.Array, image: jax.Array) -> jax.Array:
    layers = iter(weights)
    x = jax.nn.relu(_convolve(image, next(layers)[0], 2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for stage, (blocks, _) in enumerate(STAGES):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            first, second, third, *shortcut = next(layers)
            y = jax.nn.relu(_convolve(x, first))
            y = _convolve(jax.nn.relu(_convolve(y, second, stride)), third)
            x = jax.nn.relu(y + (_convolve(x, shortcut[0], stride) if shortcut else x))
    return jax.nn.softmax(x.mean((1, 2)) @ dense)
