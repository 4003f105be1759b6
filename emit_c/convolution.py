"""Whole convolutions: many output features are summed up side by side, in vector lanes.

The kernel is copied first, so that its output features are neighbours whatever its layout was; then
each element of the input is multiplied with a row of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c.folding import over, window_place
from emit_c.indexing import Sum, counter, linear
from emit_c.loops import Assign, For, Variable
from emit_c.matmul import product_type
from emit_c.scalar import converted, expression
from emit_c.types import literal, narrowed, store, wide
from hlo.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.body import Body
    from emit_c.indexing import Index
    from hlo import attributes as a
    from hlo.element_type import ElementType
    from hlo.instruction import Instruction

# Features that are summed up side by side.
FEATURES = 64


def write_whole_convolution(body: Body, instr: Instruction, outputs: Sequence[str]) -> int | None:
    """Loops over batch and places, then blocks of output features, which are summed up together.

    Where each group has one input feature, a block goes across groups; else it is inside of one.
    """
    made = _Shape(instr)
    if made.width < 4 or 0 in (o.shape.size for o in (instr, *instr.operands)):
        return None
    labels, kind = made.attrs.dim_labels, made.kind
    rows = _copy_kernel(body, instr, kind)
    feature = body.name("feature")
    dims = instr.shape.dims
    sizes = [dims[labels.output_batch], *(dims[d] for d in labels.output_spatial)]
    names = ["n", *(f"y{k}" for k in range(len(sizes) - 1)), "g", "block"]
    blocks = [made.total // made.group_size, made.group_size // made.width]
    with body.loops(names, [*sizes, *blocks]) as (n, *place, g, block):
        here = g * made.group_size + block * made.width + counter(feature, made.width)
        sums = body.variable(wide(kind), "sums", size=made.width)
        zero = Assign(f"{sums}[{feature}]", literal(kind, kind.dtype.type(0)))
        body.add(For(feature, made.width, (zero,), simd=True))
        _add_window(body, instr, made, (n, g, here, tuple(place)), (sums, feature, rows))
        target = [Sum(0)] * instr.shape.rank
        target[labels.output_batch], target[labels.output_feature] = n, here
        for d, part in zip(labels.output_spatial, place, strict=True):
            target[d] = part
        number = linear(tuple(target), dims).text
        value = _result(f"{sums}[{feature}]", kind, instr.shape.element_type)
        stored = Assign(f"{outputs[0]}[{number}]", store(instr.shape.element_type, value))
        body.add(over(feature, made.width, [stored]))
    return instr.operands[1].shape.size * kind.bytes


class _Shape:
    """The numbers that the loops of a convolution are made of.

    Attributes
    ----------
    features : input features that each output feature sees.
    total : output features; `group_size` of them belong together, `width` are summed up together.
    depthwise : whether output features of several groups belong together.
    """

    def __init__(self, instr: Instruction) -> None:
        self.attrs: a.Convolution = instr.attrs  # type: ignore[assignment]
        self.kind = product_type(instr)
        labels, dims = self.attrs.dim_labels, instr.operands[1].shape.dims
        self.features = dims[labels.kernel_input_feature]
        self.total = dims[labels.kernel_output_feature]
        self.groups = max(self.attrs.feature_group_count, self.attrs.batch_group_count)
        self.depthwise = self.features == 1 and self.attrs.feature_group_count > 1
        self.group_size = self.total if self.depthwise else self.total // self.groups
        fitting = range(min(FEATURES, self.group_size), 0, -1)
        self.width = next((w for w in fitting if self.group_size % w == 0), 0)


def _add_window(
    body: Body,
    instr: Instruction,
    made: _Shape,
    where: tuple[Sum, Sum, Sum, Index],
    names: tuple[str, str, str],
) -> None:
    """Add the products of all window places and input features to a row of sums.

    Parameters
    ----------
    where : batch, group, output feature and place.
    names : of the sums, of the loop over them, and of the copied kernel.
    """
    n, g, here, place = where
    sums, feature, rows = names
    attrs, lhs = made.attrs, instr.operands[0]
    labels, window = attrs.dim_labels, attrs.window
    spatial = [lhs.shape.dims[d] for d in labels.input_spatial]
    with body.loops("w" * len(window), [w.size for w in window]) as offset:
        condition, at = window_place(place, offset, spatial, window)
        if condition == "0":
            return
        with body.when(condition), body.loops(["c"], [made.features]) as (c,):
            source = [Sum(0)] * lhs.shape.rank
            source[labels.input_batch], source[labels.input_feature] = n, c
            for d, part in zip(labels.input_spatial, at, strict=True):
                source[d] = part
            if made.depthwise:
                source[labels.input_feature] = here // (made.total // made.groups)
            elif attrs.feature_group_count > 1:
                source[labels.input_feature] = c + g * made.features
            elif attrs.batch_group_count > 1:
                size = lhs.shape.dims[labels.input_batch] // attrs.batch_group_count
                source[labels.input_batch] = n + g * size
            sizes = (*(w.size for w in window), made.features, made.total)
            row = f"{rows}[{linear((*offset, c, here), sizes).text}]"
            _add_products(body, lhs, tuple(source), made, (sums, feature, row))


def _copy_kernel(body: Body, instr: Instruction, kind: ElementType) -> str:
    """The kernel in scratch memory, by window place, input feature, output feature."""
    attrs: a.Convolution = instr.attrs  # type: ignore[assignment]
    labels, rhs = attrs.dim_labels, instr.operands[1]
    rows = body.name("rows")
    body.add(Variable(f"{wide(kind)} *", rows, f"({wide(kind)} *)scratch"))
    dims = rhs.shape.dims
    sizes = (
        *(w.size for w in attrs.window),
        dims[labels.kernel_input_feature],
        dims[labels.kernel_output_feature],
    )
    with body.loops([f"k{d}" for d in range(len(sizes))], sizes) as index:
        source = [Sum(0)] * rhs.shape.rank
        source[labels.kernel_input_feature], source[labels.kernel_output_feature] = index[-2:]
        for k, (d, w) in enumerate(zip(labels.kernel_spatial, attrs.window, strict=True)):
            source[d] = index[k] * -1 + (w.size - 1) if w.reversal else index[k]
        value = body.element(rhs, tuple(source))
        body.assign(f"{rows}[{linear(index, sizes).text}]", _as(value, rhs, kind))
    return rows


def _add_products(
    body: Body, lhs: Instruction, source: Index, made: _Shape, names: tuple[str, str, str]
) -> None:
    """Add the products of an input element and a row of the kernel to a row of sums."""
    sums, feature, row = names
    kind = made.kind

    def element() -> str:
        return body.let(wide(kind), "x", _as(body.element(lhs, source), lhs, kind))

    shared = "" if made.depthwise else element()
    with body.block() as statements:
        x = shared or element()
        factor = body.let(wide(kind), "row", row)
        product = body.let(wide(kind), "product", expression("multiply", kind, x, factor) or "")
        joined = "|" if kind.kind == "pred" else "+"
        body.assign(f"{sums}[{feature}]", f"{sums}[{feature}] {joined} {product}")
    body.add(over(feature, made.width, statements))


def _as(value: str, operand: Instruction, kind: ElementType) -> str:
    source = operand.shape.element_type
    return value if wide(source) == wide(kind) else converted(value, source, kind)


def _result(value: str, kind: ElementType, target: ElementType) -> str:
    """A sum in the result's type."""
    if wide(target) == wide(kind):
        return narrowed(target, value)
    return converted(value, ELEMENT_TYPES[wide(kind)], target)
