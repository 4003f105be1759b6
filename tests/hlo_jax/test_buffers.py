"""Buffers: donated, deleted, copied, shared, counted."""

import gc
import sys
from typing import Any

import numpy as np
import pytest


def test_donated_arrays_are_gone(jax: Any, jnp: Any, engine: str) -> None:
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(1000.0)
    before = x.unsafe_buffer_pointer()
    y = step(x)
    assert x.is_deleted()
    assert y[999] == 1000
    assert engine
    assert y.unsafe_buffer_pointer() == before, "the result takes the argument's memory"
    with pytest.raises(ValueError, match="deleted or donated"):
        step(x)


@pytest.mark.usefixtures("engine")
def test_donated_arrays_that_are_exchanged(jax: Any, jnp: Any) -> None:
    """Each result is the other's donor: none may be written over before it is read."""
    exchange = jax.jit(lambda x, y: (y, x), donate_argnums=(0, 1))
    x, y = exchange(jnp.arange(5.0), jnp.arange(5.0, 10.0))
    assert (x.tolist(), y.tolist()) == ([5, 6, 7, 8, 9], [0, 1, 2, 3, 4])


@pytest.mark.usefixtures("engine")
def test_a_donated_array_that_somebody_looks_at_is_copied(jax: Any, jnp: Any) -> None:
    x = jnp.arange(1000.0)
    seen = np.asarray(x)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert seen.tolist() == list(range(1000))
    assert y[999] == 1000


@pytest.mark.usefixtures("engine")
def test_an_array_can_not_be_donated_and_used(jax: Any, jnp: Any) -> None:
    add = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x = jnp.arange(3.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="use and donate the same buffer"):
        add(x, x)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.usefixtures("engine")
def test_memory_is_counted(jax: Any, jnp: Any) -> None:
    device = jax.devices()[0]
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    x = jnp.zeros(1000, np.float32)
    y = jax.jit(jnp.sin)(x)
    stats = device.memory_stats()
    assert stats["bytes_in_use"] - before == 8000
    assert stats["peak_bytes_in_use"] >= stats["bytes_in_use"]
    # Its share of the machine's memory.
    assert stats["bytes_reservable_limit"] == stats["bytes_limit"] > 1 << 28
    x.delete()
    del y
    gc.collect()
    assert device.memory_stats()["bytes_in_use"] == before


def test_a_numpy_array_that_looks_at_a_buffer_keeps_it(jnp: Any) -> None:
    x = jnp.arange(5.0)
    seen = np.asarray(x)
    x.delete()
    assert seen.tolist() == [0, 1, 2, 3, 4]


def test_an_array_of_the_host_is_read_where_it_lies(jax: Any) -> None:
    numbers = np.arange(1000, dtype=np.float32)
    before = sys.getrefcount(numbers)
    x = jax.device_put(numbers)
    assert x.unsafe_buffer_pointer() == numbers.ctypes.data
    assert float((x + 1)[999]) == 1000
    y = jax.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert y[3] == 6
    assert numbers[3] == 3, "what is donated is not the host's memory"
    del x
    gc.collect()
    assert sys.getrefcount(numbers) == before
    copied = jax.numpy.array(numbers)
    assert copied.unsafe_buffer_pointer() != numbers.ctypes.data


def test_dlpack_shares_memory(jax: Any, jnp: Any) -> None:
    numbers = np.arange(64, dtype=np.float32)[np.newaxis]
    x = jax.dlpack.from_dlpack(numbers)
    assert x.device.platform == "pyhlo"
    assert x.unsafe_buffer_pointer() == numbers.ctypes.data
    back = np.from_dlpack(jnp.sin(x))
    np.testing.assert_allclose(back, np.sin(numbers), rtol=1e-6)
    y = jnp.arange(4.0)
    assert np.from_dlpack(y).ctypes.data == y.unsafe_buffer_pointer()


def test_dlpack_copies_where_it_must(jnp: Any) -> None:
    numbers = np.arange(64, dtype=np.float32)
    copied = jnp.from_dlpack(numbers, copy=True)
    assert copied.unsafe_buffer_pointer() != numbers.ctypes.data
    np.testing.assert_array_equal(copied, numbers)
    unaligned = np.zeros(4 * 64 + 64, np.uint8)
    start = -unaligned.ctypes.data % 64 + 2
    odd = unaligned[start : start + 4 * 64].view(np.float32)
    odd[:] = numbers
    np.testing.assert_array_equal(jnp.from_dlpack(odd), numbers)
    with pytest.raises(ValueError, match="requires a copy"):
        jnp.from_dlpack(odd, copy=False)


def test_memory_that_came_in_is_given_back(jax: Any) -> None:
    numbers = np.arange(64, dtype=np.float32)
    before = sys.getrefcount(numbers)
    x = jax.dlpack.from_dlpack(numbers)
    assert sys.getrefcount(numbers) > before
    del x
    gc.collect()
    assert sys.getrefcount(numbers) == before


def test_copies_to_devices_and_memories(jax: Any, jnp: Any) -> None:
    first, second = jax.devices()[:2]
    x = jax.device_put(jnp.arange(3.0), first)
    y = jax.device_put(x, second)
    assert y.devices() == {second}
    assert y.tolist() == [0, 1, 2]
    there = jax.device_put(x, jax.sharding.SingleDeviceSharding(first, memory_kind="pinned_host"))
    assert there.sharding.memory_kind == "pinned_host"
    assert there.tolist() == [0, 1, 2]


@pytest.mark.usefixtures("engine")
def test_layouts(jax: Any) -> None:
    layouts = pytest.importorskip("jax.experimental.layout")
    Format, Layout = layouts.Format, layouts.Layout  # noqa: N806
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = Format(Layout((1, 0)), jax.sharding.SingleDeviceSharding(jax.devices()[0]))
    x = jax.device_put(numbers, turned)
    assert x.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(x, numbers)
    factors = np.array([[2], [3]], np.float32)
    y = jax.jit(lambda a: a * factors, in_shardings=turned, out_shardings=turned)(x)
    assert y.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(y, numbers * factors)
    np.testing.assert_array_equal(jax.jit(lambda a: a + a)(x), numbers * 2)


@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.usefixtures("engine")
def test_layouts_that_are_left_to_the_compiler(jax: Any, devices: int) -> None:
    layouts = pytest.importorskip("jax.experimental.layout")
    auto = layouts.Format(layouts.Layout.AUTO)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    turn = jax.jit(lambda a: (a.T, a + 1), in_shardings=auto, out_shardings=auto)
    compiled = turn.lower(jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=rows)).compile()
    orders = [made.layout.major_to_minor for made in compiled.output_formats]
    assert orders == [(1, 0), (0, 1)], "a transpose turns the layout, and moves nothing"
    turned, more = compiled(jax.device_put(x, rows))
    np.testing.assert_array_equal(turned, x.T)
    np.testing.assert_array_equal(more, x + 1)


def test_arrays_with_strides_come_in(jax: Any) -> None:
    numbers = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for view in (numbers[::-1], numbers[:, ::2], numbers.T, numbers[..., 1], numbers[:0]):
        np.testing.assert_array_equal(jax.device_put(view), view)
