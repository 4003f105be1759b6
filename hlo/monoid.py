"""Monoids: operations such as addition, which fold values in any grouping, with their identities.

One row for each opcode with the trait `associative`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hlo.types.limits import highest_of, lowest_of

if TYPE_CHECKING:
    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType


@dataclass(frozen=True, slots=True)
class Monoid:
    """An operation: associative but for rounding, commutative, with an identity.

    Attributes
    ----------
    of_preds : the opcode that is the same operation on truth values.
    idempotent : whether a value that takes part may do so any number of times.
    """

    opcode: str
    of_preds: str
    idempotent: bool = False

    @property
    def compares(self) -> bool:
        """Whether the result is one of the operands, chosen by their order."""
        return self.opcode in ("maximum", "minimum")

    def rounds(self, element_type: ElementType) -> bool:
        """Whether results are rounded, so that the grouping of values can be told from them."""
        return element_type.real.is_floating and not self.compares

    def identity(self, element_type: ElementType) -> complex | None:
        """The number that leaves all others alone; None if the type has none.

        The product of a complex infinity and 1 is an exception: it has a NaN.
        """
        if element_type.real.is_floating:
            # -0 + x is x, also where x is -0.
            zero = complex(-0.0, -0.0) if element_type.is_complex else -0.0
            known = {"add": zero, "multiply": 1.0}
            if element_type.is_floating:
                known |= {"maximum": lowest_of(element_type), "minimum": highest_of(element_type)}
        else:
            is_signed = element_type.kind == "signed"
            low, high = lowest_of(element_type), highest_of(element_type)
            known = {"add": 0, "multiply": 1, "maximum": low, "minimum": high}
            known |= {"and": -1 if is_signed else high, "or": 0, "xor": 0}
        number = known.get(self.opcode)
        # Not every small type has a zero, or a one.
        there = number is not None and np.asarray(number, element_type.dtype) == number
        return number if there else None


MONOIDS = {
    monoid.opcode: monoid
    for monoid in (
        Monoid("add", "or"),
        Monoid("multiply", "and"),
        Monoid("maximum", "or", idempotent=True),
        Monoid("minimum", "and", idempotent=True),
        Monoid("and", "and", idempotent=True),
        Monoid("or", "or", idempotent=True),
        Monoid("xor", "xor"),
    )
}


def monoid_of(computation: Computation) -> Monoid | None:
    """The monoid that a computation of two scalars applies, if it does nothing else."""
    root, parameters = computation.root, computation.parameters
    if root.opcode not in MONOIDS or len(parameters) != 2 or set(root.operands) != set(parameters):
        return None
    monoid = MONOIDS[root.opcode]
    # Complex numbers have no order; NumPy would make one up.
    return None if monoid.compares and root.shape.element_type.is_complex else monoid
