"""Programs over sequences: recurrences, searches and dynamic programming, a step at a time."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs import program

Array = Any


@program("f32[32,100,64]", "f32[64,512]", "f32[128,512]", "f32[512]")
def lstm(x: Array, into: Array, again: Array, bias: Array) -> Array:
    """A layer of 128 cells over 100 steps (Hochreiter and Schmidhuber, 1997)."""

    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        hidden, cell = state
        gates = (x @ into + hidden @ again) / 8 + bias
        i, f, g, o = jnp.split(gates, 4, -1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    first = (jnp.zeros((32, 128)), jnp.zeros((32, 128)))
    return lax.scan(step, first, x.swapaxes(0, 1))[1]


@program("f32[1,200,32]", "f32[32,96]", "f32[32,96]")
def gru(x: Array, into: Array, again: Array) -> Array:
    """A layer of 32 cells over 200 steps of a single sequence (Cho et al., 2014)."""

    def step(hidden: Array, x: Array) -> tuple[Array, Array]:
        r, z, n = jnp.split(x @ into / 5, 3, -1)
        r2, z2, n2 = jnp.split(hidden @ again / 5, 3, -1)
        r, z = jax.nn.sigmoid(r + r2), jax.nn.sigmoid(z + z2)
        hidden = (1 - z) * jnp.tanh(n + r * n2) + z * hidden
        return hidden, hidden

    return lax.scan(step, jnp.zeros((1, 32)), x.swapaxes(0, 1))[1]


@program("f32[16,50,32]", "f32[32,128]", "f32[32,128]")
def lstm_gradient(x: Array, into: Array, again: Array) -> tuple[Array, Array]:
    """The gradient of a sum over the last step's hidden values."""

    def loss(into: Array, again: Array) -> Array:
        def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], None]:
            hidden, cell = state
            i, f, g, o = jnp.split((x @ into + hidden @ again) / 8, 4, -1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(cell), cell), None

        zeros = jnp.zeros((16, 32))
        return (lax.scan(step, (zeros, zeros), x.swapaxes(0, 1))[0][0] ** 2).sum()

    return jax.grad(loss, (0, 1))(into, again)


@program("f32[64,64]", "f32[200,64]")
def viterbi(transitions: Array, scores: Array) -> Array:
    """The best path through 64 states in 200 steps."""

    def forward(best: Array, score: Array) -> tuple[Array, Array]:
        through = best[:, None] + transitions
        return through.max(0) + score, through.argmax(0)

    last, back = lax.scan(forward, scores[0], scores[1:])

    def backward(state: Array, back: Array) -> tuple[Array, Array]:
        return back[state], state

    first, path = lax.scan(backward, last.argmax(), back, reverse=True)
    return jnp.concatenate([first[None], path])


@program("f32[16,64,48]", "f32[48,48]")
def crf_partition(scores: Array, transitions: Array) -> Array:
    """The logarithm of the sum over all paths, with its gradient (conditional random field)."""

    def total(scores: Array) -> Array:
        def step(now: Array, score: Array) -> tuple[Array, None]:
            return jax.nn.logsumexp(now[:, :, None] + transitions, 1) + score, None

        steps = scores.swapaxes(0, 1)
        return jax.nn.logsumexp(lax.scan(step, steps[0], steps[1:])[0], -1).sum()

    return jax.grad(total)(scores)


