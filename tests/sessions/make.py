"""Makes the modules of the sessions: what JAX hands to XLA, dumped before optimizations.

python tests/sessions/make.py
"""

import os
import re
import tempfile
from pathlib import Path

DUMPS = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = f"--xla_dump_to={DUMPS} --xla_dump_hlo_as_text"

import jax  # noqa: E402  it reads the flags
import jax.numpy as jnp  # noqa: E402

HERE = Path(__file__).parent


def mean_of_sum(x, y):
    squared = x * x
    tripled = 3.0 * y
    return jnp.mean(squared + tripled)


def sum_of_products(x, y, z):
    return jnp.sum(x + y * z)


def mnist_step(weights, biases, images, labels):
    def loss(weights, biases):
        hidden = jax.nn.relu(images @ weights[0] + biases[0])
        scores = jax.nn.log_softmax(hidden @ weights[1] + biases[1])
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))

    value, gradients = jax.value_and_grad(loss, argnums=(0, 1))(weights, biases)
    step = jax.tree.map(lambda w, g: w - 0.1 * g, (weights, biases), gradients)
    return step, value


def dump(function, *shapes):
    jax.jit(function).lower(*shapes).compile()
    name = f"*jit_{function.__name__}.*before_optimizations.txt"
    (path,) = Path(DUMPS).glob(name)
    text = re.sub(r'"[^"\s]*/(\w+\.py)"', r'"\1"', path.read_text())
    (HERE / f"{function.__name__}.hlo").write_text(text)


def f32(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.float32)


if __name__ == "__main__":
    dump(mean_of_sum, f32(1024), f32(1024))
    dump(sum_of_products, f32(64, 32), f32(64, 32), f32(64, 32))
    dump(
        mnist_step,
        (f32(784, 64), f32(64, 10)),
        (f32(64), f32(10)),
        f32(32, 784),
        jax.ShapeDtypeStruct((32,), jnp.int32),
    )
