"""Simulations: grids, particles and random events, a step at a time."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs import program

Array = Any

# The nine ways in which a fluid moves from a cell to its neighbours, and what share goes each way.
ACROSS = (0, 1, 0, -1, 0, 1, -1, -1, 1)
DOWN = (0, 0, 1, 0, -1, 1, 1, -1, -1)
SHARES = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


@program("f32[128,128]", "u32[2]")
def ising(field: Array, key: Array) -> Array:
    """The spins of a magnet, black and white cells in turn (Metropolis)."""
    even = (jnp.arange(128)[:, None] + jnp.arange(128)) % 2 == 0

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        spins, key = state
        for cells in (even, ~even):
            key, mine = jax.random.split(key)
            near = sum(jnp.roll(spins, s, d) for s in (1, -1) for d in (0, 1))
            flips = jax.random.uniform(mine, spins.shape) < jnp.exp(-0.9 * spins * near)
            spins = jnp.where(cells & flips, -spins, spins)
        return (spins, key), spins.mean()

    return lax.scan(step, (jnp.where(field < 0, -1.0, 1.0), key), None, 20)[1]


@program("u32[2]")
def gillespie(key: Array) -> Array:
    """64 populations of which each birth and each death is an event (Gillespie, 1977)."""

    def goes_on(state: tuple[Array, ...]) -> Array:
        return (state[0] < 20.0).any() & (state[3] < 400)

    def event(state: tuple[Array, ...]) -> tuple[Array, ...]:
        time, count, key, events = state
        key, wait, which = jax.random.split(key, 3)
        total = 10.0 + 0.5 * count
        time = time + jax.random.exponential(wait, (64,)) / total
        born = jax.random.uniform(which, (64,)) * total < 10.0
        change = jnp.where(time < 20.0, jnp.where(born, 1.0, -1.0), 0.0)
        return time, count + change, key, events + 1

    return lax.while_loop(goes_on, event, (jnp.zeros(64), jnp.zeros(64), key, 0))[1]


@program("f32[50,2]", "u32[2]")
def annealing(towns: Array, key: Array) -> Array:
    """A round trip, parts of which are turned round if that shortens it, or while it is hot."""

    def length(order: Array) -> Array:
        way = towns[order]
        return jnp.sqrt(((way - jnp.roll(way, -1, 0)) ** 2).sum(-1)).sum()

    def step(state: tuple[Array, Array], k: Array) -> tuple[tuple[Array, Array], None]:
        order, key = state
        key, ends, luck = jax.random.split(key, 3)
        i, j = jnp.sort(jax.random.randint(ends, (2,), 0, 50))
        at = jnp.arange(50)
        turned = order[jnp.where((at >= i) & (at <= j), i + j - at, at)]
        gain = (length(order) - length(turned)) * (1 + k)
        takes = jax.random.uniform(luck) < jnp.exp(jnp.minimum(gain, 0))
        return (jnp.where(takes, turned, order), key), None

    return lax.scan(step, (jnp.arange(50), key), jnp.arange(300.0))[0][0]


@program("f32[64,64,9]")
def lattice_boltzmann(moving: Array) -> Array:
    """A fluid on a grid, nine numbers a cell (D2Q9)."""
    across, down, shares = (jnp.array(a) for a in (ACROSS, DOWN, SHARES))

    def step(f: Array, _: None) -> tuple[Array, None]:
        ways = zip(ACROSS, DOWN, strict=True)
        f = jnp.stack([jnp.roll(f[..., n], way, (0, 1)) for n, way in enumerate(ways)], -1)
        mass = f.sum(-1)
        u, v = (f * across).sum(-1) / mass, (f * down).sum(-1) / mass
        along = u[..., None] * across + v[..., None] * down
        speed = (u * u + v * v)[..., None]
        rest = mass[..., None] * shares * (1 + 3 * along + 4.5 * along**2 - 1.5 * speed)
        return f + (rest - f) / 0.6, None

    return lax.scan(step, jnp.abs(moving) + 1, None, 20)[0]


@program("f32[64,3]", "s32[64,20]", high=64)
def neighbour_forces(x: Array, near: Array) -> Array:
    """Molecules that know their neighbours, 50 steps (Verlet)."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        x, v = state
        apart = x[near] - x[:, None]
        square = (apart * apart).sum(-1) + 0.5
        inverse = 1 / square**3
        force = (0.1 * inverse - 0.2 * inverse * inverse) / square
        v = v + 0.001 * (force[..., None] * apart).sum(1)
        return (x + 0.001 * v, v), None

    return lax.scan(step, (x, jnp.zeros_like(x)), None, 50)[0][0]


@program("f32[128,128]")
def multigrid(charge: Array) -> Array:
    """Poisson's equation, on coarser and coarser grids."""

    def around(u: Array) -> Array:
        edged = jnp.pad(u, 1)
        return edged[:-2, 1:-1] + edged[2:, 1:-1] + edged[1:-1, :-2] + edged[1:-1, 2:]

    def cycle(u: Array, f: Array) -> Array:
        u = smooth(u, f)
        if f.shape[0] > 8:
            half = f.shape[0] // 2
            wrong = f - (4 * u - around(u))
            coarse = wrong.reshape(half, 2, half, 2).sum((1, 3))
            better = cycle(jnp.zeros((half, half)), coarse)
            u = u + jnp.repeat(jnp.repeat(better, 2, 0), 2, 1) * 0.5
        return smooth(u, f)

    def smooth(u: Array, f: Array) -> Array:
        for _ in range(2):
            u = 0.25 * (around(u) + f)
        return u

    return lax.fori_loop(0, 5, lambda _, u: cycle(u, charge), jnp.zeros_like(charge))


