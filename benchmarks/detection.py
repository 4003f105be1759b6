"""Programs of object detection: small loops around kernels of a few hundred boxes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs import program

Array = Any


def corners(boxes: Array) -> tuple[Array, Array]:
    """Random numbers as boxes: the upper left corners, and the lower right ones."""
    low = boxes[..., :2]
    return low, low + 0.1 + jnp.abs(boxes[..., 2:]) / 4


def overlaps(one: Array, other: Array) -> Array:
    """Intersection over union of each box of one set with each of another."""
    (low, high), (low_2, high_2) = corners(one), corners(other)
    sides = jnp.minimum(high[..., :, None, :], high_2[..., None, :, :]) - jnp.maximum(
        low[..., :, None, :], low_2[..., None, :, :]
    )
    common = jnp.maximum(sides, 0).prod(-1)
    area, area_2 = (high - low).prod(-1), (high_2 - low_2).prod(-1)
    return common / (area[..., :, None] + area_2[..., None, :] - common)


@program("f32[1000,4]", "f32[1000]")
def non_maximum_suppression(boxes: Array, scores: Array) -> Array:
    """Boxes in the order of their scores, each of which silences those that it overlaps."""
    order = jnp.argsort(-scores)
    boxes = boxes[order]
    over = overlaps(boxes, boxes) > 0.5

    def body(i: Array, kept: Array) -> Array:
        later = over[i] & (jnp.arange(1000) > i)
        return jnp.where(kept[i], kept & ~later, kept)

    return lax.fori_loop(0, 1000, body, jnp.ones(1000, bool))


@program("f32[1,512,4]")
def suppression_to_a_fixpoint(boxes: Array) -> Array:
    """As TensorFlow does it: all boxes at once, until no more are silenced."""
    over = jnp.triu(overlaps(boxes, boxes), 1)
    over = jnp.where(over >= 0.5, over, 0.0)

    def body(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        now, _, total = state
        free = (now.max(1) <= 0.5).astype(now.dtype)[..., None]
        left = ((free * now).max(1) <= 0.5).astype(now.dtype)[..., None] * over
        sums = left.sum((1, 2))
        return left, (jnp.abs(total - sums) > 0.5).any(), sums

    first = (over, jnp.array(True), over.sum((1, 2)))
    return lax.while_loop(lambda state: state[1], body, first)[0].max(1)


@program("f32[300,4]", "f32[300,20]")
def suppression_by_class(boxes: Array, scores: Array) -> Array:
    """The best 50 boxes of each of 20 classes, one after the other."""
    over = overlaps(boxes, boxes)

    def of_class(scores: Array) -> Array:
        def take(left: Array, _: None) -> tuple[Array, Array]:
            best = left.argmax()
            silenced = (over[best] > 0.5) | (jnp.arange(300) == best)
            return jnp.where(silenced, -jnp.inf, left), best

        return lax.scan(take, scores, None, length=50)[1]

    return jax.vmap(of_class, in_axes=1)(scores)


@program("f32[8,200,4]", "f32[8,200]")
def soft_suppression(boxes: Array, scores: Array) -> Array:
    """Boxes that a better one overlaps get a lower score (Bodla et al., 2017)."""

    def of_image(boxes: Array, scores: Array) -> Array:
        over = overlaps(boxes, boxes)

        def take(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
            scores, left = state
            best = jnp.where(left, scores, -jnp.inf).argmax()
            lowered = scores * jnp.exp(-(over[best] ** 2) / 0.5)
            return (lowered, left & (jnp.arange(200) != best)), scores[best]

        return lax.scan(take, (jnp.abs(scores), jnp.ones(200, bool)), None, length=100)[1]

    return jax.vmap(of_image)(boxes, scores)


@program("f32[8732,4]", "f32[50,4]", "s32[50]")
def match_anchors(anchors: Array, truth: Array, labels: Array) -> tuple[Array, Array]:
    """For each anchor the box that it overlaps most; each box keeps its best anchor (SSD)."""
    over = overlaps(anchors, truth)
    best = over.argmax(1)
    best = best.at[over.argmax(0)].set(jnp.arange(50))
    good = over.max(1) > 0.5
    (low, high), (low_2, high_2) = corners(truth[best]), corners(anchors)
    size, size_2 = high - low, high_2 - low_2
    shift = ((low + high) - (low_2 + high_2)) / (2 * size_2)
    coded = jnp.concatenate([shift / 0.1, jnp.log(size / size_2) / 0.2], -1)
    return coded, jnp.where(good, labels[best], 0)


@program("f32[64,64,64]", "f32[128,4]")
def roi_align(features: Array, boxes: Array) -> Array:
    """Boxes cut out of a picture in 7 by 7 cells, by bilinear interpolation."""
    low, high = corners(jax.nn.sigmoid(boxes))
    cells = (jnp.arange(7) + 0.5) / 7
    points = (low[:, None] + (high - low)[:, None] * cells[None, :, None]) * 40
    y, x = points[..., 0], points[..., 1]

    def at(y: Array, x: Array) -> Array:
        y, x = (jnp.clip(a, 0, 63).astype(jnp.int32) for a in (y, x))
        return features[y[:, :, None], x[:, None, :]]

    down, right = (y - jnp.floor(y))[:, :, None, None], (x - jnp.floor(x))[:, None, :, None]
    top = at(y, x) * (1 - right) + at(y, x + 1) * right
    bottom = at(y + 1, x) * (1 - right) + at(y + 1, x + 1) * right
    return top * (1 - down) + bottom * down


@program("f32[4,19,19,3,25]")
def decode_yolo(raw: Array) -> tuple[Array, Array]:
    """Boxes and scores out of a grid of raw numbers."""
    grid = jnp.stack(jnp.meshgrid(jnp.arange(19.0), jnp.arange(19.0), indexing="xy"), -1)
    centre = (jax.nn.sigmoid(raw[..., :2]) + grid[:, :, None]) / 19
    size = jnp.exp(raw[..., 2:4]) * jnp.array([[0.1, 0.2], [0.3, 0.3], [0.6, 0.5]])
    scores = jax.nn.sigmoid(raw[..., 4:5]) * jax.nn.softmax(raw[..., 5:])
    boxes = jnp.concatenate([centre - size / 2, centre + size / 2], -1)
    return boxes.reshape(4, -1, 4), scores.reshape(4, -1, 20)


@program("f32[4,4332,20]")
def best_of_the_best(scores: Array) -> tuple[Array, Array]:
    """The best 100 of each class, and the best 50 of these."""
    values, places = lax.top_k(scores.swapaxes(1, 2), 100)
    best, which = lax.top_k(values.reshape(4, -1), 50)
    return best, jnp.take_along_axis(places.reshape(4, -1), which, 1)


@program("f32[4,8732,21]", "s32[4,8732]")
def hard_negatives(logits: Array, labels: Array) -> Array:
    """The loss of boxes with a label, and of three times as many without, the worst ones (SSD)."""
    labels = labels % 40 * (labels % 40 < 21) * (labels % 7 == 0)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], 2)[..., 0]
    positive = labels > 0
    rank = jnp.argsort(jnp.argsort(-jnp.where(positive, 0, losses), 1), 1)
    chosen = positive | (rank < 3 * positive.sum(1, keepdims=True))
    return (losses * chosen).sum() / positive.sum()


@program("f32[100,100]")
def assignment_by_auction(values: Array) -> Array:
    """People to objects, by bids that rise until nobody is left (Bertsekas)."""

    def body(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        prices, owner, step = state
        free = ~(owner[None, :] == jnp.arange(100)[:, None]).any(1)
        net = values - prices
        (first, second), best = lax.top_k(net, 2)[0].T, net.argmax(1)
        bids = jnp.where(free, first - second + 0.05 + prices[best], -jnp.inf)
        offers = jnp.full((100, 100), -jnp.inf).at[jnp.arange(100), best].set(bids)
        top = offers.max(0)
        won = top > -jnp.inf
        return (
            jnp.where(won, top, prices),
            jnp.where(won, offers.argmax(0), owner),
            step + 1,
        )

    first = (jnp.zeros(100), jnp.full(100, -1), jnp.array(0))
    return lax.while_loop(lambda s: (s[2] < 200) & (s[1] < 0).any(), body, first)[1]


@program("f32[500]", "f32[500,4]", "f32[40,4]")
def mean_average_precision(scores: Array, found: Array, truth: Array) -> Array:
    """Detections that take boxes in the order of their scores, at ten thresholds."""
    shared = overlaps(found[jnp.argsort(-scores)], truth)

    def at(threshold: Array) -> Array:
        def match(taken: Array, row: Array) -> tuple[Array, Array]:
            row = jnp.where(taken, -1, row)
            best = row.argmax()
            hit = row[best] >= threshold
            return taken.at[best].set(taken[best] | hit), hit

        hits = lax.scan(match, jnp.zeros(40, bool), shared)[1]
        right = jnp.cumsum(hits)
        precision = lax.cummax(right / jnp.arange(1, 501), reverse=True)
        return (jnp.diff(right / 40, prepend=0) * precision).sum()

    return jax.vmap(at)(jnp.linspace(0.1, 0.9, 10)).mean()


@program("f32[128,128]")
def edges_of_an_image(image: Array) -> Array:
    """The edges that are strong somewhere, followed from there (Canny, 1986)."""
    weights = jnp.exp(-(jnp.arange(-2.0, 3) ** 2) / 2)
    for d in (0, 1):
        image = sum(w * jnp.roll(image, k - 2, d) for k, w in enumerate(weights / weights.sum()))
    across, down = (jnp.roll(image, -1, d) - jnp.roll(image, 1, d) for d in (1, 0))
    steep = jnp.hypot(across, down)
    way = jnp.round(jnp.arctan2(down, across) / (jnp.pi / 4)).astype(jnp.int32) % 4
    near = [
        jnp.maximum(jnp.roll(steep, (y, x), (0, 1)), jnp.roll(steep, (-y, -x), (0, 1)))
        for y, x in ((0, 1), (1, 1), (1, 0), (1, -1))
    ]
    ridge = steep >= jnp.select([way == k for k in range(4)], near)
    weak = ridge & (steep > 0.2)

    def grow(state: tuple[Array, Array]) -> tuple[Array, Array]:
        edges, _ = state
        grown = edges
        for y in (-1, 0, 1):
            for x in (-1, 0, 1):
                grown |= jnp.roll(edges, (y, x), (0, 1))
        grown &= weak
        return grown, (grown != edges).any()

    return lax.while_loop(lambda s: s[1], grow, (weak & (steep > 0.5), jnp.array(True)))[0]


@program("f32[128,128,3]")
def perceived_colours(image: Array) -> Array:
    """Red, green and blue as lightness and two contrasts (CIELAB, by cube roots)."""
    parts = jnp.array([[0.41, 0.36, 0.18], [0.21, 0.72, 0.07], [0.02, 0.12, 0.95]])
    light = jnp.abs(image) @ parts.T
    root = jnp.where(light > 0.0089, jnp.cbrt(light), 7.787 * light + 16 / 116)
    x, y, z = jnp.moveaxis(root, -1, 0)
    return jnp.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)
