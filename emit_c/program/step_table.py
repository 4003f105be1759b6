"""The steps of the entry as a table, where there are many.

A compiler takes a tenth of a millisecond for each call of a kernel, and it can't begin before the
last kernel is written. So many calls are written as numbers, for the kernel and the addresses of
its arguments, and a loop takes one step after the other. A comment before each row has the call,
as it is in a module with few steps. What is more than a call on arrays of the arena, arguments and
results stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.expressions import Literal, Name
from codegen.printer import text
from codegen.statements import Call
from emit_c.program.call_sites import KernelStep
from emit_c.program.relocatable import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.expressions import Expr
    from emit_c.program.buffers import CMemory
    from emit_c.program.call_sites import Step
    from emit_c.program.relocatable import RelocatableFunction

LEAST_TABLE = 200
"""Chosen: numbers of a table of steps, some twenty calls, that spare a compiler more than the loop
costs that takes them: 0.1 ms for each, of 2. Measured: without tables, to compile BERT-base of
TensorFlow takes 1.16 times the CPU time, a step of ResNet-50's training 1.08, ResNet-50 as long."""

_TABLE = """\
// For each step a kernel, how many arguments it has, and for each of these where it lies: how far
// into the arena (0), an argument (1, 2, ...) or a result (-1, -2, ...).
static const s64 step_table[] = {{
{rows}}};

static void take_steps(s64 begin, s64 end, const void *const *in, void *const *out, u8 *arena) {{
  for (const s64 *step = step_table + begin; step < step_table + end;) {{
    const s64 kernel = *step++, count = *step++;
    void *a[{most}];
    for (s64 k = 0; k < count; k++, step += 2) {{
      const s64 array = step[0];
      u8 *there = array > 0 ? (u8 *)in[array - 1] : array < 0 ? (u8 *)out[-1 - array] : arena;
      a[k] = there + step[1];
    }}
    switch (kernel) {{
{cases}
    }}
  }}
}}
"""
_CASE = "      case {number}: {kernel}({arguments}); break;"


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step in the table.

    Attributes
    ----------
    numbers : of its kernel, of the kernel's arguments, and where each of these lies.
    """

    kernel_step: KernelStep
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """The numbers in C, below the call in a comment."""
        call = text([self.kernel_step.call]).strip()
        return f"  // {call}\n  {', '.join(map(str, self.numbers))},\n"


class StepTable:
    """The table of a function's steps, and the function without them.

    Parameters
    ----------
    memory : settled.

    Attributes
    ----------
    function : with calls of `take_steps` in place of the steps that are in the table.
    kernels : those of the table, numbered.
    rows : of the table.
    """

    def __init__(self, function: RelocatableFunction, memory: CMemory) -> None:
        self._declared, self._memory = function.declared, memory
        self.kernels: dict[str, int] = {}
        self._counts: list[int] = []  # of arguments, by kernel
        self.rows: list[StepRow] = []
        self._length = 0
        self.function = replace(function, steps=tuple(self._shortened(function.steps)))

    def _shortened(self, steps: Sequence[Step]) -> Iterator[Step]:
        begin = 0
        for step in steps:
            row = self._row(step)
            if row is not None:
                self.rows.append(row)
                self._length += len(row.numbers)
                continue
            yield from self._taken(begin)
            begin = self._length
            yield step
        yield from self._taken(begin)

    def _taken(self, begin: int) -> Iterator[Step]:
        if begin < self._length:
            memory = (Name("in"), Name("out"), Name("arena"))
            yield (Call(Name("take_steps"), (Literal(begin), Literal(self._length), *memory)),)

    def _row(self, step: Step) -> StepRow | None:
        """The row of a step; None if it is more than a call of a kernel on arrays."""
        match step:
            case (KernelStep(Call(Name(kernel), arguments)) as kernel_step,):
                addresses = [self._address(argument) for argument in arguments]
            case _:
                return None
        if None in addresses:
            return None
        if kernel not in self.kernels:
            self.kernels[kernel] = len(self.kernels)
            self._counts.append(len(addresses))
        places = (number for address in addresses if address for number in address)
        return StepRow(kernel_step, (self.kernels[kernel], len(addresses), *places))

    def _address(self, argument: Expr) -> tuple[int, int] | None:
        """The array that an argument lies in, and how far after its beginning."""
        if not isinstance(argument, Name):
            return None
        if argument.name == OWN.name:
            return 0, self._memory.arena_bytes
        declaration = self._declared.get(argument.name)
        if declaration is None:
            return None
        slice_ = self._memory.slices[declaration.home]
        allocation, offset = slice_.allocation, slice_.offset + declaration.offset
        if allocation.output is not None:
            return -1 - allocation.output, offset
        if allocation.parameter is not None:
            return 1 + allocation.parameter, declaration.offset
        return 0, offset

    @property
    def is_worth_it(self) -> bool:
        """Whether it spares compilers more than the loop costs."""
        return self._length >= LEAST_TABLE

    @property
    def text(self) -> str:
        """The table and the function that takes its steps."""
        cases = [
            _CASE.format(
                number=number,
                kernel=kernel,
                arguments=", ".join(f"a[{k}]" for k in range(self._counts[number])),
            )
            for kernel, number in self.kernels.items()
        ]
        return _TABLE.format(
            rows="".join(map(str, self.rows)),
            most=max(self._counts, default=0) or 1,
            cases="\n".join(cases),
        )
