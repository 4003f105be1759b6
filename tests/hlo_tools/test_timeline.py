"""`hlo timeline FILE`."""

TWO = b"""HloModule m

ENTRY e {
  x = f32[4,4] parameter(0)
  a = f32[4,4] exponential(x)
  ROOT b = f32[4,4] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def test_timeline_is_drawn(hlo) -> None:
    result = hlo("timeline", "-", "--list", stdin=TWO)
    assert result.status == 0
    first, total, *listed = result.out.splitlines()
    assert first.startswith("   compute [a")
    assert total.endswith(" microseconds")
    assert [line.split()[-1] for line in listed] == ["%a", "%b"]
