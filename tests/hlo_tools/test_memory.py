"""`hlo opt --stage buffers`, `--svg` and `hlo why copy`."""

UPDATE = b"""HloModule m

ENTRY e {
  x = f32[8] parameter(0)
  u = f32[2] parameter(1)
  i = s32[] parameter(2)
  ROOT y = f32[8] dynamic-update-slice(x, u, i)
}
"""


def test_buffers_are_listed_and_drawn(hlo, tmp_path) -> None:
    drawn = tmp_path / "buffers.svg"
    result = hlo("opt", "-", "--stage", "buffers", "--svg", drawn, stdin=UPDATE)
    assert result.status == 0
    assert result.out.startswith("BufferAssignment:\nallocation 0: size 32, parameter 0, shape")
    assert "maybe-live-out:\n value: " in result.out
    assert drawn.read_text().startswith("<svg ")


def test_copies_are_explained(hlo) -> None:
    result = hlo("why", "copy", "-", "x", stdin=UPDATE)
    assert result.out.startswith("copied (update-in-place): %x (line 4) and %y, which updates it")
    assert hlo("why", "copy", "-", "u", stdin=UPDATE).out.startswith("not copied (no-clash)")
