"""Products of matrices, convolutions, attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import F32, S32
from hlo.types.shape import array
from hlo.types.values import ConvDims, WindowDim
from hlo_torch.operations.indexing import take
from hlo_torch.operations.table import (
    Unsupported,
    aten,
    binary,
    broadcast,
    converted,
    least,
    to_shape,
)
from optimizer.derivative.contraction import images_back, kernel_back
from optimizer.derivative.table import total
from optimizer.expanders.linear_algebra.matrices import flipped
from optimizer.expanders.parts import counting, folded, number, spread, to_dims
from optimizer.rewriting.make import constant, make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


def product(x: Instruction, y: Instruction, *, transposed: bool = False) -> Instruction:
    """Products of matrices, whose first dimensions are a batch.

    Parameters
    ----------
    transposed : the second one.
    """
    rank = x.shape.rank
    batch = tuple(range(rank - 2))
    return make(
        "dot", x, y,
        lhs_batch_dims=batch, lhs_contracting_dims=(rank - 1,),
        rhs_batch_dims=batch, rhs_contracting_dims=(rank - 1 if transposed else rank - 2,),
    )  # fmt: skip


@aten("mm.default", "bmm.default")
def mm(_out: Shape, x: Instruction, y: Instruction, *_: Any) -> Instruction:
    """The product of matrices."""
    return product(x, y)


@aten("addmm.default", "baddbmm.default")
def addmm(
    out: Shape, z: Instruction, x: Instruction, y: Instruction, *, beta: float = 1, alpha: float = 1
) -> Instruction:
    """Beta z + alpha x y."""
    made = product(x, y)
    made = made if alpha == 1 else made * alpha
    if beta == 0:
        return made
    bias = to_shape(out, z)
    return made + (bias if beta == 1 else bias * beta)


@aten("addbmm.default")
def addbmm(
    out: Shape, z: Instruction, x: Instruction, y: Instruction, *, beta: float = 1, alpha: float = 1
) -> Instruction:
    """Beta z + alpha times the sum of products of matrices."""
    made = make(*("dot", x, y), lhs_contracting_dims=(0, 2), rhs_contracting_dims=(0, 1))
    made = made if alpha == 1 else made * alpha
    if beta == 0:
        return made
    bias = to_shape(out, z)
    return made + (bias if beta == 1 else bias * beta)


def _distance(difference: Instruction, p: float) -> Instruction:
    """The p-norm along the last dimension."""
    size, last = make("abs", difference), difference.shape.rank - 1
    kind = size.shape.element_type
    if p == 0:
        return total(
            converted(make("compare", size, splat(0, size.shape), direction="NE"), kind), (last,)
        )
    if p == 1:
        return total(size, (last,))
    if p == math.inf:
        return folded(size, number(0, kind), (last,), binary("maximum", kind))
    if p == 2:
        return make("sqrt", total(size * size, (last,)))
    sums = total(make("power", size, splat(p, size.shape)), (last,))
    return make("power", sums, splat(1 / p, sums.shape))


@aten("_cdist_forward.default")
def cdist(
    out: Shape, x: Instruction, y: Instruction, p: float, _by_products: int | None = None
) -> Instruction:
    """The distances of all rows of one matrix from all rows of another."""
    return _distance(all_differences(out, x, y), p)


def all_differences(out: Shape, x: Instruction, y: Instruction) -> Instruction:
    """The differences of all rows of one matrix and all of another, along a last dimension."""
    features = x.shape.dims[-1]
    dims = (*out.dims, features)
    x = broadcast(to_dims(x, (*x.shape.dims[:-1], 1, features)), dims)
    y = broadcast(to_dims(y, (*y.shape.dims[:-2], 1, *y.shape.dims[-2:])), dims)
    return x - y


@aten("_pdist_forward.default")
def pdist(_out: Shape, x: Instruction, p: float = 2) -> Instruction:
    """The distance of each row of a matrix from each later one."""
    rows, columns = pairs_of_rows(x)
    return _distance(take(x, [rows]) - take(x, [columns]), p)


def pairs_of_rows(x: Instruction) -> tuple[Instruction, Instruction]:
    """The places of all pairs of rows, of which the second one is the later one."""
    rows, columns = (constant(k.astype(np.int64)) for k in np.triu_indices(x.shape.dims[0], 1))
    return rows, columns


@aten("mv.default", "dot.default", "vdot.default")
def mv(_out: Shape, x: Instruction, y: Instruction) -> Instruction:
    """The product with a vector."""
    return make("dot", x, y, lhs_contracting_dims=(x.shape.rank - 1,), rhs_contracting_dims=(0,))


@aten("_trilinear.default")
def trilinear(
    out: Shape, x: Instruction, y: Instruction, z: Instruction, new_x: Sequence[int],
    new_y: Sequence[int], new_z: Sequence[int], summed: Sequence[int], *_: int,
) -> Instruction:  # fmt: skip
    """Products of three arrays, which get new dimensions first, with sums over some."""
    rank = x.shape.rank + len(new_x)
    parts: list[Instruction] = []
    for array_, new in ((x, new_x), (y, new_y), (z, new_z)):
        left = iter(array_.shape.dims)
        parts.append(to_dims(array_, [1 if k in new else next(left) for k in range(rank)]))
    dims = [max(p.shape.dims[k] for p in parts) for k in range(rank)]
    first, second, third = (broadcast(p, dims) for p in parts)
    return to_dims(total(first * second * third, summed), out.dims)


@aten("_weight_norm_interface_backward.default")
def weight_norm_backward(
    _out: None, grad: Instruction, v: Instruction, g: Instruction, norms: Instruction, axis: int
) -> tuple[Instruction, ...]:
    """The gradients of a weight's direction and length."""
    others = [k for k in range(v.shape.rank) if k != axis]
    along = to_dims(total(grad * v, others), norms.shape.dims) / norms
    scale, share = g / norms, along / norms
    dims = v.shape.dims
    return broadcast(scale, dims) * (grad - v * broadcast(share, dims)), along


