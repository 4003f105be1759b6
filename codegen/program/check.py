"""Refuses modules that an emitter can't write, before it writes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.custom_calls.table import refuse
from codegen.elements.table import Rewritten
from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.types.tiling import fill_same_memory
from hlo.walk import called_first
from interpreter.custom_calls.signatures import check_call

if TYPE_CHECKING:
    from codegen.custom_calls.table import CustomCallKernels
    from codegen.elements.table import Entry
    from hlo.instruction import Computation, Instruction, Module
    from hlo.table import OpTable
    from hlo.types.element_type import ElementType

# How deep calls may be nested: emission calls itself, and compilers take ever longer.
MOST_CALLS = 64
_PREPARE = "the pass {} writes it otherwise; `optimizer.prepare` runs all that emitters need"


def check(module: Module, table: OpTable[Entry], kernels: CustomCallKernels, language: str) -> None:
    """Refuse a module that can't be emitted, before any code is.

    Parameters
    ----------
    table, kernels : an emitter's, of opcodes and of custom calls.
    language : what it writes, for messages.

    Raises
    ------
    HloError
        HLO181, with the reason; HLO122 if a custom call's operands or options do not fit.
    """
    for computation in called_first(module.entry):
        for instr in computation.instructions:
            entry = table.get(instr.opcode)
            if entry is None or isinstance(entry, Rewritten):
                raise _no_code(instr, entry, table, language)
            if isinstance(instr.attrs, CustomCall):
                check_call(instr)
                if instr.attrs.custom_call_target not in kernels:
                    raise refuse(instr)
            if instr.opcode == "convolution" and any(o.shape.is_tuple for o in instr.operands):
                subject = f"{instr.opcode} with sparsity_config"
                message = f"{instr.name}: {subject} can't be compiled to {language}"
                raise HloError("HLO181", message, instr.span)
            if instr.shape.is_dynamic:
                message = f"{instr.name}: {instr.shape.text_without_layout} has a run-time size"
                note = "`compile` first makes such a module static"
                raise HloError("HLO181", message, instr.span, [note])
            if instr.opcode in ("bitcast", "bitcast-convert"):
                _check_bits(instr.operands[0].shape.element_type, instr, language)
            if instr.opcode == "bitcast" and fill_same_memory(instr.operands[0].shape, instr.shape):
                message = f"{instr.name}: {instr.opcode} of tiles can't be compiled to {language}"
                note = _PREPARE.format("tiled-bitcast-expander")
                raise HloError("HLO181", message, instr.span, [note])


def _no_code(
    instr: Instruction, entry: Rewritten | None, table: OpTable[Entry], language: str
) -> HloError:
    """The error for an opcode without code, with the pass that writes it otherwise."""
    if entry is None:
        reason = table.not_supported.get(instr.opcode, f"it has no {language} yet")
        notes: list[str] = []
    else:
        prepare = _PREPARE.format(entry.by)
        reason = entry.unless or prepare
        notes = [f"in other cases, {prepare}" if entry.unless else prepare]
    message = f"{instr.name}: {instr.opcode} can't be compiled to {language}: {reason}"
    return HloError("HLO181", message, instr.span, notes)


def _check_bits(source: ElementType, instr: Instruction, language: str) -> None:
    """Bits go from type to type in words of 64."""
    target = instr.shape.element_type
    if source is not target and max(source.bits, target.bits) > 64:
        subject = f"{instr.opcode} from {source} to {target}"
        message = f"{instr.name}: {subject} can't be compiled to {language}"
        raise HloError("HLO181", message, instr.span)


def check_depth(module: Module) -> None:
    """Ask whether computations call each other too deeply.

    Raises
    ------
    HloError
        HLO115 at the call that is one too many.
    """
    depths: dict[Computation, int] = {}
    for computation in module.computations:
        depths[computation] = 1
        for instr in computation.instructions:
            inside = max((depths[c] for c in instr.called), default=0)
            depths[computation] = max(depths[computation], 1 + inside)
            if inside >= MOST_CALLS:
                message = f"{instr.name}: calls are nested more than {MOST_CALLS} deep"
                raise HloError("HLO115", message, instr.span)
