"""Attributes of opcodes that call computations, or take values out of tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes.spec import Attrs, optional, required

if TYPE_CHECKING:
    from hlo.types.literal import Literal
    from hlo.types.shape import Shape
    from hlo.types.values import ConvDims, OutputOperandAlias, Window

PADDING_TYPES = ("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
SCHEDULES = ("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
API_VERSIONS = (
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTupleElement(Attrs):
    """The index of the element."""

    index: int = required("int")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeCall(Attrs):
    """Whether the called computation stands for a named composite operation."""

    is_composite: bool = optional("bool", default=False, behind="called")


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
