"""Exercises of chapters 6 and 7: rules, passes, and finding what is wrong with them."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING, Any

import hlo
from hlo.build import Builder, instruction, module
from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import array
from hlo.verify import verify
from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise, course_folder
from hlo_tools.exercises.finding import Mistake, unwritten
from hlo_tools.exercises.passes import Demand, check_pass, of_failure
from hlo_tools.generate.values import nasty, tame
from hlo_tools.own_passes import find_pass
from hlo_tools.search.bisection import Search
from hlo_tools.search.checking.failure import find_failure
from hlo_tools.search.checking.search import arguments_for, search, smallest
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer.catalogue import all_rules
from optimizer.cleanup.cse import Cse
from optimizer.cleanup.dce import Dce
from optimizer.log import Log
from optimizer.rules.convert import passes_through
from optimizer.rules.reverse import reverse_of_reverse
from optimizer.rules.slice import slice_of_slice
from optimizer.rules.transpose import transpose_of_transpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from hlo_tools.search.checking.failure import Failure
    from optimizer.log import Pass
    from optimizer.rewriting.rule import Rule

RULES = {rule.name: rule for rule in all_rules()}

TWO_TRANSPOSES = Demand(
    """HloModule two
ENTRY main {
  x = f32[2,2,2] parameter(0)
  y = f32[2,2,2] transpose(x), dimensions={1,0,2}
  ROOT z = f32[2,2,2] transpose(y), dimensions={0,2,1}
}""",
    {"transpose": 1},
    "two transposes in a row are one",
)
TWO_SLICES = Demand(
    """HloModule two
ENTRY main {
  x = f32[20] parameter(0)
  y = f32[6] slice(x), slice={[2:20:3]}
  ROOT z = f32[2] slice(y), slice={[1:4:2]}
}""",
    {"slice": 1},
    "two slices in a row are one",
)
ENDS = Demand(
    """HloModule ends
ENTRY main {
  x = f32[7] parameter(0)
  y = f32[3] slice(x), slice={[0:7:3]}
  ROOT z = f32[2] slice(y), slice={[0:3:2]}
}"""
)
TWO_REVERSES = Demand(
    """HloModule two
ENTRY main {
  x = f32[2,3] parameter(0)
  y = f32[2,3] reverse(x), dimensions={0}
  ROOT z = f32[2,3] reverse(y), dimensions={0,1}
}""",
    {"reverse": 1},
    "two reverses in a row are one",
)
DIFFERENCES = (
    Demand(
        """HloModule constant
ENTRY main {
  x = f32[] parameter(0)
  c = f32[] constant(3)
  ROOT d = f32[] subtract(x, c)
}""",
        {"subtract": 0},
        "x - 3 is x + -3, which other rules can fold",
    ),
    Demand(
        """HloModule negated
ENTRY main {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  n = f32[] negate(y)
  ROOT d = f32[] add(x, n)
}""",
        {"negate": 0},
        "x + -y is x - y",
    ),
)
DEAD = (
    Demand(
        """HloModule dead
ENTRY main {
  x = f32[4] parameter(0)
  a = f32[4] exponential(x)
  b = f32[4] add(a, a)
  c = f32[4] negate(b)
  ROOT r = f32[4] multiply(x, x)
}""",
        {"": 2},
        "whatever only dead instructions use is dead too",
    ),
    Demand(
        """HloModule effect
ENTRY main {
  x = f32[4] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(x, t), outfeed_shape=f32[4]
  ROOT r = f32[4] multiply(x, x)
}""",
        why="which has an effect: it sends a value to the host",
        least={"outfeed": 1},
    ),
)
EQUAL = (
    Demand(
        """HloModule equal
ENTRY main {
  x = f32[4] parameter(0)
  a = f32[4] exponential(x)
  b = f32[4] exponential(x)
  c = f32[4] negate(a)
  d = f32[4] negate(b)
  ROOT r = f32[4] add(c, d)
}""",
        {"negate": 1},
        "once a and b are equal, c and d are equal too",
    ),
    Demand(
        """HloModule attributes
