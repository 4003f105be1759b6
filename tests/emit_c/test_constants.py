"""Constants in the text of C and beside it keep every bit."""

import pytest
from strategies.compiled import check, entry


def test_constants_in_text_and_large_ones():
    numbers = ", ".join(str(n % 7) for n in range(3000))
    executable = check(entry(f"""a = s32[3000] constant({{{numbers}}})
b = s32[3000] parameter(0)
c = f32[3] constant({{nan, -0, 1e-45}})
d = s32[3000] add(a, b)
ROOT r = (s32[3000], s32[3000], f32[3]) tuple(a, d, c)"""))  # fmt: skip
    assert executable.memory.constants == 12000


def test_negative_constants_can_be_negated():
    check(
        entry("""a = s32[3] constant({-2, -2, -2})
b = f8e5m2[3] constant({-1.5, -1.5, -1.5})
c = c64[2] constant({(-1, -2), (-1, -2)})
d = s32[3] negate(a)
e = s32[3] abs(a)
f = s32[3] subtract(d, a)
g = f8e5m2[3] negate(b)
h = c64[2] negate(c)
ROOT r = (s32[3], s32[3], f8e5m2[3], c64[2]) tuple(e, f, g, h)""")
    )


@pytest.mark.parametrize("count", [2, 4, 8, 17])
@pytest.mark.parametrize("element_type", ["s64", "u64", "u32", "s16", "u8", "u4"])
def test_bits_of_constants_are_counted(element_type, count):
    # gcc 12 folds the processor's instruction for two constants of 64 bits wrongly.
    kind = f"{element_type}[{count}]"
    numbers = ", ".join(str(n % 7 + 1) for n in range(count))
    check(
        entry(f"""a = {kind} constant({{{numbers}}})
b = {kind} not(a)
c = {kind} popcnt(a)
d = {kind} popcnt(b)
e = {kind} count-leading-zeros(a)
f = {kind} iota(), iota_dimension=0
g = {kind} popcnt(f)
ROOT r = ({kind}, {kind}, {kind}, {kind}) tuple(c, d, e, g)""")
    )


def test_constants_keep_every_bit_of_their_digits():
    check(entry("""a = f32[8] constant({1, -0, 0.1, 1e-45, -3.4028235e38, 16777217, 0.3333333, 1e9})
b = f64[6] constant({0.1, -0, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 1e22})
c = f32[8] reverse(a), dimensions={0}
d = f64[6] reverse(b), dimensions={0}
ROOT r = (f32[8], f64[6]) tuple(c, d)"""))  # fmt: skip
