"""Exercises of chapter 16: kernels of CUDA C, run on the processor by a model of its threads."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import emit_cuda
import hlo
from emit_cuda import host
from emit_cuda.host.apart import apart, shared_array
from hlo.errors.error import HloError
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import UNWRITTEN, Mistake, unwritten, value_text
from interpreter.numbers.compare import ROUNDING, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hlo_tools.exercises.exercise import SearchEffort, Submission

    Array = NDArray[Any]

# Threads of a block in all of these exercises.
BLOCK = 64
# Blocks of the first of two launches.
STAGES = 4


@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel.

    Attributes
    ----------
    inputs : arrays; they come first among the arguments.
    result : shape of the array that comes next.
    sizes : numbers that come last.
    then : a second launch, made of the first one's result, which is not compared then.
    wanted : the result; None if it follows from the inputs.
    """

    grid: tuple[int, int, int]
    inputs: tuple[Array, ...]
    result: tuple[int, ...]
    sizes: tuple[int, ...]
    block: tuple[int, int, int] = (BLOCK, 1, 1)
    then: Callable[[Array], KernelCall] | None = None
    wanted: Array | None = None


def numbers(*dims: int) -> Array:
    """Small whole numbers as floats: their sums are exact, in any order."""
    count = np.arange(int(np.prod(dims)))
    return ((count * 7) % 11 - 5).astype(np.float32).reshape(dims)


