"""Left sides of the rules of reduce: the operation decides which initial value is neutral."""

from collections.abc import Callable
from random import Random
from typing import Any

import hlo
from hlo.instruction import Module
from hlo_tools.generate.samplers import SAMPLERS, sampler

# Types, operations, and the values that leave every other alone, where any order is exact.
EXACT = (
    ("s8", "add", "0"),
    ("u4", "add", "0"),
    ("s8", "multiply", "1"),
    ("s32", "maximum", "-2147483648"),
    ("u8", "minimum", "255"),
    ("f32", "maximum", "-inf"),
    ("bf16", "minimum", "inf"),
    ("pred", "and", "true"),
    ("pred", "or", "false"),
    ("u8", "and", "255"),
    ("s8", "xor", "0"),
)
Lines = Callable[[Random, "Folding"], tuple[tuple[int, ...], tuple[int, ...]]]


class Folding:
    """A module in the making whose root is a reduction."""

    def __init__(self, random: Random, rounds: bool) -> None:
        chosen = ("f32", "add", random.choice(("0", "-0"))) if rounds else random.choice(EXACT)
        self.type, self.opcode, self.neutral = chosen
        self.lines: list[str] = [f"init = {self.type}[] constant({self.neutral})"]
        # Sums of few numbers often round alike in any order.
        self.sizes = (5, 7, 9) if rounds else (1, 2, 3)
        self.random = random

    def dims(self, rank: int) -> tuple[int, ...]:
        """Random sizes."""
        return tuple(self.random.choice(self.sizes) for _ in range(rank))

    def shape(self, dims: tuple[int, ...]) -> str:
        """The text of a shape."""
        return f"{self.type}[{','.join(map(str, dims))}]"

    def add(self, name: str, dims: tuple[int, ...], rest: str) -> None:
        """Write an instruction."""
        self.lines.append(f"{name} = {self.shape(dims)} {rest}")

    def reduce(
        self, name: str, operand: str, sizes: tuple[int, ...], dims: tuple[int, ...]
    ) -> None:
        """Write a reduction."""
        left = tuple(n for d, n in enumerate(sizes) if d not in dims)
        spelled = ",".join(map(str, dims))
        self.add(name, left, f"reduce({operand}, init), dimensions={{{spelled}}}, to_apply=op")

    def module(self) -> Module:
        """The module, whose root is the last instruction."""
        t, *before = self.type, *self.lines[:-1]
        text = ["HloModule m", "op {", f"i = {t}[] parameter(0)", f"j = {t}[] parameter(1)"]
        text += [f"ROOT k = {t}[] {self.opcode}(i, j)", "}", "ENTRY main {", *before]
        return hlo.parse("\n".join([*text, f"ROOT {self.lines[-1]}", "}"]))


def both(name: str, also_rounds: bool = True) -> Callable[[Any], Any]:
    """Enter a sampler for the rule that is exact, and for the one that rounds."""

    def enter(fill: Callable[[Random, Folding], None]) -> Any:
        def sample(rounds: bool) -> Any:
            def made(random: Random, _values: Any) -> Module:
                folding = Folding(random, rounds)
                fill(random, folding)
                return folding.module()

            return made

        sampler(name)(sample(False))
        if also_rounds:
            sampler(f"{name}_with_rounding")(sample(True))
        return fill

    return enter


@both("reduce(x, y, dimensions=p, to_apply=f) => reshape(x)", also_rounds=False)
def _ones(random: Random, text: Folding) -> None:
    dims = (random.randint(0, 3), 1, 1, random.randint(1, 3))
    text.add("x", dims, "parameter(0)")
    text.reduce("r", "x", dims, random.choice(((), (1,), (1, 2))))


def _summed_ones(random: Random, _values: Any) -> Module:
    text = Folding(random, rounds=True)
    text.add("x", (1, 3), "parameter(0)")
    text.reduce("r", "x", (1, 3), (0,))
    return text.module()


sampler("sum of dimensions of size 1")(_summed_ones)


def _negated(random: Random, _values: Any) -> Module:
    text = Folding(random, rounds=True)
    text.add("x", (3, 2), "parameter(0)")
    text.add("y", (3, 2), "negate(x)")
    text.reduce("r", "y", (3, 2), random.choice(((), (0,), (1,))))
    return text.module()


