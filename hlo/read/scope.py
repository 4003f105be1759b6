"""The scope at a point of the text: the module around it, and the instructions before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hlo.attributes import Constant
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply
    from hlo.read.budget import Budget
    from hlo.read.by_grammar import GrammarReader
    from hlo.read.stack_frames import FrameTables
    from hlo.read.syntax import InstructionSyntax, Piece
    from hlo.types.shape import Shape


class InstructionReader(Protocol):
    """A reader of a computation's instructions into a scope."""

    def read(self, syntax: Any) -> None:
        """Read an instruction, or some of them."""
        ...


class ModuleText(Protocol):
    """The module around a computation, for the reader of the latter."""

    reader: GrammarReader
    computations: dict[str, Computation]
    instruction_names: NameSupply
    computation_names: NameSupply
    frames: FrameTables
    made_up: int
    budget: Budget

    def inline(self, body: Sequence[InstructionSyntax], start: int) -> Computation:
        """Read the computation that is in braces where its name is expected."""
        ...

    def instruction_text(self, scope: TextScope) -> InstructionReader:
        """A reader of a computation's instructions into a scope."""
        ...


class TextScope:
    """The instructions of one computation, as they are read.

    Parameters
    ----------
    module : the module around it.
    parameters_from_operands : operands that are not defined become parameters of their shape.
    """

    def __init__(self, module: ModuleText, *, parameters_from_operands: bool = False) -> None:
        self.module = module
        self.reader = module.reader
        self.parameters_from_operands = parameters_from_operands
        self.known: dict[str, Instruction] = {}
        self.instructions: list[Instruction] = []
        self.root: Instruction | None = None

    def shape(self, piece: Piece) -> Shape:
        """The shape that a piece spells."""
        return self.reader.value("shape", piece)

    def add(self, instr: Instruction, *, is_root: bool = False) -> Instruction:
        """Make an instruction known to the text after it."""
        if instr.opcode == "constant":
            instr = self._told_apart(instr)
        self.module.budget.spend(instr)
        self.known[instr.name] = instr
        self.instructions.append(instr)
        if is_root:
            if self.root is not None:
                raise HloError("HLO004", "two instructions are ROOT", instr.span)
            self.root = instr
        return instr

    def _told_apart(self, constant: Instruction) -> Instruction:
        """The constant; one that is elided is another one than all others that are."""
        literal = Constant.of(constant).literal
        if not literal.elided:
            return constant
        own = literal.counted_from(self.module.made_up)
        self.module.made_up += literal.words
        return constant.with_(attrs=Constant(literal=own))

    def fresh(self, wanted: str) -> str:
        """A name that no instruction of the computation has."""
        name, number = wanted, 0
        while name in self.known:
            number += 1
            name = f"{wanted}.{number}"
        return name
