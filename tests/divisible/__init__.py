"""Random instructions of every opcode that devices divide, with all that its attributes allow.

`random_instruction(opcode, random)` is a module of one instruction over parameters. Sizes are such
that some devices share them evenly, unevenly, or not at all.
"""

from random import Random

from hlo.build import module
from hlo.instruction import Module
from tests.divisible import calls, lookups, movement, order, sums
from tests.divisible.maker import MAKERS, Maker

# Makers enter themselves when they are imported.
_ = calls, lookups, movement, order, sums
__all__ = ["MAKERS", "random_instruction"]


def random_instruction(opcode: str, random: Random) -> Module:
    """A module whose root is such an instruction; copies of operands and result are around it."""
    maker = Maker(random)
    made = MAKERS[opcode](maker)
    if made.shape.is_array and maker.chance(0.3):
        made = maker.b.add("copy", made)
    return module(maker.b.build(made))
