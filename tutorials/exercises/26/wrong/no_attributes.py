# message: Common:
from hlo.effects import has_effect, ordered
from hlo.walk import rebuild, rebuild_module
from optimizer.identity import Identity


class Common:
    """A slice of other elements is another slice."""

    name = "common"

    def run(self, module, log):
        assert Identity

        def change(computation):
            tied = ordered(computation)
            plan, first, number = {}, {}, {}
            for n, instr in enumerate(computation.instructions):
                number[instr] = n
                if not instr.operands or instr in tied or has_effect(instr):
                    continue
                kept = first.setdefault(
                    (instr.opcode, instr.shape, tuple(number[o] for o in instr.operands)), instr
                )
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
                    number[instr] = number[kept]
            return rebuild(computation, plan)

        return rebuild_module(module, change)
