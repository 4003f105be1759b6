"""The memory of emitted C: nothing is overwritten while it is needed, scratch memory included."""

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from emitted import no_pass_runs
from hypothesis import settings
from strategies.loops import busy_module

import emit_c
import hlo
from codegen.program.head import head
from emit_c.program.assigned import assigned as shown
from emit_c.program.emit import emit
from emit_c.program.module import ModuleWriter
from emit_c.program.schedule import write_function
from hlo.support import machine
from hlo_tools.generate.modules import random_module
from interpreter import evaluate
from interpreter.groups import devices_named
from optimizer import optimize, prepare
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.layout.result_views import views_of
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.check import check
from optimizer.memory.heap import aligned

MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.hlo"))
CASES = sorted((Path(__file__).parents[1] / "cases").glob("*/*.hlo"))
# The functions of computations, and in them the pointers into memory.
FUNCTION = re.compile(r"int (\w+)\(const void.*?{\n(.*?)\n}\n", re.DOTALL)
POINTER = re.compile(
    r"(\w+) = \([\w ]+ \*\)\(*(?:u8 \*\))?(arena|in\[\d+\]|out\[\d+\])(?: \+ (\d+))?"
)


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


@pytest.mark.parametrize("rows", [1, 2])
def test_words_of_the_only_row_that_is_sorted_are_no_memory_of_threads(rows):
    module = hlo.parse(f"""HloModule sorted
less {{
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}}
ENTRY e {{
  x = s32[{rows},9000] parameter(0)
  y = s32[{rows},9000] parameter(1)
  ROOT s = (s32[{rows},9000], s32[{rows},9000]) sort(x, y), dimensions={{1}}, to_apply=less
}}""")
    program = emit(optimize(module, target="cpu"))
    words = 2 * 8 * 9000
    assert (program.slot_bytes >= words) == (rows > 1)
    assert (program.arena_bytes >= words) == (rows == 1)


def test_scratch_memory():
    """Where products pack their kernels."""
    module = hlo.parse(
        """HloModule packs
        ENTRY e {
          x = f32[99,40] parameter(0)
          y = f32[40,40] parameter(1)
          z = f32[99,40] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
          n = f32[99,40] negate(z)
          w = f32[99,40] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
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


def test_a_result_in_the_place_of_an_operand_is_read_and_written_by_one_pointer():
    """So all pointers of a kernel can be `restrict`, also those of several results."""
    module = hlo.parse(
        """HloModule both, input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) }

        fused {
          a = f32[1000] parameter(0)
          b = f32[1000] parameter(1)
          n = s32[] parameter(2)
          c = f32[] convert(n)
          d = f32[1000] broadcast(c), dimensions={}
          x = f32[1000] add(a, b)
          y = f32[1000] multiply(a, d)
          ROOT t = (f32[1000], f32[1000]) tuple(x, y)
        }

        ENTRY e {
          a = f32[1000] parameter(0)
          b = f32[1000] parameter(1)
          n = s32[] parameter(2)
          ROOT f = (f32[1000], f32[1000]) fusion(a, b, n), kind=kLoop, calls=fused
        }"""
    )
    assert emit(module).parts.kernels["f_kernel"].types == ("f32", "f32", "s32")
    a, b = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    x, y = emit_c.compile(module)(a.copy(), b.copy(), np.int32(3))
    np.testing.assert_array_equal(x, a + b)
    np.testing.assert_array_equal(y, a * 3)


def test_what_threads_need_for_themselves_is_aligned():
    """It lies after the temporary arrays, whatever room these take."""
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


@pytest.mark.parametrize(
    "path", [*MODELS, *CASES], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_c_has_the_buffers_that_are_shown(path):
    """The emitter adds no copies, and each pointer leads to where its value is shown."""
    module, program = emitted(path)
    assignment = shown(module).assignment
    assert program.arena_bytes == aligned(assignment.temporary_bytes)
    places = values_of(assignment)
    everywhere = set().union(*places.values())
    for function, body in FUNCTION.findall(program.source):
        for pointer, base, offset in POINTER.findall(body):
            place = base, int(offset or 0)
            own = places.get(program.hlo_names[function].get(pointer), everywhere)
            assert place in own or is_scratch(assignment, *place)


def emitted(path):
    """A module as the optimizer leaves it, and its C: that of the prepared module."""
    module = hlo.parse(path.read_text().partition("// EXPECT")[0])
    said = module.header.num_partitions * module.header.replica_count
    if max(said, devices_named(module)) > 1:
        pytest.skip("it needs several devices")
    try:
        optimized = optimize(module, observers=())
        made = prepare(optimized, with_views=True)
        with no_pass_runs():
            program = emit(made)
    except hlo.HloError as error:
        if error.code not in ("HLO043", "HLO076", "HLO181"):
            raise
        pytest.skip(f"there is no C: {error.message}")
    # Only what was dynamic, or ended with bitcasts, has to be prepared.
    is_changed = is_dynamic(optimized) or views_of(optimized)
    assert (made is optimized) != bool(is_changed)
    assert program.module is made
    assert program.source.startswith(head(made))
    return optimized, program


def is_scratch(assignment, base, offset):
    """Whether a byte belongs to what single instructions need for themselves."""
    found = assignment.scratch.values()
    return base == "arena" and any(s.offset <= offset < s.offset + s.size for s in found)


def values_of(assignment):
    """Where the values of each instruction lie, as C says it."""
    places = {}
    for each in assignment.allocations:
        number = each.parameter if each.output is None else each.output
        base = "arena" if number is None else f"{'in' if each.output is None else 'out'}[{number}]"
        for buffer, offset in each.buffers.items():
            for value in buffer.values:
                places.setdefault(value.instruction.name, set()).add((base, offset))
    return places


LATE = """HloModule late
condition {
  s = (s32[], f32[3,3], f32[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[3,3], f32[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3,3] get-tuple-element(s), index=1
  y = f32[3,3] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  b = f32[3,3] broadcast(x), dimensions={1,0}
  x2 = f32[3,3] add(x, x)
  y2 = f32[3,3] add(b, y)
  ROOT t = (s32[], f32[3,3], f32[3,3]) tuple(j, x2, y2)
}
ENTRY e {
  x = f32[3,3] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[3,3], f32[3,3]) tuple(zero, x, x)
  ROOT l = (s32[], f32[3,3], f32[3,3]) while(t), condition=condition, body=body
}"""


def test_what_would_need_a_copy_is_not_computed_anew():
    """The sum would read the state across, when its next value lies there already."""
    module = prepare(hlo.parse(LATE))
    assert "b_kernel" in emit(module).parts.kernels
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    found = emit_c.compile(module, optimize=False)(x)
    assert all(map(np.array_equal, found, evaluate(module, x)))
