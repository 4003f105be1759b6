"""A module's message as HLO text, which the parser then reads as any other.

So nothing of the language is known twice: the parser checks what a file says, whoever wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hlo.attributes import attribute_specs
from hlo.errors.error import HloError
from hlo.frontends.protobuf.attributes import attribute_text
from hlo.frontends.protobuf.origins import origin_text, recovery_text, statistics_text
from hlo.frontends.protobuf.shapes import (
    literal_of,
    metadata_text,
    quoted,
    shape_text,
    type_name,
)
from hlo.frontends.protobuf.shardings import sharding_text
from hlo.opcode import OPCODES, Opcode
from hlo.wording import counted
from hlo.write.literal_print import print_literal
from hlo.write.value_print import print_ints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A module's message has the called computations of a loop in the other order.
_BODY_FIRST = "while"


class _Numbered(NamedTuple):
    """Tables to which instructions refer by number: names of computations, payloads of metadata."""

    computations: dict[int, str]
    payloads: Sequence[bytes]


def module_text(module: Any) -> str:
    """The text of a message `HloModuleProto`.

    Raises
    ------
    HloError
        HLO201 if the message is not what XLA writes.
    """
    names = {computation.id: computation.name for computation in module.computations}
    whole = _Numbered(names, module.payloads)
    parts = [_header(module), *_stack_frames(module)]
    orders = {order.key: list(order.value.instruction_ids) for order in module.schedule.sequences}
    for computation in module.computations:
        is_entry = computation.id == module.entry_computation_id
        order = orders.get(computation.id, [])
        parts.append(_computation(computation, whole, order, is_entry=is_entry))
    return "\n".join(parts)


def _header(module: Any) -> str:
    words = [f"HloModule {module.name or 'module'}"]
    if module.HasField("schedule") and module.schedule.sequences:
        words.append("is_scheduled=true")
    aliases = [
        f"{print_ints(e.output_shape_index)}: ({e.parameter_number}, "
        f"{print_ints(e.parameter_shape_index)}, {'must' if e.kind == 2 else 'may'}-alias)"
        for e in module.input_output_alias.entries
    ]
    if aliases:
        words.append(f"input_output_alias={{ {', '.join(aliases)} }}")
    donors = [
        f"({e.parameter_number}, {print_ints(e.parameter_shape_index)})"
        for e in module.buffer_donor.entries
    ]
    if donors:
        words.append(f"buffer_donor={{ {', '.join(donors)} }}")
    program = module.host_program_shape
    if program.HasField("result"):
        parameters = ", ".join(map(shape_text, program.parameters))
        result = shape_text(program.result)
        words.append(f"entry_computation_layout={{({parameters})->{result}}}")
    devices = module.device_assignment
    if devices.replica_count > 1:
        words.append(f"replica_count={devices.replica_count}")
    if devices.computation_count > 1:
        words.append(f"num_partitions={devices.computation_count}")
    if module.frontend_attributes.map:
        words.append(f"frontend_attributes={_map(module.frontend_attributes)}")
    if module.original_value_recovery_table.entries:
        table = recovery_text(module.original_value_recovery_table, module_text)
        words.append(f"origin_recovery_table={table}")
    return ", ".join(words) + "\n"


def _stack_frames(module: Any) -> Iterator[str]:
    index = module.stack_frame_index
    tables = {
        "FileNames": [quoted(name) for name in index.file_names],
        "FunctionNames": [quoted(name) for name in index.function_names],
        "FileLocations": [_row(location) for location in index.file_locations],
        # In the text a caller is its number and 1 more, so that 1 means that there is none.
        "StackFrames": [
            f"{{file_location_id={f.file_location_id} parent_frame_id={f.parent_frame_id + 1}}}"
            for f in index.stack_frames
        ],
    }
    if any(tables.values()):
        for title, rows in tables.items():
            yield title + "".join(f"\n{n} {row}" for n, row in enumerate(rows, 1)) + "\n"


def _row(message: Any) -> str:
    """The fields of a message as `{name=value name=value}`."""
    fields = message.DESCRIPTOR.fields
    return f"{{{' '.join(f'{f.name}={getattr(message, f.name)}' for f in fields)}}}"


def _computation(computation: Any, whole: _Numbered, order: list[int], *, is_entry: bool) -> str:
    """A computation, in the order of its schedule, if it has one."""
    known = {instr.id: instr for instr in computation.instructions}
    # Numbers of instructions are those of the module, or within the computation.
    by_number = known if set(order) <= set(known) else {n & 0xFFFFFFFF: i for n, i in known.items()}
    instructions = computation.instructions
    if order and set(order) == set(by_number):
        instructions = [by_number[number] for number in order]
    head = f"{'ENTRY ' if is_entry else ''}%{computation.name} {{"
    lines = [head]
    for instr in instructions:
        root = "ROOT " if instr.id == computation.root_id else ""
        lines.append(f"  {root}{_instruction(instr, known, whole)}")
    thread = computation.execution_thread
    tail = f", execution_thread={quoted(thread)}" if thread not in ("", "main") else ""
    return "\n".join([*lines, f"}}{tail}", ""])


def _instruction(instr: Any, known: dict[int, Any], whole: _Numbered) -> str:
    row = OPCODES.get(instr.opcode)
    if row is None:
        raise HloError("HLO201", f"the file has an opcode `{instr.opcode}`")
    try:
        operands = [known[number] for number in instr.operand_ids]
        before = [known[number].name for number in instr.control_predecessor_ids]
        called = [whole.computations[number] for number in instr.called_computation_ids]
    except KeyError as error:
        message = f"%{instr.name} uses {error}, which its computation has not"
        raise HloError("HLO201", message) from None
    inside = ", ".join(f"%{operand.name}" for operand in operands)
    if instr.opcode == "parameter":
        inside = str(instr.parameter_number)
    elif instr.opcode == "constant":
        inside = print_literal(literal_of(instr.literal))
    text = f"%{instr.name} = {shape_text(instr.shape)} {instr.opcode}({inside})"
    for key, spec in attribute_specs(row.attrs).items():
        value = attribute_text(instr, key, spec)
        if value is not None:
            text += f", {key}={value}"
    text += _called(instr, row, operands, called)
    return text + _annotations(instr, before, whole.payloads)


def _annotations(instr: Any, before: list[str], payloads: Sequence[bytes]) -> str:
    """The annotations, which do not change the value.

    Parameters
    ----------
    before : names of instructions that it waits for.
    payloads : of the module's metadata.
    """
    text = ""
    if instr.HasField("sharding"):
        text += f", sharding={sharding_text(instr.sharding)}"
    if instr.frontend_attributes.map:
        text += f", frontend_attributes={_map(instr.frontend_attributes)}"
    if instr.statistics_viz.statistics:
        text += f", statistics={statistics_text(instr.statistics_viz)}"
    if instr.HasField("original_value"):
        text += f", origin={origin_text(instr)}"
    if before:
        text += f", control-predecessors={{{', '.join(f'%{name}' for name in before)}}}"
    metadata = metadata_text(instr.metadata, payloads)
    if metadata:
        text += f", metadata={{{metadata}}}"
    config = instr.backend_config.decode("utf-8", "surrogateescape")
    if config:
        is_json = config.startswith("{")
        text += f", backend_config={config if is_json else quoted(config)}"
    return text


def _called(instr: Any, row: Opcode, operands: list[Any], called: list[str]) -> str:
    """The computations that an instruction calls, each under its key."""
    if not called:
        return ""
    if instr.opcode == _BODY_FIRST:
        called = called[::-1]
    keys = row.called
    if instr.opcode == "conditional":
        on_pred = type_name(operands[0].shape) == "pred" if operands else False
        keys = row.called[:2] if on_pred else row.called[2:]
    elif instr.opcode == "custom-call":
        keys = row.called[:1] if len(called) == 1 else row.called[1:]
    if keys[-1].endswith("*"):
        return f", {keys[-1].rstrip('*')}={{{', '.join(f'%{name}' for name in called)}}}"
    if len(keys) < len(called):
        message = f"%{instr.name} calls {counted(len(called), 'computation')}, not {len(keys)}"
        raise HloError("HLO201", message)
    return "".join(f", {key}=%{name}" for key, name in zip(keys, called, strict=False))


def _map(attributes: Any) -> str:
    pairs = sorted((entry.key, entry.value) for entry in attributes.map)
    return f"{{{','.join(f'{key}={quoted(value)}' for key, value in pairs)}}}"
