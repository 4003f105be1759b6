"""Functions of JAX by name, each with arguments: what is differentiated and batched in tests.

Arguments are f64, c128 and integers. Names begin with the opcode or the group that they are about.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import hlo

jax = pytest.importorskip("jax", reason="jax is not installed: pip install 'pyhlo[jax]'")
jnp, lax = jax.numpy, jax.lax
Function = Callable[..., Any]
FUNCTIONS: dict[str, tuple[Function, tuple[Any, ...]]] = {}
RANDOM = np.random.RandomState(0)


def n(*dims):
    return RANDOM.randn(*dims)


def pos(*dims):
    return RANDOM.rand(*dims) + 0.5


def unit(*dims):
    return RANDOM.rand(*dims) * 1.6 - 0.8


def c(*dims):
    return RANDOM.randn(*dims) + 1j * RANDOM.randn(*dims)


def add(name, f, *args):
    FUNCTIONS[name] = f, args


NAMES = (
    "sin cos tan sinh cosh tanh exp expm1 arctan arcsinh cbrt square abs negative "
    "sign floor ceil round rint sinc"
)
for name in NAMES.split():
    add(name, getattr(jnp, name), n(3, 4))
for name in ["log", "log1p", "sqrt", "log2", "log10", "reciprocal", "arccosh"]:
    add(name, getattr(jnp, name), pos(3, 4) + (1 if name == "arccosh" else 0))
for name in ["arcsin", "arccos", "arctanh"]:
    add(name, getattr(jnp, name), unit(3, 4))
add("rsqrt", lax.rsqrt, pos(5))
add("logistic", lax.logistic, n(5))
add("erf", lax.erf, n(5))
add("erfc", lax.erfc, n(5))
add("lgamma", lax.lgamma, pos(5))
add("erf_inv", lax.erf_inv, unit(5))
add("integer_pow", lambda x: x**5, n(5))
add("integer_pow_neg", lambda x: x**-3, pos(5))
NAMES = "add subtract multiply divide maximum minimum arctan2 hypot logaddexp"
for name in NAMES.split():
    add(name, getattr(jnp, name), n(3, 4), n(3, 4))
    add(name + "_broadcast", getattr(jnp, name), n(3, 4), n(4))
add("max_ties", jnp.maximum, np.array([1.0, 2, 3]), np.array([1.0, 3, 2]))
add("power", jnp.power, pos(4), n(4))
add("power_zero", lambda x, y: x**y, np.array([0.0, 2, 0]), np.array([2.0, 0, 1.5]))
add("remainder", lax.rem, n(5) * 3, pos(5))
add("fmod", jnp.mod, n(5) * 3, pos(5))
add("clamp", lax.clamp, n(5) - 1, n(5), n(5) + 1)
add("clip", lambda x: jnp.clip(x, -0.5, 0.5), n(5))
add("clamp_scalar", lambda x: lax.clamp(-0.3, x, 0.4), n(5))
add("where", lambda x, y: jnp.where(x > 0, x * y, y), n(5), n(5))
add("select_scalar", lambda x, y: lax.cond(x[0] > 0, lambda: x, lambda: y), n(5), n(5))
NAMES = (
    "relu gelu silu softplus elu selu leaky_relu softmax log_softmax logsumexp soft_sign hard_tanh"
)
for name in NAMES.split():
    add(name, getattr(jax.nn, name), n(3, 4))
add("convert", lambda x: x.astype(jnp.float32).astype(jnp.float64) * 2, n(5))
add("identity", lambda x: x, n(5))
add("reduce_precision", lambda x: lax.reduce_precision(x, 8, 10), n(5))
add(
    "complex_parts",
    lambda x, y: jnp.real(lax.complex(x, y) ** 2) + jnp.imag(jnp.exp(lax.complex(x, y))),
    n(4),
    n(4),
)
add("complex_abs", jnp.abs, c(4))
add("complex_mul", lambda x, y: x * y / (x + 3), c(4), c(4))
add("conj", lambda x: jnp.conj(x) * x, c(4))
add("angle", jnp.angle, c(4))
for name in ["sin", "cos", "exp", "log", "sqrt", "tanh"]:
    add("complex_" + name, getattr(jnp, name), c(4))
add("complex_pow", jnp.power, c(4), c(4))
add("complex_dot", jnp.matmul, c(3, 4), c(4, 2))
# movement
add("reshape", lambda x: jnp.sin(x.reshape(2, 6)), n(3, 4))
add("transpose", lambda x: jnp.transpose(x, (2, 0, 1)) ** 2, n(2, 3, 4))
add("broadcast", lambda x: jnp.broadcast_to(x, (2, 3, 4)), n(3, 1))
add("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (4, 2, 3), (0, 2)), n(4, 3))
add("reverse", lambda x: lax.rev(x, (0, 1)) * x, n(3, 4))
add("slice", lambda x: x[1:7:2, ::3], n(8, 7))
add("pad", lambda x, p: lax.pad(x, p, ((1, 2, 1), (-1, 3, 2))), n(3, 4), np.float64(0.3))
add("pad_crop", lambda x: lax.pad(x, 0.0, ((-1, -1, 0),)), n(5))
add("pad_crop_interior", lambda x, p: lax.pad(x, p, ((-2, -1, 2),)), n(5), np.float64(0.2))
add("concatenate", lambda x, y: jnp.concatenate([x, y, x], 1), n(2, 3), n(2, 4))
add("stack", lambda x, y: jnp.stack([x, y], 1), n(3), n(3))
add("split", lambda x: jnp.split(x, 3)[1], n(6))
add("tile", lambda x: jnp.tile(x, (2, 3)), n(2, 2))
add("roll", lambda x: jnp.roll(x, 2), n(6))
add("repeat", lambda x: jnp.repeat(x, 3), n(4))
add("diag", jnp.diag, n(4))
add("diagonal", jnp.diagonal, n(4, 4))
add("tril", jnp.tril, n(4, 4))
add("trace", jnp.trace, n(4, 4))
add("kron", jnp.kron, n(2, 2), n(2, 3))
add("dynamic_slice", lambda x: lax.dynamic_slice(x, (1, 5), (2, 3)), n(4, 6))
add("dynamic_update_slice", lambda x, u: lax.dynamic_update_slice(x, u, (3, 1)), n(4, 6), n(2, 3))
add("dynamic_index", lambda x, i: x[i] * 2, n(5, 3), np.int32(2))
# products
add("matmul", jnp.matmul, n(3, 4), n(4, 5))
add("matvec", jnp.matmul, n(3, 4), n(4))
add("vdot", jnp.vdot, n(4), n(4))
add("outer", jnp.outer, n(3), n(4))
add("batch_matmul", jnp.matmul, n(2, 3, 4), n(2, 4, 5))
add("einsum", lambda a, b: jnp.einsum("bijk,bkjl->bil", a, b), n(2, 3, 4, 5), n(2, 5, 4, 3))
add("einsum3", lambda a, b, d: jnp.einsum("ij,jk,kl->il", a, b, d), n(2, 3), n(3, 4), n(4, 2))
add(
    "dot_general",
    lambda a, b: lax.dot_general(a, b, (((2, 0), (1, 3)), ((1,), (2,)))),
    n(3, 2, 4),
    n(5, 4, 2, 3),
)
add("tensordot", lambda a, b: jnp.tensordot(a, b, 2), n(2, 3, 4), n(3, 4, 5))


def conv(name, x, k, **o):
    add("conv_" + name, lambda x, k: lax.conv_general_dilated(x, k, **o), x, k)


conv("valid", n(2, 3, 6, 7), n(4, 3, 2, 3), window_strides=(1, 1), padding="VALID")
conv("same", n(2, 3, 6, 7), n(4, 3, 3, 3), window_strides=(2, 1), padding="SAME")
conv("padding", n(2, 3, 6), n(4, 3, 3), window_strides=(2,), padding=[(2, 1)])
conv("negative_padding", n(2, 3, 8), n(4, 3, 3), window_strides=(2,), padding=[(-1, 1)])
conv(
    "lhs_dilation", n(2, 3, 6), n(4, 3, 3), window_strides=(1,), padding=[(1, 1)], lhs_dilation=(2,)
)
conv(
    "rhs_dilation", n(2, 3, 8), n(4, 3, 3), window_strides=(2,), padding=[(1, 2)], rhs_dilation=(2,)
)
conv(
    "both_dilations",
    n(2, 3, 8),
    n(4, 3, 3),
    window_strides=(2,),
    padding=[(1, 2)],
    rhs_dilation=(2,),
    lhs_dilation=(3,),
)
conv("groups", n(2, 6, 8), n(4, 3, 3), window_strides=(1,), padding="SAME", feature_group_count=2)
conv(
    "depthwise", n(2, 4, 8), n(8, 1, 3), window_strides=(2,), padding="SAME", feature_group_count=4
)
conv(
    "batch_groups", n(4, 3, 8), n(6, 3, 3), window_strides=(1,), padding="SAME", batch_group_count=2
)
conv(
    "nhwc",
    n(2, 6, 7, 3),
    n(3, 3, 3, 4),
    window_strides=(1, 2),
    padding="SAME",
    dimension_numbers=("NHWC", "HWIO", "NHWC"),
)
conv(
    "odd_dims",
    n(6, 2, 3),
    n(3, 4, 3),
    window_strides=(1,),
    padding="SAME",
    dimension_numbers=("HNC", "IOH", "CNH"),
)
conv("1d0", n(2, 3), n(4, 3), window_strides=(), padding=())
add(
    "conv_transpose",
    lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"),
    n(1, 4, 4, 2),
    n(3, 3, 2, 3),
)
# reductions
NAMES = "sum mean var std max min prod amax ptp cumsum cumprod"
for name in NAMES.split():
    add("reduce_" + name, getattr(jnp, name), n(3, 5))
for name in ["sum", "max", "min", "prod"]:
    add(f"reduce_{name}_axis", partial(getattr(jnp, name), axis=(0, 2)), n(3, 4, 2))
    add(f"reduce_{name}_axis1", partial(getattr(jnp, name), axis=1), n(3, 5))
add("reduce_max_ties", jnp.max, np.array([1.0, 3, 3, 2]))
add("reduce_prod_zero", jnp.prod, np.array([1.0, 0, 3, 2]))
add("norm", jnp.linalg.norm, n(3, 4))
add("argmax_value", lambda x: x * jnp.argmax(x), n(5))
add("logcumsumexp", lax.cumlogsumexp, n(6))
add("cummax", lax.cummax, n(6))
add("cummin", lax.cummin, n(6))
add("cumsum_reverse", lambda x: lax.cumsum(x, reverse=True), n(6))
add("cumsum_axis", lambda x: jnp.cumsum(x, axis=1), n(2, 5))
add(
    "reduce_general",
    lambda x: lax.reduce(x, np.float64(0.0), lambda p, q: p * q + p + q, (0,)),
    n(5, 2),
)
add(
    "reduce_variadic",
    lambda x, y: lax.reduce(
        (x, y),
        (np.float64(1.0), np.float64(0.0)),
        lambda p, q: (p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]),
        (0,),
    ),
    n(5),
    n(5),
)
add(
    "avg_pool",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 2, 1), "SAME"),
    n(2, 5, 6),
)
add(
    "max_pool",
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3), (1, 2, 2), "SAME"),
    n(2, 5, 6),
)
add("min_pool", lambda x: lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 1), "VALID"), n(5, 6))
add(
    "sum_pool_dilated",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), ((1, 0), (2, 1)), (2, 1), (1, 2)),
    n(5, 6),
)
add(
    "max_pool_overlap",
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (1,), ((1, 1),)),
    n(7),
)
# indexing
add("gather_rows", lambda x: x[np.array([2, 0, 2])], n(4, 3))
add("gather_points", lambda x: x[np.array([2, 0, 3]), np.array([1, 1, 2])], n(4, 3))
add("gather_clip", lambda x, i: x.at[i].get(mode="clip"), n(4, 3), np.array([2, 9, -7, 2]))
add(
    "gather_fill",
    lambda x, i: x.at[i].get(mode="fill", fill_value=0),
    n(4, 3),
    np.array([2, 9, -7, 2]),
)
add(
    "take_along",
    lambda x, i: jnp.take_along_axis(x, i, 1),
    n(3, 4),
    np.array([[0, 2], [1, 1], [3, 0]]),
)
add("embedding", lambda x, i: jnp.tanh(jnp.take(x, i, axis=0)), n(7, 3), np.array([[1, 2], [1, 6]]))
add("scatter_add", lambda x, u, i: x.at[i].add(u), n(5, 3), n(3, 3), np.array([1, 4, 1]))
add("scatter_set", lambda x, u, i: x.at[i].set(u), n(5, 3), n(3, 3), np.array([1, 4, 1]))
add(
    "scatter_set_unique",
    lambda x, u, i: x.at[i].set(u, unique_indices=True),
    n(5, 3),
    n(3, 3),
    np.array([1, 4, 0]),
)
add(
    "scatter_mul_unique",
    lambda x, u, i: x.at[i].mul(u, unique_indices=True),
    n(5),
    n(3),
    np.array([1, 4, 0]),
)
add(
    "scatter_drop",
    lambda x, u, i: x.at[i].add(u, mode="drop"),
    n(5, 3),
    n(3, 3),
    np.array([1, 9, 1]),
)
add(
    "scatter_set_drop",
    lambda x, u, i: x.at[i].set(u, mode="drop"),
    n(5, 3),
    n(3, 3),
    np.array([1, 9, 2]),
)
add("scatter_point", lambda x, u: x.at[1, 2].set(u), n(4, 4), n())
add("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 3), n(5, 2), np.array([0, 2, 1, 0, 2]))
add("sort", jnp.sort, n(3, 5))
add("sort_axis0", lambda x: jnp.sort(x, axis=0), n(4, 3))
add("sort_pairs", lambda x, y: lax.sort((x, y), num_keys=1), n(5), n(5))
add("top_k", lambda x: lax.top_k(x, 3)[0], n(2, 6))
add("median", jnp.median, n(7))
add("percentile", lambda x: jnp.percentile(x, 30.0), n(7))
add("argsort_gather", lambda x, y: y[jnp.argsort(x)], n(5), n(5))
# linear algebra
spd = n(4, 4)
spd = spd @ spd.T + 4 * np.eye(4)
add("cholesky", jnp.linalg.cholesky, spd)
add("cholesky_batch", jnp.linalg.cholesky, np.stack([spd, spd + np.eye(4)]))
add(
    "solve_triangular",
    lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
    n(3, 3) + 3 * np.eye(3),
    n(3, 2),
)
add(
    "solve_triangular_t",
    lambda a, b: jax.scipy.linalg.solve_triangular(a, b, trans=1),
    n(3, 3) + 3 * np.eye(3),
    n(3, 2),
)
add(
    "solve_triangular_unit",
    lambda a, b: jax.scipy.linalg.solve_triangular(a, b, unit_diagonal=True),
    n(3, 3),
    n(3),
)
add(
    "triangular_right",
    lambda a, b: lax.linalg.triangular_solve(
        a, b, left_side=False, lower=True, transpose_a=True, conjugate_a=True
    ),
    n(3, 3) + 3 * np.eye(3),
    n(2, 3),
)
add(
    "cho_solve",
    lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b),
    spd,
    n(4),
)
cspd = c(3, 3)
cspd = cspd @ cspd.conj().T + 3 * np.eye(3)
add("cholesky_complex", jnp.linalg.cholesky, cspd)
add(
    "triangular_complex",
    lambda a, b: lax.linalg.triangular_solve(
        a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    ),
    c(3, 3) + 3 * np.eye(3),
    c(3, 2),
)
add("fft", jnp.fft.fft, c(8))
add("ifft2", jnp.fft.ifft2, c(4, 6))
add("rfft", jnp.fft.rfft, n(8))
add("rfft_odd", jnp.fft.rfft, n(7))
add("irfft", lambda x: jnp.fft.irfft(x, 8), c(5))
add("irfft_odd", lambda x: jnp.fft.irfft(x, 7), c(4))
add("rfft2", jnp.fft.rfft2, n(4, 6))
add("fft_filter", lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k)), n(8), n(8))
# control
add(
    "cond",
    lambda x, y: lax.cond(jnp.sum(x) > 0, lambda a, b: a * b, lambda a, b: jnp.sin(b) + a, x, y),
    n(3),
    n(3),
)
add(
    "switch",
    lambda x, i: lax.switch(i, [jnp.sin, lambda v: v * v, lambda v: 3 * v], x),
    n(3),
    np.int32(1),
)
add(
    "cond_tuple",
    lambda x, y: lax.cond(x[0] > y[0], lambda a, b: (a, a * b), lambda a, b: (jnp.exp(b), a), x, y),
    n(3),
    n(3),
)
add("fori", lambda x: lax.fori_loop(0, 5, lambda i, v: jnp.sin(v) * (i + 1), x), n(3))
add(
    "fori_invariant",
    lambda x, w: lax.fori_loop(0, 4, lambda i, v: jnp.tanh(w @ v) + i, x),
    n(3),
    n(3, 3),
)
add("scan_sum", lambda x: lax.scan(lambda s, v: (s + v * s, s), jnp.ones(()), x)[0], n(5))
add(
    "scan_rnn",
    lambda h, w, u, xs: lax.scan(lambda s, x: (jnp.tanh(w @ s + u @ x), s.sum()), h, xs),
    n(3),
    n(3, 3),
    n(3, 2),
    n(6, 2),
)
add(
    "scan_reverse",
    lambda h, xs: lax.scan(lambda s, x: (s * x, s), h, xs, reverse=True),
    n(2),
    n(4, 2),
)
add(
    "scan_nested",
    lambda h, xs: lax.scan(lambda s, x: lax.scan(lambda t, y: (jnp.sin(t * y), t), s, x), h, xs),
    n(2),
    n(3, 4, 2),
)
add(
    "scan_cond",
    lambda h, xs: lax.scan(
        lambda s, x: (lax.cond(x[0] > 0, lambda t: t * x, jnp.sin, s), s), h, xs
    ),
    n(2),
    n(4, 2),
)
add(
    "fori_dynamic_index",
    lambda x: lax.fori_loop(0, 4, lambda i, v: v.at[i].set(v[i] * v[i - 1]), x),
    n(5),
)
add("map", lambda xs: lax.map(lambda x: jnp.sin(x) * x.sum(), xs), n(3, 2))
add("associative_scan", lambda x: lax.associative_scan(jnp.multiply, x), n(7))
add("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), n(3))
add(
    "scan_unused",
    lambda h, xs, z: lax.scan(lambda s, x: ((s[0] * x, s[1] + 1), s[0]), (h, 0), xs)[0][0] + z,
    n(2),
    n(4, 2),
    n(2),
)


# models
def mlp(x, w1, b1, w2, y):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(jnp.tanh(x @ w1 + b1) @ w2) * y, -1))


add("mlp", mlp, n(5, 4), n(4, 6), n(6), n(6, 3), np.eye(3)[[0, 1, 2, 0, 1]])


def attention(x, q, k, v):
    return jax.nn.softmax((x @ q) @ (x @ k).T / 2.0) @ (x @ v)


add("attention", attention, n(5, 4), n(4, 4), n(4, 4), n(4, 4))


def layer_norm(x, g, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b


add("layer_norm", lambda x, g, b: jax.nn.gelu(layer_norm(x, g, b)), n(5, 4), n(4), n(4))


def cnn(x, k, w):
    h = jax.nn.relu(lax.conv(x, k, (1, 1), "SAME"))
    h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return h.reshape(x.shape[0], -1) @ w


add("cnn", cnn, n(2, 1, 6, 6), n(3, 1, 3, 3), n(27, 4))

A = n(4, 4) + 2 * np.eye(4)
S = n(4, 4)
S = S + S.T
add("lu", lambda a: jax.scipy.linalg.lu_factor(a)[0], A)
add("solve", jnp.linalg.solve, A, n(4, 2))
add("det", jnp.linalg.det, A)
add("inv", jnp.linalg.inv, A)
add("slogdet", lambda a: jnp.linalg.slogdet(a)[1], A)
add("eigh", lambda a: [jnp.linalg.eigh(a)[0], jnp.abs(jnp.linalg.eigh(a)[1])], S)
add("eigvalsh", jnp.linalg.eigvalsh, S)
add("lu_batch", lambda a: lax.linalg.lu(a)[0], np.stack([A, A.T]))
add("take_outside", lambda x, i: jnp.take(x, i, axis=0), n(5, 2), np.array([4, 9, -1, 5, -6, 0]))


def lowered(function, *arguments):
    """The HLO of a function, as JAX makes it for a processor."""
    with jax.enable_x64(True):
        traced = jax.jit(function, keep_unused=True).trace(*arguments)
        text = traced.lower(lowering_platforms=("cpu",)).compiler_ir("hlo").as_hlo_text()
    return hlo.parse(text)


def is_real_or_complex(x):
    return jnp.issubdtype(jnp.result_type(x), np.inexact)


def case(name):
    """A function of its real and complex arguments, all arguments, and the numbers of those."""
    function, arguments = FUNCTIONS[name]
    arguments = tuple(map(np.asarray, arguments))
    wrt = [k for k, x in enumerate(arguments) if is_real_or_complex(x)]

    def of_numbers(*numbers):
        given = dict(zip(wrt, numbers, strict=True))
        return function(*(given.get(k, x) for k, x in enumerate(arguments)))

    return of_numbers, function, arguments, wrt


def leaves(value):
    """The arrays of a value, in order."""
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in leaves(element)]
    return [np.asarray(value)]


def direction(x):
    """A random change of an array."""
    made = np.asarray(RANDOM.randn(*x.shape))
    return (made + 1j * RANDOM.randn(*x.shape) if x.dtype.kind == "c" else made).astype(x.dtype)


def assert_close(found, wanted):
    """Compare values leaf by leaf; those of f32 as closely as it rounds."""
    found, wanted = leaves(found), leaves(wanted)
    assert [x.shape for x in found] == [x.shape for x in wanted]
    for got, want in zip(found, wanted, strict=True):
        close = 2e-5 if got.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(got, want, rtol=close, atol=close)
