"""Programs for a GPU beside the kernels of `gpu_kernels`: gradients, losses, loops, images.

They are of kinds that models and simulations are made of, written without a look at which are fast.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks import kernels as small
from benchmarks.gpu_kernels import lowered
from benchmarks.kernels import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Arrays = Any
ROWS = "f32[16384,4096]"
WIDE = "bf16[16384,8192]"


def _gradient(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """The gradient of the sum of a function's cubed results, which normalizing doesn't fix."""

    def energy(*arguments: Arrays) -> Arrays:
        return (function(*arguments).astype(jnp.float32) ** 3).sum()

    return jax.grad(energy)


def _cross_entropy(logits: Arrays, labels: Arrays) -> Arrays:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -chosen.mean()


def _rotary(x: Arrays, angles: Arrays) -> Arrays:
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    turned = first * cos - second * sin, second * cos + first * sin
    return jnp.concatenate(turned, -1).astype(x.dtype)


def _gated(x: Arrays, gate: Arrays) -> Arrays:
    return jax.nn.silu(gate) * x


def _attention(q: Arrays, k: Arrays, v: Arrays) -> Arrays:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k).astype(jnp.float32) / 8
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores).astype(q.dtype), v)


def _dropout(x: Arrays, key: Arrays) -> Arrays:
    kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape)
    return jnp.where(kept, x / np.float32(0.9), 0)


def _sampled(logits: Arrays, key: Arrays) -> Arrays:
    return jax.random.categorical(jax.random.wrap_key_data(key), logits)


def _quantized(x: Arrays, w: Arrays, scale: Arrays) -> Arrays:
    return x @ (w.astype(x.dtype) * scale)


def _heat(x: Arrays) -> Arrays:
    def step(_: Arrays, x: Arrays) -> Arrays:
        around = jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)
        return x + np.float32(0.1) * (around - 4 * x)

    return lax.fori_loop(0, 50, step, x)


def _life(x: Arrays) -> Arrays:
    def step(_: Arrays, x: Arrays) -> Arrays:
        padded = jnp.pad(x, 1)
        n = lax.reduce_window(padded, np.int32(0), lax.add, (3, 3), (1, 1), "VALID") - x
        return ((n == 3) | ((x == 1) & (n == 2))).astype(x.dtype)

    return lax.fori_loop(0, 50, step, (x > 2).astype(jnp.int32))


def _bodies(x: Arrays) -> Arrays:
    apart = x[:, None] - x[None]
    near = lax.rsqrt(jnp.square(apart).sum(-1) + np.float32(1e-3)) ** 3
    return (apart * near[..., None]).sum(1)


def _nearest(x: Arrays, centres: Arrays) -> Arrays:
    far = jnp.square(x).sum(1)[:, None] - 2 * x @ centres.T + jnp.square(centres).sum(1)
    return far.argmin(1)


def _lstm(x: Arrays, w: Arrays, u: Arrays) -> Arrays:
    w, u = w / np.float32(16), u / np.float32(16)

    def step(state: Arrays, x: Arrays) -> Arrays:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], u.shape[0]), x.dtype)
    return lax.scan(step, (zero, zero), x)[1]


def _pooled(x: Arrays) -> Arrays:
    return lax.reduce_window(x, np.float32(0), lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / 9


def _upward(x: Arrays, w: Arrays) -> Arrays:
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=small.NHWC)


def _resized(x: Arrays) -> Arrays:
    return jax.image.resize(x, (32, 448, 448, 3), "bilinear")


def _histogram(x: Arrays) -> Arrays:
    return jnp.zeros(1000, jnp.int32).at[x].add(1)


def _by_columns(x: Arrays) -> Arrays:
    return x.mean((0, 2, 3)), x.var((0, 2, 3))


def _models() -> dict[str, Kernel]:
    heads, image = ("bf16[4,16,1024,64]",) * 3, "bf16[64,56,56,128]"
    norm = "f32[4096]"
    return {
        "gelu gradient": Kernel(_gradient(jax.nn.gelu), ("f32[8192,8192]",)),
        "softmax gradient": Kernel(_gradient(jax.nn.softmax), (ROWS,)),
        "layer norm gradient": Kernel(_gradient(small.layer_norm), (ROWS, norm, norm)),
        "batch norm gradient": Kernel(
            _gradient(small.batch_norm), ("f32[64,28,28,256]", "f32[256]", "f32[256]")
        ),
        "cross entropy": Kernel(_cross_entropy, ("f32[4096,50257]", "s32[4096]"), high=50257),
        "cross entropy gradient": Kernel(
            jax.grad(_cross_entropy), ("f32[4096,50257]", "s32[4096]"), high=50257
        ),
        "rotary bf16": Kernel(_rotary, ("bf16[8192,32,128]", "f32[8192,64]")),
        "gated bf16": Kernel(_gated, (WIDE, WIDE)),
        "attention gradient bf16": Kernel(_gradient(_attention), heads),
        "dropout": Kernel(_dropout, ("f32[8192,4096]", "u32[2]"), high=9),
        "sampling": Kernel(_sampled, ("f32[512,50257]", "u32[2]"), high=9),
        "weights of s8": Kernel(
            _quantized, ("bf16[2048,4096]", "s8[4096,4096]", "bf16[4096]"), high=100
        ),
        "embedding gradient bf16": Kernel(
            lambda t, i, u: t.at[i].add(u), ("bf16[50257,1024]", "s32[16384]", "bf16[16384,1024]"),
            high=50257,
        ),
        "lstm": Kernel(_lstm, ("f32[128,64,256]", "f32[256,1024]", "f32[256,1024]")),
        "conv depthwise bf16": Kernel(
            small.convolution(groups=128), (image, "bf16[3,3,1,128]")
        ),
        "conv 7x7 stride 2 bf16": Kernel(
            small.convolution(2), ("bf16[64,224,224,3]", "bf16[7,7,3,64]")
        ),
        "conv 3d bf16": Kernel(small.volume, ("bf16[8,16,56,56,64]", "bf16[3,3,3,64,64]")),
        "conv transposed bf16": Kernel(_upward, ("bf16[64,28,28,128]", "bf16[4,4,128,128]")),
        "average pool": Kernel(_pooled, ("f32[64,112,112,64]",)),
        "mean of positions bf16": Kernel(lambda x: x.mean((1, 2)), (image,)),
        "moments of features": Kernel(_by_columns, ("f32[64,256,56,56]",)),
        "bilinear resize": Kernel(_resized, ("f32[32,224,224,3]",)),
    }  # fmt: skip


def _numbers() -> dict[str, Kernel]:
    return {
        "dot of 1000 bf16": Kernel(jnp.dot, ("bf16[1000,1000]",) * 2),
        "dot of 1001": Kernel(jnp.dot, ("f32[1001,1001]",) * 2),
        "tall dot": Kernel(jnp.dot, ("f32[1000000,64]", "f32[64,64]")),
        "dot to 10 columns": Kernel(jnp.dot, ("f32[100000,1024]", "f32[1024,10]")),
        "dot of 4 rows bf16": Kernel(jnp.dot, ("bf16[4,8192]", "bf16[8192,28672]")),
        "dot c64": Kernel(jnp.dot, ("c64[2048,2048]",) * 2),
        "gram of rows": Kernel(lambda x: x.T @ x, ("f32[200000,128]",)),
        "nearest centre": Kernel(_nearest, ("f32[200000,64]", "f32[256,64]")),
        "forces of bodies": Kernel(_bodies, ("f32[8192,3]",)),
        "heat": Kernel(_heat, ("f32[2048,2048]",)),
        "game of life": Kernel(_life, ("s32[2048,2048]",), high=5),
        "histogram": Kernel(_histogram, ("s32[16777216]",), high=1000),
        "search": Kernel(jnp.searchsorted, ("f32[65536]", "f32[4194304]")),
        "sort of pairs": Kernel(
            lambda k, v: lax.sort((k, v), num_keys=1), ("s32[4194304]", "f32[4194304]"), high=10**9
        ),
        "sort of short rows": Kernel(jnp.sort, ("f32[500000,32]",)),
        "argmax of columns": Kernel(lambda x: x.argmax(0), (ROWS,)),
        "logsumexp of columns": Kernel(lambda x: jax.nn.logsumexp(x, 0), (ROWS,)),
        "cumulative maximum bf16": Kernel(lambda x: lax.cummax(x, axis=1), (WIDE,)),
        "linear recurrence": Kernel(
            lambda a, b: lax.associative_scan(
                lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b)
            )[1], ("f32[4096,2048]",) * 2
        ),
        "take along rows": Kernel(
            lambda x, i: jnp.take_along_axis(x, i, 1), (ROWS, "s32[16384,4096]"), high=4096
        ),
        "roll and flip": Kernel(lambda x: jnp.roll(x, 5, 1)[:, ::-1] + 1, (ROWS,)),
        "lower triangle": Kernel(jnp.tril, ("f32[8192,8192]",)),
        "segment sums": Kernel(
            lambda x, i: jax.ops.segment_sum(x, i, 10000), ("f32[4194304]", "s32[4194304]"),
            high=10000,
        ),
        "fft of images": Kernel(jnp.fft.fft2, ("c64[64,512,512]",)),
    }  # fmt: skip


def programs(rows: str = "") -> Iterator[tuple[str, str, Sequence[Arrays]]]:
    """Those whose names match an expression: names, HLO as for any platform, and arguments."""
    made = {**_models(), **_numbers()}
    yield from lowered({name: each for name, each in made.items() if re.search(rows, name)})
