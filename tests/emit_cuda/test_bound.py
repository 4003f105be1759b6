"""Schedules that bind loops to blocks and threads, run on the processor and watched."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import emit_cuda
import hlo
from codegen.elements.kernel import Scope
from codegen.expressions import (
    BLOCK_X,
    BLOCK_Y,
    THREAD_X,
    THREAD_Y,
    THREAD_Z,
    Cast,
    Literal,
    Load,
    Name,
    binary,
)
from codegen.printer import text as printed
from codegen.program.steps import While
from codegen.schedule.divide import divide, fresh
from codegen.schedule.fission import computed, reading
from codegen.schedule.interchange import interchange
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView, perfect_nest
from codegen.schedule.order import bind
from codegen.schedule.stage import loading_tile
from codegen.statements import Assign, For, If, Let, LocalVariable, nested
from codegen.walk import walk
from emit_cuda.grids.bound import bound_stage
from emit_cuda.grids.kernel import CudaKernel
from emit_cuda.grids.stages import BARRIER
from emit_cuda.host.device import HostDevice
from emit_cuda.table import emits_cuda
from hlo import HloError
from interpreter import evaluate
from optimizer import prepare

TRANSPOSE = """HloModule m
ENTRY e {
  x = f32[96,64] parameter(0)
  y = f32[64,96] transpose(x), dimensions={1,0}
  ROOT z = f32[64,96] negate(y)
}"""
REVERSE = """HloModule m
ENTRY e {
  x = f32[ROWS] parameter(0)
  ROOT z = f32[ROWS] reverse(x), dimensions={0}
}"""


def written(text, schedule):
    """The program of a module of one kernel, by a schedule of each outermost loop."""

    def run(kernel, _, statements):
        made = []
        for s in statements:
            made += schedule(kernel.body, s) if isinstance(s, For) else [s]
        return made

    module = hlo.parse(text)
    return module, emit_cuda.emit(prepare(module, "gpu"), schedule=run)


def run(text, schedule):
    """Run such a program on numbers in order, without races; gives its launches' statements."""
    module, program = written(text, schedule)
    dims = module.entry.parameters[0].shape.dims
    x = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    for seed in range(2):
        device = HostDevice(checked=True, seed=seed)
        value = emit_cuda.CudaExecutable(module.entry, program, device)(x)
        np.testing.assert_array_equal(value, evaluate(module, x))
    return [program.kernels[step.kernel].statements for step in program.steps]


def threads(nest):
    *values, inner = nest.body
    return bind(nest.with_body([*values, bind(inner, THREAD_X)]), THREAD_Y)


def tiled(body, loop):
    """Tiles of 32 by 32 in shared memory, each by a block of as many threads."""

    def of_rows(rows, _):
        (tiles,) = divide(body, interchange(rows), 32, of_tile, tail="guard")
        return [bind(tiles, BLOCK_X)]

    def of_tile(tile, _):
        rows = interchange(tile)
        (load,) = LoopView(rows.body[-1]).loads
        array = body.name("tile")
        here = Load(Name(array), Name(rows.body[-1].name) * 33 + Name(rows.name))
        copy, last = loading_tile(rows, here, load)
        staged = LocalVariable("f32", array, size=32 * 33)
        return [staged, threads(interchange(copy)), threads(last)]

    (tiles,) = divide(body, loop, 32, of_rows, tail="guard")
    return [bind(tiles, BLOCK_Y)]


KERNEL = """\
  const s32 i_block = (s32)blockIdx.y * 32;
  const s32 i_1_block = (s32)blockIdx.x * 32;
  const s32 k_2 = threadIdx.y;
  const s32 k_1 = threadIdx.x;
  tile[k_2 * 33 + k_1] = x[i_1_block * 64 + k_2 * 64 + i_block + k_1];
  __syncthreads();
"""


def test_a_transpose_goes_through_shared_memory():
    statements, _ = run(TRANSPOSE, tiled)
    assert printed(statements).startswith(KERNEL)


def guards_in(statements):
    return sum(isinstance(s, If) for s in nested(statements))


