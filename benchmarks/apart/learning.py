"""Training steps, losses and optimizers, control and games."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any


@program("f32[64,32]", "s32[64]", "f32[32,64]", "f32[64,10]", high=10)
def step_of_descent(x: Array, label: Array, w: Array, v: Array) -> Array:
    """A network of two layers with momentum."""

    def loss(w: Array, v: Array) -> Array:
        logs = jax.nn.log_softmax(jax.nn.relu(x @ w / 6) @ v / 8)
        return -jnp.take_along_axis(logs, label[:, None], 1).mean()

    dw, dv = jax.grad(loss, (0, 1))(w, v)
    return w - 0.1 * (dw + 0.9 * w * 0.01), v - 0.1 * dv


@program("f32[16,20,20,1]", "f32[3,3,1,8]", "f32[3,3,8,16]", "f32[400,10]", "s32[16]", high=10)
def small_convolutional_network(
    x: Array, one: Array, two: Array, out: Array, label: Array
) -> Array:
    """Gradients through two convolutions and pools."""

    def pool(h: Array) -> Array:
        return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(one: Array, two: Array, out: Array) -> Array:
        h = x
        for w in (one, two):
            c = lax.conv_general_dilated(
                h, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            h = pool(jax.nn.relu(c / 3))
        logs = jax.nn.log_softmax(h.reshape(16, -1) @ out / 20)
        return -logs[jnp.arange(16), label].mean()

    return jax.grad(loss, (0, 1, 2))(one, two, out)


@program("f32[4,32,32]", "f32[32,32]", "f32[32,32]", "f32[32,32]", "f32[32,32]")
def gradient_of_attention(x: Array, q: Array, k: Array, v: Array, o: Array) -> Array:
    """What a transformer's training spends its time on."""

    def loss(q: Array, k: Array, v: Array, o: Array) -> Array:
        p = jax.nn.softmax((x @ q) @ (x @ k).transpose(0, 2, 1) / 32)
        return (p @ (x @ v) @ o / 32).std()

    return jax.grad(loss, (0, 1, 2, 3))(q, k, v, o)


@program("f32[128,128]", "f32[128,128]", "f32[128,128]")
def clipped_adam(p: Array, m: Array, g: Array) -> Array:
    """A step of the optimizer with a bounded gradient."""
    g = g * jnp.minimum(1, 1 / jnp.sqrt((g * g).sum()))
    m = 0.9 * m + 0.1 * g
    v = 0.01 * m * m + g * g
    return p - 0.001 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * p), m, v


@program("f32[256,64]", "f32[64,256]")
def factored_moments(p: Array, q: Array) -> Array:
    """A step of Adafactor."""
    g = p @ q / 64
    g2 = g * g + 1e-30
    rows, columns = g2.mean(1), g2.mean(0)
    update = g * lax.rsqrt(rows / rows.mean())[:, None] * lax.rsqrt(columns)
    return update / jnp.maximum(1, jnp.sqrt((update * update).mean()))


@program("f32[64,48]", "f32[64,48]")
def contrastive_loss(a: Array, b: Array) -> Array:
    """Pairs among others, and the gradient."""

    def unit(x: Array) -> Array:
        return x * lax.rsqrt((x * x).sum(-1, keepdims=True))

    def loss(a: Array, b: Array) -> Array:
        logits = unit(a) @ unit(b).T / 0.1
        own = jnp.diagonal(logits)
        return (jax.nn.logsumexp(logits, 0) + jax.nn.logsumexp(logits, 1) - 2 * own).mean()

    return jax.value_and_grad(loss, (0, 1))(a, b)


@program("f32[128,32]", "f32[128,32]", "f32[128]")
def advantages(rewards: Array, values: Array, last: Array) -> Array:
    """Generalized advantages, backwards in time."""
    after = jnp.concatenate([values[1:], values[:1] * 0])
    delta = rewards + 0.99 * after - values

    def step(a: Array, d: Array) -> tuple[Array, Array]:
        a = d + 0.94 * a
        return a, a

    found = lax.scan(step, jnp.zeros(32), delta, reverse=True)[1]
    return (found - found.mean()) / (found.std() + 1e-8) * (last > 0)[:, None]


@program("f32[256,4]", "f32[256]", "f32[256,4]", "s32[256]", high=4)
def clipped_policy(logits: Array, advantage: Array, before: Array, action: Array) -> Array:
    """The loss of proximal policies with its gradient."""

    def loss(logits: Array) -> Array:
        logs = jax.nn.log_softmax(logits)
        now = logs[jnp.arange(256), action]
        ratio = jnp.exp(now - jax.nn.log_softmax(before)[jnp.arange(256), action])
        bounded = jnp.clip(ratio, 0.8, 1.2)
        entropy = -(jnp.exp(logs) * logs).sum(-1)
        return -(jnp.minimum(ratio * advantage, bounded * advantage) + 0.01 * entropy).mean()

    return jax.value_and_grad(loss)(logits)


