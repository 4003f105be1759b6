"""Pairs of programs: those that compute the same are proved, others are refuted."""

# Programs are as they are read.
# ruff: noqa: E501

import pytest

import hlo
from hlo_tools.cli import main
from hlo_tools.proofs.modules import prove_modules

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
    "a window beside the array has the initial value: a fold of no elements": (
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        ENTRY main {
          x = f32[1] parameter(0)
          start = f32[] parameter(1)
          sums = f32[2] reduce-window(x, start), window={size=1 pad=1_0}, to_apply=sum
          ROOT first = f32[1] slice(sums), slice={[0:1]}
        }
        """,
        """
        ENTRY main {
          x = f32[1] parameter(0)
          start = f32[] parameter(1)
          ROOT first = f32[1] reshape(start)
        }
        """,
    ),
    "starts may be one array, as they were once: the same elements by the same starts": (
        """
        ENTRY main {
          x = f32[3,4] parameter(0)
          row = f32[1,2] parameter(1)
          at = s32[2] parameter(2)
          y = f32[3,4] dynamic-update-slice(x, row, at)
          ROOT piece = f32[1,2] dynamic-slice(y, at), dynamic_slice_sizes={1,2}
        }
        """,
        """
        ENTRY main {
          x = f32[3,4] parameter(0)
          row = f32[1,2] parameter(1)
          at = s32[2] parameter(2)
          ROOT piece = f32[1,2] copy(row)
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
    "a scatter into a transposed array is a transposed scatter: the same updates by the same starts": (
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        ENTRY main {
          x = f32[4,3] parameter(0)
          at = s32[2,1] parameter(1)
          rows = f32[2,2] parameter(2)
          ROOT y = f32[4,3] scatter(x, at, rows), update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=sum
        }
        """,
        """
        sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(b, a) }
        ENTRY main {
          x = f32[4,3] parameter(0)
          at = s32[2,1] parameter(1)
          rows = f32[2,2] parameter(2)
          turned = f32[3,4] transpose(x), dimensions={1,0}
          indices = s32[1,2] reshape(at)
          columns = f32[1,2,2] transpose(f32[2,2,1] reshape(rows)), dimensions={2,1,0}
          y = f32[3,4] scatter(turned, indices, columns), update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=sum
          ROOT back = f32[4,3] transpose(y), dimensions={1,0}
        }
        """,
    ),
    "one scattered row is an update where it lies inside: the solver, place by place": (
        """
        latest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] copy(b) }
        ENTRY main {
          x = f32[4,2] parameter(0)
          at = s32[1] parameter(1)
          row = f32[1,2] parameter(2)
          ROOT y = f32[4,2] scatter(x, at, row), update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, unique_indices=true, to_apply=latest
        }
        """,
        """
        ENTRY main {
          x = f32[4,2] parameter(0)
          at = s32[1] parameter(1)
          row = f32[1,2] parameter(2)
          start = s32[] reshape(at)
          zero = s32[] constant(0)
          three = s32[] constant(3)
          near = s32[] clamp(zero, start, three)
          inside = pred[] compare(start, near), direction=EQ
          every = pred[4,2] broadcast(inside), dimensions={}
          updated = f32[4,2] dynamic-update-slice(x, row, start, zero)
          ROOT y = f32[4,2] select(every, updated, x)
        }
        """,
    ),
    "a scatter along a batch is one at the batch's numbers: starts that are known ask nothing": (
        """
        latest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] copy(b) }
        ENTRY main {
          x = f32[2,4] parameter(0)
          at = s32[2,1] parameter(1)
          new = f32[2] parameter(2)
          ROOT y = f32[2,4] scatter(x, at, new), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=latest
        }
        """,
        """
        latest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] copy(b) }
        ENTRY main {
          x = f32[2,4] parameter(0)
          at = s32[2,1] parameter(1)
          new = f32[2] parameter(2)
          row = s32[2,1] iota(), iota_dimension=0
          both = s32[2,2] concatenate(at, row), dimensions={1}
          ROOT y = f32[2,4] scatter(x, both, new), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1, to_apply=latest
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


SQUARES = """
ENTRY main {
  x = bf16[1,1,1] parameter(0)
  y = bf16[1,1,1] convolution(x, x), window={size=1}, dim_labels=b0f_0io->b0f
  ROOT z = f32[1,1,1] convolution(y, y), window={size=1}, dim_labels=b0f_0io->b0f
}
"""


def test_convolution_to_another_type_is_a_difference():
    """Of a convolution nothing is known but its operands; and its type, in which it is rounded."""
    whole = SQUARES.replace("y = bf16", "y = s8")
    assert prove_modules(module(SQUARES), module(whole)).word == "refuted"


SINK = """
ENTRY main {
  x = f32[3] parameter(0)
  d = () custom-call(x), custom_call_target="TARGET", custom_call_has_side_effect=true
  ROOT y = f32[3] negate(x)
}
"""


@pytest.mark.parametrize(("target", "may_go"), [("dce_sink", True), ("another", False)])
def test_call_that_only_keeps_its_operands_may_go(target, may_go):
    before = SINK.replace("TARGET", target)
    after = "".join(line for line in before.splitlines(True) if "custom-call" not in line)
    found = prove_modules(module(before), module(after))
    assert (found.word == "refuted") != may_go


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
        (
            "a scatter into a transposed",
            "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}",
            "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}",
        ),
        ("one scattered row", "scatter(x, at, row)", "scatter(x, s32[1] negate(at), row)"),
        ("a scatter along a batch", "scatter(x, at, new)", "scatter(x, at, f32[2] negate(new))"),
    ],
)
def test_wrong_places_are_refuted(name, right, wrong):
    """An element at an unknown place is refuted by a start for which it is another one."""
    before, after = next(EQUAL[equation] for equation in EQUAL if equation.startswith(name))
    changed = before.replace(right, wrong).replace("size=1x6 pad=0_0x2_0", "size=1x4 pad=0_0x2_-2")
    assert changed != before
    assert prove_modules(module(changed), module(after)).word == "refuted"


def test_claim_that_indices_are_unique_is_a_difference():
    """Where two are the same, XLA leaves the result open, so only one of both says what it is."""
    text = EQUAL[
        "a scatter into a transposed array is a transposed scatter: the same updates by the same starts"
    ][0]
    claim = module(text.replace("index_vector_dim=1", "index_vector_dim=1, unique_indices=true"))
    assert prove_modules(claim, claim).word == "proved"
    assert prove_modules(claim, module(text)).word == "sampled"


def module(text):
    return hlo.parse("HloModule m\n" + text)


@pytest.mark.parametrize("equation", EQUAL)
def test_equal_programs_are_proved(equation):
    found = prove_modules(*map(module, EQUAL[equation]))
    assert (found.word, found.left) == ("proved", [])


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
