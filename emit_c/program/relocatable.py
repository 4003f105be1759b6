"""Relocatable functions: computations in C, before it is known where their arrays lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.elements.memory import pointer_into
from codegen.elements.names import comment
from codegen.expressions import Cast, Group, Name, item
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer
from codegen.statements import LocalVariable, Statement, names_in
from emit_c.program.call_sites import statements_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.expressions import Expr
    from codegen.program.buffers import Home
    from emit_c.program.buffers import CMemory
    from emit_c.program.call_sites import Step
    from optimizer.memory.buffer_assignment import AllocationSlice

ENTRY = "run"
OWN = Parameter(Pointer("u8"), "own")
# The parameters of all functions; all but the entry have `own` as well.
_PARAMETERS = (
    Parameter(Pointer(Pointer("void", const=True), const=True), "in"),
    Parameter(Pointer(Pointer("void"), const=True), "out"),
    Parameter(Pointer("u8"), "arena"),
)
_OF_ENTRY = "What threads need for themselves, `own`, lies after the temporary arrays in `arena`."


@dataclass(frozen=True, slots=True)
class Declaration:
    """A pointer to numbers in some memory.

    Attributes
    ----------
    kind : the type of the numbers.
    offset : how many bytes into the memory.
    const : no number is written through it.
    """

    kind: str
    home: Home
    offset: int
    const: bool


@dataclass(frozen=True, slots=True)
class RelocatableFunction:
    """The function of a computation, in whose declarations addresses are missing.

    Attributes
    ----------
    about : what is above it.
    declared : the pointers to its arrays.
    """

    name: str
    steps: tuple[Step, ...]
    declared: Mapping[str, Declaration]
    about: str = ""

    def with_homes(self, name: str, about: str, homes: Mapping[Home, Home]) -> RelocatableFunction:
        """The same function on other memory, under another name."""
        declared = {
            pointer: replace(declaration, home=homes.get(declaration.home, declaration.home))
            for pointer, declaration in self.declared.items()
        }
        return RelocatableFunction(name, self.steps, declared, about)

    def relocated(self, memory: CMemory) -> Function:
        """The function, for memory that is settled."""
        body, known = list[Statement](), set[str]()
        # Where a pointer is first used: compilers take long to keep hundreds in mind.
        for step in map(statements_of, self.steps):
            new = [n for n in dict.fromkeys(names_in(step)) if n not in known]
            body += (self._declaration(n, memory) for n in new if n in self.declared)
            body += step
            known.update(new)
        parameters, remark = _PARAMETERS, ""
        if self.name != ENTRY:
            parameters = (*_PARAMETERS, OWN)
        elif OWN.name in known:
            behind = Name("arena") + memory.arena_bytes
            body.insert(0, LocalVariable(OWN.kind, OWN.name, behind))
            remark = _OF_ENTRY
        about = comment(self.about)
        return Function(self.name, parameters, tuple(body), about, remark, gives_status=True)

    def _declaration(self, name: str, memory: CMemory) -> LocalVariable:
        declaration = self.declared[name]
        address = _address(memory.slices[declaration.home])
        value = pointer_into(address, declaration.offset, declaration.kind, const=declaration.const)
        return LocalVariable(Pointer(declaration.kind, declaration.const), name, value)


def _address(slice_: AllocationSlice) -> Expr:
    """The address of some memory."""
    allocation, offset = slice_.allocation, slice_.offset
    if allocation.output is not None:
        output = item(Name("out"), allocation.output)
        return Group(Cast(Pointer("u8"), output) + offset) if offset else output
    if allocation.parameter is not None:
        return item(Name("in"), allocation.parameter)
    return Group(Name("arena") + offset) if offset else Name("arena")
