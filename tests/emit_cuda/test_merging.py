"""Loops and branches that become one kernel, so that the host reads no predicate."""

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES

import emit_cuda
import hlo
import interpreter
from codegen.program.barriers import Barriers
from codegen.program.steps import Branch, Copy, Launch, While, flat
from codegen.statements import nested
from emit_cuda import launches, nvrtc
from emit_cuda.grids.stages import GRID_BARRIER
from emit_cuda.host.device import HostDevice
from emit_cuda.kernels import merging
from emit_cuda.kernels.file import KernelFile
from optimizer.pipelines import prepare

# Halves and reverses an array until its sum is small: a reduction, a scalar and two arrays.
LOOP = """HloModule m
body { s = (f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0  i = s32[] get-tuple-element(s), index=1
  r = f32[40] reverse(x), dimensions={0}
  h = f32[] constant(0.75)  hs = f32[40] broadcast(h), dimensions={}
  y = f32[40] multiply(r, hs)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT t = (f32[40], s32[]) tuple(y, j) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
cond { s = (f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0
  z = f32[] constant(0)  t = f32[] reduce(x, z), dimensions={0}, to_apply=add
  e = f32[] constant(0.1)
  ROOT p = pred[] compare(t, e), direction=GT }
ENTRY e { x = f32[40] parameter(0)  z = s32[] constant(0)  s = (f32[40], s32[]) tuple(x, z)
  ROOT w = (f32[40], s32[]) while(s), condition=cond, body=body }"""
# Each branch is one launch, or a copy, of as many threads as a grid has.
BRANCHES = """HloModule m
a { x = f32[3000] parameter(0)  ROOT y = f32[3000] negate(x) }
b { x = f32[3000] parameter(0)  ROOT y = f32[3000] reverse(x), dimensions={0} }
c { ROOT x = f32[3000] parameter(0) }
ENTRY e { i = s32[] parameter(0)  x = f32[3000] parameter(1)  y = f32[3000] add(x, x)
  ROOT w = f32[3000] conditional(i, y, y, y), branch_computations={a, b, c} }"""
# A branch inside of a loop.
INSIDE = """HloModule m
less { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }
even { x = s32[9] parameter(0)  two = s32[] constant(2)  ts = s32[9] broadcast(two), dimensions={}
  ROOT y = s32[9] divide(x, ts) }
odd { x = s32[9] parameter(0)  c = s32[] constant(3)  cs = s32[9] broadcast(c), dimensions={}
  y = s32[9] multiply(x, cs)  r = s32[9] reverse(y), dimensions={0}
  ROOT s = s32[9] sort(r), dimensions={0}, to_apply=less }
body { s = (s32[9], pred[]) parameter(0)
  x = s32[9] get-tuple-element(s), index=0  p = pred[] get-tuple-element(s), index=1
  y = s32[9] conditional(p, x, x), true_computation=even, false_computation=odd
  q = pred[] not(p)
  ROOT t = (s32[9], pred[]) tuple(y, q) }
cond { s = (s32[9], pred[]) parameter(0)
  x = s32[9] get-tuple-element(s), index=0  f = s32[1] slice(x), slice={[0:1]}
  v = s32[] reshape(f)  n = s32[] constant(500)
  ROOT p = pred[] compare(v, n), direction=LT }
ENTRY e { x = s32[9] parameter(0)  p = pred[] parameter(1)  s = (s32[9], pred[]) tuple(x, p)
  ROOT w = (s32[9], pred[]) while(s), condition=cond, body=body }"""
# The inner loop changes a copy: the copy comes before anything tells the type of the elements.
COPY = """HloModule m
inner { s = (f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0  k = s32[] get-tuple-element(s), index=1
  y = f32[40] sqrt(x)
  one = s32[] constant(1)  l = s32[] add(k, one)
  ROOT t = (f32[40], s32[]) tuple(y, l) }
until { s = (f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0  a = f32[1] slice(x), slice={[39:40]}
  b = f32[] reshape(a)  e = f32[] constant(1.5)  c = pred[] compare(b, e), direction=GT
  k = s32[] get-tuple-element(s), index=1  n = s32[] constant(7)
  d = pred[] compare(k, n), direction=LT
  ROOT p = pred[] and(c, d) }
body { s = (f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0  i = s32[] get-tuple-element(s), index=1
  zero = s32[] constant(0)  u = (f32[40], s32[]) tuple(x, zero)
  v = (f32[40], s32[]) while(u), condition=until, body=inner
  y = f32[40] get-tuple-element(v), index=0
  z = f32[40] subtract(x, y)  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT t = (f32[40], s32[]) tuple(z, j) }
cond { s = (f32[40], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[40] parameter(0)  z = s32[] constant(0)  s = (f32[40], s32[]) tuple(x, z)
  ROOT w = (f32[40], s32[]) while(s), condition=cond, body=body }"""
