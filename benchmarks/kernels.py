"""The kernels that compiled code is measured on: one idea each, in plain JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

if TYPE_CHECKING:
    from collections.abc import Callable

Arrays = Any
NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


class Kernel(NamedTuple):
    """A function with the shapes of its arguments, as HLO writes them.

    Attributes
    ----------
    by_hand : the same in NumPy, where that is a line or two.
    high : integers are drawn below it.
    """

    function: Callable[..., Any]
    shapes: tuple[str, ...]
    by_hand: Callable[..., Any] | None = None
    high: int = 100

    def arguments(self) -> list[Arrays]:
        """Arrays, always the same ones."""
        generator = np.random.default_rng(0)
        return [_array(text, self.high, generator) for text in self.shapes]


_INTEGERS = {"s8": np.int8, "s32": np.int32, "u32": np.uint32, "s64": np.int64}
_FLOATS = {"bf16": jnp.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64}


def _array(text: str, high: int, generator: np.random.Generator) -> Arrays:
    kind, _, rest = text.rstrip("]").partition("[")
    dims = tuple(int(n) for n in rest.split(",") if n)
    if kind in _INTEGERS:
        return np.asarray(generator.integers(0, high, dims), _INTEGERS[kind])
    if kind == "c64":
        return generator.standard_normal((*dims, 2), np.float32).view(np.complex64)[..., 0]
    return generator.standard_normal(dims).astype(_FLOATS[kind])


def layer_norm(x: Arrays, scale: Arrays, bias: Arrays) -> Arrays:
    """Rows of mean 0 and variance 1, scaled and moved."""
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def batch_norm(x: Arrays, scale: Arrays, bias: Arrays) -> Arrays:
    """The same of the features of images."""
    mean = x.mean((0, 1, 2))
    variance = jnp.square(x).mean((0, 1, 2)) - jnp.square(mean)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def adam(p: Arrays, m: Arrays, v: Arrays, g: Arrays) -> Arrays:
    """A step of the optimizer (Kingma and Ba, 2015)."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


def dot_of_bytes(x: Arrays, y: Arrays) -> Arrays:
    """A product of s8 that is summed up in s32."""
    return lax.dot(x, y, preferred_element_type=jnp.int32)


def attention(q: Arrays, k: Arrays, v: Arrays) -> Arrays:
    """Attention of all heads at once."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.float32(8)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def convolution(
    stride: int = 1, groups: int = 1, labels: tuple[str, str, str] = NHWC
) -> Callable[..., Arrays]:
    """A convolution as a function of an image and a kernel."""
    return lambda x, w: lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=labels, feature_group_count=groups
    )


def _transposed(x: Arrays, w: Arrays) -> Arrays:
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NHWC)


def volume(x: Arrays, w: Arrays) -> Arrays:
    """A convolution in three dimensions."""
    labels = ("NDHWC", "DHWIO", "NDHWC")
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=labels)


def update_rows(x: Arrays, row: Arrays) -> Arrays:
    """A loop that replaces each row."""

    def iteration(i: Arrays, x: Arrays) -> Arrays:
        return lax.dynamic_update_slice(x, (row * i)[None], (i, 0))

    return lax.fori_loop(0, x.shape[0], iteration, x)


def recurrence(h: Arrays, w: Arrays) -> Arrays:
    """A hundred steps of a recurrent network."""

    def step(h: Arrays, _: None) -> tuple[Arrays, Arrays]:
        h = jnp.tanh(h @ w / 16)  # less, and it would be chaotic
        return h, h

    return lax.scan(step, h, None, length=100)


def max_pool(x: Arrays) -> Arrays:
    """The largest of 2 x 2 pixels."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def _elementwise() -> dict[str, Kernel]:
    kernels: dict[str, Kernel] = {}
    for size in ("10000", "1000000", "10000000"):
        kernels[f"exp {size}"] = Kernel(jnp.exp, (f"f32[{size}]",), np.exp)
        kernels[f"sum(x+y*z) {size}"] = Kernel(
            lambda x, y, z: (x + y * z).sum(),
            (f"f32[{size}]",) * 3,
            lambda x, y, z: (x + y * z).sum(),
        )
    million = ("f32[1000,1000]",)
    for name, function in {
        "tanh": jnp.tanh,
        "log(x*x)": lambda x: jnp.log(x * x),
        "erf": jax.scipy.special.erf,
        "gelu": lambda x: jax.nn.gelu(x, approximate=False),
        "sigmoid chain": lambda x: jnp.tanh(jnp.log(1 + jnp.exp(x))) * x,
        "sin": jnp.sin,
    }.items():
        kernels[name] = Kernel(function, million)
    kernels["adam"] = Kernel(adam, million * 4)
    kernels["gelu bf16"] = Kernel(jax.nn.gelu, ("bf16[1000,1000]",))
    kernels["transpose"] = Kernel(lambda x: x.T + 1, ("f32[2000,2000]",), lambda x: x.T + 1)
    kernels["transpose 4d"] = Kernel(lambda x: x.transpose(0, 2, 1, 3) * 2, ("f32[8,128,12,64]",))
    return kernels


