"""Whole modules: what is the same is proved, what was miscompiled is refuted by arguments."""

# Programs and answers are as they are read.
# ruff: noqa: E501, ISC004

from dataclasses import replace

import pytest

import hlo
from hlo.walk import rebuild
from hlo_tools.cli import main
from hlo_tools.own_passes import find_pipeline
from hlo_tools.proofs.modules import ProofLimits, prove_modules
from hlo_tools.proofs.watching import ProvePasses
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import compare
from optimizer.log import Log

# A program with a little of everything, for miscompiles to be planted in.
PROGRAM = """
HloModule program

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT add = f32[] add(a, b)
}

largest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT maximum = f32[] maximum(a, b)
}

goes_on {
  state = (s32[], f32[4]) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  turns = s32[] constant(2)
  ROOT less = pred[] compare(turn, turns), direction=LT
}

turned {
  state = (s32[], f32[4]) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  step = s32[] constant(1)
  next = s32[] add(turn, step)
  row = f32[4] get-tuple-element(state), index=1
  fresh = f32[1] constant({7})
  changed = f32[4] dynamic-update-slice(row, fresh, turn)
  ROOT both = (s32[], f32[4]) tuple(next, changed)
}

small {
  given = f32[4] parameter(0)
  ROOT negated = f32[4] negate(given)
}

large {
  given = f32[4] parameter(0)
  ROOT root = f32[4] sqrt(given)
}

ENTRY main {
  x = f32[4,4] parameter(0)
  y = f32[4,4] parameter(1)
  n = s32[4] parameter(2)
  at = s32[] parameter(3)
  zero = f32[] constant(0)
  minus_zero = f32[] constant(-0)
  unit = f32[] constant(1)
  lowest = f32[] constant(-inf)
  highest = f32[] constant(inf)
  none = s32[] constant(0)
  one = s32[] constant(1)
  ones = s32[4] constant({1, 1, 1, 1})
  twos = s32[4] constant({2, 2, 2, 2})
  nines = s32[4] constant({9, 9, 9, 9})
  difference = f32[4,4] subtract(x, y)
  turned_over = f32[4,4] transpose(difference), dimensions={1,0}
  sums = f32[4] reduce(turned_over, zero), dimensions={1}, to_apply=sum
  most = f32[4] reduce(x, lowest), dimensions={0}, to_apply=largest
  padded = f32[6] pad(sums, zero), padding=1_1
  middle = f32[4] slice(padded), slice={[2:6]}
  product = f32[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  numbers = s32[4,4] iota(), iota_dimension=0
  bound = s32[4] clamp(ones, n, nines)
  rounded = f32[4] convert(bound)
  halves = s32[4] shift-right-arithmetic(n, ones)
  few = pred[4] compare(n, twos), direction=LT
  chosen = f32[4] select(few, most, rounded)
  start = (s32[], f32[4]) tuple(none, middle)
  loop = (s32[], f32[4]) while(start), condition=goes_on, body=turned
  last = f32[4] get-tuple-element(loop), index=1
  is_small = pred[] compare(at, none), direction=LT
  branch = f32[4] conditional(is_small, chosen, most), true_computation=small, false_computation=large
  piece = f32[2,4] dynamic-slice(product, at, none), dynamic_slice_sizes={2,4}
  upside_down = f32[2,4] reverse(piece), dimensions={0}
  both_ways = f32[4,4] concatenate(piece, upside_down), dimensions={0}
  counted = s32[4,4] add(numbers, numbers)
  ROOT results = (f32[4], f32[4], f32[4,4], s32[4], s32[4,4]) tuple(last, branch, both_ways, halves, counted)
}
"""

# What is written instead of a part of the program.
MISCOMPILES = {
    "operands swapped": ("subtract(x, y)", "subtract(y, x)"),
    "another opcode": ("subtract(x, y)", "add(x, y)"),
    "reduced dimension": (
        "(turned_over, zero), dimensions={1}",
        "(turned_over, zero), dimensions={0}",
    ),
    "transpose forgotten": ("transpose(difference), dimensions={1,0}", "copy(difference)"),
    "neutral element of a sum": ("reduce(turned_over, zero)", "reduce(turned_over, unit)"),
    "neutral element of a maximum": ("reduce(x, lowest)", "reduce(x, zero)"),
    "body of a fold": ("maximum(a, b)", "minimum(a, b)"),
    "sign of a padding of zeros": ("pad(sums, zero)", "pad(sums, minus_zero)"),
    "value of a padding": ("pad(sums, zero)", "pad(sums, highest)"),
    "side of a padding": ("padding=1_1", "padding=2_0"),
    "slice off by one": ("slice={[2:6]}", "slice={[1:5]}"),
    "contracted dimension": ("lhs_contracting_dims={1}", "lhs_contracting_dims={0}"),
    "dimension of an iota": ("iota_dimension=0", "iota_dimension=1"),
    "dimension of a reverse": ("reverse(piece), dimensions={0}", "reverse(piece), dimensions={1}"),
    "order of a concatenation": ("(piece, upside_down)", "(upside_down, piece)"),
    "upper bound of a clamp": ("n, nines)", "n, twos)"),
    "conversion left out": ("convert(bound)", "bitcast-convert(bound)"),
    "direction of a comparison": (
        "compare(n, twos), direction=LT",
        "compare(n, twos), direction=GE",
    ),
    "equality in a comparison": (
        "compare(n, twos), direction=LT",
        "compare(n, twos), direction=LE",
    ),
    "branches of a select": ("select(few, most, rounded)", "select(few, rounded, most)"),
    "bound of a loop": ("turns = s32[] constant(2)", "turns = s32[] constant(3)"),
    "last turn of a loop": ("(turn, turns), direction=LT", "(turn, turns), direction=LE"),
    "step of a loop": ("step = s32[] constant(1)", "step = s32[] constant(2)"),
    "start of a loop": ("tuple(none, middle)", "tuple(one, middle)"),
    "index of an update": ("update-slice(row, fresh, turn)", "update-slice(row, fresh, next)"),
    "computations of a conditional": (
        "true_computation=small, false_computation=large",
        "true_computation=large, false_computation=small",
    ),
    "operand of a branch": ("(is_small, chosen, most)", "(is_small, most, most)"),
    "starts of a dynamic slice": (
        "dynamic-slice(product, at, none)",
        "dynamic-slice(product, none, at)",
    ),
    "rounding of a shift": ("shift-right-arithmetic(n, ones)", "divide(n, twos)"),
    "sign of a shift": ("shift-right-arithmetic(n, ones)", "shift-right-logical(n, ones)"),
    "one number in four billions": (
        "halves = s32[4] shift-right-arithmetic(n, ones)",
        "far = s32[4] constant({123456789, 123456789, 123456789, 123456789})\n"
        "  is_far = pred[4] compare(n, far), direction=EQ\n"
        "  half = s32[4] shift-right-arithmetic(n, ones)\n"
        "  halves = s32[4] select(is_far, n, half)",
    ),
    "element of the results": ("tuple(last, branch,", "tuple(branch, last,"),
}


