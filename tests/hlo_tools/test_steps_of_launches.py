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


SUM = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[SHAPE] parameter(0)
  o = f32[] constant(0)
  ROOT y = f32[ROWS] reduce(x, o), dimensions={ALONG}, to_apply=add
}
"""


def sum_of(shape, rows, along):
    return SUM.replace("SHAPE", shape).replace("ROWS", rows).replace("ALONG", along)


def test_threads_fold_parts_of_a_row(hlo) -> None:
    """Four rows are in a block, a warp for each; warps past the last row store nothing."""
    steps, _ = primitives(hlo, sum_of("1001,132", "1001", "1"))
    assert steps == [
        "strip_mine by 4",
        "pack 4",
        "rfactor",
        "deal to 32 lanes",
        "bind to threadIdx.x",
        "divide by 4, the last again",
        "bind to threadIdx.x",
        "bind to blockIdx.x",
    ]


def test_parts_of_columns_wait_in_shared_memory(hlo) -> None:
    """Warps along a row fold neighbouring columns, and then a warp folds the parts of one."""
    steps, shown = primitives(hlo, sum_of("300,64", "64", "0"))
    assert steps == [
        "rfactor",
        "deal to 32 lanes",
        "bind to threadIdx.y",
        "bind to threadIdx.x",
        "bind to threadIdx.x",
        "bind to threadIdx.y",
        "tile by 32 columns, staged in shared memory",
        *("bind to blockIdx.x",) * 2,
    ]
    assert "for (s64 column = 0; column < 64; column++) {" in shown


def test_a_long_row_is_folded_in_parts(hlo) -> None:
    """The first launch leaves a result of each part, and the second one folds these."""
    steps, _ = primitives(hlo, sum_of("100000", "", "0"))
    assert steps == [
        "strip_mine by 4",
        "pack 4",
        "divide by 4608",
        "rfactor",
        "fold 6 parts",
        *("rfactor", "deal to 1024 lanes", "bind to threadIdx.x"),
        *("bind to blockIdx.x",) * 2,
        *("rfactor", "deal to 8 lanes", "bind to threadIdx.x"),
        *("divide by 16, the last again", "bind to threadIdx.x", "bind to blockIdx.x"),
    ]
