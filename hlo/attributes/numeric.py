"""Attributes of opcodes that combine elements: products, windows, order, linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes.spec import Attrs, optional, required

if TYPE_CHECKING:
    from hlo.types.values import ConvDims, SparsityConfig, Window

# How precisely a dot computes: operand types and type of the sum, in how many partial products.
DOT_ALGORITHMS = (
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_bf16_bf16_f32_x9",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
)
TRANSPOSES = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")


@dataclass(frozen=True, slots=True, kw_only=True)
class DotDims(Attrs):
    """The batch dimensions, and those that are summed over."""

    lhs_batch_dims: tuple[int, ...] = optional("ints", ())
    lhs_contracting_dims: tuple[int, ...] = optional("ints", (), always=True)
    rhs_batch_dims: tuple[int, ...] = optional("ints", ())
    rhs_contracting_dims: tuple[int, ...] = optional("ints", (), always=True)
    operand_precision: tuple[str, ...] = optional("precisions", ())
    algorithm: str = optional("word", "", words=DOT_ALGORITHMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaggedDotDims(DotDims):
    """A dot whose lhs has a ragged dimension, cut into groups at run time."""

    lhs_ragged_dims: tuple[int, ...] = optional("ints", (), always=True)
    rhs_group_dims: tuple[int, ...] = optional("ints", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution(Attrs):
    """Window, dimension roles and grouping of a convolution."""

    window: Window = optional("window", ())
    dim_labels: ConvDims = required("dim_labels")
    feature_group_count: int = optional("int", 1)
    batch_group_count: int = optional("int", 1)
    convolution_kind: str = optional("word", "", words=("unset", "fprop", "wgrad", "dgrad"))
    operand_precision: tuple[str, ...] = optional("precisions", ())
    algorithm: str = optional("word", "", words=DOT_ALGORITHMS)
    sparsity_config: SparsityConfig | None = optional("sparsity_config", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed(Attrs):
    """The window of reduce-window and select-and-scatter."""

    window: Window = optional("window", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Attrs):
    """The dimension to sort along, and whether equal elements keep their order."""

    dimensions: tuple[int, ...] = required("ints")
    is_stable: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(Attrs):
    """The number of extremes of the last dimension, and their kind."""

    k: int = required("int")
    largest: bool = optional("bool", default=True, always=True)
    is_stable: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Attrs):
    """The dimension that is folded step by step; the last `num_carries` operands are carried."""

    dimensions: tuple[int, ...] = required("ints")
    num_carries: int = required("int")
    is_reverse: bool = optional("bool", default=False)
    is_associative: bool = optional("bool", default=False, always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cholesky(Attrs):
    """The triangle that is read and written."""

    lower: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangularSolve(Attrs):
    """op(A) X = B or X op(A) = B, and the form of A."""

    left_side: bool = optional("bool", default=False)
    lower: bool = optional("bool", default=False)
    unit_diagonal: bool = optional("bool", default=False)
    transpose_a: str = optional("word", "TRANSPOSE_INVALID", words=TRANSPOSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fft(Attrs):
    """FFT, IFFT, RFFT or IRFFT over the last len(fft_length) dimensions."""

    fft_type: str = required("word", ("FFT", "IFFT", "RFFT", "IRFFT"))
    fft_length: tuple[int, ...] = required("ints")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNorm(Attrs):
    """The number added to the variance, and the dimension that holds features."""

    epsilon: float = required("float")
    feature_index: int = required("int")
