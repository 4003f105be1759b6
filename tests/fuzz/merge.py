"""Many modules as one, so that the C compiler, which takes longest, begins once for all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo import Computation, Instruction, Module
from hlo.attributes import ParameterNumber
from hlo.build import instruction
from hlo.build import module as module_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.types.values import BufferDonor, InputOutputAlias


def merged(modules: Sequence[Module]) -> Module:
    """A module of the parameters of all, whose value is the tuple of their values."""
    instructions: list[Instruction] = []
    roots: list[Instruction] = []
    aliases: list[InputOutputAlias] = []
    donors: list[BufferDonor] = []
    number = 0
    for position, module in enumerate(modules):
        copies: dict[Computation, Computation] = {}
        for computation in module.computations:
            copies[computation] = _copied(computation, copies, f"m{position}.")
        entry = copies[module.entry]
        first = number
        plan: dict[Instruction, Instruction] = {}
        for instr in entry.instructions:
            new = _rewired(instr, plan)
            if instr.opcode == "parameter":
                new = new.with_(attrs=ParameterNumber(number=first + new.attrs.number))
                number += 1
            plan[instr] = new
            instructions.append(new)
        roots.append(plan[entry.root])
        for alias in module.header.input_output_alias:
            index = (position, *alias.output_index)
            parameter = first + alias.parameter
            aliases.append(replace(alias, output_index=index, parameter=parameter))
        donors += [replace(d, parameter=first + d.parameter) for d in module.header.buffer_donor]
    root = instruction("tuple", roots, name="all.values")
    scheduled = all(module.header.is_scheduled for module in modules)
    made = module_of(Computation("merged", (*instructions, root), root), "merged")
    header = replace(
        made.header,
        is_scheduled=scheduled,
        input_output_alias=tuple(aliases),
        buffer_donor=tuple(donors),
    )
    return replace(made, header=header)


def _copied(
    computation: Computation, copies: dict[Computation, Computation], prefix: str
) -> Computation:
    plan: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        called = tuple(copies[c] for c in instr.called)
        plan[instr] = _rewired(instr, plan).with_(name=f"{prefix}{instr.name}", called=called)
    return replace(
        computation,
        name=f"{prefix}{computation.name}",
        instructions=tuple(plan.values()),
        root=plan[computation.root],
    )


def _rewired(instr: Instruction, plan: dict[Instruction, Instruction]) -> Instruction:
    operands = tuple(plan[o] for o in instr.operands)
    return instr.with_(
        operands=operands,
        control_predecessors=tuple(plan[p] for p in instr.control_predecessors),
    )
