"""Gives all conditionals one form: they yield tuples.

    c = f32[] conditional(p, x, y), ...        t = (f32[]) conditional(p, x, y), ...
                                               c = f32[] get-tuple-element(t), index=0

Later passes then need to know only that form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optimizer.conditionals.branches import ConditionalSite, transformed
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo.walk import Plan
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ConditionalCanonicalizer:
    """Makes every conditional yield a tuple."""

    name = "conditional-canonicalizer"
    xla = "xla/service/conditional_canonicalizer.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with all conditionals in tuple form."""
        return transformed(module, tuple_form, log)


def tuple_form(site: ConditionalSite) -> Plan:
    """A conditional that yields a tuple of one element, and that element."""
    instr = site.instr
    if instr.shape.is_tuple:
        return {}
    branches = site.branches()
    for n, branch in enumerate(branches):
        root = site.named(make("tuple", branch.root))
        branches[n] = replace(branch, instructions=(*branch.instructions, root), root=root)
    whole = instr.with_(shape=branches[0].root.shape, called=tuple(branches))
    return {instr: site.named(make("get-tuple-element", whole, index=0))}
