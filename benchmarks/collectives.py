"""Several devices beside XLA's CPU backend: the same JAX functions, by turns in one process.

    python -m benchmarks.collectives [--devices 2,4,8] [--bytes 1024,1048576] [--seconds 1]

Devices are threads for both. Each row has the least time of many calls, so that other work on the
machine matters less. A number of bytes is what each device brings.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MOST = 8
os.environ.update(
    JAX_PLATFORMS="pyhlo,cpu",
    PYHLO_JAX_DEVICES=str(MOST),
    PYHLO_JAX_ENGINE="c",
    XLA_FLAGS=f"--xla_force_host_platform_device_count={MOST}",
)

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

ROWS = PartitionSpec("x")
PLATFORMS = ("pyhlo", "cpu")


def _next(count: int) -> list[tuple[int, int]]:
    return [(k, (k + 1) % count) for k in range(count)]


def _collectives(count: int) -> dict[str, Callable[[Any], Any]]:
    """The functions of each device, of so many."""
    return {
        "all-reduce": lambda x: jax.lax.psum(x, "x"),
        "all-gather": lambda x: jax.lax.all_gather(x, "x", tiled=True),
        "all-to-all": lambda x: jax.lax.all_to_all(x, "x", 0, 0, tiled=True),
        "permute": lambda x: jax.lax.ppermute(x, "x", _next(count)),
        "x * 2 + 1": lambda x: x * 2 + 1,
    }


def _step(w: Any, x: Any) -> Any:
    """A training step of two layers, whose rows are divided among devices."""

    def loss(w: Any) -> Any:
        return ((jax.numpy.tanh(x @ w[0]) @ w[1]) ** 2).mean()

    gradient = jax.lax.pmean(jax.grad(loss)(w), "x")
    return [a - 0.01 * b for a, b in zip(w, gradient, strict=True)]


def _calls(devices: int, sizes: Sequence[int]) -> Iterator[tuple[str, list[Callable[[], Any]]]]:
    """Each row: its name, and a call on each platform."""
    generator = np.random.default_rng(0)
    meshes = [Mesh(np.array(jax.devices(name)[:devices]), ("x",)) for name in PLATFORMS]
    for size in sizes:
        x = generator.random(devices * size // 4).astype(np.float32)
        for name, function in _collectives(devices).items():
            yield f"{name}, {size:,} B", [_call(m, function, (x,), (ROWS,), ROWS) for m in meshes]
    w = [generator.random((512, 1024)).astype(np.float32) * 0.01 for _ in range(2)]
    w[1] = w[1].reshape(1024, 512)
    x = generator.random((32 * devices, 512)).astype(np.float32)
    whole = PartitionSpec()
    yield "training step", [_call(m, _step, (w, x), (whole, ROWS), whole) for m in meshes]


def _call(
    mesh: Mesh, function: Callable[..., Any], arguments: Sequence[Any], specs: Any, result: Any
) -> Callable[[], Any]:
    called = jax.jit(
        jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=result, check_vma=False)
    )
    given = [
        jax.tree.map(lambda a, s=spec: jax.device_put(a, NamedSharding(mesh, s)), argument)
        for argument, spec in zip(arguments, specs, strict=True)
    ]
    return lambda: jax.block_until_ready(called(*given))


def least(calls: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """The least time of each call, in seconds, while they take turns for some time."""
    for call in calls:
        call()
    times = [math.inf] * len(calls)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            times[k] = min(times[k], time.perf_counter() - begun)
    return times


def main() -> None:
    """Print a row for each function and number of devices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", default="2,4,8")
    parser.add_argument("--bytes", default="1024,1048576,67108864")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    given = parser.parse_args()
    sizes = [int(size) for size in given.bytes.split(",")]
    ratios: list[float] = []
    print(f"{'devices':>7}  {'':28}{'PyHLO ms':>10}{'XLA ms':>10}{'ratio':>8}")
    for devices in map(int, given.devices.split(",")):
        for name, calls in _calls(devices, sizes):
            own, other = least(calls, given.seconds)
            ratios.append(other / own)
            row = f"{own * 1e3:10.3f}{other * 1e3:10.3f}{ratios[-1]:8.2f}"
            print(f"{devices:7}  {name:28}{row}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
