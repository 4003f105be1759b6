"""Computations of rows as one kernel each: equal to the interpreter, and clean in checked mode."""

import random

import pytest
from cuda_batches import ARCHITECTURES, Batch, statements_in, vectors_in
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
import optimizer
from emit_cuda import nvrtc
from emit_cuda.grids import rows as kernel
from emit_cuda.grids.stages import BARRIER
from emit_cuda.host.device import HostDevice
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import BITS
from optimizer.fusion.softmax_rewriter_triton import SoftmaxRewriterTriton

ADD = "add {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT s = {0}[] add(a, b) }}"
MAX = "max {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT s = {0}[] maximum(a, b) }}"
SOFTMAX = """
  x = {t}[{wide}] parameter(0)  low = {t}[] constant(-inf)  zero = {t}[] constant(0)
  m = {t}[{rows}] reduce(x, low), dimensions={{{last}}}, to_apply=max
  mb = {t}[{wide}] broadcast(m), dimensions={{{first}}}
  d = {t}[{wide}] subtract(x, mb)
  e = {t}[{wide}] exponential(d)
  s = {t}[{rows}] reduce(e, zero), dimensions={{{last}}}, to_apply=add
  sb = {t}[{wide}] broadcast(s), dimensions={{{first}}}
  ROOT r = {t}[{wide}] divide(e, sb)
"""
LAYER_NORM = """
  x = bf16[{wide}] parameter(0)  g = f32[{columns}] parameter(1)  zero = f32[] constant(0)
  w = f32[{wide}] convert(x)  n = f32[] constant(0.01)
  ns = f32[{rows}] broadcast(n), dimensions={{}}
  s = f32[{rows}] reduce(w, zero), dimensions={{{last}}}, to_apply=add
  mean = f32[{rows}] multiply(s, ns)  mb = f32[{wide}] broadcast(mean), dimensions={{{first}}}
  c = f32[{wide}] subtract(w, mb)  q = f32[{wide}] multiply(c, c)
  v = f32[{rows}] reduce(q, zero), dimensions={{{last}}}, to_apply=add
  var = f32[{rows}] multiply(v, ns)  eps = f32[{rows}] add(var, ns)  i = f32[{rows}] rsqrt(eps)
  ib = f32[{wide}] broadcast(i), dimensions={{{first}}}  y = f32[{wide}] multiply(c, ib)
  gb = f32[{wide}] broadcast(g), dimensions={{{last}}}  z = f32[{wide}] multiply(y, gb)
  o = bf16[{wide}] convert(z)
  ROOT t = (bf16[{wide}], f32[{rows}]) tuple(o, mean)
"""


def module_of(body, kept, row, kind="f32"):
    def joined(numbers):
        return ",".join(map(str, numbers))

    rank = len(kept) + len(row)
    text = body.format(
        t=kind,
        wide=joined(kept + row),
        rows=joined(kept),
        columns=joined(row),
        first=joined(range(len(kept))),
        last=joined(range(len(kept), rank)),
    )
    called = f"{ADD.format(kind)}\n{MAX.format(kind)}"
    return hlo.parse(f"HloModule rows\n{called}\nENTRY main {{ {text} }}")


def rewritten(module):
    return SoftmaxRewriterTriton().run(module, optimizer.Log())


def added(batch, module, values=tame, seed=0):
    made = rewritten(module)
    assert sum(i.opcode == "fusion" for i in made.entry.instructions) == 1, made
    batch.add(made, [values(p.shape, random.Random(seed)) for p in module.entry.parameters])


# Rows of less than a warp, of a warp, of several; of several dimensions; the last block ragged.
SIZES = [
    ((5,), (9,)),
    ((7,), (8,)),
    ((70,), (24,)),
    ((2, 3), (20,)),
    ((3,), (4, 75)),
    ((3,), (1000,)),
    ((2,), (3000,)),
]


@pytest.fixture(scope="module")
def softmaxes_and_norms():
    batch = Batch()
    for number, (kept, row) in enumerate(SIZES):
        added(batch, module_of(SOFTMAX, kept, row, ("f32", "bf16", "f64")[number % 3]))
        added(batch, module_of(LAYER_NORM, kept, row))
    return batch


@pytest.mark.parametrize("checked", [False, True])
def test_they_give_what_the_interpreter_gives(softmaxes_and_norms, checked):
    assert len(softmaxes_and_norms.kernels.written) == 2 * len(SIZES), "each is one kernel"
    found = softmaxes_and_norms.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu_and_keep_rows_in_registers(softmaxes_and_norms, architecture):
    usage = nvrtc.compile(softmaxes_and_norms.kernels.source(""), architecture).usage
    # A thread's elements are 32 bytes and more. NVRTC 13.0 stores one number of 8, later ones none.
    assert max(u.stack_bytes for u in usage.values()) <= 8