# Each column is folded by a thread, in an order that counts; the columns are more than a block.
COLUMNS = """HloModule m
fade { a = f32[] parameter(0)  b = f32[] parameter(1)  h = f32[] constant(0.5)
  c = f32[] multiply(a, h)  ROOT s = f32[] add(c, b) }
body { s = (f32[150], s32[]) parameter(0)
  x = f32[150] get-tuple-element(s), index=0  i = s32[] get-tuple-element(s), index=1
  xs = f32[40,150] broadcast(x), dimensions={1}  z = f32[] constant(0)
  y = f32[40,150] reduce-window(xs, z), window={size=40x1 pad=39_0x0_0}, to_apply=fade
  l = f32[1,150] slice(y), slice={[39:40], [0:150]}  r = f32[150] reshape(l)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT t = (f32[150], s32[]) tuple(r, j) }
cond { s = (f32[150], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1  n = s32[] constant(2)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[150] parameter(0)  z = s32[] constant(0)  s = (f32[150], s32[]) tuple(x, z)
  ROOT w = (f32[150], s32[]) while(s), condition=cond, body=body }"""
# A product that would have a block for each tile: here, each thread adds up an element, or a few.
RECURRENCE = """HloModule m
body {{ s = (f32[{0},{1}], f32[4,{0},{1}], f32[{1},{1}], s32[]) parameter(0)
  h = f32[{0},{1}] get-tuple-element(s), index=0  w = f32[{1},{1}] get-tuple-element(s), index=2
  d = f32[{0},{1}] dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  t = f32[{0},{1}] tanh(d)
  all = f32[4,{0},{1}] get-tuple-element(s), index=1  i = s32[] get-tuple-element(s), index=3
  z = s32[] constant(0)  r = f32[1,{0},{1}] reshape(t)
  a = f32[4,{0},{1}] dynamic-update-slice(all, r, i, z, z)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT u = (f32[{0},{1}], f32[4,{0},{1}], f32[{1},{1}], s32[]) tuple(t, a, w, j) }}
cond {{ s = (f32[{0},{1}], f32[4,{0},{1}], f32[{1},{1}], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=3  n = s32[] constant(4)
  ROOT p = pred[] compare(i, n), direction=LT }}
ENTRY e {{ h = f32[{0},{1}] parameter(0)  w = f32[{1},{1}] parameter(1)
  z = s32[] constant(0)  f = f32[] constant(0)  a = f32[4,{0},{1}] broadcast(f), dimensions={{}}
  s = (f32[{0},{1}], f32[4,{0},{1}], f32[{1},{1}], s32[]) tuple(h, a, w, z)
  ROOT l = (f32[{0},{1}], f32[4,{0},{1}], f32[{1},{1}], s32[]) while(s),
    condition=cond, body=body }}"""
