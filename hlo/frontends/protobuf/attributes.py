"""The attributes of an instruction's message as HLO text, one function an attribute.

The opcode table says which attributes an opcode has; here is where each is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hlo.errors.error import HloError
from hlo.frontends.protobuf.shapes import (
    literal_of,
    quoted,
    shape_text,
)
from hlo.frontends.protobuf.shardings import axes_text, mesh_text, sharding_text
from hlo.write.literal_print import print_literal
from hlo.write.value_print import print_ints

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.attributes.spec import AttributeSpec
    from hlo.types.literal import Literal

Field = str | None


def attribute_text(instr: Any, key: str, spec: AttributeSpec) -> Field:
    """The value of an attribute; None if it is as by default.

    Raises
    ------
    HloError
        HLO201 if the message cannot have it.
    """
    find = _FIELDS.get(key)
    if find is not None:
        return find(instr)
    if key not in instr.DESCRIPTOR.fields_by_name:
        if spec.required:
            raise HloError("HLO201", f"`{key}` of {instr.opcode} is not read from such files")
        return None
    return _plain(instr, key, spec)


def _plain(instr: Any, key: str, spec: AttributeSpec) -> Field:
    value = getattr(instr, key)
    if spec.kind == "bool":
        return str(bool(value)).lower()
    if spec.kind in ("string",):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return quoted(text) if text or spec.required else None
    if spec.kind == "ints":
        return print_ints(value) if value or spec.required else None
    if spec.kind == "word":
        return word(instr, key) or None
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def word(message: Any, key: str) -> str:
    """The name of an enumeration's value, or a string as it is."""
    value = getattr(message, key)
    if isinstance(value, str):
        return value
    return message.DESCRIPTOR.fields_by_name[key].enum_type.values_by_number[value].name


def _lists(lists: Any) -> str:
    return f"{{{','.join(map(print_ints, lists))}}}"


def _window(instr: Any) -> Field:
    dims = instr.window.dimensions
    if not dims:
        return None
    parts = {
        "size": [str(d.size) for d in dims],
        "stride": [str(d.stride) for d in dims],
        "pad": [f"{d.padding_low}_{d.padding_high}" for d in dims],
        "lhs_dilate": [str(d.base_dilation) for d in dims],
        "rhs_dilate": [str(d.window_dilation) for d in dims],
        "rhs_reversal": [str(int(d.window_reversal)) for d in dims],
    }
    usual = {"size": "", "pad": "0_0", "rhs_reversal": "0"}
    fields = [
        f"{name}={'x'.join(values)}"
        for name, values in parts.items()
        if any(value != usual.get(name, "1") for value in values)
    ]
    return f"{{{' '.join(fields)}}}"


def _dim_labels(instr: Any) -> Field:
    if not instr.HasField("convolution_dimension_numbers"):
        return None
    numbers = instr.convolution_dimension_numbers

    def side(first: int, first_name: str, second: int, second_name: str, spatial: Any) -> str:
        letters = {first: first_name, second: second_name}
        letters |= {at: str(n) for n, at in enumerate(spatial)}
        # A dimension that has no role is a question mark.
        return "".join(letters.get(at, "?") for at in range(max(letters) + 1))

    lhs = side(
        *(numbers.input_batch_dimension, "b", numbers.input_feature_dimension, "f"),
        numbers.input_spatial_dimensions,
    )
    rhs = side(
        *(numbers.kernel_input_feature_dimension, "i"),
        *(numbers.kernel_output_feature_dimension, "o"),
        numbers.kernel_spatial_dimensions,
    )
    out = side(
        *(numbers.output_batch_dimension, "b", numbers.output_feature_dimension, "f"),
        numbers.output_spatial_dimensions,
    )
    return f"{lhs}_{rhs}->{out}"


def _dot(name: str) -> Callable[[Any], Field]:
    def find(instr: Any) -> Field:
        numbers = instr.dot_dimension_numbers
        if instr.HasField("ragged_dot_dimension_numbers"):
            numbers = instr.ragged_dot_dimension_numbers.dot_dimension_numbers
        field = getattr(numbers, name)
        return print_ints(field) if field else None

    return find


def _of(message: str, name: str, always: bool = True) -> Callable[[Any], Field]:
    """Numbers in a message inside the message."""

    def find(instr: Any) -> Field:
        value = getattr(getattr(instr, message), name)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int):
            return str(value)
        return print_ints(value) if value or always else None

    return find


def _index_vector_dim(instr: Any) -> Field:
    is_gather = instr.opcode == "gather"
    numbers = instr.gather_dimension_numbers if is_gather else instr.scatter_dimension_numbers
    return str(numbers.index_vector_dim)


