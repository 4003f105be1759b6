"""Writes modules as XLA's messages: `.pb`, `.hlo.pb`, `.pbtxt`.

`xla::HloModule::CreateFromProto` reads them, and so does `reading`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import Constant
from hlo.errors.error import HloError
from hlo.frontends.protobuf.fill_attributes import fill_attributes
from hlo.frontends.protobuf.fill_values import (
    fill_array,
    fill_literal,
    fill_map,
    fill_metadata,
    fill_origin,
    fill_shape,
    fill_sharding,
    fill_statistics,
    set_word,
    text_of,
)
from hlo.frontends.protobuf.reading import TEXT, tell
from hlo.frontends.protobuf.schema import message
from hlo.read.quoting import unquote
from hlo.read.value_text import read
from hlo.write.print_order import fused_computations

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module, StackFrames

# The end of XLA's own names for a message that has the module inside.
_INSIDE = ".hlo.pb"
_RECOVERY = "origin_recovery_table"


def message_bytes(module: Module, name: str) -> bytes:
    """The contents of a file: HloModuleProto, in `.hlo.pb` inside of HloProto, or one as text.

    Raises
    ------
    HloError
        HLO201 if the library `protobuf` is missing.
    """
    proto = module_message(module)
    if name.endswith(_INSIDE):
        whole = message("HloProto")()
        whole.hlo_module.CopyFrom(proto)
        proto = whole
    if name.endswith(TEXT):
        from google.protobuf import text_format  # noqa: PLC0415

        return text_format.MessageToString(proto).encode()
    return proto.SerializeToString()


def module_message(module: Module) -> Any:
    """The message `HloModuleProto` of a module."""
    proto = message("HloModuleProto")()
    proto.name = module.name
    numbers = {computation: n for n, computation in enumerate(module.computations, 1)}
    proto.entry_computation_name = module.entry.name
    proto.entry_computation_id = numbers[module.entry]
    ids: dict[Instruction, int] = {}
    for instr in module.instructions():
        ids[instr] = len(ids) + 1
    for computation in module.computations:
        _fill_computation(proto.computations.add(), computation, numbers, ids)
    _fill_header(proto, module)
    _fill_frames(proto.stack_frame_index, module.stack_frames)
    if module.header.is_scheduled:
        for computation in module.computations:
            if computation not in fused_computations(module):
                entry = proto.schedule.sequences.add(key=numbers[computation])
                entry.value.instruction_ids.extend(ids[i] for i in computation.instructions)
    return proto


def _fill_computation(
    proto: Any,
    computation: Computation,
    numbers: dict[Computation, int],
    ids: dict[Instruction, int],
) -> None:
    proto.name, proto.id = computation.name, numbers[computation]
    proto.root_id = ids[computation.root]
    proto.execution_thread = computation.execution_thread
    for parameter in computation.parameters:
        fill_shape(proto.program_shape.parameters.add(), parameter.shape)
        proto.program_shape.parameter_names.append(parameter.name)
    fill_shape(proto.program_shape.result, computation.root.shape)
    for instr in computation.instructions:
        _fill_instruction(proto.instructions.add(), instr, numbers, ids)


def _fill_instruction(
    proto: Any, instr: Instruction, numbers: dict[Computation, int], ids: dict[Instruction, int]
) -> None:
    proto.name, proto.opcode, proto.id = instr.name, instr.opcode, ids[instr]
    fill_shape(proto.shape, instr.shape)
    proto.operand_ids.extend(ids[operand] for operand in instr.operands)
    proto.control_predecessor_ids.extend(ids[before] for before in instr.control_predecessors)
    called = [numbers[callee] for callee in instr.called]
    # A message has the body of a loop before its condition.
    proto.called_computation_ids.extend(called[::-1] if instr.opcode == "while" else called)
    if instr.opcode == "constant":
        literal = Constant.of(instr).literal
        if literal.elided:
            message_ = "constant: its numbers are left out, which a protocol buffer can't say"
            raise HloError("HLO201", message_, instr.span)
        fill_literal(proto.literal, literal)
    elif instr.opcode == "parameter":
        proto.parameter_number = instr.attrs.number  # pyright: ignore
    fill_attributes(proto, instr)
    said = instr.annotations
    if said.sharding:
        fill_sharding(proto.sharding, said.sharding)
    if said.frontend_attributes:
        fill_map(proto.frontend_attributes, said.frontend_attributes)
    if said.metadata:
        fill_metadata(proto.metadata, said.metadata)
    if said.statistics:
        fill_statistics(proto.statistics_viz, said.statistics)
    if said.origin:
        fill_origin(proto.original_value, said.origin)
    proto.backend_config = text_of(said.backend_config).encode("utf-8", "surrogateescape")


def _fill_header(proto: Any, module: Module) -> None:
    header, entry = module.header, module.entry
    layout = header.entry_computation_layout
    shapes = layout.parameters if layout else tuple(p.shape for p in entry.parameters)
    for parameter, shape in zip(entry.parameters, shapes, strict=True):
        fill_shape(proto.host_program_shape.parameters.add(), shape)
        proto.host_program_shape.parameter_names.append(parameter.name)
    fill_shape(proto.host_program_shape.result, layout.result if layout else entry.root.shape)
    for alias in header.input_output_alias:
        row = proto.input_output_alias.entries.add(parameter_number=alias.parameter)
        row.output_shape_index.extend(alias.output_index)
        row.parameter_shape_index.extend(alias.parameter_index)
        set_word(row, "kind", "MUST_ALIAS" if alias.must else "MAY_ALIAS")
    for donor in header.buffer_donor:
        row = proto.buffer_donor.entries.add(parameter_number=donor.parameter)
        row.parameter_shape_index.extend(donor.parameter_index)
    if header.replica_count > 1 or header.num_partitions > 1:
        _fill_devices(proto.device_assignment, header.replica_count, header.num_partitions)
    fill_map(proto.frontend_attributes, header.frontend_attributes)
    for key, written in header.others:
        if key == _RECOVERY:
            _fill_recovery(proto.original_value_recovery_table, written)
        else:
            tell(f"left out: {key}")


def _fill_devices(proto: Any, replicas: int, partitions: int) -> None:
    """The usual assignment: device r * partitions + p is replica r of partition p."""
    proto.replica_count, proto.computation_count = replicas, partitions
    numbers = np.arange(replicas * partitions).reshape(replicas, partitions)
    for column in numbers.T.tolist():
        proto.computation_devices.add().replica_device_ids.extend(column)


def _fill_recovery(proto: Any, written: str) -> None:
    """The recovery of values that passes have removed."""
    from hlo.read.parse import parse  # noqa: PLC0415

    for old, new, module in read("recovery_table", written, None):
        row = proto.entries.add()
        fill_array(row.old_original_array, str(old))
        fill_array(row.new_original_array, str(new))
        if module is not None:
            row.recovery_module.CopyFrom(module_message(parse(unquote(str(module)))))


_FIELD = re.compile(r"(\w+)=(-?\d+)")


def _fill_frames(proto: Any, frames: StackFrames) -> None:
    """The tables of the user's lines; in a message the outermost caller is 0."""
    proto.file_names.extend(map(text_of, frames.file_names))
    proto.function_names.extend(map(text_of, frames.function_names))
    for row in frames.file_locations:
        proto.file_locations.add(**{key: int(n) for key, n in _FIELD.findall(row)})
    for row in frames.stack_frames:
        fields = {key: int(n) for key, n in _FIELD.findall(row)}
        fields["parent_frame_id"] = max(fields.get("parent_frame_id", 1) - 1, 0)
        proto.stack_frames.add(**fields)
