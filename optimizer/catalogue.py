"""Every pass and every set of rules: importing this file enters the passes into `PASSES`."""

from __future__ import annotations

from optimizer.calls import (
    call_inliner,
    computation_deduplicator,
    flatten_call_graph,
    map_inliner,
)
from optimizer.cleanup import cse, dce, module_dce, sort_simplifier, tuple_simplifier
from optimizer.conditionals import (
    conditional_canonicalizer,
    conditional_simplifier,
    conditional_to_select,
)
from optimizer.diagnostics import propagate_call_metadata, unstable_reduction_detector
from optimizer.expanders.catalogue import MODULES as EXPANDERS
from optimizer.fusion import instruction_fusion
from optimizer.loops import (
    while_loop_constant_sinking,
    while_loop_invariant_code_motion,
    while_loop_simplifier,
    while_loop_trip_count_annotator,
    while_loop_unroller,
)
from optimizer.rules import ALL_RULES
from optimizer.simplification import (
    algebraic_simplifier,
    constant_folding,
    reshape_mover,
    slice_sinker,
    zero_sized_hlo_elimination,
)

MODULES = (
    algebraic_simplifier,
    call_inliner,
    computation_deduplicator,
    conditional_canonicalizer,
    conditional_simplifier,
    conditional_to_select,
    constant_folding,
    cse,
    dce,
    *EXPANDERS,
    flatten_call_graph,
    instruction_fusion,
    map_inliner,
    module_dce,
    propagate_call_metadata,
    reshape_mover,
    slice_sinker,
    sort_simplifier,
    tuple_simplifier,
    unstable_reduction_detector,
    while_loop_constant_sinking,
    while_loop_invariant_code_motion,
    while_loop_simplifier,
    while_loop_trip_count_annotator,
    while_loop_unroller,
    zero_sized_hlo_elimination,
)

# The tests hold every rule of these against the interpreter, and `hlo rules` lists them.
ALL_RULE_SETS = (
    ALL_RULES,
    tuple_simplifier.RULES,
)