sampler("negate_of_sum")(_negated)


@both("reduce_of_reduce")
def _twice(random: Random, text: Folding) -> None:
    dims = text.dims(4)
    first = random.choice(((0,), (1, 2), (3,), (0, 2)))
    text.add("x", dims, "parameter(0)")
    text.reduce("a", "x", dims, first)
    left = tuple(n for d, n in enumerate(dims) if d not in first)
    text.reduce("r", "a", left, random.choice(((0,), (1,), (0, 1))))


@both("reduce_of_transpose")
def _transposed(random: Random, text: Folding) -> None:
    dims = text.dims(3)
    order = tuple(random.sample(range(3), 3))
    moved = tuple(dims[d] for d in order)
    text.add("x", dims, "parameter(0)")
    text.add("a", moved, f"transpose(x), dimensions={{{','.join(map(str, order))}}}")
    text.reduce("r", "a", moved, random.choice(((0,), (1, 2), (0, 1, 2))))


def _reshaped(random: Random, _values: Any) -> Module:
    text = Folding(random, rounds=random.random() < 0.5)
    m, n, k = text.dims(3)
    # Reshaping moves elements that do not lie in order.
    text.add("w", (k, m, n), "parameter(0)")
    text.add("x", (m, n, k), "transpose(w), dimensions={1,2,0}")
    dims, folded = random.choice((((m, n * k), (1,)), ((m * n, k), (0,)), ((1, m, n, k), (0, 2))))
    text.add("a", dims, "reshape(x)")
    text.reduce("r", "a", dims, folded)
    return text.module()


sampler("reduce_of_reshape")(_reshaped)


@both("reduce_of_reverse")
def _reversed(random: Random, text: Folding) -> None:
    dims = text.dims(2)
    text.add("x", dims, "parameter(0)")
    text.add("a", dims, f"reverse(x), dimensions={random.choice(('{0}', '{0,1}'))}")
    text.reduce("r", "a", dims, random.choice(((0,), (0, 1))))


@both("reduce_of_broadcast")
def _repeated(random: Random, text: Folding) -> None:
    m, n, k = text.dims(3)
    text.add("x", (m, k), "parameter(0)")
    text.add("a", (m, n, k), "broadcast(x), dimensions={0,2}")
    text.reduce("r", "a", (m, n, k), random.choice(((1,), (0, 1), (1, 2), (0, 1, 2))))


@both("reduce_of_concatenate")
def _joined(_random: Random, text: Folding) -> None:
    m, n, k = text.dims(3)
    text.add("x", (m, n), "parameter(0)")
    text.add("y", (m, k), "parameter(1)")
    text.add("a", (m, n + k), "concatenate(x, y), dimensions={1}")
    text.reduce("r", "a", (m, n + k), (1,))


@both("reduce_of_pad")
def _padded(random: Random, text: Folding) -> None:
    m, n = text.dims(2)
    low, high, interior = (random.randint(0, 4) for _ in range(3))
    dims = (m, n + low + high + (n - 1) * interior)
    text.add("x", (m, n), "parameter(0)")
    text.add("a", dims, f"pad(x, init), padding=0_0_0x{low}_{high}_{interior}")
    text.reduce("r", "a", dims, random.choice(((1,), (0, 1))))


@both("reduce_of_scaled", also_rounds=False)
def _scaled(random: Random, text: Folding) -> None:
    dims = text.dims(2)
    text.add("x", dims, "parameter(0)")
    text.add("s", (), f"constant({'true' if text.type == 'pred' else 3})")
    text.add("c", dims, "broadcast(s), dimensions={}")
    text.add("a", dims, "multiply(x, c)")
    text.reduce("r", "a", dims, random.choice(((1,), (0, 1))))


def _summed_dot(random: Random, _values: Any) -> Module:
    text = Folding(random, rounds=True)
    b, c, m, n = 3, 5, 2, 3
    text.add("x", (b, c, m), "parameter(0)")
    text.add("y", (b, c, n), "parameter(1)")
    text.add("a", (b, c, m, n), "dot(x, y), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}")
    text.reduce("r", "a", (b, c, m, n), random.choice(((1,), (1, 2))))
    return text.module()


sampler("reduce_of_dot")(_summed_dot)
assert SAMPLERS
