"""Several devices beside XLA's CPU backend: the same JAX functions, by turns in one process.

    python -m benchmarks.collectives [--devices 2,4,8] [--bytes 1024,1048576] [--seconds 1]

Devices are threads for both. Each row has the least time of many calls, so that other work on the
machine matters less. A number of bytes is what each device brings. Rows that might not fit in half
of the memory that is available are left out, which a line tells.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

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

from hlo_tools.values.show import spelled_bytes  # noqa: E402
from interpreter.engine.memory import available_bytes  # noqa: E402

ROWS = PartitionSpec("x")
PLATFORMS = ("pyhlo", "cpu")


# Of a row's memory: its arguments here and on both platforms; its result on one while it is copied,
# and the copies of both platforms' while they are compared.
ARGUMENTS, RESULTS = 3, 3


class Row(NamedTuple):
    """A row.

    Attributes
    ----------
    make : gives a call on each platform.
    bytes : of memory that it takes.
    """

    name: str
    make: Callable[[], list[Callable[[], Any]]]
    bytes: int = 0


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


WIDTH, INNER, HEADS = 256, 1024, 8


def _layer(w: dict[str, Any], x: Any) -> Any:
    """A transformer's layer: attention and two products, each added to its input."""
    heads = [(x @ w[name]).reshape(*x.shape[:2], HEADS, -1) for name in ("q", "k", "v")]
    scores = jax.numpy.einsum("bqhd,bkhd->bhqk", heads[0], heads[1]) / (WIDTH / HEADS) ** 0.5
    mixed = jax.numpy.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), heads[2])
    x = x + mixed.reshape(x.shape) @ w["o"]
    return x + jax.nn.gelu(x @ w["in"]) @ w["out"]


def _layer_step(w: dict[str, Any], x: Any) -> Any:
    """A training step of the layer, which the partitioner divides."""
    gradient = jax.grad(lambda w: (_layer(w, x) ** 2).mean())(w)
    return jax.tree.map(lambda a, b: a - 0.01 * b, w, gradient)


def _layer_rows(meshes: Sequence[Mesh], devices: int) -> Iterator[Row]:
    """The layer's step: the batch is cut, or heads and inner columns are (Megatron)."""
    generator = np.random.default_rng(1)
    shapes = dict.fromkeys("qkvo", (WIDTH, WIDTH))
    shapes |= {"in": (WIDTH, INNER), "out": (INNER, WIDTH)}
    w = {n: generator.standard_normal(s).astype(np.float32) * 0.05 for n, s in shapes.items()}
    x = generator.standard_normal((devices, 64, WIDTH)).astype(np.float32)
    whole, columns = PartitionSpec(), PartitionSpec(None, "x")
    cut = {n: ROWS if n in ("o", "out") else columns for n in w}
    for name, of_weights, of_x in (
        ("data-parallel layer", dict.fromkeys(w, whole), ROWS),
        ("tensor-parallel layer", cut, whole),
    ):
        yield Row(name, partial(_layer_calls, meshes, of_weights, of_x, w, x))


def _layer_calls(
    meshes: Sequence[Mesh], of_weights: dict[str, Any], of_x: Any, w: dict[str, Any], x: Any
) -> list[Callable[[], Any]]:
    made: list[Callable[[], Any]] = []
    for mesh in meshes:
        placed = {n: NamedSharding(mesh, spec) for n, spec in of_weights.items()}
        step = jax.jit(_layer_step, out_shardings=placed)
        given = jax.device_put(w, placed), jax.device_put(x, NamedSharding(mesh, of_x))
        made.append(lambda step=step, given=given: jax.block_until_ready(step(*given)))
    return made


def _rows(devices: int, sizes: Sequence[int]) -> Iterator[Row]:
    """The rows of so many devices."""
    generator = np.random.default_rng(0)
    meshes = [Mesh(np.array(jax.devices(name)[:devices]), ("x",)) for name in PLATFORMS]
    for size in sizes:
        x = generator.random(devices * size // 4, np.float32)
        for name, function in _collectives(devices).items():
            given = meshes, function, (x,), (ROWS,), ROWS
            results = devices if name == "all-gather" else 1
            needed = devices * size * (ARGUMENTS + RESULTS * results)
            yield Row(f"{name}, {size:,} B", partial(_calls, *given), needed)
    w = [generator.random((512, 1024)).astype(np.float32) * 0.01 for _ in range(2)]
    w[1] = w[1].reshape(1024, 512)
    x = generator.random((32 * devices, 512)).astype(np.float32)
    whole = PartitionSpec()
    given = meshes, _step, (w, x), (whole, ROWS), whole
    yield Row("training step", partial(_calls, *given))
    yield from _layer_rows(meshes, devices)


def _calls(meshes: Sequence[Mesh], *given: Any) -> list[Callable[[], Any]]:
    return [_call(mesh, *given) for mesh in meshes]


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
    """The least time of each call, in seconds, while they take turns for some time.

    Raises
    ------
    AssertionError
        if the calls give different values.
    """
    _check(calls)
    times = [math.inf] * len(calls)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            times[k] = min(times[k], time.perf_counter() - begun)
    return times


def _check(calls: Sequence[Callable[[], Any]]) -> None:
    """That all calls give the same values."""
    first, *others = ([np.asarray(a) for a in jax.tree.leaves(call())] for call in calls)
    for other in others:
        for pair in zip(first, other, strict=True):
            # In parts: a comparison makes several arrays of each size.
            for parts in zip(*(np.array_split(a.reshape(-1), 64) for a in pair), strict=True):
                np.testing.assert_allclose(*parts, rtol=1e-2, atol=1e-3)


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
        for name, make, needed in _rows(devices, sizes):
            if needed > available_bytes() // 2:
                print(f"{devices:7}  {name:28} left out: it may take {spelled_bytes(needed)}")
                continue
            own, other = least(make(), given.seconds)
            ratios.append(other / own)
            row = f"{own * 1e3:10.3f}{other * 1e3:10.3f}{ratios[-1]:8.2f}"
            print(f"{devices:7}  {name:28}{row}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
