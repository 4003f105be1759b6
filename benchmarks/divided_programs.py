"""Small JAX programs for eight devices, one for each kind of division that users write.

The devices are a mesh of 2 rows ("r") and 4 columns ("c").
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.kernels import max_pool

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = jax.Array

ALL = ("r", "c")


class Program(NamedTuple):
    """A function, and its arguments' shapes and shardings.

    Attributes
    ----------
    arguments : of each one the shape, the axes that cut its dimensions, and the element type.
    result : the axes that cut the result; None where JAX lets the compiler choose.
    """

    function: Callable[..., Any]
    arguments: tuple[tuple[Any, ...], ...]
    result: Any = None


def mesh() -> Mesh:
    """Eight devices in 2 rows and 4 columns."""
    return Mesh(np.array(jax.devices("cpu")[:8]).reshape(2, 4), ALL)


def cut(x: Array, *axes: Any) -> Array:
    """A value that is to be cut along some axes."""
    return lax.with_sharding_constraint(x, NamedSharding(mesh(), P(*axes)))


def f32(*shape: int, cut: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """An argument of floats."""
    return shape, P(*cut), np.float32


def s32(*shape: int, cut: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """An argument of small indices."""
    return shape, P(*cut), np.int32


PROGRAMS: dict[str, Program] = {}


def program(*arguments: tuple[Any, ...], result: Any = None) -> Callable[[Any], Any]:
    """Enter a function into the table, under its own name without `_`."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__[1:]] = Program(function, arguments, result)
        return function

    return enter


# ------------------------------------------------------------------------------- training

ROWS = (ALL, None)


def _loss(w: Array, x: Array, y: Array) -> Array:
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


@program(f32(32, 16), f32(64, 32, cut=ROWS), f32(64, 16, cut=ROWS))
def _dp_loss(w: Array, x: Array, y: Array) -> Array:
    return _loss(w, x, y)


@program(f32(32, 16), f32(64, 32, cut=ROWS), f32(64, 16, cut=ROWS), result=P())
def _dp_train(w: Array, x: Array, y: Array) -> Array:
    return w - 0.1 * jax.grad(_loss)(w, x, y)


@program(f32(32, 16, cut=ROWS), f32(64, 32, cut=ROWS), f32(64, 16, cut=ROWS), result=P(ALL))
def _fsdp_train(w: Array, x: Array, y: Array) -> Array:
    return w - 0.1 * jax.grad(_loss)(w, x, y)


_UP_DOWN = (f32(16, 32, cut=("r",)), f32(32, 64, cut=(None, "c")), f32(64, 32, cut=("c",)))


@program(*_UP_DOWN, result=P("r"))
def _megatron_mlp(x: Array, up: Array, down: Array) -> Array:
    return jax.nn.gelu(x @ up) @ down


@program(*_UP_DOWN, result=(P(None, "c"), P("c")))
def _megatron_mlp_grad(x: Array, up: Array, down: Array) -> Any:
    def loss(w: Any) -> Array:
        return jnp.sum(jax.nn.gelu(x @ w[0]) @ w[1] ** 2)

    return jax.grad(loss)((up, down))


@program(*[f32(4, 8, 16, 8, cut=("r", "c"))] * 3, result=P("r", "c"))
def _attention_heads(q: Array, k: Array, v: Array) -> Array:
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(8)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s), v)


@program(f32(16, 64, cut=("r", "c")), result=P("r", "c"))
def _softmax_vocab(x: Array) -> Array:
    return jax.nn.softmax(x)


@program(f32(16, 64, cut=("r", "c")), s32(16, cut=("r",)))
def _xent_vocab(logits: Array, labels: Array) -> Array:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -jnp.mean(chosen)


@program(f32(64, 32, cut=("c",)), s32(16, cut=("r",)), result=P("r"))
def _embed_gather_vocab(table: Array, ids: Array) -> Array:
    return table[ids]


@program(f32(64, 32, cut=("c",)), s32(16, cut=("r",)), result=P("c"))
def _embed_grad_vocab(table: Array, ids: Array) -> Array:
    return jax.grad(lambda t: jnp.sum(t[ids] ** 2))(table)