def _slices(instr: Any) -> Field:
    parts = [
        f"[{d.start}:{d.limit}" + (f":{d.stride}]" if d.stride != 1 else "]")
        for d in instr.slice_dimensions
    ]
    return f"{{{', '.join(parts)}}}"


def _tail(instr: Any, key: str) -> str:
    """The last word of an enumeration's value, in small letters."""
    return word(instr, key).rpartition("_")[2].lower()


def _slice_sizes(instr: Any) -> Field:
    """Of a gather; or, one list after the other, of the slices that a permute in place moves."""
    if instr.opcode == "gather":
        return print_ints(instr.gather_slice_sizes)
    shape = instr.shape.tuple_shapes[0] if instr.shape.tuple_shapes else instr.shape
    sizes, rank = list(instr.dynamic_slice_sizes), len(shape.dimensions)
    if not sizes:
        return None
    return _lists(sizes[n : n + rank] for n in range(0, len(sizes), max(rank, 1)))


def _padding(instr: Any) -> Field:
    return "x".join(
        f"{d.edge_padding_low}_{d.edge_padding_high}"
        + (f"_{d.interior_padding}" if d.interior_padding else "")
        for d in instr.padding_config.dimensions
    )


def _dimensions(instr: Any) -> Field:
    # Without any, an all-to-all works on tuples.
    has_none = instr.opcode == "all-to-all" and not instr.dimensions
    return None if has_none else print_ints(instr.dimensions)


def _precision(instr: Any) -> Field:
    names = [
        instr.precision_config.DESCRIPTOR.fields_by_name["operand_precision"]
        .enum_type.values_by_number[p]
        .name.lower()
        for p in instr.precision_config.operand_precision
    ]
    return f"{{{','.join(names)}}}" if any(name != "default" for name in names) else None


def _algorithm(instr: Any) -> Field:
    if instr.opcode == "rng-bit-generator":
        return word(instr, "rng_algorithm").lower()
    name = word(instr.precision_config, "algorithm").removeprefix("ALG_").lower()
    return None if name == "unset" else name


def _replica_groups(instr: Any) -> Field:
    by_axes = instr.mesh_axes_replica_group_list
    if by_axes.mesh.axes:
        return _by_axes(by_axes)
    iota = instr.iota_collective_device_list
    if iota.num_replica_groups:
        tiles = f"[{iota.num_replica_groups},{iota.num_devices_per_group}]"
        turned = list(iota.iota_transpose_perm)
        perm = f"T({','.join(map(str, turned))})" if turned != sorted(turned) else ""
        return f"{tiles}<=[{','.join(map(str, iota.iota_reshape_dims))}]{perm}"
    groups = instr.collective_device_list.replica_groups or instr.replica_groups
    return _lists(g.replica_ids for g in groups)


def _by_axes(groups: Any) -> str:
    """Groups by axes of a mesh: `mesh['x'=2,'y'=2] {'y'}`."""
    return f"{mesh_text(groups.mesh)} {{{axes_text(groups.mesh, groups.axes)}}}"


def _aliases(instr: Any) -> Field:
    parts = [
        f"{print_ints(a.output_shape_index)}: "
        f"({a.operand_index}, {print_ints(a.operand_shape_index)})"
        for a in instr.output_operand_aliasing
    ]
    return f"{{{', '.join(parts)}}}" if parts else None


def _accuracy(instr: Any) -> Field:
    if not instr.HasField("result_accuracy"):
        return None
    accuracy = instr.result_accuracy
    if accuracy.HasField("tolerance"):
        t = accuracy.tolerance
        return f"{{tolerance={{atol={t.atol},rtol={t.rtol},ulps={t.ulps}}}}}"
    return f"{{mode={word(accuracy, 'mode').lower()}}}" if accuracy.mode else None


def _literal(instr: Any) -> Field:
    if not instr.HasField("literal"):
        return None
    literal = literal_of(instr.literal)
    return _shaped(literal)


def _shaped(value: Literal) -> str:
    """A literal with its shapes: `s32[2] {1, 2}`, `( s32[] 1, f32[] 2 )`."""
    if value.shape.is_tuple:
        return f"( {', '.join(map(_shaped, value.elements))} )"
    return f"{value.shape} {print_literal(value)}"


def _replication(instr: Any) -> Field:
    leaves = instr.parameter_replication.replicated_at_leaf_buffers
    return print_ints(str(leaf).lower() for leaf in leaves) if leaves else None


def _prefetch(instr: Any) -> Field:
    name = "cross_program_prefetch_index"
    return str(instr.cross_program_prefetch_index) if instr.HasField(name) else None


def _sparsity(instr: Any) -> Field:
    config = instr.sparsity_config
    parts = [
        f"{side}={{sparsity={s.n}x{s.m} dimension={s.dimension} stride={s.stride}}}"
        for side, s in (("lhs", config.lhs), ("rhs", config.rhs))
        if config.HasField(side)
    ]
    return f"{{{' '.join(parts)}}}" if parts else None