def test_each_row_is_read_once():
    module = module_of(SOFTMAX, (4,), (1000,))
    kernels = emit_cuda.emit(emit_cuda.optimized(module)).kernels.values()
    assert len(vectors_in(kernels, "x")) == 1
    assert statements_in(kernels).count(BARRIER) == 2


def test_rows_too_long_for_registers_are_read_again(monkeypatch):
    monkeypatch.setattr(kernel, "MOST_KEPT", 0)
    batch = Batch()
    added(batch, module_of(SOFTMAX, (3,), (300,)))
    assert len(vectors_in(batch.kernels.written.values(), "x")) == 3
    assert not batch.differences(checked=True)


def test_a_missing_barrier_between_passes_is_found():
    """The warps' folds meet in shared memory: without the barrier, a warp reads too early."""
    batch = Batch()
    added(batch, module_of(SOFTMAX, (3,), (1000,)))
    ((module, arguments, _, program),) = batch.cases
    source = batch.kernels.source("")
    broken = source.replace("  __syncthreads();\n", "", 1)
    line = next(n for n, text in enumerate(broken.splitlines(), 1) if "= warps[" in text)
    device = HostDevice(checked=True)
    with pytest.raises(hlo.HloError) as caught:
        emit_cuda.CudaExecutable(module.entry, program, device, device.load(broken))(*arguments)
    assert f":{line}" in str(caught.value), caught.value


@st.composite
def bodies(draw):
    """Chains of elementwise instructions, folds and spreads of integers, which never round."""
    kept = draw(st.sampled_from([(2,), (3, 2), (7,)]))
    row = draw(st.sampled_from([(8,), (33,), (5, 13), (130,)]))
    wide, rows = (",".join(map(str, d)) for d in (kept + row, kept))
    first = ",".join(map(str, range(len(kept))))
    last = ",".join(map(str, range(len(kept), len(kept + row))))
    lines = [f"w0 = s32[{wide}] parameter(0)", f"w1 = s32[{wide}] parameter(1)"]
    lines += [f"n0 = s32[{rows}] parameter(2)", "zero = s32[] constant(0)"]
    wides, narrows, results = ["w0", "w1"], ["n0"], []
    for number in range(draw(st.integers(2, 10))):
        kind = draw(st.sampled_from(["fold", "spread", "wide", "narrow"]))
        name = f"v{number}"
        if kind == "fold":
            call = draw(st.sampled_from(["add", "max"]))
            source = draw(st.sampled_from(wides))
            lines.append(
                f"{name} = s32[{rows}] reduce({source}, zero), dimensions={{{last}}},"
                f" to_apply={call}"
            )
        elif kind == "spread":
            source = draw(st.sampled_from(narrows))
            lines.append(f"{name} = s32[{wide}] broadcast({source}), dimensions={{{first}}}")
        else:
            names, dims = (wides, wide) if kind == "wide" else (narrows, rows)
            x, y = draw(st.sampled_from(names)), draw(st.sampled_from(names))
            opcode = draw(st.sampled_from(["add", "subtract", "multiply", "maximum"]))
            lines.append(f"{name} = s32[{dims}] {opcode}({x}, {y})")
        (wides if kind in ("spread", "wide") else narrows).append(name)
        results.append((name, wide if kind in ("spread", "wide") else rows))
    chosen = draw(st.lists(st.sampled_from(results), min_size=1, max_size=3, unique=True))
    chosen = list(dict.fromkeys([*chosen, results[-1]]))
    shapes = ", ".join(f"s32[{dims}]" for _, dims in chosen)
    names = ", ".join(name for name, _ in chosen)
    lines.append(f"ROOT t = ({shapes}) tuple({names})")
    return "  ".join(lines)


@pytest.mark.slow
@settings(max_examples=max(4, settings.default.max_examples // 4))
@given(st.lists(bodies(), min_size=6, max_size=10), st.booleans())
def test_random_computations_of_rows(made, checked):
    batch = Batch()
    called = f"{ADD.format('s32')}\n{MAX.format('s32')}"
    for number, body in enumerate(made):
        module = hlo.parse(f"HloModule rows\n{called}\nENTRY main {{ {body} }}")
        arguments = [nasty(p.shape, random.Random(number)) for p in module.entry.parameters]
        batch.add(rewritten(module), arguments)
    found = batch.differences(BITS, checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"