@pytest.mark.parametrize("sizes", [(100, 64), (96, 50), (90, 50), (33, 7), (5, 3)])
def test_a_transpose_of_any_size_is_guarded(sizes):
    """Threads outside of the array copy nothing, and wait for the others of their block."""
    launches = run(TRANSPOSE.replace("96", str(sizes[0])).replace("64", str(sizes[1])), tiled)
    assert len(launches) == 2
    for statements in launches:
        barrier = statements.index(BARRIER)
        guards = sum(size % 32 > 0 for size in sizes)
        assert guards_in(statements[:barrier]) == guards_in(statements[barrier:]) == guards


def test_a_guard_leaves_nothing_over():
    """Blocks of 32 threads for 90 elements: in the last block, six threads do nothing."""

    def schedule(body, loop):
        made = divide(body, loop, 32, in_block, tail="guard")
        return [bind(each, BLOCK_X) for each in made]

    def in_block(block, _):
        return [bind(block, THREAD_X)]

    (statements,) = run(REVERSE.replace("ROWS", "90"), schedule)
    assert guards_in(statements) == 1


@pytest.mark.parametrize(("rows", "barriers"), [(96, 1), (90, 2)])
def test_what_is_left_over_has_a_launch_of_its_own(rows, barriers):
    """Blocks of 32 threads read what they need together; the last 26 of 90 elements are in one."""

    def schedule(body, loop):
        first, *left = divide(body, loop, 32, partial(of_block, body))
        alone = [For(body.name("block"), 1, tuple(left), bind=BLOCK_X)] if left else []
        return [bind(first, BLOCK_X), *alone]

    def of_block(body, block, _):
        (load,) = LoopView(block).certain_loads
        array = body.name("staged")
        here = Load(Name(array), Name(block.name))
        halves = computed(block, {here: load}), reading(block, {load: here})
        return [LocalVariable("f32", array, size=32), *(bind(h, THREAD_X) for h in halves)]

    launches = run(REVERSE.replace("ROWS", str(rows)), schedule)
    assert [statements.count(BARRIER) for statements in launches] == [1] * barriers


def test_threads_without_an_iteration_do_nothing():
    """Of 70 threads, 20 do one of the first iterations, and then all do one of the others."""

    def schedule(body, loop):
        parts = (replace(loop, stop=20), fresh(body, replace(loop, start=20)))
        inside = tuple(bind(part, THREAD_X) for part in parts)
        return [bind(For(body.name("block"), 1, inside), BLOCK_X)]

    (statements,) = run(REVERSE.replace("ROWS", "90"), schedule)
    (guard,) = (s for s in statements if isinstance(s, If))
    assert guard.condition == binary("<", Cast("s32", THREAD_X), 20)
    assert Cast("s32", THREAD_X) + 20 in [s.value for s in statements if isinstance(s, Let)]


def test_a_store_that_all_threads_would_do_is_refused():
    def schedule(_, loop):
        inner = bind(For("k", 9, ()), THREAD_X)
        return [bind(loop.with_body([*loop.body, inner]), BLOCK_X)]

    with pytest.raises(HloError, match=r"the store to z is in no loop over threadIdx\.x"):
        written(REVERSE.replace("ROWS", "90"), schedule)


def folding(inside, count=32, **beside):
    """A loop on threads that adds up, and a store of the sum."""
    joined = Assign(Name("total"), Name("total") + Name("part"))
    lanes = For("lane", count, (*inside, joined), reductions=(("+", "total"),), **beside)
    total = LocalVariable("s32", "total", Literal(0))
    last = Assign(Load(Name("y"), Literal(0)), Name("total"))
    return For("block", 1, (total, lanes, last), bind=BLOCK_X)


PART = LocalVariable("s32", "part", Name("lane"))


def test_the_first_thread_has_what_all_fold():
    """Sums of 16 numbers: 8 and 8, then 4 and 4, and so on."""
    stage = bound_stage(
        CudaKernel(emits_cuda, None, Scope()).body, folding([PART], 16, bind=THREAD_X)
    )
    assert stage.block == (16, 1, 1)
    assert printed(stage.statements).splitlines()[-4:] == [
        "  if (lane == 0) {",
        "    total = (s32)((u32)total + (u32)part);",
        "    y[0] = total;",
        "  }",
    ]


