"""Passes beside bitcasts: a new value lies in memory as the old one did, or is copied."""

from random import Random

import pytest

import hlo
from hlo_tools.generate.values import ascending, nasty, tame
from hlo_tools.search.checking.failure import find_failure
from optimizer import Log, parse_pipeline

# By pass, modules that it changes, and whose value a bitcast would read in another order.
BESIDE = {
    "map-inline": """
        twice { a = s32[] parameter(0)  ROOT t = s32[] add(a, a) }
        ENTRY e {
          x = s32[3,4]{1,0} parameter(0)
          m = s32[3,4]{0,1} map(x), dimensions={0,1}, to_apply=twice
          ROOT b = s32[12]{0} bitcast(m)
        }""",
    "dot-merger": """
        ENTRY e {
          x = s32[2,3]{1,0} parameter(0)
          y = s32[3,4]{1,0} parameter(1)
          z = s32[3,4]{1,0} parameter(2)
          c = s32[2,4]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          d = s32[2,4]{0,1} dot(x, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          b = s32[8]{0} bitcast(d)
          ROOT t = (s32[2,4]{1,0}, s32[8]{0}) tuple(c, b)
        }""",
    # Its operand is there already, in another order.
    "simplify-sorts": """
        less { a = s32[] parameter(0)  b = s32[] parameter(1)
          ROOT c = pred[] compare(a, b), direction=LT }
        ENTRY e {
          x = s32[2,3,1]{1,2,0} parameter(0)
          s = s32[2,3,1]{0,2,1} sort(x), dimensions={2}, is_stable=true, to_apply=less
          ROOT b = s32[6]{0} bitcast(s)
        }""",
    # It makes a tuple, of which the slice becomes an element.
    "topk-rewriter": """
        before {
          a = f32[] parameter(0)  b = f32[] parameter(1)
          i = s32[] parameter(2)  j = s32[] parameter(3)
          ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER
        }
        ENTRY e {
          x = f32[2,3]{1,0} parameter(0)
          n = s32[2,3]{1,0} iota(), iota_dimension=1
          s = (f32[2,3]{1,0}, s32[2,3]{1,0}) sort(x, n), dimensions={1}, to_apply=before
          v = f32[2,3]{1,0} get-tuple-element(s), index=0
          a = f32[2,2]{0,1} slice(v), slice={[0:2], [0:2]}
          ROOT b = f32[4]{0} bitcast(a)
        }""",
    # Sizes of run time have nothing to do with the copy.
    "dynamic-padder": """
        add { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }
        ENTRY e {
          p = s32[<=3,4] parameter(0)
          z = s32[] constant(0)
          r = s32[4]{0} reduce(p, z), dimensions={0}, to_apply=add
          v = s32[2,2]{0,1} bitcast(r)
          c = s32[2,2]{1,0} copy(v)
          ROOT b = s32[4]{0} bitcast(c)
        }""",
}


@pytest.mark.parametrize("name", BESIDE)
def test_bitcast_reads_what_it_read(name: str) -> None:
    module = hlo.parse(f"HloModule m\n{BESIDE[name]}")
    run = parse_pipeline(name).passes[0]
    assert run.run(module, Log()) is not module
    random = Random(0)
    given = [
        [fill(p.shape, random) for p in module.entry.parameters]
        for fill in (ascending, tame, nasty)
    ]
    failure = find_failure(run, module, *given)
    assert failure is None, str(failure)


def test_rules_that_layouts_held_back_apply_once_the_last_bitcast_is_gone() -> None:
    """Beside a bitcast, `or` stays, as its operand lies otherwise; the bitcast itself goes."""
    text = """
    ENTRY e {
      x = s32[] parameter(0)
      y = s32[2,3]{0,1} parameter(1)
      o = s32[2,3]{1,0} or(y, y)
      b = s32[] bitcast(x)
      ROOT t = (s32[2,3]{1,0}, s32[]) tuple(o, b)
    }"""
    run = parse_pipeline("algebraic-simplifier")
    once = run.run(hlo.parse(text), Log())
    assert once.entry.opcodes.isdisjoint({"bitcast", "or"})
    assert run.run(once, Log()) is once
