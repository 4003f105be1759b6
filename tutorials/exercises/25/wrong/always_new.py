# message: a second run, on its own result
from dataclasses import replace

from hlo.effects import dead
from hlo.walk import rebuild_module


class DeadCode:
    """Makes a new computation where nothing changes."""

    name = "dead-code"

    def run(self, module, log):
        def clean(computation):
            gone = [i for i in reversed(dead(computation)) if log.rewrite("dead", i)]
            kept = tuple(i for i in computation.instructions if i not in gone)
            return replace(computation, instructions=kept)

        return rebuild_module(module, clean)
