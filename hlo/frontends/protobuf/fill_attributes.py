"""Fills the fields of an instruction's message that hold its attributes.

It is the other way of `attributes`: one function an attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hlo.attributes import attribute_specs
from hlo.errors.error import HloError
from hlo.frontends.protobuf.fill_values import (
    fill_axes,
    fill_literal,
    fill_mesh,
    fill_shape,
    fill_sharding,
    set_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction

    Fill = Callable[[Any, Any], None]


def fill_attributes(message: Any, instr: Instruction) -> None:
    """All attributes of an instruction."""
    for key, spec in attribute_specs(type(instr.attrs)).items():
        value = getattr(instr.attrs, spec.field)
        if spec.kind == "window" and value is not None:
            message.window.SetInParent()  # of scalars it has no dimensions, but is there
        if value is None or (value in ("", ()) and not spec.always):
            continue
        fill = _OF_OPCODES.get((instr.opcode, key)) or _FIELDS.get(key)
        if fill is not None:
            fill(message, value)
        else:
            _plain(message, key, value)


def _plain(message: Any, key: str, value: Any) -> None:
    """A field that is called as the attribute is."""
    field = message.DESCRIPTOR.fields_by_name.get(key)
    if field is None and not value:
        return
    if field is None:
        raise HloError("HLO201", f"`{key}` is not written to protocol buffers")
    if field.enum_type is not None:
        set_word(message, key, value.upper())
    elif field.is_repeated:
        getattr(message, key).extend(value)
    elif field.type == field.TYPE_BYTES:
        setattr(message, key, value.encode("utf-8", "surrogateescape"))
    else:
        setattr(message, key, value)


def _into(*path: str) -> Fill:
    """The function that sets a field in a message inside of the message."""

    def fill(message: Any, value: Any) -> None:
        for name in path[:-1]:
            message = getattr(message, name)
            message.SetInParent()
        _plain(message, path[-1], value)

    return fill


def _window(message: Any, window: Any) -> None:
    for dim in window:
        message.window.dimensions.add(
            size=dim.size,
            stride=dim.stride,
            padding_low=dim.pad_low,
            padding_high=dim.pad_high,
            base_dilation=dim.base_dilation,
            window_dilation=dim.window_dilation,
            window_reversal=dim.reversal,
        )


def _dim_labels(message: Any, labels: Any) -> None:
    numbers = message.convolution_dimension_numbers
    for name in ("input_batch", "input_feature", "kernel_input_feature", "kernel_output_feature",
                 "output_batch", "output_feature"):  # fmt: skip
        setattr(numbers, f"{name}_dimension", getattr(labels, name))
    for name in ("input", "kernel", "output"):
        spatial = getattr(labels, f"{name}_spatial")
        getattr(numbers, f"{name}_spatial_dimensions").extend(spatial)


def _slices(message: Any, dims: Any) -> None:
    for dim in dims:
        message.slice_dimensions.add(start=dim.start, limit=dim.limit, stride=dim.stride)


def _padding(message: Any, dims: Any) -> None:
    for dim in dims:
        message.padding_config.dimensions.add(
            edge_padding_low=dim.low, edge_padding_high=dim.high, interior_padding=dim.interior
        )


def _precisions(message: Any, words: Any) -> None:
    config = message.precision_config
    values = config.DESCRIPTOR.fields_by_name["operand_precision"].enum_type.values_by_name
    config.operand_precision.extend(values[word.upper()].number for word in words)


def _algorithm(message: Any, word: str) -> None:
    set_word(message.precision_config, "algorithm", f"ALG_{word.upper()}")


def _replica_groups(message: Any, groups: Any) -> None:
    if groups.mesh is not None:
        groups_message = message.mesh_axes_replica_group_list
        fill_mesh(groups_message.mesh, groups.mesh)
        fill_axes(groups_message.axes, groups.axes, groups.mesh)
    elif groups.tiles is not None and groups.tiles.devices is None:
        groups_message = message.iota_collective_device_list
        groups_message.num_replica_groups, groups_message.num_devices_per_group = groups.tiles.dims
        groups_message.iota_reshape_dims.extend(groups.tiles.reshape)
        turned = groups.tiles.transpose or range(len(groups.tiles.reshape))
        groups_message.iota_transpose_perm.extend(turned)
    else:
        for group in groups.groups():
            message.collective_device_list.replica_groups.add().replica_ids.extend(group)


def _aliases(message: Any, aliases: Any) -> None:
    for alias in aliases:
        alias_message = message.output_operand_aliasing.add(operand_index=alias.operand)
        alias_message.output_shape_index.extend(alias.output_index)
        alias_message.operand_shape_index.extend(alias.operand_index)


def _accuracy(message: Any, accuracy: Any) -> None:
    target = message.result_accuracy
    if accuracy.mode == "tolerance":
        target.tolerance.atol, target.tolerance.rtol = accuracy.atol, accuracy.rtol
        target.tolerance.ulps = accuracy.ulps
    else:
        set_word(target, "mode", accuracy.mode.upper())


def _sparsity(message: Any, config: Any) -> None:
    for side in ("lhs", "rhs"):
        if descriptor := getattr(config, side):
            sparsity = getattr(message.sparsity_config, side)
            for name in ("n", "m", "dimension", "stride"):
                setattr(sparsity, name, getattr(descriptor, name))


def _constraints(message: Any, shapes: Any) -> None:
    message.constrain_layout = True
    for shape in shapes:
        fill_shape(message.operand_shapes_with_layout.add(), shape)


def _domain(message: Any, border: Any) -> None:
    """The message's entry is the operand's side, which the text calls the exit."""
    fill_sharding(message.domain_exit_sharding, border.entry)
    fill_sharding(message.domain_entry_sharding, border.exit)


def _pairs(message: Any, pairs: Any) -> None:
    for source, target in pairs:
        message.source_target_pairs.add(source=source, target=target)


def _in_a_row(message: Any, lists: Any) -> None:
    message.dynamic_slice_sizes.extend(n for row in lists for n in row)


def _associative(message: Any, value: bool) -> None:
    set_word(message, "is_associative", f"TRI_STATE_{str(value).upper()}")


_FIELDS: Final[dict[str, Fill]] = {
    "algorithm": _algorithm,
    "api_version": lambda m, v: set_word(m, "custom_call_api_version", v),
    "collapsed_slice_dims": _into("gather_dimension_numbers", "collapsed_slice_dims"),
    "convolution_kind": lambda m, v: set_word(m, "conv_kind", f"CONVOLUTION_KIND_{v.upper()}"),
    "dim_labels": _dim_labels,
    "direction": _into("comparison_direction"),
    "domain": _domain,
    "index": _into("tuple_index"),
    "inferred_dimension": lambda m, v: m.dimensions.extend([v] if v >= 0 else []),
    "input_batching_dims": _into("scatter_dimension_numbers", "input_batching_dims"),
    "inserted_window_dims": _into("scatter_dimension_numbers", "inserted_window_dims"),
    "iota_dimension": lambda m, v: m.dimensions.append(v),
    "is_associative": _associative,
    "kind": _into("fusion_kind"),
    "left_side": _into("triangular_solve_options", "left_side"),
    "lhs_batch_dims": _into("dot_dimension_numbers", "lhs_batch_dimensions"),
    "lhs_contracting_dims": _into("dot_dimension_numbers", "lhs_contracting_dimensions"),
    "lhs_ragged_dims": _into("ragged_dot_dimension_numbers", "lhs_ragged_dimensions"),
    "literal": lambda m, v: fill_literal(m.literal, v),
    "lower": _into("triangular_solve_options", "lower"),
    "number": _into("parameter_number"),
    "offset_dims": _into("gather_dimension_numbers", "offset_dims"),
    "operand_batching_dims": _into("gather_dimension_numbers", "operand_batching_dims"),
    "operand_layout_constraints": _constraints,
    "operand_precision": _precisions,
    "outfeed_shape": lambda m, v: fill_shape(m.outfeed_shape, v),
    "output_to_operand_aliasing": _aliases,
    "padding": _padding,
    "parameter_replication": _into("parameter_replication", "replicated_at_leaf_buffers"),
    "replica_groups": _replica_groups,
    "result_accuracy": _accuracy,
    "rhs_batch_dims": _into("dot_dimension_numbers", "rhs_batch_dimensions"),
    "rhs_contracting_dims": _into("dot_dimension_numbers", "rhs_contracting_dimensions"),
    "rhs_group_dims": _into("ragged_dot_dimension_numbers", "rhs_group_dimensions"),
    "scatter_dims_to_operand_dims": _into(
        "scatter_dimension_numbers", "scatter_dims_to_operand_dims"
    ),
    "scatter_indices_batching_dims": _into(
        "scatter_dimension_numbers", "scatter_indices_batching_dims"
    ),
    "schedule": lambda m, v: set_word(m, "custom_call_schedule", v),
    "slice": _slices,
    "slice_sizes": _in_a_row,
    "source_target_pairs": _pairs,
    "sparsity_config": _sparsity,
    "start_index_map": _into("gather_dimension_numbers", "start_index_map"),
    "start_indices_batching_dims": _into("gather_dimension_numbers", "start_indices_batching_dims"),
    "transpose_a": lambda m, v: set_word(m.triangular_solve_options, "transpose_a", v),
    "type": _into("comparison_type"),
    "unit_diagonal": _into("triangular_solve_options", "unit_diagonal"),
    "update_window_dims": _into("scatter_dimension_numbers", "update_window_dims"),
    "window": _window,
}
_RAGGED = ("ragged_dot_dimension_numbers", "dot_dimension_numbers")
# Attributes that opcodes keep elsewhere than others do.
_OF_OPCODES: Final[dict[tuple[str, str], Fill]] = {
    ("cholesky", "lower"): _into("cholesky_options", "lower"),
    ("gather", "slice_sizes"): _into("gather_slice_sizes"),
    ("gather", "index_vector_dim"): _into("gather_dimension_numbers", "index_vector_dim"),
    ("scatter", "index_vector_dim"): _into("scatter_dimension_numbers", "index_vector_dim"),
    ("rng-bit-generator", "algorithm"): lambda m, v: set_word(m, "rng_algorithm", v.upper()),
    **{
        ("ragged-dot", f"{side}_{name}_dims"): _into(*_RAGGED, f"{side}_{name}_dimensions")
        for side in ("lhs", "rhs")
        for name in ("batch", "contracting")
    },
}
