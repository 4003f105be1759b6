"""Products, convolutions, transforms and linear algebra."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.attributes import (
    BatchNorm,
    Cholesky,
    Convolution,
    DotDims,
    Fft,
    RaggedDotDims,
    TriangularSolve,
)
from hlo.frontends.stablehlo.writing.movement import one
from hlo.frontends.stablehlo.writing.reductions import several
from hlo.frontends.stablehlo.writing.table import Tree, unsayable, writes
from hlo.frontends.stablehlo.writing.types import (
    enumeration,
    flags,
    listed,
    matrix,
    numbers,
    truth,
)
from hlo.types.element_type import F32, F64
from hlo.types.shape import array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.writing.operation import MlirValue
    from hlo.frontends.stablehlo.writing.table import WritingScope
    from hlo.instruction import Instruction

_ALGORITHM = re.compile(r"dot_(?P<lhs>\w+?)_(?P<rhs>\w+?)_(?P<sum>[a-z]+\d+)(?:_x(?P<count>\d))?")
_ANY_F8 = re.compile(r"dot_any_f8_any_f8_f32(?P<fast>_fast_accum)?")


def _precision(words: Sequence[str], operands: int = 2) -> str:
    said = [*words, *["default"] * (operands - len(words))]
    return listed(enumeration("precision", word.upper()) for word in said)


def _algorithm(instr: Instruction, name: str) -> dict[str, str]:
    """The algorithm of a dot, from HLO's name for it."""
    if not name or name == "unset":
        return {}
    fast = _ANY_F8.fullmatch(name)
    match = _ALGORITHM.fullmatch(name)
    if fast:
        kind = instr.operands[0].shape.element_type.name
        if not kind.startswith("f8"):
            raise unsayable(instr, f"algorithm `{name}` for {kind}")
        kinds, total, count = [f"f8{kind[2:].upper()}"] * 2, "f32", "1"
    elif match:
        kinds, total, count = [match["lhs"], match["rhs"]], match["sum"], match["count"] or "1"
    else:
        raise unsayable(instr, f"algorithm `{name}`")
    fields = {
        "lhs_precision_type": kinds[0],
        "rhs_precision_type": kinds[1],
        "accumulation_type": total,
        "lhs_component_count": "1",
        "rhs_component_count": "1",
        "num_primitive_operations": count,
        "allow_imprecise_accumulation": truth(fast and fast["fast"]),
    }
    words = ", ".join(f"{key} = {value}" for key, value in fields.items())
    return {"algorithm": f"#stablehlo.dot_algorithm<{words}>"}


def _fields(pairs: dict[str, Sequence[int]]) -> str:
    """Lists of dimensions that are not empty."""
    return ", ".join(f"{name} = {listed(dims)}" for name, dims in pairs.items() if dims)


def _dot_fields(attrs: DotDims) -> dict[str, Sequence[int]]:
    return {
        "lhs_batching_dimensions": attrs.lhs_batch_dims,
        "rhs_batching_dimensions": attrs.rhs_batch_dims,
        "lhs_contracting_dimensions": attrs.lhs_contracting_dims,
        "rhs_contracting_dimensions": attrs.rhs_contracting_dims,
    }


@writes("dot")
def dot(scope: WritingScope, instr: Instruction) -> Tree:
    """A batched product, summed over contracting dimensions."""
    attrs = DotDims.of(instr)
    attributes = {
        "dot_dimension_numbers": f"#stablehlo.dot<{_fields(_dot_fields(attrs))}>",
        "precision_config": _precision(attrs.operand_precision),
        **_algorithm(instr, attrs.algorithm),
    }
    return scope.op("stablehlo.dot_general", _alike(scope, instr), [instr.shape], attributes)[0]


def _alike(scope: WritingScope, instr: Instruction) -> list[MlirValue]:
    """The two sides, in one type: HLO's may differ, where a product is exact in the wider one."""
    kinds = [operand.shape.element_type for operand in instr.operands]
    values = [scope.value(operand) for operand in instr.operands]
    if kinds[0] is kinds[1]:
        return values
    kind = max([*kinds, instr.shape.element_type], key=lambda kind: kind.bits)
    shapes = [operand.shape.with_type(kind) for operand in instr.operands]
    pairs = zip(values, shapes, strict=True)
    return [scope.op("stablehlo.convert", [value], [shape])[0] for value, shape in pairs]


@writes("ragged-dot")
def ragged_dot(scope: WritingScope, instr: Instruction) -> Tree:
    """A dot whose left side has rows of several groups."""
    attrs = RaggedDotDims.of(instr)
    fields = {
        **_dot_fields(attrs),
        "lhs_ragged_dimensions": attrs.lhs_ragged_dims,
        "rhs_group_dimensions": attrs.rhs_group_dims,
    }
    attributes = {
        "ragged_dot_dimension_numbers": f"#chlo.ragged_dot<{_fields(fields)}>",
        "precision_config": _precision(attrs.operand_precision).replace("#stablehlo", "#chlo"),
    }
    return several(scope, instr, "chlo.ragged_dot", attributes)


