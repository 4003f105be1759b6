"""Exercise 26: find what is the same in every iteration.

`site.loop.body` is the body of a loop. `invariant_elements(site)` are its instructions that take
arrays from the state which no iteration changes. What follows from these alone, and has no effect,
is the same in every iteration, and may be computed once, before the loop. Give these instructions,
those taken among them, in order.

Mind: `instr.row.pure` is whether an opcode only computes; `ordered(body)` are instructions that
control dependencies tie; and a loop inside of the loop might never end, so it must not run where
the outer one might not. `ends(instr)` says whether there is none in it. The number of iterations,
`trip_count(site.loop, max_iterations=1)`, is None where it is not known; nothing is gained at 0 or
1.
"""

from optimizer.effects import has_effect, ordered
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import ends, invariant_elements


def invariants(site, ratio):
    raise NotImplementedError("not written yet")
