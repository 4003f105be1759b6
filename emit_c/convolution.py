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
    """Loops over batch, groups and places; inside over window and input features; inmost over
    output features.

    Where each group has one input feature, the loop over groups becomes a part of the inmost one.
    """
    attrs: a.Convolution = instr.attrs  # type: ignore[assignment]
    labels, window, kind = attrs.dim_labels, attrs.window, product_type(instr)
    lhs, rhs = instr.operands
    features = rhs.shape.dims[labels.kernel_input_feature]
    total = rhs.shape.dims[labels.kernel_output_feature]
    groups = max(attrs.feature_group_count, attrs.batch_group_count)
    depthwise = features == 1 and attrs.feature_group_count > 1
    group_size = total if depthwise else total // groups
    if group_size < 4 or instr.shape.size == 0 or rhs.shape.size == 0 or lhs.shape.size == 0:
        return None
    width = next(w for w in range(min(FEATURES, group_size), 0, -1) if group_size % w == 0)
    rows = _copy_kernel(body, instr, kind)
    feature = body.name("feature")
    spatial = [lhs.shape.dims[d] for d in labels.input_spatial]
    outer = [instr.shape.dims[labels.output_batch], *(instr.shape.dims[d] for d in labels.output_spatial)]
    names = ["n", *(f"y{k}" for k in range(len(window)))]
    with body.loops(names, outer) as (n, *place), body.loops(["g", "block"], [total // group_size, group_size // width]) as (g, block):  # fmt: skip
        here = g * group_size + block * width + counter(feature, width)
        sums = body.variable(wide(kind), "sums", size=width)
        zero = literal(kind, kind.dtype.type(0))
        body.add(For(feature, width, (Assign(f"{sums}[{feature}]", zero),), simd=True))
        with body.loops("w" * len(window), [w.size for w in window]) as offset:
            condition, at = window_place(tuple(place), offset, spatial, window)
            if condition != "0":
                with body.when(condition), body.loops(["c"], [features]) as (c,):
                    source = _input_index(attrs, n, c, at, lhs.shape.rank)
                    if depthwise:
                        source[labels.input_feature] = here // (total // groups)
                    if attrs.batch_group_count > 1:
                        size = lhs.shape.dims[labels.input_batch] // attrs.batch_group_count
                        source[labels.input_batch] = n + g * size
                    elif attrs.feature_group_count > 1 and not depthwise:
                        source[labels.input_feature] = c + g * features
                    row = linear((*offset, c, here), (*(w.size for w in window), features, total))
                    _add_products(body, lhs, tuple(source), kind, (sums, feature, width),
                                  f"{rows}[{row.text}]", shared=not depthwise)  # fmt: skip
        target = [Sum(0)] * instr.shape.rank
        target[labels.output_batch], target[labels.output_feature] = n, here
        for d, part in zip(labels.output_spatial, place, strict=True):
            target[d] = part
        number = linear(tuple(target), instr.shape.dims).text
        value = _result(f"{sums}[{feature}]", kind, instr.shape.element_type)
        stored = Assign(f"{outputs[0]}[{number}]", store(instr.shape.element_type, value))
        body.add(over(feature, width, [stored]))
    return rhs.shape.size * kind.bytes


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


def _input_index(attrs: a.Convolution, n: Sum, c: Sum, at: Index, rank: int) -> list[Sum]:
    """Where in the input an element is, but for groups."""
    labels = attrs.dim_labels
    source = [Sum(0)] * rank
    source[labels.input_batch], source[labels.input_feature] = n, c
    for d, part in zip(labels.input_spatial, at, strict=True):
        source[d] = part
    return source


def _add_products(
    body: Body, lhs: Instruction, source: Index, kind: ElementType,
    sums: tuple[str, str, int], factor: str, *, shared: bool,
) -> None:  # fmt: skip
    """Add the products of an input element and a row of the kernel to a row of sums."""
    name, feature, width = sums
    value = body.let(wide(kind), "x", _as(body.element(lhs, source), lhs, kind)) if shared else ""
    with body.block() as statements:
        x = value or body.let(wide(kind), "x", _as(body.element(lhs, source), lhs, kind))
        row = body.let(wide(kind), "row", factor)
        product = body.let(wide(kind), "product", expression("multiply", kind, x, row) or "")
        joined = "|" if kind.kind == "pred" else "+"
        body.assign(f"{name}[{feature}]", f"{name}[{feature}] {joined} {product}")
    body.add(over(feature, width, statements))


def _as(value: str, operand: Instruction, kind: ElementType) -> str:
    source = operand.shape.element_type
    return value if wide(source) == wide(kind) else converted(value, source, kind)


def _result(value: str, kind: ElementType, target: ElementType) -> str:
    """A sum in the result's type."""
    if wide(target) == wide(kind):
        return narrowed(target, value)
    return converted(value, ELEMENT_TYPES[wide(kind)], target)
