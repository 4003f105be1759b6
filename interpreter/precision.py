"""Results in the precision that an instruction's shape says, where its opcode computes in another.

See `hlo.infer.precision`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.infer.precision import mixes_precisions
from interpreter.conversion import converted

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.table import Value


def in_declared_precision(
    function: Callable[..., Value], instr: Instruction
) -> Callable[..., Value]:
    """The function of an instruction, with a result of the type that it says."""
    if not mixes_precisions(instr):
        return function

    def compute(instr: Instruction, attrs: Attrs, *operands: Value) -> Value:
        return _converted(function(instr, attrs, *operands), instr.shape)

    return compute


def _converted(value: Value, shape: Shape) -> Value:
    if shape.is_tuple:
        pairs = zip(value, shape.elements, strict=True)
        return tuple(_converted(v, s) for v, s in pairs)
    return converted(value, shape.element_type) if shape.is_array else value
