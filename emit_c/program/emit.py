"""A module becomes one readable C file.

It holds, in this order: the module's text as a comment, the functions of the prelude that are
used, constants, the kernels, a function for each computation that is called, `run` for the entry,
and `call`, which others call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from codegen.callees import FUNCTIONS
from codegen.program.check import check, check_depth
from codegen.program.collectives import NONE, Meetings
from codegen.program.head import head
from codegen.statements import Call
from emit_c.conditions import Conditions, conditions_for
from emit_c.custom_calls.table import kernel as custom_calls
from emit_c.program.callers import Callers
from emit_c.program.module import ModuleWriter
from emit_c.program.relocatable import ENTRY
from emit_c.program.schedule import write_function
from emit_c.program.step_table import StepTable
from emit_c.program.units import Parts, Units, are_many
from emit_c.table import emits_c
from hlo.verify import verify_once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from codegen.file_text import FileText
    from emit_c.kernels.passes import KernelPass, Watch
    from hlo.instruction import Module
    from optimizer.memory.buffer_assignment import BufferAssignment


@dataclass(frozen=True, slots=True)
class Program:
    """A module as C.

    Attributes
    ----------
    module : that it is the C of.
    parts : of the C file. Others call `call(in, out, arena)`, for arrays of pointers to the leaves
        of the arguments and of the result, and memory aligned to 64 bytes.
    arena_bytes, slot_bytes : of that memory; the latter for each part of a loop that may run at the
        same time as the others.
    constants : large arrays, to be handed to `load_constants` in this order.
    donated : by the number of a result, the number of the argument whose memory it may take.
    functions : declarations, by name, of the functions of other libraries that it calls;
        `load_functions` takes their addresses in this order.
    units : the files that were handed to compilers already, if any were.
    assignment : the buffer of every array, and the scratch memory of single instructions.
    hlo_names : for each C function, the HLO name of each of its identifiers; under "", the HLO
        names of the functions themselves.
    meetings : the collectives, and who meets whom there.
    kernels : the C function of each instruction's kernel, by the instruction's name; equal kernels
        are one function.
    """

    module: Module
    parts: Parts
    arena_bytes: int
    constants: tuple[NDArray[Any], ...]
    slot_bytes: int
    donated: Mapping[int, int]
    functions: Mapping[str, str]
    assignment: BufferAssignment
    units: Units | None = None
    hlo_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Any])
    meetings: Meetings = NONE
    kernels: Mapping[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        """The number of lines of C, and the memory of a call."""
        lines = self.source.count("\n")
        return f"<program of {lines:,} lines of C, {self.arena_bytes:,} bytes of temporaries>"

    @property
    def source(self) -> FileText:
        """The C file."""
        return self.parts.whole()

    def files(self, most: int) -> tuple[FileText, ...]:
        """The C as files for that many compilers."""
        return (self.units or Units(most)).files(self.parts)


def emit(
    module: Module,
    *,
    units: Units | None = None,
    watch: Watch | None = None,
    plain: bool = False,
    schedule: KernelPass | None = None,
    conditions: Conditions | None = None,
) -> Program:
    """Write a module as C, as it is: `optimizer.optimize` or `optimizer.prepare` made it.

    Parameters
    ----------
    module : with the copies that the target needs.
    units : hands files to compilers while others are still being written.
    watch : is shown the statements that each pass makes of a kernel: see `emit_c.kernels.passes`.
    plain : write loops as one would by hand, to be read: without the passes over kernels, except
        the last, and without tiles.
    schedule : a pass of the user's over plain loops.
    conditions : with subnormal numbers or without, and on how many threads; by default as the
        environment says.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed; HLO181 if an instruction can't be
        emitted; HLO101 if it means nothing for its types; HLO115 if computations call each other
        too deeply; HLO171 if copies are missing.
    """
    verify_once(module)
    check_depth(module)
    check(module, emits_c, custom_calls, "C")
    chosen = conditions or conditions_for()
    writer = ModuleWriter(
        module,
        write_function,
        units,
        watch,
        plain=plain or schedule is not None,
        schedule=schedule,
        flushes=chosen.subnormals == "flush",
    )
    if any(i.opcode == "rng-get-and-update-state" for i in module.instructions()):
        writer.prologue = (Call(FUNCTIONS["seed_random_state"], ()),)
    writer.function(module.entry, "the entry", ENTRY)
    writer.memory.settle()
    entry = writer.functions[ENTRY]
    constants, foreign = writer.constants, writer.constants.foreign
    table = StepTable(entry, writer.memory)
    is_table = table.is_worth_it and not plain and are_many(writer.kernels.functions)
    functions = writer.functions | ({ENTRY: table.function} if is_table else {})
    parts = Parts(
        partial(head, module),
        constants.definitions,
        foreign.text(),
        foreign.called,
        writer.kernels.functions,
        writer.kernels.entries,
        Callers(functions, table if is_table else None, writer.memory, constants, chosen),
    )
    large, memory = tuple(constants.loaded), writer.memory
    return Program(
        module, parts, memory.arena_bytes, large, writer.slot_bytes, memory.donated,
        foreign.declared, memory.assignment, units,
        {**writer.kernels.hlo_names, **writer.hlo_names, "": writer.names.hlo_names},
        constants.collectives.meetings(_least_bytes(module)), writer.kernels.by_instruction,
    )  # fmt: skip


def _least_bytes(module: Module) -> int:
    """The bytes of a module's arguments and results."""
    shapes = (*(p.shape for p in module.entry.parameters), module.entry.root.shape)
    return sum(shape.unpacked_bytes for shape in shapes)
