"""Splits collectives into a start and a done, so that something else can run in between.

r = f32[8] all-reduce(x), to_apply=add      s = f32[8] all-reduce-start(x), to_apply=add
r = f32[8] all-reduce-done(s)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import having
from hlo.walk import names_of
from optimizer.gpu.async_pairs import pair
from optimizer.passes import register
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from optimizer.log import Log

SPLIT = having("collective") - having("async")


@register
@dataclass(frozen=True)
class AsyncCollectiveCreator:
    """Makes pairs of collectives; `latency-hiding-scheduler` then moves the halves apart."""

    name = "async-collective-creator"
    xla = "xla/hlo/transforms/collectives/async_collective_creator.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module whose collectives are asynchronous."""
        names = names_of(module)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            if len(computation.instructions) == len(computation.parameters) + 1:
                # The computation of an async-start; another one inside it would gain nothing.
                return
            for instr in computation.instructions:
                if instr.opcode in SPLIT:
                    rewrites.add("split", instr, *pair(instr, names))

        return rewrite_sites(module, log, visit)