@program("f32[8,100,32]", "s32[8,20]", high=31)
def ctc_loss(logits: Array, labels: Array) -> Array:
    """The loss of connectionist temporal classification, with blanks between labels."""
    chance = jax.nn.log_softmax(logits)
    spaced = jnp.zeros((8, 41), jnp.int32).at[:, 1::2].set(labels + 1)
    may_skip = jnp.pad(spaced[:, 2:] != spaced[:, :-2], ((0, 0), (2, 0))) & (spaced > 0)
    low = -1e30

    def step(now: Array, chance: Array) -> tuple[Array, None]:
        once = jnp.pad(now[:, :-1], ((0, 0), (1, 0)), constant_values=low)
        twice = jnp.pad(now[:, :-2], ((0, 0), (2, 0)), constant_values=low)
        ways = jnp.stack([now, once, jnp.where(may_skip, twice, low)])
        return jax.nn.logsumexp(ways, 0) + jnp.take_along_axis(chance, spaced, 1), None

    first = (
        jnp.full((8, 41), low).at[:, :2].set(jnp.take_along_axis(chance[:, 0], spaced[:, :2], 1))
    )
    last = lax.scan(step, first, chance.swapaxes(0, 1)[1:])[0]
    return -jnp.logaddexp(last[:, -1], last[:, -2]).mean()


@program("s32[256]", "s32[256]", high=26)
def edit_distance(one: Array, other: Array) -> Array:
    """Of two words of 256 letters, a row of the table at a time."""

    def row(above: Array, letter: Array) -> tuple[Array, None]:
        change = above[:-1] + (other != letter)
        least = jnp.minimum(change, above[1:] + 1)
        start = above[0] + 1
        # Insertions run along the row: the least of what is to the left, plus the steps.
        at = jnp.arange(1, 257)
        along = lax.cummin(jnp.concatenate([start[None], least - at]))
        return jnp.concatenate([start[None], along[1:] + at]), None

    return lax.scan(row, jnp.arange(257), one)[0][-1]


@program("s32[128]", "s32[128]", high=4)
def local_alignment(one: Array, other: Array) -> Array:
    """The best score of Smith and Waterman, along the diagonals of the table."""
    flipped = jnp.pad(other[::-1], (128, 128), constant_values=-1)

    def diagonal(state: tuple[Array, Array, Array], k: Array) -> tuple[Any, None]:
        last, before, best = state
        letters = lax.dynamic_slice(flipped, (256 - k,), (128,))
        match = jnp.where(letters < 0, -jnp.inf, jnp.where(letters == one, 3.0, -3.0))
        shifted = jnp.pad(before[:-1], (1, 0))
        gap = jnp.maximum(last, jnp.pad(last[:-1], (1, 0))) - 2
        now = jnp.maximum(0, jnp.maximum(shifted + match, gap))
        return (now, last, jnp.maximum(best, now.max())), None

    zeros = jnp.zeros(128)
    return lax.scan(diagonal, (zeros, zeros, jnp.array(0.0)), jnp.arange(1, 256))[0][2]


