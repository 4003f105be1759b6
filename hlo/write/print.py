"""Writes a module as XLA does, to the byte: the text that `HloModule::ToString()` gives.

It is another text only where XLA itself could not read the module again from its own. XLA prints

- a computation after one that calls it, where loops share their condition;
- what `async-start` calls as one opcode, such as `all-reduce-start`, which it reads as another, or
  without operands that are not used;
- a quote inside of a recovery module without its backslash.

XLA also reads `-0` as +0, and a complex number of which one part is NaN as NaN in both; numbers
that `{...}` leaves out are whatever lies in its memory. Here literals mean what they say, and
`{...}` stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hlo.attributes import AsyncStart, Attrs, Constant, ParameterNumber, attribute_specs
from hlo.instruction import Header, called_keys, register_instruction_writer, register_writer
from hlo.opcode import ASYNC_ENDS, OPCODES
from hlo.read.header_text import HEADER_ATTRIBUTES
from hlo.write.literal_print import print_literal
from hlo.write.print_order import computation_order, fused_computations, instruction_order
from hlo.write.value_print import print_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.attributes.spec import Place
    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape

# A constant with more elements than this is elided unless large constants are printed.
LARGE_CONSTANT = 10


@dataclass(frozen=True, slots=True)
class Options:
    """The options of printing, named as in XLA's HloPrintOptions.

    Attributes
    ----------
    print_large_constants : off: those with more than 10 elements, and tuples, become `{...}`.
    print_program_shape : the parameters and result of each computation.
    print_extra_attributes : the attributes that belong to an opcode.
    operand_index_annotation_interval : `/*index=5*/` before every fifth operand; 0 for none.
    """

    print_large_constants: bool = True
    print_metadata: bool = True
    print_backend_config: bool = True
    print_operand_shape: bool = False
    print_operand_names: bool = True
    print_program_shape: bool = True
    print_percent: bool = True
    print_result_shape: bool = True
    print_control_dependencies: bool = True
    print_extra_attributes: bool = True
    include_layout_in_shapes: bool = True
    operand_index_annotation_interval: int = 5

    @classmethod
    def short_parsable(cls) -> Options:
        """The shortest text that still reads back."""
        return cls(
            print_metadata=False,
            print_program_shape=False,
            print_percent=False,
            print_control_dependencies=True,
            operand_index_annotation_interval=0,
        )

    def without(self, *names: str) -> Options:
        """The same options with some switched off."""
        return replace(self, **dict.fromkeys(names, False))


DEFAULT = Options()
SHORT = Options(print_large_constants=False, print_metadata=False, print_backend_config=False)
# Printed in this order after `HloModule name`.
_HEADER_ORDER = (
    "is_scheduled",
    "input_output_alias",
    "buffer_donor",
    "alias_passthrough_params",
    "entry_computation_layout",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "replica_count",
    "num_partitions",
    "frontend_attributes",
)


@register_instruction_writer
def short_text(instr: Instruction) -> str:
    """The text of an instruction for people: opcode, operands and attributes, no long constants."""
    return print_instruction(instr, SHORT)


@register_writer
def module_text(module: Module, **options: Any) -> str:
    """The text of a module; the options are those of `Options`, by name."""
    return print_module(module, Options(**options))


def print_module(module: Module, options: Options = DEFAULT) -> str:
    """The text of a module."""
    return "".join(module_parts(module, options))


def module_parts(
    module: Module,
    options: Options = DEFAULT,
    comment: Callable[[Instruction], str] | None = None,
) -> Iterator[str]:
    """The text of a module, piece by piece, for who needs only its beginning.

    Parameters
    ----------
    comment : gives text that follows an instruction in its line, after `//`; "" for none.
    """
    yield from (f"HloModule {module.name}", *_header(module.header), "\n\n")
    frames = module.stack_frames
    if frames.file_names or frames.function_names:
        yield _stack_frames(module)
    hidden = {
        instr.called[0]
        for instr in module.instructions()
        if instr.opcode == "async-start" and wrapped_instruction(instr)
    }
    fused: set[Computation] = fused_computations(module) if module.header.is_scheduled else set()
    for computation in computation_order(module):
        if computation in hidden:
            continue
        if computation is module.entry:
            yield "ENTRY "
        order = None
        if module.header.is_scheduled and computation not in fused:
            order = computation.instructions
        yield from _computation_parts(computation, options, order, comment)
        yield "\n\n"


def _header(header: Header) -> list[str]:
    default = Header()
    parts: list[str] = []
    for key in _HEADER_ORDER:
        value = getattr(header, key)
        if value != getattr(default, key):
            parts.append(f", {key}={print_value(HEADER_ATTRIBUTES[key], value)}")
    parts += [f", {key}={text}" for key, text in header.others]
    return parts


def _stack_frames(module: Module) -> str:
    frames = module.stack_frames
    tables = {
        "FileNames": frames.file_names,
        "FunctionNames": frames.function_names,
        "FileLocations": frames.file_locations,
        "StackFrames": frames.stack_frames,
    }
    sections = (
        title + "".join(f"\n{i} {row}" for i, row in enumerate(rows, 1))
        for title, rows in tables.items()
    )
    return "\n\n".join(sections) + "\n\n\n"


def _computation_parts(
    computation: Computation,
    options: Options,
    order: tuple[Instruction, ...] | None,
    comment: Callable[[Instruction], str] | None,
) -> Iterator[str]:
    percent = "%" if options.print_percent else ""
    head = f"{percent}{computation.name} "
    if options.print_program_shape:
        head += _signature(computation) + " "
    yield head + "{\n"
    for instr in order or instruction_order(computation):
        root = "ROOT " if instr is computation.root else ""
        remark = comment(instr) if comment else ""
        after = f"  // {remark}" if remark else ""
        yield f"  {root}{print_instruction(instr, options)}{after}\n"
    thread = computation.execution_thread
    yield "}" + (f', execution_thread="{thread}"' if thread != "main" else "")


def _signature(computation: Computation) -> str:
    parameters = (f"{p.name}: {p.shape.text_without_layout}" for p in computation.parameters)
    return f"({', '.join(parameters)}) -> {computation.root.shape.text_without_layout}"


def print_instruction(instr: Instruction, options: Options = DEFAULT) -> str:
    """The text of one instruction, without ROOT."""
    percent = "%" if options.print_percent else ""
    shape = f"{_shape(instr.shape, options)} " if options.print_result_shape else ""
    opcode, wrapped = _async_form(instr)
    arguments = _arguments(instr, options)
    text = f"{percent}{instr.name} = {shape}{opcode}({arguments})"
    if wrapped is None:
        text += _attributes_and_called(instr, options)
    elif instr.opcode == "async-start":
        # The attributes of the instruction that runs asynchronously are with the start.
        start = AsyncStart.of(instr)
        thread = start.async_execution_thread
        text += f', async_execution_thread="{thread}"' if thread != "main" else ""
        text += _attributes_and_called(wrapped, options)
        wrapped, instr = _wrapped_and_start(wrapped, instr)
        text += _annotations(wrapped, options.without("print_metadata", "print_backend_config"))
        if aliases := start.output_to_operand_aliasing:
            text += f", output_to_operand_aliasing={print_value('operand_aliases', aliases)}"
    return text + _annotations(instr, options)


def _shape(shape: Shape, options: Options) -> str:
    return shape.text if options.include_layout_in_shapes else shape.text_without_layout


def _arguments(instr: Instruction, options: Options) -> str:
    attrs = instr.attrs
    if isinstance(attrs, Constant):
        shape = attrs.literal.shape
        small = shape.is_array and shape.size <= LARGE_CONSTANT
        return print_literal(attrs.literal) if options.print_large_constants or small else "{...}"
    if isinstance(attrs, ParameterNumber):
        return str(attrs.number)
    percent = "%" if options.print_percent else ""
    interval = options.operand_index_annotation_interval
    plain = options.print_operand_names and not options.print_operand_shape
    if plain and len(instr.operands) <= max(interval, 1):
        return ", ".join([percent + operand.name for operand in instr.operands])
    words: list[str] = []
    for i, operand in enumerate(instr.operands):
        mark = f"/*index={i}*/" if interval and i and i % interval == 0 else ""
        shape = [_shape(operand.shape, options)] if options.print_operand_shape else []
        name = [percent + operand.name] if options.print_operand_names else []
        words.append(mark + " ".join(shape + name))
    return ", ".join(words)


def _attributes_and_called(instr: Instruction, options: Options) -> str:
    called = _called(instr, "%" if options.print_percent else "") if instr.called else ""
    if not options.print_extra_attributes:
        return called
    after = print_attributes(instr.attrs, "called") if called else ""
    return print_attributes(instr.attrs, "operands") + called + after


@lru_cache(100_000)
def print_attributes(attrs: Attrs, behind: Place | None = None) -> str:
    """The attributes that are not as by default, each after a comma: `, dimensions={1}`.

    Parameters
    ----------
    behind : only those that come after this part of the text.
    """
    text = ""
    for key, spec in attribute_specs(type(attrs)).items():
        value: Any = getattr(attrs, spec.field)
        if value is None or behind not in (None, spec.behind):
            continue
        if spec.always or value != spec.default:
            text += f", {key}={print_value(spec.kind, value)}"
    return text


def _called(instr: Instruction, percent: str) -> str:
    keys = called_keys(instr.row, instr.operands)
    names = [percent + computation.name for computation in instr.called]
    if keys[-1].endswith("*"):
        return f", {keys[-1].rstrip('*')}={{{', '.join(names)}}}"
    return "".join(f", {key}={name}" for key, name in zip(keys, names, strict=True))


def _async_form(instr: Instruction) -> tuple[str, Instruction | None]:
    """`negate-start` for an async-start whose computation is one negate, which is returned too."""
    if not instr.opcode.startswith("async-"):
        return instr.opcode, None
    start = instr
    while start.opcode in ASYNC_ENDS and start.operands:
        start = start.operands[0]
    wrapped = wrapped_instruction(start) if start.called else None
    if wrapped is None:
        return instr.opcode, None
    return wrapped.opcode + instr.opcode.removeprefix("async"), wrapped


def wrapped_instruction(start: Instruction) -> Instruction | None:
    """The instruction that an async-start runs on its operands, if it is just one.

    XLA asks only that there is nothing else but parameters, and so loses in print which of them
    the instruction uses. Nor does it mind that `copy-start` is an opcode of its own, as which it
    reads the text again.
    """
    computation = start.called[0]
    root = computation.root
    alone = len(computation.instructions) == len(root.operands) + 1
    same = root.operands == computation.parameters and len(root.operands) == len(start.operands)
    ambiguous = f"{root.opcode}-start" in OPCODES
    return root if alone and same and not ambiguous else None


def _wrapped_and_start(wrapped: Instruction, start: Instruction) -> tuple[Instruction, Instruction]:
    """Both with those of their annotations that are printed, which follow each other.

    No key may be there twice. XLA takes care of that for frontend attributes; statistics it
    prints with each of them, and then cannot read its own text. They are printed where they are
    when the text is read again: statistics with the wrapped instruction, the other with the start.
    """
    inner, outer = wrapped.annotations, start.annotations
    attributes = outer.frontend_attributes
    if attributes is None:
        attributes = inner.frontend_attributes
    statistics = outer.statistics or inner.statistics
    inner = replace(inner, statistics=statistics, frontend_attributes=None)
    outer = replace(outer, statistics="", frontend_attributes=attributes)
    return wrapped.with_(annotations=inner), start.with_(annotations=outer)


def _annotations(instr: Instruction, options: Options) -> str:
    notes = instr.annotations
    text = ""
    if notes.sharding is not None:
        text += f", sharding={print_value('sharding', notes.sharding)}"
    if notes.frontend_attributes is not None and notes.frontend_attributes.entries:
        value = print_value("frontend_attributes", notes.frontend_attributes)
        text += f", frontend_attributes={value}"
    if options.print_control_dependencies and instr.control_predecessors:
        percent = "%" if options.print_percent else ""
        names = ", ".join(percent + i.name for i in instr.control_predecessors)
        text += f", control-predecessors={{{names}}}"
    if notes.statistics:
        text += f", statistics={notes.statistics}"
    text += print_attributes(instr.attrs, "statistics")
    if notes.origin:
        text += f", origin={notes.origin}"
    if options.print_metadata and notes.metadata is not None and notes.metadata.text:
        text += f", metadata={{{notes.metadata.text}}}"
    if options.print_backend_config and notes.backend_config:
        text += f", backend_config={notes.backend_config}"
    return text
