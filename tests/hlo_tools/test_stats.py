"""Counts and sizes, on a module that can be counted by hand."""

from hlo import parse
from hlo_tools.stats import depth, stats

MODULE = parse("""HloModule m

ENTRY e {
  x = f32[4,8] parameter(0)
  k = bf16[8] constant({1, 2, 3, 4, 5, 6, 7, 8})
  c = f32[8] convert(k)
  b = f32[4,8] broadcast(c), dimensions={1}
  s = f32[4,8] add(x, b)
  q = s4[6] constant({1, 2, 3, 4, 5, 6})
  ROOT t = (f32[4,8], s4[6]) tuple(s, q)
}
""")


def test_counts() -> None:
    found = stats(MODULE)
    assert (found.computations, found.instructions) == (1, 7)
    # The commonest first, and by name where there are as many.
    assert list(found.opcodes.items())[:3] == [("constant", 2), ("add", 1), ("broadcast", 1)]
    # The tuple counts as one f32 and one s4.
    assert found.element_types == {"f32": 5, "s4": 2, "bf16": 1}
    assert found.depth == depth(MODULE.entry) == 5


def test_bytes() -> None:
    found = stats(MODULE)
    assert found.parameter_bytes == 4 * 8 * 4
    # s4 takes half a byte.
    assert found.output_bytes == 4 * 8 * 4 + 3
    assert found.constant_bytes == 8 * 2 + 3
    assert found.value_bytes == 8 * 4 + 2 * (4 * 8 * 4)


def test_largest_values_leave_out_what_takes_no_memory() -> None:
    assert [i.name for i in stats(MODULE, largest=3).largest] == ["b", "s", "c"]
    assert stats(MODULE, largest=0).largest == ()


def test_depth_of_a_long_chain() -> None:
    chain = "".join(f"  a{i + 1} = f32[] negate(a{i})\n" for i in range(5000))
    module = parse(f"HloModule m\n\nENTRY e {{\n  a0 = f32[] parameter(0)\n{chain}}}\n")
    assert depth(module.entry) == 5001
