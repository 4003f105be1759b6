"""What becomes of a mutated text: refused, or a module that means the same in three ways.

A mistake is an exception other than HloError, a text that changes when it is printed and read
again, a module that is refused after it was verified, and a value that the optimizer or C changes
beyond rounding. Memory that is written where it must not be is for the sanitizers, crashes and
endless loops for the process above.
"""

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import emit_c
import hlo
import interpreter
import optimizer
from hlo import HloError, Instruction, Module
from hlo.types.literal import literal
from hlo.walk import rebuild, rebuild_module
from hlo_tools.arrays import leaves
from hlo_tools.generate.values import nasty, tame
from interpreter.engine.memory import peak_bytes
from interpreter.numbers.compare import ROUNDING, Difference, Promise, compare
from interpreter.numbers.widths import type_of
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.pipelines import prepare
from tests.strategies.liberties import (
    folds_from_the_end,
    folds_in_pairs,
    liberties,
    signs_of_nan,
)

Place = tuple[int, ...]  # of an array in nested tuples
ROOT = Path(__file__).parents[2]
# A step that takes longer is a mistake, but for evaluation: a loop may be endless.
SECONDS = 10
EVALUATION = 2
FOLDS = ("reduce", "reduce-window", "all-reduce", "reduce-scatter", "scatter", "select-and-scatter")
# Orders of folding beside the interpreter's own.
ORDERS = (folds_from_the_end, folds_in_pairs)
LARGEST = 4 * 2**20  # bytes of all values together
# What the C backend may refuse although the interpreter evaluates it: what it cannot emit, and what
# has no meaning for its type but is never computed, as the maximum of complex numbers.
UNSUPPORTED = ("HLO181", "HLO101")
# Refusals at run time: of arguments, of what has no meaning, of memory.
AT_RUN_TIME = tuple(f"HLO1{number:02}" for number in range(50))


class TooLongError(Exception):
    """A step has taken its time."""


@dataclass(frozen=True)
class Mistake(Exception):  # noqa: N818  it is PyHLO's
    """Something that must not happen.

    Attributes
    ----------
    kind : "exception", "hang", "print", "late", "difference", "argument" or "crash".
    place : where, so that each mistake is kept once: a file and line, or a code, or opcodes.
    message : in a line or more.
    """

    kind: str
    place: str
    message: str


@dataclass
class Case:
    """A module that is verified, with arguments, and its value."""

    module: Module
    arguments: list[Any]
    value: Any = None
    optimized: Module | None = None


