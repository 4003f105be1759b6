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


SUM = b"""HloModule m, num_partitions=8

ENTRY e {
  x = f32[8,1024] parameter(0), sharding={devices=[1,8]<=[8]}
  w = f32[1024,8] parameter(1), sharding={devices=[8,1]<=[8]}
  ROOT d = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def test_several_devices_take_the_time_of_their_links(hlo) -> None:
    """256 bytes are small: three rounds of a message, two over one link and one over two."""
    result = hlo("timeline", "-", "--topology", "torus:2x4", "--latency", 5, "--list", stdin=SUM)
    assert result.status == 0
    first, *_ = result.out.splitlines()
    assert first == "8 devices (A100), torus:2x4: 300 GB/s and 5 microseconds a link"
    last = result.out.splitlines()[-1]
    start, end, _, _, algorithm = last.split()
    assert algorithm == "doubling"
    assert 20 < float(end) - float(start) < 20.1


def test_wrong_topology_is_bad_usage(hlo) -> None:
    result = hlo("timeline", "-", "--topology", "ring:3", stdin=SUM)
    assert (result.status, "HLO204" in result.err) == (2, True)
    assert hlo("timeline", "-", "--bandwidth", 1, stdin=SUM).status == 2
    assert hlo("timeline", "-", "--topology", "ring", "--bandwidth", 0, stdin=SUM).status == 2
