"""Programs for several devices, divided by a partitioner and run at the same time."""

from typing import Any

import numpy as np
import pytest

import emit_c
import hlo
import hlo_jax
from optimizer.log import Log
from optimizer.partitioning.spmd_partitioning import SpmdPartitioning
from tests.sharded import SHARDED, X

NUMBERS = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh(jax: Any, engine: str) -> Any:
    assert engine
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


def test_a_program_without_results(jax: Any, mesh: Any) -> None:
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    assert jax.jit(lambda _: (), in_shardings=rows, keep_unused=True)(NUMBERS) == ()


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


def test_explain_says_what_runs_on_several_devices(jax: Any, mesh: Any, engine: str) -> None:
    def over_devices(x: Any) -> Any:
        return x.sum(0)

    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    called = jax.jit(over_devices, in_shardings=rows)
    for _ in range(5):
        np.testing.assert_array_equal(called(NUMBERS), NUMBERS.sum(0))
    (line,) = [s for s in hlo_jax.explain().splitlines() if "over_devices" in s]
    c = 5 if engine == "c" else 0
    assert line.split() == ["jit_over_devices", engine, "5", str(c)]


def test_programs_of_cuda_exchange_arrays(jax: Any, mesh: Any) -> None:
    def on_kernels(x: Any) -> Any:
        return x.sum(0)

    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    options = {"pyhlo_engine": "cuda-host"}
    called = jax.jit(on_kernels, in_shardings=rows, compiler_options=options)
    np.testing.assert_array_equal(called(NUMBERS), NUMBERS.sum(0))
    (line,) = [s for s in hlo_jax.explain().splitlines() if "on_kernels" in s]
    assert line.split()[1] == "cuda-host"


def test_a_loop_with_a_collective(jax: Any, mesh: Any) -> None:
    spec = jax.sharding.PartitionSpec

    def steps(x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return x / jax.lax.psum(x.sum(), "x") + jax.lax.axis_index("x")

        return jax.lax.fori_loop(0, 3, step, x)

    called = jax.jit(jax.shard_map(steps, mesh=mesh, in_specs=spec("x"), out_specs=spec("x")))
    wanted = NUMBERS
    for _ in range(3):
        wanted = wanted / wanted.sum() + np.repeat(np.arange(4), 2)[:, np.newaxis]
    np.testing.assert_allclose(called(NUMBERS), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", SHARDED)
def test_a_program_that_pyhlo_divides_itself(name: str) -> None:
    divided = SpmdPartitioning().run(hlo.parse(SHARDED[name].text), Log())
    for value in emit_c.compile(divided)(per_device=[(X,)] * 8):
        np.testing.assert_equal(value, SHARDED[name].value(X))


def test_devices_that_never_meet(jax: Any, mesh: Any) -> None:
    """A collective in a branch that only some devices take."""
    spec = jax.sharding.PartitionSpec

    def branch(x: Any) -> Any:
        return jax.lax.cond(
            jax.lax.axis_index("x") < 2, lambda x: jax.lax.psum(x, "x"), lambda x: x + 0, x
        )

    called = jax.shard_map(
        branch, mesh=mesh, in_specs=spec("x"), out_specs=spec("x"), check_vma=False
    )
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"ABORTED.*HLO117(.|\n)*in the program"):
        jax.jit(called)(NUMBERS)


def test_asynchronous_collectives(jax: Any, jnp: Any, engine: str) -> None:
    """They came with StableHLO 1.14: jaxlib sends them to plugins that say they read so new one."""
    parallel = pytest.importorskip("jax._src.lax.parallel")
    if not hasattr(parallel, "psum_start"):
        pytest.skip("this release of JAX has none")
    axis = jax.sharding.AxisType.Explicit
    mesh = jax.make_mesh((2,), ("i",), axis_types=(axis,), devices=jax.devices()[:2])
    with jax.set_mesh(mesh):

        @jax.jit
        @jax.shard_map(out_specs=(jax.P("i"), jax.P()))
        def exchange(x: Any) -> Any:
            turned = parallel.ppermute_start(x, "i", [(0, 1), (1, 0)])
            total = parallel.psum_start(x, "i")
            return turned.done(), total.done()

        turned, total = exchange(jnp.arange(4.0, out_sharding=jax.P("i")))
    assert engine
    assert turned.tolist() == [2, 3, 0, 1]
    assert total.tolist() == [2, 4]


def test_a_device_that_fails_ends_the_others(jax: Any, mesh: Any) -> None:
    """They wait for it in a sum."""
    spec = jax.sharding.PartitionSpec

    def told(number: Any) -> Any:
        if number == 2:
            raise ValueError("device two fails")
        return np.float32(number)

    def call(x: Any) -> Any:
        shape = jax.ShapeDtypeStruct((), np.float32)
        number = jax.pure_callback(told, shape, jax.lax.axis_index("x"))
        return jax.lax.psum(x + number, "x")

    called = jax.shard_map(call, mesh=mesh, in_specs=spec("x"), out_specs=spec(), check_vma=False)
    with pytest.raises(jax.errors.JaxRuntimeError, match="device two fails"):
        jax.jit(called)(NUMBERS)


def test_results_that_jax_leaves_open_have_the_sharding_that_was_chosen(
    jax: Any, mesh: Any
) -> None:
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))

    def both(x: Any) -> Any:
        return x.sum(0), 2 * x

    def first_six(x: Any) -> Any:
        return x[:6]

    sums, doubled = jax.jit(both)(jax.device_put(NUMBERS, rows))
    assert doubled.sharding.is_equivalent_to(rows, 2)
    assert sums.sharding.is_fully_replicated
    # Six rows can't be cut into four, so a result of six rows is whole.
    six = jax.jit(first_six)(jax.device_put(NUMBERS, rows))
    assert six.sharding.is_fully_replicated