def _reductions() -> dict[str, Kernel]:
    norm = ("f32[1000]", "f32[1000]")
    return {
        "softmax 100x100": Kernel(jax.nn.softmax, ("f32[100,100]",)),
        "softmax": Kernel(jax.nn.softmax, ("f32[1000,1000]",)),
        "softmax bf16": Kernel(jax.nn.softmax, ("bf16[1000,1000]",)),
        "softmax 1e7": Kernel(jax.nn.softmax, ("f32[10000,1000]",)),
        "layer norm 10x1000": Kernel(layer_norm, ("f32[10,1000]", *norm)),
        "layer norm": Kernel(layer_norm, ("f32[1000,1000]", *norm)),
        "layer norm bf16": Kernel(layer_norm, ("bf16[1000,1000]", "bf16[1000]", "bf16[1000]")),
        "batch norm": Kernel(batch_norm, ("f32[16,28,28,64]", "f32[64]", "f32[64]")),
        "sum of columns": Kernel(lambda x: x.sum(0), ("f32[1000,1000]",), lambda x: x.sum(0)),
        "sum of the middle": Kernel(lambda x: x.sum(1), ("f32[100,100,100]",)),
        "argmax": Kernel(lambda x: x.argmax(-1), ("f32[1000,1000]",), lambda x: x.argmax(-1)),
        "cumsum": Kernel(lambda x: x.cumsum(-1), ("f32[1000,1000]",), lambda x: x.cumsum(-1)),
        "cumsum of one row": Kernel(jnp.cumsum, ("f32[100000]",), np.cumsum),
        "max pool": Kernel(max_pool, ("f32[8,56,56,64]",)),
        "max pool gradient": Kernel(jax.grad(lambda x: max_pool(x).sum()), ("f32[8,56,56,64]",)),
    }


