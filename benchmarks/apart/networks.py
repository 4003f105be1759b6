"""Graphs, tables, sorting and searching."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any


@program("f32[800,32]", "s32[6000]", "s32[6000]", "f32[32,32]", high=800)
def messages_of_means(x: Array, source: Array, target: Array, w: Array) -> Array:
    """A layer that takes the mean over neighbours."""
    total = jnp.zeros((800, 32)).at[target].add(x[source])
    degree = jnp.zeros(800).at[target].add(1.0)
    return jax.nn.relu(x + total / jnp.maximum(degree, 1)[:, None] @ w)


@program("f32[500,16]", "s32[4000]", "s32[4000]", "f32[32]", high=500)
def attention_over_edges(x: Array, source: Array, target: Array, a: Array) -> Array:
    """Weights of edges, normalized at each node."""
    score = jax.nn.leaky_relu(jnp.concatenate([x[source], x[target]], 1) @ a)
    most = jnp.full(500, -jnp.inf).at[target].max(score)
    e = jnp.exp(score - most[target])
    share = e / jnp.zeros(500).at[target].add(e)[target]
    return jnp.zeros((500, 16)).at[target].add(share[:, None] * x[source])


@program("s32[5000]", "s32[5000]", "f32[5000]", high=600)
def paths_of_bellman_and_ford(source: Array, target: Array, length: Array) -> Array:
    """Distances until none gets shorter."""
    length = jnp.abs(length) + 0.01

    def step(state: Array) -> Array:
        d, _ = state
        new = d.at[target].min(d[source] + length)
        return new, (new < d).any()

    first = (jnp.full(600, 1e9).at[0].set(0), jnp.array(True))
    return lax.while_loop(lambda s: s[1], step, first)[0]


@program("f32[100,100]")
def paths_of_all_pairs(a: Array) -> Array:
    """Distances by doubling of the paths."""
    d = jnp.abs(a) + 0.1

    def step(d: Array, _: None) -> tuple[Array, None]:
        return jnp.minimum(d, (d[:, :, None] + d[None]).min(1)), None

    return lax.scan(step, d, None, 7)[0]


@program("s32[3000]", "s32[3000]", high=400)
def triangles(source: Array, target: Array) -> Array:
    """Triangles at each node."""
    a = jnp.zeros((400, 400)).at[source, target].set(1.0)
    a = jnp.maximum(a, a.T) * (1 - jnp.eye(400))
    return ((a @ a) * a).sum(1) / 2


@program("f32[300]", "s32[2000]", "s32[2000]", high=300)
def labels_that_spread(x: Array, source: Array, target: Array) -> Array:
    """Twenty rounds with seeds that keep their labels."""
    seeds = jnp.arange(300) % 10 == 0
    label = jnp.where(seeds, jnp.sign(x), 0)
    degree = jnp.maximum(jnp.zeros(300).at[target].add(1.0), 1)

    def step(_: int, y: Array) -> Array:
        mean = jnp.zeros(300).at[target].add(y[source]) / degree
        return jnp.where(seeds, label, mean)

    return lax.fori_loop(0, 20, step, label)


@program("s32[8000]", "f32[8000]", high=500)
def sums_by_group(keys: Array, values: Array) -> Array:
    """The sum, mean, least and most of each group."""
    count = jnp.zeros(500).at[keys].add(1.0)
    total = jnp.zeros(500).at[keys].add(values)
    least = jnp.full(500, jnp.inf).at[keys].min(values)
    return total, total / jnp.maximum(count, 1), least, jnp.full(500, -jnp.inf).at[keys].max(values)


@program("s32[6000]", "f32[6000]", high=10000)
def table_by_key(keys: Array, values: Array) -> Array:
    """Rows in the order of keys, and the first of each key."""
    order = jnp.argsort(keys)
    sorted_keys = keys[order]
    first = jnp.concatenate([jnp.array([True]), sorted_keys[1:] != sorted_keys[:-1]])
    return sorted_keys, values[order], first.sum()


@program("f32[2000]", "f32[5000]")
def ranks_among_others(sample: Array, queries: Array) -> Array:
    """Binary searches of many numbers."""
    order = jnp.sort(sample)
    place = jnp.searchsorted(order, queries)
    return place, order[jnp.clip(place, 0, 1999)] - queries


@program("s32[4096]", high=1000000)
def merges_of_bitonic_sort(x: Array) -> Array:
    """A network of compared pairs."""
    place = jnp.arange(4096)
    for k in (2, 8, 64, 512, 4096):
        for j in (k // 2, max(k // 8, 1)):
            other = x[place ^ j]
            low = ((place & j) == 0) == ((place & k) == 0)
            x = jnp.where(low, jnp.minimum(x, other), jnp.maximum(x, other))
    return x


@program("f32[256,16]", "s32[20]", "s32[20]", "f32[20]", "f32[256,32]", high=15)
def forest_of_stumps(x: Array, feature: Array, _: Array, bound: Array, leaves: Array) -> Array:
    """Classes of rows by trees that look at one feature each."""
    bits = (x[:, feature] > bound).astype(jnp.int32)
    code = (bits.reshape(256, 4, 5) * jnp.array([1, 2, 4, 8, 16])).sum(-1)
    return jnp.take_along_axis(leaves, code, 1).sum(1)


@program("s32[300]", high=300)
def roots_of_a_forest(parent: Array) -> Array:
    """Pointers that jump until they stay."""
    parent = jnp.minimum(parent, jnp.arange(300))

    def step(state: Array) -> Array:
        p, _ = state
        return p[p], (p[p] != p).any()

    return lax.while_loop(lambda s: s[1], step, (parent, jnp.array(True)))[0]


@program("s32[50]", "s32[50]", high=40)
def knapsack(weight: Array, value: Array) -> Array:
    """The best value for each capacity."""

    def step(best: Array, item: Array) -> tuple[Array, None]:
        w, v = item
        place = jnp.arange(500) - w - 1
        taken = jnp.where(place >= 0, best[jnp.maximum(place, 0)] + v, 0)
        return jnp.maximum(best, taken), None

    return lax.scan(step, jnp.zeros(500, jnp.int32), (weight, value))[0][-1]


@program("f32[1000,64]", "f32[40,64]")
def nearest_by_product(base: Array, queries: Array) -> Array:
    """The ten rows that are most alike."""
    base = base * lax.rsqrt((base**2).sum(-1, keepdims=True))
    return lax.top_k(queries @ base.T, 10)


@program("s32[2000,4]", "s32[2000]", high=64)
def joins_of_bit_sets(sets: Array, keys: Array) -> Array:
    """How many numbers sets share with the one of their key."""
    bits = (jnp.uint32(1) << (sets % 32).astype(jnp.uint32)).sum(1).astype(jnp.uint32)
    return lax.population_count(bits & bits[keys]), lax.population_count(bits | bits[keys])


@program("f32[500,3]")
def cells_of_points(points: Array) -> Array:
    """Points counted in cells of space, and those of the fullest cell."""
    cell = jnp.clip((points + 3) * 2, 0, 11).astype(jnp.int32)
    number = (cell[:, 0] * 12 + cell[:, 1]) * 12 + cell[:, 2]
    count = jnp.zeros(1728, jnp.int32).at[number].add(1)
    return count.max(), jnp.where(number == count.argmax(), 1, 0).sum(), count[number]
