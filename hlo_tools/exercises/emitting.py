"""Exercises of chapter 12: opcodes in C."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import emit_c
import hlo
from codegen.elements.table import Element, Scalar
from codegen.expressions import Expr
from emit_c.table import emits_c
from hlo.types.element_type import F32, S32
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.cases import Watched, Wrong, one_instruction, run_with
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake, case_text, raised
from hlo_tools.exercises.meaning import fault
from hlo_tools.generate.values import nasty
from hlo_tools.search.shrink.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.types.element_type import ElementType
    from hlo_tools.exercises.exercise import SearchEffort, Submission

# A compiler runs for each case, so there are few.
CASES = 8


@inside
def compiled(
    answer: Submission, name: str, opcode: str, entry: type[Scalar | Element], case: Case
) -> Any:
    """The value of a module's C where a student's function writes an opcode."""
    watched = Watched(answer[name], Expr, "an expression of C")

    def run() -> Any:
        executable = emit_c.compile(case.module, optimize=False, remember=False, subnormals="keep")
        return executable(*case.arguments or ())

    got, error = run_with(emits_c, opcode, entry(watched), run, watched)
    if error is not None:
        raise error
    return got


def check_c(
    opcode: str,
    name: str,
    entry: type[Scalar | Element],
    types: tuple[ElementType, ...],
    text: str = "",
) -> Callable[[Submission, SearchEffort], Mistake | None]:
    """The check of a student's C of an opcode: compiled, against the interpreter."""

    def check(answer: Submission, effort: SearchEffort) -> Mistake | None:
        wrong = partial(fault, partial(compiled, answer, name, opcode, entry))
        cases = [c for c in one_instruction(opcode, 40, types) if c.module.entry.root.shape.size]
        cases.sort(key=lambda c: c.size)
        # Few and small ones, but of every rank.
        picked = cases[:: max(1, len(cases) // min(CASES, effort.examples))]
        if text:
            module = hlo.parse(text)
            values = (nasty(p.shape, Random(0)) for p in module.entry.parameters)
            picked.append(Case(module, tuple(values)))
        for case in picked:
            if difference := wrong(case):
                return tell(answer, name, case, difference, wrong)
        return None

    return check


def tell(
    answer: Submission,
    name: str,
    case: Case,
    first: Wrong,
    wrong: Callable[[Case], Wrong | None],
) -> Mistake:
    """A finding about a module's C."""
    if first.error is not None:
        return raised(name, first.error, answer.path, str(case.module).rstrip())
    message = f"{name}: the C gives another value than the interpreter"
    shown = case_text(case, first.want, first.got)
    return Mistake("wrong", message, shown, answer.location(name), lambda: wrong(case))


def own(opcode: str) -> Any:
    """The project's own function for an opcode."""
    entry: Any = emits_c[opcode]
    return entry.write


# A permutation that is not its own inverse.
TURNED = """ENTRY main {
  x = s32[2,3,4] parameter(0)
  ROOT y = s32[3,4,2] transpose(x), dimensions={1,2,0}
}"""
EXERCISES = (
    Exercise(
        43, "the sign of a number, in C", 12, "easy",
        {"write_sign": lambda: own("sign")}, "codegen/opcodes/scalar.py:FLOATS",
        check_c("sign", "write_sign", Scalar, (F32,)),
    ),
    Exercise(
        44, "reverse by index arithmetic", 12, "medium",
        {"write_reverse": lambda: own("reverse")},
        "optimizer/analysis/indexing_map.py:reversed_index",
        check_c("reverse", "write_reverse", Element, (F32, S32)),
    ),
    Exercise(
        45, "transpose by index arithmetic", 12, "medium",
        {"write_transpose": lambda: own("transpose")},
        "optimizer/analysis/indexing_map.py:per_dimension",
        check_c("transpose", "write_transpose", Element, (F32, S32), TURNED),
    ),
    Exercise(
        46, "concatenate by index arithmetic", 12, "hard",
        {"write_concatenate": lambda: own("concatenate")},
        "optimizer/analysis/indexing_map.py:concatenated",
        check_c("concatenate", "write_concatenate", Element, (F32, S32)),
    ),
)  # fmt: skip