def _contractions() -> dict[str, Kernel]:
    kernels = {
        f"dot {n}": Kernel(jnp.dot, (f"f32[{n},{n}]",) * 2, np.dot) for n in (64, 256, 512, 1024)
    }
    kernels["dot f64 512"] = Kernel(jnp.dot, ("f64[512,512]",) * 2, np.dot)
    kernels["dot bf16 512"] = Kernel(jnp.dot, ("bf16[512,512]",) * 2)
    kernels["dot transposed 512"] = Kernel(lambda x, y: x.T @ y.T, ("f32[512,512]",) * 2)
    kernels["matrix by vector"] = Kernel(jnp.dot, ("f32[4096,4096]", "f32[4096]"), np.dot)
    kernels["vector by matrix bf16"] = Kernel(jnp.dot, ("bf16[1,4096]", "bf16[4096,4096]"))
    kernels["dense layer"] = Kernel(
        lambda x, w, b: jax.nn.relu(x @ w + b), ("f32[128,512]", "f32[512,512]", "f32[512]")
    )
    kernels["few rows bf16"] = Kernel(lambda x, w: x @ w.T, ("bf16[4,2048]", "bf16[2048,2048]"))
    kernels["dot of a batch"] = Kernel(jnp.matmul, ("f32[24,128,64]", "f32[24,64,128]"), np.matmul)
    kernels["dot of many small"] = Kernel(jnp.matmul, ("f32[1000,8,8]",) * 2, np.matmul)
    kernels["dot s8 512"] = Kernel(dot_of_bytes, ("s8[512,512]",) * 2)
    kernels["dot s32 256"] = Kernel(jnp.dot, ("s32[256,256]",) * 2)
    kernels["attention"] = Kernel(attention, ("f32[2,8,128,64]",) * 3)
    image = "f32[8,28,28,64]"
    kernels["conv 3x3"] = Kernel(convolution(), (image, "f32[3,3,64,64]"))
    kernels["conv 1x1"] = Kernel(convolution(), (image, "f32[1,1,64,128]"))
    kernels["conv 3x3 stride 2"] = Kernel(convolution(2), (image, "f32[3,3,64,128]"))
    kernels["conv 7x7 stride 2"] = Kernel(convolution(2), ("f32[2,112,112,3]", "f32[7,7,3,64]"))
    kernels["conv 3x3 NCHW"] = Kernel(
        convolution(labels=NCHW), ("f32[8,64,28,28]", "f32[64,64,3,3]")
    )
    kernels["conv depthwise"] = Kernel(convolution(groups=64), (image, "f32[3,3,1,64]"))
    kernels["conv depthwise bf16 NCHW"] = Kernel(
        convolution(groups=128, labels=NCHW), ("bf16[2,128,56,56]", "bf16[128,1,3,3]")
    )
    kernels["conv 32 groups"] = Kernel(
        convolution(groups=32), ("f32[1,28,28,256]", "f32[3,3,8,256]")
    )
    kernels["conv 3x3 bf16"] = Kernel(convolution(), ("bf16[1,56,56,64]", "bf16[3,3,64,64]"))
    kernels["conv to 3 features"] = Kernel(convolution(), ("f32[1,128,128,32]", "f32[3,3,32,3]"))
    kernels["conv transposed"] = Kernel(_transposed, ("f32[1,28,28,64]", "f32[3,3,64,64]"))
    kernels["conv 3d"] = Kernel(volume, ("f32[1,16,28,28,32]", "f32[3,3,3,32,32]"))
    kernels["conv gradients"] = Kernel(
        jax.grad(lambda x, w: jnp.square(convolution()(x, w)).sum(), (0, 1)),
        (image, "f32[3,3,64,64]"),
    )
    return kernels


def _movements() -> dict[str, Kernel]:
    return {
        "sort": Kernel(jnp.sort, ("f32[1000000]",), np.sort),
        "sort rows bf16": Kernel(jnp.sort, ("bf16[256,4096]",)),
        "argsort": Kernel(jnp.argsort, ("f32[1000000]",), np.argsort),
        "top-k": Kernel(lambda x: lax.top_k(x, 16), ("f32[50000]",)),
        "gather rows": Kernel(
            lambda x, i: x[i], ("f32[10000,128]", "s32[10000]"), lambda x, i: x[i], 10000
        ),
        "scatter-add rows": Kernel(
            lambda x, i, u: x.at[i].add(u),
            ("f32[10000,128]", "s32[10000]", "f32[10000,128]"),
            high=10000,
        ),
        "concatenate": Kernel(
            lambda x, y: jnp.concatenate([x, y], 1) * 2, ("f32[1000,500]", "f32[1000,500]")
        ),
        "first columns": Kernel(lambda x: x[:, :2], ("f32[4000,512]",), lambda x: x[:, :2].copy()),
        "pad": Kernel(lambda x: jnp.pad(x, 2) + 1, ("f32[1000,1000]",)),
        "threefry": Kernel(
            lambda key: jax.random.bits(jax.random.wrap_key_data(key), (1000000,)), ("u32[2]",)
        ),
        "normal": Kernel(
            lambda key: jax.random.normal(jax.random.wrap_key_data(key), (1000000,)), ("u32[2]",)
        ),
        "update rows in a loop": Kernel(update_rows, ("f32[1000,1000]", "f32[1000]")),
        "recurrence": Kernel(recurrence, ("f32[16,64]", "f32[64,64]")),
        "count to 10000": Kernel(
            lambda n: lax.while_loop(lambda i: i < 10000, lambda i: i + jnp.maximum(n, 1), 0),
            ("s32[]",),
            high=2,
        ),
    }


def kernels() -> dict[str, Kernel]:
    """All of them, by name."""
    return {**_elementwise(), **_reductions(), **_contractions(), **_movements()}