def sums_of(n: int) -> KernelCall:
    """Two vectors of n numbers, a thread for each."""
    return KernelCall((-(-n // BLOCK), 1, 1), (numbers(n), numbers(n) + 1), (n,), (n,))


def rows_of(rows: int, columns: int) -> KernelCall:
    """A matrix, a block for each row."""
    return KernelCall((rows, 1, 1), (numbers(rows, columns),), (rows,), (columns,))


def tiles_of(rows: int, columns: int) -> KernelCall:
    """A matrix, a block for each tile of 8 times 8."""
    grid = (-(-columns // 8), -(-rows // 8), 1)
    x = numbers(rows, columns)
    return KernelCall(grid, (x,), (columns, rows), (rows, columns), (8, 8, 1))


def stages_of(n: int, shift: float) -> KernelCall:
    """An array in two launches: a number a block, and the same of these."""

    def second(parts: Array) -> KernelCall:
        return KernelCall((1, 1, 1), (parts,), (1,), (parts.size,), wanted=largest(x))

    x = numbers(n) + np.float32(shift)
    return KernelCall((STAGES, 1, 1), (x,), (STAGES,), (n,), then=second)


def check_kernel(
    name: str,
    launches: tuple[KernelCall, ...],
    want: Callable[..., Array],
    text: str,
) -> Callable[[Submission, SearchEffort], Mistake | None]:
    """The check of a kernel: run, compared, and watched for races and stray addresses.

    Parameters
    ----------
    text : a module that means the same; the project's own kernels for it are the solution.
    """

    def check(answer: Submission, _: SearchEffort) -> Mistake | None:
        source = answer["kernel"]
        if source is None:
            return check_own(text)
        if UNWRITTEN in source:
            return unwritten(name)
        file = answer.path.name if answer.path else "answer.cu"
        try:
            there = kernels_of(answer, "kernel", file)
        except HloError as error:
            message = str(error)
            # Compilers name the place at which they notice it.
            if re.search(r"expected .*before", message) or "expected ';'" in message:
                message += "\n   = often a `;` is missing at the end of the line before"
            return Mistake("error", f"{name} does not compile", message)
        if name not in there:
            return Mistake("missing", f"there is no kernel {name} in it")
        for launch in launches:
            mistake, result = judged(answer, file, name, launch, want)
            if mistake is None and launch.then is not None:
                mistake = judged(answer, file, name, launch.then(result), want)[0]
            if mistake:
                return mistake
        return None

    return check


@cache
def library_of(source: str, file: str) -> host.HostLibrary:
    """The kernels of a text, compiled with all that watches them."""
    return host.compile(source, name=file, checked=True)


@inside
def kernels_of(answer: Submission, name: str, file: str) -> list[str]:
    """The names of a student's kernels."""
    return list(library_of(answer[name], file).kernels)


@inside
def run_launch(
    answer: Submission, name: str, file: str, kernel: str, launch: KernelCall
) -> tuple[tuple[str, str, str] | None, Array]:
    """The mistake of one call, as its kind, its message and how it is shown; and the result."""
    library = library_of(answer[name], file)
    arrays = [shared(x) for x in launch.inputs]
    result = shared_array(launch.result, np.dtype(np.float32))
    memory = [
        host.NamedMemory(a.ctypes.data, a.nbytes, f"argument {n + 1}")
        for n, a in enumerate([*arrays, result])
    ]
    passed: list[Any] = [a.ctypes.data for a in [*arrays, result]]
    passed += [np.int32(size) for size in launch.sizes]
    try:
        findings = apart(
            lambda: library.launch(
                kernel, launch.grid, launch.block, 0, passed, memory=memory, seed=1
            )
        )
    except HloError as error:
        return ("error", f"{kernel} does not run", f"{shown_launch(launch)}\n\n{error}"), result
    if findings:
        message = f"{kernel}: {findings[0].fault}"
        return ("wrong", message, f"{shown_launch(launch)}\n\n{findings[0]}"), result
    return None, result


def judged(
    answer: Submission, file: str, name: str, launch: KernelCall, want: Callable[..., Array]
) -> tuple[Mistake | None, Array]:
    """The mistake of one call, and its result."""
    first_launch = replace(launch, then=None)
    failure, result = run_launch(answer, "kernel", file, name, first_launch)
    if failure is not None:
        kind, message, shown = failure
        return Mistake("error" if kind == "error" else "wrong", message, shown), result
    if launch.then is not None:
        return None, result
    wanted = want(*launch.inputs) if launch.wanted is None else launch.wanted
    if compare(result, wanted, ROUNDING):
        values_text = f"// expected  {value_text(wanted)}\n// yours     {value_text(result)}"
        shown = f"{shown_launch(launch)}\n\n{values_text}"
        return Mistake("wrong", f"{name} gives another result", shown), result
    return None, result


def shown_launch(launch: KernelCall) -> str:
    """How a launch is shown."""
    return f"// grid {launch.grid}, block {launch.block}, sizes {launch.sizes}"


def shared(array: Array) -> Array:
    """A copy that another process sees, too."""
    copy = shared_array(array.shape, array.dtype)
    copy[...] = array
    return copy


def check_own(text: str) -> Mistake | None:
    """The project's own kernels for a module, watched."""
    module = hlo.parse(text)
    inputs = [numbers(*p.shape.dims) for p in module.entry.parameters]
    executable = emit_cuda.compile(module, device="host", checked=True)
    from interpreter.engine.evaluate import evaluate  # noqa: PLC0415

    differs = compare(executable(*inputs), evaluate(module, *inputs), ROUNDING)
    return Mistake("wrong", f"the project's own kernel: {differs}") if differs else None


SUM = """ENTRY main {
  x = f32[100] parameter(0)
  y = f32[100] parameter(1)
  ROOT z = f32[100] add(x, y)
}"""
ROWS = """sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[3,100] parameter(0)
  zero = f32[] constant(0)
  ROOT s = f32[3] reduce(x, zero), dimensions={1}, to_apply=sum
}"""
LARGEST = """larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
ENTRY main {
  x = f32[300] parameter(0)
  lowest = f32[] constant(-inf)
  ROOT m = f32[] reduce(x, lowest), dimensions={0}, to_apply=larger
}"""
TURNED = """ENTRY main {
  x = f32[20,13] parameter(0)
  ROOT y = f32[13,20] transpose(x), dimensions={1,0}
}"""


def add_rows(x: Array) -> Array:
    """The sum of each row."""
    return x.sum(axis=1)


def largest(x: Array) -> Array:
    """The largest element, as an array of one."""
    return x.max(keepdims=True)


def turned(x: Array) -> Array:
    """Rows as columns."""
    return x.T


EXERCISES = (
    Exercise(
        60, "add two vectors on a GPU", 16, "easy",
        {"kernel": lambda: None}, "emit_cuda/grids/loop.py:loop_stages",
        check_kernel("add", (sums_of(64), sums_of(100)), np.add, SUM), ".cu",
    ),
    Exercise(
        61, "add up rows, a block for each", 16, "medium",
        {"kernel": lambda: None}, "emit_cuda/grids/reduction.py:reduction_stages",
        check_kernel("row_sums", (rows_of(2, 64), rows_of(3, 200), rows_of(2, 5)), add_rows, ROWS),
        ".cu",
    ),
    Exercise(
        62, "transpose through a tile", 16, "hard",
        {"kernel": lambda: None}, "emit_cuda/grids/transposing.py:transposed_by_tiles",
        check_kernel("transpose", (tiles_of(8, 8), tiles_of(20, 13)), turned, TURNED), ".cu",
    ),
    Exercise(
        63, "find the largest number in two stages", 16, "medium",
        {"kernel": lambda: None}, "emit_cuda/grids/reduction.py:reduction_stages",
        check_kernel(
            "largest", (stages_of(1000, 0), stages_of(300, -20), stages_of(1, 7)), largest, LARGEST
        ), ".cu",
    ),
)  # fmt: skip
