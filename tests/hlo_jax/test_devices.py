"""Programs for several devices, divided by XLA's partitioner and run in lockstep."""

import gc
from typing import Any

import numpy as np
import pytest

import hlo_jax

NUMBERS = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh(jax: Any) -> Any:
    return jax.sharding.Mesh(np.array(jax.devices()), ("x",))


def test_sharded_arguments(jax: Any, mesh: Any) -> None:
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    sums, more = jax.jit(lambda a: (a.sum(0), a + 1), in_shardings=rows)(NUMBERS)
    np.testing.assert_array_equal(sums, NUMBERS.sum(0))
    np.testing.assert_array_equal(more, NUMBERS + 1)
    assert len(more.sharding.device_set) == 4
    assert more.addressable_shards[1].data.shape == (2, 4)


def test_collectives(jax: Any, mesh: Any) -> None:
    spec = jax.sharding.PartitionSpec
    total = jax.shard_map(
        lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec()
    )
    np.testing.assert_array_equal(jax.jit(total)(NUMBERS), NUMBERS.reshape(4, 2, 4).sum(0))


def test_donation_on_several_devices(jax: Any, mesh: Any) -> None:
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    x = jax.device_put(NUMBERS, rows)
    y = jax.jit(lambda a: a * 2, donate_argnums=0, out_shardings=rows)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(y, NUMBERS * 2)


def test_each_device_knows_its_number(jax: Any, mesh: Any) -> None:
    spec = jax.sharding.PartitionSpec
    numbers = jax.shard_map(
        lambda: jax.lax.axis_index("x")[None], mesh=mesh, in_specs=(), out_specs=spec("x")
    )
    assert jax.jit(numbers)().tolist() == [0, 1, 2, 3]


def test_devices_exchange_shards(jax: Any, mesh: Any) -> None:
    spec = jax.sharding.PartitionSpec
    shift = jax.shard_map(
        lambda x: (
            jax.lax.ppermute(x, "x", [(k, (k + 1) % 4) for k in range(4)]),
            jax.lax.all_to_all(x, "x", 1, 0, tiled=True),
        ),
        mesh=mesh, in_specs=spec("x"), out_specs=(spec("x"), spec("x")),
    )  # fmt: skip
    shifted, turned = jax.jit(shift)(NUMBERS)
    np.testing.assert_array_equal(shifted, np.roll(NUMBERS, 2, axis=0))
    np.testing.assert_array_equal(turned, NUMBERS.T.reshape(4, 8).reshape(32, 1))


def test_callbacks_see_the_whole_array_or_their_device_s_part(jax: Any, mesh: Any) -> None:
    seen: dict[str, list[list[float]]] = {"whole": [], "parts": []}

    def tell(x: Any) -> Any:
        jax.debug.callback(lambda a: seen["whole"].append(a.tolist()), x)
        jax.debug.callback(lambda a: seen["parts"].append(a.tolist()), x, partitioned=True)
        return x + 1

    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    jax.jit(tell, in_shardings=rows)(np.arange(4.0, dtype=np.float32)).block_until_ready()
    jax.effects_barrier()
    assert seen["whole"] == [[0, 1, 2, 3]]
    assert sorted(seen["parts"]) == [[0], [1], [2], [3]]


@pytest.mark.parametrize("engine", ["c", "auto"])
def test_several_devices_are_interpreted_and_explain_says_why(
    jax: Any, mesh: Any, engine: str
) -> None:
    def over_devices(x: Any) -> Any:
        return x.sum(0)

    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    options = {"pyhlo_engine": engine}
    called = jax.jit(over_devices, in_shardings=rows, compiler_options=options)
    for _ in range(5):
        np.testing.assert_array_equal(called(NUMBERS), NUMBERS.sum(0))
    (line,) = [s for s in hlo_jax.explain().splitlines() if "over_devices" in s]
    assert line.split()[1] == "interpreter"
    assert "compiled programs are for one device" in line
    del called
    jax.clear_caches()
    gc.collect()
