"""Lets dots and convolutions read their operands untransposed.

dot(transpose(x), y)           =>   dot(x, y), with the dimension numbers of x
dot(reshape(transpose(x)), y)  =>   dot(reshape(x), y), where dimensions of size 1 are dropped
convolution(transpose(x), y)   =>   convolution(x, y), with the dimension labels of x

Only the free dimensions of a dot must keep their order, since they come so in the result. On a GPU
a transpose may stay, if it brings side by side what tensor cores copy at once.
The sums have the same terms; but libraries may add them up in another order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import Convolution, Dimensions, DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.analysis.byte_products import wants_contracted_last
from optimizer.analysis.image_layouts import wants_features_last
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.expanders.parts import to_dims
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class TransposeFolding:
    """Folds transposes into the dots and convolutions that use them.

    Attributes
    ----------
    fast : those, too, that let a GPU's tensor cores copy neighbours of a large product at once.
    """

    name = "transpose-folding"
    xla = "xla/service/transpose_folding.cc"
    promise = ROUNDING
    fast: bool = True

    def run(self, module: Module, log: Log) -> Module:
        """The module whose dots and convolutions read the operands of transposes."""
        folds = {"dot": fold_into_dot, "convolution": fold_into_convolution}
        if not self.fast:
            folds = {"dot": fold_but_for_bytes, "convolution": fold_but_for_features}
        return expand(module, log, folds)


def fold_but_for_bytes(site: ExpansionSite) -> Instruction | None:
    """`fold_into_dot`, but for operands whose transpose makes their contracted dimensions last."""
    return fold_into_dot(site, wants_contracted_last)


def fold_into_dot(
    site: ExpansionSite, stays: Callable[[Instruction, int], bool] = lambda _dot, _number: False
) -> Instruction | None:
    """The dot over the transpose's operand, where the free dimensions stay in order.

    Parameters
    ----------
    stays : tells of an operand whether its contracted dimensions stay last, if they are.
    """
    dot = site.instr
    # A transpose may be that of another one.
    while (folded := folded_once(dot, stays)) is not dot:
        dot = folded
    return dot if dot is not site.instr else None


def folded_once(instr: Instruction, stays: Callable[[Instruction, int], bool]) -> Instruction:
    """The dot over the operands of transposes; the same one where there are none."""
    attrs, operands = DotDims.of(instr), list(instr.operands)
    for i, side in enumerate(("lhs", "rhs")):
        batch: tuple[int, ...] = getattr(attrs, f"{side}_batch_dims")
        contracting: tuple[int, ...] = getattr(attrs, f"{side}_contracting_dims")
        source, order = untransposed(operands[i])
        free = [order[d] for d in free_dims(operands[i], batch, contracting)] if order else []
        is_last = operands[i].shape.rank - 1 in contracting
        if not order or free != sorted(free) or (is_last and stays(instr, i)):
            continue
        moved = {
            f"{side}_batch_dims": tuple(order[d] for d in batch),
            f"{side}_contracting_dims": tuple(order[d] for d in contracting),
        }
        attrs, operands[i] = replace(attrs, **moved), source
    if tuple(operands) == instr.operands:
        return instr
    return instr.with_(attrs=attrs, operands=tuple(operands))


def untransposed(x: Instruction) -> tuple[Instruction, tuple[int, ...]]:
    """The operand of a transpose, and its permutation; () if nothing is transposed.

    After the transpose, a reshape may drop dimensions of size 1: then they are dropped before.
    """
    if x.opcode != "reshape":
        order = permutation(x)
        return (x.operands[0], order) if order else (x, ())
    (transposed,) = x.operands
    order, dims = permutation(transposed), transposed.shape.dims
    left = [order[d] for d, size in enumerate(dims) if size != 1] if order else []
    if not left or tuple(size for size in dims if size != 1) != x.shape.dims:
        return x, ()
    (source,), remaining = transposed.operands, sorted(left)
    source = to_dims(source, [source.shape.dims[d] for d in remaining])
    return source, tuple(map(remaining.index, left))


def fold_into_convolution(site: ExpansionSite) -> Instruction | None:
    """The convolution over the transpose's operand."""
    instr = site.instr
    attrs, (image, kernel) = Convolution.of(instr), instr.operands
    labels = attrs.dim_labels
    while order := permutation(image):
        labels = replace(
            labels,
            input_batch=order[labels.input_batch],
            input_feature=order[labels.input_feature],
            input_spatial=tuple(order[d] for d in labels.input_spatial),
            unknown_input=tuple(order[d] for d in labels.unknown_input),
        )
        image = image.operands[0]
    while order := permutation(kernel):
        labels = replace(
            labels,
            kernel_input_feature=order[labels.kernel_input_feature],
            kernel_output_feature=order[labels.kernel_output_feature],
            kernel_spatial=tuple(order[d] for d in labels.kernel_spatial),
            unknown_kernel=tuple(order[d] for d in labels.unknown_kernel),
        )
        kernel = kernel.operands[0]
    if (image, kernel) == instr.operands:
        return None
    return instr.with_(attrs=replace(attrs, dim_labels=labels), operands=(image, kernel))


def fold_but_for_features(site: ExpansionSite) -> Instruction | None:
    """The same, unless spatial dimensions came last."""
    folded = fold_into_convolution(site)
    return None if folded is None or wants_features_last(folded) else folded


def permutation(x: Instruction) -> tuple[int, ...]:
    """The order into which a transpose brings dimensions; () if it is no transpose."""
    return Dimensions.of(x).dimensions if x.opcode == "transpose" else ()