class Skipped(Exception):  # noqa: N818  it is none
    """A module is not run, for a reason."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError after some seconds of this process: others may be busy too."""

    def ring(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def guarded(step: str, seconds: float = SECONDS) -> Iterator[None]:
    """Iteration exceptions other than HloError into mistakes."""
    try:
        with limit(seconds):
            yield
    except (HloError, Mistake, Skipped):
        raise
    except TooLongError as error:
        place = f"{step}: {_line_of(error)}"
        raise Mistake("hang", place, f"{step} takes more than {seconds} seconds") from None
    except Exception as error:
        told = "".join(traceback.format_exception(error)[-6:])
        place = f"{type(error).__name__} {_line_of(error)}"
        raise Mistake("exception", place, f"{step}: {told}") from None


def _line_of(error: BaseException) -> str:
    """The innermost line of PyHLO's that raised it, without its number where it may move."""
    rooms = ("hlo/", "interpreter/", "optimizer/", "emit_c/", "hlo_tools/")
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        name = frame.filename.removeprefix(f"{ROOT}/")
        if name.startswith(rooms):
            found = f"{name} {frame.name}"
    return found


def read(text: str) -> Module | None:
    """The module of a text, if it is well formed and its print is a fixed point.

    Raises
    ------
    Mistake
    """
    try:
        with guarded("parse"):
            module = hlo.parse(text)
        with guarded("verify"):
            hlo.verify(module)
    except HloError as error:
        with guarded("error"):
            str(error)
        return None
    with guarded("print"):
        printed = str(module)
        try:
            again = str(hlo.parse(printed))
        except HloError as error:
            raise Mistake("print", error.code, f"what is printed is refused:\n{error}") from None
    # XLA's order of computations follows the instructions as they were read, and it prints these in
    # another order where some are dead; so its text is a fixed point but for order.
    # What `negate-start` runs is named by the reader, like XLA's, and another `negate` is numbered
    # then; callers of a stack frame stay once longer than the frame if it leads nowhere.
    named = any(i.opcode == "async-start" for i in module.instructions())
    if named or module.stack_frames.stack_frames:
        printed, again = again, str(hlo.parse(again))
    before, after = sorted(printed.splitlines()), sorted(again.splitlines())
    if before != after:
        first = next((pair for pair in zip(before, after, strict=False) if len({*pair}) > 1), "")
        raise Mistake("print", "text", "\n".join(("the print changes:", *first)))
    return module


def prepared(module: Module, random: Random) -> Case:
    """A module with arguments, its value, and the optimized module, whose value is compared.

    Raises
    ------
    Mistake, Skipped
    """
    with guarded("measure"):
        sizes = sum(leaf.size * leaf.element_type.bytes for i in module.instructions()
                    for _, leaf in i.shape.leaves() if leaf.is_array)  # fmt: skip
        if sizes > LARGEST or peak_bytes(module) > LARGEST:
            raise Skipped("large")
    if module.header.replica_count * module.header.num_partitions > 64:
        raise Skipped("many devices")
    if not all(map(is_order, comparators(module))):
        raise Skipped("no order")
    sorts = any(map(_sorts, module.instructions()))
    make = tame if sorts else random.choice((nasty, tame, tame))
    case = Case(module, [make(p.shape, random) for p in module.entry.parameters])
    case.value = _evaluated(case, module)
    try:
        with guarded("optimize"):
            case.optimized = optimizer.optimize(module, target="cpu")
    except HloError as error:
        raise Mistake("late", f"optimize {error.code}", f"optimize refuses it:\n{error}") from None
    try:
        got = _evaluated(case, case.optimized)
    except Skipped as skipped:
        if str(skipped) == "endless":
            raise
        message = f"only the optimized module is refused: {skipped}\n{case.optimized}"
        raise Mistake("late", f"optimized {skipped}", message) from None
    judge(case, got, "optimized")
    return case


def _evaluated(case: Case, module: Module) -> Any:
    before = [array.tobytes() for argument in case.arguments for array in leaves(argument)]
    try:
        with guarded("evaluate", EVALUATION):
            value = interpreter.evaluate(module, *case.arguments)
    except HloError as error:
        if not error.code.startswith(AT_RUN_TIME):
            raise Mistake("late", f"evaluate {error.code}", str(error)) from None
        raise Skipped(error.code) from None
    except Mistake as mistake:
        if mistake.kind == "hang":
            raise Skipped("endless") from None
        raise
    unchanged(case, before, "the interpreter")
    return value


def compiled(case: Case, *, donate: bool = False) -> None:
    """Compile a module to C, run it, and compare its value.

    Raises
    ------
    Mistake, Skipped
    """
    assert case.optimized is not None
    given = copied(case)
    before = [array.tobytes() for argument in given for array in leaves(argument)]
    try:
        with guarded("compile", 3 * SECONDS):
            executable = emit_c.compile(
                case.optimized, optimize=False, donate=donate, remember=False
            )
        with guarded("run"):
            value = executable(*given)
    except HloError as error:
        if error.code in UNSUPPORTED:
            raise Skipped(error.code) from None
        raise Mistake("late", f"compile {error.code}", f"C refuses it:\n{error}") from None
    if not donate:
        unchanged(replace(case, arguments=given), before, "C")
    judge(case, value, "C")


def copied(case: Case) -> list[Any]:
    """Its arguments, in memory of their own."""
    return [_copy(argument) for argument in case.arguments]


def unchanged(case: Case, before: list[bytes], who: str) -> None:
    """See that arguments are what they were."""
    after = [array.tobytes() for argument in case.arguments for array in leaves(argument)]
    if before != after:
        raise Mistake("argument", who, f"{who} changes an argument")


def judge(case: Case, got: Any, who: str) -> None:
    """Compare a value with the interpreter's.

    Raises
    ------
    Mistake
        if they differ, and rounding does not excuse it.
    """
    # Each term of a sum may be rounded, in any order.
    terms = max((o.shape.size for i in case.module.instructions() if i.opcode in FOLDS
                 for o in i.operands if o.shape.is_array), default=0)  # fmt: skip
    promise = ROUNDING.within(ROUNDING.ulps + terms // 4)
    difference = compare(got, case.value, promise)
    if difference is None:
        return
    if not difference.reason:
        left = unexcused(case, _differing(got, case.value, promise))
        if not left:
            return
        difference = next(iter(left.values()))
    opcodes = sorted({i.opcode for i in case.module.instructions()} - {"parameter", "constant"})
    raise Mistake("difference", f"{who} {' '.join(opcodes)[:80]}", f"{who}: {difference}")


def unexcused(case: Case, found: dict[Place, Difference]) -> dict[Place, Difference]:
    """The differences of arrays of which the interpreter itself never gives another value.

    For numbers that are one rounding apart it does where a rounding error has become a large one
    on its way, or a comparison has gone the other way; for folds in another order, which XLA
    leaves open, where their computation is not associative. Nobody promises such values.
    """
    trials = [lambda d=direction: _nudged_value(case, d) for direction in (np.inf, -np.inf, 0.0)]
    trials += [lambda o=order: _reordered_value(case, o) for order in ORDERS]
    for evaluate in trials:
        try:
            with limit(EVALUATION):
                value = evaluate()
        except (HloError, TooLongError):
            return {}
        moved = _differing(value, case.value, ROUNDING)
        found = {path: it for path, it in found.items() if path not in moved or moved[path].reason}
        if not found:
            break
    return found


def _differing(got: Any, want: Any, promise: Promise, path: Place = ()) -> dict[Place, Difference]:
    """The arrays of nested tuples that break a promise, and how."""
    if isinstance(want, tuple):
        pairs = zip(got, want, strict=True)
        parts = [_differing(g, w, promise, (*path, i)) for i, (g, w) in enumerate(pairs)]
        return {at: difference for part in parts for at, difference in part.items()}
    difference = compare(got, want, promise)
    return {path: replace(difference, path=path)} if difference else {}


def _nudged_value(case: Case, direction: float) -> Any:
    """The value for numbers that are all moved to the next."""
    module = rebuild_module(case.module, lambda c: _nudged(c, direction))
    arguments = [_nudge(argument, direction) for argument in case.arguments]
    with liberties(), signs_of_nan(direction == 0):
        return interpreter.evaluate(module, *arguments)


def _reordered_value(case: Case, order: Callable[[], AbstractContextManager[None]]) -> Any:
    """The value where elements are folded in another order."""
    with order():
        return interpreter.evaluate(case.module, *case.arguments)


def _nudged(computation: hlo.Computation, direction: float) -> hlo.Computation:
    """The computation with each number of its constants moved to the next."""
    plan = {}
    for i in computation.instructions:
        if i.opcode == "constant" and i.attrs.literal.array is not None:
            moved = literal(_nudge(i.attrs.literal.array, direction), i.shape)
            plan[i] = i.with_(attrs=replace(i.attrs, literal=moved))
    return rebuild(computation, plan) if plan else computation


def _nudge(value: Any, direction: float) -> Any:
    """Every float moved to the next one: up, down, or to zero."""
    if isinstance(value, tuple):
        return tuple(_nudge(element, direction) for element in value)
    if value is None:
        return None
    array = np.array(value)
    element_type = type_of(array)
    if element_type.is_complex:
        row = _nudge(array.reshape(-1).view(element_type.real.dtype), direction)
        return row.view(array.dtype).reshape(array.shape)
    if not element_type.is_floating or element_type.bits < 8:
        return array
    with np.errstate(all="ignore"):
        moved = np.nextafter(array, np.full_like(array, direction))
    return np.where(np.isfinite(moved), moved, array)


def _copy(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_copy(element) for element in value)
    return None if value is None else np.array(value)


def _sorts(instr: Instruction) -> bool:
    return instr.opcode in ("sort", "topk") or (
        instr.opcode == "custom-call" and "TopK" in instr.attrs.custom_call_target
    )


def comparators(module: Module) -> Iterator[hlo.Computation]:
    """What the module sorts by."""
    for instr in module.instructions():
        if instr.opcode == "sort":
            yield instr.called[0]


def is_order(comparator: hlo.Computation) -> bool:
    """Whether it is plain that it orders; anything else may sort in any way."""
    root = comparator.root
    if root.opcode != "compare" or root.attrs.direction not in ("LT", "GT"):
        return False
    numbers = [o.attrs.number for o in root.operands if o.opcode == "parameter"]
    return len(numbers) == 2 and sorted(numbers)[0] % 2 == 0 and abs(numbers[0] - numbers[1]) == 1


def can_be_merged(case: Case) -> bool:
    """Whether its C may stand beside that of other modules: it is emitted, and runs as theirs."""
    module = case.optimized
    assert module is not None
    header = module.header
    if is_dynamic(module) or header.replica_count * header.num_partitions > 1:
        return False
    try:
        with guarded("emit", 3 * SECONDS):
            emit_c.emit(prepare(module))
    except HloError:
        return False
    return True


def donates(case: Case) -> bool:
    """Whether results may lie in arguments."""
    header = case.module.header
    return bool(header.input_output_alias or header.buffer_donor)
