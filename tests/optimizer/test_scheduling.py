"""Orders are orders, and the best of them needs no more memory than any other."""

from random import Random

import pytest
from hypothesis import settings
from strategies.loops import busy_module

import hlo
from hlo.errors.error import HloError
from hlo_tools.generate.modules import random_module
from optimizer import Log
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.check import check
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.scheduling.memory_scheduler import (
    HloMemoryScheduler,
    as_scheduled,
    best_schedule,
    peak_bytes,
    scheduled,
)
from optimizer.scheduling.orders import ORDERS


def modules():
    for seed in range(settings.default.max_examples):
        for made in (random_module(Random(seed)), busy_module(Random(seed))):
            yield FlattenCallGraph().run(made, Log())


@pytest.mark.parametrize("algorithm", ORDERS)
def test_what_is_needed_comes_before(algorithm):
    for module in modules():
        found = scheduled(module, algorithm)
        for before, after in zip(module.computations, found.computations, strict=True):
            assert sorted(i.name for i in before.instructions) == sorted(
                i.name for i in after.instructions
            )
            seen = set()
            for instr in after.instructions:
                assert seen.issuperset((*instr.operands, *instr.control_predecessors))
                seen.add(instr)


def test_the_best_is_the_best():
    for module in modules():
        _, best = best_schedule(module)
        others = [peak_bytes(scheduled(module, algorithm)) for algorithm in ORDERS]
        assert peak_bytes(best) <= min(*others, peak_bytes(module))


def test_schedules_can_be_assigned():
    for module in modules():
        run = HloMemoryScheduler().run(module, Log())
        check(assign(CopyInsertion().run(run, Log())))


def test_unknown_algorithms_are_refused():
    with pytest.raises(HloError, match="no algorithm `lists`") as caught:
        HloMemoryScheduler("lists").run(
            hlo.parse("HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }"), Log()
        )
    assert caught.value.code == "HLO152"


REDUCES = """HloModule m
add { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
ENTRY e {
  x = f32[] parameter(0)
  zero = f32[] constant(0)
  a = f32[1000] broadcast(x), dimensions={}
  b = f32[1000] exponential(a)
  c = f32[1000] cosine(a)
  d = f32[1000] tanh(a)
  e = f32[] reduce(b, zero), dimensions={0}, to_apply=add
  f = f32[] reduce(c, zero), dimensions={0}, to_apply=add
  g = f32[] reduce(d, zero), dimensions={0}, to_apply=add
  h = f32[] add(e, f)
  ROOT i = f32[] add(h, g)
}"""


@pytest.mark.parametrize("algorithm", ORDERS)
def test_large_values_are_used_up_one_after_the_other(algorithm):
    module = hlo.parse(REDUCES)
    assert peak_bytes(module) >= 3 * 4000
    assert peak_bytes(scheduled(module, algorithm)) < 3 * 4000


def test_what_fits_where_results_will_be_takes_no_memory():
    text = """HloModule m
less {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT c = pred[] compare(p, q), direction=LT
}
ENTRY e {
  x = f32[100] parameter(0)
  s = f32[100] sort(x), dimensions={0}, to_apply=less
  w = f32[200] concatenate(x, s), dimensions={0}
  ROOT r = f32[100] slice(w), slice={[50:150]}
}"""
    # %s may wait in the memory of %r; %w is larger than that.
    module = hlo.parse(text)
    assert peak_bytes(module) == assign(as_scheduled(module)).temporary_bytes == 800


def test_control_dependencies_are_kept():
    text = """HloModule m
ENTRY e {
  x = f32[] parameter(0)
  a = f32[] negate(x)
  b = f32[] exponential(x), control-predecessors={a}
  ROOT t = (f32[], f32[]) tuple(b, a)
}"""
    for algorithm in ORDERS:
        names = [i.name for i in scheduled(hlo.parse(text), algorithm).entry.instructions]
        assert names.index("a") < names.index("b")


def test_what_has_no_size_is_left_alone():
    text = "HloModule m\nENTRY e {\n  x = f32[?] parameter(0)\n  ROOT n = f32[?] negate(x)\n}"
    module = hlo.parse(text)
    assert HloMemoryScheduler().run(module, Log()) is module
    assert CopyInsertion().run(module, Log()) is module
