# message: leaves 2 negate instructions where 1 would do
from hlo.effects import has_effect, ordered
from hlo.walk import rebuild, rebuild_module
from optimizer.identity import Identity


class Common:
    """Equal operands do not get equal numbers."""

    name = "common"

    def run(self, module, log):
        identity = Identity(is_layout_sensitive=True)

        def change(computation):
            tied = ordered(computation)
            plan, first, number = {}, {}, {}
            for n, instr in enumerate(computation.instructions):
                number[instr] = n
                if not instr.operands or instr in tied or has_effect(instr):
                    continue
                kept = first.setdefault(identity.key(instr, number), instr)
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
            return rebuild(computation, plan)

        return rebuild_module(module, change)
