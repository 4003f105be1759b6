"""Exercises of chapters 4 and 5: shapes, values, and what it is to be the same."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.infer import infer
from hlo.infer.table import infers
from hlo.types.element_type import F32, PRED, S32, U8
from hlo.types.shape import Shape
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls, same_truth
from hlo_tools.exercises.cases import Watched, Wrong, compare_cases, one_instruction, run_with
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake, unwritten, value_text
from hlo_tools.exercises.limits import CallTooLongError
from hlo_tools.generate.trials import broken_by, trials
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import BITS, PROMISES, compare
from interpreter.numbers.integers import divide
from interpreter.table import evaluates
from optimizer.catalogue import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction, Module
    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from hlo_tools.search.shrink.case import Case
    from optimizer.rewriting.rule import Rule

PLAIN = (F32, S32, U8, PRED)


@inside
def evaluated(answer: Submission, name: str, opcode: str, case: Case) -> Any:
    """The value of a module where a student's function is the meaning of an opcode."""
    watched = Watched(answer[name])
    got, error = run_with(
        evaluates, opcode, watched, lambda: evaluate(case.module, *case.arguments or ()), watched
    )
    if error is not None:
        raise error
    return got


@inside
def inferred(answer: Submission, name: str, opcode: str, module: Module) -> list[Shape]:
    """The shapes that a student's function infers, one for each instruction of an opcode."""
    watched, shapes = Watched(answer[name], Shape, "a Shape"), list[Shape]()
    for instr in of_opcode(module, opcode):
        got, error = run_with(infers, opcode, watched, lambda of=instr: infer(of), watched)
        if error is not None:
            raise error
        shapes.append(got)
    return shapes


def of_opcode(module: Module, opcode: str) -> list[Instruction]:
    """The instructions of an opcode."""
    return [instr for instr in module.instructions() if instr.opcode == opcode]


def check_evaluate(opcode: str, name: str) -> Callable[[Submission, SearchEffort], Mistake | None]:
    """The check of a student's meaning of an opcode: against the interpreter's, on modules."""

    def check(answer: Submission, effort: SearchEffort) -> Mistake | None:
        wrong = partial(fault, partial(evaluated, answer, name, opcode))
        cases = one_instruction(opcode, effort.examples, PLAIN)
        message = f"{name} gives another value than the interpreter"
        return compare_cases(answer, name, cases, wrong, effort, message)

    return check


def fault(run: Callable[[Case], Any], case: Case) -> Wrong | None:
    """What is wrong with the value that an answer gives a module; None if nothing is."""
    want = evaluate(case.module, *case.arguments or ())
    try:
        got = run(case)
    except (Exception, CallTooLongError) as error:
        return Wrong(error=error)
    return Wrong(want, got) if differs(got, want) else None


def differs(got: Any, want: Any) -> bool:
    """Whether a value is another one, or nothing that is a value."""
    try:
        return compare(got, want, BITS) is not None
    except Exception:
        return True


def check_infer(opcode: str, name: str) -> Callable[[Submission, SearchEffort], Mistake | None]:
    """The check of a student's shape inference: against the project's, on modules."""

    def check(answer: Submission, effort: SearchEffort) -> Mistake | None:
        def wrong(case: Case) -> Wrong | None:
            wanted = [infer(instr) for instr in of_opcode(case.module, opcode)]
            try:
                answers = inferred(answer, name, opcode, case.module)
            except (Exception, CallTooLongError) as error:
                return Wrong(error=error)
            pairs = zip(wanted, answers, strict=True)
            return next((Wrong(w, g) for w, g in pairs if str(w) != str(g)), None)

        cases = one_instruction(opcode, effort.examples, PLAIN)
        message = f"{name} infers another shape"
        return compare_cases(answer, name, cases, wrong, effort, message)

    return check


def check_divide(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Divide every kind of s32 by every other."""
    ends = [0, 1, -1, 2, -2, 3, 7, -7, 10, 2**31 - 1, -(2**31)]
    random = Random(4)
    drawn = [random.randint(-50, 50) for _ in range(effort.examples // 8)]
    pairs = [(a, b) for a in ends + drawn for b in ends + drawn[:4]]
    calls = [
        ShownCall((np.array([x], np.int32), np.array([y], np.int32)), f"divide(s32 {x}, s32 {y})")
        for x, y in pairs
    ]

    def own(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return divide(x, y)

    return compare_calls(answer, "divide", own, calls, via=converting_soundly, same=same_numbers)


@inside
def converting_soundly(answer: Submission, name: str, x: Any, y: Any) -> Any:
    """The result of a function in which no float that is no s32 becomes one.

    It becomes another number on each kind of processor.
    """
    with warnings.catch_warnings(), np.errstate(invalid="warn"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", ".*encountered in cast")
        return answer[name](x, y)


def same_numbers(want: Any, got: Any) -> bool:
    """Equal integers, of the same type."""
    return np.asarray(got).dtype == want.dtype and bool(np.array_equal(want, got))


def own_same_bits(x: Any, y: Any) -> bool:
    """Whether two arrays are the same to the last bit, as promise BITS has it."""
    return compare(x, y, BITS) is None


def check_same_bits(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Compare all pairs of special numbers."""
    nans = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    numbers = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e-45, 1 + 2**-23, *nans]
    pairs = [(f32(x), f32(y)) for x in numbers for y in numbers]
    pairs += [(f32(1, x), f32(1, y)) for x in numbers[:3] for y in numbers[:3]]
    pairs += [(f32(1, 1), f32(1)), (f32(1), np.array([1], np.float64))]
    calls = [ShownCall(pair, f"same_bits({', '.join(map(value_text, pair))})") for pair in pairs]
    return compare_calls(answer, "same_bits", own_same_bits, calls, same=same_truth, show=repr)


