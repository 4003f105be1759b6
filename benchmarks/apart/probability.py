"""Samplers, likelihoods, filters and variational inference."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any


def _bits(state: Array) -> Array:
    """The next state of xorshift, for programs that draw without a key."""
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


def _uniform(state: Array) -> Array:
    return (state >> 8).astype(jnp.float32) * (1 / 16777216)


@program("f32[500,8]", "f32[500]", "f32[8]")
def logistic_posterior(x: Array, y: Array, w: Array) -> Array:
    """A log density with its gradient and its curvature along one direction."""

    def density(w: Array) -> Array:
        z = x @ w
        return (jax.nn.log_sigmoid(jnp.where(y > 0, z, -z))).sum() - (w * w).sum() / 2

    gradient = jax.grad(density)
    return density(w), jax.jvp(gradient, (w,), (jnp.ones(8),))


@program("f32[10]", "f32[10]", "f32[10,10]")
def leapfrog(q: Array, p: Array, a: Array) -> Array:
    """Forty steps of Hamiltonian dynamics."""
    precision = a @ a.T / 10 + jnp.eye(10)

    def step(state: Array, _: None) -> tuple[Array, None]:
        q, p = state
        p = p - 0.025 * precision @ q
        q = q + 0.05 * p
        return (q, p - 0.025 * precision @ q), None

    q, p = lax.scan(step, (q, p), None, 40)[0]
    return q, p, (q @ precision @ q + p @ p) / 2


@program("u32[256]")
def metropolis_chains(seeds: Array) -> Array:
    """Many chains on a mixture of two bells."""

    def density(x: Array) -> Array:
        return jnp.logaddexp(-((x - 2) ** 2), -((x + 2) ** 2))

    def step(state: Array, _: None) -> tuple[Array, Array]:
        x, seed = state
        seed = _bits(seed)
        proposed = x + 2 * (_uniform(seed) - 0.5)
        seed = _bits(seed)
        taken = jnp.log(_uniform(seed) + 1e-7) < density(proposed) - density(x)
        x = jnp.where(taken, proposed, x)
        return (x, seed), x

    return lax.scan(step, (jnp.zeros(256), seeds + 1), None, 100)[1].mean(0)


@program("f32[1000]", "f32[50]")
def particle_filter(noise: Array, seen: Array) -> Array:
    """Particles that are moved and weighted; weights are smoothed where few particles have all."""

    def step(state: tuple[Array, Array], y: Array) -> tuple[Any, Array]:
        x, logs = state
        x = 0.9 * x + 0.3 * jnp.roll(noise, (y * 100).astype(jnp.int32))
        logs = jax.nn.log_softmax(logs - (y - x) ** 2)
        few = jnp.exp(-jax.nn.logsumexp(2 * logs)) < 500
        return (x, jnp.where(few, logs / 2, logs)), (jnp.exp(logs) * x).sum()

    return lax.scan(step, (noise, 0 * noise), seen)[1]


@program("f32[100,16]", "f32[16,16]", "f32[16]")
def forward_of_a_chain(scores: Array, transitions: Array, start: Array) -> Array:
    """The probability of observations in a hidden Markov model, scaled."""
    a = jax.nn.softmax(transitions)

    def step(p: Array, score: Array) -> tuple[Array, Array]:
        p = (p @ a) * jnp.exp(score)
        return p / p.sum(), jnp.log(p.sum())

    return lax.scan(step, jax.nn.softmax(start), scores)[1].sum()


@program("f32[2000,4]", "f32[5,4]")
def mixture_of_gaussians(x: Array, means: Array) -> Array:
    """Ten rounds of expectation and maximization."""

    def step(state: Array, _: None) -> tuple[Array, Array]:
        means, variances, shares = state
        distance = ((x[:, None] - means) ** 2 / variances + jnp.log(variances)).sum(-1)
        logs = jnp.log(shares) - distance / 2
        p = jax.nn.softmax(logs)
        mass = p.sum(0)[:, None]
        means = p.T @ x / mass
        variances = p.T @ (x * x) / mass - means**2 + 1e-2
        return (means, variances, mass[:, 0] / 2000), jax.nn.logsumexp(logs, -1).sum()

    first = (means, jnp.ones((5, 4)), jnp.full(5, 0.2))
    return lax.scan(step, first, None, 10)[1]


@program("f32[64,30]", "f32[30,40]", "f32[40,8]", "f32[4,40]", "f32[40,30]", "f32[64,4]")
def variational_autoencoder(
    x: Array, w: Array, out: Array, v: Array, back: Array, noise: Array
) -> Array:
    """A bound and its gradient."""

    def bound(w: Array, out: Array, v: Array, back: Array) -> Array:
        mean, log = jnp.split(jnp.tanh(x @ w / 6) @ out / 6, 2, -1)
        z = mean + jnp.exp(log / 2) * noise
        seen = jnp.tanh(z @ v) @ back / 6
        return ((seen - x) ** 2).sum() + 0.5 * (jnp.exp(log) + mean**2 - 1 - log).sum()

    return jax.value_and_grad(bound, (0, 1, 2, 3))(w, out, v, back)


@program("f32[60,2]", "f32[60]", "f32[40,2]")
def gaussian_process(x: Array, y: Array, at: Array) -> Array:
    """Means and variances at new points."""

    def kernel(a: Array, b: Array) -> Array:
        return jnp.exp(-((a[:, None] - b) ** 2).sum(-1) / 2)

    root = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(60))
    solve = jax.scipy.linalg.solve_triangular
    cross = solve(root, kernel(x, at), lower=True)
    return cross.T @ solve(root, y, lower=True), 1 - (cross**2).sum(0)


@program("f32[4000,6]")
def normalizing_flow(x: Array) -> Array:
    """Coupled layers and the log of their determinants."""
    total = jnp.zeros(4000)
    for k in range(4):
        one, other = x[:, :3], x[:, 3:]
        scale = jnp.tanh(one * (0.3 + 0.1 * k) + jnp.roll(one, 1, 1) * 0.2)
        x = jnp.concatenate([other * jnp.exp(scale) + jnp.sin(one), one], 1)
        total += scale.sum(1)
    return (-(x**2).sum(1) / 2 + total).mean()


@program("f32[200,200]")
def kernel_two_sample_test(x: Array) -> Array:
    """A distance of two samples, by a kernel, under ten shuffles."""
    k = jnp.exp(-((x[:, None, :20] - x[None, :, :20]) ** 2).sum(-1) / 40)

    def of(shift: Array) -> Array:
        s = jnp.where((jnp.arange(200) * 7 + shift) % 200 < 100, 1.0, -1.0)
        return s @ k @ s / 10000

    return lax.map(of, jnp.arange(10))


@program("f32[300,12]", "f32[12]")
def student_regression(x: Array, w: Array) -> Array:
    """Weights that doubt what lies far out, fitted again and again."""
    y = x @ w + x[:, 0] ** 3

    def step(w: Array, _: None) -> tuple[Array, None]:
        rest = y - x @ w
        trust = 5 / (4 + rest**2)
        gradient = x.T @ (trust * rest) / 300
        return w + 0.5 * gradient, None

    return lax.scan(step, jnp.zeros(12), None, 40)[0]


@program("f32[4000]")
def bootstrap_of_a_mean(x: Array) -> Array:
    """Means of a hundred samples that are drawn from one."""
    draw = jnp.arange(400000, dtype=jnp.uint32).reshape(100, 4000) * jnp.uint32(2654435761)
    which = ((draw ^ (draw >> 15)) % jnp.uint32(4000)).astype(jnp.int32)
    means = jnp.sort(x[which].mean(1))
    return means[jnp.array([2, 49, 97])]


@program("f32[32,32]", "u32[32,32]")
def ising_of_colours(field: Array, seeds: Array) -> Array:
    """Sweeps over black and white squares of a board."""
    black = (jnp.indices((32, 32)).sum(0) % 2) == 0

    def step(state: Array, _: None) -> tuple[Array, Array]:
        spins, seeds = state
        for colour in (black, ~black):
            seeds = _bits(seeds)
            near = sum(jnp.roll(spins, s, a) for s in (1, -1) for a in (0, 1))
            up = _uniform(seeds) < jax.nn.sigmoid(near)
            spins = jnp.where(colour, jnp.where(up, 1.0, -1.0), spins)
        return (spins, seeds), spins.mean()

    return lax.scan(step, (jnp.sign(field), seeds + 7), None, 60)[1]


@program("f32[64]", "f32[64]", "f32[64,64]")
def optimal_transport(a: Array, b: Array, cost: Array) -> Array:
    """Sinkhorn's rounds in logs."""
    a, b, cost = jax.nn.log_softmax(a), jax.nn.log_softmax(b), jnp.abs(cost)

    def step(state: Array, _: None) -> tuple[Array, None]:
        f, g = state
        f = a - jax.nn.logsumexp(g - cost, 1)
        return (f, b - jax.nn.logsumexp(f[:, None] - cost, 0)), None

    f, g = lax.scan(step, (a * 0, b * 0), None, 30)[0]
    return (jnp.exp(f[:, None] + g - cost) * cost).sum()


@program("s32[300,20]", "f32[20,5]", high=6)
def topic_weights(counts: Array, words: Array) -> Array:
    """Topics of documents by multiplied updates."""
    words = jax.nn.softmax(words, 0)

    def step(p: Array, _: None) -> tuple[Array, None]:
        expected = p @ words.T
        p = p * ((counts / expected) @ words)
        return p / p.sum(1, keepdims=True), None

    return lax.scan(step, jnp.full((300, 5), 0.2), None, 20)[0]
