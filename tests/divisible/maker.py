"""What random instructions are made with: sizes, types, operands, computations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.build import Builder
from hlo.types.element_type import BF16, F32, F64, S8, S32, U32
from hlo.types.literal import literal
from hlo.types.shape import array
from hlo.types.values import WindowDim

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType

    Dims = tuple[int, ...]
    Make = Callable[["Maker"], Instruction]

MAKERS: dict[str, Make] = {}
NUMBERS = (S8, S32, U32, F32, F32, F64, BF16)
SIZES = (1, 2, 3, 4, 4, 5, 6, 8, 8, 8, 9, 12, 16)
# Where there are many dimensions.
FEW = (1, 2, 2, 3, 4, 4, 5, 8)


class Maker:
    """An instruction in the making."""

    def __init__(self, random: Random) -> None:
        self.random, self.b = random, Builder()

    def size(self) -> int:
        """The size of a dimension."""
        return self.random.choice(SIZES)

    def dims(self, least: int = 0, most: int = 3) -> Dims:
        """Sizes of some dimensions."""
        rank = self.random.randint(least, most)
        return tuple(self.random.choice(SIZES if rank < 3 else FEW) for _ in range(rank))

    def kind(self, *types: ElementType) -> ElementType:
        """One of some element types; without any, of all kinds of numbers."""
        return self.random.choice(types or NUMBERS)

    def given(self, kind: ElementType, *dims: int) -> Instruction:
        """A parameter, or a copy of one, which may be sharded in ways that parameters are not."""
        made = self.b.parameter(array(kind, dims))
        return self.b.add("copy", made) if self.chance(0.3) else made

    def chance(self, probability: float = 0.5) -> bool:
        """Whether to."""
        return self.random.random() < probability

    def some(self, among: Any, least: int = 0) -> list[Any]:
        """Some of a few things, in their order."""
        listed = list(among)
        count = self.random.randint(min(least, len(listed)), len(listed))
        return [listed[i] for i in sorted(self.random.sample(range(len(listed)), count))]

    def mixed(self, *groups: Dims) -> tuple[Dims, list[list[int]]]:
        """Sizes in any order, and the places of each group's."""
        places = list(range(sum(map(len, groups))))
        self.random.shuffle(places)
        dims, found, left = [0] * len(places), list[list[int]](), iter(places)
        for group in groups:
            found.append([next(left) for _ in group])
            for place, size in zip(found[-1], group, strict=True):
                dims[place] = size
        return tuple(dims), found

    def placed(self, *groups: Dims) -> tuple[Dims, list[list[int]]]:
        """As `mixed`, but each group in its own order."""
        of = [n for n, group in enumerate(groups) for _ in group]
        self.random.shuffle(of)
        left = [iter(group) for group in groups]
        found = [[place for place, n in enumerate(of) if n == m] for m in range(len(groups))]
        return tuple(next(left[n]) for n in of), found

    def by(self, opcode: str, *kinds: ElementType) -> Computation:
        """A computation that folds numbers, or pairs of them."""
        inner = Builder(self.b.names.unique(opcode), self.b.names)
        first, second = ([inner.parameter(array(k)) for k in kinds] for _ in range(2))
        made = [inner.add(opcode, x, y) for x, y in zip(first, second, strict=True)]
        return inner.build(made[0] if len(made) == 1 else inner.add("tuple", *made))

    def compared(self, direction: str, *kinds: ElementType) -> Computation:
        """A computation that compares the first two numbers."""
        inner = Builder(self.b.names.unique("compared"), self.b.names)
        pairs = [(inner.parameter(array(k)), inner.parameter(array(k))) for k in kinds]
        order = "TOTALORDER" if kinds[0].is_floating else ""
        return inner.build(inner.add("compare", *pairs[0], direction=direction, type=order))

    def initial(self, opcode: str, kind: ElementType) -> Instruction:
        """The initial value of a fold: the neutral one, another number, or a parameter."""
        if self.chance(0.2):
            return self.given(kind)
        neutral = {"multiply": 1, "maximum": -100, "minimum": 100}.get(opcode, 0)
        neutral = max(neutral, 0) if kind.kind == "unsigned" else neutral
        return self.number(3 if self.chance(0.15) else neutral, kind)

    def number(self, number: int, kind: ElementType) -> Instruction:
        """A constant."""
        return self.b.constant(literal(np.asarray(number).astype(kind.dtype), array(kind)))

    def window(self, size: int, *, most: int = 3, holes: bool = True) -> WindowDim:
        """A window that moves over a dimension of some size; it may reach past its ends."""
        pick, width = self.random.choice, self.random.randint(1, min(most, size))
        made = WindowDim(
            width, pick((1, 1, 2, 3)), pick((0, 0, 1, 2)), pick((0, 0, 1, 2)),
            pick((1, 1, 2)) if holes else 1, pick((1, 1, 2)),
        )  # fmt: skip
        return made if made.positions(size) > 0 else WindowDim(width)


def makes(*opcodes: str) -> Callable[[Callable[[Maker, str], Instruction]], Any]:
    """Enter a maker of instructions of some opcodes."""

    def enter(make: Callable[[Maker, str], Instruction]) -> Any:
        for opcode in opcodes:
            MAKERS[opcode] = lambda maker, opcode=opcode: make(maker, opcode)
        return make

    return enter
