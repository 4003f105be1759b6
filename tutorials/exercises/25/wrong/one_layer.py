# message: leaves 4 instructions where 2 would do
from dataclasses import replace

from hlo.effects import has_effect, ordered
from hlo.walk import rebuild_module, users


class DeadCode:
    """What only dead instructions use is dead, too."""

    name = "dead-code"

    def run(self, module, log):
        def clean(computation):
            used, tied = users(computation), ordered(computation)
            gone = {
                i
                for i in computation.instructions
                if not used[i]
                and i is not computation.root
                and i.opcode != "parameter"
                and not has_effect(i)
                and i not in tied
                and log.rewrite("dead", i)
            }
            if not gone:
                return computation
            kept = tuple(i for i in computation.instructions if i not in gone)
            return replace(computation, instructions=kept)

        return rebuild_module(module, clean)
