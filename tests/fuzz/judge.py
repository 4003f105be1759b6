"""What becomes of a mutated text: refused, or a module that means the same in three ways.

A mistake is an exception other than HloError, a text that changes when it is printed and read
again, a module that is refused after it was verified, and a value that the optimizer or C changes
beyond rounding. Memory that is written where it must not be is for the sanitizers, crashes and
endless loops for the process above.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import emit_c
import emit_cuda
import hlo
import interpreter
import optimizer
from hlo import HloError, Instruction, Module
from hlo.files import parse_either
from hlo_tools.generate.values import nasty, tame
from hlo_tools.values.arrays import leaves
from interpreter.engine.memory import peak_bytes
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.pipelines import prepare
from tests.fuzz.excuses import judge
from tests.fuzz.mistakes import (
    CUDA,
    EVALUATION,
    SECONDS,
    C,
    Case,
    Mistake,
    Platform,
    Skipped,
    guarded,
)

LARGEST = 4 * 2**20  # bytes of all values together
# What the C backend may refuse although the interpreter evaluates it: what it cannot emit, and what
# has no meaning for its type but is never computed, as the maximum of complex numbers.
UNSUPPORTED = ("HLO181", "HLO101")
# Refusals at run time: of arguments, of what has no meaning, of memory.
AT_RUN_TIME = tuple(f"HLO1{number:02}" for number in range(50))


def read(text: str, name: str = "") -> Module | None:
    """The module of a text, if it is well formed and its print is a fixed point.

    Parameters
    ----------
    name : of its file; StableHLO's ends in .mlir.

    Raises
    ------
    Mistake
    """
    try:
        with guarded("parse"):
            module = parse_either(text, name) if name else hlo.parse(text)
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


def prepared(module: Module, random: Random, platform: Platform = C) -> Case:
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
    case = Case(module, [make(p.shape, random) for p in module.entry.parameters], platform=platform)
    case.value = _evaluated(case, module)
    try:
        with guarded("optimize"):
            case.optimized = optimizer.optimize(module, target=platform.target)
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
    """Compile a module, run it, and compare its value.

    Raises
    ------
    Mistake, Skipped
    """
    assert case.optimized is not None
    name = case.platform.language
    given = copied(case)
    before = [array.tobytes() for argument in given for array in leaves(argument)]
    try:
        with guarded("compile", 3 * SECONDS):
            executable = loaded(case.optimized, case.platform, donate=donate)
        with guarded("run"):
            value = executable(*given)
    except HloError as error:
        if error.code in UNSUPPORTED:
            raise Skipped(error.code) from None
        raise Mistake("late", f"compile {error.code}", f"{name} refuses it:\n{error}") from None
    if not donate:
        unchanged(replace(case, arguments=given), before, name)
    judge(case, value, name)


def loaded(module: Module, platform: Platform, *, donate: bool) -> Callable[..., Any]:
    """Compile an optimized module, which may be several."""
    if platform.language == CUDA.language:
        device = emit_cuda.device_named("host", checked=platform.checked)
        return emit_cuda.compile(module, device, optimize=False, donate=donate, subnormals="keep")
    return emit_c.compile(module, optimize=False, donate=donate, remember=False, subnormals="keep")


def copied(case: Case) -> list[Any]:
    """Its arguments, in memory of their own."""
    return [_copy(argument) for argument in case.arguments]


def unchanged(case: Case, before: list[bytes], who: str) -> None:
    """See that arguments are what they were."""
    after = [array.tobytes() for argument in case.arguments for array in leaves(argument)]
    if before != after:
        raise Mistake("argument", who, f"{who} changes an argument")


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
    """Whether its code may be beside that of other modules: it is emitted, and runs as theirs."""
    module = case.optimized
    assert module is not None
    header = module.header
    if is_dynamic(module) or header.replica_count * header.num_partitions > 1:
        return False
    try:
        with guarded("emit", 3 * SECONDS):
            emit = emit_cuda.emit if case.platform.language == CUDA.language else emit_c.emit
            emit(prepare(module, case.platform.target))
    except HloError:
        return False
    return True


def donates(case: Case) -> bool:
    """Whether results may lie in arguments."""
    header = case.module.header
    return bool(header.input_output_alias or header.buffer_donor)
