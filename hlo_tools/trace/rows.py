"""The table of all distinct lines of a run's modules, each stored once, under a number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hlo.read.stack_frames import source_location
from hlo.write.print import print_instruction
from hlo.write.print_order import computation_order, fused_computations
from hlo_tools.trace.changes import SHOWN, ordered
from hlo_tools.trace.shards import shard_grid
from hlo_tools.trace.source import user_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo_tools.trace.shards import Grid

# The kinds of rows.
INSTRUCTION, ROOT, HEAD, ENTRY, END = range(5)
# Operands of an instruction from which on its later lines tell only those that are others.
WIDE: Final = 16
# The operands are in a column of their own.
WITHOUT_OPERANDS: Final = replace(
    SHOWN, print_operand_names=False, operand_index_annotation_interval=0
)


class Strings:
    """Texts, each under a number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, which is new if nobody had it."""
        return self.numbers.setdefault(text, len(self.numbers))

    def as_data(self) -> list[str]:
        """All texts in order."""
        return list(self.numbers)


class RowTable:
    """Distinct rows; a row is an instruction's line, or the first or last of a computation.

    Parameters
    ----------
    origin : the module from which all others are made; its tables say where the user's source is.
    """

    def __init__(self, origin: Module) -> None:
        self.origin = origin
        self.names, self.shapes, self.opcodes = Strings(), Strings(), Strings()
        self.rests, self.sources = Strings(), Strings()
        self.bytes: dict[str, int] = {}
        self.shards: dict[int, Grid] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        # Passes rebuild most instructions with fields of which all that is printed is the same.
        self._known: tuple[dict[Instruction, int], dict[Instruction, int]] = {}, {}
        self._alike: dict[Hashable, int] = {}
        self._rests: dict[Hashable, int] = {}
        self._computations: dict[tuple[Computation, int, bool], list[int]] = {}
        self.sources.number("")

    def _number(self, key: tuple[Any, ...]) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def instruction(self, instr: Instruction, *, is_root: bool) -> int:
        """The number of an instruction's row."""
        known = self._known[is_root].get(instr)
        if known is None:
            rest = printed_alike(instr)
            operands = tuple([operand.name for operand in instr.operands])
            # The instruction is kept, so that no other object gets the identity of its shape.
            alike = is_root, instr.name, id(instr.shape), operands, rest
            known = self._alike.get(alike)
            if known is None:
                known = self._alike[alike] = self._new(instr, rest, is_root=is_root)
            self._known[is_root][instr] = known
        return known

    def _new(self, instr: Instruction, rest: Hashable, *, is_root: bool) -> int:
        shape = str(instr.shape)
        self.bytes[shape] = instr.shape.bytes
        if rest not in self._rests:
            self._rests[rest] = self.rests.number(rest_of(instr))
        number = self._number(
            (
                ROOT if is_root else INSTRUCTION,
                self.names.number(instr.name),
                self.shapes.number(shape),
                self.opcodes.number(instr.opcode),
                self._rests[rest],
                tuple([self.names.number(o.name) for o in instr.operands]),
                tuple([self.names.number(c.name) for c in instr.called]),
                self.sources.number(self._source(instr)),
            )
        )
        if grid := shard_grid(instr):
            self.shards[number] = grid
        return number

    def _source(self, instr: Instruction) -> str:
        """The framework's name for the operation, and the line of the user's file."""
        metadata = instr.annotations.metadata
        if metadata is None:
            return ""
        place = source_location(self.origin, instr)
        return "\n".join([metadata.op_name, place, *user_line(place)])

    def of(self, module: Module) -> list[int]:
        """The rows of a module, in the order in which it is printed."""
        numbers: list[int] = []
        fused = fused_computations(module)
        scheduled = module.header.is_scheduled
        for computation in computation_order(module):
            kind = ENTRY if computation is module.entry else HEAD
            key = computation, kind, scheduled and computation not in fused
            if key not in self._computations:
                name, root = self.names.number(computation.name), computation.root
                self._computations[key] = [
                    self._number((kind, name)),
                    *[
                        self.instruction(instr, is_root=instr is root)
                        for instr in ordered(module, computation, fused)
                    ],
                    self._number((END, name)),
                ]
            numbers += self._computations[key]
        return numbers

    def as_data(self) -> dict[str, Any]:
        """The table, a list a column; rows that are no instructions have nothing in the others."""
        padded = [(*key, *(0, 0, 0, (), (), 0)[len(key) - 2 :]) for key in self._numbers]
        columns = list(zip(*padded, strict=True)) if padded else [()] * 8
        words = ("kind", "name", "shape", "opcode", "rest", "operands", "called", "source")
        data: dict[str, Any] = {w: list(c) for w, c in zip(words, columns, strict=True)}
        data["operands"] = changes_of_wide(data["name"], data["operands"])
        return data


def printed_alike(instr: Instruction) -> Hashable:
    """A key that only instructions with the same rest have, and that is quickly made.

    Whoever keeps it keeps the instruction, so that no other object gets the identities of its
    fields.
    """
    # Their lines also tell of instructions in what they call, or of operands' shapes.
    if instr.opcode.startswith(("async-", "conditional")):
        return instr
    return (
        instr.opcode,
        id(instr.attrs),
        id(instr.annotations),
        len(instr.operands),
        tuple([computation.name for computation in instr.called]),
        tuple([other.name for other in instr.control_predecessors]),
    )


def rest_of(instr: Instruction) -> str:
    """The line of an instruction after its shape, without operands."""
    text = print_instruction(instr, WITHOUT_OPERANDS)
    rest = text.removeprefix(f"%{instr.name} = {instr.shape}").lstrip()
    return rest.replace(f"({', ' * (len(instr.operands) - 1)})", "()", 1)


def changes_of_wide(names: Sequence[int], operands: Sequence[Sequence[int]]) -> list[Any]:
    """The operands of each row; of many, only those that an earlier row of the name has not.

    A root tuple with the results of a large module is written anew at each rewrite of a result.
    """
    last: dict[int, int] = {}
    changes: list[Any] = []
    for row, (name, own) in enumerate(zip(names, operands, strict=True)):
        change: Any = own
        if len(own) >= WIDE:
            other = last.get(name)
            last[name] = row
            if other is not None and len(operands[other]) == len(own):
                pairs = enumerate(zip(own, operands[other], strict=True))
                changed = [part for i, (new, old) in pairs if new != old for part in (i, new)]
                if len(changed) < len(own):
                    change = {"as": other, "but": changed}
        changes.append(change)
    return changes
