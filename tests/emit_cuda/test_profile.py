"""What launches took, beside the least time that a GPU needs for them."""

import json

import numpy as np

import emit_cuda
import hlo
import interpreter
from emit_cuda.host.device import HostDevice
from emit_cuda.profile import profile

TEXT = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4,64] parameter(0)
  y = f32[4,64] tanh(x)
  z = f32[] constant(0)
  r = f32[4] reduce(y, z), dimensions={1}, to_apply=add
  ROOT t = (f32[4,64], f32[4]) tuple(y, r)
}"""


def test_each_launch_has_a_time_and_a_roofline():
    module, x = hlo.parse(TEXT), np.ones((4, 64), np.float32)
    optimized = emit_cuda.optimized(module)
    found = profile(optimized, [x], HostDevice())
    np.testing.assert_allclose(found.value[1], interpreter.evaluate(module, x)[1], rtol=1e-5)
    rows = found.rows()
    launched = [s.kernel for s in emit_cuda.emit(optimized).steps]
    assert sorted(row.kernel for row in rows) == sorted(launched)
    assert all(row.seconds > 0 and row.least_seconds >= 1e-6 for row in rows)
    assert all(row.bound == "launch" and row.bytes >= 1024 for row in rows)


def test_the_trace_has_measured_beside_simulated():
    found = profile(emit_cuda.optimized(hlo.parse(TEXT)), [np.ones((4, 64), "f4")], HostDevice())
    events = json.loads(found.trace())["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M"}
    assert tracks == {"measured": 0, "simulated: A100": 1}
    names = [[e["name"] for e in events if e["ph"] == "X" and e["tid"] == t] for t in (0, 1)]
    assert names[0] == names[1] == [each.kernel for each in found.times]
