# message: stays in the loop, though it is the same in every iteration
from hlo.effects import has_effect, ordered
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import ends, invariant_elements


def invariants(site, ratio):
    """Looks one step far."""
    found = dict.fromkeys(invariant_elements(site))
    first, tied = set(found), ordered(site.loop.body)
    for instr in site.loop.body.instructions:
        fine = instr.row.pure and not has_effect(instr) and instr not in tied and ends(instr)
        if fine and instr.operands and all(o in first for o in instr.operands):
            found[instr] = None
    return found