@pytest.mark.parametrize(
    ("nest", "match"),
    [
        (
            folding([PART], 33, bind=THREAD_X),
            "threads of the loop over lane can't meet",
        ),
        (
            folding([PART], bind=THREAD_Y),
            "threads of the loop over lane can't meet",
        ),
        (folding([], bind=THREAD_X), "the loop over lane folds no parts"),
    ],
)
def test_threads_that_can_not_meet_are_refused(nest, match):
    """Shuffles are among 2, 4, 8, 16 or 32 neighbours along x, of variables of their own."""
    with pytest.raises(HloError, match=match):
        bound_stage(CudaKernel(emits_cuda, None, Scope()).body, nest)


def test_blocks_do_not_fold_together():
    with pytest.raises(IllegalError, match="blocks would share the total"):
        bind(folding([PART]).body[1], BLOCK_X)


def test_two_loops_may_share_an_index():
    """Of 96 threads, each computes one element of 3 rows; the inner loop has the lower digit."""

    def schedule(body, loop):
        return divide(body, loop, 32, in_rows, tail="guard")

    def in_rows(block, _):
        return [bind(block, THREAD_X)]

    def on_one_index(body, loop):
        (rows,) = schedule(body, loop)
        return [bind(rows, THREAD_X)]

    (statements,) = run(REVERSE.replace("ROWS", "96"), on_one_index)
    parts = [part for s in statements if isinstance(s, Let) for part in walk(s.value)]
    assert Cast("s32", THREAD_X / 32) * 32 in parts
    assert Cast("s32", THREAD_X % 32) in parts


def test_a_block_that_is_too_large_is_refused():
    with pytest.raises(HloError, match="a block of 2,000 threads is larger than 1,024"):
        written(REVERSE.replace("ROWS", "2000"), lambda _, loop: [bind(loop, THREAD_X)])
    with pytest.raises(HloError, match="a block has no more than 64 threads along z"):
        written(REVERSE.replace("ROWS", "65"), lambda _, loop: [bind(loop, THREAD_Z)])


SQUARES = """HloModule m
body { s = (f32[SIZES], s32[]) parameter(0)
  x = f32[SIZES] get-tuple-element(s), index=0  i = s32[] get-tuple-element(s), index=1
  y = f32[SIZES] multiply(x, x)  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT t = (f32[SIZES], s32[]) tuple(y, j) }
cond { s = (f32[SIZES], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(3)  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[SIZES] parameter(0)  zero = s32[] constant(0)
  s = (f32[SIZES], s32[]) tuple(x, zero)
  w = (f32[SIZES], s32[]) while(s), condition=cond, body=body
  ROOT y = f32[SIZES] get-tuple-element(w), index=0 }"""


@pytest.mark.parametrize("axes", [(THREAD_Z, THREAD_Y, THREAD_X), (THREAD_X, THREAD_Z, THREAD_Y)])
@pytest.mark.parametrize("sizes", [(4, 2, 8), (2, 3, 2)])
def test_threads_along_several_axes_may_be_part_of_another_kernel(sizes, axes):
    """There, all threads of a block are along one axis."""

    def schedule(_, nest):
        *outer, inner = perfect_nest(nest)
        bound = bind(inner, axes[2])
        for loop, axis in zip(reversed(outer), (axes[1], axes[0]), strict=True):
            bound = bind(loop.with_body([bound]), axis)
        return [bound]

    def threads(kernel, name, statements):
        return schedule(kernel.body, statements[0]) if name == "y" else statements

    module = hlo.parse(SQUARES.replace("SIZES", ",".join(map(str, sizes))))
    program = emit_cuda.emit(prepare(module, "gpu"), schedule=threads)
    assert not any(isinstance(step, While) for step in program.steps)
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes) / 8
    executable = emit_cuda.CudaExecutable(module.entry, program, HostDevice(checked=True))
    np.testing.assert_array_equal(executable(x), evaluate(module, x))


def test_a_block_that_shares_too_much_is_refused():
    """No GPU gives a block 400,000 bytes of shared memory."""

    def schedule(body, loop):
        array = LocalVariable("f32", body.name("tile"), size=100_000)
        return [bind(loop.with_body([array, *loop.body]), BLOCK_X)]

    with pytest.raises(HloError, match="a block shares 400,000 bytes, and may share no more than"):
        written(REVERSE.replace("ROWS", "90"), schedule)
