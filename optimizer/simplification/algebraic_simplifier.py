"""The algebraic simplifier: applies the rules of `optimizer.rules`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interpreter.numbers.compare import BITS, ROUNDING, Promise
from optimizer.passes import register
from optimizer.rewriting.rewrite import rewrite
from optimizer.rules import ALL_RULES

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class AlgebraicSimplifier:
    """Applies algebraic rules until none applies any more.

    Attributes
    ----------
    strict : only rules that keep every bit. By default it takes what XLA takes by default, which
        changes signs of zeros, what overflows, and roundings.
    layout_sensitive : a replacement must have the layout of what it replaces; needed once layouts
        are assigned.
    """

    name = "algebraic-simplifier"
    xla = "xla/hlo/transforms/simplifiers/algebraic_simplifier.cc"
    strict: bool = False
    layout_sensitive: bool = False

    @property
    def promise(self) -> Promise:
        """The promise of nearly all rules; those that promise less say so themselves."""
        return BITS if self.strict else ROUNDING

    def run(self, module: Module, log: Log) -> Module:
        """The simplified module."""
        return rewrite(
            module, ALL_RULES, log, strict=self.strict, layout_sensitive=self.layout_sensitive
        )
