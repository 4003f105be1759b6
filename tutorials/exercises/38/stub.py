"""Exercise 38: a generator of programs.

`program(random, size)` gives a random list of `size` steps. A step is an opcode and the numbers of
its operands, such as ("select", 2, 0, 3). Values 0 and 1 are numbers, value 2 is a truth value, and
the steps make values 3, 4, ... An operand comes before its user, and has the type that is wanted:

    add, multiply   two numbers give a number      negate   a number gives a number
    less            two numbers give a truth       not      a truth gives a truth
    and             two truths give a truth        select   a truth and two numbers give a number

All opcodes must come up. The last value must need at least half of the steps, on average: dead code
tests little. `random` is a `random.Random`.
"""


def program(random, size):
    raise NotImplementedError("not written yet")
