"""Tiles have the vectors of the processor that they are compiled for."""

import re

import numpy as np
import pytest

import emit_c
import hlo
from emit_c.code import processor
from emit_c.code.processor import Processor, from_flags


def test_flags_say_what_there_is():
    assert from_flags(["avx", "avx2", "avx512f", "avx512_vnni"], "x86_64") == Processor(
        64, 32, True
    )
    assert from_flags(["avx", "avx512f", "avx_vnni"], "x86_64") == Processor(64, 32, False)
    assert from_flags(["sse2", "avx", "avx_vnni"], "AMD64") == Processor(32, 16, True)
    assert from_flags(["sse2"], "x86_64") == Processor(16, 16, False)
    assert from_flags([], "arm64") == Processor(16, 32, False)


@pytest.mark.parametrize(
    ("vectors", "shape"),
    [((64, 32), (14, 2, 16)), ((32, 16), (6, 2, 8)), ((16, 16), (6, 2, 4)), ((16, 32), (14, 2, 4))],
)
def test_tiles_fit_into_registers(monkeypatch, vectors, shape):
    monkeypatch.setattr(processor, "here", lambda: Processor(*vectors, sums_bytes=False))
    module = hlo.parse("""HloModule m
ENTRY e {
  x = f32[84,100] parameter(0)
  y = f32[100,96] parameter(1)
  ROOT d = f32[84,96] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""")
    generator = np.random.default_rng(0)
    x, y = (generator.integers(-9, 9, s).astype(np.float32) for s in ((84, 100), (100, 96)))
    executable = emit_c.compile(module, optimize=False, remember=False)
    np.testing.assert_array_equal(executable(x, y), x @ y)
    tile = re.search(r"hlo_tile_\w+?_(\d+)x(\d+)x(\d+)_", executable.source)
    assert tuple(map(int, tile.groups())) == shape
