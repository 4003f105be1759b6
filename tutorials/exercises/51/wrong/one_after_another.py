# message: jammed leaves 4 loops where 2 would do
from dataclasses import replace

from codegen.expressions import Name
from codegen.schedule.unroll import copied


def jammed(body, loop, times):
    made = []
    for k in range(times):  # one iteration after another
        made += copied(body, loop.body, {loop.name: Name(loop.name) + k})
    return replace(loop, step=times, body=tuple(made))
