"""Rules of the graph: names, order, parameters, who may call whom.

Two rules of XLA need no check here, because instructions and computations are immutable and made
after what they use: no instruction depends on itself, and no computation calls itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import ParameterNumber
from hlo.errors.error import HloError
from hlo.opcode import SEQUENTIAL
from hlo.verify.scope import refuse
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


def verify_structure(module: Module) -> None:
    """Check the rules of the graph.

    Raises
    ------
    HloError
        HLO050 to HLO059.
    """
    if not module.name:
        raise HloError("HLO051", "the module has no name")
    _verify_computations(module)
    names: dict[str, Instruction] = {}
    for computation in module.computations:
        seen: set[Instruction] = set()
        for instr in computation.instructions:
            _verify_name(instr, names)
            _verify_order(instr, seen)
            _verify_thread(computation, instr)
            seen.add(instr)
        if computation.root not in seen:
            raise HloError("HLO052", f"{computation.name}: the root is not in it", computation.span)
        _verify_parameters(computation)


def _verify_computations(module: Module) -> None:
    """Names are unique; a computation is after those that it calls; the entry is among them."""
    names: set[str] = set()
    seen: set[Computation] = set()
    for computation in module.computations:
        if computation.name in names:
            raise HloError(
                "HLO051", f"computation {computation.name} is defined twice", computation.span
            )
        names.add(computation.name)
        for instr in computation.instructions:
            for callee in instr.called:
                if callee not in seen:
                    refuse(instr, "HLO056", f"calls {callee.name}, which is not defined before")
        seen.add(computation)
    if module.entry not in seen:
        raise HloError("HLO056", f"the entry {module.entry.name} is not in the module")
    for instr in module.instructions():
        if instr.opcode == "fusion" and module.entry in instr.called:
            refuse(instr, "HLO057", f"the entry {module.entry.name} cannot be fused")


def _verify_name(instr: Instruction, names: dict[str, Instruction]) -> None:
    first = names.setdefault(instr.name, instr)
    if first is not instr:
        where = f" in line {first.span.line}" if first.span else ""
        refuse(instr, "HLO051", f"the name {instr.name} is used before{where}")


def _verify_order(instr: Instruction, seen: set[Instruction]) -> None:
    for operand in instr.operands:
        if operand not in seen:
            refuse(
                instr,
                "HLO050",
                f"its operand {operand.name} is not defined before it in this computation",
                "what another computation computes comes in through parameters",
            )
    for before in instr.control_predecessors:
        if before not in seen:
            refuse(
                instr,
                "HLO055",
                f"its control predecessor {before.name} is not before it in this computation",
            )


def _verify_thread(computation: Computation, instr: Instruction) -> None:
    if instr.opcode in SEQUENTIAL or instr.opcode == "fusion":
        return
    for callee in instr.called:
        if callee.execution_thread != computation.execution_thread:
            refuse(
                instr,
                "HLO059",
                f"runs on thread {computation.execution_thread}, but {callee.name} "
                f"on {callee.execution_thread}",
            )


def _verify_parameters(computation: Computation) -> None:
    """Numbers are 0, 1, 2, ... each once."""
    known: dict[int, Instruction] = {}
    for instr in computation.instructions:
        if instr.opcode != "parameter":
            continue
        attrs = ParameterNumber.of(instr)
        if attrs.number in known:
            refuse(instr, "HLO053", f"number {attrs.number} occurs twice in {computation.name}")
        known[attrs.number] = instr
    for number, instr in known.items():
        if not 0 <= number < len(known):
            refuse(
                instr,
                "HLO053",
                f"number {number}, but {computation.name} has {counted(len(known), 'parameter')}",
                "parameters are numbered 0, 1, 2, ... without a gap",
            )
