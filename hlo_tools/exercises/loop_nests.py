"""Exercise of chapter 12: a pass over kernels."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import emit_c
import hlo
from codegen.statements import For, If, nested
from emit_c.kernels import passes
from emit_c.kernels.unroll_short_loops import unroll_short_loops
from hlo.errors.error import HloError
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.cases import Watched, Wrong
from hlo_tools.exercises.emitting import tell
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake
from hlo_tools.exercises.meaning import differs
from hlo_tools.generate.values import tame
from hlo_tools.search.shrink.case import Case
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from codegen.elements.body import Body
    from codegen.statements import Statement
    from emit_c.kernels.kernel import CKernel
    from hlo_tools.exercises.exercise import SearchEffort, Submission

NAME = "written_out"
REPLACED = "unroll-short-loops"
MOST_ITERATIONS = 4

FOLD = """f {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = {kind}[] {opcode}(a, b)
}}
"""
ROWS = """ENTRY main {{
  x = {kind}[{rows},{columns}] parameter(0)
  start = {kind}[] constant(0)
  ROOT r = {kind}[{rows}] reduce(x, start), dimensions={{1}}, to_apply=f
}}"""
# A row of each is divided by its sum: two short loops, one after the other.
SHARES = """ENTRY main {{
  x = {kind}[{rows},{columns}] parameter(0)
  start = {kind}[] constant(0)
  y = {kind}[{rows},{columns}] multiply(x, x)
  both = {kind}[{rows},{columns}] add(x, y)
  ROOT r = {kind}[{rows}] reduce(both, start), dimensions={{1}}, to_apply=f
}}"""


def modules() -> list[hlo.Module]:
    """Modules whose kernels have short loops inside of long ones, and one that has none."""
    return [
        hlo.parse((FOLD + text).format(kind=kind, opcode=opcode, rows=rows, columns=columns))
        for text, kind, opcode, rows, columns in (
            (ROWS, "s32", "add", 40, 2),
            (ROWS, "s32", "multiply", 40, 3),
            (ROWS, "f32", "maximum", 64, 4),
            (SHARES, "s32", "add", 33, 3),
            (ROWS, "s32", "add", 40, 50),
        )
    ]


def is_short(loop: For) -> bool:
    """Whether a loop is one that the exercise wants written out."""
    counts = isinstance(loop.stop, int) and (loop.start, loop.step) == (0, 1)
    few = counts and isinstance(loop.stop, int) and loop.stop <= MOST_ITERATIONS
    return few and not any(isinstance(s, For | If) for s in loop.body)


def short_loops(statements: Sequence[Statement]) -> int:
    """The number of short loops."""
    return sum(isinstance(s, For) and is_short(s) for s in nested(statements))


@contextmanager
def kernel_pass(run: Callable[[Body, Sequence[Statement]], Any]) -> Generator[None]:
    """Let a function be the pass that writes out short loops."""
    before = passes.PASSES

    def with_body(kernel: CKernel, _: str, statements: Sequence[Statement]) -> Any:
        return run(kernel.body, statements)

    passes.PASSES = tuple(
        replace(each_pass, run=with_body) if each_pass.name == REPLACED else each_pass
        for each_pass in before
    )
    try:
        yield
    finally:
        passes.PASSES = before


@inside
def compiled_with(answer: Submission, name: str, case: Case) -> tuple[Any, int]:
    """The value of a module's C with a student's pass, and the short loops that this leaves."""
    watched, left = Watched(answer[name]), list[int]()

    def run(body: Body, statements: Sequence[Statement]) -> Any:
        unrolled = watched(body, statements)
        left.append(short_loops(unrolled))
        return unrolled

    with kernel_pass(run):
        try:
            run_it = emit_c.compile(case.module, optimize=False, remember=False, subnormals="keep")
            return run_it(*case.arguments or ()), sum(left)
        except Exception as error:
            raise watched.error or error from None


def check_written_out(answer: Submission, _: SearchEffort) -> Mistake | None:
    """C with a student's pass among those of kernels, compiled, against the interpreter."""
    left: list[int] = []

    def wrong(case: Case) -> Wrong | None:
        want = evaluate(case.module, *case.arguments or ())
        try:
            got, short = compiled_with(answer, NAME, case)
        except Exception as error:
            return Wrong(error=error)
        left.append(short)
        return Wrong(want, got) if differs(got, want) else None

    def found(case: Case) -> Mistake | None:
        difference = wrong(case)
        shown, location = str(case.module).rstrip(), answer.location(NAME)
        if difference and isinstance(difference.error, HloError):
            message = f"{NAME}: the C does not compile"
            return Mistake("error", message, f"{shown}\n\n{difference.error}", location)
        if difference:
            return tell(answer, NAME, case, difference, wrong)
        if sum(left):
            return Mistake("weak", f"{NAME} leaves short loops: {sum(left)}", shown, location)
        return None

    for module in modules():
        left.clear()
        case = Case(module, tuple(tame(p.shape, Random(0)) for p in module.entry.parameters))
        if mistake := found(case):
            return replace(
                mistake, again=mistake.again or (lambda again_case=case: wrong(again_case))
            )
    return None


EXERCISES = (
    Exercise(
        47, "write out short loops", 12, "hard",
        {NAME: lambda: unroll_short_loops},
        "emit_c/kernels/unroll_short_loops.py:unroll_short_loops",
        check_written_out,
    ),
)  # fmt: skip