def test_sums_that_nobody_has_added_up(jax: Any, jnp: Any, engine: str) -> None:
    """Devices have summands of a product, and of twice the product."""
    axis, spec = jax.sharding.AxisType.Explicit, jax.P
    mesh = jax.make_mesh((2,), ("i",), axis_types=(axis,), devices=jax.devices()[:2])
    with jax.set_mesh(mesh):
        x = jnp.arange(8.0).reshape(2, 4, out_sharding=spec(None, "i"))
        y = jnp.arange(12.0).reshape(4, 3, out_sharding=spec("i", None))

        @jax.jit
        def product(x: Any, y: Any) -> Any:
            z = jnp.dot(x, y, out_sharding=spec(unreduced={"i"}))
            return z, jax.sharding.reshard(z + z, spec())

        summands, twice = product(x, y)
    assert engine
    left, right = np.asarray(x), np.asarray(y)
    np.testing.assert_array_equal(twice, 2 * left @ right)
    for k, shard in enumerate(summands.addressable_shards):
        part = slice(2 * k, 2 * k + 2)
        np.testing.assert_array_equal(shard.data, left[:, part] @ right[part])


def test_a_function_that_its_user_divides(jax: Any, jnp: Any, mesh: Any) -> None:
    """Each device adds its part up, and then all devices' sums."""
    module = pytest.importorskip("jax.experimental.custom_partitioning")

    @module.custom_partitioning
    def total(x: Any) -> Any:
        return jnp.sum(x, 0)

    def partition(mesh: Any, given: Any, result: Any) -> Any:
        def on_parts(x: Any) -> Any:
            return jax.lax.psum(jnp.sum(x, 0), "x")

        return mesh, on_parts, result.sharding, (given[0].sharding,)

    total.def_partition(partition, sharding_rule="i j -> j", reduction_factors=("i",))
    seen: list[Any] = []

    def twice(x: Any) -> Any:
        jax.debug.inspect_array_sharding(2 * x, callback=seen.append)
        return total(2 * x)

    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    made = jax.jit(twice)(jax.device_put(NUMBERS, rows))
    np.testing.assert_array_equal(made, 2 * NUMBERS.sum(0))
    assert seen[0].is_equivalent_to(rows, 2)
