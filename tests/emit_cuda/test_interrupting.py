"""Kernels on the processor that would never end: a signal ends them."""

import signal

import numpy as np
import pytest
from cuda_batches import statements_in

import emit_cuda
import hlo
import interpreter
from emit_cuda.grids.stages import POLL
from emit_cuda.host import library
from emit_cuda.host.device import HostDevice

# Of scalars, which one thread keeps in variables.
SCALARS = """HloModule m
cond { s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  ROOT p = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  j = s32[] xor(i, n)  m = s32[] maximum(i, n)
  k = s32[] subtract(m, j)  l = s32[] and(k, i)  ROOT t = (s32[], s32[]) tuple(l, n) }
ENTRY e { i = s32[] parameter(0)  n = s32[] constant(5)  s = (s32[], s32[]) tuple(i, n)
  ROOT w = (s32[], s32[]) while(s), condition=cond, body=body }"""
# Of arrays, which one block changes together, with barriers.
ARRAYS = """HloModule m
cond { s = (f32[40], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(5)  ROOT p = pred[] compare(i, n), direction=LT }
body { s = (f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0  i = s32[] get-tuple-element(s), index=1
  r = f32[40] reverse(x), dimensions={0}  n = s32[] constant(3)  j = s32[] and(i, n)
  ROOT t = (f32[40], s32[]) tuple(r, j) }
ENTRY e { i = s32[] parameter(0)  b = f32[] convert(i)  x = f32[40] broadcast(b), dimensions={}
  s = (f32[40], s32[]) tuple(x, i)
  ROOT w = (f32[40], s32[]) while(s), condition=cond, body=body }"""
# A loop for each element: of the processor threads that run them, only the first asks Python.
ROWS = """HloModule m
cond { s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  ROOT p = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  j = s32[] and(i, n)
  ROOT t = (s32[], s32[]) tuple(j, n) }
ends { i = s32[] parameter(0)  n = s32[] constant(70000)  s = (s32[], s32[]) tuple(i, n)
  w = (s32[], s32[]) while(s), condition=cond, body=body
  ROOT r = s32[] get-tuple-element(w), index=0 }
ENTRY e { i = s32[] parameter(0)  x = s32[60000] iota(), iota_dimension=0
  b = s32[60000] broadcast(i), dimensions={}  y = s32[60000] add(x, b)
  ROOT r = s32[60000] map(y), dimensions={0}, to_apply=ends }"""
# Of more elements than a block changes: blocks wait for each other, each on a processor thread.
GRID = ARRAYS.replace("f32[40]", "f32[4000]")
CASES = {"scalars": SCALARS, "arrays": ARRAYS, "grid": GRID, "rows": ROWS}


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_an_endless_kernel_is_interrupted(alarm, monkeypatch, case, checked):
    monkeypatch.setattr(library, "processors", lambda: 2)
    module = hlo.parse(CASES[case])
    executable = emit_cuda.compile(module, device=HostDevice(checked=checked))
    assert statements_in(executable.program.kernels.values()).count(POLL) == 1
    seen = []

    def handle(*_):
        seen.append(len(seen))
        if len(seen) == 2:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TimeoutError

    alarm(handle)
    with pytest.raises(TimeoutError):
        executable(np.int32(0))
    # A signal that is handled ends nothing; and what was ended can be called again.
    assert seen == [0, 1]
    ends = np.int32(100_000)
    assert interpreter.compare(executable(ends), interpreter.evaluate(module, ends)) is None
