"""Random programs that keep memory busy: loops in loops, branches, and updates in place.

All arrays are s32[6], so that any value can take any other's place in a loop's state, and most of
them want to.
"""

from random import Random

import numpy as np

from hlo.build import Builder, module
from hlo.instruction import Computation, Instruction, Module
from hlo.names import NameSupply
from hlo.types.element_type import S32
from hlo.types.literal import literal
from hlo.types.shape import Shape, array, tuple_of
from hlo.types.values import SliceDim

ARRAY = array(S32, (6,))
COUNT = array(S32)


class Maker:
    """Makes the computations of one program."""

    def __init__(self, random: Random) -> None:
        self.random, self.names = random, NameSupply()

    def some(self, values: list[Instruction]) -> Instruction:
        return self.random.choice(values[-6:])

    def number(self, builder: Builder, value: int) -> Instruction:
        return builder.constant(literal(np.array(value, np.int32)))

    def steps(self, builder: Builder, values: list[Instruction], depth: int) -> None:
        """Append some instructions, each of which adds a value."""
        for _ in range(self.random.randint(1, 4)):
            step = self.random.choice(("add", "update", "reverse", "copy", "branch", "loop"))
            x, y = self.some(values), self.some(values)
            if step == "add":
                made = builder.add(self.random.choice(("add", "subtract")), x, y)
            elif step == "update":
                part = builder.add("slice", y, slice=(SliceDim(2, 4),))
                at = self.number(builder, self.random.randint(0, 5))
                made = builder.add("dynamic-update-slice", x, part, at)
            elif step == "reverse":
                made = builder.add("reverse", x, dimensions=(0,))
            elif step == "branch" and depth:
                made = self.branch(builder, values, depth - 1)
            elif step == "loop" and depth:
                made = self.loop(builder, values, depth - 1)
            else:
                made = builder.add("copy", x)
            values.append(made)

    def branch(self, builder: Builder, values: list[Instruction], depth: int) -> Instruction:
        """A conditional whose branches may hand on what they are given."""
        given = builder.add("tuple", *(self.some(values) for _ in range(2)))
        element = builder.add("reduce", self.some(values), self.number(builder, 0),
                              dimensions=(0,), called=[self.adder()])  # fmt: skip
        holds = builder.add("compare", element, self.number(builder, 3), direction="LT")
        branches = [self.chooser(given, depth) for _ in range(2)]
        made = builder.add("conditional", holds, given, given, called=branches)
        return builder.add("get-tuple-element", made, index=self.random.randrange(2))

    def adder(self) -> Computation:
        inner = Builder(self.names.unique("sum"), self.names)
        p, q = (inner.parameter(COUNT, self.names.unique("p")) for _ in range(2))
        return inner.build(inner.add("add", p, q))

    def chooser(self, given: Instruction, depth: int) -> Computation:
        inner = Builder(self.names.unique("branch"), self.names)
        state = inner.parameter(given.shape, self.names.unique("given"))
        values = [inner.add("get-tuple-element", state, index=n) for n in range(2)]
        if self.random.random() < 0.6:
            self.steps(inner, values, depth)
        return inner.build(inner.add("tuple", *(self.some(values) for _ in range(2))))

    def loop(self, builder: Builder, values: list[Instruction], depth: int) -> Instruction:
        """A loop of some iterations whose state is a counter and a few arrays."""
        width = self.random.randint(1, 3)
        shape = tuple_of(COUNT, *[ARRAY] * width)
        start = builder.add(
            "tuple", self.number(builder, 0), *(self.some(values) for _ in range(width))
        )
        inner = Builder(self.names.unique("body"), self.names)
        state = inner.parameter(shape, self.names.unique("state"))
        count, *arrays = (inner.add("get-tuple-element", state, index=n) for n in range(width + 1))
        self.steps(inner, arrays, depth)
        following = inner.add("add", count, self.number(inner, 1))
        body = inner.build(
            inner.add("tuple", following, *(self.some(arrays) for _ in range(width)))
        )
        made = builder.add("while", start, called=[self.below(shape), body])
        return builder.add("get-tuple-element", made, index=self.random.randint(1, width))

    def below(self, shape: Shape) -> Computation:
        inner = Builder(self.names.unique("condition"), self.names)
        state = inner.parameter(shape, self.names.unique("state"))
        count = inner.add("get-tuple-element", state, index=0)
        end = self.number(inner, self.random.randint(0, 3))
        return inner.build(inner.add("compare", count, end, direction="LT"))


def busy_module(random: Random) -> Module:
    """A program of two arguments and two results."""
    maker = Maker(random)
    builder = Builder("main", maker.names)
    values = [builder.parameter(ARRAY) for _ in range(2)]
    maker.steps(builder, values, 2)
    maker.steps(builder, values, 2)
    root = builder.add("tuple", *(maker.some(values) for _ in range(2)))
    return module(builder.build(root))
