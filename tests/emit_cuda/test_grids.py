"""Loops of all kinds of launches as one cooperative kernel, on small arrays.

Each module repeats some steps on a matrix x, its rows r, its columns c, and a history of the rows.
All numbers are small and whole, so that sums in any order are the same.
"""

import random

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES, Batch, statements_in
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
from codegen.expressions import BLOCK_X, binary
from codegen.program import barriers
from codegen.statements import If
from emit_cuda import nvrtc
from emit_cuda.executable import CudaExecutable
from emit_cuda.grids import gemm
from emit_cuda.grids.stages import GRID_BARRIER
from emit_cuda.host.device import HostDevice
from emit_cuda.kernels import merging

# Steps: the array that each makes anew from the others, and instructions with {k} in their names.
STEPS = (
    """x: dot{k} = f32[{m},{n}] dot({x}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
       {out} = f32[{m},{n}] remainder(dot{k}, fives)""",
    """x: wide{k} = f32[{m},{n}] broadcast({r}), dimensions={{0}}
       mul{k} = f32[{m},{n}] multiply({x}, wide{k})
       {out} = f32[{m},{n}] remainder(mul{k}, fives)""",
    """x: wide{k} = f32[{m},{n}] broadcast({c}), dimensions={{1}}
       sub{k} = f32[{m},{n}] subtract({x}, wide{k})
       {out} = f32[{m},{n}] remainder(sub{k}, fives)""",
    "x: {out} = f32[{m},{n}] reverse({x}), dimensions={{0,1}}",
    """x: abs{k} = f32[{m},{n}] abs({x})
       back{k} = f32[{m},{n}] reverse(abs{k}), dimensions={{1}}
       {out} = f32[{m},{n}] subtract({x}, back{k})""",
    """r: sum{k} = f32[{m}] reduce({x}, z), dimensions={{1}}, to_apply=add
       five{k} = f32[{m}] broadcast(five), dimensions={{}}
       {out} = f32[{m}] remainder(sum{k}, five{k})""",
    """c: sum{k} = f32[{n}] reduce({x}, z), dimensions={{0}}, to_apply=add
       five{k} = f32[{n}] broadcast(five), dimensions={{}}
       {out} = f32[{n}] remainder(sum{k}, five{k})""",
    "c: {out} = f32[{n}] reverse({c}), dimensions={{0}}",
    """a: line{k} = f32[1,{m}] reshape({r})
       {out} = f32[5,{m}] dynamic-update-slice({a}, line{k}, i, zero)""",
)
MODULE = """HloModule m
add {{ p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }}
body {{ t = ({state}) parameter(0)
  x = f32[{m},{n}] get-tuple-element(t), index=0  r = f32[{m}] get-tuple-element(t), index=1
  c = f32[{n}] get-tuple-element(t), index=2  a = f32[5,{m}] get-tuple-element(t), index=3
  w = f32[{n},{n}] get-tuple-element(t), index=4  i = s32[] get-tuple-element(t), index=5
  z = f32[] constant(0)  zero = s32[] constant(0)  one = s32[] constant(1)
  five = f32[] constant(5)  fives = f32[{m},{n}] broadcast(five), dimensions={{}}
  {steps}
  j = s32[] add(i, one)  ROOT u = ({state}) tuple({x}, {r}, {c}, {a}, w, j) }}
cond {{ t = ({state}) parameter(0)  i = s32[] get-tuple-element(t), index=5
  {limit}  ROOT p = pred[] compare(i, l), direction=LT }}
ENTRY e {{ x = f32[{m},{n}] parameter(0)  r = f32[{m}] parameter(1)  c = f32[{n}] parameter(2)
  a = f32[5,{m}] parameter(3)  w = f32[{n},{n}] parameter(4)  i = s32[] constant(0)
  t = ({state}) tuple(x, r, c, a, w, i)
  ROOT l = ({state}) while(t), condition=cond, body=body }}"""
# The trip count is known, or depends on the data: a sum of the history, which has few values.
LIMITS = (
    "l = s32[] constant(4)",
    """c = f32[{n}] get-tuple-element(t), index=2  f = f32[1] slice(c), slice={{[0:1]}}
  g = f32[] reshape(f)  h = f32[] constant(0)  q = pred[] compare(g, h), direction=LT
  y = s32[] constant(3)  v = s32[] constant(5)  l = s32[] select(q, y, v)""",
)


