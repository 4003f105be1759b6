"""The attributes of instructions, one frozen dataclass a group of opcodes.

A field says everything about its attribute: the name (its key in the text, `-` for `_`), the type,
the kind of text that spells its value (a start rule of `hlo.lark`), whether the parser demands it
and when the printer shows it. Fields stand in the order in which XLA prints them. The parser, the
printer and `hlo ops` read these classes; they name no attribute themselves.

Computations that an instruction calls (`to_apply`, `body`, ...) are not here but in
`Instruction.called`: they are part of the graph. Sharding, metadata and the like, which any
instruction may carry, are in `hlo.annotations`.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from hlo.sharding import ReplicaGroups

if TYPE_CHECKING:
    from hlo.literal import Literal
    from hlo.shape import Shape
    from hlo.values import (
        ConvDims,
        DomainBorder,
        OutputOperandAlias,
        PaddingDim,
        ResultAccuracy,
        SliceDim,
        SparsityConfig,
        Window,
    )


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """What parser and printer know of one attribute.

    Attributes
    ----------
    key : its name in the text.
    field : its name in Python.
    kind : the start rule of the grammar that reads its value.
    required : whether the parser refuses an instruction without it.
    always : whether the printer shows it even where it has its default.
    after_called : whether it is printed after the computations that the instruction calls.
    words : of the kind "word": the words that there are; () for any.
    """

    key: str
    field: str
    kind: str
    required: bool
    always: bool
    default: Any
    after_called: bool
    words: tuple[str, ...]


def required(kind: str, words: tuple[str, ...] = ()) -> Any:
    """An attribute without which the instruction means nothing."""
    return field(metadata={"kind": kind, "always": True, "words": words})


def optional(
    kind: str,
    default: Any,
    *,
    always: bool = False,
    after_called: bool = False,
    words: tuple[str, ...] = (),
) -> Any:
    """An attribute with a default; printed where it differs from it, or always."""
    marks = {"kind": kind, "always": always, "after_called": after_called, "words": words}
    return field(default=default, metadata=marks)


TRANSPOSES = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
PADDING_TYPES = ("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
SCHEDULES = ("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
API_VERSIONS = (
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attrs:
    """No attributes; the base of all groups."""


NO_ATTRS = Attrs()


@cache
def attribute_specs(group: type[Attrs]) -> dict[str, AttributeSpec]:
    """The attributes of a group by key, in printing order."""
    specs: dict[str, AttributeSpec] = {}
    for f in fields(group):
        if "kind" not in f.metadata:
            continue
        default = None if f.default is MISSING else f.default
        specs[f.name] = AttributeSpec(
            f.name,
            f.name,
            f.metadata["kind"],
            required=f.default is MISSING,
            always=f.metadata["always"],
            default=default,
            after_called=f.metadata.get("after_called", False),
            words=f.metadata["words"],
        )
    return specs


# ------------------------------------------------------------------ leaves


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Attrs):
    """The value stands in the parentheses, so it is no keyed attribute."""

    literal: Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(Attrs):
    """The number stands in the parentheses, so it is no keyed attribute."""

    number: int
    parameter_replication: tuple[bool, ...] = optional("bools", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Iota(Attrs):
    """Along which dimension the numbers rise."""

    iota_dimension: int = required("int")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTupleElement(Attrs):
    """Which element."""

    index: int = required("int")


# ------------------------------------------------------------- elementwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(Attrs):
    """How exact a transcendental function must be."""

    result_accuracy: ResultAccuracy | None = optional("result_accuracy", None)


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


# ---------------------------------------------------- shape and data movement


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimensions(Attrs):
    """A list of dimensions; what it means is the opcode's own."""

    dimensions: tuple[int, ...] = required("ints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broadcast(Attrs):
    """Operand dimension i becomes result dimension dimensions[i]."""

    dimensions: tuple[int, ...] = optional("ints", (), always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape(Attrs):
    """Which result dimension has an inferred size, in dynamic reshapes; -1 for none."""

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
    """Which dimensions of operand, indices and result play which role."""

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
    """Which dimensions of operand, indices and updates play which role."""

    update_window_dims: tuple[int, ...] = required("ints")
    inserted_window_dims: tuple[int, ...] = required("ints")
    scatter_dims_to_operand_dims: tuple[int, ...] = required("ints")
    input_batching_dims: tuple[int, ...] = optional("ints", ())
    scatter_indices_batching_dims: tuple[int, ...] = optional("ints", ())
    index_vector_dim: int = required("int")
    indices_are_sorted: bool = optional("bool", default=False)
    unique_indices: bool = optional("bool", default=False)


# -------------------------------------------------- contraction and windows


@dataclass(frozen=True, slots=True, kw_only=True)
class DotDims(Attrs):
    """Which dimensions are batch and which are summed over."""

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


# --------------------------------------------------------- order and loops


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Attrs):
    """The dimension to sort along, and whether equal elements keep their order."""

    dimensions: tuple[int, ...] = required("ints")
    is_stable: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(Attrs):
    """How many extremes of the last dimension, and which."""

    k: int = required("int")
    largest: bool = required("bool")
    is_stable: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Attrs):
    """The dimension that is folded step by step; the last `num_carries` operands are carried."""

    dimensions: tuple[int, ...] = required("ints")
    num_carries: int = required("int")
    is_reverse: bool = optional("bool", default=False)
    is_associative: bool = optional("bool", default=False, always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Attrs):
    """Whether the called computation stands for a named composite operation."""

    is_composite: bool = optional("bool", default=False, after_called=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion(Attrs):
    """kLoop, kInput, kOutput or kCustom, and outputs that share operands' buffers."""

    kind: str = required("word", ("kLoop", "kInput", "kOutput", "kCustom"))
    output_to_operand_aliasing: tuple[OutputOperandAlias, ...] = optional("operand_aliases", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncStart(Attrs):
    """The thread that an async computation runs on, and outputs that share operands' buffers."""

    async_execution_thread: str = optional("string", "main")
    output_to_operand_aliasing: tuple[OutputOperandAlias, ...] = optional("operand_aliases", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStart(Attrs):
    """Marks the copy of an argument that is fetched before the program starts."""

    cross_program_prefetch_index: int | None = optional("int", None)


# ----------------------------------------------------------- linear algebra


@dataclass(frozen=True, slots=True, kw_only=True)
class Cholesky(Attrs):
    """Which triangle is read and written."""

    lower: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangularSolve(Attrs):
    """op(A) X = B or X op(A) = B, and the form of A."""

    left_side: bool = optional("bool", default=False)
    lower: bool = optional("bool", default=False)
    unit_diagonal: bool = optional("bool", default=False)
    transpose_a: str = optional("word", "TRANSPOSE_INVALID", always=True, words=TRANSPOSES)


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


# ------------------------------------------------------------------- random


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


# ------------------------------------------------------ devices and the host


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective(Attrs):
    """Groups of devices that work together, and how they are numbered."""

    channel_id: int | None = optional("int", None)
    replica_groups: ReplicaGroups = optional("replica_groups", ReplicaGroups(), always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveBroadcast(Collective):
    """Whether the root of each group comes at run time."""

    has_dynamic_root: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce(Collective):
    """Groups of an all-reduce."""

    constrain_layout: bool = optional("bool", default=False)
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("word", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllGather(Collective):
    """Groups of an all-gather, and the dimension along which pieces are joined."""

    constrain_layout: bool = optional("bool", default=False)
    dimensions: tuple[int, ...] = required("ints")
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("word", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceScatter(Collective):
    """Groups of a reduce-scatter, and the dimension that is cut."""

    constrain_layout: bool = optional("bool", default=False)
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("word", "")
    dimensions: tuple[int, ...] = required("ints")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllToAll(Collective):
    """Groups of an all-to-all; in its array form the dimension that is cut and joined."""

    constrain_layout: bool = optional("bool", default=False)
    dimensions: tuple[int, ...] | None = optional("ints", None)
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("word", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RaggedAllToAll(Collective):
    """Groups of a ragged all-to-all."""

    mode: str = optional("word", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePermute(Attrs):
    """Who sends to whom; slice sizes in the in-place form."""

    channel_id: int | None = optional("int", None)
    source_target_pairs: tuple[tuple[int, ...], ...] = required("int_lists")
    slice_sizes: tuple[tuple[int, ...], ...] = optional("int_lists", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel(Attrs):
    """The channel of a send or receive; with the host, or between devices."""

    channel_id: int | None = optional("int", None)
    is_host_transfer: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Infeed(Attrs):
    """Text for the device's infeed queue."""

    infeed_config: str = optional("string", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outfeed(Attrs):
    """The shape that is sent (the operand's own if None), and text for the outfeed queue."""

    outfeed_shape: Shape | None = optional("shape", None, always=True)
    outfeed_config: str = optional("string", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(Attrs):
    """The shardings on both sides of the border."""

    domain: DomainBorder = required("domain")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCall(Attrs):
    """The function to call, and everything that a backend wants to know about it."""

    window: Window | None = optional("window", None)
    dim_labels: ConvDims | None = optional("dim_labels", None)
    feature_group_count: int = optional("int", 1)
    batch_group_count: int = optional("int", 1)
    operand_precision: tuple[str, ...] = optional("precisions", ())
    padding_type: str = optional("word", "PADDING_INVALID", words=PADDING_TYPES)
    custom_call_target: str = required("string")
    operand_layout_constraints: tuple[Shape, ...] | None = optional("shapes", None)
    custom_call_has_side_effect: bool = optional("bool", default=False)
    literal: Literal | None = optional("literal", None)
    output_to_operand_aliasing: tuple[OutputOperandAlias, ...] = optional("operand_aliases", ())
    schedule: str = optional("word", "SCHEDULE_NONE", words=SCHEDULES)
    api_version: str = optional("word", "API_VERSION_ORIGINAL", words=API_VERSIONS)
