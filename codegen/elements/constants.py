"""The constant arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.elements.types import literal as number
from hlo.attributes import Constant
from hlo.errors.error import HloError
from hlo.types.literal import literal
from interpreter.plumbing import evaluate_constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from codegen.elements.names import Names
    from codegen.expressions import Expr
    from hlo.instruction import Instruction
    from hlo.types.literal import Literal


def literal_of(constant: Instruction) -> Literal:
    """The value of a constant; the interpreter's substitute where the text leaves it out."""
    attrs = Constant.of(constant)
    if not attrs.literal.elided:
        return attrs.literal
    return literal(evaluate_constant(constant, attrs), attrs.literal.shape)


class Constants:
    """The arrays that a module's kernels read; an emitter's own class says where they lie."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._found: dict[tuple[str, bytes], str] = {}

    def scalar(self, value: Literal) -> Expr | None:
        """The one number that all elements are; None if they differ."""
        array = value.array
        if array is None or array.size == 0:
            return None
        bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
        if (bits != bits[0]).any():
            return None
        element_type = value.shape.element_type
        return number(element_type, array.reshape(-1)[0])

    def pointer(self, literal: Literal, name: str) -> str:
        """The name of a constant array; equal constants have one."""
        array = literal.array
        if array is None:
            raise HloError("HLO181", "a constant that is no array can't be read by a kernel")
        kind = literal.shape.element_type.name
        key = kind, array.tobytes()
        if key not in self._found:
            self._found[key] = self.names.unique(name, "constant")
            self.define(self._found[key], kind, np.ascontiguousarray(array))
        return self._found[key]

    def define(self, name: str, kind: str, array: NDArray[Any]) -> None:
        """Let there be a new constant array, whose elements have a type."""
        raise NotImplementedError
