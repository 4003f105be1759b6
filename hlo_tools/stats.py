"""Statistics of a module: counts of opcodes and element types, and bytes.

Bytes are those of the values themselves, as if each lay in memory of its own; what a backend really
needs, after fusion and sharing of buffers, is the buffer assignment's to say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import FORWARDING, TUPLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.instruction import Computation, Instruction, Module

# Their value is made of their operands' buffers, or of the caller's: it takes no memory anew.
WITHOUT_MEMORY = TUPLES | FORWARDING | {"parameter", "bitcast"}


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and sizes of one module.

    Attributes
    ----------
    opcodes, element_types : how often each occurs, the commonest first; each array in a tuple
        counts as one occurrence of its element type.
    depth : instructions in the longest chain of operands in the entry computation.
    parameter_bytes, output_bytes : of the entry computation.
    constant_bytes, value_bytes : of all constants, and of everything that is computed, once each,
        however often a loop computes it.
    largest : the instructions with the most bytes, the largest first.
    """

    computations: int
    instructions: int
    opcodes: dict[str, int]
    element_types: dict[str, int]
    depth: int
    parameter_bytes: int
    output_bytes: int
    constant_bytes: int
    value_bytes: int
    largest: tuple[Instruction, ...]


def stats(module: Module, largest: int = 5) -> Stats:
    """Count a module's computations, instructions and opcodes.

    Parameters
    ----------
    largest : how many of the largest values to name.
    """
    instructions = list(module.instructions())
    types = (leaf.element_type.name for i in instructions for _, leaf in i.shape.leaves())
    computed = [i for i in instructions if i.opcode not in WITHOUT_MEMORY]
    constants = [i for i in computed if i.opcode == "constant"]
    return Stats(
        computations=len(module.computations),
        instructions=len(instructions),
        opcodes=_commonest_first(i.opcode for i in instructions),
        element_types=_commonest_first(types),
        depth=depth(module.entry),
        parameter_bytes=_bytes(module.entry.parameters),
        output_bytes=module.entry.root.shape.bytes,
        constant_bytes=_bytes(constants),
        value_bytes=_bytes(computed) - _bytes(constants),
        largest=tuple(sorted(computed, key=lambda i: -i.shape.bytes)[:largest]),
    )


def depth(computation: Computation) -> int:
    """The number of instructions of the longest chain of operands."""
    below: dict[Instruction, int] = {}
    for instr in computation.instructions:
        below[instr] = 1 + max((below[operand] for operand in instr.operands), default=0)
    return max(below.values())


def _bytes(instructions: Iterable[Instruction]) -> int:
    return sum(i.shape.bytes for i in instructions)


def _commonest_first(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))
