"""The surroundings of an instruction, for the rules of the verifier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from hlo.errors.error import HloError
from hlo.walk import callers, users

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


@dataclass(frozen=True, eq=False)
class ModuleScope:
    """A module, and the facts about it that rules share."""

    module: Module

    @cached_property
    def callers(self) -> dict[Computation, list[Instruction]]:
        """The callers of each computation."""
        return callers(self.module)

    @property
    def replicas(self) -> int:
        """Copies of the program; 1 where the text does not say."""
        return self.module.header.replica_count

    @property
    def partitions(self) -> int:
        """Parts that each copy is cut into; 1 where the text does not say."""
        return self.module.header.num_partitions

    def is_called_by(self, computation: Computation, opcode: str) -> bool:
        """Whether any instruction of an opcode calls a computation."""
        return any(caller.opcode == opcode for caller in self.callers[computation])


@dataclass(frozen=True, eq=False)
class VerifiedScope:
    """A computation of a module, and the facts about it that rules share."""

    outer: ModuleScope
    computation: Computation

    @cached_property
    def users(self) -> dict[Instruction, list[Instruction]]:
        """The users of each instruction."""
        return users(self.computation)


def refuse(instr: Instruction, code: str, message: str, *notes: str) -> NoReturn:
    """Raise an error that points at an instruction."""
    raise HloError(code, f"{instr.opcode}: {message}", instr.span, notes)
