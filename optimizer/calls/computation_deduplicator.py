"""Lets callers of equal computations share one of them.

Frameworks emit the same scalar `add` once for every reduce. Only computations without loops and
calls of their own count, as in XLA: sharing must never make two sequential call sites one, nor may
two fusions share a body.

    r = f32[] reduce(x, zero), to_apply=add.1      r = f32[] reduce(x, zero), to_apply=add.1
    s = f32[] reduce(y, zero), to_apply=add.2      s = f32[] reduce(y, zero), to_apply=add.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import SEQUENTIAL
from optimizer.identity import Identity
from optimizer.passes import register
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ComputationDeduplicator:
    """Keeps the first of several equal computations."""

    name = "computation-deduplicator"
    xla = "xla/hlo/transforms/simplifiers/hlo_computation_deduplicator.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with each computation once."""
        identity = Identity(is_layout_sensitive=True)
        computations: dict[int, Computation] = {}

        def first(computation: Computation) -> Computation:
            return computations.setdefault(identity.of(computation), computation)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            for instr in computation.instructions:
                if not instr.called or instr.opcode in SEQUENTIAL or instr.opcode == "fusion":
                    continue
                called = tuple([first(c) for c in instr.called])
                if called != instr.called:
                    rewrites.add("share", instr, instr.with_(called=called), mixed=True)

        return rewrite_sites(module, log, visit)
