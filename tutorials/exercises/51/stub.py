"""Exercise 51: unroll and jam.

`loop` is a `For` that counts from 0 to a multiple of `times`, as in exercise 47. Its statements are
values, variables, stores, and loops of these. `jammed(body, loop, times)` gives a loop that does so
many iterations at once: each statement is done for all of them before the next one. A loop inside
becomes one loop, in which each statement is done for all of them.

    for i < 8: t = x[i]; for k < 9: t = t + z[k]        y[i] = t

becomes, two at a time, a loop with `step=2`:

    t = x[i]; t_1 = x[i + 1]; for k < 9: t = t + z[k]; t_1 = t_1 + z[k]        y[i] = t; ...

`copied(body, statements, {"i": value})` gives a copy of statements with a tree for `i`, in which
all that is declared has a name of its own; inner loops keep their counters. `Name("i") + 1` is a
tree, and so is `Name("i")`. You need not find out whether it is legal.
"""

from dataclasses import replace

from codegen.expressions import Name
from codegen.schedule.unroll import copied
from codegen.statements import For


def jammed(body, loop, times):
    raise NotImplementedError("not written yet")
