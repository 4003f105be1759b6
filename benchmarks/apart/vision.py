"""Images, boxes and points in space."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.apart import program

Array = Any
NHWC = ("NHWC", "HWIO", "NHWC")


def _conv(x: Array, w: Array, stride: int = 1, groups: int = 1, dilation: int = 1) -> Array:
    return lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", rhs_dilation=(dilation, dilation),
        dimension_numbers=NHWC, feature_group_count=groups,
    )  # fmt: skip


def _norm(x: Array, axes: tuple[int, ...]) -> Array:
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)


@program("f32[2,40,40,24]", "f32[1,1,24,96]", "f32[3,3,1,96]", "f32[1,1,96,24]")
def inverted_residual(x: Array, up: Array, depth: Array, down: Array) -> Array:
    """A block of MobileNet."""
    h = jnp.clip(_conv(x, up), 0, 6)
    return x + _conv(jnp.clip(_conv(h, depth, groups=96), 0, 6), down)


@program("f32[2,28,28,64]", "f32[64,8]", "f32[8,64]")
def squeeze_and_excite(x: Array, down: Array, up: Array) -> Array:
    """Channels scaled by what they are on the whole."""
    return x * jax.nn.sigmoid(jax.nn.relu(x.mean((1, 2)) @ down) @ up)[:, None, None]


@program("f32[1,48,48,32]", "f32[3,3,32,16]", "f32[3,3,32,16]", "f32[3,3,32,16]", "f32[48,8]")
def atrous_pyramid(x: Array, a: Array, b: Array, c: Array, w: Array) -> Array:
    """Convolutions at three rates, and labels of pixels."""
    h = [_conv(x, k, dilation=rate) for k, rate in ((a, 1), (b, 3), (c, 6))]
    return (jax.nn.relu(jnp.concatenate(h, -1)) @ w).argmax(-1)


@program("f32[4,56,56,24]", "f32[7,7,1,24]", "f32[24,96]", "f32[96,24]")
def convnext_block(x: Array, depth: Array, up: Array, down: Array) -> Array:
    """A wide depthwise convolution, a norm, and two dense layers."""
    return x + jax.nn.gelu(_norm(_conv(x, depth, groups=24), (-1,)) @ up) @ down


@program("f32[2,64,64,3]", "f32[8,8,3,96]", "f32[65,96]", "f32[96]")
def patches_of_an_image(x: Array, w: Array, places: Array, token: Array) -> Array:
    """What a vision transformer begins with."""
    h = _conv(x, w, stride=8).reshape(2, -1, 96)
    return _norm(jnp.concatenate([jnp.broadcast_to(token, (2, 1, 96)), h], 1) + places, (-1,))


@program("f32[2,32,32,16]", "f32[3,3,16,8]")
def pixel_shuffle(x: Array, w: Array) -> Array:
    """A convolution whose features become four pixels."""
    h = _conv(x, w).reshape(2, 32, 32, 2, 2, 2)
    return h.transpose(0, 1, 3, 2, 4, 5).reshape(2, 64, 64, 2)


@program("f32[96,96]", "f32[96,96,2]")
def warp_by_flow(image: Array, flow: Array) -> Array:
    """Bilinear samples at places that a flow names."""
    place = jnp.stack(jnp.meshgrid(jnp.arange(96.0), jnp.arange(96.0), indexing="ij"), -1)
    place = jnp.clip(place + 2 * flow, 0, 94.999)
    low = jnp.floor(place).astype(jnp.int32)
    part = place - low
    rows, columns = low[..., 0], low[..., 1]
    top = image[rows, columns] * (1 - part[..., 1]) + image[rows, columns + 1] * part[..., 1]
    below = image[rows + 1, columns] * (1 - part[..., 1])
    below += image[rows + 1, columns + 1] * part[..., 1]
    return top * (1 - part[..., 0]) + below * part[..., 0]


@program("f32[128,128]")
def harris_corners(image: Array) -> Array:
    """The response of each pixel, kept where it is the largest around."""
    dy, dx = jnp.gradient(image)

    def box(a: Array) -> Array:
        return lax.reduce_window(a, 0.0, lax.add, (5, 5), (1, 1), "SAME")

    xx, yy, xy = box(dx * dx), box(dy * dy), box(dx * dy)
    response = xx * yy - xy**2 - 0.05 * (xx + yy) ** 2
    largest = lax.reduce_window(response, -jnp.inf, lax.max, (3, 3), (1, 1), "SAME")
    return jnp.where(response == largest, response, 0)


@program("f32[120,160,3]")
def hue_saturation_value(image: Array) -> Array:
    """Colours in other coordinates."""
    r, g, b = jnp.moveaxis(jax.nn.sigmoid(image), -1, 0)
    most, least = jnp.maximum(jnp.maximum(r, g), b), jnp.minimum(jnp.minimum(r, g), b)
    span = most - least + 1e-6
    hue = jnp.select(
        [most == r, most == g], [(g - b) / span, 2 + (b - r) / span], 4 + (r - g) / span
    )
    return jnp.stack([hue % 6 / 6, span / (most + 1e-6), most], -1)


@program("f32[100,100]")
def bilateral_filter(image: Array) -> Array:
    """A mean of neighbours that look alike."""
    total = weights = jnp.zeros_like(image)
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            other = jnp.roll(image, (dy, dx), (0, 1))
            w = jnp.exp(-(dy * dy + dx * dx) / 4 - (other - image) ** 2)
            total, weights = total + w * other, weights + w
    return total / weights


@program("f32[500,3]", "f32[400,3]")
def iterative_closest_point(points: Array, target: Array) -> Array:
    """Five steps towards the nearest ones, with rotations by Newton and Schulz."""

    def step(points: Array, _: None) -> tuple[Array, None]:
        nearest = target[((points[:, None] - target) ** 2).sum(-1).argmin(1)]
        one, other = points - points.mean(0), nearest - nearest.mean(0)
        r = one.T @ other
        r = r / jnp.sqrt((r * r).sum())
        for _ in range(6):
            r = 1.5 * r - 0.5 * r @ r.T @ r
        return one @ r + nearest.mean(0), None

    return lax.scan(step, points, None, 5)[0]


@program("f32[64,5]", "f32[20,4]")
def generalized_overlap(boxes: Array, truth: Array) -> Array:
    """The loss of each pair of boxes."""
    one = jnp.concatenate([boxes[:, :2], boxes[:, :2] + jnp.exp(boxes[:, 2:4])], 1)[:, None]
    other = jnp.concatenate([truth[:, :2], truth[:, :2] + jnp.exp(truth[:, 2:])], 1)

    def area(b: Array) -> Array:
        return jnp.prod(jnp.maximum(b[..., 2:] - b[..., :2], 0), -1)

    def of(low: Array, high: Array) -> Array:
        return jnp.concatenate([low, high], -1)

    shared = of(
        jnp.maximum(one[..., :2], other[..., :2]), jnp.minimum(one[..., 2:], other[..., 2:])
    )
    around = of(
        jnp.minimum(one[..., :2], other[..., :2]), jnp.maximum(one[..., 2:], other[..., 2:])
    )
    union = area(one) + area(other) - area(shared)
    return area(shared) / union - (area(around) - union) / area(around)


@program("f32[2,24,24,8]", "s32[50,2]", high=24)
def samples_at_points(features: Array, points: Array) -> Array:
    """Rows of features at points, and the means of windows around them."""
    at = features[:, points[:, 0], points[:, 1]]
    mean = lax.reduce_window(features, 0.0, lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "SAME") / 25
    return jnp.concatenate([at, mean[:, points[:, 0], points[:, 1]]], -1)


@program("f32[200,200]")
def thresholds_by_otsu(image: Array) -> Array:
    """The grey that parts an image best."""
    grey = jnp.clip((image + 3) * 42, 0, 255).astype(jnp.int32)
    counts = jnp.zeros(256).at[grey.reshape(-1)].add(1.0) / image.size
    below, mean = jnp.cumsum(counts), jnp.cumsum(counts * jnp.arange(256))
    between = (mean[-1] * below - mean) ** 2 / jnp.maximum(below * (1 - below), 1e-6)
    return grey > between.argmax()


@program("f32[3000,3]", "f32[3,3]")
def depth_of_points(points: Array, camera: Array) -> Array:
    """The nearest depth of points in each pixel."""
    x, y, z = (points @ camera).T
    z = jnp.abs(z) + 1
    column = jnp.clip((x / z + 1) * 32, 0, 63).astype(jnp.int32)
    row = jnp.clip((y / z + 1) * 32, 0, 63).astype(jnp.int32)
    return jnp.full((64, 64), 99.0).at[row, column].min(z)


@program("f32[8,32,32,16]", "f32[16]", "f32[16]", "f32[8,32,32,16]")
def group_norm_gradient(x: Array, scale: Array, bias: Array, out: Array) -> Array:
    """The gradient of a norm over groups of channels."""

    def loss(x: Array, scale: Array, bias: Array) -> Array:
        grouped = _norm(x.reshape(8, 32, 32, 4, 4), (1, 2, 4)).reshape(x.shape)
        return ((grouped * scale + bias) * out).sum()

    return jax.grad(loss, (0, 1, 2))(x, scale, bias)