@program(f32(16, 64, cut=("r", "c")), f32(64, cut=("c",)), f32(64, cut=("c",)), result=P("r", "c"))
def _layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def _layers(x: Array, w: Array) -> Array:
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0]


@program(f32(16, 32, cut=("r",)), f32(4, 32, 32, cut=(None, None, "c")), result=P("r"))
def _scan_layers(x: Array, w: Array) -> Array:
    return _layers(x, w)


@program(f32(16, 32, cut=("r",)), f32(4, 32, 32, cut=(None, None, "c")), result=P(None, None, "c"))
def _scan_layers_grad(x: Array, w: Array) -> Array:
    return jax.grad(lambda w: _layers(x, w).sum())(w)


# -------------------------------------------------------------------------------- control


@program(f32(16, 32, cut=ROWS), f32(32, 8), s32(), result=P(ALL))
def _cond(x: Array, w: Array, n: Array) -> Array:
    return lax.cond(n > 2, lambda x: jnp.tanh(x @ w), lambda x: x[:, :8] * 2, x)


@program(f32(16, 32, cut=ROWS), s32(), result=P(ALL))
def _switch(x: Array, n: Array) -> Array:
    return lax.switch(n, [jnp.sin, jnp.cos, lambda x: x - x.mean(0)], x)


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _fori_while(x: Array) -> Array:
    return lax.while_loop(lambda x: jnp.sum(x) < 1e4, lambda x: x * x + 1, x)


# -------------------------------------------------------------------------------- windows

_IMAGE = ("NHWC", "HWIO", "NHWC")


def _convolved(x: Array, w: Array, groups: int = 1) -> Array:
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=_IMAGE, feature_group_count=groups
    )


@program(f32(8, 8, 8, 4, cut=(ALL,)), f32(3, 3, 4, 8), result=P(ALL))
def _conv_batch(x: Array, w: Array) -> Array:
    return _convolved(x, w)


@program(f32(2, 32, 8, 4, cut=(None, ALL)), f32(3, 3, 4, 8), result=P(None, ALL))
def _conv_spatial(x: Array, w: Array) -> Array:
    return _convolved(x, w)


@program(f32(8, 8, 8, 4, cut=(ALL,)), f32(3, 3, 4, 8), result=P())
def _conv_grad(x: Array, w: Array) -> Array:
    return jax.grad(lambda w: jnp.sum(_convolved(x, w) ** 2))(w)


_LAST = (None, None, None, ALL)


@program(f32(2, 8, 8, 16, cut=_LAST), f32(3, 3, 1, 16, cut=_LAST), result=P(*_LAST))
def _depthwise_conv(x: Array, w: Array) -> Array:
    return _convolved(x, w, groups=16)


@program(f32(8, 8, 8, 4, cut=(ALL,)), result=P(ALL))
def _maxpool(x: Array) -> Array:
    return max_pool(x)


@program(f32(2, 32, 8, 4, cut=(None, ALL)), result=P(None, ALL))
def _maxpool_spatial(x: Array) -> Array:
    return max_pool(x)


@program(f32(8, 8, 8, 4, cut=(ALL,)), result=P(ALL))
def _maxpool_grad(x: Array) -> Array:
    return jax.grad(lambda x: jnp.sum(max_pool(x) ** 2))(x)


# --------------------------------------------------------------------------------- orders


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _cumsum_along(x: Array) -> Array:
    return jnp.cumsum(x, axis=1)


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _cumsum_across(x: Array) -> Array:
    return jnp.cumsum(x, axis=0)


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _sort_along(x: Array) -> Array:
    return jnp.sort(x, axis=1)


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _sort_across(x: Array) -> Array:
    return jnp.sort(x, axis=0)


@program(f32(16, 64, cut=(None, ALL)), result=P())
def _topk(x: Array) -> Any:
    return lax.top_k(x, 4)[0]


@program(f32(16, 32, cut=ROWS), result=P())
def _argmax_across(x: Array) -> Array:
    return jnp.argmax(x, axis=0)


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _argmax_along(x: Array) -> Array:
    return jnp.argmax(x, axis=1)


# -------------------------------------------------------------------------------- batches


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _fft_batch(x: Array) -> Array:
    return jnp.abs(jnp.fft.fft(x))


