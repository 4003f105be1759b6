"""Exercise 30: find what is the same in every iteration.

`site.loop.body` is the body of a loop. `invariant_elements(site)` are its instructions that take
arrays from the state which no iteration changes. An instruction without effects that needs
only these is the same in every iteration, too, and may be computed once, before the loop. So is one
that needs only such instructions. Give all of them, `invariant_elements(site)` included, in the
body's order. Leave `ratio` aside: it is an option of the pass, and 0 here.

`instr.row.pure` says that an opcode only computes, and `ordered(body)` are the instructions that
control dependencies tie. A loop inside of the loop might never end, so it must not move where the
outer loop might run zero times; `ends(instr)` says that no such loop is in an instruction. The
number of iterations, `trip_count(site.loop, max_iterations=1)`, is None where it is not known; give
no instruction if it is 0 or 1.
"""

from hlo.effects import has_effect, ordered
from optimizer.loops.trip_count import trip_count
from optimizer.loops.while_loop_invariant_code_motion import ends, invariant_elements


def invariants(site, ratio):
    raise NotImplementedError("not written yet")