@program("f32[64,64]", "f32[64,1000]")
def beam_search(again: Array, out: Array) -> tuple[Array, Array]:
    """The best 8 sequences of 32 words out of 1,000, with a recurrent network as a model."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        hidden, scores = state
        chance = jax.nn.log_softmax(hidden @ out / 8)
        scores, which = lax.top_k((scores[:, None] + chance).reshape(-1), 8)
        beam, word = which // 1000, which % 1000
        fed = hidden[beam] + jnp.sin(word.astype(jnp.float32))[:, None]
        return (jnp.tanh(fed @ again / 4), scores), jnp.stack([beam, word])

    first = (jnp.eye(8, 64), jnp.zeros(8).at[1:].set(-1e9))
    (_, scores), steps = lax.scan(step, first, None, length=32)

    def follow(at: Array, step: Array) -> tuple[Array, Array]:
        return step[0][at], step[1][at]

    return scores, lax.scan(follow, jnp.arange(8), steps, reverse=True)[1]


@program("s32[4096]", "s32[256,256]", high=256)
def pair_encoding(text: Array, ranks: Array) -> Array:
    """Twenty merges of the best pair of neighbours, as a tokenizer makes them."""

    def merge(state: tuple[Array, Array], new: Array) -> tuple[tuple[Array, Array], Array]:
        text, length = state
        after = jnp.roll(text, -1)
        inside = jnp.arange(4096) < length - 1
        rank = jnp.where(inside, ranks[text % 256, after % 256], 1 << 20)
        best = rank.argmin()
        here = inside & (text == text[best]) & (after == after[best])
        here = here & ~jnp.pad(here[:-1], (1, 0))
        gone = jnp.pad(here[:-1], (1, 0))
        text = jnp.where(here, new, text)
        place = jnp.cumsum(~gone) - 1
        packed = jnp.zeros_like(text).at[jnp.where(gone, 4096, place)].set(text, mode="drop")
        return (packed, length - gone.sum()), length

    first = (text, jnp.array(4096))
    return lax.scan(merge, first, jnp.arange(256, 276))[0][0]


@program("f32[4,128,64]", "f32[64,64]")
def decode_greedily(memory: Array, weights: Array) -> Array:
    """A step of attention over a cache that grows, 64 times."""

    def step(state: tuple[Array, Array], i: Array) -> tuple[tuple[Array, Array], Array]:
        x, kept = state
        scores = jnp.einsum("bd,btd->bt", x, kept) / 8
        scores = jnp.where(jnp.arange(128) <= 64 + i, scores, -jnp.inf)
        mixed = jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), kept)
        x = jnp.tanh((x + mixed) @ weights / 8)
        kept = lax.dynamic_update_slice(kept, x[:, None], (0, 64 + i, 0))
        return (x, kept), x.argmax(-1)

    return lax.scan(step, (memory[:, 0], memory), jnp.arange(64))[1]


@program("f32[16,512,64]", "f32[16,512,64]")
def linear_recurrence(decay: Array, x: Array) -> Array:
    """H = a h + x over 512 steps, as a tree of pairs (state-space models)."""

    def pair(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return one[0] * other[0], one[1] * other[0] + other[1]

    return lax.associative_scan(pair, (jax.nn.sigmoid(decay), x), axis=1)[1]


@program("f32[64,300]", "f32[64,300]")
def time_warping(one: Array, other: Array) -> Array:
    """The cost of the best warping of 64 pairs of curves, a row of the table at a time."""

    def row(above: Array, value: Array) -> tuple[Array, None]:
        cost = jnp.abs(value[:, None] - other)
        before = jnp.pad(above[:, :-1], ((0, 0), (1, 0)), constant_values=1e9)
        through = jnp.minimum(above, before) + cost

        def cell(left: Array, both: tuple[Array, Array]) -> tuple[Array, Array]:
            here = jnp.minimum(both[0], left + both[1])
            return here, here

        return lax.scan(cell, jnp.full(64, 1e9), (through.T, cost.T))[1].T, None

    first = jnp.cumsum(jnp.abs(one[:, :1] - other), 1)
    return lax.scan(row, first, one.T[1:21])[0][:, -1]


@program("f32[8,20,128]", "s32[8,20]", high=20)
def pointer_network(keys: Array, _seeds: Array) -> Array:
    """Visits 20 places in the order of attention, none of them twice."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        query, seen = state
        scores = jnp.where(seen, -jnp.inf, jnp.einsum("bd,bnd->bn", query, keys))
        chosen = scores.argmax(-1)
        key = jnp.take_along_axis(keys, chosen[:, None, None], 1)[:, 0]
        return (jnp.tanh(query + key), seen | jax.nn.one_hot(chosen, 20, dtype=bool)), chosen

    return lax.scan(step, (keys.mean(1), jnp.zeros((8, 20), bool)), None, length=20)[1]


@program("s32[64,128]", "f32[1000,16]", high=1000)
def bag_of_ngrams(tokens: Array, table: Array) -> Array:
    """The mean of embeddings of hashed pairs and triples of words."""
    pairs = (tokens[:, :-1] * 31 + tokens[:, 1:]) % 1000
    triples = (pairs[:, :-1] * 31 + tokens[:, 2:]) % 1000
    return (table[tokens].sum(1) + table[pairs].sum(1) + table[triples].sum(1)) / 381


