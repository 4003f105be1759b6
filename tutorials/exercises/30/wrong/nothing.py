# message: stays in the loop, though it is the same in every iteration
from hlo.effects import has_effect, ordered
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import ends, invariant_elements


def invariants(site, ratio):
    return dict.fromkeys(invariant_elements(site))
