"""What is computed twice gets its kernels once, wherever its arrays lie."""

import numpy as np
import pytest
from emitted import checked

LAYER = """
  d{0} = f32[8,8] dot({1}, w{0}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  b{0} = f32[8,8] broadcast({2}), dimensions={{1}}
  a{0} = f32[8,8] add(d{0}, b{0})
  t{0} = f32[8,8] abs(a{0})"""


def calls(text, *arguments, optimize=True):
    """The kernels that the entry calls, of a module whose values are right."""
    return checked(text, optimize=optimize, arguments=arguments).kernel_calls


def numbers(*dims):
    """Whole ones, so that sums are exact in any order."""
    return np.random.default_rng(len(dims)).integers(-3, 4, dims).astype(np.float32)


def test_layers_share_their_kernels():
    parameters = "".join(f"  w{k} = f32[8,8] parameter({k})\n" for k in range(4))
    layers = "".join(LAYER.format(k, f"t{k - 1}" if k else "x", "y") for k in range(4))
    made = calls(
        f"HloModule m\nENTRY e {{\n{parameters}  x = f32[8,8] parameter(4)\n"
        f"  y = f32[8] parameter(5){layers}\n  ROOT r = f32[8,8] negate(t3)\n}}",
        *(numbers(8, 8) for _ in range(5)),
        numbers(8),
    )
    assert len(made) == 8
    assert len(set(made)) == 3  # the last fusion negates, too


@pytest.mark.parametrize(("first", "second"), [("x", "y"), ("y", "x"), ("x", "x")])
def test_pointers_follow_their_roles(first, second):
    made = calls(
        f"""HloModule m
ENTRY e {{
  x = f32[100] parameter(0)
  y = f32[100] parameter(1)
  s = f32[100] subtract(x, y)
  t = f32[100] subtract({first}, {second})
  ROOT r = (f32[100], f32[100]) tuple(s, t)
}}""",
        numbers(100),
        numbers(1, 100)[0],
        optimize=False,
    )
    # A kernel that is given one array twice is another one.
    assert len(set(made)) == (1 if first != second else 2)


@pytest.mark.parametrize("number", ["1", "2"])
def test_kernels_that_know_different_numbers_are_different(number):
    made = calls(
        f"""HloModule m
ENTRY e {{
  x = f32[100] parameter(0)
  one = f32[] constant(1)
  other = f32[] constant({number})
  a = f32[100] broadcast(one), dimensions={{}}
  b = f32[100] broadcast(other), dimensions={{}}
  s = f32[100] add(x, a)
  t = f32[100] add(s, b)
  ROOT r = (f32[100], f32[100]) tuple(s, t)
}}""",
        numbers(100),
        optimize=False,
    )
    assert len(set(made)) == int(number)


def test_scratch_memory_is_each_calls_own():
    calls(
        """HloModule m
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = f32[3,50] parameter(0)
  s = f32[3,50] sort(x), dimensions={1}, to_apply=less
  n = f32[3,50] negate(s)
  t = f32[3,50] sort(n), dimensions={1}, to_apply=less
  ROOT r = f32[3,50] add(s, t)
}""",
        numbers(3, 50),
    )