X = np.arange(40, dtype=np.float32)
LONG = np.arange(3000, dtype=np.float32)
CASES = {
    "loop": (LOOP, "one block", [(X,), (-X,)]),
    "copy": (COPY, "one block", [(X + 100,)]),
    "columns": (COLUMNS, "one block", [(LONG[:150],)]),
    "branches": (BRANCHES, "branch", [(np.int32(k), LONG) for k in (0, 1, 2, 9, -1)]),
    "inside": (
        INSIDE,
        "one block",
        [((X[1:10] + 20).astype(np.int32), np.bool_(k)) for k in (0, 1)],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("on_device", [True, False])
def test_what_one_kernel_does_is_what_the_host_drives(monkeypatch, case, on_device):
    text, kind, calls = CASES[case]
    module = hlo.parse(text)
    if not on_device:
        monkeypatch.setattr(merging, "MOST_STEPS", 0)
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=3))
    steps = executable.program.steps
    assert any(isinstance(step, While | Branch) for step in steps) == (not on_device)
    assert (kind in {getattr(step, "kind", "") for step in steps}) == on_device
    for arguments in calls:
        found, wanted = executable(*arguments), interpreter.evaluate(module, *arguments)
        is_tuple = isinstance(wanted, tuple)
        pairs = zip(found, wanted, strict=True) if is_tuple else [(found, wanted)]
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-6)
    launched = {step.kernel for step in flat(steps) if isinstance(step, Launch)}
    assert launched == set(executable.program.kernels)
    assert (f"({kind}, %w)" in launches.explained(executable.program)) == on_device


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("case", ["loop", "copy", "wide"])
def test_the_same_on_a_grid(monkeypatch, case, checked):
    """Loops and branches inside of the loop are parts of its grid, too."""
    monkeypatch.setattr(merging, "MOST_IN_TURNS", 4)
    monkeypatch.setattr(merging, "SHARED_BLOCK", 32)
    wide = (LONG[:300] % 40 + 20).astype(np.int32)
    inside = INSIDE.replace("[9]", "[300]"), "", [(wide, np.bool_(k)) for k in (0, 1)]
    text, _, calls = (CASES | {"wide": inside})[case]
    module = hlo.parse(text)
    executable = emit_cuda.compile(module, HostDevice(checked=checked, seed=3))
    assert statements_of(executable.program, "one grid")[1].cooperative
    for arguments in calls:
        for one, other in zip(
            executable(*arguments), interpreter.evaluate(module, *arguments), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_small_recurrence_is_one_kernel():
    random = np.random.default_rng(0)
    h, w = (random.standard_normal(dims, np.float32) for dims in ((16, 40), (40, 40)))
    module = hlo.parse(RECURRENCE.format(16, 40))
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=3))
    kinds = [getattr(step, "kind", "copy") for step in executable.program.steps]
    assert kinds.count("one block") == 1
    assert "product" not in kinds
    for found, wanted in zip(executable(h, w), interpreter.evaluate(module, h, w), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def statements_of(program, kind):
    """All statements of the only kernel of a kind, without the expressions in them."""
    (step,) = (step for step in program.steps if getattr(step, "kind", "") == kind)
    return [*nested(program.kernels[step.kernel].statements)], step


@pytest.mark.parametrize(("rows", "columns"), [(64, 40), (50, 48)])
def test_a_larger_recurrence_is_one_kernel_whose_blocks_wait_for_each_other(rows, columns):
    random = np.random.default_rng(0)
    h = random.standard_normal((rows, columns), np.float32)
    w = random.standard_normal((columns, columns), np.float32) / 8
    module = hlo.parse(RECURRENCE.format(rows, columns))
    for checked in (True, False):
        executable = emit_cuda.compile(module, HostDevice(checked=checked, seed=3))
        for found, wanted in zip(executable(h, w), interpreter.evaluate(module, h, w), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    statements, step = statements_of(executable.program, "one grid")
    assert step.cooperative
    assert statements.count(GRID_BARRIER) == 2
    told = launches.explained(executable.program)
    assert "2 barriers of the grid" in told


def test_steps_on_other_bytes_have_no_barrier_between_them():
    steps = [launch("a", "x", "y"), launch("b", "z", "x"), launch("c", "w", "v")]
    assert placed(steps) == "a | b c"
    assert placed([While((), "p", tuple(steps), trips=3)]) == "(| a | b c)"
    assert placed([While((), "p", (*steps, launch("d", "y", "w")), trips=3)]) == "(| a | b c | d)"
    asks = While((launch("q", "p", "x"),), "p", tuple(steps))
    assert placed([asks]) == "(q |? a | b c)"
    # Each element of x is used by the same thread in a and b, of which another one is in d.
    assert placed([*steps, launch("d", "u", "x")], own_of_x) == "a b c | d"
    # The first block does all but d, which needs what a and c have written.
    chain = (*steps, launch("d", "u", "x", "w"), launch("e", "w", "x"), launch("f", "x", "u"))
    assert placed(chain, alone=lambda step: step and step.kernel != "d") == "a : b c | d | e : f"
    choice = Branch("p", True, ((steps[0],), (steps[1],)))
    assert placed([launch("q", "p"), choice, steps[2]]) == "q |? [a] [b] c"
    assert placed([choice, launch("d", "x", "y"), Copy("u", "x", 4)]) == "? [a] [b] | d | copy"


def launch(name, target, *sources):
    """A launch that writes the first array, and reads the others."""
    writes = (True, *(False for _ in sources))
    return Launch(name, (1, 1, 1), (1, 1, 1), (target, *sources), writes)


def own_of_x(pointer, *pair):
    """Whether two steps are a and b, and the array is x."""
    return pointer == "x" and {step.kernel for step in pair} <= {"a", "b"}


def placed(steps, own=lambda *_: False, alone=lambda _: False):
    """Steps with their barriers, as a line: `|` of the grid, `:` of a block."""
    found = Barriers(lambda one, other: one == other, own, alone)
    found.after(steps, frozenset())

    def shown(step):
        bar = {True: "| ", False: ": "}.get(found.before.get(id(step)), "")
        match step:
            case While(condition, _, body, trips):
                asks = "" if trips else f" {bar.strip()}? "
                return f"({' '.join(map(shown, condition))}{asks}{' '.join(map(shown, body))})"
            case Branch(_, _, branches):
                each = (f"[{' '.join(map(shown, branch))}]" for branch in branches)
                return f"{bar.strip()}? {' '.join(each)}"
            case _:
                return bar + getattr(step, "kernel", "copy")

    return " ".join(map(shown, steps))


def test_a_loop_over_more_threads_than_a_block_takes_in_turns_has_a_grid(monkeypatch):
    monkeypatch.setattr(merging, "MOST_IN_TURNS", 39)
    program = emit_cuda.compile(hlo.parse(LOOP), "host").program
    assert statements_of(program, "one grid")[1].cooperative
    monkeypatch.setattr(merging, "MOST_TURNS", 0)
    program = emit_cuda.compile(hlo.parse(LOOP), "host").program
    assert any(isinstance(step, While) for step in program.steps)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernels_compile(architecture):
    kernels = KernelFile()
    for text, _, _ in CASES.values():
        emit_cuda.emit(prepare(hlo.parse(text)), kernels)
    for sizes in ((64, 40), (50, 48)):
        emit_cuda.emit(prepare(hlo.parse(RECURRENCE.format(*sizes))), kernels)
    assert len(nvrtc.compile(kernels.source(""), architecture).usage) >= len(CASES) + 2
