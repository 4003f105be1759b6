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
    made = module_message(module)
    if name.endswith(_INSIDE):
        whole = message("HloProto")()
        whole.hlo_module.CopyFrom(made)
        made = whole
    if name.endswith(TEXT):
        from google.protobuf import text_format  # noqa: PLC0415

        return text_format.MessageToString(made).encode()
    return made.SerializeToString()


def module_message(module: Module) -> Any:
    """The message `HloModuleProto` of a module."""
    made = message("HloModuleProto")()
    made.name = module.name
    numbers = {computation: n for n, computation in enumerate(module.computations, 1)}
    made.entry_computation_name = module.entry.name
    made.entry_computation_id = numbers[module.entry]
    ids: dict[Instruction, int] = {}
    for instr in module.instructions():
        ids[instr] = len(ids) + 1
    for computation in module.computations:
        _fill_computation(made.computations.add(), computation, numbers, ids)
    _fill_header(made, module)
    _fill_frames(made.stack_frame_index, module.stack_frames)
    if module.header.is_scheduled:
        for computation in module.computations:
            if computation not in fused_computations(module):
                entry = made.schedule.sequences.add(key=numbers[computation])
                entry.value.instruction_ids.extend(ids[i] for i in computation.instructions)
    return made


def _fill_computation(
    made: Any,
    computation: Computation,
    numbers: dict[Computation, int],
    ids: dict[Instruction, int],
) -> None:
    made.name, made.id = computation.name, numbers[computation]
    made.root_id = ids[computation.root]
    made.execution_thread = computation.execution_thread
    for parameter in computation.parameters:
        fill_shape(made.program_shape.parameters.add(), parameter.shape)
        made.program_shape.parameter_names.append(parameter.name)
    fill_shape(made.program_shape.result, computation.root.shape)
    for instr in computation.instructions:
        _fill_instruction(made.instructions.add(), instr, numbers, ids)


def _fill_instruction(
    made: Any, instr: Instruction, numbers: dict[Computation, int], ids: dict[Instruction, int]
) -> None:
    made.name, made.opcode, made.id = instr.name, instr.opcode, ids[instr]
    fill_shape(made.shape, instr.shape)
    made.operand_ids.extend(ids[operand] for operand in instr.operands)
    made.control_predecessor_ids.extend(ids[before] for before in instr.control_predecessors)
    called = [numbers[each] for each in instr.called]
    # A message has the body of a loop before its condition.
    made.called_computation_ids.extend(called[::-1] if instr.opcode == "while" else called)
    if instr.opcode == "constant":
        literal = Constant.of(instr).literal
        if literal.elided:
            message_ = "constant: its numbers are left out, which a protocol buffer can't say"
            raise HloError("HLO201", message_, instr.span)
        fill_literal(made.literal, literal)
    elif instr.opcode == "parameter":
        made.parameter_number = instr.attrs.number  # pyright: ignore
    fill_attributes(made, instr)
    said = instr.annotations
    if said.sharding:
        fill_sharding(made.sharding, said.sharding)
    if said.frontend_attributes:
        fill_map(made.frontend_attributes, said.frontend_attributes)
    if said.metadata:
        fill_metadata(made.metadata, said.metadata)
    if said.statistics:
        fill_statistics(made.statistics_viz, said.statistics)
    if said.origin:
        fill_origin(made.original_value, said.origin)
    made.backend_config = text_of(said.backend_config).encode("utf-8", "surrogateescape")


def _fill_header(made: Any, module: Module) -> None:
    header, entry = module.header, module.entry
    layout = header.entry_computation_layout
    shapes = layout.parameters if layout else tuple(p.shape for p in entry.parameters)
    for parameter, shape in zip(entry.parameters, shapes, strict=True):
        fill_shape(made.host_program_shape.parameters.add(), shape)
        made.host_program_shape.parameter_names.append(parameter.name)
    fill_shape(made.host_program_shape.result, layout.result if layout else entry.root.shape)
    for alias in header.input_output_alias:
        row = made.input_output_alias.entries.add(parameter_number=alias.parameter)
        row.output_shape_index.extend(alias.output_index)
        row.parameter_shape_index.extend(alias.parameter_index)
        set_word(row, "kind", "MUST_ALIAS" if alias.must else "MAY_ALIAS")
    for donor in header.buffer_donor:
        row = made.buffer_donor.entries.add(parameter_number=donor.parameter)
        row.parameter_shape_index.extend(donor.parameter_index)
    if header.replica_count > 1 or header.num_partitions > 1:
        _fill_devices(made.device_assignment, header.replica_count, header.num_partitions)
    fill_map(made.frontend_attributes, header.frontend_attributes)
    for key, written in header.others:
        if key == _RECOVERY:
            _fill_recovery(made.original_value_recovery_table, written)
        else:
            tell(f"left out: {key}")


def _fill_devices(made: Any, replicas: int, partitions: int) -> None:
    """The usual assignment: device r * partitions + p is replica r of partition p."""
    made.replica_count, made.computation_count = replicas, partitions
    numbers = np.arange(replicas * partitions).reshape(replicas, partitions)
    for column in numbers.T.tolist():
        made.computation_devices.add().replica_device_ids.extend(column)


def _fill_recovery(made: Any, written: str) -> None:
    """The recovery of values that passes have removed."""
    from hlo.read.parse import parse  # noqa: PLC0415

    for old, new, module in read("recovery_table", written, None):
        row = made.entries.add()
        fill_array(row.old_original_array, str(old))
        fill_array(row.new_original_array, str(new))
        if module is not None:
            row.recovery_module.CopyFrom(module_message(parse(unquote(str(module)))))


_FIELD = re.compile(r"(\w+)=(-?\d+)")


def _fill_frames(made: Any, frames: StackFrames) -> None:
    """The tables of the user's lines; in a message the outermost caller is 0."""
    made.file_names.extend(map(text_of, frames.file_names))
    made.function_names.extend(map(text_of, frames.function_names))
    for row in frames.file_locations:
        made.file_locations.add(**{key: int(n) for key, n in _FIELD.findall(row)})
    for row in frames.stack_frames:
        fields = {key: int(n) for key, n in _FIELD.findall(row)}
        fields["parent_frame_id"] = max(fields.get("parent_frame_id", 1) - 1, 0)
        made.stack_frames.add(**fields)
