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
    from collections.abc import Iterator

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape

__all__ = ["Sound", "errors_of", "trust", "verifies", "verify", "verify_once"]

# The families that fill the table; naming this one keeps its import from looking unused.
FAMILIES = (calls,)

# Modules that are well formed; they never change.
_sound_modules: WeakSet[Module] = WeakSet()

# A shape follows from nothing but these, and parts of a model are alike.
ShapeKey = tuple[str, int, int, tuple[int, ...]]


class Sound:
    """Shapes that need no check, as an earlier call of the verifier found them right.

    Attributes
    ----------
    instructions : that are well formed. They are kept, so that no other object gets the identities
        of their fields.
    shapes : that are well formed, by identity.
    alike : keys of the instructions.
    """

    def __init__(self) -> None:
        self.instructions: set[Instruction] = set()
        self.shapes: dict[int, Shape] = {}
        self.alike: set[ShapeKey] = set()

    def verify_shape_of(self, instr: Instruction) -> None:
        """Check the shape of an instruction, unless it is like one before."""
        if instr in self.instructions:
            return
        operands = tuple([id(operand.shape) for operand in instr.operands])
        key = instr.opcode, id(instr.attrs), id(instr.shape), operands
        if instr.called or key not in self.alike:
            verify_shape(instr, self.shapes)
            self.alike.add(key)
        self.instructions.add(instr)


def verify(module: Module, sound: Sound | None = None) -> None:
    """Check that a module is well formed.

    Parameters
    ----------
    sound : of earlier versions of the module; this version's instructions are added.

    Raises
    ------
    HloError
        HLO020 to HLO099, at the first instruction that breaks a rule.

    References
    ----------
    XLA, `xla/service/hlo_verifier.cc`.
    """
    module = module_of(module)
    for error in _errors(module, sound or Sound()):
        raise error from None
    trust(module)


def errors_of(module: Module) -> list[HloError]:
    """Everything that is wrong with a module, an error at most for each instruction.

    `verify` raises the first of them; an editor shows all.

    """
    return list(_errors(module_of(module), Sound()))


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


def _errors(module: Module, sound: Sound) -> Iterator[HloError]:
    """The errors of a module; where its structure is broken, nothing after that is looked at."""
    try:
        verify_structure(module)
    except HloError as error:
        yield error.at(module.span)
        return
    # An instruction that no text has, such as a parameter that is implied, has no position.
    yield from (error.at(module.span) for error in _instruction_errors(module, sound))
    for check in (verify_entry_layout, verify_module_aliases):
        try:
            check(module)
        except HloError as error:
            yield error.at(module.span)


def _instruction_errors(module: Module, sound: Sound) -> Iterator[HloError]:
    """The errors of shapes, and of the rules of each opcode."""
    outer = ModuleScope(module)
    buffers = has_buffers(module)
    all_reduce: Instruction | None = None
    for computation in module.computations:
        scope = VerifiedScope(outer, computation)
        paired = not PAIRED.isdisjoint(computation.opcodes)
        for instr in computation.instructions:
            try:
                sound.verify_shape_of(instr)
                rule = verifies.get(instr.opcode)
                if rule is not None:
                    rule(scope, instr, instr.attrs)
                if paired:
                    verify_pair(scope, instr)
                verify_sharding(instr, outer.partitions)
                if buffers:
                    verify_buffers(scope, instr)
            except HloError as error:
                yield error
        try:
            all_reduce = verify_constrained_layouts(scope, all_reduce)
        except HloError as error:
            yield error