def _constraints(instr: Any) -> Field:
    if not instr.constrain_layout:
        return None
    return f"{{{', '.join(map(shape_text, instr.operand_shapes_with_layout))}}}"


_FIELDS: Final[dict[str, Callable[[Any], Field]]] = {
    "algorithm": _algorithm,
    "api_version": lambda i: (
        word(i, "custom_call_api_version") if i.custom_call_api_version else None
    ),
    "batch_group_count": lambda i: str(i.batch_group_count) if i.batch_group_count else None,
    "channel_id": lambda i: str(i.channel_id) if i.channel_id > 0 else None,
    "collapsed_slice_dims": _of("gather_dimension_numbers", "collapsed_slice_dims"),
    "constrain_layout": lambda i: "true" if i.constrain_layout else None,
    "convolution_kind": lambda i: _tail(i, "conv_kind") if i.conv_kind else None,
    "cross_program_prefetch_index": _prefetch,
    "dim_labels": _dim_labels,
    "dimensions": _dimensions,
    "direction": lambda i: i.comparison_direction,
    "distribution": lambda i: word(i, "distribution").lower(),
    "feature_group_count": lambda i: str(i.feature_group_count) if i.feature_group_count else None,
    "index": lambda i: str(i.tuple_index),
    "index_vector_dim": _index_vector_dim,
    "input_batching_dims": _of("scatter_dimension_numbers", "input_batching_dims", False),
    "inserted_window_dims": _of("scatter_dimension_numbers", "inserted_window_dims"),
    "iota_dimension": lambda i: str(i.dimensions[0]),
    "is_associative": lambda i: "true" if i.is_associative == 1 else None,
    "kind": lambda i: i.fusion_kind,
    "largest": lambda i: str(i.largest).lower(),
    "left_side": _of("triangular_solve_options", "left_side"),
    "literal": _literal,
    "lhs_batch_dims": _dot("lhs_batch_dimensions"),
    "lhs_contracting_dims": _dot("lhs_contracting_dimensions"),
    "lhs_ragged_dims": _of("ragged_dot_dimension_numbers", "lhs_ragged_dimensions"),
    "lower": lambda i: str(
        (i.cholesky_options if i.opcode == "cholesky" else i.triangular_solve_options).lower
    ).lower(),
    "offset_dims": _of("gather_dimension_numbers", "offset_dims"),
    "operand_batching_dims": _of("gather_dimension_numbers", "operand_batching_dims", False),
    "operand_layout_constraints": _constraints,
    "operand_precision": _precision,
    "outfeed_shape": lambda i: shape_text(i.outfeed_shape) if i.HasField("outfeed_shape") else None,
    "output_to_operand_aliasing": _aliases,
    "padding": _padding,
    "padding_type": lambda i: word(i, "padding_type") if i.padding_type else None,
    "parameter_replication": _replication,
    "replica_groups": _replica_groups,
    "result_accuracy": _accuracy,
    "rhs_batch_dims": _dot("rhs_batch_dimensions"),
    "rhs_contracting_dims": _dot("rhs_contracting_dimensions"),
    "rhs_group_dims": _of("ragged_dot_dimension_numbers", "rhs_group_dimensions", False),
    "scatter_dims_to_operand_dims": _of(
        "scatter_dimension_numbers", "scatter_dims_to_operand_dims"
    ),
    "scatter_indices_batching_dims": _of(
        "scatter_dimension_numbers", "scatter_indices_batching_dims", False
    ),
    "schedule": lambda i: word(i, "custom_call_schedule") if i.custom_call_schedule else None,
    "slice": _slices,
    "slice_sizes": _slice_sizes,
    "sparsity_config": _sparsity,
    # The message's entry is the operand's side, which the text calls the exit.
    "domain": lambda i: (
        f'{{kind="sharding", entry={sharding_text(i.domain_exit_sharding)}, '
        f"exit={sharding_text(i.domain_entry_sharding)}}}"
    ),
    "inferred_dimension": lambda i: str(i.dimensions[0]) if i.dimensions else None,
    "source_target_pairs": lambda i: _lists((p.source, p.target) for p in i.source_target_pairs),
    "start_index_map": _of("gather_dimension_numbers", "start_index_map"),
    "start_indices_batching_dims": _of(
        "gather_dimension_numbers", "start_indices_batching_dims", False
    ),
    "transpose_a": lambda i: word(i.triangular_solve_options, "transpose_a"),
    "type": lambda i: i.comparison_type or None,
    "unit_diagonal": _of("triangular_solve_options", "unit_diagonal"),
    "update_window_dims": _of("scatter_dimension_numbers", "update_window_dims"),
    "window": _window,
}
