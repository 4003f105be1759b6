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


# Each equation of two programs, and why nobody needs to sample it.
EQUAL = {
    "a transpose of a sum is the sum of transposes: index maps": (
        """
        ENTRY main {
          x = f32[2,3] parameter(0)
          y = f32[2,3] parameter(1)
          sum = f32[2,3] add(x, y)
          ROOT turned = f32[3,2] transpose(sum), dimensions={1,0}
        }
        """,
        """
        ENTRY main {
          x = f32[2,3] parameter(0)
          y = f32[2,3] parameter(1)
          left = f32[3,2] transpose(x), dimensions={1,0}
          right = f32[3,2] transpose(y), dimensions={1,0}
          ROOT turned = f32[3,2] add(right, left)
        }
        """,
    ),
    "a transposed product is the product of the transposed: rows and columns": (
        """
        ENTRY main {
          x = f32[2,5] parameter(0)
          y = f32[5,3] parameter(1)
          product = f32[2,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT turned = f32[3,2] transpose(product), dimensions={1,0}
        }
        """,
        """
        ENTRY main {
          x = f32[2,5] parameter(0)
          y = f32[5,3] parameter(1)
          ROOT turned = f32[3,2] dot(y, x), lhs_contracting_dims={0}, rhs_contracting_dims={1}
        }
        """,
    ),
    "a slice of negated numbers is a negated slice: the solver, place by place": (
        """
        ENTRY main {
          x = f32[4] parameter(0)
          at = s32[] parameter(1)
          less = f32[4] negate(x)
          ROOT both = f32[2] dynamic-slice(less, at), dynamic_slice_sizes={2}
        }
        """,
        """
        ENTRY main {
          x = f32[4] parameter(0)
          at = s32[] parameter(1)
          piece = f32[2] dynamic-slice(x, at), dynamic_slice_sizes={2}
          ROOT both = f32[2] negate(piece)
        }
        """,
    ),
    "a slice of an update is the update: elements at the same unknown start": (
        """
        ENTRY main {
          x = f32[4,3] parameter(0)
          row = f32[1,3] parameter(1)
          at = s32[] parameter(2)
          zero = s32[] constant(0)
          changed = f32[4,3] dynamic-update-slice(x, row, at, zero)
          ROOT piece = f32[1,3] dynamic-slice(changed, at, zero), dynamic_slice_sizes={1,3}
        }
        """,
        """
        ENTRY main {
          x = f32[4,3] parameter(0)
          row = f32[1,3] parameter(1)
          at = s32[] parameter(2)
          ROOT piece = f32[1,3] copy(row)
        }
        """,
    ),
    "a gather of one row is a dynamic slice: the same elements by the same starts": (
        """
        ENTRY main {
          x = f32[4,3] parameter(0)
          at = s32[1] parameter(1)
          ROOT row = f32[1,3] gather(x, at), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0, slice_sizes={1,3}
        }
        """,
        """
        ENTRY main {
          x = f32[4,3] parameter(0)
          at = s32[1] parameter(1)
          start = s32[] reshape(at)
          zero = s32[] constant(0)
          turned = f32[3,4] transpose(x), dimensions={1,0}
          column = f32[3,1] dynamic-slice(turned, zero, start), dynamic_slice_sizes={3,1}
          ROOT row = f32[1,3] transpose(column), dimensions={1,0}
        }
        """,
    ),
    "one window over all is a reduction: a fold of the same row": (
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        ENTRY main {
          x = f32[2,4] parameter(0)
          zero = f32[] constant(0)
          ROOT windows = f32[2,1] reduce-window(x, zero), window={size=1x6 pad=0_0x1_1}, to_apply=sum
        }
        """,
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        ENTRY main {
          x = f32[2,4] parameter(0)
          zero = f32[] constant(0)
          sums = f32[2] reduce(x, zero), dimensions={1}, to_apply=sum
          ROOT windows = f32[2,1] reshape(sums)
        }
        """,
    ),
    "twice is a shift: the solver, with every other operand unknown": (
        """
        ENTRY main {
          x = s32[4] parameter(0)
          two = s32[4] constant({2, 2, 2, 2})
          root = f32[4] sqrt(f32[4] convert(x))
          doubled = s32[4] multiply(x, two)
          ROOT both = (s32[4], f32[4]) tuple(doubled, root)
        }
        """,
        """
        ENTRY main {
          x = s32[4] parameter(0)
          one = s32[4] constant({1, 1, 1, 1})
          root = f32[4] sqrt(f32[4] convert(x))
          doubled = s32[4] shift-left(x, one)
          ROOT both = (s32[4], f32[4]) tuple(doubled, root)
        }
        """,
    ),
    "an element of the state that nobody needs does not tell a loop: what one depends on does": (
        """
        body {
          state = (s32[], f32[2], f32[2]) parameter(0)
          turn = s32[] get-tuple-element(state), index=0
          one = s32[] constant(1)
          next = s32[] add(turn, one)
          total = f32[2] get-tuple-element(state), index=1
          weight = f32[2] get-tuple-element(state), index=2
          more = f32[2] add(total, weight)
          ROOT changed = (s32[], f32[2], f32[2]) tuple(next, more, weight)
        }
        goes_on {
          state = (s32[], f32[2], f32[2]) parameter(0)
          turn = s32[] get-tuple-element(state), index=0
          turns = s32[] constant(1000)
          ROOT less = pred[] compare(turn, turns), direction=LT
        }
        ENTRY main {
          x = f32[2] parameter(0)
          none = s32[] constant(0)
          root = f32[2] sqrt(x)
          start = (s32[], f32[2], f32[2]) tuple(none, x, root)
          loop = (s32[], f32[2], f32[2]) while(start), condition=goes_on, body=body
          ROOT total = f32[2] get-tuple-element(loop), index=1
        }
        """,
        """
        body {
          state = (f32[2], s32[], f32[2], f32[2], s32[]) parameter(0)
          turn = s32[] get-tuple-element(state), index=1
          again = s32[] get-tuple-element(state), index=4
          one = s32[] constant(1)
          next = s32[] add(turn, one)
          next_again = s32[] add(one, again)
          weight = f32[2] get-tuple-element(state), index=3
          total = f32[2] get-tuple-element(state), index=2
          product = f32[2] multiply(total, weight)
          more = f32[2] add(weight, total)
          ROOT changed = (f32[2], s32[], f32[2], f32[2], s32[]) tuple(product, next, more, weight, next_again)
        }
        goes_on {
          state = (f32[2], s32[], f32[2], f32[2], s32[]) parameter(0)
          turn = s32[] get-tuple-element(state), index=4
          turns = s32[] constant(1000)
          ROOT less = pred[] compare(turns, turn), direction=GT
        }
        ENTRY main {
          x = f32[2] parameter(0)
          none = s32[] constant(0)
          root = f32[2] sqrt(x)
          start = (f32[2], s32[], f32[2], f32[2], s32[]) tuple(x, none, x, root, none)
          loop = (f32[2], s32[], f32[2], f32[2], s32[]) while(start), condition=goes_on, body=body
          ROOT total = f32[2] get-tuple-element(loop), index=2
        }
        """,
    ),
    "a branch whose condition is known is a call": (
        """
        twice { v = f32[2] parameter(0)  ROOT sum = f32[2] add(v, v) }
        kept { v = f32[2] parameter(0)  ROOT same = f32[2] copy(v) }
        ENTRY main {
          x = f32[2] parameter(0)
          which = s32[] constant(7)
          ROOT taken = f32[2] conditional(which, x, x), branch_computations={twice, kept}
        }
        """,
        "ENTRY main { ROOT x = f32[2] parameter(0) }",
    ),
    "a reduction over two dimensions is one over both as one: the same elements in the same order": (
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        ENTRY main {
          x = f32[2,3,4] parameter(0)
          zero = f32[] constant(0)
          ROOT sums = f32[3] reduce(x, zero), dimensions={2,0}, to_apply=sum
        }
        """,
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(b, a) }
        ENTRY main {
          x = f32[2,3,4] parameter(0)
          turned = f32[3,2,4] transpose(x), dimensions={1,0,2}
          rows = f32[3,8] reshape(turned)
          zero = f32[] constant(0)
          ROOT sums = f32[3] reduce(rows, zero), dimensions={1}, to_apply=sum
        }
        """,
    ),
}


