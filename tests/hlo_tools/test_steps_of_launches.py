"""`hlo opt --stage loops --target gpu --steps`: how a plain nest becomes the launch of a kernel."""

import re

MAP = """HloModule m
ENTRY main {
  x = f32[1001,1001] parameter(0)
  ROOT y = f32[1001,1001] negate(x)
}
"""


def primitives(hlo, text):
    words = ("opt", "-", "--target", "gpu", "--stage", "loops", "--steps")
    shown = hlo(*words, stdin=text.encode()).out
    return re.findall(r"in map-to-threads, step \d+ of \d+: (.*)", shown), shown


def test_a_map_is_a_nest_that_is_bound_to_threads(hlo) -> None:
    """What a thread of the last block has no element for, a condition leaves out."""
    steps, shown = primitives(hlo, MAP)
    assert steps == [
        "coalesce",
        "strip_mine by 4",
        "pack 4",
        "divide by 128 with a guard",
        "bind to threadIdx.x",
        "bind to blockIdx.x",
    ]
    assert "// bound to threadIdx.x\n" in shown


TRANSPOSE = """HloModule m
ENTRY main {
  x = f32[128,3,64] parameter(0)
  ROOT y = f32[3,64,128] transpose(x), dimensions={1,2,0}
}
"""


def test_a_transpose_is_staged_in_shared_memory(hlo) -> None:
    """Dimensions that are one in the operand are one loop; columns of f32 are not coalesced."""
    steps, shown = primitives(hlo, TRANSPOSE)
    assert steps == [
        "coalesce",
        "tile by 32, staged in shared memory",
        *("bind to threadIdx.y", "bind to threadIdx.x") * 2,
        "bind to blockIdx.x",
    ]
    assert "for (s64 row = 0; row < 192; row++) {" in shown
