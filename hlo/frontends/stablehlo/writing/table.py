"""The table of opcodes: which operations each becomes.

It is the other direction of `hlo.frontends.stablehlo.table`, and its files are called as those of
the reader in `operations`. A function is given the scope that it appends to and the instruction; it
gives the value, as a tree of MLIR's values: tuples are taken apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from hlo.errors.error import HloError
from hlo.opcode import ELEMENTWISE, OPCODES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from hlo.frontends.stablehlo.writing.operation import MlirBlock, MlirRegion, MlirValue
    from hlo.instruction import Computation, Header, Instruction
    from hlo.types.shape import Shape

# A value, or a tuple of trees; what waits for an instruction that has started gives its value.
Tree = Any


class WritingScope(Protocol):
    """The operations that a computation becomes, so far.

    Attributes
    ----------
    header : of the module.
    """

    header: Header

    def op(
        self,
        name: str,
        operands: Sequence[MlirValue],
        shapes: Sequence[Shape],
        attributes: dict[str, str] | None = None,
        regions: Sequence[MlirRegion] = (),
    ) -> list[MlirValue]:
        """Append an operation; gives its values, of these shapes."""
        ...

    def value(self, instr: Instruction) -> MlirValue:
        """The value of an instruction that is an array or a token."""
        ...

    def tree(self, instr: Instruction) -> Tree:
        """The value of an instruction."""
        ...

    def whole(self, instr: Instruction) -> MlirValue:
        """The value of an instruction, a tuple as one value."""
        ...

    def apart(self, value: MlirValue, shape: Shape) -> Tree:
        """The tree of a value that is a tuple of MLIR."""
        ...

    def fresh(self, name: str, type_: str) -> MlirValue:
        """A value with a name of its own."""
        ...

    def inside(self, block: MlirBlock) -> AbstractContextManager[None]:
        """Append to another block, for a while."""
        ...

    def region(
        self, computation: Computation, arguments: Sequence[MlirValue] | None = None
    ) -> MlirRegion:
        """A computation as a region; `arguments` are values from around for its arguments."""
        ...

    def function(self, computation: Computation) -> str:
        """The name of the function that a computation becomes."""
        ...


Write = Callable[["WritingScope", "Instruction"], Tree]
WRITERS: dict[str, Write] = {}


def writes(*opcodes: str) -> Callable[[Write], Write]:
    """Enter a function into the table."""

    def enter(write: Write) -> Write:
        for opcode in opcodes:
            assert opcode in OPCODES, opcode
            assert opcode not in WRITERS, opcode
            WRITERS[opcode] = write
        return write

    return enter


def writer_of(instr: Instruction) -> Write:
    """The function that writes an instruction.

    Raises
    ------
    HloError
        HLO014 if StableHLO has nothing for its opcode.
    """
    writer = WRITERS.get(instr.opcode)
    if writer is None and instr.opcode in _ELEMENTWISE:
        return _elementwise
    if writer is None:
        raise unsayable(instr)
    return writer


def unsayable(instr: Instruction, thing: str = "", *notes: str) -> HloError:
    """The error for an instruction, or a part of one, that StableHLO has nothing for."""
    about = f"{instr.opcode}: StableHLO has no {thing}" if thing else ""
    message = about or f"StableHLO has nothing for {instr.opcode}"
    return HloError("HLO014", message, instr.span, notes)


_ELEMENTWISE = ELEMENTWISE - {"stochastic-convert"}
# Those of the dialect CHLO; the others are StableHLO's, by the same names.
_CHLO = frozenset({"acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "mulhi", "sinh"})


def _elementwise(scope: WritingScope, instr: Instruction) -> Tree:
    """The operation of the same name."""
    accuracy = getattr(instr.attrs, "result_accuracy", None)
    dialect = "chlo" if instr.opcode in _CHLO else "stablehlo"
    attributes = {"result_accuracy": _accuracy(accuracy)} if accuracy and dialect != "chlo" else {}
    name = f"{dialect}.{instr.opcode.replace('-', '_')}"
    operands = [scope.value(operand) for operand in instr.operands]
    return scope.op(name, operands, [instr.shape], attributes)[0]


def _accuracy(accuracy: Any) -> str:
    """The accuracy of a function: a mode, or bounds of the error."""
    mode = f"mode = #stablehlo.result_accuracy_mode<{accuracy.mode.upper()}>"
    if accuracy.mode == "tolerance":
        bounds = f"atol = {float(accuracy.atol)!r}, rtol = {float(accuracy.rtol)!r}"
        mode = f"{bounds}, ulps = {accuracy.ulps}, {mode}"
    return f"#stablehlo.result_accuracy<{mode}>"