@program("f32[100,32]", "f32[32,32]")
def forward_backward(scores: Array, moves: Array) -> Array:
    """How likely each of 32 hidden states is in each of 100 steps (Baum and Welch)."""

    def forward(before: Array, score: Array) -> tuple[Array, Array]:
        now = jax.nn.logsumexp(before[:, None] + moves, 0) + score
        return now, now

    def backward(after: Array, score: Array) -> tuple[Array, Array]:
        now = jax.nn.logsumexp(moves + (score + after), 1)
        return now, now

    ahead = lax.scan(forward, scores[0], scores[1:])[1]
    behind = lax.scan(backward, jnp.zeros(32), scores[1:], reverse=True)[1]
    return jax.nn.softmax(ahead[:-1] + behind[1:])


@program("f32[8,60,64]", "f32[128,192]", "f32[64,192]", "f32[64,64]")
def gru_with_attention(memory: Array, into: Array, again: Array, query: Array) -> Array:
    """A decoder that looks at 60 places in each of 40 steps (Bahdanau et al., 2015)."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        hidden, seen = state
        r, z, n = jnp.split(jnp.concatenate([hidden, seen], -1) @ into / 10, 3, -1)
        r2, z2, n2 = jnp.split(hidden @ again / 8, 3, -1)
        r, z = jax.nn.sigmoid(r + r2), jax.nn.sigmoid(z + z2)
        hidden = (1 - z) * jnp.tanh(n + r * n2) + z * hidden
        weights = jax.nn.softmax(jnp.einsum("bh,hk,btk->bt", hidden, query, memory) / 8)
        return (hidden, jnp.einsum("bt,btk->bk", weights, memory)), hidden

    return lax.scan(step, (jnp.zeros((8, 64)), memory[:, 0]), None, 40)[1]


@program("f32[64,64]", "f32[64,500]")
def beam_search_with_lengths(again: Array, out: Array) -> tuple[Array, Array]:
    """Eight beams of which some end, and compete by the mean over their lengths."""

    def step(state: tuple[Array, ...], _: None) -> tuple[tuple[Array, ...], Array]:
        hidden, scores, ended, length = state
        hidden = jnp.tanh(hidden @ again / 8)
        logits = jax.nn.log_softmax(hidden @ out / 8)
        stays = jnp.full((500,), -jnp.inf).at[0].set(0.0)
        total = scores[:, None] + jnp.where(ended[:, None], stays, logits)
        length = length + jnp.where(ended, 0, 1)
        ranked = total / ((5 + length[:, None]) / 6) ** 0.6
        best = lax.top_k(ranked.reshape(-1), 8)[1]
        beam, token = best // 500, best % 500
        scores = total.reshape(-1)[best]
        return (hidden[beam], scores, ended[beam] | (token == 0), length[beam]), token

    first = jnp.where(jnp.arange(8) == 0, 0.0, -1e9)
    none = (jnp.zeros(8, bool), jnp.zeros(8, jnp.int32))
    state, tokens = lax.scan(step, (jnp.ones((8, 64)), first, *none), None, 30)
    return tokens, state[1]


@program("s32[2000]", high=1000)
def longest_increasing(numbers: Array) -> tuple[Array, Array]:
    """The length of the longest increasing subsequence, by a binary search for each number."""

    def place(least: Array, number: Array) -> tuple[Array, Array]:
        at = jnp.searchsorted(least, number)
        return least.at[at].set(number), at

    least, places = lax.scan(place, jnp.full(2000, 1 << 30), numbers)
    return (least < 1 << 30).sum(), places


@program("s32[32,128]", "f32[1000,32]", high=1000)
def skip_gram(words: Array, table: Array) -> Array:
    """The gradient of embeddings that are to predict two neighbours on each side."""

    def loss(table: Array) -> Array:
        here = table[words]
        near = jnp.stack([jnp.roll(here, k, 1) for k in (-2, -1, 1, 2)], 2)
        return -jax.nn.log_sigmoid((here[:, :, None] * near).sum(-1)).mean()

    return jax.grad(loss)(table)
