"""Exercise 26: keep the first of equal instructions.

Two instructions are equal if they have the same opcode, shape, operands, attributes and called
computations, and no effects. `hlo.effects` has `has_effect(instr)`, and
`ordered(computation)`, the instructions that control dependencies tie: leave these alone.

Once a and b are equal, so are f(a) and f(b). So give each instruction a number, and an instruction
that equals an earlier one the number of that one. With `numbers`, the dictionary of these,
`Identity(is_layout_sensitive=True).key(instr, numbers)` is a key that equal instructions share
(`optimizer.identity`). Layouts count, since a bitcast may read the memory of a value as it lies
there.

Collect a plan, a dictionary from each instruction to its replacement. Ask
`log.rewrite("equal", old, new)` for each, and leave it out of the plan if the answer is no.
`rebuild(computation, plan)` (`hlo.walk`) makes the new computation.
"""

from hlo.walk import rebuild_module


class Common:
    name = "common"

    def run(self, module, log):
        def change(computation):
            raise NotImplementedError("not written yet")

        return rebuild_module(module, change)
