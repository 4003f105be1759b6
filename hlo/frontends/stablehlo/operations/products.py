"""Products, convolutions, transforms and linear algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.frontends.stablehlo.numbers import integer_of
from hlo.frontends.stablehlo.operation import Tagged
from hlo.frontends.stablehlo.operations.movement import constant_integers
from hlo.frontends.stablehlo.operations.reductions import window_of
from hlo.frontends.stablehlo.table import given, integers, translates, word
from hlo.read.value_rules import PRECISIONS
from hlo.types.values import ConvDims

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.frontends.stablehlo.table import Made
    from hlo.instruction import Instruction

    Operands = list[Instruction]


def precision_of(op: Operation) -> tuple[str, ...]:
    """The operand precisions of a product; () for the usual ones.

    Raises
    ------
    HloError
        HLO013 if one is none.
    """
    words = [word(w).lower() for w in given(op, "precision", "precision_config", default=())]
    if unknown := [w for w in words if w not in PRECISIONS]:
        notes = did_you_mean(unknown[0], PRECISIONS)
        raise HloError("HLO013", f"there is no precision `{unknown[0].upper()}`", op.span, notes)
    return tuple(words) if any(w != "default" for w in words) else ()


def _algorithm(op: Operation) -> str:
    """The algorithm of a dot, by HLO's name for it: operand type, sum's type, partial products."""
    algorithm = given(op, "algorithm", default="")
    if not isinstance(algorithm, Tagged):
        return ""
    fields = algorithm.fields
    types = [str(fields[f"{side}_precision_type"]) for side in ("lhs", "rhs")]
    total = str(fields["accumulation_type"])
    count = integer_of(fields.get("num_primitive_operations", 1))
    if types[0].startswith("f8"):
        fast = "_fast_accum" if fields.get("allow_imprecise_accumulation") is True else ""
        return f"dot_any_f8_any_f8_{total}{fast}"
    return f"dot_{types[0]}_{types[1]}_{total}" + (f"_x{count}" if count > 1 else "")


_SIDES = ("lhs", "rhs")


def _dot_dims(op: Operation) -> dict[str, tuple[int, ...]]:
    """Batch and contracting dimensions of both sides."""
    numbers = given(op, "dot_dimension_numbers", default={})
    if isinstance(numbers, Tagged):
        names = {"batch_dims": "batching_dimensions", "contracting_dims": "contracting_dimensions"}
        return {
            f"{side}_{ours}": integers(numbers.fields.get(f"{side}_{theirs}", ()))
            for side in _SIDES
            for ours, theirs in names.items()
        }
    batch = given(op, "batching_dims", default=((), ()))
    contracting = given(op, "contracting_dims", default=((), ()))
    return {
        f"{side}_{name}": integers(lists[k])
        for name, lists in (("batch_dims", batch), ("contracting_dims", contracting))
        for k, side in enumerate(_SIDES)
    }


@translates("stablehlo.dot_general")
def dot_general(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A batched product, summed over contracting dimensions."""
    return scope.add(
        "dot", *operands, shape=op.result_shapes[0], operand_precision=precision_of(op),
        algorithm=_algorithm(op), **_dot_dims(op),
    )  # fmt: skip


