"""Tokens: attention, decoding, alignment and counting."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any


@program("f32[2,96,64]", "f32[64,192]", "f32[64,64]")
def causal_attention(x: Array, w: Array, out: Array) -> Array:
    """Four heads that look back."""
    q, k, v = jnp.moveaxis((x @ w).reshape(2, 96, 3, 4, 16), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4
    seen = jnp.tril(jnp.ones((96, 96), bool))
    p = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", p, v).reshape(2, 96, 64) @ out


@program("f32[4,8,32]", "f32[4,256,2,32]", "f32[4,256,2,32]", "s32[4]")
def grouped_queries_of_a_cache(q: Array, keys: Array, values: Array, lengths: Array) -> Array:
    """A token's attention to a cache, with four queries to a key."""
    scores = jnp.einsum("bgqd,bkgd->bgqk", q.reshape(4, 2, 4, 32), keys) / jnp.sqrt(32.0)
    there = jnp.arange(256) < lengths[:, None, None, None] + 100
    p = jax.nn.softmax(jnp.where(there, scores, -1e9))
    return jnp.einsum("bgqk,bkgd->bgqd", p, values).reshape(4, 256)


@program("f32[2,64,4,16]", "f32[2,64,4,16]")
def rotary_positions(q: Array, k: Array) -> Array:
    """Pairs of numbers turned by their place."""
    angle = jnp.arange(64.0)[:, None] * 10000 ** (-jnp.arange(8.0) / 8)
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]

    def turn(x: Array) -> Array:
        a, b = x[..., :8], x[..., 8:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    return turn(q), turn(k)


@program("f32[64,128]", "f32[128]", "f32[128,344]", "f32[128,344]", "f32[344,128]")
def gated_dense_layer(x: Array, scale: Array, gate: Array, up: Array, down: Array) -> Array:
    """The dense half of a layer of Llama."""
    h = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale
    return x + (jax.nn.silu(h @ gate) * (h @ up)) @ down


@program("f32[128,64]", "f32[64,8]", "f32[8,64,96]", "f32[8,96,64]")
def soft_mixture(x: Array, router: Array, up: Array, down: Array) -> Array:
    """All experts, weighted by the two best."""
    p = jax.nn.softmax(x @ router)
    best, which = lax.top_k(p, 2)
    weights = jnp.zeros_like(p).at[jnp.arange(128)[:, None], which].set(best)
    h = jax.nn.relu(jnp.einsum("td,edf->etf", x, up))
    return jnp.einsum("etf,efd,te->td", h, down, weights)


@program("f32[16,3000]", "f32[16]")
def nucleus(logits: Array, mass: Array) -> Array:
    """Logits without the tail of least probability."""
    order = jnp.sort(logits, -1)[:, ::-1]
    reached = jnp.cumsum(jax.nn.softmax(order), -1)
    kept = reached < 0.8 + 0.1 * jnp.tanh(mass)[:, None]
    least = jnp.where(kept, order, jnp.inf).min(-1, keepdims=True)
    return jnp.where(logits >= least, logits, -jnp.inf)


@program("f32[8,2000]", "s32[8,40]", high=2000)
def repetition_penalty(logits: Array, said: Array) -> Array:
    """Logits of tokens that were said, made smaller."""
    rows = jnp.arange(8)[:, None]
    found = logits[rows, said]
    return logits.at[rows, said].set(jnp.where(found > 0, found / 1.3, found * 1.3))


@program("f32[32,1000]", "s32[32]", high=1000)
def smooth_cross_entropy(logits: Array, labels: Array) -> Array:
    """A loss and its gradient."""

    def loss(logits: Array) -> Array:
        logs = jax.nn.log_softmax(logits)
        return -(0.9 * logs[jnp.arange(32), labels] + 0.1 * logs.mean(-1)).mean()

    return jax.value_and_grad(loss)(logits)


@program("s32[40]", "s32[48]", high=5)
def longest_common_subsequence(a: Array, b: Array) -> Array:
    """Row after row of the table."""

    def row(above: Array, letter: Array) -> tuple[Array, None]:
        same = jnp.where(b == letter, above[:-1] + 1, above[1:])
        return jnp.concatenate([jnp.zeros(1, jnp.int32), lax.cummax(same)]), None

    return lax.scan(row, jnp.zeros(49, jnp.int32), a)[0][-1]


@program("f32[60,24]", "f32[24,24]", "s32[60]", high=24)
def tagger_loss(scores: Array, transitions: Array, tags: Array) -> Array:
    """The likelihood of tags in a chain."""

    def step(alpha: Array, score: Array) -> tuple[Array, None]:
        return jax.nn.logsumexp(alpha[:, None] + transitions, 0) + score, None

    total = jax.nn.logsumexp(lax.scan(step, scores[0], scores[1:])[0])
    path = scores[jnp.arange(60), tags].sum() + transitions[tags[:-1], tags[1:]].sum()
    return total - path


@program("f32[4,100,32]", "f32[32,96]", "f32[32,96]", "f32[4,32]")
def gated_unit(x: Array, w: Array, u: Array, h: Array) -> Array:
    """A recurrent network over a hundred tokens."""
    inputs = jnp.moveaxis(x @ w / 8, 1, 0)

    def step(h: Array, i: Array) -> tuple[Array, Array]:
        ir, iz, inew = jnp.split(i, 3, -1)
        hr, hz, hn = jnp.split(h @ u / 8, 3, -1)
        z = jax.nn.sigmoid(iz + hz)
        h = (1 - z) * jnp.tanh(inew + jax.nn.sigmoid(ir + hr) * hn) + z * h
        return h, h

    return lax.scan(step, h, inputs)[1]


@program("f32[2,128,16]", "f32[2,128,16]", "f32[16]")
def selective_scan(x: Array, step: Array, decay: Array) -> Array:
    """A linear recurrence as an associative scan."""
    a = jnp.exp(-jax.nn.softplus(step) * jnp.exp(decay / 4))

    def both(one: Array, other: Array) -> Array:
        return one[0] * other[0], one[1] * other[0] + other[1]

    return lax.associative_scan(both, (a, x * (1 - a)), axis=1)[1]


@program("s32[64,50]", "f32[5000,32]", "f32[32,4]", high=5000)
def bag_of_words(words: Array, table: Array, w: Array) -> Array:
    """Classes of texts by the mean of their words."""
    there = words > 500
    mean = (table[words] * there[..., None]).sum(1) / there.sum(1, keepdims=True)
    return jax.nn.softmax(mean @ w).argmax(-1)


@program("s32[20000]", high=256)
def rolling_hash(letters: Array) -> Array:
    """Hashes of windows of eight bytes, and the least of each block."""
    letters = letters.astype(jnp.uint32)
    found = jnp.zeros(19993, jnp.uint32)
    for k in range(8):
        found = found * jnp.uint32(16777619) ^ letters[k : 19993 + k]
    return found[:19968].reshape(-1, 128).min(1)


@program("s32[5000]", high=400)
def document_frequency(words: Array) -> Array:
    """Words by how often they occur."""
    counts = jnp.zeros(400, jnp.int32).at[words].add(1)
    return jnp.argsort(-counts)[:50], jnp.log(5000 / (1 + counts))


@program("f32[6,200]", "f32[6]", "s32[6,12]", high=200)
def beams(logits: Array, scores: Array, said: Array) -> Array:
    """A step of a beam search."""
    all_scores = scores[:, None] + jax.nn.log_softmax(logits)
    best, where = lax.top_k(all_scores.reshape(-1), 6)
    beam, token = where // 200, where % 200
    return best, jnp.concatenate([said[beam][:, 1:], token[:, None].astype(jnp.int32)], 1)