CALLS = """
ENTRY main {
  x = f32[2,2] parameter(0)
  lower = (f32[2,2], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}
  ROOT factor = f32[2,2] get-tuple-element(lower), index=0
}
"""
EMPTY = """
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[0,3] parameter(0)
  y = f32[3,0] parameter(1)
  product = f32[0,0] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  outer = f32[3,3] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  zero = f32[] constant(0)
  sums = f32[0] reduce(x, zero), dimensions={1}, to_apply=sum
  others = f32[3] reduce(x, zero), dimensions={0}, to_apply=sum
  ROOT all = (f32[0,0], f32[3,3], f32[0], f32[3]) tuple(product, outer, sums, others)
}
"""


def test_configuration_of_a_custom_call_tells_it_from_others():
    """Which triangle is factored is written there, as random mutants have shown."""
    before, after = module(CALLS), module(CALLS.replace("76", "85"))
    assert prove_modules(before, before).word == "proved"
    assert prove_modules(before, after).word == "refuted"


def test_arrays_without_elements_are_equal():
    assert prove_modules(module(EMPTY), module(EMPTY.replace("add(a, b)", "add(b, a)"))).left == []


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "a slice of an update",
            "dynamic-slice(changed, at, zero)",
            "dynamic-slice(changed, zero, zero)",
        ),
        ("a gather of one row", "start_index_map={0}", "start_index_map={1}"),
        ("one window over all", "pad=0_0x1_1", "pad=0_0x2_0"),
        ("a slice of negated", "(less, at)", "(x, at)"),
    ],
)
def test_wrong_places_are_refuted(name, right, wrong):
    """An element at an unknown place is refuted by a start for which it is another one."""
    before, after = next(EQUAL[equation] for equation in EQUAL if equation.startswith(name))
    changed = before.replace(right, wrong).replace("size=1x6 pad=0_0x2_0", "size=1x4 pad=0_0x2_-2")
    assert changed != before
    assert prove_modules(module(changed), module(after)).word == "refuted"


def module(text):
    return hlo.parse("HloModule m\n" + text)


@pytest.mark.parametrize("equation", EQUAL)
def test_equal_programs_are_proved(equation):
    found = prove_modules(*map(module, EQUAL[equation]))
    assert (found.word, found.left) == ("proved", [])


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


def test_two_files_are_compared(tmp_path, capsys):
    """`hlo diff --prove` has no rewrites to go by: it pairs instructions by structure and name."""
    one, other = tmp_path / "one.hlo", tmp_path / "other.hlo"
    left, right = EQUAL["twice is a shift: the solver, with every other operand unknown"]
    one.write_text("HloModule m\n" + left)
    other.write_text("HloModule m\n" + right)
    assert main(["diff", "--prove", str(one), str(other)]) == 0
    assert capsys.readouterr().out == f"{one} and {other}: proved\n"
    other.write_text("HloModule m\n" + right.replace("{1, 1, 1, 1}", "{1, 1, 2, 1}"))
    assert main(["diff", "--prove", str(one), str(other)]) == 1
    assert "refuted" in capsys.readouterr().out
