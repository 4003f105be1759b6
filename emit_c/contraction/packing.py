"""Kernels that are constants: packed once, when the module is written, and not at every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.types.literal import Literal
from hlo.types.shape import array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from emit_c.contraction.tiling import Tiling
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


def constant_numbers(body: Body, kernel: Instruction) -> NDArray[Any] | None:
    """A kernel's numbers, if it is a constant and they are not all the same; else None."""
    literal = body.literal(kernel)
    if literal is None or body.writer.constants.scalar(literal) is not None:
        return None
    return literal.array


def packed_constant(
    body: Body,
    tiling: Tiling,
    numbers: NDArray[Any],
    kernel: Instruction,
    kind: ElementType | None = None,
) -> Name:
    """The pointer to a constant that holds a packed kernel.

    Parameters
    ----------
    numbers : shape (features, depth).
    kind : their type, if it is not that in which the tiling sums up.
    """
    kind = kind or tiling.kind
    packed = tiling.packed_numbers(numbers.astype(kind.dtype))
    literal = Literal(array(kind, packed.shape), packed)
    return body.constant(literal, f"{kernel.name}_packed")
