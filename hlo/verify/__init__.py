"""The verifier: whether a module is well formed, before anything relies on it.

Its rules are those of XLA's HloVerifier as it runs before layouts are assigned, with mixed
precision allowed. A rule that is broken is an `HloError` at the instruction that breaks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from hlo.errors.error import HloError
from hlo.instruction import module_of
from hlo.verify import calls
from hlo.verify.aliases import verify_entry_layout, verify_module_aliases
from hlo.verify.asynchronous import PAIRED, verify_pair
from hlo.verify.buffers import has_buffers, verify_buffers
from hlo.verify.collectives import verify_constrained_layouts
from hlo.verify.scope import ModuleScope, VerifiedScope
from hlo.verify.shapes import verify_shape
from hlo.verify.shardings import verify_sharding
from hlo.verify.structure import verify_structure
from hlo.verify.table import verifies

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module

__all__ = ["trust", "verifies", "verify", "verify_once"]

# The families that fill the table; naming this one keeps its import from looking unused.
FAMILIES = (calls,)

# Modules that are well formed; they never change.
_sound_modules: WeakSet[Module] = WeakSet()


def verify(module: Module, sound: set[Instruction] | None = None) -> None:
    """Check that a module is well formed.

    Parameters
    ----------
    sound : instructions whose shapes need no check, as an earlier call found them right. This
        module's instructions are added to the set, for a call on a later version of the module.

    Raises
    ------
    HloError
        HLO020 to HLO099, at the first instruction that breaks a rule.

    References
    ----------
    XLA, `xla/service/hlo_verifier.cc`.
    """
    module = module_of(module)
    try:
        verify_structure(module)
        _verify_instructions(module, set() if sound is None else sound)
        verify_entry_layout(module)
        verify_module_aliases(module)
    except HloError as error:
        # An instruction that no text has, such as a parameter that is implied, has no position.
        raise error.at(module.span) from None
    trust(module)


def verify_once(module: Module) -> None:
    """Check that a module is well formed, if that is not known of it yet.

    Raises
    ------
    HloError
        HLO020 to HLO099, as `verify`.
    """
    if module_of(module) not in _sound_modules:
        verify(module)


def trust(module: Module) -> Module:
    """The module, which whoever made it knows to be well formed: `verify_once` won't look at it."""
    _sound_modules.add(module)
    return module


def _verify_instructions(module: Module, sound: set[Instruction]) -> None:
    """Check shapes, and the rules of each opcode."""
    outer = ModuleScope(module)
    buffers = has_buffers(module)
    known: set[int] = set()
    # Shapes follow from nothing but these, and parts of a model are alike.
    alike: set[tuple[str, int, int, tuple[int, ...]]] = set()
    all_reduce: Instruction | None = None
    for computation in module.computations:
        scope = VerifiedScope(outer, computation)
        paired = not PAIRED.isdisjoint(computation.opcodes)
        for instr in computation.instructions:
            if instr not in sound:
                operands = tuple([id(operand.shape) for operand in instr.operands])
                key = instr.opcode, id(instr.attrs), id(instr.shape), operands
                if instr.called:
                    verify_shape(instr, known)
                elif key not in alike:
                    verify_shape(instr, known)
                    alike.add(key)
                sound.add(instr)
            rule = verifies.get(instr.opcode)
            if rule is not None:
                rule(scope, instr, instr.attrs)
            if paired:
                verify_pair(scope, instr)
            verify_sharding(instr, outer.partitions)
            if buffers:
                verify_buffers(scope, instr)
        all_reduce = verify_constrained_layouts(scope, all_reduce)