ENTRY main {
  x = f32[2,2] parameter(0)
  a = f32[2,2] transpose(x), dimensions={1,0}
  b = f32[2,2] transpose(x), dimensions={1,0}
  ROOT r = f32[2,2] add(a, b)
}""",
        {"transpose": 1},
        "instructions with equal operands and attributes are equal",
    ),
)


def check_with(
    name: str, own: Callable[[], Any], *demands: Demand
) -> Callable[[Submission, SearchEffort], Mistake | None]:
    """The check of a pass or rule."""
    return lambda answer, effort: check_pass(answer, name, own(), effort, demands)


def own_differences() -> list[Rule]:
    """Two rules of the project that turn sums into differences and back, and come to an end."""
    return [RULES["subtract(x, c) => add(x, -c)"], RULES["add(x, negate(y)) => subtract(x, y)"]]


TYPES = ("pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "f16", "bf16", "f32", "f64")


def own_passes_through(source: str, middle: str, target: str) -> bool:
    """The guard of the rule `convert(convert(x)) => convert(x)`."""
    names = zip("sab", (source, middle, target), strict=True)
    types = [
        instruction("parameter", name=n, shape=array(ELEMENT_TYPES[t]), number=0) for n, t in names
    ]
    guard = passes_through(*types).function
    assert guard is not None
    return guard(*types)


def conversions_agree(source: str, middle: str, target: str) -> bool:
    """Whether no number is found on which two conversions and one give different results."""
    random = Random(f"{source}/{middle}/{target}")
    builder = Builder()
    x = builder.parameter(array(ELEMENT_TYPES[source], (96,)))
    inner = builder.add("convert", x, shape=array(ELEMENT_TYPES[middle], (96,)))
    twice = builder.add("convert", inner, shape=array(ELEMENT_TYPES[target], (96,)))
    once = builder.add("convert", x, shape=array(ELEMENT_TYPES[target], (96,)))
    both = module(builder.build(builder.add("tuple", twice, once)))
    got, want = evaluate(both, nasty(x.shape, random))
    return compare(got, want, BITS) is None


def check_passes_through(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """All triples of types; a guard may know more than the project's, if that is true."""
    triples = list(itertools.product(TYPES, repeat=3))
    if effort.examples < len(triples) // 8:
        triples = triples[:: len(triples) // effort.examples]
    calls = [ShownCall(triple, f"passes_through{triple!r}") for triple in triples]
    answers: dict[tuple[bool, Any], bool] = {}

    def same(want: Any, got: Any) -> bool:
        return isinstance(got, bool) and want == got

    def judged(*names: str) -> bool:
        want, got = own_passes_through(*names), answer["passes_through"](*names)
        if got is True and not want:
            return answers.setdefault((True, names), conversions_agree(*names))
        return want

    return compare_calls(answer, "passes_through", judged, calls, same=same, show=repr)


def suspect() -> Pass:
    """The pass of exercise 27, in which one rule is wrong."""
    return find_pass(f"{course_folder() / 'exercises' / '27' / 'suspect.py'}:Suspect")


def blamed() -> tuple[int, str]:
    """The rewrite that bisection blames, and its rule."""
    attention = hlo.load(str(course_folder() / "models" / "attention.hlo"))
    inputs = [tame(p.shape, Random(0)) for p in attention.entry.parameters]
    rewrite = Search(attention, suspect(), [inputs]).blamed(BITS)
    assert rewrite is not None
    return rewrite.event.number, rewrite.event.rule


def check_blamed(answer: Submission, _: SearchEffort) -> Mistake | None:
    """The rewrite and the rule must be those that bisection finds."""
    if answer["REWRITE"] == 0 or not answer["RULE"]:
        return unwritten("REWRITE")
    number, rule = blamed()
    if answer["RULE"] != rule:
        message = f"{answer['RULE']!r} is not the rule that is wrong"
        return Mistake("wrong", message, "// `hlo bisect` says which rewrite makes a result wrong")
    if answer["REWRITE"] != number:
        return Mistake("wrong", f"the rule is right, but not the rewrite: {answer['REWRITE']!r}")
    return None


def own_mutant_test() -> str:
    """A module on which the pass of exercise 28 is wrong, found by search."""
    failures: list[Failure] = []
    for seed in range(SEEDS):
        failure, _ = search(forgetful(), 100, seed)
        if failure is not None:
            failures.append(smallest(forgetful(), failure, seconds=5))
        if failures and failures[-1].instructions <= MOST:
            break
    return str(min(failures, key=lambda f: f.instructions).before)


def forgetful() -> Pass:
    """The pass of exercise 28: CSE that looks at opcodes and operands alone."""
    return find_pass(f"{course_folder() / 'exercises' / '28' / 'mutant.py'}:Forgetful")


def check_mutant_test(answer: Submission, _: SearchEffort) -> Mistake | None:
    """The module must be well formed, be small, and show the mutant wrong but not the real pass."""
    text = answer["module"]
    if "ROOT" not in text:
        return unwritten("module")
    try:
        program = hlo.parse(text)
        verify(program)
    except HloError as error:
        return Mistake("wrong", "the module is not well formed", str(error))
    lists = [g for seed in range(4) for g in arguments_for(program, Random(seed), BITS)]
    if failure := find_failure(Cse(), program, *lists):
        return of_failure(Cse(), "the real CSE", failure)
    if find_failure(forgetful(), program, *lists) is None:
        after = forgetful().run(program, SILENT)
        done = "changes this module, and is right" if after is not program else "changes nothing"
        return Mistake("wrong", f"the mutant survives: it {done}", f"// after\n{after}".rstrip())
    count = sum(1 for _ in program.instructions())
    if count > MOST:
        return Mistake("weak", f"the mutant is killed by {count} instructions: {MOST} would do")
    return None


# Instructions of a module that kills the mutant, and searches for one.
MOST, SEEDS = 6, 9
SILENT = Log()

EXERCISES = (
    Exercise(
        20, "merge two transposes", 6, "easy",
        {"transpose_of_transpose": lambda: transpose_of_transpose},
        "optimizer/rules/transpose.py:transpose_of_transpose",
        check_with("transpose_of_transpose", lambda: transpose_of_transpose, TWO_TRANSPOSES),
    ),
    Exercise(
        21, "merge two reverses", 6, "easy",
        {"reverse_of_reverse": lambda: reverse_of_reverse},
        "optimizer/rules/reverse.py:reverse_of_reverse",
        check_with("reverse_of_reverse", lambda: reverse_of_reverse, TWO_REVERSES),
    ),
    Exercise(
        22, "merge two slices with strides", 6, "medium",
        {"slice_of_slice": lambda: slice_of_slice}, "optimizer/rules/slice.py:slice_of_slice",
        check_with("slice_of_slice", lambda: slice_of_slice, TWO_SLICES, ENDS),
    ),
    Exercise(
        23, "make two rules come to an end", 6, "medium",
        {"DIFFERENCES": own_differences}, "optimizer/rules/add.py:RULES",
        check_with("DIFFERENCES", own_differences, *DIFFERENCES),
    ),
    Exercise(
        24, "say when a conversion may be left out", 6, "hard",
        {"passes_through": lambda: own_passes_through},
        "optimizer/rules/convert.py:passes_through", check_passes_through,
    ),
    Exercise(
        25, "remove dead code", 7, "medium",
        {"DeadCode": lambda: Dce}, "optimizer/cleanup/dce.py:Dce",
        check_with("DeadCode", lambda: Dce, *DEAD),
    ),
    Exercise(
        26, "keep the first of equal instructions", 7, "hard",
        {"Common": lambda: Cse}, "optimizer/cleanup/cse.py:Cse",
        check_with("Common", lambda: Cse, *EQUAL),
    ),
    Exercise(
        27, "find the wrong rewrite", 7, "easy",
        {"REWRITE": lambda: blamed()[0], "RULE": lambda: blamed()[1]},
        "hlo_tools/search/bisection.py:Search", check_blamed,
    ),
    Exercise(
        28, "write the test that kills the mutant", 7, "medium",
        {"module": own_mutant_test}, "hlo_tools/search/checking/search.py:search",
        check_mutant_test,
        ".hlo",
    ),
)  # fmt: skip
