"""Exercise 22: keep the first of equal instructions.

Two instructions are equal if they have the same opcode, shape, operands, attributes and called
computations, and no effects. `optimizer.effects` has `has_effect(instr)`, and
`ordered(computation)`, the instructions that control dependencies tie: leave these alone.

Once a and b are equal, so are f(a) and f(b).
`Identity(is_layout_sensitive=True).key(instr, number)` in `optimizer.identity` is a key that equal
instructions share; `number` says for each operand which number it has, and equal operands must have
the same one. Layouts count, since a bitcast may read the memory of a value as it lies there.

Collect a plan, {instruction: what takes its place}; ask `log.rewrite("equal", old, new)` for each;
`rebuild(computation, plan)` carries it out.
"""

from hlo.walk import rebuild_module


class Common:
    name = "common"

    def run(self, module, log):
        def change(computation):
            raise NotImplementedError("not written yet")

        return rebuild_module(module, change)
