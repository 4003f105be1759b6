"""Programs of science and statistics: filters, solvers, chance, graphs and sorting networks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs import program

Array = Any


@program("f32[200,4]")
def kalman_filter(seen: Array) -> Array:
    """A state of 8 numbers, of which 4 are seen, over 200 steps."""
    moves = jnp.eye(8) + 0.1 * jnp.eye(8, k=4)
    sees, noise = jnp.eye(4, 8), jnp.eye(4) * 0.1

    def step(state: tuple[Array, Array], z: Array) -> tuple[tuple[Array, Array], Array]:
        mean, spread = state
        mean, spread = moves @ mean, moves @ spread @ moves.T + jnp.eye(8) * 0.01
        gain = jnp.linalg.solve(sees @ spread @ sees.T + noise, sees @ spread).T
        mean = mean + gain @ (z - sees @ mean)
        return (mean, (jnp.eye(8) - gain @ sees) @ spread), mean

    return lax.scan(step, (jnp.zeros(8), jnp.eye(8)), seen)[1]


@program("f32[64,100,2]")
def small_kalman_filters(seen: Array) -> Array:
    """64 filters of 2 numbers side by side, with the inverse written out."""

    def one(seen: Array) -> Array:
        def step(state: tuple[Array, Array], z: Array) -> tuple[tuple[Array, Array], Array]:
            mean, p = state
            s = p + 0.1 * jnp.eye(2)
            turned = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]])
            gain = p @ turned / (s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0])
            mean = mean + gain @ (z - mean)
            return (mean, p - gain @ p + 0.01 * jnp.eye(2)), mean

        return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), seen)[1]

    return jax.vmap(one)(seen)


@program("f32[1000,3]")
def lorenz(points: Array) -> Array:
    """1,000 points in the field of Lorenz, 200 steps of Runge and Kutta."""

    def field(p: Array) -> Array:
        x, y, z = p[:, 0], p[:, 1], p[:, 2]
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], 1)

    def step(_: Array, p: Array) -> Array:
        h = 0.002
        a = field(p)
        b = field(p + h / 2 * a)
        c = field(p + h / 2 * b)
        return p + h / 6 * (a + 2 * b + 2 * c + field(p + h * c))

    return lax.fori_loop(0, 200, step, points)


@program("f32[16]")
def adaptive_solver(start: Array) -> tuple[Array, Array]:
    """A differential equation in steps as long as the error allows (Bogacki, Shampine)."""

    def field(y: Array) -> Array:
        return jnp.roll(y, 1) * jnp.cos(y) - 0.5 * y

    def body(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        t, h, y, steps = state
        a = field(y)
        b = field(y + h / 2 * a)
        c = field(y + 3 * h / 4 * b)
        new = y + h * (2 * a / 9 + b / 3 + 4 * c / 9)
        rough = y + h * (7 * a / 24 + b / 4 + c / 3 + field(new) / 8)
        error = jnp.abs(new - rough).max() + 1e-9
        good = error < 1e-4
        size = jnp.clip(0.9 * (1e-4 / error) ** (1 / 3), 0.2, 5)
        longer = jnp.where(good, t + h, t)
        return longer, jnp.minimum(h * size, 10.001 - longer), jnp.where(good, new, y), steps + 1

    first = (jnp.array(0.0), jnp.array(0.01), start, jnp.array(0))
    last = lax.while_loop(lambda s: (s[0] < 10) & (s[3] < 500), body, first)
    return last[2], last[3]


@program("u32[2]")
def rejection_sampling(key: Array) -> Array:
    """4,096 numbers of the gamma distribution, each drawn until it is accepted."""
    return jax.random.gamma(jax.random.wrap_key_data(key), 2.5, (4096,))


@program("u32[2]")
def monte_carlo_pi(key: Array) -> Array:
    """Points in a square, a thousand at a time, 100 times."""

    def batch(inside: Array, key: Array) -> tuple[Array, None]:
        x = jax.random.uniform(jax.random.wrap_key_data(key), (1000, 2))
        return inside + ((x**2).sum(1) < 1).sum(), None

    keys = key + jnp.arange(200, dtype=jnp.uint32).reshape(100, 2)
    return lax.scan(batch, jnp.array(0), keys)[0] / 25000


@program("u32[2]")
def metropolis(key: Array) -> Array:
    """64 chains of 500 steps to a distribution of 8 numbers."""

    def density(x: Array) -> Array:
        return -(x**4 - 3 * x**2).sum(-1)

    def step(x: Array, key: Array) -> tuple[Array, Array]:
        move, accept = jax.random.split(jax.random.wrap_key_data(key))
        new = x + 0.3 * jax.random.normal(move, (64, 8))
        good = jnp.log(jax.random.uniform(accept, (64,))) < density(new) - density(x)
        x = jnp.where(good[:, None], new, x)
        return x, x.mean()

    keys = key + jnp.arange(1000, dtype=jnp.uint32).reshape(500, 2)
    return lax.scan(step, jnp.zeros((64, 8)), keys)[1]


@program("f32[2000,32]", "s32[10000]", "s32[10000]", "f32[32,32]", high=2000)
def graph_convolution(x: Array, source: Array, target: Array, weights: Array) -> Array:
    """Three layers over a graph of 10,000 edges: gather, scatter, multiply."""
    degree = jnp.ones(2000).at[target].add(1.0)
    for _ in range(3):
        messages = (x / degree[:, None])[source]
        x = jax.nn.relu(jnp.zeros_like(x).at[target].add(messages) @ weights / 4 + x)
    return x


@program("f32[1000,16]", "s32[8000]", "s32[8000]", "f32[32]", high=1000)
def graph_attention(x: Array, source: Array, target: Array, weights: Array) -> Array:
    """A softmax over the edges that end in each node, by segments."""
    scores = jnp.concatenate([x[source], x[target]], 1) @ weights
    scores = jax.nn.leaky_relu(scores)
    most = jax.ops.segment_max(scores, target, 1000)
    weight = jnp.exp(scores - most[target])
    total = jax.ops.segment_sum(weight, target, 1000)
    return jax.ops.segment_sum(x[source] * (weight / total[target])[:, None], target, 1000)


@program("s32[5000]", "s32[5000]", "f32[5000]", high=500)
def shortest_paths(source: Array, target: Array, length: Array) -> Array:
    """From one node of a graph to all, until nothing changes (Bellman and Ford)."""
    length = jnp.abs(length) + 0.1

    def body(state: tuple[Array, Array]) -> tuple[Array, Array]:
        now, _ = state
        new = now.at[target].min(now[source] + length)
        return new, (new < now).any()

    first = (jnp.full(500, jnp.inf).at[0].set(0.0), jnp.array(True))
    return lax.while_loop(lambda s: s[1], body, first)[0]


@program("f32[64,64]")
def all_shortest_paths(lengths: Array) -> Array:
    """Between all pairs of 64 nodes (Floyd and Warshall)."""

    def through(k: Array, now: Array) -> Array:
        return jnp.minimum(now, now[:, k, None] + now[None, k])

    return lax.fori_loop(0, 64, through, jnp.abs(lengths))


@program("f32[64,1024]")
def sorting_network(rows: Array) -> Array:
    """Batcher's bitonic network, a stage at a time."""
    at = jnp.arange(1024)
    for k in range(1, 11):
        for j in reversed(range(k)):
            other = rows[:, at ^ (1 << j)]
            up = ((at >> k) & 1) == ((at >> j) & 1)
            rows = jnp.where(up, jnp.minimum(rows, other), jnp.maximum(rows, other))
    return rows


