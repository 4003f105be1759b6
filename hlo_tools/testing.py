"""Hypothesis strategies for compilers of HLO, which users import as `hlo.testing`.

    from hypothesis import given
    from hlo.testing import cases

    @given(cases())
    def test_my_compiler(case):
        case.check(my_compiler)            # takes a module, then its arguments

A failing test is shown on a small module: Hypothesis draws every choice of the generator, so that
it makes fewer instructions, plainer opcodes and smaller numbers as long as the test fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

from hlo_tools.generate.instances import instance
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.operands import UnfitError
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.values import STYLES, sized
from hlo_tools.search.checking.failure import find_failure
from hlo_tools.search.checking.judging import difference
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import BITS
from optimizer.log import Log
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import RuleSet

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence, Sequence

    from hlo.instruction import Module
    from hlo.types.element_type import ElementType
    from interpreter.numbers.compare import Promise
    from optimizer.log import Pass
    from optimizer.rewriting.rule import Rule

Item = TypeVar("Item")
__all__ = ["DrawnCase", "arguments", "cases", "check_pass", "instances", "modules"]


class DrawnRandom(Random):
    """A source of random numbers whose every number Hypothesis draws, and makes simpler.

    The simplest choice is the first of several, and a chance that does not come true.
    """

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(0)
        self._draw = draw

    def random(self) -> float:
        """A number from 0 to 1; the simplest is the largest."""
        return 1 - (self._draw(st.integers(0, 2**20 - 1)) + 1) / 2**20

    def getrandbits(self, k: int, /) -> int:
        """A number of so many bits."""
        return self._draw(st.integers(0, 2**k - 1))

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """One of a range's numbers, the simplest the first."""
        numbers = range(start) if stop is None else range(start, stop, step)
        return numbers[self._draw(st.integers(0, len(numbers) - 1))]

    def randint(self, a: int, b: int) -> int:
        """A number from a to b."""
        return self._draw(st.integers(a, b))

    def choice(self, seq: Any) -> Any:
        """An item of a sequence, the simplest the first."""
        return seq[self._draw(st.integers(0, len(seq) - 1))]

    def sample(self, population: Sequence[Item], k: int, *, counts: Any = None) -> list[Item]:  # noqa: ARG002
        """So many items of a sequence in any order."""
        left = list(population)
        return [left.pop(self._draw(st.integers(0, len(left) - 1))) for _ in range(k)]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Put a list into another order."""
        x[:] = self.sample(x, len(x))

    def choices(
        self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
    ) -> list[Any]:
        """So many items of a sequence, some perhaps twice."""
        assert weights is None
        assert cum_weights is None
        return [self.choice(population) for _ in range(k)]

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Small numbers, of which whole ones are the simplest."""
        return mu + sigma * self._draw(st.integers(-3, 3) | st.floats(-3, 3))


@dataclass(frozen=True)
class DrawnCase:
    """A module with arguments for its entry computation."""

    module: Module
    arguments: list[Any]

    def check(self, run: Callable[..., Any], promise: Promise = BITS) -> None:
        """Hold a compiler against the interpreter.

        Parameters
        ----------
        run : takes a module and its arguments, and gives its value.
        promise : how exactly; see `interpreter.numbers.compare`.

        Raises
        ------
        AssertionError
            if the values differ by more than that.
        """
        want, got = evaluate(self.module, *self.arguments), run(self.module, *self.arguments)
        difference_found = difference(self.module, None, self.arguments, promise, want, got)
        assert difference_found is None, f"{difference_found}\n{self}"

    def __str__(self) -> str:
        """The text of the module, and its arguments."""
        pairs = zip(self.module.entry.parameters, self.arguments, strict=True)
        return "\n".join([str(self.module), *(f"// %{p.name} = {value}" for p, value in pairs)])


@st.composite
def modules(
    draw: st.DrawFn,
    size: int = 8,
    types: tuple[ElementType, ...] = TYPES,
    opcodes: Sequence[str] = (),
) -> Module:
    """Well-typed modules with calls, branches and loops inside.

    Parameters
    ----------
    size : of the entry computation, at most about so many instructions.
    types : element types that occur, beside `s32` for what counts.
    opcodes : that are chosen more often than others.
    """
    return random_module(DrawnRandom(draw), draw(st.integers(1, size)), types, tuple(opcodes))


@st.composite
def arguments(draw: st.DrawFn, module: Module, styles: Sequence[str] = tuple(STYLES)) -> list[Any]:
    """Arguments of a module: NaN, both zeros, infinities and the ends of types are common.

    Parameters
    ----------
    styles : ways to fill them; "tame" floats are neither special, large nor small.
    """
    random, style = DrawnRandom(draw), draw(st.sampled_from(sorted(styles)))
    shapes = sized([p.shape for p in module.entry.parameters], random)
    return [STYLES[style](shape, random) for shape in shapes]


@st.composite
def cases(
    draw: st.DrawFn,
    of: st.SearchStrategy[Module] | None = None,
    styles: Sequence[str] = tuple(STYLES),
) -> DrawnCase:
    """Modules with arguments.

    Parameters
    ----------
    of : the strategy of the modules; `modules()` if None.
    """
    module = draw(modules() if of is None else of)
    return DrawnCase(module, draw(arguments(module, styles)))


@st.composite
def instances(draw: st.DrawFn, rule: Rule, types: tuple[ElementType, ...] = TYPES) -> Module:
    """Modules to which a rule applies, made from its left side."""
    sample = draw(
        st.integers(0, 2**32).map(lambda seed: _instance(rule, Random(seed), types)).filter(bool)
    )
    assert sample is not None
    return sample


def _instance(rule: Rule, random: Random, types: tuple[ElementType, ...]) -> Module | None:
    for _ in range(50):
        try:
            sample = instance(rule.left, random, types)
        except UnfitError:
            continue
        if rewrite(sample, RuleSet([rule]), Log(fuel=1)) is not sample:
            return sample
    return None


def check_pass(pass_: Pass, case: DrawnCase) -> None:
    """Hold a pass against the interpreter, as `hlo check` does.

    Raises
    ------
    AssertionError
        if it breaks a promise: with the module before and after.
    """
    failure = find_failure(pass_, case.module, case.arguments)
    assert failure is None, str(failure)
