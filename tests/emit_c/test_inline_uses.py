"""A value that is used once moves to its use, if it means the same there."""

from strategies.compiled import check


def test_a_reader_sees_arrays_in_a_kernel():
    executable = check("""HloModule m
ENTRY e {
  x = f32[8,128] parameter(0)
  y = f32[8,128] parameter(1)
  p = f32[8,128] multiply(x, y)
  ROOT z = f32[8,128] add(p, x)
}
""")
    assert "p[i] = x[i] * y[i];" in executable.source