@program("f32[512,4]", "f32[4,64]", "f32[64,64]", "f32[64,1]")
def cart_pole(start: Array, first: Array, second: Array, last: Array) -> Array:
    """512 carts that balance poles, each driven by a network of three layers."""

    def step(state: Array, _: None) -> tuple[Array, Array]:
        x, v, angle, turn = state.T
        hidden = jnp.tanh(jnp.tanh(state @ first) @ second / 8)
        force = 10 * jnp.tanh((hidden @ last)[:, 0])
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        push = (force + 0.05 * turn * turn * sin) / 1.1
        faster = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        quicker = push - 0.05 * faster * cos / 1.1
        parts = (x + 0.02 * v, v + 0.02 * quicker, angle + 0.02 * turn, turn + 0.02 * faster)
        new = jnp.stack(parts, 1)
        fallen = jnp.abs(new[:, 2:3]) > 2
        return jnp.where(fallen, 0.01, new), (jnp.abs(angle) < 0.2).sum()

    return lax.scan(step, start * 0.05, None, 100)[1]


@program("f32[2000,20]", "s32[2000]", "u32[2]", high=10)
def gibbs_sampling(points: Array, members: Array, key: Array) -> Array:
    """The members and means of a mixture of ten normal distributions, drawn in turn."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        members, key = state
        key, of_means, of_members = jax.random.split(key, 3)
        count = jax.ops.segment_sum(jnp.ones(2000), members, 10) + 1
        means = jax.ops.segment_sum(points, members, 10) / count[:, None]
        means += jax.random.normal(of_means, means.shape) / jnp.sqrt(count)[:, None]
        far = ((points[:, None] - means) ** 2).sum(-1)
        members = jax.random.categorical(of_members, jnp.log(count) - far / 2)
        return (members, key), jnp.abs(means).mean()

    return lax.scan(step, (members, key), None, 10)[1]


@program("f32[64,9]", "f32[64,9]", "f32[64]")
def tree_search(prior: Array, worth: Array, guess: Array) -> Array:
    """Visits to the moves of 64 games, by a policy with mixed values (Danihelka et al., 2022)."""
    chance, games = jax.nn.softmax(prior), jnp.arange(64)

    def visit(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        visits, total = state
        known, times = visits > 0, visits.sum(1)
        mean = total / jnp.maximum(visits, 1)
        share = jnp.where(known, chance, 0)
        seen = (share * mean).sum(1) / jnp.maximum(share.sum(1), 1e-6)
        mixed = (guess + times * seen) / (1 + times)
        value = jnp.where(known, mean, mixed[:, None])
        low, high = value.min(1, keepdims=True), value.max(1, keepdims=True)
        value = (value - low) / jnp.maximum(high - low, 1e-8)
        sharp = 0.1 * (50 + visits.max(1, keepdims=True))
        policy = jax.nn.softmax(prior + sharp * value)
        move = (policy - visits / (1 + times[:, None])).argmax(1)
        won = jnp.tanh(worth[games, move] * (1 + visits[games, move]))
        return (visits.at[games, move].add(1), total.at[games, move].add(won)), move

    none = jnp.zeros((64, 9))
    return lax.scan(visit, (none, none), None, 32)[1]


@program("f32[2000]", "f32[2000]")
def mandelbrot(x: Array, y: Array) -> Array:
    """After how many of 50 steps each point is further than 2 from 0."""
    point = x + 1j * y

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        z, count = state
        near = jnp.abs(z) < 2
        return jnp.where(near, z * z + point, z), count + near

    return lax.fori_loop(0, 50, step, (0 * point, jnp.zeros(2000, jnp.int32)))[1]


@program("f32[4096,13]")
def rigid_bodies(states: Array) -> Array:
    """A step of 4,096 bodies: position, velocity, quaternion and turn in a row each."""
    at, speed, turned, turn = states[:, :3], states[:, 3:6], states[:, 6:10], states[:, 10:]
    w, x, y, z = (turned / jnp.linalg.norm(turned, axis=1, keepdims=True)).T
    a, b, c = turn.T
    change = [-x * a - y * b - z * c, w * a + y * c - z * b, w * b - x * c + z * a]
    change.append(w * c + x * b - y * a)
    new = jnp.stack([w, x, y, z], 1) + 0.005 * jnp.stack(change, 1)
    fallen = speed - 0.01 * jnp.array([0, 0, 9.8])
    return jnp.concatenate([at + 0.01 * speed, fallen, new, 0.99 * turn], 1)


@program("f32[9362,7]")
def appended_features(rows: Array) -> Array:
    """Rows of 7 numbers, with sines of two of them appended, and the first once more."""
    return jnp.concatenate([rows, jnp.sin(rows[:, :2]), rows[:, :1]], 1)