@program("f32[128,128]")
def sinkhorn(costs: Array) -> Array:
    """The plan of cheapest transport, by 50 iterations of scaling."""
    kernel = jnp.exp(-jnp.abs(costs))

    def iteration(_: Array, v: Array) -> Array:
        return 1 / (128 * (kernel.T @ (1 / (128 * (kernel @ v)))))

    v = lax.fori_loop(0, 50, iteration, jnp.ones(128))
    return kernel * v


@program("f32[2000,8]")
def k_means(points: Array) -> Array:
    """Ten iterations of 16 centres."""

    def iteration(centres: Array, _: None) -> tuple[Array, None]:
        far = ((points[:, None] - centres) ** 2).sum(-1)
        near = jax.nn.one_hot(far.argmin(1), 16)
        return near.T @ points / (near.sum(0)[:, None] + 1e-6), None

    return lax.scan(iteration, points[:16], None, length=10)[0]


@program("f32[500,2]")
def nearest_neighbours(points: Array) -> tuple[Array, Array]:
    """The 8 nearest of 500 points, and the density that they tell."""
    far = ((points[:, None] - points) ** 2).sum(-1)
    near, which = lax.top_k(-far, 9)
    return jnp.exp(near[:, 1:]).mean(1), which[:, 1:]


@program("f32[128,128]")
def heat(field: Array) -> Array:
    """100 steps of heat in a square, by slices."""

    def step(_: Array, u: Array) -> Array:
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].set(inner + 0.2 * (around - 4 * inner))

    return lax.fori_loop(0, 100, step, field)


