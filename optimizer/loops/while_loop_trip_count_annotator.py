"""Writes down how often loops run, for the backend, which does not look again.

w = (s32[]) while(init), condition=c, body=b, backend_config={"known_trip_count":{"n":"5"}, ...}
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optimizer.loops.state import loop_of
from optimizer.loops.trip_count import counter_of, induction_index, trip_count
from optimizer.passes import register
from optimizer.rewriting.sites import replace_each
from optimizer.settings import settings

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log
    from optimizer.loops.state import Loop


@register
@dataclass(frozen=True)
class WhileLoopTripCountAnnotator:
    """Notes trip counts and induction variables in the backend configuration of loops."""

    name = "while-loop-trip-count-annotator"
    xla = "xla/service/while_loop_trip_count_annotator.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with notes at its loops."""

        def annotated(instr: Instruction) -> Instruction | None:
            loop = loop_of(instr)
            if loop is None:
                return None
            facts = known_facts(loop)
            # A count known before may be hidden now, as where a fusion counts. It still holds,
            # for passes that change how often a loop runs take its notes away.
            noted = settings(instr.annotations.backend_config) or {}
            if noted | facts == noted:
                return None
            config = json.dumps(noted | facts, separators=(",", ":"))
            return instr.with_(annotations=replace(instr.annotations, backend_config=config))

        return replace_each(module, log, "annotate", annotated)


def known_facts(loop: Loop) -> dict[str, Any]:
    """The facts of a loop, as XLA's `WhileLoopBackendConfig` in JSON.

    As in every JSON form of a protocol buffer, 64-bit integers are strings.
    """
    index, counter = induction_index(loop), counter_of(loop)
    if index is None:
        return {}
    facts: dict[str, Any] = {}
    trips = trip_count(loop)
    if trips is not None:
        facts["known_trip_count"] = {"n": str(trips)}
        if counter is not None and counter.trips is not None:
            facts["known_init_step"] = {"init": str(counter.init), "step": str(counter.step)}
    facts["known_induction_variable"] = {"tuple_index": str(index)}
    facts["dynamic_variables"] = []
    return facts