@program(f32(8, 6, 6, cut=(ALL,)), result=P(ALL))
def _cholesky_batch(x: Array) -> Array:
    return jnp.linalg.cholesky(x @ x.transpose(0, 2, 1) + 6 * jnp.eye(6))


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _dropout_rng(x: Array) -> Array:
    keep = jax.random.bernoulli(jax.random.key(0), 0.5, x.shape)
    return jnp.where(keep, x * 2, 0)


# -------------------------------------------------------------------- slices and movement


@program(f32(8, 16, 32, cut=("r", None, "c")), f32(8, 1, 32, cut=("r", None, "c")), s32(),
         result=P("r", None, "c"))  # fmt: skip
def _kv_cache_update(cache: Array, new: Array, at: Array) -> Array:
    return lax.dynamic_update_slice(cache, new, (0, at, 0))


@program(f32(8, 16, 32, cut=(None, ALL)), f32(8, 1, 32), s32(), result=P(None, ALL))
def _kv_cache_seq(cache: Array, new: Array, at: Array) -> Array:
    return lax.dynamic_update_slice(cache, new, (0, at, 0))


@program(f32(16, 32, cut=("r", "c")), result=P("r", "c"))
def _transpose_reshard(x: Array) -> Array:
    return x.T * 2


@program(f32(16, 32, cut=(ALL,)), result=P(None, ALL))
def _reshard_2d(x: Array) -> Array:
    return x + 1


@program(f32(16, 32, cut=(None, ALL)), result=P(ALL))
def _reshape_merge(x: Array) -> Array:
    return x.reshape(-1) * 2


@program(f32(24, 8, cut=(ALL,)), result=P(None, "c"))
def _reshape_split_uneven(x: Array) -> Array:
    return x.reshape(6, 4, 8) + 1


@program(f32(16, 32, cut=ROWS), result=P())
def _uneven_wsc(x: Array) -> Array:
    return jnp.sum(cut(x[:13] * 2, ALL, None) ** 2, axis=0)


@program(f32(16, 32, cut=ROWS), f32(32, 8), result=P())
def _uneven_dot(x: Array, w: Array) -> Array:
    return jnp.sum(cut(x[:13], ALL, None) @ w)


@program(f32(16, 32, cut=ROWS), f32(16, 32, cut=ROWS), result=P(ALL))
def _concat_halves(x: Array, y: Array) -> Array:
    return jnp.concatenate([x, y])


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _pad_along(x: Array) -> Array:
    return jnp.pad(x, ((4, 4), (0, 0)))


@program(f32(16, 32, cut=ROWS), result=P(ALL))
def _roll_along(x: Array) -> Array:
    return jnp.roll(x, 1, axis=0)


@program(f32(32, 32, cut=ROWS), result=P(ALL))
def _slice_along(x: Array) -> Array:
    return x[::2]


@program(f32(64, 32, cut=ROWS), result=P(ALL))
def _shift_stencil(x: Array) -> Array:
    padded = jnp.pad(x, ((1, 1), (0, 0)))
    return padded[:-2] - 2 * padded[1:-1] + padded[2:]


@program(f32(64, 32), s32(16, cut=(ALL,)), result=P(ALL))
def _gather_rows(x: Array, ids: Array) -> Array:
    return x[ids]


@program(f32(16, 32, cut=ROWS), s32(16, cut=(ALL,)), result=P())
def _scatter_add(x: Array, ids: Array) -> Array:
    return jnp.zeros((8, 32)).at[ids].add(x)


@program(f32(16, 8, 4, cut=(ALL,)), s32(16, 3, cut=(ALL,)), result=P(ALL))
def _batched_gather(x: Array, ids: Array) -> Array:
    return jax.vmap(lambda x, i: x[i])(x, ids)


@program(f32(16, 32, cut=("r",)), f32(4, 32, 8, cut=("c",)), s32(16, cut=("r",)), result=P("r"))
def _moe_dispatch(x: Array, experts: Array, chosen: Array) -> Array:
    gate = jax.nn.one_hot(chosen % 4, 4)
    routed = jnp.einsum("tf,te->etf", x, gate)
    return jnp.einsum("etf,efg,te->tg", routed, experts, gate)


