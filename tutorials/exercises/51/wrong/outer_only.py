# message: jammed leaves 4 loops where 3 would do
from dataclasses import replace

from codegen.expressions import Name
from codegen.schedule.unroll import copied
from codegen.statements import For


def jammed(body, loop, times):
    copies = [list(copied(body, loop.body, {loop.name: Name(loop.name) + k})) for k in range(times)]
    made = []
    for same in zip(*copies, strict=True):
        if isinstance(same[0], For):  # of deep loops, the outer one alone is one loop
            inside = tuple(s for each in same for s in each.body)
            made.append(replace(same[0], body=inside))
        else:
            made += same
    return replace(loop, step=times, body=tuple(made))