@program("f32[400,4]", "s32[400,4]", "f32[400,4]", high=400)
def value_iteration(reward: Array, following: Array, noise: Array) -> Array:
    """Values of states until they hardly change."""
    reward = reward + 0.1 * noise

    def step(state: Array) -> Array:
        v, _, k = state
        new = (reward + 0.9 * v[following]).max(1)
        return new, jnp.abs(new - v).max(), k + 1

    first = (jnp.zeros(400), jnp.float32(1), 0)
    return lax.while_loop(lambda s: (s[1] > 1e-2) & (s[2] < 100), step, first)[0]


@program("f32[64,20,2]", "f32[4]", "f32[4]")
def sampled_control(noise: Array, start: Array, goal: Array) -> Array:
    """Plans that are weighted by what they cost."""

    def rollout(controls: Array) -> Array:
        def step(x: Array, u: Array) -> tuple[Array, Array]:
            x = x + 0.1 * jnp.concatenate([x[2:], u - 0.1 * x[2:]])
            return x, ((x - goal) ** 2).sum() + 0.1 * (u * u).sum()

        return lax.scan(step, start, controls)[1].sum()

    costs = jax.vmap(rollout)(noise)
    return jnp.einsum("k,kto->to", jax.nn.softmax(-costs / 50), noise)


@program("f32[6,6]", "f32[6,2]")
def riccati(a: Array, b: Array) -> Array:
    """The gain of a linear regulator, backwards."""
    a, b = jnp.eye(6) + 0.1 * jnp.tanh(a), 0.1 * b

    def step(p: Array, _: None) -> tuple[Array, None]:
        r = jnp.eye(2) + b.T @ p @ b
        inverse = jnp.array([[r[1, 1], -r[0, 1]], [-r[1, 0], r[0, 0]]])
        k = inverse @ b.T @ p @ a / (r[0, 0] * r[1, 1] - r[0, 1] * r[1, 0])
        return jnp.eye(6) + a.T @ p @ (a - b @ k), None

    return lax.scan(step, jnp.eye(6), None, 30)[0]


@program("f32[32,8,8]", "s32[32]", high=8)
def boards_of_four(boards: Array, column: Array) -> Array:
    """A move in many games, and who has four in a line."""
    stones = jnp.where(jnp.abs(boards) > 1, jnp.sign(boards), 0)
    taken = stones[jnp.arange(32), :, column] != 0
    row = 7 - taken.sum(1)
    stones = stones.at[jnp.arange(32), jnp.maximum(row, 0), column].set(1.0)
    lines = [stones[:, :, k : k + 5] for k in range(4)]
    down = [stones[:, k : k + 5] for k in range(4)]
    across = [stones[:, k : k + 5, k : k + 5] for k in range(4)]
    return jnp.stack([(sum(four) == 4).any((1, 2)) for four in (lines, down, across)])


@program("s8[64,256]", "s8[256,64]", "f32[64]", "f32[64]")
def quantized_layer(x: Array, w: Array, scale: Array, bias: Array) -> Array:
    """A product of bytes, scaled and rounded to bytes again."""
    total = lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32)
    out = total * jnp.abs(scale) * 1e-4 + bias
    return jnp.clip(jnp.round(out), -128, 127).astype(jnp.int8)


@program("bf16[64,96]", "bf16[96,96]", "bf16[96,96]")
def dense_layers_in_bf16(x: Array, w: Array, v: Array) -> Array:
    """Two layers with a residual and a norm in f32."""
    h = x + jax.nn.gelu(x @ w / 10) @ v / 10
    wide = h.astype(jnp.float32)
    return (wide * lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-5)).astype(jnp.bfloat16)


@program("f32[2000,16]", "f32[16]")
def lasso(x: Array, w: Array) -> Array:
    """Thirty steps with a soft threshold."""
    y = x @ w
    gram, right = x.T @ x / 2000, x.T @ y / 2000

    def step(w: Array, _: None) -> tuple[Array, None]:
        w = w - 0.5 * (gram @ w - right)
        return jnp.sign(w) * jnp.maximum(jnp.abs(w) - 0.02, 0), None

    return lax.scan(step, jnp.zeros(16), None, 30)[0]


@program("f32[600,8]", "f32[12,8]")
def quantized_vectors(x: Array, book: Array) -> Array:
    """The nearest entries of a book, and the book moved towards what it stands for."""
    near = ((x[:, None] - book) ** 2).sum(-1).argmin(1)
    count = jnp.zeros(12).at[near].add(1.0)
    total = jnp.zeros((12, 8)).at[near].add(x)
    return book[near], 0.9 * book + 0.1 * total / jnp.maximum(count, 1)[:, None]
