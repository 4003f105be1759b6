"""Writes the values of attributes as XLA does: one function a kind of value.

The counterpart of `hlo.lark`: what a rule there reads, the function of that name here
writes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hlo.read.quoting import quote
from hlo.write.literal_print import print_shaped_literal
from hlo.write.sharding_print import print_replica_groups, print_sharding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hlo.types import values as val
    from hlo.types.shape import Shape


def print_ints(numbers: Iterable[int | str]) -> str:
    """`{0,1}`."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _int_lists(lists: Iterable[Iterable[int]]) -> str:
    return "{" + ",".join(print_ints(numbers) for numbers in lists) + "}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def print_float(value: float) -> str:
    """A number as C++ streams write it: six digits."""
    return f"{value:.6g}"


def _precisions(values: tuple[str, ...]) -> str:
    return "{" + ",".join(values) + "}"


def _shape(shape: Shape) -> str:
    return shape.text


def _shapes(shapes: tuple[Shape, ...]) -> str:
    return "{" + ", ".join(shape.text for shape in shapes) + "}"


def _window(window: val.Window) -> str:
    def by(numbers: Iterable[object]) -> str:
        return "x".join(map(str, numbers))

    if not window:
        return "{}"
    parts = ["size=" + by(w.size for w in window)]
    if any(w.stride != 1 for w in window):
        parts.append("stride=" + by(w.stride for w in window))
    if any(w.pad_low or w.pad_high for w in window):
        parts.append("pad=" + by(f"{w.pad_low}_{w.pad_high}" for w in window))
    if any(w.base_dilation != 1 for w in window):
        parts.append("lhs_dilate=" + by(w.base_dilation for w in window))
    if any(w.window_dilation != 1 for w in window):
        parts.append("rhs_dilate=" + by(w.window_dilation for w in window))
    if any(w.reversal for w in window):
        parts.append("rhs_reversal=" + by(int(w.reversal) for w in window))
    return "{" + " ".join(parts) + "}"


def _padding(padding: tuple[val.PaddingDim, ...]) -> str:
    # XLA leaves interior padding out where no dimension has any.
    interior = any(p.interior for p in padding)
    return "x".join(f"{p.low}_{p.high}" + (f"_{p.interior}" if interior else "") for p in padding)


def _slice_ranges(dims: tuple[val.SliceDim, ...]) -> str:
    # XLA writes strides everywhere as soon as one is not 1.
    strided = any(d.stride != 1 for d in dims)
    ranges = (f"[{d.start}:{d.limit}" + (f":{d.stride}]" if strided else "]") for d in dims)
    return "{" + ", ".join(ranges) + "}"


def _dim_labels(dims: val.ConvDims) -> str:
    def labels(roles: dict[int, str], spatial: tuple[int, ...], unknown: tuple[int, ...]) -> str:
        roles |= {at: str(i) for i, at in enumerate(spatial)}
        # XLA notices an unknown dimension only by the gap that it leaves.
        roles |= {at: "?" for at in unknown if at < max(roles)}
        return "".join(roles[at] for at in sorted(roles))

    inputs = labels(
        {dims.input_batch: "b", dims.input_feature: "f"}, dims.input_spatial, dims.unknown_input
    )
    kernel = labels(
        {dims.kernel_input_feature: "i", dims.kernel_output_feature: "o"},
        dims.kernel_spatial,
        dims.unknown_kernel,
    )
    output = labels(
        {dims.output_batch: "b", dims.output_feature: "f"}, dims.output_spatial, dims.unknown_output
    )
    return f"{inputs}_{kernel}->{output}"


def _operand_aliases(aliases: tuple[val.OutputOperandAlias, ...]) -> str:
    entries = (
        f"{print_ints(a.output_index)}: ({a.operand}, {print_ints(a.operand_index)})"
        for a in aliases
    )
    return "{" + ", ".join(entries) + "}"


def _input_output_alias(aliases: tuple[val.InputOutputAlias, ...]) -> str:
    entries = (
        f"{print_ints(a.output_index)}: ({a.parameter}, {print_ints(a.parameter_index)}, "
        f"{'must' if a.must else 'may'}-alias)"
        for a in aliases
    )
    return "{ " + ", ".join(entries) + " }"


def _buffer_donor(donors: tuple[val.BufferDonor, ...]) -> str:
    entries = (f"({d.parameter}, {print_ints(d.parameter_index)})" for d in donors)
    return "{ " + ", ".join(entries) + " }"


def _computation_layout(layout: val.ComputationLayout) -> str:
    marked = (
        f"/*index={i}*/{shape}" if i and i % 5 == 0 else shape.text
        for i, shape in enumerate(layout.parameters)
    )
    return "{(" + ", ".join(marked) + f")->{layout.result}" + "}"


def _frontend_attributes(attributes: val.FrontendAttributes) -> str:
    return "{" + ",".join(f"{key}={value}" for key, value in attributes.entries) + "}"


def _domain(border: val.DomainBorder) -> str:
    entry, after = print_sharding(border.entry), print_sharding(border.exit)
    return f'{{kind="{border.kind}", entry={entry}, exit={after}}}'


def _result_accuracy(accuracy: val.ResultAccuracy) -> str:
    if accuracy.mode != "tolerance":
        return f"{{mode={accuracy.mode}}}"
    atol, rtol = print_float(accuracy.atol), print_float(accuracy.rtol)
    return f"{{tolerance={{atol={atol},rtol={rtol},ulps={accuracy.ulps}}}}}"


def _sparsity_config(config: val.SparsityConfig) -> str:
    parts = [
        f"{name}={{sparsity={s.n}x{s.m} dimension={s.dimension} stride={s.stride}}}"
        for name, s in (("lhs", config.lhs), ("rhs", config.rhs))
        if s is not None
    ]
    return "{" + " ".join(parts) + "}"


PRINTERS: dict[str, Callable[[Any], str]] = {
    "int": str,
    "bool": _bool,
    "float": print_float,
    "word": str,
    "group_mode": str,
    "string": quote,
    "ints": print_ints,
    "int_lists": _int_lists,
    "bools": lambda values: "{" + ",".join(map(_bool, values)) + "}",
    "precisions": _precisions,
    "domain": _domain,
    "shape": _shape,
    "shapes": _shapes,
    "computation_layout": _computation_layout,
    "window": _window,
    "padding": _padding,
    "slice_ranges": _slice_ranges,
    "dim_labels": _dim_labels,
    "operand_aliases": _operand_aliases,
    "input_output_alias": _input_output_alias,
    "buffer_donor": _buffer_donor,
    "sharding": print_sharding,
    "replica_groups": print_replica_groups,
    "frontend_attributes": _frontend_attributes,
    "result_accuracy": _result_accuracy,
    "sparsity_config": _sparsity_config,
    "literal": print_shaped_literal,
}


@lru_cache(100_000)
def print_value(kind: str, value: Any) -> str:
    """The text of a value of a kind."""
    return PRINTERS[kind](value)
