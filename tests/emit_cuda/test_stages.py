"""Folds of few, long rows by several blocks, and running folds: right, clean, and in any order."""

import random
from math import prod

import pytest
from cuda_batches import ARCHITECTURES, Batch, batch_of, kernels_in_cuda
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.grids import groups, reduction, scan, sorting
from emit_cuda.host.device import HostDevice
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import BITS

CALLED = """
add {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT s = {0}[] add(a, b) }}
maximum {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT s = {0}[] maximum(a, b) }}
first {{
  a = {0}[] parameter(0)  i = s32[] parameter(1)  b = {0}[] parameter(2)  j = s32[] parameter(3)
  larger = pred[] compare(a, b), direction=GT
  is_nan = pred[] compare(a, a), direction=NE
  more = pred[] or(larger, is_nan)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tied = pred[] and(same, before)
  left = pred[] or(more, tied)
  x = {0}[] select(left, a, b)
  k = s32[] select(left, i, j)
  ROOT r = ({0}[], s32[]) tuple(x, k)
}}
"""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parts of 256 elements, instead of those that fill a GPU."""
    monkeypatch.setattr(groups, "LEAST_PART", 200)
    monkeypatch.setattr(reduction, "STEP", 256)
    monkeypatch.setattr(scan, "STEP", 1024)
    monkeypatch.setattr(groups, "WAVE", 12)
    monkeypatch.setattr(sorting, "SHARED_BYTES", 1024)


def reduced(shape, dims, kind="f32", operation="add"):
    kept = [n for d, n in enumerate(shape) if d not in dims]
    wide, rows, along = (",".join(map(str, each)) for each in (shape, kept, dims))
    text = (
        f"x = {kind}[{wide}] parameter(0)  o = {kind}[] constant(1)"
        f"  ROOT r = {kind}[{rows}] reduce(x, o), dimensions={{{along}}}, to_apply={operation}"
    )
    return module_of(text, kind)


def moments(shape, dims, kind="f32"):
    """Sums and sums of squares: two reduces of one fusion, of two types."""
    kept = ",".join(str(n) for d, n in enumerate(shape) if d not in dims)
    wide, along = (",".join(map(str, each)) for each in (shape, dims))
    fused = (
        f"fused {{ x = {kind}[{wide}] parameter(0)  o = {kind}[] constant(1)"
        f"  w = f64[{wide}] convert(x)  q = f64[{wide}] multiply(w, w)  z = f64[] constant(0)"
        f"  s = {kind}[{kept}] reduce(x, o), dimensions={{{along}}}, to_apply=add"
        f"  t = f64[{kept}] reduce(q, z), dimensions={{{along}}}, to_apply=plus"
        f"  ROOT r = ({kind}[{kept}], f64[{kept}]) tuple(s, t) }}"
    )
    plus = "plus { a = f64[] parameter(0)  b = f64[] parameter(1)  ROOT s = f64[] add(a, b) }"
    return hlo.parse(
        f"HloModule stages\n{CALLED.format(kind)}\n{plus}\n{fused}\n"
        f"ENTRY main {{ x = {kind}[{wide}] parameter(0)"
        f"  ROOT r = ({kind}[{kept}], f64[{kept}]) fusion(x), kind=kInput, calls=fused }}"
    )


def largest(shape, kind="f32"):
    """The first largest element of each row, and its place."""
    wide, rows = (",".join(map(str, each)) for each in (shape, shape[:-1]))
    last = len(shape) - 1
    return module_of(
        f"x = {kind}[{wide}] parameter(0)  i = s32[{wide}] iota(), iota_dimension={last}"
        f"  o = {kind}[] constant(-1)  z = s32[] constant(0)"
        f"  ROOT r = ({kind}[{rows}], s32[{rows}]) reduce(x, i, o, z), dimensions={{{last}}},"
        " to_apply=first",
        kind,
    )


def run(shape, axis, kind="f32", operation="add", backwards=False):
    """A running fold along a dimension."""
    wide = ",".join(map(str, shape))
    size = "x".join(str(n if d == axis else 1) for d, n in enumerate(shape))
    pads = [f"0_{n - 1}" if backwards else f"{n - 1}_0" for n in shape]
    pad = "x".join(p if d == axis else "0_0" for d, p in enumerate(pads))
    return module_of(
        f"x = {kind}[{wide}] parameter(0)  o = {kind}[] constant(1)"
        f"  ROOT r = {kind}[{wide}] reduce-window(x, o), window={{size={size} pad={pad}}},"
        f" to_apply={operation}",
        kind,
    )


def sorted_rows(shape, axis):
    """Rows in the order of their first digits, and where each element was: equal ones in order."""
    wide = ",".join(map(str, shape))
    less = (
        "less { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)"
        "  j = s32[] parameter(3)  ROOT r = pred[] compare(a, b), direction=LT }"
    )
    text = (
        f"x = f32[{wide}] parameter(0)  f = f32[{wide}] round-nearest-even(x)"
        f"  i = s32[{wide}] iota(), iota_dimension={axis}"
        f"  ROOT r = (f32[{wide}], s32[{wide}]) sort(f, i), dimensions={{{axis}}},"
        " is_stable=true, to_apply=less"
    )
    return hlo.parse(f"HloModule stages\n{less}\nENTRY main {{ {text} }}")


def module_of(text, kind):
    return hlo.parse(f"HloModule stages\n{CALLED.format(kind)}\nENTRY main {{ {text} }}")


MODULES = {
    "a whole array": (reduced((3000,), (0,)), "second stage of a reduction"),
    "few long rows": (reduced((2, 9, 99), (1, 2), "bf16"), "second stage of a reduction"),
    "few long columns": (reduced((500, 35), (0,)), "second stage of a reduction"),
    "largest": (largest((2, 1111)), "second stage of a reduction"),
    "two sums of a whole array": (moments((3000,), (0,)), "second stage of a reduction"),
    "two sums of rows": (moments((3, 77), (1,), "bf16"), "row reduction"),
    "two sums of few columns": (moments((5, 200, 3), (1,)), "row reduction"),
    "two sums of columns": (moments((9, 80, 35), (0, 1)), "second stage of a reduction"),
    "running sum": (run((3, 100), 1), "running fold"),
    "of one long row": (run((3001,), 0, "s32"), "first stage of a running fold"),
    "of whole vectors": (run((2, 4096), 1), "first stage of a running fold"),
    "backwards": (run((5, 70), 1, "bf16", "maximum", backwards=True), "running fold"),
    "several columns a thread": (reduced((2, 70, 136), (1,), "bf16"), "column reduction"),
    "eight columns a thread": (reduced((99, 512), (0,), "s8"), "second stage of a reduction"),
    "two sums of several columns": (moments((70, 384), (0,), "f16"), "column reduction"),
    "along columns": (run((40, 6), 0), "running fold"),
    "along many columns": (run((33, 64, 32), 0), "running fold of columns"),
    "along long columns": (run((200, 40), 0), "first stage of a running fold"),
    "along parts of equal size": (run((128, 33), 0, "s32"), "running fold of columns"),
    "along columns, backwards": (
        run((3, 130, 32), 1, "bf16", "maximum", backwards=True),
        "first stage of a running fold",
    ),
    "sort of a long row": (sorted_rows((2, 500), 1), "merge of sorted runs"),
    "sort of long columns": (sorted_rows((300, 3), 0), "merge of sorted runs"),
}


@pytest.fixture
def batch():
    return batch_of(module for module, _ in MODULES.values())


@pytest.mark.parametrize("name", MODULES)
def test_a_launch_says_its_kind(name):
    module, kind = MODULES[name]
    assert kind in {step.kind for step in emit_cuda.emit(module).steps}


@pytest.mark.parametrize(
    "name", ["two sums of rows", "two sums of columns", "two sums of few columns"]
)
def test_reduces_of_a_fusion_share_a_loop(name):
    module, _ = MODULES[name]
    first, *others = emit_cuda.emit(module).steps
    assert first.kind in ("row reduction", "column reduction")
    assert {step.kind for step in others} <= {"second stage of a reduction"}


@pytest.mark.parametrize(
    ("columns", "kind", "width"),
    [(512, "s8", 8), (136, "s8", 4), (136, "f16", 4), (66, "f16", 2), (65, "f16", 1)],
)
def test_a_warp_reads_as_many_columns_as_a_line_of_memory_has(columns, kind, width):
    kernels = kernels_in_cuda(reduced((70, columns), (0,), kind), optimize=False)
    shared = [each for kernel in kernels.written.values() for each in kernel.stage.shared]
    assert [size for _, name, size in shared if name.startswith("tile")] == [width * 32 * 33]


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((2048, 256), "running fold"), ((2048, 255), "running fold of columns")],
)
def test_many_rows_have_a_block_each_if_they_are_as_long(shape, kind):
    assert [step.kind for step in emit_cuda.emit(run(shape, 1)).steps] == [kind]


@pytest.mark.parametrize("checked", [False, True])
def test_they_give_what_the_interpreter_gives(batch, checked):
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(batch, architecture):
    usage = nvrtc.compile(batch.kernels.source(""), architecture).usage
    assert len(usage) > len(MODULES)
    assert {u.stack_bytes + u.spilled_bytes for u in usage.values()} == {0}


def test_each_row_is_read_in_two_launches_at_most():
    assert len(emit_cuda.emit(reduced((10**7,), (0,))).steps) == 2
    assert len(emit_cuda.emit(run((10**7,), 0)).steps) == 2


@pytest.mark.parametrize(
    ("number", "kind", "where"),
    [(0, "uninitialised", "= warps"), (1, "race", "warps[threadIdx.x / 32] =")],
)
def test_a_missing_barrier_of_a_running_fold_is_found(monkeypatch, number, kind, where):
    """Without the first, a warp reads what no other has written; without the second, too late."""
    batch = Batch()
    module = run((2500,), 0, "s32")
    monkeypatch.setattr(groups, "LEAST_PART", 10**6)  # one block
    batch.add(module, [tame(p.shape, random.Random(0)) for p in module.entry.parameters])
    ((_, arguments, _, program),) = batch.cases
    parts = batch.kernels.source("").split("    __syncthreads();\n")
    assert len(parts) == 3
    broken = parts[0] + parts[1] + ("" if number else "    __syncthreads();\n") + parts[2]
    if number:
        broken = parts[0] + "    __syncthreads();\n" + parts[1] + parts[2]
    line = next(n for n, text in enumerate(broken.splitlines(), 1) if where in text)
    device = HostDevice(checked=True)
    with pytest.raises(hlo.HloError) as caught:
        emit_cuda.CudaExecutable(module.entry, program, device, device.load(broken))(*arguments)
    told = "\n".join(caught.value.notes)
    assert kind in told
    assert f":{line}" in told


SHAPES = st.lists(st.sampled_from([1, 2, 3, 7, 33, 64, 300, 1030]), min_size=1, max_size=3).filter(
    lambda dims: prod(dims) < 2000
)


@pytest.mark.slow
@settings(max_examples=max(4, settings.default.max_examples // 4))
@given(
    st.lists(st.tuples(SHAPES, st.integers(0, 2), st.booleans()), min_size=4, max_size=6),
    st.booleans(),
)
def test_random_folds_and_running_folds(cases, checked):
    batch = Batch()
    for number, (shape, chosen, flag) in enumerate(cases):
        axis, operation = chosen % len(shape), ("add", "maximum")[number % 2]
        for module in (
            reduced(shape, range(axis + 1), "s32", operation),
            reduced(shape, range(axis, len(shape)), "s32", operation),
            run(shape, axis, "s32", operation, backwards=flag),
            largest(shape, "f32"),
        ):
            arguments = [nasty(p.shape, random.Random(number)) for p in module.entry.parameters]
            batch.add(module, arguments)
    found = batch.differences(BITS, checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"
