"""The loop kernel: each thread computes one element, and where results are alike one of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from codegen.expressions import item
from codegen.indexing import counter, delinear, linear
from codegen.statements import live
from emit_cuda.kernels.stages import Stage, alone, each_thread

if TYPE_CHECKING:
    from codegen.elements.body import Values
    from codegen.elements.kernel import Kernel
    from codegen.expressions import Name
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

Results = Sequence[tuple["Instruction", Sequence["Name"]]]


def loop_stage(kernel: Kernel, results: Results) -> Stage:
    """A launch that computes arrays of equal dimensions.

    Parameters
    ----------
    results : instructions, each with the kernel's pointers to the arrays of its value.
    """
    body = kernel.body
    shape = _leaf(results[0][0])
    count, name = shape.size, "thread"
    with body.block() as statements:
        number = counter(name, count)
        index = delinear(number, shape.dims)
        made: list[tuple[Instruction, Sequence[Name], Values]] = [
            (instr, pointers, body.elements(instr, index)) for instr, pointers in results
        ]
        for instr, pointers, values in made:
            shapes = [s for _, s in instr.shape.leaves() if s.is_array]
            for leaf, pointer, value in zip(shapes, pointers, values, strict=True):
                place = item(pointer, linear(index, leaf.dims))
                body.assign(place, body.stored(leaf.element_type, value))
    kept = live(statements)
    return each_thread(name, count, kept) if count > 1 else alone(kept)


def _leaf(instr: Instruction) -> Shape:
    return next(s for _, s in instr.shape.leaves())
