"""Looks for a module on which a student's function changes the result."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import hlo_tools.generate.structured  # pyright: ignore[reportUnusedImport]  # noqa: F401  it fills the table
from hlo.build import Builder, module
from hlo.errors.error import HloError
from hlo.opcode import EXPLICIT_SHAPE
from hlo_tools.exercises.finding import Mistake, ResultTypeError, case_text, raised
from hlo_tools.exercises.limits import CallTooLongError, call_limited
from hlo_tools.generate.operands import UnfitError, operands_for
from hlo_tools.generate.random_shapes import TYPES, random_shape
from hlo_tools.generate.values import nasty, tame
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.table import OpTable
    from hlo.types.element_type import ElementType
    from hlo_tools.exercises.exercise import SearchEffort, Submission

Entry = TypeVar("Entry")
# How many operands and attributes to try for each one that fits.
PATIENCE = 20


@dataclass
class Wrong:
    """A wrong result beside the expected one; or the exception of the student's function."""

    want: Any = None
    got: Any = None
    error: BaseException | None = None


def one_instruction(
    opcode: str, count: int, types: tuple[ElementType, ...] = TYPES, *, plain: bool = False
) -> Iterator[Case]:
    """Modules of one instruction on parameters, always the same, with arguments.

    Parameters
    ----------
    plain : arguments without NaN, infinities and the like.
    """
    values = tame if plain else nasty
    for seed in range(count * PATIENCE):
        random = Random(f"{opcode}/{seed}")
        shape = random_shape(random, types)
        try:
            wanted = operands_for[opcode](random, shape, {"types": types})
            if wanted.called:
                return
            builder = Builder()
            operands = [builder.parameter(operand) for operand in wanted.operands]
            declared = shape if opcode in EXPLICIT_SHAPE else None
            builder.add(opcode, *operands, shape=declared, **wanted.attrs)
            sample = module(builder.build())
        except (UnfitError, HloError):
            continue
        inputs = tuple(values(p.shape, random) for p in sample.entry.parameters)
        yield Case(sample, inputs)
        count -= 1
        if not count:
            return


def compare_cases(
    answer: Submission,
    name: str,
    cases: Iterator[Case],
    wrong: Callable[[Case], Wrong | None],
    effort: SearchEffort,
    message: str,
) -> Mistake | None:
    """The smallest case that can be found on which a student's function is wrong."""
    for case in cases:
        if (first_wrong := wrong(case)) is None:
            continue

        def fails(smaller: Case, first: Wrong = first_wrong) -> bool:
            another = wrong(smaller)
            return another is not None and (another.error is None) == (first.error is None)

        small = shrink(case, fails, seconds=effort.seconds)
        last_wrong = wrong(small) or first_wrong
        return _finding(answer, name, small, last_wrong, wrong, message)
    return None


def _finding(
    answer: Submission,
    name: str,
    case: Case,
    difference: Wrong,
    wrong: Callable[[Case], Wrong | None],
    message: str,
) -> Mistake:
    if difference.error is not None:
        shown = str(case.module).rstrip()
        mistake = raised(name, difference.error, answer.path, shown)
    else:
        mistake = Mistake("wrong", message, case_text(case, difference.want, difference.got))
    location = mistake.location or answer.location(name)
    return Mistake(mistake.kind, mistake.message, mistake.shown, location, lambda: wrong(case))


class Watched:
    """A function that remembers its exception, whoever catches it.

    Attributes
    ----------
    types, wanted : the types that a result may have, and their name for students; by default any.
    """

    def __init__(
        self, function: Callable[..., Any], types: type | Any = object, wanted: str = ""
    ) -> None:
        self.function, self.types, self.wanted = function, types, wanted
        self.error: BaseException | None = None

    def __call__(self, *arguments: Any) -> Any:
        """The result of the function.

        Raises
        ------
        ResultTypeError
            if it has another type than is wanted.
        CallTooLongError
            if it computes for too long.
        """
        try:
            with call_limited():
                return self._typed(self.function(*arguments))
        except (Exception, CallTooLongError) as error:
            self.error = error
            raise

    def _typed(self, result: Any) -> Any:
        if not isinstance(result, self.types):
            raise ResultTypeError(result, self.wanted)
        return result


def run_with(
    table: OpTable[Any], opcode: str, entry: Any, run: Callable[[], Any], watched: Watched
) -> tuple[Any, BaseException | None]:
    """The result of a call while an opcode means something else, or its exception."""
    watched.error = None
    with table.replaced(opcode, entry):
        try:
            return run(), None
        except (Exception, CallTooLongError) as error:
            return None, watched.error or error
