"""Smaller cases of a failure stay modules with an argument for each parameter."""

import numpy as np

import hlo
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.fewer import opened


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


def test_a_fusion_that_ignores_an_operand_is_opened() -> None:
    module = hlo.parse("""HloModule m
fused { p = f32[2] parameter(0) ROOT s = f32[2] add(p, p) }
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT f = f32[2] fusion(x, y), kind=kLoop, calls=fused
}""")
    first = next(opened(Case(module, (np.ones(2, np.float32),) * 2)))
    assert first.module.entry.root.opcode == "add"
    hlo.verify(first.module)
