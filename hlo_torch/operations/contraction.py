"""Products of matrices, convolutions, attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import F32, S32
from hlo.types.shape import array
from hlo.types.values import ConvDims, WindowDim
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
from optimizer.expanders.parts import counting, folded, permuted, spread, to_dims
from optimizer.rewriting.make import make, splat

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
    more : elements behind the images of a transpose, which torch calls output_padding.
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


def _same_heads(query: Instruction, other: Instruction) -> None:
    if query.shape.dims[:2] != other.shape.dims[:2]:
        raise Unsupported("fewer heads of keys than of queries")


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def attention(
    _out: None, query: Instruction, key: Instruction, value: Instruction, dropout: float = 0,
    is_causal: bool = False, *, attn_mask: Instruction | None = None, scale: float | None = None,
) -> tuple[Instruction, ...]:  # fmt: skip
    """Attention, and the logarithm of the sum of each query's weights."""
    _same_heads(query, key)
    if dropout:
        raise Unsupported("dropout inside of attention")
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
    _same_heads(query, key)
    scores = _scores(query, key, attn_mask, scale, is_causal=is_causal)
    kind, dims = value.shape.element_type, scores.shape.dims
    wide, along = scores.shape.element_type, tuple(range(len(dims) - 1))
    weights = make("exponential", scores - spread(to_dims(logsumexp, dims[:-1]), dims, along))
    of_value = product(_turned(converted(weights, kind)), grad)
    inner = total(converted(grad, wide) * converted(result, wide), (len(dims) - 1,))
    of_weights = converted(product(grad, value, transposed=True), wide)
    of_scores = weights * (of_weights - spread(inner, dims, along))
    of_scores = of_scores * (1 / math.sqrt(query.shape.dims[-1]) if scale is None else scale)
    of_scores = converted(of_scores, kind)
    return product(of_scores, key), product(_turned(of_scores), query), of_value


def _turned(x: Instruction) -> Instruction:
    """Matrices transposed."""
    rank = x.shape.rank
    return permuted(x, [*range(rank - 2), rank - 1, rank - 2])
