"""Fields, particles, signals and linear algebra."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any


@program("f32[128,128]", "f32[128,128]")
def reaction_and_diffusion(u: Array, v: Array) -> Array:
    """Thirty steps of Gray and Scott."""

    def laplacian(a: Array) -> Array:
        return sum(jnp.roll(a, s, d) for s in (1, -1) for d in (0, 1)) - 4 * a

    def step(state: Array, _: None) -> tuple[Array, None]:
        u, v = state
        met = u * v * v
        return (
            u + 0.1 * laplacian(u) - met + 0.04 * (1 - u),
            v + 0.05 * laplacian(v) + met - 0.1 * v,
        ), None

    return lax.scan(step, (jax.nn.sigmoid(u), jax.nn.sigmoid(v)), None, 30)[0]


@program("f64[64,64,3]")
def shallow_water(state: Array) -> Array:
    """Ten steps of Lax and Friedrichs."""
    first = jnp.stack([2 + 0.1 * jnp.tanh(state[..., 0]), 0 * state[..., 1], 0 * state[..., 2]])

    def step(_: int, s: Array) -> Array:
        h, p, q = s
        fx = jnp.stack([p, p * p / h + 4.9 * h * h, p * q / h])
        fy = jnp.stack([q, p * q / h, q * q / h + 4.9 * h * h])
        mean = sum(jnp.roll(s, d, a) for d in (1, -1) for a in (1, 2)) / 4
        turn = jnp.roll(fx, -1, 1) - jnp.roll(fx, 1, 1) + jnp.roll(fy, -1, 2) - jnp.roll(fy, 1, 2)
        return mean - 0.01 * turn

    return lax.fori_loop(0, 10, step, first)


@program("f32[96,96]")
def poisson_by_relaxation(right: Array) -> Array:
    """Sweeps over red and black points."""
    red = jnp.indices((96, 96)).sum(0) % 2 == 0

    def sweep(_: int, x: Array) -> Array:
        for colour in (red, ~red):
            p = jnp.pad(x, 1)
            new = (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - right) / 4
            x = jnp.where(colour, new, x)
        return x

    return lax.fori_loop(0, 40, sweep, jnp.zeros((96, 96)))


@program("f32[200,3]", "f32[200]")
def gravity(x: Array, mass: Array) -> Array:
    """Ten leaps of bodies that attract each other."""
    mass = jnp.abs(mass) / 200

    def force(x: Array) -> Array:
        d = x[:, None] - x
        r = (d * d).sum(-1) + 0.1
        return -(d * (mass * lax.rsqrt(r) / r)[..., None]).sum(1)

    def step(state: Array, _: None) -> tuple[Array, None]:
        x, v = state
        v = v + 0.01 * force(x)
        return (x + 0.01 * v, v), None

    return lax.scan(step, (x, 0 * x), None, 10)[0]


@program("f32[300,2]", "s32[300,8]", high=300)
def springs_of_a_mesh(x: Array, near: Array) -> Array:
    """Twenty steps of points that springs pull."""
    length = 0.5

    def step(state: Array, _: None) -> tuple[Array, None]:
        x, v = state
        d = x[near] - x[:, None]
        r = jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-6)
        v = 0.95 * v + 0.02 * (d * (r - length) / r).sum(1)
        return (x + 0.02 * v, v), None

    return lax.scan(step, (x, 0 * x), None, 20)[0][0]


@program("f32[16,1024]")
def spectrogram(x: Array) -> Array:
    """Logs of power in windows that overlap."""
    windows = jnp.stack([x[:, k : k + 256] for k in range(0, 769, 128)], 1)
    shape = 0.5 - 0.5 * jnp.cos(2 * jnp.pi * jnp.arange(256) / 256)
    return jnp.log(jnp.abs(jnp.fft.rfft(windows * shape)) ** 2 + 1e-3)


@program("f32[8,2000]", "f32[3]", "f32[2]")
def recursive_filter(x: Array, b: Array, a: Array) -> Array:
    """A filter of second order over eight channels."""
    a = jnp.tanh(a) * 0.4

    def step(state: Array, x: Array) -> tuple[Array, Array]:
        one, other = state
        y = b[0] * x + one
        return (b[1] * x - a[0] * y + other, b[2] * x - a[1] * y), y

    return lax.scan(step, (jnp.zeros(8), jnp.zeros(8)), x.T)[1]


@program("f32[4096]", "f32[64]")
def convolution_by_transforms(x: Array, w: Array) -> Array:
    """A long signal with a filter."""
    spectrum = jnp.fft.rfft(x) * jnp.fft.rfft(jnp.pad(w, (0, 4032)))
    return jnp.fft.irfft(spectrum)


@program("f64[80,80]", "f64[80]")
def power_iteration(a: Array, x: Array) -> Array:
    """The largest eigenvalue of a symmetric matrix."""
    a = a @ a.T

    def step(x: Array, _: None) -> tuple[Array, Array]:
        y = a @ x
        norm = jnp.sqrt(y @ y)
        return y / norm, norm

    return lax.scan(step, x, None, 60)[1][-1]


@program("f32[60,60]", "f32[60,4]")
def lines_of_gauss(a: Array, b: Array) -> Array:
    """A linear system by elimination with pivots."""
    a = jnp.concatenate([a + 8 * jnp.eye(60), b], 1)

    def step(k: Array, a: Array) -> Array:
        column = jnp.where(jnp.arange(60) >= k, jnp.abs(a[:, k]), -1)
        p = column.argmax()
        a = a.at[jnp.stack([k, p])].set(a[jnp.stack([p, k])])
        row = a[k] / a[k, k]
        return (a - jnp.where(jnp.arange(60) == k, 0, a[:, k])[:, None] * row).at[k].set(row)

    return lax.fori_loop(0, 60, step, a)[:, 60:]


@program("f32[120,30]")
def gram_and_schmidt(a: Array) -> Array:
    """Columns made orthogonal, one after the other."""

    def step(k: Array, q: Array) -> Array:
        v = q[:, k] / jnp.sqrt((q[:, k] ** 2).sum())
        later = jnp.arange(30) > k
        return jnp.where(later, q - v[:, None] * (v @ q), q).at[:, k].set(v)

    return lax.fori_loop(0, 30, step, a)


@program("f32[512,6]")
def runge_kutta(x: Array) -> Array:
    """Fifty steps of a ring of oscillators, many at once."""

    def slope(x: Array) -> Array:
        return (jnp.roll(x, -1, 1) - jnp.roll(x, 2, 1)) * jnp.roll(x, 1, 1) / 4 - x + 1

    def step(x: Array, _: None) -> tuple[Array, None]:
        a = slope(x)
        b = slope(x + 0.01 * a)
        c = slope(x + 0.01 * b)
        return x + 0.02 / 6 * (a + 2 * b + 2 * c + slope(x + 0.02 * c)), None

    return lax.scan(step, x / 4, None, 50)[0]


@program("f32[24,24,24]")
def box_of_heat(x: Array) -> Array:
    """Twenty steps in three dimensions."""

    def step(_: int, x: Array) -> Array:
        p = jnp.pad(x, 1, mode="edge")
        near = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1]
        near = near + p[1:-1, :-2, 1:-1] + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2]
        return x + 0.1 * (near - 6 * x)

    return lax.fori_loop(0, 20, step, x)


@program("f32[100,100]")
def life_with_smooth_rules(x: Array) -> Array:
    """Cells that live by the mean of those around them."""

    def step(_: int, x: Array) -> Array:
        around = lax.reduce_window(x, 0.0, lax.add, (7, 7), (1, 1), "SAME") / 49
        return jax.nn.sigmoid(12 * (around - 0.3)) * jax.nn.sigmoid(12 * (0.6 - around))

    return lax.fori_loop(0, 15, step, jax.nn.sigmoid(x))


@program("f32[16]", "f32[4]")
def gates_of_qubits(real: Array, angles: Array) -> Array:
    """Layers of turns and controlled swaps of four qubits."""
    state = (real / jnp.sqrt((real**2).sum())).reshape(2, 2, 2, 2).astype(jnp.complex64)

    def layer(state: Array, _: None) -> tuple[Array, None]:
        for qubit in range(4):
            c, s = jnp.cos(angles[qubit]), jnp.sin(angles[qubit]) * 1j
            zero, one = jnp.moveaxis(state, qubit, 0)
            state = jnp.stack([c * zero - s * one, c * one - s * zero], qubit)
        return state.at[1].set(state[1, ::-1]), None

    return jnp.abs(lax.scan(layer, state, None, 12)[0]) ** 2


@program("f32[400,4]", "f32[400]")
def radial_forces(x: Array, charge: Array) -> Array:
    """An energy of charges, and its gradient."""

    def energy(x: Array) -> Array:
        d = ((x[:, None] - x) ** 2).sum(-1)
        return (charge[:, None] * charge * lax.rsqrt(d + 1)).sum() / 2

    return jax.value_and_grad(energy)(x)
