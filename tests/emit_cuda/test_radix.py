"""Sorts of long rows by the digits of keys: equal to the interpreter, and stable."""

import random

import pytest
from cuda_batches import ARCHITECTURES, Batch
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.grids import radix, sorting
from emit_cuda.host.device import HostDevice
from hlo.types.element_type import ELEMENT_TYPES
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import BITS, compare

COMPARATORS = {
    "up": "ROOT r = pred[] compare(a, b), direction=LT{}",
    "down": "ROOT r = pred[] compare(a, b), direction=GT{}",
    "then the others": "x = pred[] compare(a, b), direction=LT{}\n"
    "e = pred[] compare(a, b), direction=EQ{}\ny = pred[] compare(i, j), direction=GT\n"
    "f = pred[] and(y, e)\nROOT r = pred[] or(x, f)",
}
TYPES = ("pred", "s8", "u16", "s32", "u64", "bf16", "f16", "f32", "f64", "f8e4m3fn")


def sort(dims, axis, kind, comparator="up"):
    """A sort of few different elements, floats in total order, with their numbers."""
    shape = ",".join(map(str, dims))
    order = ", type=TOTALORDER" if ELEMENT_TYPES[kind].is_floating else ""
    return hlo.parse(f"""HloModule sorted
before {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  {COMPARATORS[comparator].replace("{}", order)}
}}
ENTRY main {{
  x = {kind}[{shape}] parameter(0)
  i = s32[{shape}] iota(), iota_dimension={axis}
  s = ({kind}[{shape}], s32[{shape}]) sort(x, i), dimensions={{{axis}}}, is_stable=true,
    to_apply=before
  y = {kind}[{shape}] get-tuple-element(s), index=0
  n = s32[{shape}] get-tuple-element(s), index=1
  ROOT r = ({kind}[{shape}], s32[{shape}]) tuple(y, n)
}}""")


MODULES = {
    "several tiles": sort((2, 2100), 1, "s8"),
    "whole tiles": sort((4096,), 0, "pred"),
    "columns": sort((300, 3), 0, "bf16", "down"),
    "halves of keys": sort((2, 200), 1, "f64"),
    "several keys": sort((2, 300), 1, "u16", "then the others"),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Let short rows be sorted as long ones are: in tiles of 512 elements."""
    monkeypatch.setattr(sorting, "MOST_BITONIC", 8)
    monkeypatch.setattr(radix, "EACH", 2)


@pytest.fixture
def batch():
    made = Batch()
    for number, module in enumerate(MODULES.values()):
        made.add(module, [few(p.shape, number) for p in module.entry.parameters])
    return made


def few(shape, seed):
    """Numbers of which many are equal, with infinities, NaN and zeros of both signs."""
    generator = random.Random(seed)
    some = [nasty(shape, generator), tame(shape, generator)]
    found = some[1].copy()
    found.flat[:: 1 + seed % 3] = some[0].flat[:: 1 + seed % 3]
    return found


@pytest.mark.parametrize("checked", [pytest.param(False, marks=pytest.mark.slow), True])
def test_they_give_what_the_interpreter_gives(batch, checked):
    found = batch.differences(BITS, checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(batch, architecture):
    usage = nvrtc.compile(batch.kernels.source(""), architecture).usage
    assert {u.stack_bytes + u.spilled_bytes for u in usage.values()} == {0}


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_arrays_of_a_thread_are_in_registers(monkeypatch, architecture):
    """A few other values may not be, but 16 words would take 64 bytes."""
    monkeypatch.undo()
    usage = nvrtc.compile(emit_cuda.emit(sort((2, 8192), 1, "f32")).source, architecture).usage
    assert max(u.stack_bytes + u.spilled_bytes for u in usage.values()) < 64


@pytest.mark.parametrize(
    ("n", "kind", "kinds"),
    [
        (512, "f32", ["sort"]),
        (4096, "f32", ["sort by digits"]),
        (4097, "f32", ["zeros of a sort", "counts of digits", *["move by digit"] * 4]),
        (4097, "f16", ["zeros of a sort", "counts of digits", *["move by digit"] * 3]),
        (4097, "bf16", ["zeros of a sort", "counts of digits", *["move by digit"] * 2]),
        (4097, "f8e5m2", ["zeros of a sort", "counts of digits", *["move by digit"] * 2]),
    ],
)
def test_rows_of_several_tiles_take_a_launch_for_each_digit(monkeypatch, n, kind, kinds):
    monkeypatch.undo()
    assert [step.kind for step in emit_cuda.emit(sort((n,), 0, kind)).steps] == kinds


@pytest.mark.parametrize("seed", [1, 2])
def test_blocks_may_begin_in_any_order(batch, seed):
    """A block's tile is that of its turn, so that it waits for no block that has not begun."""
    device = HostDevice(checked=True, seed=seed)
    kernels = device.load(batch.kernels.source(""))
    for module, arguments, expected, program in batch.cases:
        executable = emit_cuda.CudaExecutable(module.entry, program, device, kernels)
        assert compare(executable(*arguments), expected, BITS) is None


def test_a_comparator_without_keys_is_merged(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(sorting, "SHARED_BYTES", 1024)
    text = str(sort((3000,), 0, "s32")).replace("direction=LT", "direction=LE")
    assert {s.kind for s in emit_cuda.emit(hlo.parse(text)).steps} >= {"merge of sorted runs"}


@pytest.mark.parametrize(
    "wanted", ["= atomicAdd(begun, 1u);", "= begin + before[warp];", "ranks[e] = digit | (before"]
)
def test_a_missing_barrier_is_found(wanted):
    """Without it, a thread counts in a cell, or reads one, before another has set it."""
    batch = Batch()
    module = MODULES["several tiles"]
    batch.add(module, [few(p.shape, 0) for p in module.entry.parameters])
    ((_, arguments, _, program),) = batch.cases
    before, _, behind = batch.kernels.source("").partition(wanted)
    broken = before + wanted + behind.replace("  __syncthreads();\n", "", 1)
    device = HostDevice(checked=True)
    with pytest.raises(hlo.HloError, match=r"race|uninitialised"):
        emit_cuda.CudaExecutable(module.entry, program, device, device.load(broken))(*arguments)


@pytest.mark.slow
@settings(max_examples=max(4, settings.default.max_examples // 4))
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([1, 2, 3, 16, 33, 300, 2049]), min_size=1, max_size=3).filter(
                lambda dims: len(dims) >= 1 and max(dims) * len(dims) < 5000
            ),
            st.integers(0, 2),
            st.sampled_from(TYPES),
            st.sampled_from(sorted(COMPARATORS)),
        ),
        min_size=3,
        max_size=5,
    ),
    st.booleans(),
)
def test_random_sorts(cases, checked):
    batch = Batch()
    for number, (dims, axis, kind, comparator) in enumerate(cases):
        short = [n if d == axis % len(dims) else min(n, 3) for d, n in enumerate(dims)]
        module = sort(short, axis % len(dims), kind, comparator)
        batch.add(module, [few(p.shape, number) for p in module.entry.parameters])
    found = batch.differences(BITS, checked=checked)
    assert not found, found[0]
