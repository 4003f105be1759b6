# message: invariants
from hlo.effects import has_effect, ordered
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import ends, invariant_elements


def invariants(site, ratio):
    """What changes from iteration to iteration cannot be computed before the loop."""
    found = dict.fromkeys(invariant_elements(site))
    for instr in site.loop.body.instructions:
        if instr.row.pure and instr.opcode not in ("parameter", "after-all"):
            found[instr] = None
    return found
