"""`hlo opt --stage buffers`, `--svg` and `hlo why copy`."""

import emit_c
import optimizer
from emit_c.program.emit import emit
from hlo import parse

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


def test_the_memory_shown_is_that_of_the_c(hlo, softmax) -> None:
    """To the byte, with what single instructions need beside their arrays."""
    shown = hlo("opt", softmax, "--stage", "buffers").out
    (line,) = [line for line in shown.splitlines() if "preallocated temp allocation" in line]
    module = parse(softmax.read_text())
    program = emit(optimizer.optimize(module))
    assert program.slot_bytes == 0
    assert line.rstrip(")").endswith((f"({program.arena_bytes}B", f" {program.arena_bytes}B"))
    assert emit_c.compile(module).memory.temporaries == program.arena_bytes
    assert "scratch memory: %dot_general" in shown


def test_copies_are_explained(hlo) -> None:
    result = hlo("why", "copy", "-", "x", stdin=UPDATE)
    assert result.out.startswith("copied (update-in-place): %x (line 4) and %y, which updates it")
    assert hlo("why", "copy", "-", "u", stdin=UPDATE).out.startswith("not copied (no-clash)")