@translates("stablehlo.dot")
def dot(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A product of vectors and matrices: the last dimension by the first."""
    return scope.add(
        "dot", *operands, shape=op.result_shapes[0], operand_precision=precision_of(op),
        lhs_contracting_dims=(operands[0].shape.rank - 1,), rhs_contracting_dims=(0,),
    )  # fmt: skip


@translates("chlo.ragged_dot", "stablehlo.ragged_dot")
def ragged_dot(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A dot whose left side has rows of several groups."""
    numbers = given(op, "ragged_dot_dimension_numbers").fields
    names = {
        "lhs_batch_dims": "lhs_batching_dimensions",
        "rhs_batch_dims": "rhs_batching_dimensions",
        "lhs_contracting_dims": "lhs_contracting_dimensions",
        "rhs_contracting_dims": "rhs_contracting_dimensions",
        "lhs_ragged_dims": "lhs_ragged_dimensions",
        "rhs_group_dims": "rhs_group_dimensions",
    }
    return scope.add(
        "ragged-dot", *operands, shape=op.result_shapes[0], operand_precision=precision_of(op),
        **{ours: integers(numbers.get(theirs, ())) for ours, theirs in names.items()},
    )  # fmt: skip


@translates("stablehlo.dynamic_conv")
def dynamic_conv(scope: RegionScope, op: Operation, operands: Operands) -> Made:
    """A convolution whose paddings are constants."""
    paddings = constant_integers(op, operands[2])
    pairs = tuple(zip(paddings[::2], paddings[1::2], strict=True))
    fixed = replace(op, attributes={**op.attributes, "padding": pairs})
    return convolution(scope, fixed, operands[:2])


@translates("stablehlo.convolution")
def convolution(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A windowed product in any number of dimensions."""
    numbers: Any = given(op, "dim_numbers", "dimension_numbers")
    labels = _numbered(numbers.fields) if getattr(numbers, "fields", ()) else _labels(numbers)
    kernel = operands[1].shape.dims
    window_attribute = given(op, "window", default={})

    def of(custom: str, generic: str) -> Any:
        return window_attribute.get(custom, given(op, generic, default=()))

    window = window_of(
        [kernel[d] for d in labels.kernel_spatial],
        of("stride", "window_strides"),
        of("pad", "padding"),
        of("lhs_dilate", "lhs_dilation"),
        of("rhs_dilate", "rhs_dilation"),
        of("reverse", "window_reversal"),
    )
    return scope.add(
        "convolution", *operands, shape=op.result_shapes[0], window=window, dim_labels=labels,
        feature_group_count=integer_of(given(op, "feature_group_count", default=1)),
        batch_group_count=integer_of(given(op, "batch_group_count", default=1)),
        operand_precision=precision_of(op),
    )  # fmt: skip


def _labels(numbers: Any) -> ConvDims:
    """Roles of dimensions: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""
    words: tuple[Any, ...] = numbers.words if isinstance(numbers, Tagged) else numbers
    lists: list[Any] = [side for side in words if isinstance(side, tuple)]
    sides = [[str(label) for label in side] for side in lists]

    def spatial(side: list[str]) -> tuple[int, ...]:
        return tuple(side.index(str(k)) for k in range(len(side) - 2))

    image, window, result = sides
    return ConvDims(
        image.index("b"), image.index("f"), spatial(image),
        window.index("i"), window.index("o"), spatial(window),
        result.index("b"), result.index("f"), spatial(result),
    )  # fmt: skip


def _numbered(fields: Mapping[str, Any]) -> ConvDims:
    """Roles of dimensions by number: `#stablehlo.conv<raw input_batch_dimension = 0, ...>`."""
    sides = (
        ("input", "batch", "feature"),
        ("kernel", "input_feature", "output_feature"),
        ("output", "batch", "feature"),
    )
    roles: list[Any] = []
    for side, *others in sides:
        roles += [integer_of(fields[f"{side}_{role}_dimension"]) for role in others]
        roles.append(integers(fields[f"{side}_spatial_dimensions"]))
    return ConvDims(*roles)


@translates("stablehlo.fft")
def fft(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A Fourier transform over the last dimensions."""
    kind = word(given(op, "type", "fft_type"))
    return scope.add(
        "fft", *operands, fft_type=kind, fft_length=integers(given(op, "length", "fft_length"))
    )


@translates("stablehlo.cholesky")
def cholesky(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The triangular factor of positive definite matrices."""
    return scope.add("cholesky", *operands, lower=given(op, "lower", default=False) is True)


@translates("stablehlo.triangular_solve")
def triangular_solve(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The solution of a triangular system."""
    flags = {
        n: given(op, n, default=False) is True for n in ("left_side", "lower", "unit_diagonal")
    }
    transpose = word(given(op, "transpose_a", default="NO_TRANSPOSE"))
    return scope.add("triangular-solve", *operands, transpose_a=transpose, **flags)


@translates("stablehlo.batch_norm_training", "stablehlo.batch_norm_grad")
def batch_norms(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Features normalized by their own mean and variance, and the gradients of that."""
    opcode = op.name.partition(".")[2].replace("_", "-")
    return scope.several(op, opcode, *operands, **_batch_norm(op))


@translates("stablehlo.batch_norm_inference")
def batch_norm_inference(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Features normalized by given means and variances."""
    return scope.add("batch-norm-inference", *operands, **_batch_norm(op))


def _batch_norm(op: Operation) -> dict[str, Any]:
    epsilon: Any = given(op, "epsilon")
    if getattr(epsilon, "kind", "") != "f32":
        raise HloError("HLO013", "epsilon is no f32", op.span, ["write `epsilon = 1.0e-5 : f32`"])
    return {"epsilon": float(epsilon), "feature_index": integer_of(given(op, "feature_index"))}
