"""Common subexpression elimination with a mistake in it: what does it not look at?"""

from hlo.walk import rebuild, rebuild_module


class Forgetful:
    name = "forgetful"

    def run(self, module, log):
        def change(computation):
            plan, first = {}, {}
            for instr in computation.instructions:
                if not instr.operands:
                    continue
                kept = first.setdefault((instr.opcode, instr.operands, instr.shape), instr)
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
            return rebuild(computation, plan)

        return rebuild_module(module, change)
