"""The constant arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from codegen.elements.types import literal as number

if TYPE_CHECKING:
    from codegen.expressions import Expr
    from hlo.types.literal import Literal


class Constants:
    """The arrays that a module's kernels read; an emitter's own class says where they lie."""

    def scalar(self, literal: Literal) -> Expr | None:
        """The one number that all elements are; None if they differ."""
        array = literal.array
        if array is None or array.size == 0:
            return None
        bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
        if (bits != bits[0]).any():
            return None
        element_type = literal.shape.element_type
        return number(element_type, array.reshape(-1)[0])

    def pointer(self, literal: Literal, name: str) -> str:
        """The name of a constant array; equal constants have one."""
        raise NotImplementedError