class _AtenConvolution:
    """The convolution that an operation is, or of which it is the transpose.

    Parameters
    ----------
    more : elements after the images of a transpose, which torch calls output_padding.
    """

    def __init__(
        self, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
        more: Sequence[int], groups: int, rank: int,
    ) -> None:  # fmt: skip
        def each(values: Sequence[int]) -> list[int]:
            return [*values] if len(values) == rank else [values[0]] * rank

        rows = (each(stride), each(padding), each(dilation), each(more))
        self.moves = list(zip(*rows, strict=True))
        self.groups = groups

    def of(self, images: Instruction, kernel: Instruction) -> Instruction:
        """The convolution of images, b f s s, and a kernel, o i s s."""
        window = tuple(
            WindowDim(n, stride=s, pad_low=p, pad_high=p - m, window_dilation=d)
            for n, (s, p, d, m) in zip(kernel.shape.dims[2:], self.moves, strict=True)
        )
        spatial = tuple(range(2, images.shape.rank))
        labels = ConvDims(0, 1, spatial, 1, 0, spatial, 0, 1, spatial)
        return make(
            *("convolution", images, kernel),
            window=window, dim_labels=labels, feature_group_count=self.groups,
        )  # fmt: skip


@aten("convolution.default")
def convolution(
    out: Shape, x: Instruction, kernel: Instruction, bias: Instruction | None,
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    more: Sequence[int], groups: int,
) -> Instruction:  # fmt: skip
    """A convolution, or the transpose of one."""
    made = _AtenConvolution(stride, padding, dilation, more, groups, out.rank - 2)
    value = images_back(made.of(splat(0, out), kernel), x) if transposed else made.of(x, kernel)
    return value if bias is None else value + spread(bias, out.dims, (1,))


@aten("convolution_backward.default")
def convolution_backward(
    _out: None, grad: Instruction, x: Instruction, kernel: Instruction, _bias: Any,
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    more: Sequence[int], groups: int, wanted: Sequence[bool],
) -> tuple[Instruction | None, ...]:  # fmt: skip
    """The gradients of images, kernel and bias."""
    made = _AtenConvolution(stride, padding, dilation, more, groups, x.shape.rank - 2)
    found: list[Instruction | None] = [None, None, None]
    if wanted[0]:
        found[0] = made.of(grad, kernel) if transposed else images_back(made.of(x, kernel), grad)
    if wanted[1]:
        images, cotangent = (grad, x) if transposed else (x, grad)
        found[1] = kernel_back(made.of(images, kernel), cotangent)
    if wanted[2]:
        found[2] = total(grad, (k for k in range(grad.shape.rank) if k != 1))
    return tuple(found)


