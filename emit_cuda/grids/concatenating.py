"""Concatenation by ranges: the blocks of a grid are dealt out to the operands.

    block:    0 1 2 | 3 | 4 5        each block reads one operand, and writes it where it belongs
    operand:    a   | b |  c

So no thread asks for each element which operand it comes from, and an operand that is computed is
computed by threads of its own.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/concatenate.cc`, where each thread copies an element of
each operand instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import BLOCK_X, THREAD_X, Cast, Group, Name, binary, item
from codegen.statements import For, If, Let, live
from emit_cuda.grids.stages import BLOCK, Stage
from emit_cuda.loops.vectors import in_vectors
from hlo import attributes as a
from optimizer.analysis.indexing import counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Kernel
    from codegen.statements import Statement
    from hlo.instruction import Instruction

# Between fewer operands each element may as well choose.
LEAST = 3


def concatenate_stage(kernel: Kernel, instr: Instruction, outputs: Sequence[Name]) -> Stage | None:
    """A launch that copies each operand by blocks of its own; None for few operands."""
    operands = [operand for operand in instr.operands if operand.shape.size]
    if len(operands) < LEAST:
        return None
    along = a.Dimensions.of(instr).dimensions[0]
    parts: list[tuple[int, tuple[Statement, ...]]] = []
    begin = blocks = 0
    for operand in operands:
        copied = _copying(kernel, instr, outputs[0], (operand, along, begin))
        loop, _ = in_vectors(kernel, copied, (instr, operand))
        assert isinstance(loop.stop, int)
        first = Group(Cast("s64", BLOCK_X) - blocks) * BLOCK
        number = Let("s64", loop.name, first + Cast("s64", THREAD_X))
        inside = loop.body
        if loop.stop % BLOCK:
            inside = (If(binary("<", Name(loop.name), loop.stop), inside),)
        blocks += -(-loop.stop // BLOCK)
        parts.append((blocks, (number, *inside)))
        begin += operand.shape.dims[along]
    chosen = parts[-1][1]
    for end, statements in reversed(parts[:-1]):
        chosen = (If(binary("<", BLOCK_X, end), statements, chosen),)
    grid, block = (blocks, 1, 1), (BLOCK, 1, 1)
    return Stage(tuple(chosen), grid, block, kind="concatenation", waits=False)


def _copying(
    kernel: Kernel, instr: Instruction, output: Name, part: tuple[Instruction, int, int]
) -> For:
    """A loop that copies the elements of an operand.

    Parameters
    ----------
    part : the operand, the dimension, and where in it the operand begins.
    """
    operand, along, begin = part
    body, name = kernel.body, kernel.body.name("i")
    index = delinear(counter(name, operand.shape.size), operand.shape.dims)
    with body.block() as statements:
        at = (*index[:along], index[along] + begin, *index[along + 1 :])
        value = body.stored(instr.shape.element_type, body.element(operand, index))
        body.assign(item(output, linear(at, instr.shape.dims)), value)
    return For(name, operand.shape.size, live(statements), parallel=True)