@program("f32[256]", "f32[64,256]")
def conjugate_gradients(b: Array, factor: Array) -> Array:
    """30 steps for a positive definite matrix of 256 rows."""
    matrix = factor.T @ factor / 64 + jnp.eye(256)

    def step(state: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], None]:
        x, r, p = state
        ap = matrix @ p
        alpha = (r @ r) / (p @ ap + 1e-20)
        new = r - alpha * ap
        return (x + alpha * p, new, new + (new @ new) / (r @ r + 1e-20) * p), None

    return lax.scan(step, (jnp.zeros(256), b, b), None, length=30)[0][0]


@program("f32[100,3]")
def many_bodies(start: Array) -> Array:
    """100 stars, 50 steps of leapfrog."""

    def pull(x: Array) -> Array:
        d = x[None] - x[:, None]
        return (d * lax.rsqrt((d**2).sum(-1, keepdims=True) + 0.1) ** 3).sum(1)

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        x, v = state
        v = v + 0.001 * pull(x)
        return (x + 0.001 * v, v), None

    return lax.scan(step, (start, jnp.zeros((100, 3))), None, length=50)[0][0]


@program("f32[4096]")
def wavelets(signal: Array) -> Array:
    """Eight levels of Haar's transform, and back without the small details."""
    details = []
    for _ in range(8):
        pairs = signal.reshape(-1, 2)
        details.append((pairs[:, 0] - pairs[:, 1]) * 0.7071)
        signal = pairs.sum(1) * 0.7071
    for detail in reversed(details):
        kept = jnp.where(jnp.abs(detail) > 0.5, detail, 0)
        signal = jnp.stack([signal + kept, signal - kept], 1).reshape(-1) * 0.7071
    return signal


@program("f32[64,32]", "f32[64]")
def logistic_newton(x: Array, y: Array) -> Array:
    """Logistic regression of 32 features by ten steps of Newton."""
    wanted = (y > 0).astype(jnp.float32)

    def step(w: Array, _: None) -> tuple[Array, None]:
        p = jax.nn.sigmoid(x @ w)
        slope = x.T @ (p - wanted) + w
        bend = (x.T * (p * (1 - p))) @ x + jnp.eye(32)
        return w - jnp.linalg.solve(bend, slope), None

    return lax.scan(step, jnp.zeros(32), None, length=10)[0]


@program("f32[10000]", "s32[10000]", high=100)
def histogram(values: Array, groups: Array) -> tuple[Array, Array, Array]:
    """Counts, sums and extremes of 100 groups."""
    return (
        jnp.bincount(groups, length=100),
        jax.ops.segment_sum(values, groups, 100),
        jax.ops.segment_max(values, groups, 100),
    )


