"""The error for an opcode that means nothing for numbers of a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import having

if TYPE_CHECKING:
    from hlo.errors.error import Span
    from hlo.types.element_type import ElementType

_ORDERING = having("ordering")


def undefined(opcode: str, element_type: ElementType, span: Span | None) -> HloError:
    """HLO101: the opcode means nothing for the type.

    XLA has no one meaning for an order of complex numbers. Its evaluator refuses them; on the CPU,
    < is lexicographic, but <= looks at the real parts alone, and maximum, minimum and clamp are
    made of it.
    """
    notes: list[str] = []
    if element_type.is_complex and opcode in _ORDERING:
        notes.append("complex numbers have no order: compare `real` and `imag`, and `select` by it")
    return HloError("HLO101", f"{opcode} is not defined for {element_type}", span, notes)