# --------------------------------------------------------------------------------- attention


def _scores(
    query: Instruction, key: Instruction, mask: Instruction | None, scale: float | None,
    *, is_causal: bool,
) -> Instruction:  # fmt: skip
    """Scaled products of queries and keys; -inf where a query may not look."""
    scores = product(query, key, transposed=True)
    scores = converted(scores, F32) if scores.shape.element_type.bits < 32 else scores
    scores = scores * (1 / math.sqrt(query.shape.dims[-1]) if scale is None else scale)
    shape = scores.shape
    if is_causal:
        index = array(S32, shape.dims)
        rows, columns = (counting(S32, index.dims, index.rank - k) for k in (2, 1))
        scores = make("select", columns <= rows, scores, splat(-math.inf, shape))
    if mask is None:
        return scores
    if mask.shape.element_type.kind == "pred":
        return make("select", broadcast(mask, shape.dims), scores, splat(-math.inf, shape))
    return scores + to_shape(shape, mask)


def _for_all_heads(x: Instruction, query: Instruction) -> Instruction:
    """Keys or values for each head of queries, which come in groups that share theirs."""
    batch, heads, *rest = x.shape.dims
    groups = query.shape.dims[1] // heads
    wide = spread(x, (batch, heads, groups, *rest), (0, 1, 3, 4))
    return to_dims(wide, (batch, heads * groups, *rest)) if groups > 1 else x


def _of_own_heads(grad: Instruction, x: Instruction) -> Instruction:
    """The gradients of keys or values, added up over the heads that share them."""
    batch, heads, *rest = x.shape.dims
    groups = grad.shape.dims[1] // heads
    return total(to_dims(grad, (batch, heads, groups, *rest)), (2,)) if groups > 1 else grad


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def attention(
    _out: None, query: Instruction, key: Instruction, value: Instruction, dropout: float = 0,
    is_causal: bool = False, *, attn_mask: Instruction | None = None, scale: float | None = None,
) -> tuple[Instruction, ...]:  # fmt: skip
    """Attention, and the logarithm of the sum of each query's weights."""
    if dropout:
        raise Unsupported("dropout inside of attention")
    key, value = (_for_all_heads(x, query) for x in (key, value))
    scores = _scores(query, key, attn_mask, scale, is_causal=is_causal)
    kind, last = scores.shape.element_type, scores.shape.rank - 1
    most = folded(scores, least(kind), (last,), binary("maximum", kind))
    # A query that may look at nothing has weights of zero.
    most = make("select", most > -math.inf, most, splat(0, most.shape))
    along = tuple(range(last))
    weights = make("exponential", scores - spread(most, scores.shape.dims, along))
    sums = total(weights, (last,))
    weights = weights / spread(sums, weights.shape.dims, along)
    made = product(converted(weights, value.shape.element_type), value)
    return made, make("log", sums) + most


@aten("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_backward(
    _out: None, grad: Instruction, query: Instruction, key: Instruction, value: Instruction,
    result: Instruction, logsumexp: Instruction, _dropout: float, is_causal: bool, *,
    attn_mask: Instruction | None = None, scale: float | None = None,
) -> tuple[Instruction, ...]:  # fmt: skip
    """The gradients of queries, keys and values; weights are computed again."""
    own_key, own_value = key, value
    key, value = (_for_all_heads(x, query) for x in (key, value))
    scores = _scores(query, key, attn_mask, scale, is_causal=is_causal)
    kind, dims = value.shape.element_type, scores.shape.dims
    wide, along = scores.shape.element_type, tuple(range(len(dims) - 1))
    weights = make("exponential", scores - spread(to_dims(logsumexp, dims[:-1]), dims, along))
    of_value = product(flipped(converted(weights, kind)), grad)
    inner = total(converted(grad, wide) * converted(result, wide), (len(dims) - 1,))
    of_weights = converted(product(grad, value, transposed=True), wide)
    of_scores = weights * (of_weights - spread(inner, dims, along))
    of_scores = of_scores * (1 / math.sqrt(query.shape.dims[-1]) if scale is None else scale)
    of_scores = converted(of_scores, kind)
    of_key = _of_own_heads(product(flipped(of_scores), query), own_key)
    return product(of_scores, key), of_key, _of_own_heads(of_value, own_value)
