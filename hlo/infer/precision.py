"""Where an instruction's shape says another precision than that of what the opcode computes.

XLA lets `y = bf16[8] slice(x)` stand for the slice of an f32 array, converted: its verifier
compares most shapes without regard to how precise their floats are. Arithmetic rounds its result
anyway; what only moves numbers about, folds them by a computation, or exchanges them does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.infer import infer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

# Opcodes whose results have the type of their operands, or of what a computation yields.
TYPE_OF_OPERANDS = frozenset(
    {
        *("all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute"),
        *("ragged-all-to-all", "reduce-scatter", "batch-norm-grad", "batch-norm-inference"),
        *("batch-norm-training", "broadcast", "cholesky", "concatenate", "copy", "domain"),
        *("dynamic-reshape", "dynamic-slice", "dynamic-update-slice", "fft", "gather", "map"),
        *("pad", "reduce", "reduce-window", "reshape", "reverse", "scan", "scatter", "select"),
        *("select-and-scatter", "set-dimension-size", "slice", "sort", "topk", "transpose"),
        *("triangular-solve",),
    }
)
# Those of them whose inferred shape is what the instruction says.
_OPEN = frozenset({"broadcast", "dynamic-reshape", "reshape"})


def mixes_precisions(instr: Instruction) -> bool:
    """Whether what an opcode computes might be of another precision than the instruction."""
    return instr.opcode in TYPE_OF_OPERANDS and len(set(_floats(instr))) > 1


def computed_shape(instr: Instruction) -> Shape | None:
    """The shape of what an opcode computes; None if it is just as precise as the instruction's."""
    if not mixes_precisions(instr):
        return None
    said, first = instr.shape, instr.operands[0].shape
    is_open = instr.opcode in _OPEN
    made = said.with_type(first.element_type) if is_open else infer(instr)
    pairs = zip(made.leaves(), said.leaves(), strict=True)
    return None if all(m.element_type is s.element_type for (_, m), (_, s) in pairs) else made


def _floats(instr: Instruction) -> Iterator[ElementType]:
    """The floating-point types that occur in an instruction."""
    values = (instr, *instr.operands, *(c.root for c in instr.called))
    for shape in (value.shape for value in values):
        for _, leaf in shape.leaves():
            if leaf.element_type.is_floating or leaf.element_type.is_complex:
                yield leaf.element_type