@pytest.mark.parametrize("planted", MISCOMPILES)
def test_miscompiled_program_is_refuted_by_arguments(planted):
    right, wrong = MISCOMPILES[planted]
    assert PROGRAM.count(right) == 1
    before, after = hlo.parse(PROGRAM), hlo.parse(PROGRAM.replace(right, wrong))
    found = prove_modules(before, after)
    assert found.word == "refuted"
    given = found.failure.arguments
    assert compare(evaluate(after, *given), evaluate(before, *given)) is not None


def module(text):
    return hlo.parse("HloModule m\n" + text)


def told(passes, text, **limits):
    """The lines about some passes over a program."""
    lines = []
    Log([ProvePasses(lines.append, ProofLimits(**limits))]).run(find_pipeline(passes), module(text))
    return "\n".join(lines)


QUOTIENT = """
ENTRY main {
  x = f32[4] parameter(0)
  seven = f32[4] constant({7, 7, 7, 7})
  one = f32[4] constant({1, 1, 1, 1})
  same = f32[4] multiply(x, one)
  ROOT quotient = f32[4] divide(same, seven)
}
"""


def test_rewrite_that_rounds_is_sampled_and_named():
    """Of a promise that forgives rounding errors there is nothing to prove."""
    assert told("algebraic-simplifier,dce", QUOTIENT).splitlines() == [
        "algebraic-simplifier: proved but for 1 of 4 rewrites, which was sampled",
        "    4 divide(x, c) => multiply(x, 1 / c): %quotient -> %multiply: "
        "it promises ROUNDING, which no proof is about",
    ]


def test_effort_is_limited():
    """What would take too long is sampled: nothing is claimed of it, and it is said why."""
    answer, *_, rest = told("algebraic-simplifier", QUOTIENT, elements=10).splitlines()
    assert answer == "algebraic-simplifier: no proof of 5 rewrites, which were sampled"
    assert rest == "    the rest: there are more than 10 different elements"


class Forgetful:
    """A pass that takes the first operand for the sum, and tells nobody."""

    name = "forgetful"

    def run(self, module, log):  # noqa: ARG002
        plan = {i: i.operands[0] for i in module.entry.instructions if i.opcode == "add"}
        entry = rebuild(module.entry, plan)
        return replace(module, entry=entry, computations=(entry,))


def test_pass_that_reports_no_rewrites_is_refuted():
    """A proof is about the modules before and after, whatever a pass says of itself."""
    lines = []
    before = module("""
    ENTRY main {
      x = s8[2] parameter(0)
      three = s8[2] constant({3, 3})
      ROOT sum = s8[2] add(x, three)
    }
    """)
    watching = ProvePasses(lines.append)
    Log([watching]).run(Forgetful(), before)
    assert watching.refuted
    assert lines == [
        "forgetful: refuted",
        "    the value changes: [0]: 3 instead of 6; 2 of 2 elements differ (up to 3 ulps)",
        "    %x = s8[2] [ 3, -23]",
    ]


FILE = """
from dataclasses import dataclass, replace
from hlo.walk import rebuild

@dataclass(frozen=True)
class Forgetful:
    name = "forgetful"

    def run(self, module, log):
        plan = {i: i.operands[0] for i in module.entry.instructions if i.opcode == "maximum"}
        if not plan:
            return module
        entry = rebuild(module.entry, plan)
        return replace(module, entry=entry, computations=(entry,))
"""


def test_command_fails_and_writes_nothing_if_a_pass_of_ones_own_is_wrong(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "m.hlo").write_text("HloModule m\n" + QUOTIENT.replace("divide", "maximum"))
    out = tmp_path / "out.hlo"
    passes = f"algebraic-simplifier,{tmp_path}/mine.py:Forgetful"
    assert main(["opt", f"{tmp_path}/m.hlo", "--prove", "--passes", passes, "-o", str(out)]) == 1
    told = capsys.readouterr().err
    assert "forgetful: refuted" in told
    assert "%x = f32[4]" in told
    assert not out.exists()
