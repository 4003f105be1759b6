"""The types in which C and its relatives store each element type, and compute with it.

The names of the types are HLO's own: f32, s8, bf16. An element is stored as NumPy stores it, so
arrays go in and out as they are: s4 takes a byte, with its high half zero. Types that C cannot
compute with are widened when loaded (`load_bf16`), and narrowed once after each operation
(`narrow_bf16`), exactly as the interpreter does. In registers a value is always of its wide type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import Apply, Cast, Literal
from codegen.kinds import is_narrow, wide
from hlo.types.element_type import ELEMENT_TYPES, ElementType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from codegen.expressions import Expr


def load(element_type: ElementType, stored: Expr) -> Expr:
    """A stored value, widened to the type in which it is computed."""
    return Apply(FUNCTIONS["load", element_type], (stored,)) if is_narrow(element_type) else stored


def store(element_type: ElementType, value: Expr) -> Expr:
    """The stored form of a wide value that is already narrowed."""
    return Apply(FUNCTIONS["store", element_type], (value,)) if is_narrow(element_type) else value


def narrowed(element_type: ElementType, value: Expr) -> Expr:
    """A result in its element type, as a wide value: rounded or wrapped around."""
    if element_type is ELEMENT_TYPES["pred"] or not is_narrow(element_type):
        return value
    return Apply(FUNCTIONS["narrow", element_type], (value,))


def stored_narrowed(element_type: ElementType, narrow: Expr) -> Expr | None:
    """The stored form of a call of `narrow_...`; None for other expressions."""
    if isinstance(narrow, Apply) and narrow.function is FUNCTIONS["narrow", element_type]:
        return Apply(FUNCTIONS["store", element_type], narrow.args)
    return None


def computed_in_bits(opcode: str, element_type: ElementType, *bits: Expr) -> Expr | None:
    """An operation on floats of 16 bits as they are stored; None for others, which convert them."""
    if element_type.bits != 16:
        return None
    match opcode:
        case "negate":
            return bits[0] ^ Literal(0x8000, hexadecimal=True)
        case "abs":
            return bits[0] & Literal(0x7FFF, hexadecimal=True)
        case "maximum" | "minimum":
            return Apply(FUNCTIONS[opcode, element_type], bits)
        case _:
            return None


def literal(element_type: ElementType, value: Any) -> Expr:
    """One number as a wide value."""
    number: NDArray[Any] = np.asarray(value)
    if element_type.kind == "complex":
        part = ELEMENT_TYPES["f32" if element_type.name == "c64" else "f64"]
        whole: Any = number
        parts = (Cast(part.name, literal(part, x)) for x in (whole.real, whole.imag))
        return Apply(BUILTINS["complex"], tuple(parts))
    if element_type.is_floating:
        return Literal(float(number), wide(element_type))
    sign = "u" if element_type.kind == "unsigned" else "s"
    if element_type.bits == 64:
        return Literal(int(number), f"{sign}64")
    return Literal(int(number), "u32" if sign == "u" else "")
