"""Tuples that are taken apart at once, or put together again, disappear.

get-tuple-element(tuple(x, y), index=1)                       => y
tuple(get-tuple-element(t, index=0), ..., (t, index=n - 1))   => t, if t has n elements
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from optimizer.passes import register
from optimizer.rewriting.application import Rest
from optimizer.rewriting.pattern import get_tuple_element, p, tuple_, xs
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import RuleSet, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@rule(
    get_tuple_element(tuple_(xs), p), xla="xla/service/tuple_simplifier.cc: GetTupleElement(Tuple)"
)
def element_of_tuple(xs: tuple[Instruction, ...], p: int) -> Instruction:
    """The element itself."""
    return xs[p]


@rule(
    tuple_(Rest("xs", "get-tuple-element")),
    xla="xla/service/tuple_simplifier.cc: Tuple(GetTupleElement ...)",
)
def tuple_of_all_elements(xs: tuple[Instruction, ...]) -> Instruction | None:
    """The tuple whose elements are all taken, in order."""
    if not xs:
        return None
    whole = xs[0].operands[0]
    taken = [GetTupleElement.of(x).index for x in xs]
    if any(x.operands[0] is not whole for x in xs):
        return None
    return whole if taken == list(range(len(whole.shape.elements))) else None


RULES = RuleSet([element_of_tuple, tuple_of_all_elements])


@register
@dataclass(frozen=True)
class TupleSimplifier:
    """Forwards elements through tuples, and whole tuples through their elements."""

    name = "tuple-simplifier"
    xla = "xla/service/tuple_simplifier.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module without needless tuples."""
        return rewrite(module, RULES, log)
