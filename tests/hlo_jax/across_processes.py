"""A program of JAX that several processes run; each prints what it has.

usage: python across_processes.py ADDRESS COUNT NUMBER
"""

import socket
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


address, count, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with socket.create_server(("127.0.0.1", 0)) as found:
    host, port = found.getsockname()
jax.config.update("jax_cross_host_transfer_socket_address", f"{host}:{port}")
jax.config.update("jax_cross_host_transfer_transfer_size", 4096)
jax.distributed.initialize(address, count, number)
devices = len(jax.devices())
mesh = Mesh(np.array(jax.devices()), ("x",))
cut, whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (["x"], []))
numbers = np.arange(8 * devices, dtype=np.float32)
x = jax.make_array_from_callback(numbers.shape, cut, lambda index: numbers[index])


@jax.jit
def step(w, x):
    """A step of training: gradients are added up over all devices."""
    loss, slope = jax.value_and_grad(lambda w: jnp.mean((w * x - 3 * x) ** 2))(w)
    return loss, w - 1e-4 * slope


w = jax.device_put(jnp.float32(1), whole)
for _ in range(30):
    loss, w = step(w, x)
turned = jax.jit(lambda x: x.reshape(8, -1).T.reshape(-1), out_shardings=cut)(x)
ring = jax.jit(
    jax.shard_map(
        lambda x: jax.lax.ppermute(x, "x", [(d, (d + 1) % devices) for d in range(devices)]),
        mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"),
    )
)(x)  # fmt: skip
say(jax.process_index(), jax.process_count(), len(jax.local_devices()), devices)
say("sum", float(jax.jit(jnp.sum)(x)) == numbers.sum())
say("trained", abs(float(w) - 3) < abs(1 - 3), float(loss) >= 0)
gathered = multihost_utils.process_allgather(turned, tiled=True)
say("turned", np.array_equal(gathered, numbers.reshape(8, -1).T.reshape(-1)))
gathered = multihost_utils.process_allgather(ring, tiled=True)
say("ring", np.array_equal(gathered, np.roll(numbers, 8)))
say("told", multihost_utils.broadcast_one_to_all(np.int32(7 + number)))
heard = []
jax.debug.callback(heard.append, 0) if number else None  # its number differs among processes


@jax.jit
def telling(x):
    jax.debug.callback(lambda total: heard.append(float(total)), jnp.sum(x))
    return x + 1


jax.block_until_ready(telling(x))
jax.effects_barrier()
say("heard", len(heard) > 0)
first = jax.sharding.SingleDeviceSharding(jax.devices()[0])
of_one = jax.jit(lambda x: x + 1)(jax.device_put(np.float32(1), first))
say("of one process", [float(shard.data) for shard in of_one.addressable_shards])
last = jax.sharding.SingleDeviceSharding(jax.devices()[-1])
# Far more than goes at a time.
large = jax.device_put(np.arange(10_000, dtype=np.float32), first)
moved = jax.block_until_ready(jax.device_put(large, last))
there = [np.array_equal(shard.data, np.arange(10_000)) for shard in moved.addressable_shards]
say("sent to the last process", there)
multihost_utils.sync_global_devices("end")