# ------------------------------------------------------------------------------ shard_map


def _mapped(function: Callable[..., Any], given: Any, result: Any, **options: Any) -> Any:
    return jax.shard_map(function, mesh=mesh(), in_specs=given, out_specs=result, **options)


@program(f32(16, 32, cut=ROWS))
def _shard_map_psum(x: Array) -> Array:
    return _mapped(lambda x: lax.psum(x.sum(0), ALL), P(ALL), P())(x)


@program(f32(16, 32, cut=ROWS))
def _shard_map_ring(x: Array) -> Array:
    pairs = [(i, (i + 1) % 8) for i in range(8)]
    return _mapped(lambda x: lax.ppermute(x, ALL, pairs), P(ALL), P(ALL))(x)


@program(f32(16, 32, cut=ROWS))
def _shard_map_a2a(x: Array) -> Array:
    def turned(x: Array) -> Array:
        return lax.all_to_all(x, ALL, 1, 0, tiled=True)

    return _mapped(turned, P(ALL), P(None, ALL))(x)


@program(f32(16, 32, cut=("r", "c")), f32(32, 16, cut=("c",)))
def _shard_map_partial(x: Array, w: Array) -> Array:
    def rows(x: Array, w: Array) -> Array:
        return lax.psum(jnp.tanh(x @ w), "r")

    return _mapped(rows, (P("r"), P()), P(), axis_names={"r"})(x, w)


# ------------------------------------------------------------------------------ the others

_PARAMETER = f32(32, 64, cut=("r", "c"))


@program(*[_PARAMETER] * 4, result=(P("r", "c"),) * 3)
def _adam(w: Array, g: Array, m: Array, v: Array) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 1e-3 * m / (jnp.sqrt(jnp.abs(v)) + 1e-8), m, v


@program(_PARAMETER, f32(64, cut=("c",)), result=(P("r", "c"), P("c")))
def _global_norm_clip(g: Array, h: Array) -> Any:
    norm = jnp.sqrt(jnp.sum(g * g) + jnp.sum(h * h))
    scale = jnp.minimum(1, 1 / norm)
    return g * scale, h * scale


@program(f32(16, 32, cut=ROWS), result=(P(), P()))
def _var_std(x: Array) -> Any:
    return jnp.var(x, axis=0), jnp.std(x)


@program(f32(16, cut=("r",)), f32(32, cut=("c",)))
def _outer(x: Array, y: Array) -> Array:
    return jnp.outer(x, y)


@program(f32(8, 16, 32, cut=(ALL,)), f32(8, 32, 16, cut=(ALL,)), result=P(ALL))
def _batchmm_both(x: Array, y: Array) -> Array:
    return x @ y


@program(f32(16, 64, cut=(None, ALL)), f32(64, 32, cut=(ALL,)), result=P())
def _mm_k_sharded(x: Array, y: Array) -> Array:
    return x @ y


@program(f32(16, 64, cut=(None, ALL)), f32(64, 32, cut=(ALL,)), result=P(ALL))
def _mm_k_to_rs(x: Array, y: Array) -> Array:
    return x @ y


@program(f32(16, 32, cut=(ALL,)), f32(32, 64, cut=(None, ALL)), result=P(ALL))
def _mm_conflict(x: Array, y: Array) -> Array:
    return x @ y


def lowered(name: str) -> Any:
    """A program as JAX hands it to a compiler."""
    function, arguments, result = PROGRAMS[name]
    shards = partial(NamedSharding, mesh())
    given = tuple(shards(spec) for _, spec, _ in arguments)
    options: dict[str, Any] = {"in_shardings": given}
    if result is not None:
        options["out_shardings"] = jax.tree.map(
            shards, result, is_leaf=lambda leaf: isinstance(leaf, P)
        )
    shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape, _, dtype in arguments]
    return jax.jit(function, **options).lower(*shapes)


def values(name: str) -> list[np.ndarray]:
    """Arguments of a program."""
    numbers = np.random.default_rng(0)
    return [
        numbers.normal(size=shape).astype(dtype) if dtype is np.float32
        else numbers.integers(0, 4, shape).astype(dtype)
        for shape, _, dtype in PROGRAMS[name].arguments
    ]  # fmt: skip
