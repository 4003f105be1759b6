"""Smaller cases of a failure stay modules with an argument for each parameter."""

import numpy as np

import hlo
from hlo_tools.shrink.case import Case


def test_a_parameter_that_something_waits_for_is_kept() -> None:
    module = hlo.parse("""HloModule m
ENTRY e {
  unused = f32[] parameter(0)
  waited = s32[] parameter(1)
  x = f32[2] parameter(2)
  ROOT n = f32[2] negate(x), control-predecessors={waited}
}""")
    given = (np.float32(0), np.int32(1), np.ones(2, np.float32))
    case = Case(module, given).with_entry(module.entry)
    assert [p.name for p in case.module.entry.parameters] == ["waited", "x"]
    assert case.arguments == given[1:]
    hlo.verify(case.module)