def module_of(chosen, limit, m=48, n=32):
    """A loop over the chosen steps."""
    now, lines = {name: name for name in "xrca"}, []
    for k, number in enumerate(chosen):
        target, _, text = STEPS[number].partition(":")
        lines.append(text.format(k=k, out=f"new_{target}{k}", m=m, n=n, **now))
        now[target] = f"new_{target}{k}"
    state = f"f32[{m},{n}], f32[{m}], f32[{n}], f32[5,{m}], f32[{n},{n}], s32[]"
    limit = LIMITS[limit].format(n=n)
    return hlo.parse(
        MODULE.format(steps="\n  ".join(lines), m=m, n=n, state=state, limit=limit, **now)
    )


def arguments_of(module, seed):
    numbers = np.random.default_rng(seed)
    shapes = (p.shape.dims for p in module.entry.parameters)
    return [numbers.integers(-4, 5, dims).astype(np.float32) for dims in shapes]


@pytest.fixture(autouse=True)
def small_grids(monkeypatch):
    """Let even small launches be too many for one block, and have several blocks."""
    monkeypatch.setattr(merging, "MOST_IN_TURNS", 64)
    monkeypatch.setattr(gemm, "MOST_IN_TURNS", 64)
    monkeypatch.setattr(merging, "SHARED_BLOCK", 64)
    monkeypatch.setattr(merging, "MOST_ALONE", 64)


def is_one_kernel(program):
    return [s.kind for s in program.steps if getattr(s, "cooperative", False)] == ["one grid"]


ALL = (0, 5, 8, 6, 1, 2, 3, 4, 7)


@pytest.mark.parametrize("limit", [0, 1])
@pytest.mark.parametrize("checked", [True, False])
def test_all_kinds_of_steps(limit, checked):
    batch = Batch()
    module = module_of(ALL, limit)
    batch.add(module, arguments_of(module, 0))
    assert is_one_kernel(batch.cases[0][3])
    assert not batch.differences(checked=checked)


