"""Prices, portfolios and risks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any


def _normal(x: Array) -> Array:
    return 0.5 * (1 + lax.erf(x / jnp.sqrt(2.0).astype(x.dtype)))


def _call(price: Array, strike: Array, volatility: Array) -> Array:
    d = (jnp.log(price / strike) + volatility**2 / 2) / volatility
    return price * _normal(d) - strike * _normal(d - volatility)


@program("f32[20000]", "f32[20000]")
def black_scholes(a: Array, b: Array) -> Array:
    """Prices of calls and puts."""
    price, strike = 100 + 5 * a, 100 + 5 * b
    call = _call(price, strike, jnp.float32(0.2))
    return call, call - price + strike


@program("f64[500]", "f64[500]")
def greeks(a: Array, b: Array) -> Array:
    """First and second derivatives of prices."""
    price, strike = 100 + 5 * a, 100 + 5 * b
    first = jax.grad(lambda p: _call(p, strike, 0.2).sum())
    return jax.jvp(first, (price,), (jnp.ones_like(price),))


@program("f32[400]")
def implied_volatility(a: Array) -> Array:
    """Newton's method for all options at once."""
    strike = 100 + 10 * jnp.tanh(a)
    wanted = _call(100.0, strike, 0.25 + 0.01 * jnp.cos(a))

    def step(_: int, v: Array) -> Array:
        price, slope = jax.jvp(lambda v: _call(100.0, strike, v), (v,), (jnp.ones_like(v),))
        return v - jnp.clip((price - wanted) / (slope + 1e-3), -0.05, 0.05)

    return lax.fori_loop(0, 12, step, jnp.full(400, 0.3))


@program("f32[252,2000]")
def barrier_option(noise: Array) -> Array:
    """A mean over paths that never fall under a barrier."""
    path = 100 * jnp.exp(jnp.cumsum(0.0125 * noise - 0.00008, 0))
    alive = (path > 85).all(0)
    return (jnp.maximum(path[-1] - 100, 0) * alive).mean()


@program("f32[60,3000]")
def american_put(noise: Array) -> Array:
    """Exercise by regression over paths, backwards (Longstaff and Schwartz)."""
    paths = jnp.exp(jnp.cumsum(0.03 * noise, 0))

    def step(value: Array, price: Array) -> tuple[Array, None]:
        basis = jnp.stack([jnp.ones_like(price), price, price**2])
        moments = basis @ basis.T / 3000 + 1e-3 * jnp.eye(3)
        right = basis @ value / 3000
        cofactors = jnp.cross(jnp.roll(moments, -1, 0), jnp.roll(moments, -2, 0))
        w = cofactors.T @ right / (moments[0] @ cofactors[0])
        now = jnp.maximum(1 - price, 0)
        return jnp.where(now > w @ basis, now, value * 0.999), None

    return lax.scan(step, jnp.maximum(1 - paths[-1], 0), paths[:-1], reverse=True)[0].mean()


@program("f32[1000,40]")
def minimum_variance(returns: Array) -> Array:
    """Weights of a portfolio by descent on the simplex."""
    centred = returns - returns.mean(0)
    covariance = centred.T @ centred / 1000

    def step(w: Array, _: None) -> tuple[Array, None]:
        w = w * jnp.exp(-0.2 * (covariance @ w))
        return w / w.sum(), None

    return lax.scan(step, jnp.full(40, 1 / 40), None, 100)[0]


@program("f32[5000,20]", "f32[20]")
def value_at_risk(returns: Array, weights: Array) -> Array:
    """A quantile of losses, and the mean beyond it."""
    losses = jnp.sort(-(returns @ jnp.abs(weights)))
    return losses[4750], losses[4750:].mean()


@program("f32[3000]")
def volatility_of_garch(returns: Array) -> Array:
    """A likelihood by a recurrence, and its gradient."""

    def likelihood(w: Array) -> Array:
        def step(v: Array, r: Array) -> tuple[Array, Array]:
            return w[0] + w[1] * r * r + w[2] * v, jnp.log(v) + r * r / v

        return lax.scan(step, jnp.float32(1), returns)[1].mean()

    return jax.value_and_grad(likelihood)(jnp.array([0.1, 0.1, 0.8], jnp.float32))


@program("f32[500,100]")
def moving_averages(prices: Array) -> Array:
    """Crossings of a fast and a slow mean."""
    sums = jnp.cumsum(prices, 0)
    fast, slow = (sums[n:] - sums[:-n] for n in (10, 50))
    above = fast[40:] / 10 > slow / 50
    return (above[1:] != above[:-1]).sum(0)


@program("f32[1000,30]")
def exponential_means(prices: Array) -> Array:
    """Means that forget, and the spread around them."""

    def step(state: Array, x: Array) -> tuple[Array, Array]:
        mean, spread = state
        mean = 0.94 * mean + 0.06 * x
        spread = 0.94 * spread + 0.06 * (x - mean) ** 2
        return (mean, spread), (x - mean) * lax.rsqrt(spread)

    return lax.scan(step, (prices[0], jnp.ones(30)), prices)[1]


@program("f64[360]", "f64[50]")
def yields_of_bonds(rates: Array, coupons: Array) -> Array:
    """Bisection for the rate at which payments are worth their price."""
    discount = jnp.exp(-jnp.cumsum(0.003 + 0.001 * jnp.tanh(rates)))
    price = 0.004 * (1 + 0.1 * jnp.tanh(coupons)) * discount.sum() + discount[-1]
    months = jnp.arange(1, 361)

    def step(_: int, ends: Array) -> Array:
        low, high = ends
        middle = (low + high) / 2
        factor = jnp.exp(-middle[:, None] * months)
        worth = 0.004 * (1 + 0.1 * jnp.tanh(coupons)) * factor.sum(1) + factor[:, -1]
        return jnp.where(worth > price, middle, low), jnp.where(worth > price, high, middle)

    return lax.fori_loop(0, 30, step, (jnp.zeros(50), jnp.full(50, 0.05)))[0]


@program("f32[200,200]")
def heat_of_an_option(a: Array) -> Array:
    """Explicit steps of the equation of Black and Scholes on many grids."""
    price = jnp.linspace(0.0, 2.0, 200)
    value = jnp.maximum(price - 1 - 0.05 * jnp.tanh(a), 0)

    def step(_: int, v: Array) -> Array:
        second = v[:, 2:] - 2 * v[:, 1:-1] + v[:, :-2]
        return v.at[:, 1:-1].add(0.0004 * (price[1:-1] * 100) ** 2 * second * 0.05)

    return lax.fori_loop(0, 50, step, value)


@program("s32[4000]", "f32[4000]", "s32[4000]", high=64)
def book_of_orders(level: Array, size: Array, trader: Array) -> Array:
    """Depth by price, and the position of each trader."""
    size = jnp.abs(size)
    depth = jnp.zeros(64).at[level].add(size)
    position = jnp.zeros(64).at[trader].add(jnp.where(level < 32, size, -size))
    return jnp.cumsum(depth), position, jnp.zeros(64).at[trader].max(size)


@program("f32[256,40]", "f32[40,40]")
def correlated_draws(noise: Array, a: Array) -> Array:
    """Draws with a covariance, by its root of Cholesky."""
    root = jnp.linalg.cholesky(a @ a.T + 40 * jnp.eye(40))
    return jnp.exp(0.1 * (noise @ root.T)).mean(0)