@program("f32[200,2]")
def kalman_smoother(seen: Array) -> Array:
    """A filter of four numbers, and a smoother backwards (Rauch, Tung and Striebel, 1965)."""
    move = jnp.eye(4) + jnp.diag(jnp.full(2, 0.1), 2)
    look, noise, error = jnp.eye(2, 4), jnp.eye(4) * 0.01, jnp.eye(2)

    def forward(state: tuple[Array, Array], y: Array) -> tuple[tuple[Array, Array], Any]:
        x, p = move @ state[0], move @ state[1] @ move.T + noise
        gain = jnp.linalg.solve(look @ p @ look.T + error, look @ p).T
        after = x + gain @ (y - look @ x), p - gain @ look @ p
        return after, (*after, x, p)

    def backward(state: tuple[Array, Array], here: Any) -> tuple[tuple[Array, Array], Array]:
        x, p, x_next, p_next = here
        gain = jnp.linalg.solve(p_next, move @ p).T
        x = x + gain @ (state[0] - x_next)
        return (x, p + gain @ (state[1] - p_next) @ gain.T), x

    last, (x, p, x_next, p_next) = lax.scan(forward, (jnp.zeros(4), jnp.eye(4)), seen)
    known = (x[:-1], p[:-1], x_next[1:], p_next[1:])
    return lax.scan(backward, last, known, reverse=True)[1]


@program("f32[32,32]")
def jacobi_eigenvalues(a: Array) -> Array:
    """Eigenvalues of a symmetric matrix, whose pairs of rows are turned one after the other."""
    pairs = jnp.array([(p, q) for p in range(32) for q in range(p + 1, 32)])

    def turn(a: Array, pair: Array) -> tuple[Array, None]:
        p, q = pair
        angle = 0.5 * jnp.arctan2(2 * a[p, q], a[q, q] - a[p, p])
        c, s = jnp.cos(angle), jnp.sin(angle)
        for _ in range(2):
            row, other = a[p], a[q]
            a = a.at[p].set(c * row - s * other).at[q].set(s * row + c * other).T
        return a, None

    def sweep(a: Array, _: None) -> tuple[Array, None]:
        return lax.scan(turn, a, pairs)[0], None

    return jnp.sort(jnp.diag(lax.scan(sweep, a + a.T, None, 3)[0]))


@program("f32[500,8,8]")
def orthonormal_bases(matrices: Array) -> Array:
    """Of the columns of 500 matrices, one after the other (Gram and Schmidt)."""
    found: list[Array] = []
    for k in range(8):
        column = matrices[:, :, k]
        for other in found:
            column = column - (other * column).sum(-1, keepdims=True) * other
        found.append(column / jnp.linalg.norm(column, axis=-1, keepdims=True))
    return jnp.stack(found, -1)


@program("f32[256,64]", "f32[128,64]", "f32[128]")
def radial_basis_functions(points: Array, centres: Array, weights: Array) -> Array:
    """A sum of bells around 128 centres in 64 dimensions, at 256 points."""
    far = ((points[:, None] - centres) ** 2).sum(-1)
    return jnp.exp(-far / 64) @ weights


@program("s8[16]", "s32[2000,64]", "f32[64]", high=16)
def weights_of_four_bits(table: Array, codes: Array, x: Array) -> Array:
    """A product with a matrix whose elements are looked up in a table of 16 levels."""
    return (table[codes].astype(jnp.float32) * x).sum(1)


@program("f32[64,4096]")
def medians(rows: Array) -> tuple[Array, Array]:
    """The medians of rows, and those of the distances to them."""
    median = jnp.median(rows, axis=1, keepdims=True)
    return median, jnp.median(jnp.abs(rows - median), axis=1)


@program("f32[4681,2,7]", "f32[8,8,1000,2]")
def partition_functions(energies: Array, scores: Array) -> tuple[Array, Array]:
    """Logarithms of sums of exponentials of short rows, and the best of eight along the middle."""
    return jax.nn.logsumexp(energies, axis=2), jnp.argmax(scores, axis=1)
