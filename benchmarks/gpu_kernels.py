"""The kernels that a GPU is measured on: as those of `kernels`, on arrays that fill a GPU."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks import kernels as small
from benchmarks.kernels import Kernel, convolution

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Arrays = Any
# Numbers that are drawn; larger arrays repeat them.
DRAWN = 1 << 20


def _rms_norm(x: Arrays, scale: Arrays) -> Arrays:
    wide = x.astype(jnp.float32)
    root = lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-6)
    return (wide * root).astype(x.dtype) * scale


def _causal(q: Arrays, k: Arrays, v: Arrays) -> Arrays:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k).astype(jnp.float32) / 8
    scores = jnp.where(np.tri(q.shape[2], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores).astype(q.dtype), v)


def _energy(x: Arrays) -> Arrays:
    """A sum whose gradient is not constant."""
    return (x.astype(jnp.float32) ** 2).sum()


def _elementwise() -> dict[str, Kernel]:
    large = "f32[8192,8192]"
    return {
        "exp": Kernel(jnp.exp, (large,)),
        "gelu": Kernel(lambda x: jax.nn.gelu(x, approximate=False), (large,)),
        "gelu bf16": Kernel(jax.nn.gelu, ("bf16[8192,16384]",)),
        "bias, relu bf16": Kernel(
            lambda x, b: jax.nn.relu(x + b), ("bf16[8192,16384]", "bf16[16384]")
        ),
        "adam": Kernel(small.adam, ("f32[4096,8192]",) * 4),
        "threefry": Kernel(
            lambda key: jax.random.bits(jax.random.wrap_key_data(key), (1 << 26,)), ("u32[2]",)
        ),
        "normal": Kernel(
            lambda key: jax.random.normal(jax.random.wrap_key_data(key), (1 << 26,)), ("u32[2]",)
        ),
    }  # fmt: skip


def _reductions() -> dict[str, Kernel]:
    rows, norm = "f32[16384,4096]", ("f32[4096]",) * 2
    pooled = ("f32[64,112,112,64]",)
    return {
        "sum of all": Kernel(lambda x: x.sum(), (rows,)),
        "sum of rows": Kernel(lambda x: x.sum(1), (rows,)),
        "sum of columns": Kernel(lambda x: x.sum(0), (rows,)),
        "sum of 64 columns": Kernel(lambda x: x.sum(0), ("f32[1000000,64]",)),
        "sum of the middle": Kernel(lambda x: x.sum(1), ("f32[512,512,256]",)),
        "argmax": Kernel(lambda x: x.argmax(-1), (rows,)),
        "softmax": Kernel(jax.nn.softmax, (rows,)),
        "softmax bf16": Kernel(jax.nn.softmax, ("bf16[16384,8192]",)),
        "softmax of short rows": Kernel(jax.nn.softmax, ("f32[1000000,64]",)),
        "softmax of long rows": Kernel(jax.nn.softmax, ("f32[64,1000000]",)),
        "layer norm": Kernel(small.layer_norm, (rows, *norm)),
        "layer norm bf16": Kernel(small.layer_norm, ("bf16[16384,8192]", *("bf16[8192]",) * 2)),
        "rms norm bf16": Kernel(_rms_norm, ("bf16[16384,8192]", "bf16[8192]")),
        "batch norm": Kernel(small.batch_norm, ("f32[64,56,56,256]", "f32[256]", "f32[256]")),
        "cumsum": Kernel(lambda x: x.cumsum(-1), (rows,)),
        "cumsum of columns": Kernel(lambda x: x.cumsum(0), (rows,)),
        "cumsum of one row": Kernel(jnp.cumsum, ("f32[16777216]",)),
        "max pool": Kernel(small.max_pool, pooled),
        "max pool gradient": Kernel(jax.grad(lambda x: small.max_pool(x).sum()), pooled),
    }


def _contractions() -> dict[str, Kernel]:
    square, narrow = ("f32[4096,4096]",) * 2, ("bf16[4096,4096]",) * 2
    heads = ("bf16[8,16,1024,64]",) * 3
    image, deep = "f32[32,56,56,64]", ("bf16[64,28,28,256]", "bf16[3,3,256,256]")
    return {
        "dot": Kernel(jnp.dot, square),
        "dot bf16": Kernel(jnp.dot, narrow),
        "dot bf16 8192": Kernel(jnp.dot, ("bf16[8192,8192]",) * 2),
        "dot f16": Kernel(jnp.dot, ("f16[4096,4096]",) * 2),
        "dot s8": Kernel(small.dot_of_bytes, ("s8[4096,4096]",) * 2),
        "dot s8 by rows": Kernel(lambda x, y: small.dot_of_bytes(x, y.T), ("s8[4096,4096]",) * 2),
        "dot transposed": Kernel(lambda x, y: x.T @ y.T, square),
        "dense layer": Kernel(lambda x, w, b: jax.nn.relu(x @ w + b), (*square, "f32[4096]")),
        "dense layer bf16": Kernel(lambda x, w, b: jax.nn.gelu(x @ w + b), (*narrow, "bf16[4096]")),
        "matrix by vector": Kernel(jnp.dot, ("f32[16384,8192]", "f32[8192]")),
        "vector by matrix bf16": Kernel(jnp.dot, ("bf16[1,8192]", "bf16[8192,28672]")),
        "few rows bf16": Kernel(lambda x, w: x @ w.T, ("bf16[16,8192]", "bf16[28672,8192]")),
        "dot of a batch bf16": Kernel(jnp.matmul, ("bf16[256,512,64]", "bf16[256,64,512]")),
        "dot of many small": Kernel(jnp.matmul, ("f32[200000,8,8]",) * 2),
        "attention": Kernel(small.attention, ("f32[8,16,512,64]",) * 3),
        "causal attention bf16": Kernel(_causal, heads),
        "conv 3x3": Kernel(convolution(), (image, "f32[3,3,64,64]")),
        "conv 3x3 bf16": Kernel(convolution(), ("bf16[64,56,56,64]", "bf16[3,3,64,64]")),
        "conv 3x3 of 256 bf16": Kernel(convolution(), deep),
        "conv 3x3 stride 2 bf16": Kernel(convolution(2), deep),
        "conv NCHW bf16": Kernel(
            convolution(labels=small.NCHW), ("bf16[64,256,28,28]", "bf16[256,256,3,3]")
        ),
        "conv gradient of image bf16": Kernel(
            jax.grad(lambda x, w: _energy(convolution()(x, w))), deep
        ),
        "conv gradient of filter bf16": Kernel(
            jax.grad(lambda w, x: _energy(convolution()(x, w))), deep[::-1]
        ),
        "conv 1x1": Kernel(convolution(), (image, "f32[1,1,64,256]")),
        "conv depthwise": Kernel(convolution(groups=64), (image, "f32[3,3,1,64]")),
    }


def _movements() -> dict[str, Kernel]:
    table = "f32[1000000,128]", "s32[500000]"
    return {
        # The sum has its layout from y, so that something must be moved.
        "transpose": Kernel(lambda x, y: x.T + y, ("f32[8192,8192]",) * 2),
        "transpose bf16": Kernel(lambda x, y: x.T + y, ("bf16[8192,16384]", "bf16[16384,8192]")),
        "transpose 4d": Kernel(
            lambda x, y: x.transpose(0, 2, 1, 3) + y, ("f32[64,512,16,128]", "f32[64,16,512,128]")
        ),
        "concatenate": Kernel(
            lambda x, y: jnp.concatenate([x, y], 1) * 2, ("f32[8192,4000]", "f32[8192,4096]")
        ),
        "pad": Kernel(lambda x: jnp.pad(x, 2) + 1, ("f32[8192,8191]",)),
        "gather rows": Kernel(lambda x, i: x[i], table, high=1000000),
        "scatter-add rows": Kernel(
            lambda x, i, u: x.at[i].add(u), (*table, "f32[500000,128]"), high=1000000
        ),
        "sort": Kernel(jnp.sort, ("f32[16777216]",)),
        "sort rows": Kernel(jnp.sort, ("f32[8192,2048]",)),
        "argsort": Kernel(jnp.argsort, ("f32[4194304]",)),
        "top-k": Kernel(lambda x: lax.top_k(x, 16), ("f32[1024,50000]",)),
        "fft": Kernel(jnp.fft.fft, ("c64[8192,4096]",)),
        "update rows in a loop": Kernel(small.update_rows, ("f32[1000,1000]", "f32[1000]")),
        "recurrence": Kernel(small.recurrence, ("f32[16,64]", "f32[64,64]")),
        "count to 10000": Kernel(
            lambda n: lax.while_loop(lambda i: i < 10000, lambda i: i + jnp.maximum(n, 1), 0),
            ("s32[]",), high=2,
        ),
    }  # fmt: skip


# Names of NumPy's and JAX's.
NAMES = {
    "s8": "int8", "s32": "int32", "u32": "uint32", "f32": "float32", "f16": "float16",
    "bf16": "bfloat16", "c64": "complex64",
}  # fmt: skip


def _numbers(shape: str, high: int) -> Arrays:
    """An array, always the same one."""
    kind, _, rest = shape.rstrip("]").partition("[")
    dims = tuple(int(n) for n in rest.split(",") if n)
    generator, drawn = np.random.default_rng(0), min(prod(dims), DRAWN)
    if kind in ("s8", "s32", "u32"):
        values: Arrays = generator.integers(0, high, drawn).astype(jnp.dtype(NAMES[kind]))
    else:
        values = generator.standard_normal(drawn).astype(jnp.dtype(NAMES[kind]))
    return np.resize(values, dims)


def kernels(rows: str = "") -> Iterator[tuple[str, str, Sequence[Arrays]]]:
    """Those whose names match an expression: names, HLO as for any platform, and arguments."""
    made = {**_elementwise(), **_reductions(), **_contractions(), **_movements()}
    yield from lowered({name: each for name, each in made.items() if re.search(rows, name)})


def lowered(kernels: Mapping[str, Kernel]) -> Iterator[tuple[str, str, Sequence[Arrays]]]:
    """The names of kernels, their HLO as for any platform, and arguments.

    Products of f32 are computed in f32, where XLA would take TF32.
    """
    for name, kernel in kernels.items():
        arguments = [_numbers(shape, kernel.high) for shape in kernel.shapes]
        like = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arguments]
        with jax.default_matmul_precision("highest"):
            traced = jax.jit(kernel.function, keep_unused=True).trace(*like)
        text = traced.lower(lowering_platforms=("cpu",)).as_text("hlo")
        yield name, text, arguments
