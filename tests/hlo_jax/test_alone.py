"""`JAX_PLATFORMS=pyhlo` alone: whoever asks for XLA's CPU finds it, and the default stays PyHLO."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("jax")

CALLBACKS = """
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import io_callback

seen = []

@jax.jit
def step(x):
    jax.debug.print("x = {}", x, ordered=True)
    jax.debug.callback(lambda a: seen.append(float(a)), x + 1)
    io_callback(lambda a: seen.append(float(a)), None, x + 2, ordered=True)
    io_callback(lambda a: seen.append(float(a)), None, x + 3, ordered=True)
    return jax.pure_callback(lambda a: np.square(a), jax.ShapeDtypeStruct((), x.dtype), x)

print(step(jnp.float32(3)))
jax.effects_barrier()
seen.remove(4.0)  # it came in any order
print(seen)
jax.debug.print("eager {}", jnp.ones(2))
"""

DEVICES = """
import jax
print([d.platform for d in jax.devices("cpu")])
print([d.platform for d in jax.devices()], jax.default_backend())
x = jax.device_put(1.0, jax.devices("cpu")[0])
print((x + 1).devices() == set(jax.devices("cpu")))
"""

# PyHLO starts within the first computation.
BRANCHES = """
import jax
print(float(jax.lax.platform_dependent(1.0, cpu=lambda x: x + 1, default=lambda x: x + 2)))
"""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (CALLBACKS, "x = 3.0\n9.0\n[5.0, 6.0]\neager [1. 1.]\n"),
        (DEVICES, "['cpu']\n['pyhlo'] pyhlo\nTrue\n"),
        (BRANCHES, "2.0\n"),
    ],
)
def test_pyhlo_alone(script: str, expected: str) -> None:
    environment = {**os.environ, "JAX_PLATFORMS": "pyhlo", "PYHLO_JAX_DEVICES": "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == expected, done.stderr[-2000:]
