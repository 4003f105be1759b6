"""The first k elements of rows, by a block each: as in the interpreter, and clean if checked."""

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES, Batch, batch_of
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.grids import topk as kernels
from hlo_tools.generate.values import nasty
from interpreter.numbers.compare import BITS

KINDS = "f32", "bf16", "f16", "s8", "u32", "s32", "u8"


def topk(kind, dims, k, *, largest=True):
    rows, few = (",".join(map(str, each)) for each in (dims, (*dims[:-1], k)))
    return hlo.parse(f"""HloModule first
ENTRY e {{ x = {kind}[{rows}] parameter(0)
  ROOT t = ({kind}[{few}], s32[{few}]) topk(x), k={k}, largest={str(largest).lower()} }}""")


def all_types():
    shapes = ((3, 100), 7), ((2, 2, 64), 64), ((5, 17), 1), ((700,), 33)
    modules = (
        topk(kind, *shapes[number % 4], largest=number % 2 == 0)
        for number, kind in enumerate(KINDS)
    )
    return batch_of(modules, nasty, optimize=True)


@pytest.mark.parametrize("checked", [False, True])
def test_all_types_give_what_the_interpreter_gives(checked):
    batch = all_types()
    assert {step.kind for *_, program in batch.cases for step in program.steps} == {"top k"}
    assert not batch.differences(BITS, checked=checked)


@settings(max_examples=3)
@given(st.lists(st.tuples(st.integers(16, 300), st.integers(0, 10**6)), min_size=8, max_size=12))
def test_rows_of_any_length(cases):
    modules = [topk("f32", (3, n), 1 + seed % n, largest=seed % 2 == 0) for n, seed in cases]
    assert not batch_of(modules, nasty, optimize=True).differences(BITS)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_gpus(architecture):
    assert nvrtc.compile(all_types().kernels.source(""), architecture)


@pytest.mark.parametrize(
    ("kind", "dims", "k", "kinds"),
    [
        ("f64", (2, 100), 10, ["sort", "loop", "loop"]),
        ("f32", (600, 20000), 256, ["top k"]),
        ("f32", (2, 20000), 256, ["top k", "top k"]),
        ("f32", (2, 400), 257, ["sort", "loop", "loop"]),
    ],
)
def test_few_long_rows_are_parted_and_many_elements_sorted(kind, dims, k, kinds):
    made = emit_cuda.emit(emit_cuda.optimized(topk(kind, dims, k)))
    assert [step.kind for step in made.steps] == kinds


ORDERS = {
    "rising": np.arange,
    "falling": lambda n: -np.arange(n),
    "equal": np.zeros,
    "rising in runs": lambda n: np.arange(n) % 300,
    "random": lambda n: np.random.default_rng(0).permutation(n),
}


@pytest.mark.parametrize("checked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_many_steps_give_the_first_in_any_order(monkeypatch, checked):
    """Where all words of each step are kept, and where hardly any is."""
    monkeypatch.setattr(kernels, "WAVE", 2)
    batch = Batch()
    for values in ORDERS.values():
        for k in (1, 16, 20, 100, 256):
            row = values(20000 if k == 16 else 5000).astype(np.float32)
            batch.add(topk("f32", row.shape, k), [row])
    assert {len(program.steps) for *_, program in batch.cases} == {1, 2}
    assert not batch.differences(BITS, checked=checked)
