# message: jammed leaves something else in memory
from dataclasses import replace

from codegen.expressions import Name
from codegen.schedule.unroll import copied
from codegen.statements import For, renamed


def together(copies):
    for same in zip(*copies, strict=True):
        if isinstance(same[0], For):
            yield replace(same[0], body=tuple(together([s.body for s in same])))
        else:
            yield from same


def jammed(body, loop, times):
    copies = [
        [renamed(s, {loop.name: Name(loop.name) + k}) for s in loop.body]  # names stay the same
        for k in range(times)
    ]
    return replace(loop, step=times, body=tuple(together(copies)))