@pytest.mark.parametrize("most_alone", [64, 600])
@settings(max_examples=max(3, settings.default.max_examples // 6))
@given(st.lists(st.lists(st.integers(0, 8), min_size=2, max_size=7), min_size=6, max_size=6))
def test_random_loops(most_alone, lists):
    merging.MOST_ALONE = most_alone  # until the fixture takes it back
    batch = Batch(optimize=True)
    for k, chosen in enumerate(lists):
        m, n = random.Random(k).choice([(48, 32), (33, 24), (8, 72)])
        module = module_of(chosen, k % 2, m, n)
        batch.add(module, arguments_of(module, k))
    found = batch.differences(checked=True)
    assert not found, f"{len(found)} differ, among them {found[0]}"


def test_one_block_does_small_launches_where_that_spares_barriers(monkeypatch):
    # Two sums of columns, what is done with them, and a product that takes a grid.
    module, counts = module_of((0, 6, 7, 6, 7, 2), 0, 8, 300), []
    for most in (64, 600):
        monkeypatch.setattr(merging, "MOST_ALONE", most)
        batch = Batch()
        batch.add(module, arguments_of(module, 0))
        assert not batch.differences(checked=True)
        statements = statements_in(batch.kernels.written.values())
        counts.append(statements.count(GRID_BARRIER))
        branches = [s.condition for s in statements if isinstance(s, If)]
        assert (binary("==", BLOCK_X, 0) in branches) == (most == 600)
    assert counts[0] > counts[1]


@pytest.mark.parametrize("number", range(4))
def test_a_missing_barrier_is_found(number):
    """Without one of its barriers, checked mode sees a race."""
    module = module_of((0, 6, 2, 5, 1), 0)
    batch = Batch()
    batch.add(module, arguments_of(module, 0))
    ((_, arguments, _, program),) = batch.cases
    call = f"{GRID_BARRIER.function.name}(&"
    before, *parts = batch.kernels.source("").split(call)
    assert len(parts) > number
    calls = [call] * len(parts)
    calls[number] = "(void)(&"
    source = before + "".join(map("".join, zip(calls, parts, strict=True)))
    device = HostDevice(checked=True, seed=number)
    with pytest.raises(hlo.HloError, match="race between blocks"):
        CudaExecutable(module.entry, program, device, device.load(source))(*arguments)


def test_barriers_are_needed(monkeypatch):
    monkeypatch.setattr(barriers.Barriers, "_behind", lambda _, __, own, used: used | {*own})
    module = module_of(ALL, 0)
    executable = emit_cuda.compile(module, HostDevice(checked=True))
    with pytest.raises(hlo.HloError, match="race between blocks"):
        executable(*arguments_of(module, 0))


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernels_compile(architecture):
    batch = Batch()
    for limit in (0, 1):
        module = module_of(ALL, limit)
        batch.add(module, arguments_of(module, 0))
    source = batch.kernels.source("")
    assert len(nvrtc.compile(source, architecture).usage) >= 2
    # What other blocks have written meanwhile, some loads would not see.
    kernels = nvrtc.ptx(source, architecture).split(".entry")
    on_grids = [text for text in kernels if "atom.add.acq_rel" in text]
    assert len(on_grids) >= 2
    assert not any("ld.global.nc" in text for text in on_grids)


def test_shared_arrays_lie_where_those_of_other_launches_do():
    def shared_of(chosen):
        batch, module = Batch(), module_of(chosen, 0)
        batch.add(module, arguments_of(module, 0))
        (program,) = (program for *_, program in batch.cases)
        (step,) = (step for step in program.steps if getattr(step, "cooperative", False))
        return program.kernels[step.kernel].stage.shared

    (one,) = shared_of((0,))
    assert one[:2] == ("u8", "shared_memory")
    assert shared_of((0, 3, 0)) == (one,)


# A launch for the largest of each row waits in functions for blocks of 256, one for sums of columns
# has 1024: no block does both.
LARGEST = """HloModule m
add { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
body { t = (f32[80,600], f32[600], s32[]) parameter(0)
  x = f32[80,600] get-tuple-element(t), index=0  i = s32[] get-tuple-element(t), index=2
  k = (f32[80,5], s32[80,5]) topk(x), k=5, largest=true  f = f32[80,5] get-tuple-element(k), index=0
  z = f32[] constant(0)  c = f32[600] reduce(x, z), dimensions={0}, to_apply=add
  g = f32[80] reduce(f, z), dimensions={1}, to_apply=add
  w = f32[80,600] broadcast(g), dimensions={0}  y = f32[80,600] subtract(w, x)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT u = (f32[80,600], f32[600], s32[]) tuple(y, c, j) }
cond { t = (f32[80,600], f32[600], s32[]) parameter(0)  i = s32[] get-tuple-element(t), index=2
  l = s32[] constant(3)  ROOT p = pred[] compare(i, l), direction=LT }
ENTRY e { x = f32[80,600] parameter(0)  c = f32[600] parameter(1)  i = s32[] constant(0)
  t = (f32[80,600], f32[600], s32[]) tuple(x, c, i)
  ROOT l = (f32[80,600], f32[600], s32[]) while(t), condition=cond, body=body }"""


def test_functions_that_wait_keep_the_size_of_their_block():
    module, batch = hlo.parse(LARGEST), Batch()
    batch.add(module, arguments_of(module, 0))
    assert not is_one_kernel(batch.cases[0][3])
    assert not batch.differences()


# Blocks of a transform of 1000 numbers have 125 threads for a line, so no whole warps, which the
# sums of rows need.
TRANSFORM = """HloModule m
add { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
body { t = (f32[16,1000], s32[]) parameter(0)
  x = f32[16,1000] get-tuple-element(t), index=0  i = s32[] get-tuple-element(t), index=1
  f = c64[16,501] fft(x), fft_type=RFFT, fft_length={1000}  a = f32[16,501] abs(f)
  z = f32[] constant(0)  r = f32[16] reduce(a, z), dimensions={1}, to_apply=add
  h = f32[] constant(0.001)  hs = f32[16] broadcast(h), dimensions={}  g = f32[16] multiply(r, hs)
  w = f32[16,1000] broadcast(g), dimensions={0}  y = f32[16,1000] subtract(w, x)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT u = (f32[16,1000], s32[]) tuple(y, j) }
cond { t = (f32[16,1000], s32[]) parameter(0)  i = s32[] get-tuple-element(t), index=1
  l = s32[] constant(9)  ROOT p = pred[] compare(i, l), direction=LT }
ENTRY e { x = f32[16,1000] parameter(0)  i = s32[] constant(0)
  t = (f32[16,1000], s32[]) tuple(x, i)
  ROOT l = (f32[16,1000], s32[]) while(t), condition=cond, body=body }"""


def test_warps_stay_whole(monkeypatch):
    module = hlo.parse(TRANSFORM)
    arguments = arguments_of(module, 0)
    found = emit_cuda.compile(module, HostDevice(checked=True, seed=1))(*arguments)
    monkeypatch.setattr(merging, "MOST_STEPS", 0)
    wanted = emit_cuda.compile(module, HostDevice())(*arguments)
    for one, other in zip(found, wanted, strict=True):
        assert (one == other).all()
