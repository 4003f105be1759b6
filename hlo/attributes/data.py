"""Attributes of opcodes that make, move or transform elements one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes.spec import Attrs, optional, required

if TYPE_CHECKING:
    from hlo.types.literal import Literal
    from hlo.types.values import PaddingDim, ResultAccuracy, SliceDim


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Attrs):
    """The value is in the parentheses, so it is no keyed attribute."""

    literal: Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterNumber(Attrs):
    """The number is in the parentheses, so it is not a keyed attribute."""

    number: int
    parameter_replication: tuple[bool, ...] = optional("bools", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Iota(Attrs):
    """Along which dimension the numbers rise."""

    iota_dimension: int = required("int")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rng(Attrs):
    """rng_uniform or rng_normal."""

    distribution: str = required("word", ("rng_uniform", "rng_normal"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RngBitGenerator(Attrs):
    """rng_default, rng_three_fry or rng_philox."""

    algorithm: str = required("word", ("rng_default", "rng_three_fry", "rng_philox"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RngGetAndUpdateState(Attrs):
    """By how much the state advances."""

    delta: int = required("int")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(Attrs):
    """The accuracy of a transcendental function."""

    result_accuracy: ResultAccuracy | None = optional("result_accuracy", None, behind="statistics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Attrs):
    """EQ NE GE GT LE LT; type FLOAT, TOTALORDER, SIGNED, UNSIGNED, or "" for the usual one."""

    direction: str = required("word", ("EQ", "NE", "GE", "GT", "LE", "LT"))
    type: str = optional("word", "", words=("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducePrecision(Attrs):
    """The smaller float format to which values are rounded."""

    exponent_bits: int = required("int")
    mantissa_bits: int = required("int")


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Attrs):
    """All dimensions, in order; kept because XLA prints it."""

    dimensions: tuple[int, ...] = optional("ints", (), always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimensions(Attrs):
    """A list of dimensions, whose meaning is the opcode's own."""

    dimensions: tuple[int, ...] = required("ints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broadcast(Attrs):
    """Operand dimension i becomes result dimension dimensions[i]."""

    dimensions: tuple[int, ...] = optional("ints", (), always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape(Attrs):
    """The result dimension of inferred size, in dynamic reshapes; -1 for none."""

    inferred_dimension: int = optional("int", -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Attrs):
    """A start, limit and stride a dimension."""

    slice: tuple[SliceDim, ...] = required("slice_ranges")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad(Attrs):
    """Low, high and interior padding a dimension."""

    padding: tuple[PaddingDim, ...] = required("padding")


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSlice(Attrs):
    """The sizes of the slice; its start comes at run time."""

    dynamic_slice_sizes: tuple[int, ...] = required("ints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather(Attrs):
    """The roles of the dimensions of operand, indices and result."""

    offset_dims: tuple[int, ...] = required("ints")
    collapsed_slice_dims: tuple[int, ...] = required("ints")
    start_index_map: tuple[int, ...] = required("ints")
    operand_batching_dims: tuple[int, ...] = optional("ints", ())
    start_indices_batching_dims: tuple[int, ...] = optional("ints", ())
    index_vector_dim: int = required("int")
    slice_sizes: tuple[int, ...] = required("ints")
    indices_are_sorted: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(Attrs):
    """The roles of the dimensions of operand, indices and updates."""

    update_window_dims: tuple[int, ...] = required("ints")
    inserted_window_dims: tuple[int, ...] = required("ints")
    scatter_dims_to_operand_dims: tuple[int, ...] = required("ints")
    input_batching_dims: tuple[int, ...] = optional("ints", ())
    scatter_indices_batching_dims: tuple[int, ...] = optional("ints", ())
    index_vector_dim: int = required("int")
    indices_are_sorted: bool = optional("bool", default=False)
    unique_indices: bool = optional("bool", default=False)
