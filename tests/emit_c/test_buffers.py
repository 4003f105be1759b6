"""The memory of emitted C: nothing is overwritten while it is needed, scratch memory included."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from strategies.loops import busy_module

import hlo
from emit_c.program.emit import emit
from emit_c.program.module import ModuleWriter
from emit_c.program.schedule import write_function
from hlo_tools.generate.modules import random_module
from optimizer import machine, optimize, prepare
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.check import check

MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.hlo"))


def assigned(module):
    """The buffer assignment of a module's C."""
    prepared = prepare(module)
    writer = ModuleWriter(prepared, write_function)
    writer.function(prepared.entry, "run")
    writer.memory.settle()
    return writer.memory.assignment


def test_random_programs():
    for seed in range(settings.default.max_examples):
        for made in (random_module(Random(seed)), busy_module(Random(seed))):
            check(assigned(made))


def test_scratch_memory():
    """Where products pack their kernels."""
    module = hlo.parse(
        """HloModule packs
        ENTRY e {
          x = f32[99,40] parameter(0)
          y = f32[40,40] parameter(1)
          z = f32[99,40] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          n = f32[99,40] negate(z)
          w = f32[99,40] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT s = f32[99,40] add(w, z)
        }"""
    )
    found = assigned(module)
    check(found)
    assert len(found.scratch) == 2


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models(path):
    module = hlo.parse(path.read_text())
    if module.header.num_partitions > 1:
        pytest.skip("it needs several devices")
    optimized = optimize(module, observers=())
    check(assign(optimized))
    check(assigned(optimized))
    check(assigned(module))


def test_several_results_may_lie_in_the_places_of_operands():
    """The C compiler must not move a load behind the store of another result in its place."""
    module = hlo.parse(
        """HloModule both

        fused {
          a = f32[8] parameter(0)
          b = f32[8] parameter(1)
          x = f32[8] add(a, b)
          y = f32[8] multiply(a, b)
          ROOT t = (f32[8], f32[8]) tuple(x, y)
        }

        ENTRY e {
          a = f32[8] parameter(0)
          b = f32[8] parameter(1)
          ROOT f = (f32[8], f32[8]) fusion(a, b), kind=kLoop, calls=fused
        }"""
    )
    source = emit(module).source
    kernel = source[source.rindex("static void") : source.index("void load_constants")]
    assert "y[i] = " in kernel
    assert "restrict" not in kernel


def test_what_threads_need_for_themselves_is_aligned():
    """It lies behind the temporary arrays, whatever room these take."""
    module = hlo.parse(
        """HloModule odd

        less {
          a = f64[] parameter(0)
          b = f64[] parameter(1)
          ROOT c = pred[] compare(a, b), direction=LT
        }

        ENTRY e {
          x = s8[3001] parameter(0)
          y = f64[3,50] parameter(1)
          n = s8[3001] negate(x)
          r = s8[3001] reverse(n), dimensions={0}
          p = s8[7] slice(r), slice={[0:7]}
          s = f64[3,50] sort(y), dimensions={1}, to_apply=less
          ROOT t = (s8[7], f64[3,50]) tuple(p, s)
        }"""
    )
    program = emit(module)
    assert program.slot_bytes
    assert program.arena_bytes
    assert program.arena_bytes % machine.CACHE_LINE == 0
