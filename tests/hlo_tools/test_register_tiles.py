"""The loops of a register tile are shown with those of the kernel that calls it."""

from pathlib import Path

import hlo
from emit_c.code import processor
from hlo_tools.drawing.pictures.loops import loops
from optimizer import optimize

SHOWN = Path(__file__).with_name("register_tile.c")
EPILOGUE = """HloModule m
ENTRY e {
  x = f32[8,64] parameter(0)
  w = f32[64,16] parameter(1)
  b = f32[16] parameter(2)
  dot = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[8,16] broadcast(b), dimensions={1}
  ROOT add = f32[8,16] add(dot, bias)
}"""


def test_the_loops_of_a_tile_come_after_those_that_call_it(monkeypatch, bless):
    """A row is a vector of 16 numbers, of which the processor has 32; a pointer is for four."""
    avx512 = processor.Processor(64, 32, sums_bytes=False)
    monkeypatch.setattr(processor, "here", lambda: avx512)
    module = optimize(hlo.parse(EPILOGUE), target="cpu")
    shown = loops(module, "dot")
    if bless:
        SHOWN.write_text(shown)
    assert shown == SHOWN.read_text()
    assert loops(module).startswith(shown)
    assert "hlo_tile" not in loops(module, "add")
