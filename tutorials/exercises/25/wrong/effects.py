# message: DeadCode removes outfeed, which has an effect
from dataclasses import replace

from hlo.walk import rebuild_module


class DeadCode:
    """Forgets what must happen though nobody asks for its value."""

    name = "dead-code"

    def run(self, module, log):
        def clean(computation):
            needed = {computation.root}
            for instr in reversed(computation.instructions):
                if instr in needed:
                    needed.update(instr.operands)
            gone = [
                i
                for i in reversed(computation.instructions)
                if i not in needed and i.opcode != "parameter" and log.rewrite("dead", i)
            ]
            if not gone:
                return computation
            kept = tuple(i for i in computation.instructions if i not in gone)
            return replace(computation, instructions=kept)

        return rebuild_module(module, clean)
