"""One kernel in the making: its inputs, and the values of its computation in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from codegen.elements.body import Body
from codegen.elements.writer import Environment, Writer
from codegen.expressions import Name
from codegen.kinds import Pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.constants import Constants
    from codegen.elements.names import Names
    from codegen.elements.table import Entry
    from codegen.kinds import Kind
    from hlo.instruction import Instruction
    from hlo.table import OpTable
    from hlo.types.shape import Shape


class Scope:
    """A computation while its kernels are emitted, with its values that are in memory already.

    Attributes
    ----------
    values : pointers in the C function that calls the kernels, nested as the shape is.
    targets : numbers of the outputs that are to hold an instruction's value, nested likewise.
    outer, arguments : for a computation that is fused: the scope around it, and what its
        parameters stand for there.
    """

    def __init__(
        self, outer: Scope | None = None, arguments: Mapping[Instruction, Instruction] | None = None
    ) -> None:
        self.values: dict[Instruction, object] = {}
        self.targets: dict[Instruction, object] = {}
        self.outer = outer
        self.arguments = dict(arguments or {})

    def pointers_of(self, instr: Instruction) -> object:
        """The pointer to an instruction's value; None if it is not in memory."""
        if instr in self.values:
            return self.values[instr]
        if self.outer and instr in self.arguments:
            return self.outer.pointers_of(self.arguments[instr])
        return None


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a kernel.

    Attributes
    ----------
    name : in the kernel.
    pointer : of its caller.
    size : how many elements lie there; 0 where that is not known.
    given : the type in which its caller has it, where the kernel takes the elements for others.
    """

    kind: Kind
    name: str
    pointer: str
    size: int = 0
    given: Kind | None = None


class Kernel:
    """A kernel in the making.

    Parameters
    ----------
    table : how each opcode is emitted.
    names : of the kernel's own variables, none of which is taken yet.
    scope : of the instructions that it computes.
    """

    def __init__(
        self, table: OpTable[Entry], names: Names, constants: Constants, scope: Scope
    ) -> None:
        self.names = names
        self.scope = scope
        self.arguments: dict[str, Argument] = {}
        self.writer = Writer(table, self.names, constants)
        self.writer.argument = self.argument
        self.body = Body(self.writer, self._environment(scope))

    def _environment(self, scope: Scope) -> Environment:
        environment = Environment()
        environment.pointers = Inputs(self, scope.values)
        if scope.outer:
            outer = self._environment(scope.outer)
            environment.aliases = {p: (outer, o) for p, o in scope.arguments.items()}
        return environment

    def argument(self, kind: Kind, pointer: str, wanted: str, size: int = 0) -> Name:
        """The name in the kernel of a pointer that its caller has."""
        if pointer not in self.arguments:
            self.arguments[pointer] = Argument(kind, self.names.unique(wanted), pointer, size)
        return Name(self.arguments[pointer].name)

    def output(self, shape: Shape, pointer: str, wanted: str) -> Name:
        """The name in the kernel of an array that it writes."""
        return self.argument(Pointer(shape.element_type.name, restrict=True), pointer, wanted)

    def outputs(self, instr: Instruction, pointers: Sequence[str | None]) -> list[Name]:
        """The names in the kernel of the arrays of an instruction's value; tokens have none."""
        pairs = zip((s for _, s in instr.shape.leaves()), pointers, strict=True)
        return [self.output(s, str(p), instr.name) for s, p in pairs if s.is_array]


class Inputs(Mapping["Instruction", object]):
    """The arrays in memory of one scope; each becomes an argument of the kernel when it is used."""

    def __init__(self, kernel: Kernel, values: Mapping[Instruction, object]) -> None:
        self._kernel, self._values = kernel, values

    def __getitem__(self, instr: Instruction) -> object:
        """The names in the kernel of an instruction's pointers."""
        return self._named(instr.shape, self._values[instr], instr.name)

    def _named(self, shape: Shape, tree: object, name: str) -> object:
        if isinstance(tree, tuple):
            pairs = zip(shape.elements, cast("tuple[object, ...]", tree), strict=True)
            return tuple(self._named(s, t, name) for s, t in pairs)
        if tree is None:
            return None
        kind = Pointer(shape.element_type.name, const=True, restrict=True)
        return self._kernel.argument(kind, str(tree), name, shape.size)

    def __contains__(self, instr: object) -> bool:
        """Whether an instruction's value is in memory."""
        return instr in self._values

    def __iter__(self) -> Iterator[Instruction]:
        """All instructions in memory."""
        return iter(self._values)

    def __len__(self) -> int:
        """The number of names."""
        return len(self._values)
