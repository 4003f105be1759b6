"""Clocks around the calls of kernels: a program's own text, with a few macros in it.

A profile compiles each line of the program as it is. Between the kernels and the functions that
call them, it adds a macro of each kernel's name, which looks at the clock before and after a call.
The steps of a table are taken one by one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.statements import Try

if TYPE_CHECKING:
    from emit_c.program.callers import Callers
    from emit_c.program.emit import Program
    from emit_c.program.step_table import StepTable

# Names from HLO never begin with `hlo_`, as these variables do. `__COUNTER__` numbers the calls in
# the order of the text, which is that of `Callers.kernel_steps`.
_CALL = """\
#define {kernel}(...) ({{ const s64 hlo_begin = hlo_clock(); {kernel}(__VA_ARGS__); \\
  hlo_record(__COUNTER__, hlo_begin); }})
"""
_TRY = """\
#define {kernel}(...) ({{ const s64 hlo_begin = hlo_clock(); \\
  const int hlo_status = {kernel}(__VA_ARGS__); hlo_record(__COUNTER__, hlo_begin); hlo_status; }})
"""
_STEPS = """\
static const s64 hlo_step_ends[] = {{{ends}}};

static void hlo_take_steps(
    s64 begin, s64 end, const void *const *in, void *const *out, u8 *arena) {{
  for (s64 k = 0, here = 0; here < end; here = hlo_step_ends[k++]) {{
    if (here < begin) continue;
    const s64 hlo_begin = hlo_clock();
    take_steps(here, hlo_step_ends[k], in, out, arena);
    hlo_record({first} + k, hlo_begin);
  }}
}}
#define take_steps hlo_take_steps
"""


def with_clocks(program: Program) -> Program:
    """The program, whose calls of kernels report their times, and their numbers in its order."""
    callers = program.parts.calls
    clocks = _clocks(callers)
    parts = replace(program.parts, calls=replace(callers, clocks=clocks))
    return replace(program, parts=parts)


def _clocks(callers: Callers) -> str:
    rows = callers.table.rows if callers.table else ()
    direct = callers.kernel_steps[: len(callers.kernel_steps) - len(rows)]
    calls = {step.call.function.name: step.call for step in direct}
    macros = (
        (_TRY if isinstance(call, Try) else _CALL).format(kernel=kernel)
        for kernel, call in calls.items()
    )
    return "".join([*macros, *([_steps(callers.table, len(direct))] if callers.table else [])])


def _steps(table: StepTable, first: int) -> str:
    """A function that takes the steps of a table one by one, in the place of that of the table."""
    ends: list[int] = []
    for row in table.rows:
        ends.append((ends[-1] if ends else 0) + len(row.numbers))
    return _STEPS.format(ends=", ".join(map(str, ends)), first=first)