def f32(*numbers: Any) -> Any:
    """An array of numbers."""
    return np.array(numbers, np.float32)


# The project's own rules whose promises the exercise is about.
EXERCISE_RULES = (
    "negate(negate(x)) => x",
    "maximum(x, x) => x",
    "multiply(x, 1) => x",
    "add(x, -0.0) => x",
    "add(x, 0) => x",
    "subtract(x, 0) => x",
    "multiply(convert(x), y) => select(x, y, 0)",
    "divide(x, c) => multiply(x, 1 / c)",
    "sqrt(multiply(x, x)) => abs_(x)",
    "power(x, 2) => multiply(x, x)",
)
NAMES = tuple(PROMISES)


def exercise_rules() -> dict[str, Rule]:
    """The rules of the exercise, by name."""
    known = {rule.name: rule for rule in all_rules()}
    return {name: known[name] for name in EXERCISE_RULES}


def own_promises() -> dict[str, str]:
    """The promises of the project's own rules."""
    return {name: rule.promise_name for name, rule in exercise_rules().items()}


def check_promises(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Each promise must hold, and be the strongest that does."""
    promises: dict[str, Any] = answer["PROMISES"]
    if not any(promises.values()):
        return unwritten("PROMISES")
    for name, rule in exercise_rules().items():
        promise = promises.get(name)
        if promise not in PROMISES:
            known = ", ".join(NAMES)
            return Mistake("wrong", f"the promise of {name} is {promise!r}, none of {known}")
        said, true = NAMES.index(promise), NAMES.index(rule.promise_name)
        if said > true:
            message = f"{name} keeps more than {promise}: try what is stronger"
            return Mistake("wrong", message)
        if said < true:
            return refuted(rule, promise, effort)
    return None


def refuted(rule: Rule, promise: str, effort: SearchEffort) -> Mistake:
    """A trial of a rule that breaks a promise that is too strong."""
    bold = replace(rule, promise=PROMISES[promise])
    message = f"{rule.name} does not keep {promise}"
    broken = [t for t in trials(bold, effort.examples) if broken_by(bold, t)]
    if not broken:
        return Mistake("wrong", message)
    trial = min(broken, key=lambda t: len(str(t.before)))
    argument_text = "\n".join(
        f"// %{p.name} = {value_text(v)}"
        for p, v in zip(trial.before.entry.parameters, trial.arguments, strict=True)
    )
    want, got = (evaluate(m, *trial.arguments) for m in (trial.before, trial.after))
    shown = f"// before\n{trial.before}\n// after\n{trial.after}\n{argument_text}\n\n"
    return Mistake(
        "wrong", message, f"{shown}// before  {value_text(want)}\n// after   {value_text(got)}"
    )


EXERCISES = (
    Exercise(
        13, "infer the shape of a pad", 4, "medium",
        {"infer_pad": lambda: infers["pad"]}, "hlo/infer/movement.py:infer_pad",
        check_infer("pad", "infer_pad"),
    ),
    Exercise(
        14, "pad an array", 4, "medium",
        {"evaluate_pad": lambda: evaluates["pad"]}, "interpreter/movement.py:evaluate_pad",
        check_evaluate("pad", "evaluate_pad"),
    ),
    Exercise(
        15, "slice at a start that comes at run time", 4, "easy",
        {"evaluate_dynamic_slice": lambda: evaluates["dynamic-slice"]},
        "interpreter/movement.py:evaluate_dynamic_slice",
        check_evaluate("dynamic-slice", "evaluate_dynamic_slice"),
    ),
    Exercise(
        16, "divide integers, by zero too", 4, "medium",
        {"divide": lambda: divide}, "interpreter/numbers/integers.py:divide", check_divide,
    ),
    Exercise(
        17, "gather", 4, "hard",
        {"evaluate_gather": lambda: evaluates["gather"]}, "interpreter/indexing.py:evaluate_gather",
        check_evaluate("gather", "evaluate_gather"),
    ),
    Exercise(
        18, "compare two arrays to the last bit", 5, "easy",
        {"same_bits": lambda: own_same_bits}, "interpreter/numbers/compare.py:compare",
        check_same_bits,
    ),
    Exercise(
        19, "give rules their promises", 5, "medium",
        {"PROMISES": own_promises}, "optimizer/rules/", check_promises,
    ),
)  # fmt: skip
