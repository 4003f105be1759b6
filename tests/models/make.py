"""Writes the models beside this file: HLO as JAX hands it to XLA, and what XLA CPU makes of it.

`<model>.hlo` is the text, `<model>.npz` the inputs `in0`, `in1`, ... and the outputs `out0`, ...,
flattened in JAX's order; of two devices `in0_d0`, `in0_d1` and so on. The tests read only these
files. Only this script needs JAX:

    python tests/models/make.py [MODEL ...]
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# Two devices for the data-parallel step, and its module as it is after partitioning.
DUMPS = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=2 "
    f"--xla_dump_to={DUMPS} --xla_dump_hlo_pass_re=spmd-partitioning"
)

HERE = Path(__file__).parent
Arrays = tuple[np.ndarray, ...]


def normal(seed: int, *shapes: tuple[int, ...]) -> Arrays:
    """Arrays of standard normal numbers, f32."""
    generator = np.random.default_rng(seed)
    return tuple(generator.standard_normal(shape).astype(np.float32) for shape in shapes)


def softmax_layer(x: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
    return jax.nn.softmax(x @ weights + bias)


def layer_norm(x: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def attention(x: jax.Array, into: jax.Array, out: jax.Array) -> jax.Array:
    """Causal self-attention with four heads; x: (batch, length, model)."""
    q, k, v = jnp.moveaxis((x @ into).reshape(*x.shape[:2], 3, 4, -1), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ out


def mlp_train_step(
    w1: jax.Array, w2: jax.Array, v1: jax.Array, v2: jax.Array, x: jax.Array, labels: jax.Array
) -> tuple[jax.Array, ...]:
    """One step of gradient descent with momentum, and the loss before it."""

    def loss(weights: tuple[jax.Array, jax.Array]) -> jax.Array:
        logits = jax.nn.gelu(x @ weights[0]) @ weights[1]
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
        return -chosen.mean()

    before, (g1, g2) = jax.value_and_grad(loss)((w1, w2))
    v1, v2 = 0.9 * v1 + g1, 0.9 * v2 + g2
    return w1 - 0.1 * v1, w2 - 0.1 * v2, v1, v2, before


def conv_net_gradient(
    image: jax.Array, kernel: jax.Array, depthwise: jax.Array, dense: jax.Array
) -> tuple[jax.Array, ...]:
    """Gradients of a strided, a dilated depthwise convolution, a maximum pool and a dense layer."""

    def score(kernel: jax.Array, depthwise: jax.Array, dense: jax.Array) -> jax.Array:
        labels = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(image, kernel, (2, 2), "SAME", dimension_numbers=labels)
        x = lax.conv_general_dilated(
            jax.nn.relu(x),
            depthwise,
            (1, 1),
            "SAME",
            rhs_dilation=(2, 2),
            dimension_numbers=labels,
            feature_group_count=x.shape[-1],
        )
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.tanh(x.reshape(x.shape[0], -1) @ dense).sum()

    return jax.grad(score, argnums=(0, 1, 2))(kernel, depthwise, dense)


def recurrent_scan(
    state: jax.Array, weights: jax.Array, inputs: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A recurrent network: a while loop that slices its inputs and stacks its outputs."""

    def cell(state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(state @ weights + x)
        return state, state.sum(-1)

    return lax.scan(cell, state, inputs)


def collatz(start: jax.Array) -> jax.Array:
    """Steps until each number has come down to 1, by a loop of unknown length."""

    def step(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        n, count = carry
        following = jnp.where(n % 2 == 0, n // 2, 3 * n + 1)
        return jnp.where(n == 1, n, following), count + (n != 1)

    return lax.while_loop(lambda carry: (carry[0] != 1).any(), step, (start, 0 * start))[1]


def sorting(x: jax.Array, keys: jax.Array) -> tuple[jax.Array, ...]:
    """A sort, a stable sort by key, the order, the largest three, and a running sum."""
    by_key = lax.sort((keys, x), num_keys=1)
    return (jnp.sort(x), *by_key, jnp.argsort(x), *lax.top_k(x, 3), jnp.cumsum(x, -1))


def random_numbers(key: jax.Array) -> tuple[jax.Array, ...]:
    """Threefry: bits, uniform numbers, normal numbers and a permutation."""
    a, b, c = jax.random.split(jax.random.wrap_key_data(key), 3)
    return (
        jax.random.bits(a, (5,)),
        jax.random.uniform(b, (3, 4)),
        jax.random.normal(c, (7,)),
        jax.random.permutation(a, 8),
    )


def embedding_gradient(table: jax.Array, tokens: jax.Array, up: jax.Array) -> tuple[jax.Array, ...]:
    """Rows gathered by token, and the gradient scattered back; repeated tokens add up."""
    rows, pull = jax.vjp(lambda table: table[tokens], table)
    return rows, *pull(up)


def spectrum(signal: jax.Array, taps: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A filter applied in the frequency domain, and the power of each frequency."""
    there = jnp.fft.rfft(signal) * jnp.fft.rfft(taps, signal.shape[-1])
    return jnp.fft.irfft(there), jnp.abs(there) ** 2


def mixed_precision(x: jax.Array, weights: jax.Array, scale: jax.Array) -> tuple[jax.Array, ...]:
    """Values rounded to bfloat16, 8-bit floats and 8-bit integers on their way."""
    product = jnp.dot(x.astype(jnp.bfloat16), weights.astype(jnp.bfloat16))
    quantized = jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8)
    accumulated = lax.dot(quantized, quantized.T, preferred_element_type=jnp.int32)
    return product, x.astype(jnp.float8_e4m3fn).astype(jnp.float32), accumulated


def data_parallel_step(
    weights: jax.Array, x: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """One step of linear regression; each device has half of the examples."""
    loss, gradient = jax.value_and_grad(lambda w: jnp.square(x @ w - y).mean())(weights)
    return weights - 0.1 * gradient, loss


# Each function with its inputs. Small ones: the files stay small, and the tests fast.
RAGGED = np.array([[3, 1, 2, 1, 3, 2], [9, 9, 0, -4, 0, 5]], np.int32)
MODELS: dict[Callable[..., object], Arrays] = {
    softmax_layer: normal(0, (8, 16), (16, 10), (10,)),
    layer_norm: normal(1, (4, 6, 32), (32,), (32,)),
    attention: normal(2, (2, 8, 32), (32, 96), (32, 32)),
    mlp_train_step: (
        *normal(3, (12, 24), (24, 5), (12, 24), (24, 5), (6, 12)),
        np.array([0, 4, 2, 2, 1, 3], np.int32),
    ),
    conv_net_gradient: normal(4, (2, 12, 12, 3), (3, 3, 3, 4), (3, 3, 1, 4), (36, 2)),
    recurrent_scan: normal(5, (3, 8), (8, 8), (10, 3, 8)),
    collatz: (np.array([1, 2, 3, 7, 27, 97], np.int32),),
    sorting: (*normal(6, (2, 6)), RAGGED),
    random_numbers: (np.array([0, 42], np.uint32),),
    embedding_gradient: (*normal(7, (10, 4)), RAGGED % 10, *normal(8, (2, 6, 4))),
    spectrum: normal(9, (3, 30), (3, 5)),
    mixed_precision: (*normal(10, (4, 8), (8, 8)), np.float32(0.02)),
}


def write(model: Callable[..., object], inputs: Arrays) -> None:
    """Write the module of one device, and its outputs."""
    lowered = jax.jit(model).lower(*inputs)
    text = lowered.compiler_ir(dialect="hlo").as_hlo_text(print_large_constants=True)
    save(model.__name__, text, arrays("in", inputs), arrays("out", lowered.compile()(*inputs)))


def write_partitioned() -> None:
    """Write the data-parallel step as each of its two devices runs it."""
    inputs = normal(11, (6, 2), (8, 6), (8, 2))
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    whole = NamedSharding(mesh, PartitionSpec())
    split = NamedSharding(mesh, PartitionSpec("batch"))
    shardings = (whole, split, split)
    step = jax.jit(data_parallel_step, in_shardings=shardings, out_shardings=(whole, whole))
    placed = jax.tree.map(jax.device_put, inputs, shardings)
    outputs = step(*placed)
    (dump,) = Path(DUMPS).glob("*data_parallel_step*after_spmd-partitioning*.txt")
    # The paths in the metadata are of the machine that ran this script.
    text = re.sub(
        r"(?m)(, metadata=\{[^}]*\}|^FileNames\n(.*\n)*?(?=%|ENTRY))", "", dump.read_text()
    )
    save("data_parallel_step", text, shards("in", placed), shards("out", outputs))


def arrays(prefix: str, tree: object) -> dict[str, np.ndarray]:
    """The arrays of a tree under their names in the file."""
    return {f"{prefix}{i}": np.asarray(array) for i, array in enumerate(jax.tree.leaves(tree))}


def shards(prefix: str, tree: object) -> dict[str, np.ndarray]:
    """What each device holds of the arrays of a tree, under its name in the file."""
    return {
        f"{prefix}{i}_d{device}": np.asarray(shard.data)
        for i, array in enumerate(jax.tree.leaves(tree))
        for device, shard in enumerate(array.addressable_shards)
    }


def save(name: str, text: str, *named: dict[str, np.ndarray]) -> None:
    """Write the two files of a model."""
    (HERE / f"{name}.hlo").write_text(text)
    np.savez_compressed(
        HERE / f"{name}.npz", **{k: v for arrays in named for k, v in arrays.items()}
    )


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for model, inputs in MODELS.items():
        if not chosen or model.__name__ in chosen:
            write(model, inputs)
    if not chosen or "data_parallel_step" in chosen:
        write_partitioned()