@writes("scaled-dot")
def scaled_dot(scope: WritingScope, instr: Instruction) -> Tree:
    """A dot of operands whose blocks share scales: each is multiplied by its own before."""
    lhs, rhs, *scales = instr.operands
    sides = [_scaled(scope, *pair) for pair in zip((lhs, rhs), scales, strict=True)]
    attrs = DotDims.of(instr)
    attributes = {
        "dot_dimension_numbers": f"#stablehlo.dot<{_fields(_dot_fields(attrs))}>",
        "precision_config": _precision(attrs.operand_precision),
    }
    kind = F64 if F64 in (lhs.shape.element_type, rhs.shape.element_type) else F32
    wide = instr.shape.with_type(kind)
    product = scope.op("stablehlo.dot_general", sides, [wide], attributes)
    return scope.op("stablehlo.convert", product, [instr.shape])[0]


def _scaled(scope: WritingScope, operand: Instruction, scale: Instruction) -> MlirValue:
    """Elements times the scales of their blocks, in f32 or f64."""
    kind = F64 if operand.shape.element_type is F64 else F32
    shape = array(kind, operand.shape.dims)
    converted = scope.op("stablehlo.convert", [scope.value(operand)], [shape])
    counts = scale.shape.dims
    by_block = scope.op("stablehlo.convert", [scope.value(scale)], [array(kind, counts)])
    # A dimension of blocks becomes two, blocks and their elements, and these one.
    pairs = zip(counts, shape.dims, strict=True) if counts else ()
    blocks = array(kind, tuple(n for c, size in pairs for n in (c, size // max(c, 1))))
    repeated = {"broadcast_dimensions": numbers(range(0, blocks.rank, 2))}
    if counts:
        by_block = scope.op("stablehlo.broadcast_in_dim", by_block, [blocks], repeated)
        by_block = scope.op("stablehlo.reshape", by_block, [shape])
    else:
        by_block = scope.op("stablehlo.broadcast_in_dim", by_block, [shape], repeated)
    return scope.op("stablehlo.multiply", [*converted, *by_block], [shape])[0]


@writes("convolution")
def convolution(scope: WritingScope, instr: Instruction) -> Tree:
    """A windowed product in any number of dimensions."""
    attrs = Convolution.of(instr)
    labels, window = attrs.dim_labels, attrs.window
    if labels.unknown_input or labels.unknown_kernel or labels.unknown_output:
        raise unsayable(instr, "dimension without a role: `?` in dim_labels")
    if attrs.sparsity_config:
        raise unsayable(instr, "sparsity of convolutions")
    sides = (
        _side("b", labels.input_batch, "f", labels.input_feature, labels.input_spatial),
        _side("i", labels.kernel_input_feature, "o", labels.kernel_output_feature,
              labels.kernel_spatial),
        _side("b", labels.output_batch, "f", labels.output_feature, labels.output_spatial),
    )  # fmt: skip
    attributes = {
        "dimension_numbers": "#stablehlo.conv<{}x{}->{}>".format(*sides),
        "window_strides": numbers(d.stride for d in window),
        "padding": matrix([(d.pad_low, d.pad_high) for d in window], 2),
        "lhs_dilation": numbers(d.base_dilation for d in window),
        "rhs_dilation": numbers(d.window_dilation for d in window),
        "window_reversal": flags(d.reversal for d in window),
        "feature_group_count": f"{attrs.feature_group_count} : i64",
        "batch_group_count": f"{attrs.batch_group_count} : i64",
        "precision_config": _precision(attrs.operand_precision),
    }
    return scope.op("stablehlo.convolution", _alike(scope, instr), [instr.shape], attributes)[0]


def _side(first: str, at: int, second: str, then: int, spatial: Sequence[int]) -> str:
    """The roles of the dimensions of one array: `[b, 0, 1, f]`."""
    words: dict[int, Any] = {at: first, then: second}
    words |= {d: number for number, d in enumerate(spatial)}
    return listed(words[d] for d in sorted(words))


@writes("fft")
def fft(scope: WritingScope, instr: Instruction) -> Tree:
    """A Fourier transform over the last dimensions."""
    attrs = Fft.of(instr)
    kind = enumeration("fft_type", attrs.fft_type)
    return one(scope, instr, "fft", {"fft_type": kind, "fft_length": numbers(attrs.fft_length)})


@writes("cholesky")
def cholesky(scope: WritingScope, instr: Instruction) -> Tree:
    """The triangular factor of positive definite matrices."""
    return one(scope, instr, "cholesky", {"lower": truth(Cholesky.of(instr).lower)})


@writes("triangular-solve")
def triangular_solve(scope: WritingScope, instr: Instruction) -> Tree:
    """The solution of a triangular system."""
    attrs = TriangularSolve.of(instr)
    attributes = {
        "left_side": truth(attrs.left_side),
        "lower": truth(attrs.lower),
        "unit_diagonal": truth(attrs.unit_diagonal),
        "transpose_a": enumeration("transpose", attrs.transpose_a),
    }
    return one(scope, instr, "triangular_solve", attributes)


@writes("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
def batch_norm(scope: WritingScope, instr: Instruction) -> Tree:
    """Features normalized, and the gradients of that."""
    attrs = BatchNorm.of(instr)
    attributes = {
        "epsilon": f"{float(attrs.epsilon)!r} : f32",
        "feature_index": f"{attrs.feature_index} : i64",
    }
    return several(scope, instr, f"stablehlo.{instr.opcode.replace('-', '_')}", attributes)
