"""Graphs, trees and tables: gathers and scatters by numbers that data hold."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs import program

Array = Any


@program("f32[400,2]")
def density_clusters(points: Array) -> Array:
    """Clusters of points with five neighbours, whose numbers spread until none changes (DBSCAN)."""
    near = ((points[:, None] - points) ** 2).sum(-1) < 0.05
    core = near.sum(1) >= 5
    linked = near & core[:, None] & core

    def spread(state: tuple[Array, Array]) -> tuple[Array, Array]:
        labels, _ = state
        new = jnp.minimum(labels, jnp.where(linked, labels, 400).min(1))
        return new, (new != labels).any()

    first = (jnp.arange(400), jnp.array(True))
    labels = lax.while_loop(lambda state: state[1], spread, first)[0]
    return jnp.where(core, labels, jnp.where(near & core, labels, 400).min(1))


@program("s32[20000]", "s32[20000]", high=2000)
def page_rank(source: Array, target: Array) -> Array:
    """Thirty steps over 20,000 links of 2,000 pages."""
    links = jnp.zeros(2000).at[source].add(1.0)
    share = 1 / jnp.maximum(links, 1)

    def step(rank: Array, _: None) -> tuple[Array, None]:
        flow = jnp.zeros(2000).at[target].add((rank * share)[source])
        lost = (rank * (links == 0)).sum() / 2000
        return 0.15 / 2000 + 0.85 * (flow + lost), None

    return lax.scan(step, jnp.full(2000, 1 / 2000), None, 30)[0]


@program("s32[4000]", "s32[4000]", high=3000)
def connected_components(one: Array, other: Array) -> Array:
    """Trees that are hooked onto each other and made flat (Shiloach and Vishkin, 1982)."""

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        parent, _ = state
        a, b = parent[one], parent[other]
        new = parent.at[jnp.maximum(a, b)].min(jnp.minimum(a, b))
        new = new[new]
        new = new[new]
        return new, (new != parent).any()

    first = (jnp.arange(3000), jnp.array(True))
    return lax.while_loop(lambda state: state[1], step, first)[0]


@program("s32[1000,8]", "u32[2]", high=1000)
def random_walks(neighbours: Array, key: Array) -> Array:
    """2,000 walkers on a graph, and where they were in 64 steps."""
    turns = jax.random.randint(key, (64, 2000), 0, 8)

    def step(at: Array, turn: Array) -> tuple[Array, Array]:
        at = neighbours[at, turn]
        return at, at

    return lax.scan(step, jnp.arange(2000) % 1000, turns)[1]


@program("s32[100,63]", "f32[100,63]", "f32[100,64]", "f32[1000,32]", high=32)
def forest(feature: Array, threshold: Array, leaves: Array, rows: Array) -> Array:
    """A hundred trees of six levels, which vote on 1,000 rows."""

    def tree(feature: Array, threshold: Array, leaves: Array) -> Array:
        at = jnp.zeros(1000, jnp.int32)
        for _ in range(6):
            value = jnp.take_along_axis(rows, feature[at][:, None], 1)[:, 0]
            at = 2 * at + 1 + (value > threshold[at])
        return leaves[at - 63]

    return jax.vmap(tree)(feature, threshold, leaves).sum(0)


@program("s32[20000]", "s32[20000]", high=1 << 16)
def join(left: Array, right: Array) -> Array:
    """Rows of two tables with the same key: one is sorted, and searched for those of the other."""
    order = jnp.argsort(right)
    keys = right[order]
    at = jnp.minimum(jnp.searchsorted(keys, left), 19999)
    return jnp.where(keys[at] == left, order[at], -1)


@program("f32[64,64]", "s32[2]", high=64)
def breadth_first_search(walls: Array, start: Array) -> Array:
    """Steps from a cell of a grid to all others, around walls."""
    far = 9999

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        steps, _ = state
        around = jnp.pad(steps, 1, constant_values=far)
        up_down = jnp.minimum(around[:-2, 1:-1], around[2:, 1:-1])
        sides = jnp.minimum(around[1:-1, :-2], around[1:-1, 2:])
        new = jnp.minimum(steps, jnp.minimum(up_down, sides) + 1)
        new = jnp.where(walls < -1.3, far, new)
        return new, (new != steps).any()

    first = jnp.full(walls.shape, far).at[start[0], start[1]].set(0)
    return lax.while_loop(lambda state: state[1], step, (first, jnp.array(True)))[0]
